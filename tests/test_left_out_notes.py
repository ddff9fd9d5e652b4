"""A verdict on half of a file says so: on the terminal, in JSON and on the page."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from storscope.cli.main import run
from storscope.workbench.left_out_notes import left_out_notes

_COUNTERS = ("Disk Reads/sec", "Disk Writes/sec", "Avg. Disk sec/Read", "Avg. Disk sec/Write")
_NEGATIVE = "impossible values: negative, or a counter that wrapped"


def _recording(path: Path, minutes: int, negative: int) -> Path:
    """Minutes of one disk of a Windows host, some of them with reads that took less than no time."""
    lines = [["(PDH-CSV 4.0) (UTC)(0)", *(rf"\\h\PhysicalDisk(0 C:)\{name}" for name in _COUNTERS)]]
    for minute in range(minutes):
        read_s = "-1" if minute < negative else "0.002"
        lines.append([f"11/20/2026 10:{minute:02}:00.000", f"{100 + minute}", "50", read_s, "0.001"])
    path.write_text("".join(",".join(f'"{cell}"' for cell in line) + "\r\n" for line in lines), newline="")
    return path


def _words(omitted: Mapping[str, int], observations: int, path: str = "a.csv") -> list[str]:
    capture = {"path": path, "omitted": list(omitted.items()), "row_counts": [("observations", observations)]}
    return [note.words for note in left_out_notes([capture])]


def test_a_verdict_on_part_of_a_file_says_so_in_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = _recording(tmp_path / "half.csv", 40, 30), tmp_path / "page.html"
    words = f"half.csv: left out 30: {_NEGATIVE}; which is much of it, and was not judged."
    assert run(["diagnose", str(file), "--report", str(page)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("HEALTHY")
    assert words.partition(": ")[2] in " ".join(said.partition("Healthy\n")[0].split()), "beneath the headline"
    head = page.read_text().partition("</header>")[0]
    assert words in html.unescape(head)
    assert run(["diagnose", str(file), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["provenance"]["notes"]
    assert any(note.endswith(words) for note in notes)


def test_a_store_remembers_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _recording(tmp_path / "half.csv", 40, 30)
    assert run(["import", str(file), "--store", str(tmp_path / "store")]) == 0
    capsys.readouterr()
    assert run(["diagnose", "--store", str(tmp_path / "store")]) == 0
    assert f"left out 30: {_NEGATIVE}" in " ".join(capsys.readouterr().out.split())


def test_a_few_rows_are_not_worth_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(_recording(tmp_path / "most.csv", 40, 2))]) == 0
    assert "left out" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "reason",
    [
        "fields that follow from others or are withdrawn (sizes, totals, merge ratios, svctm)",
        "lines without a time: averages and the like",
        "rows of totals, which count everything twice",
        "intervals of devices that never did an operation",
        "first samples: they have no interval of their own and may cover the time since boot",
    ],
)
def test_what_holds_nothing_more_is_no_loss(reason: str) -> None:
    assert _words({reason: 1000}, 10) == []
    assert _words({reason: 1000, "rows whose time is none": 2}, 10) == [
        "a.csv: left out 2: rows whose time is none; which is much of it, and was not judged."
    ]


def test_small_losses_add_up_and_the_greatest_come_first() -> None:
    lost = {f"rows that are damaged in way {number}": number for number in range(1, 7)}
    (words,) = _words(lost, 100)
    assert words.startswith("a.csv: left out 6: rows that are damaged in way 6; 5: ")
    assert words.endswith("; 2 more reasons; which is much of it, and was not judged.")
    assert _words({"rows whose time is none": 11}, 100) == []
    assert len(_words({"rows whose time is none": 12}, 100)) == 1


def test_files_that_lost_the_same_are_told_together() -> None:
    captures = [
        {"path": f"{number}.csv", "omitted": {"rows whose time is none": 600}, "row_counts": {"observations": 10}}
        for number in range(3)
    ]
    assert [note.words for note in left_out_notes(captures)] == [
        "0.csv and 2 more: left out 1,800: rows whose time is none; which is much of them, and was not judged."
    ]
