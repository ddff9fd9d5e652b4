"""A sweep for programs: exactly as other tools write it, and nothing lost."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from storscope.cli.show_sweep import print_sweep
from storscope.cli.sweep_tables import fio_size, fio_table, sweep_csv, sweep_json
from storscope.domain.sweep import Cell, Estimate, Point, SweepResult

_NS = 1_000_000_000


def _cell(point: Point, reads: float, writes: float, *, width: float | None = None) -> Cell:
    size = point.block_bytes or 0
    values = {
        "ops_per_s": reads + writes, "bytes_per_s": (reads + writes) * size, "read_ops_per_s": reads,
        "write_ops_per_s": writes, "read_bytes_per_s": reads * size, "write_bytes_per_s": writes * size,
        "latency_ns_mean": 313_000.0, "latency_ns_p99": 1_250_000.0,
    }  # fmt: skip
    bounds = (lambda value: ()) if width is None else (lambda value: (value - width, value + width))
    return Cell(
        point, 1 if width is None else 3, {name: Estimate(value, *bounds(value)) for name, value in values.items()}
    )


def _result(*cells: Cell) -> SweepResult:
    return SweepResult(
        "sweep-1", "/dev/sdb1", "device", cells, len(cells), len(cells), 1, 30 * _NS, "7", 1_795_132_800 * _NS,
        1_795_132_900 * _NS, 49 * 2**30,
    )  # fmt: skip


_MATRIX = _result(
    _cell(Point("randread", 4096, 1, 1), 3193, 0),
    _cell(Point("randread", 65536, 8, 1), 4680, 0),
    _cell(Point("write", 2**20, 2, 1), 0, 310.5),
    _cell(Point("randrw", 512, 4, 1, 0.5), 100, 101.25),
)


def test_the_fio_table_is_as_the_scripts_write_it() -> None:
    """The first rows are of a field report on a RAID 10 of four 10,000 rpm drives with an SSD cache."""
    assert fio_table(_MATRIX) == (
        "DEVICE;SIZE;MODE;BLOCKSIZE;NUMJOBS;READMB;WRITEMB;READIOS;WRITEIOS\n"
        "/dev/sdb1;49G;randread;4k;1;12.473;0;3193.00;0\n"
        "/dev/sdb1;49G;randread;64k;8;292.500;0;4680.00;0\n"
        "/dev/sdb1;49G;write;1M;2;0;310.500;0;310.50\n"
        "/dev/sdb1;49G;randrw;512;4;0.049;0.049;100.00;101.25\n"
    )


def test_what_would_make_rows_alike_gets_a_column() -> None:
    heads = [
        fio_table(result).splitlines()[0].split(";")[9:]
        for result in (
            _result(_cell(Point("read", 4096, 1, 1), 1, 0), _cell(Point("read", 4096, 1, 8), 2, 0)),
            _result(_cell(Point("rw", 4096, 1, 1, 0.3), 1, 1), _cell(Point("rw", 4096, 1, 1, 0.7), 2, 1)),
            replace(_result(replace(_cell(Point("log"), 1, 0), slot=0, elapsed_ns=_NS)), interval_ns=_NS),
        )
    ]
    assert heads == [["IODEPTH"], ["READPCT"], ["SECONDS"]]


def test_a_series_that_was_interrupted_says_that_its_schedule_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    cells = [
        replace(_cell(Point("read", 4096, 1, 1), 9, 0), slot=at, elapsed_ns=at * 60 * _NS) for at in range(2)
    ]  # fmt: skip
    series = replace(_result(*cells), interval_ns=60 * _NS, repeats=4, planned=4)

    def said(result: SweepResult) -> str:
        print_sweep(result)
        return " ".join(capsys.readouterr().out.split())

    told = "not measured yet: the same command goes on with the next one, until the last begins, 2026-11-20 00:03:00Z."
    assert f"Of the schedule slots 3 to 4 of 4 are {told}" in said(series)
    last = replace(series, repeats=3, planned=3)
    assert "Of the schedule slot 3 of 3 is not measured yet" in said(last)
    assert "not measured yet" not in said(replace(series, repeats=2, planned=2)), "all of it was measured"
    over = replace(series, ended_ns=1_795_132_800 * _NS + 190 * _NS)
    assert "not measured yet" not in said(over), "the slots at the end were overrun, which a note tells"


@pytest.mark.parametrize(
    ("size", "words"), [(512, "512"), (4096, "4k"), (2**20, "1M"), (49 * 2**30, "49G"), (1536, "1536"), (10240, "10k")]
)
def test_sizes_are_written_as_in_a_job_file(size: int, words: str) -> None:
    assert fio_size(size) == words


def test_the_csv_has_every_figure_with_its_interval_and_nothing_for_what_is_absent() -> None:
    point = Point("randread", 4096, 1, 1)
    rows = list(csv.DictReader(io.StringIO(sweep_csv(_result(_cell(point, 3193, 0, width=40), Cell(point, 1, {}))))))
    assert (rows[0]["ops_per_s"], rows[0]["ops_per_s_low"], rows[0]["ops_per_s_high"]) == ("3193", "3153", "3233")
    assert rows[0]["read_share"] == ""
    assert rows[1]["ops_per_s"] == rows[1]["latency_ns_p99"] == ""


def test_the_json_is_complete() -> None:
    doubted = replace(_MATRIX.cells[0], doubts=("Not the device.",), invalid_runs=1)
    form = json.loads(sweep_json(replace(_MATRIX, cells=(doubted,), notes=("A pause.",), failures=("read: no",))))
    assert (form["notes"], form["failures"], form["complete"]) == (["A pause."], ["read: no"], True)
    (cell,) = form["cells"]
    assert (cell["mode"], cell["doubts"], cell["invalid_runs"]) == ("randread", ["Not the device."], 1)
    assert cell["figures"]["ops_per_s"] == {"value": 3193, "low": None, "high": None}


def test_people_see_units_intervals_doubts_and_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    point = Point("randread", 4096, 4, 16)
    cell = replace(_cell(point, 3193, 0, width=40), invalid_runs=1, doubts=("The generator was late.",))
    print_sweep(replace(_result(cell, replace(cell, point=Point("write", 4096, 4, 16))), planned=9, done=6, repeats=3))
    out = capsys.readouterr().out
    for words in (
        "6 of 9 measurements of 30 s, 3 repetitions of each", "3,193 ± 40.0", "13.1 MB/s", "313 µs", "1.25 ms",
        "INVALID",
        "randread, 4 KiB, 4 jobs, depth 16: The generator was late.", "3 measurements are missing", "49 GiB",
        "95 % interval of the mean over repetitions",
    ):  # fmt: skip
        assert words in out
    assert "█" * 18 in out


@pytest.mark.parametrize(("columns", "has_all"), [("90", False), ("180", True)])
def test_a_narrow_terminal_shows_values_and_says_where_their_intervals_are(
    columns: str, has_all: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    print_sweep(_result(_cell(Point("randread", 4096, 4, 16), 3193, 0, width=1000)))
    out = capsys.readouterr().out
    assert all(len(line) <= int(columns) for line in out.splitlines())
    assert "3,193 ± 1,000" in out
    assert ("313 µs ± 1.00 µs" in out) == has_all
    assert ("--format csv" in out) != has_all


def test_doubts_of_a_series_say_of_which_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    """Each had the words of the one point."""
    cells = [
        replace(_cell(Point("read", 4096, 1, 1), 9, 0, width=1), slot=at, elapsed_ns=at * 30 * _NS, doubts=("Late.",))
        for at in range(2)
    ]
    print_sweep(replace(_result(*cells), interval_ns=30 * _NS))
    out = capsys.readouterr().out
    assert "1 job, depth 1, after 0 s: Late." in out or "1 job, depth 1, after 0 ns: Late." in out
    assert "1 job, depth 1, after 30 s: Late." in out
    print_sweep(_result(replace(_cell(Point("read", 4096, 1, 1), 9, 0, width=1), doubts=("Late.",))))
    assert "1 job, depth 1: Late." in capsys.readouterr().out


def test_a_figure_without_an_interval_among_others_that_have_one_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    cell = _cell(Point("randread", 4096, 4, 16), 3193, 0, width=40)
    print_sweep(_result(cell))
    assert "stands alone" not in capsys.readouterr().out
    print_sweep(_result(replace(cell, figures={**cell.figures, "latency_ns_p99": Estimate(1e6)})))
    assert "A figure that stands alone has too little data for an interval" in capsys.readouterr().out
    print_sweep(_MATRIX)
    assert "stands alone" not in capsys.readouterr().out, "none has one"


@pytest.mark.parametrize(("estimate", "words"), [
    (Estimate(120.0, 110.0, 130.0), "120 ± 10"),
    (Estimate(120.0, 0.0, 230.0), "120 ± 115"),
    (Estimate(120.0, 0.0, 500.0), "120"),
    (Estimate(120.0, 1.0, 500.0), "120 (1 to 500)"),
    (Estimate(0.0, 0.0, 500.0), "0 (0 to 500)"),
    (Estimate(120.0), "120"),
])  # fmt: skip
def test_an_interval_that_tells_nothing_is_not_shown(estimate: Estimate, words: str) -> None:
    """A point of a second was '27,463 (0 to 603,090)' IOPS."""
    assert estimate.shown.words(lambda value: f"{value:g}") == words


def test_a_measurement_that_was_too_brief_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    cell = _cell(Point("randread", 4096, 4, 16), 3193, 0, width=40)
    vague = {name: Estimate(one.value, 0.0, 9 * one.value) for name, one in cell.figures.items()}
    print_sweep(_result(replace(cell, figures=vague)))
    out = capsys.readouterr().out
    assert "3,193 " in out
    assert "(0" not in out
    assert "A figure that stands alone has too little data for an interval" in out
    assert "measured for longer" in " ".join(out.split())
    assert "±" not in out, "there is none to explain"


def test_the_first_measurement_of_a_series_began_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    """It was 'after 162 ms', since a run takes a moment to be under way; programs have the time to the nanosecond."""
    cells = [
        replace(_cell(Point("read", 4096, 1, 1), 9, 0), slot=at, elapsed_ns=at * 30 * _NS + 162_000_000)
        for at in (0, 1)
    ]
    result = replace(_result(*cells), interval_ns=30 * _NS)
    print_sweep(result)
    out = capsys.readouterr().out
    assert "162 ms" not in out
    assert [line.split()[:2] for line in out.splitlines() if "4 KiB" in line] == [["0", "s"], ["30", "s"]]


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(120.0), "120"),
        (Estimate(120.0, 110.0, 130.0), "120 ± 10"),
        (Estimate(120.0, 100.0, 2100.0), "120 (100 to 2100)"),
        (Estimate(120.0, 0.0, 500.0), "120 (0 to 500)"),
        (Estimate(120.0, 119.9999, 120.0001), "120 ± < 0.1 %"),
        (Estimate(120.0, 120.0, 120.0), "120 ± < 0.1 %"),
        (Estimate(120.0, 120.0, 120.05), "120 ± < 0.1 %"),
        (Estimate(0.0, 0.0, 0.0), "0 ± 0"),
    ],
)
def test_plus_or_minus_is_said_where_it_does_not_mislead(estimate: Estimate, words: str) -> None:
    assert estimate.words(lambda value: f"{value:g}") == words
