"""What is given and would have no effect is refused, with the option's name."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from storscope.cli.main import run
from storscope.cli.options import IMPORT_OPTIONS, import_options
from storscope.domain.entity import EntityRef
from storscope.domain.units import YEARS
from tests.sim.fit_evidence import results_table, textbook_trace
from tests.support.cases import make_store

_DESIGN = Path(__file__).parents[2] / "examples" / "designs" / "logs-on-one-disk.toml"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    device = EntityRef("host", "device", "sda")
    return make_store(tmp_path / "s", lambda recorder: recorder.observe(device, 10**18, 10**9, {"ops_per_s": 1.0})).path


@pytest.mark.parametrize(
    "option",
    ["--timezone Europe/Berlin", "--as iostat_text", "--system x", "--year 2026", "--interval 3s", "--day-first"],
)
def test_what_tells_of_evidence_is_refused_where_none_is_read(
    option: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for asked in (
        f"diagnose --store {path}",
        f"diagnose {path}",
        f"compare {path} {path}",
        f"compare {path}#run=a {path}",
    ):
        assert run(f"{asked} {option}".split()) == 2, asked
        assert f"evidence to read for {option.split(maxsplit=1)[0]}" in capsys.readouterr().err


def test_all_options_about_evidence_are_known() -> None:
    @click.command
    @import_options
    def command(**_: object) -> None: ...

    assert tuple(parameter.name for parameter in command.params) == IMPORT_OPTIONS
    (year,) = (parameter.type for parameter in command.params if parameter.name == "year")
    assert isinstance(year, click.IntRange)
    assert (year.min, year.max) == (YEARS[0], YEARS[-1])


@pytest.mark.parametrize("year", ["-5", "0", "206", "2300", "99999999999"])
def test_a_year_that_no_capture_is_of_is_refused(year: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(path), f"--year={year}"]) == 2
    assert "1970<=x<=2199" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--report page.html", "--animate"])
def test_a_check_that_runs_nothing_shows_nothing(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"simulate {_DESIGN} --check {option}".split()) == 2
    assert f"--check without {option.split(maxsplit=1)[0]}" in capsys.readouterr().err


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """A folder with what a drive is fitted to: r.csv, throughput by depth, and t.trace, single requests."""
    folder = tmp_path / "evidence"
    folder.mkdir()
    (folder / "r.csv").write_text(results_table({1: 60.0, 16: 95.0}, {1: 140.0}))
    (folder / "t.trace").write_text(textbook_trace(1_000))
    return folder


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("r.csv --size 465g --held-back 50%", "r.csv: expected a trace, for --held-back"),
        ("r.csv --size 465g --curve --like fata", "--curve, which keeps what was measured, or --like, found both"),
        ("r.csv --size 465g --curve --turns-per-min 7200", "or --turns-per-min, found both"),
        ("r.csv --size 465g --store s", "expected EVIDENCE or --store"),
        ("t.trace --store s", "expected EVIDENCE or --store"),
        ("t.trace --replace", "expected --output with --replace"),
        ("r.csv --size 465g --turns-per-min nan", "expected a number, found 'nan'"),
    ],
)
def test_what_a_fit_does_not_use_is_refused(
    asked: str, words: str, evidence: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(evidence)
    assert run(["fit", "drive", *asked.split()]) == 2
    assert words in capsys.readouterr().err


def test_a_store_of_the_environment_is_none_that_was_asked_for(
    evidence: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STORSCOPE_STORE", str(evidence / "none"))
    assert run(["fit", "drive", str(evidence / "t.trace")]) == 0
    assert run(["simulate", "--drives"]) == 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("workload convert oltp --to toml --target x", "expected --target with --to fio, found --to toml"),
        ("workload convert oltp --to toml --replace", "expected --output with --replace"),
        ("store query SELECT --format csv --limit 100", "expected --limit with --format table, found --format csv"),
        ("rules --json --thresholds", "expected --json or --thresholds"),
        ("demo --live --output x", "--live writes its page to --report"),
        ("demo --live --replace", "--replace is for the file of --report"),
        ("diagnose x --replace", "expected --report with --replace"),
        ("bench x --workload oltp --dry-run --replace", "expected --report with --replace"),
        (f"simulate --drives {_DESIGN}", "expected --drives without DESIGN.toml, found both"),
        ("simulate --drives --workload oltp --seed 1", "expected --drives without --workload, --seed, found both"),
        (f"simulate {_DESIGN} --check --seed 1 --ios 5", "expected --check without --ios, --seed, found both"),
        (f"simulate {_DESIGN} --check --speed-up 2", "expected --check without --speed-up, found both"),
    ],
)
def test_what_has_no_effect_beside_another_option_is_refused(
    asked: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = run(asked.split())
    finally:
        assert not list(tmp_path.iterdir())
    assert code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "-"])
@pytest.mark.parametrize(
    "asked", ["workload convert oltp --to toml -o", f"simulate {_DESIGN} --workload oltp --report"]
)
def test_what_is_no_name_of_a_file_makes_none(
    name: str, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*asked.split(), name]) == 2
    assert f"expected a file, found {name!r}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_schedule_without_a_name_is_not_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(_DESIGN), "--check", "--schedule", ""]) == 2
    assert "expected a file that can be read" in capsys.readouterr().err
