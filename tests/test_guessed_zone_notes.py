"""A verdict whose times had no zone says so: on the terminal, in JSON and on the page."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from storscope.cli.main import run
from storscope.workbench.guessed_zone_notes import guessed_zone_notes

_SAID = "Times are as the host wrote them, without a zone, and taken as UTC (--timezone)."


def _table(path: Path, zone: str = "") -> Path:
    """Half an hour of one volume, a row a minute."""
    lines = [f"2026-11-20 10:{minute:02}:00{zone},db,{1200 + minute},0.4" for minute in range(30)]
    path.write_text("\n".join(["time,volume,iops,latency_ms", *lines, ""]))
    return path


def test_times_without_a_zone_are_told_beneath_the_headline_and_in_every_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = _table(tmp_path / "local.csv"), tmp_path / "page.html"
    assert run(["diagnose", str(file), "--report", str(page)]) == 0
    said = capsys.readouterr().out
    assert _SAID in " ".join(said.partition("Healthy\n")[0].split()), "beneath the headline"
    assert _SAID in html.unescape(page.read_text().partition("</header>")[0])
    assert run(["diagnose", str(file), "--json"]) == 0
    assert _SAID in json.loads(capsys.readouterr().out)["provenance"]["notes"]


def test_a_store_remembers_that_a_zone_was_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "store")
    assert run(["import", str(_table(tmp_path / "local.csv")), "--store", store]) == 0
    capsys.readouterr()
    assert run(["diagnose", "--store", store]) == 0
    assert _SAID in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("zone", "option"), [("Z", []), ("+01:00", []), ("", ["--timezone", "UTC"])])
def test_where_the_zone_is_known_nothing_is_said(
    zone: str, option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", str(_table(tmp_path / "known.csv", zone)), *option]) == 0
    assert "taken as UTC" not in capsys.readouterr().out


def test_of_several_files_those_without_a_zone_are_named_unless_their_clock_was_moved() -> None:
    rows = [
        {"capture": name, "path": f"{name}.csv", "first_time": 1, "clock": clock}
        for name, clock in (("a", "zone in the file"), ("b", "no zone in the source; taken as UTC (set --timezone)"))
    ]
    [note] = guessed_zone_notes(rows, {})
    assert note.words.startswith("b.csv: times are as the host wrote them")
    assert not guessed_zone_notes(rows, {"b": 3_600_000_000_000})
