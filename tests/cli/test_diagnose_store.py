"""Which evidence `diagnose PATHS` judges: the paths alone, and with --store what that store held already."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storscope.cli.main import run
from storscope.store import Store

IMPORTERS = Path(__file__).parent.parent / "importers"
EARLIER = IMPORTERS / "iostat_json" / "sysstat_12.6_debian12.json"
NEW = Path(__file__).parent.parent.parent / "examples" / "equallogic"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    store = tmp_path / "kept"
    assert run(["import", str(EARLIER), "--store", str(store)]) == 0
    return store


@pytest.fixture
def exported(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store with an earlier incident, named by the environment."""
    monkeypatch.setenv("STORSCOPE_STORE", str(kept))
    yield kept


def _verdict(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["diagnose", *arguments, "--json"]) in {0, 1}
    verdict: dict[str, Any] = json.loads(capsys.readouterr().out)
    return verdict


def _sources(verdict: dict[str, Any]) -> set[str]:
    return {Path(capture["path"]).name for capture in verdict["provenance"]["captures"]}


def test_paths_are_judged_alone_whatever_store_the_environment_names(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Store.open(exported).captures()
    verdict = _verdict(capsys, str(NEW))
    assert EARLIER.name not in _sources(verdict)
    assert not any("also judged" in note for note in verdict["provenance"]["notes"])
    assert Store.open(exported).captures() == before


def test_the_environment_still_names_the_store_when_no_path_is_given(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sources(_verdict(capsys)) == {EARLIER.name}


def test_the_path_of_a_store_goes_before_that_of_the_environment(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", str(NEW), "--store", str(tmp_path / "other")]) == 0
    assert EARLIER.name not in _sources(_verdict(capsys, str(tmp_path / "other")))


def test_what_a_store_held_already_is_said_to_be_judged_too(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(NEW), "--store", str(kept)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("note: also judged: 1 capture that was in the store") == 1
    assert shown.index("also judged") < shown.index("1. ")
    verdict = _verdict(capsys, str(NEW), "--store", str(kept))
    assert verdict["provenance"]["notes"][0].startswith("also judged: 1 capture that was")


def test_findings_that_are_not_shown_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(NEW), "--min-severity", "critical"]) == 1
    assert "\n1 finding below --min-severity is not shown.\n" in capsys.readouterr().out


def test_nothing_is_said_of_a_store_that_holds_the_paths_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # the second time all of it is known
        assert run(["diagnose", str(NEW), "--store", str(tmp_path / "new"), "--verbose"]) == 1
        assert "also judged" not in capsys.readouterr().out


def test_few_files_that_are_no_evidence_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "iostat.json").write_bytes(EARLIER.read_bytes())
    for name in "ab":
        (tmp_path / "case" / f"{name}.md").write_text("Nothing of interest.\n")
    run(["diagnose", str(tmp_path / "case")])
    said = capsys.readouterr().err
    assert "2 files were not recognised as evidence (--verbose says why): " in said
    assert "a.md, " in said
    for number in range(2):
        (tmp_path / "case" / f"{number}.md").write_text("Nothing of interest.\n")
    run(["diagnose", str(tmp_path / "case")])
    assert "4 files were not recognised as evidence (--verbose names them)\n" in capsys.readouterr().err


def test_where_nothing_is_evidence_it_is_said_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text(f"Nothing of interest {number}.\n")
    assert run(["diagnose", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "0.txt (and 4 more): no importer recognises its content" in said
    assert said.count("skipped") == 1
