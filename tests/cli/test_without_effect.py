"""What is given and would have no effect is refused, with the option's name."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from storscope.cli.main import run
from storscope.cli.options import IMPORT_OPTIONS, import_options
from storscope.domain.entity import EntityRef
from storscope.domain.units import YEARS
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
