"""Diagnoses and comparisons from Python: as the command line gives them, with nothing left behind."""

from __future__ import annotations

import datetime as dt
import gzip
import importlib
import json
import pickle
import pydoc
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import storscope
from storscope.cli.commands.demo import examples_folder
from storscope.cli.main import run
from storscope.domain.finding import Severity
from storscope.domain.units import ns_from_datetime
from storscope.store import Store
from storscope.workbench.importing import import_paths
from tests.compare import evidence
from tests.sim.designs import SMALL
from tests.support.cases import make_store

IDLE_PORT = examples_folder() / "equallogic"
BEFORE = Path(__file__).parent / "importers" / "results_table" / "eva4400_before_published.csv"
AFTER = Path(__file__).parent / "compare" / "eva4400_after_published.csv"
IOSTAT = Path(__file__).parent / "importers" / "iostat_json" / "sysstat_12.6_debian12.json"


@pytest.fixture(autouse=True)
def _nothing_stays(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of no test here anything is among the temporary files at its end."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


def _simulated(design: str = SMALL, seed: int = 1, duration: str = "8s") -> storscope.Simulated:
    return storscope.simulate_each([design], "oltp", duration=duration, seed=seed)[0]


@pytest.fixture(scope="module")
def small() -> storscope.Simulated:
    return _simulated()


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A store with repeated runs: base and slower."""
    runs = [
        evidence.run(f"{name}-{k}", mean + 3 * k, start=mean * 10 + 100 * k)
        for name, mean in (("base", 1000), ("slow", 800))
        for k in range(4)
    ]
    make_store(tmp_path / "lab", *runs)
    return tmp_path / "lab"


def _broken(folder: Path) -> Path:
    """An archive that ends early."""
    path = folder / "broken.json.gz"
    path.write_bytes(gzip.compress(IOSTAT.read_bytes())[:400])
    return path


def _printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    assert run([*map(str, arguments), "--json"]) in {0, 1}
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def _as_plain(value: object) -> Any:
    return json.loads(json.dumps(value))


# Diagnosing -----------------------------------------------------------------------------------------------------------


def test_a_folder_is_diagnosed_as_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    verdict = storscope.diagnose(IDLE_PORT, timezone="Europe/Berlin", report=page)
    said = _as_plain(verdict.to_json())
    printed = _printed(capsys, "diagnose", IDLE_PORT, "--timezone", "Europe/Berlin")
    assert said["findings"] == printed["findings"]
    assert said["provenance"].keys() == printed["provenance"].keys()
    assert said["not_evaluated"] == printed["not_evaluated"]
    assert "vmk2 carries no iSCSI traffic" in page.read_text(encoding="utf-8")


def test_a_verdict_and_a_finding_are_a_line_each() -> None:
    verdict = storscope.diagnose(str(IDLE_PORT))
    assert verdict.answer == "CRITICAL: vmk2 carries no iSCSI traffic; vmk1 carries all of it"
    assert repr(verdict).startswith(f"<Diagnosed {verdict.answer!r}; 1 critical, 1 warning, ")
    assert "not read" not in repr(verdict)
    first = repr(verdict.findings[0])
    assert first.startswith(
        "<Finding critical 'vmk2 carries no iSCSI traffic; vmk1 carries all of it' (iscsi-port-idle,"
    )
    assert verdict.worst is storscope.Severity.CRITICAL
    page = (Path(__file__).parent.parent / "docs" / "python.md").read_text(encoding="utf-8")
    assert repr(verdict) in page.replace("\n", " ")


def test_several_files_are_one_diagnosis_and_what_broke_off_is_told(tmp_path: Path) -> None:
    broken = _broken(tmp_path)
    verdict = storscope.diagnose(path for path in (IDLE_PORT, broken))
    assert verdict.findings[0].rule == "iscsi-port-idle"
    assert [Path(one.name).name for one in verdict.not_read if one.is_error] == ["broken.json.gz"]
    assert repr(verdict).endswith("; not read: 1 file>")
    assert pickle.loads(pickle.dumps(verdict)).not_read == verdict.not_read


def test_a_simulated_run_is_diagnosed_by_the_time_since_its_start(small: storscope.Simulated) -> None:
    verdict = storscope.diagnose(small, since="3s", until="start + 5 s")
    assert verdict.zero_ns == small.about.started_ns
    assert verdict.start_ns is not None
    assert 3 * 10**9 <= verdict.start_ns - verdict.zero_ns < 4 * 10**9


def test_an_error_about_a_simulated_run_names_it(small: storscope.Simulated) -> None:
    with pytest.raises(storscope.UsageError) as raised:
        storscope.diagnose(small, since="1h")
    assert raised.value.where == "small under oltp, seed 1"


@pytest.mark.parametrize("form", [dt.datetime.isoformat, ns_from_datetime, lambda moment: moment.replace(tzinfo=None)])
def test_a_moment_is_text_or_a_datetime_or_ns(form: Callable[[dt.datetime], storscope.When]) -> None:
    whole = storscope.diagnose(IOSTAT)
    assert whole.start_ns is not None and whole.end_ns is not None
    middle = dt.datetime.fromtimestamp((whole.start_ns + whole.end_ns) // 2 // 10**9, dt.UTC)
    part = storscope.diagnose([IOSTAT], since=form(middle))
    assert part.start_ns is not None
    assert part.start_ns >= ns_from_datetime(middle) > whole.start_ns


def test_a_store_is_kept_where_one_is_named_and_is_evidence_itself(
    tmp_path: Path, small: storscope.Simulated
) -> None:  # fmt: skip
    kept = tmp_path / "kept"
    first = storscope.diagnose(IOSTAT, store=kept)
    assert storscope.diagnose(kept).to_json()["findings"] == first.to_json()["findings"]
    beside = storscope.diagnose(IDLE_PORT, store=str(kept))
    assert beside.provenance.notes[0].words.startswith("also judged: 1 capture that was in the store")
    alone = storscope.diagnose(small, store=kept)
    assert alone.provenance.part is not None
    assert alone.provenance.part.run == small.about.run
    assert len(Store.open(kept).captures()) == 2 + len(import_paths(Store.open(kept), [IDLE_PORT]).captures)


def test_a_store_that_got_nothing_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(storscope.UsageError):
        storscope.diagnose("nowhere.csv", store=tmp_path / "new")
    assert not (tmp_path / "new").exists()


# Comparing ------------------------------------------------------------------------------------------------------------


def test_files_are_compared_as_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "change.html"
    comparison = storscope.compare(BEFORE, str(AFTER), metrics=["iops", "latency"], threshold="3%", report=page)
    asked = ["--metric", "iops", "--metric", "latency", "--threshold", "3%"]
    assert _as_plain(comparison.to_json()) == _printed(capsys, "compare", BEFORE, AFTER, *asked)
    assert comparison.answer.split(":")[0] in page.read_text(encoding="utf-8")


def test_parts_of_a_store_are_compared(lab: Path) -> None:
    comparison = storscope.compare("run=base-*", f"{lab}#run=slow-*", store=lab, metrics="iops")
    assert comparison.outcome == "worse"
    assert comparison.answer.startswith("WORSE: iops of ")
    assert repr(comparison) == f"<Compared {comparison.answer!r}; 1 worse>"
    assert repr(comparison.pairs[0]).endswith(": iops>")


def test_the_outcome_of_a_row_is_a_word_as_that_of_all_is(lab: Path) -> None:
    """Else a program that looks for rows that are 'worse' would find none."""
    comparison = storscope.compare("run=base-*", "run=slow-*", store=lab, metrics="iops")
    (row,) = comparison.pairs[0].rows
    assert (comparison.outcome, row.outcome, f"{row.outcome}") == ("worse", "worse", "worse")


def test_simulated_runs_are_repetitions_and_a_slower_design_is_worse() -> None:
    slower = SMALL.replace("count = 8", "count = 4")
    before, after = ([_simulated(design, seed, "30s") for seed in (1, 2, 3)] for design in (SMALL, slower))
    comparison = storscope.compare(before, after)
    assert comparison.outcome == "worse"
    assert [side.subjects for side in (comparison.before, comparison.after)] == [3, 3]
    assert comparison.before.source == "3 simulated runs"
    assert storscope.compare(before[0], after[0]).before.source == "small under oltp, seed 1"


def test_a_simulated_run_beside_a_measured_one_is_a_prediction(tmp_path: Path, small: storscope.Simulated) -> None:
    measured = evidence.run("oltp", 900.0, engine="storscope", block_bytes=8192.0, read_ratio=0.7)
    make_store(tmp_path / "measured", measured)
    comparison = storscope.compare(tmp_path / "measured", small, metrics="iops", allow_different_load=True)
    assert (comparison.outcome, comparison.answer[:12]) == ("prediction", "PREDICTION: ")
    assert storscope.compare([BEFORE], [AFTER], metrics="iops").before.source == str(BEFORE)


def test_the_same_run_twice_is_no_repetition(small: storscope.Simulated) -> None:
    """Its figures are the same, so that chance would seem to do nothing."""
    with pytest.raises(storscope.UsageError, match="the same run 2 times"):
        storscope.compare([small, _simulated()], _simulated(seed=2))


# Tables ---------------------------------------------------------------------------------------------------------------


def test_evidence_is_tables_like_those_of_a_simulation(small: storscope.Simulated) -> None:
    tables = storscope.import_evidence([IDLE_PORT, IOSTAT])
    assert [Path(one.name).name for one in tables.not_read] == ["README.md"]
    assert repr(tables).startswith(f"<EvidenceTables of observations {tables['observations'].num_rows:,}, ")
    assert tables["observations"].num_rows > 0
    made = small.tables()
    assert set(made) < set(tables)
    for name, table in made.items():
        assert set(table.schema.names) <= set(tables[name].schema.names)
    read = [Path(path).name for path in tables["captures"]["path"].to_pylist()]
    assert IOSTAT.name in read


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (7, "found 7"),
        (None, "found None"),
        (b"x", "found b'x'"),
        ([], "found none"),
        ([7], "found 7"),
        ({"observations": 1}, "found a mapping.*simulate_each"),
        ("", "no name"),
        ("a\nb", "no name"),
        ("x" * 5000, "no name"),
        ("nowhere.csv", "nowhere.csv"),
    ],
)
def test_what_is_no_evidence_is_told_in_words(given: Any, said: str) -> None:
    for ask in (
        storscope.diagnose, storscope.import_evidence, lambda one: storscope.compare(BEFORE, one)
    ):  # fmt: skip
        with pytest.raises(storscope.UsageError, match=f"(?s){said}"):
            ask(given)


@pytest.mark.parametrize(
    "asked",
    [
        {"since": "12:30"}, {"since": 600}, {"until": 1.5}, {"seed": -1}, {"seed": None}, {"run": 7}, {"store": 7},
        {"thresholds": 7}, {"report": 7}, {"report": __file__}, {"timezone": "Mars"}, {"timezone": 7}, {"system": 7},
        {"as_format": "none"}, {"start": "soon"}, {"interval": "x"}, {"year": 1}, {"day_first": "y"},
    ],
)  # fmt: skip
def test_an_argument_that_makes_no_sense_is_told_before_anything_is_read(asked: dict[str, Any]) -> None:
    with pytest.raises(storscope.UsageError) as raised:
        storscope.diagnose(IOSTAT, **asked)
    assert "--replace" not in raised.value.hint


@pytest.mark.parametrize(
    "asked",
    [{"metrics": "latncy"}, {"metrics": 7}, {"threshold": 5}, {"threshold": "x"}, {"level": "10%"}, {"entities": 0}],
)
def test_so_it_is_of_a_comparison(asked: dict[str, Any]) -> None:
    with pytest.raises(storscope.UsageError):
        storscope.compare(BEFORE, AFTER, **asked)


def test_several_worlds_and_a_mixture_are_refused(small: storscope.Simulated) -> None:
    with pytest.raises(storscope.UsageError, match="one simulated run, found 2"):
        storscope.diagnose([small, small])  # type: ignore[list-item]
    with pytest.raises(storscope.UsageError, match="both"):
        storscope.diagnose([small, IOSTAT])  # type: ignore[list-item]
    with pytest.raises(storscope.UsageError, match=r"run\.tables\(\)"):
        storscope.import_evidence(small)  # type: ignore[arg-type]


def test_what_is_said_of_evidence_is_refused_where_none_is_read(lab: Path, small: storscope.Simulated) -> None:
    for ask in (
        lambda: storscope.diagnose(lab, timezone="UTC"),
        lambda: storscope.diagnose(small, as_format="iostat_json"),
        lambda: storscope.compare(lab, small, interval=5),
    ):
        with pytest.raises(storscope.UsageError, match=r"evidence to read for (timezone|as_format|interval), found"):
            ask()


def test_a_selection_needs_a_store() -> None:
    with pytest.raises(storscope.UsageError, match="give store="):
        storscope.compare(BEFORE, "run=base-*")


def test_where_nothing_could_be_read_the_error_says_why(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    broken = _broken(tmp_path)
    with pytest.raises(storscope.InputError) as raised:
        storscope.diagnose(tmp_path)
    assert raised.value.where == str(tmp_path)
    assert raised.value.hint.startswith(f"{broken}: expected a complete archive")
    assert "notes.txt: no importer recognises" in raised.value.hint


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_nothing_stays_of_what_is_interrupted(
    raised: type[BaseException], small: storscope.Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("storscope.workbench.diagnosing_evidence.judge", end)
    monkeypatch.setattr("storscope.workbench.comparing.compare_sides", end)
    for ask in (
        lambda: storscope.diagnose(IOSTAT), lambda: storscope.diagnose(small), lambda: storscope.compare(BEFORE, small)
    ):  # fmt: skip
        with pytest.raises(raised):
            ask()


# The package ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["diagnose", "compare"])
def test_the_import_of_a_room_leaves_the_function_of_its_name(name: str) -> None:
    room = importlib.import_module(f"storscope.{name}")
    assert importlib.reload(room).__path__
    assert callable(getattr(storscope, name))
    assert f"storscope.{name}(" in pydoc.getdoc(getattr(storscope, name))


def test_severities_are_ordered_so_that_a_job_can_fail_on_one() -> None:
    assert storscope.Severity is Severity
    assert storscope.Severity.CRITICAL > storscope.Severity.WARNING > storscope.Severity.INFO
