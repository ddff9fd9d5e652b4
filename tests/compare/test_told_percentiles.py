"""Percentiles that fio tells as numbers, without a distribution."""

from __future__ import annotations

from pathlib import Path

from storscope.domain.comparison import Outcome
from tests.compare.evidence import Writer, compared, only, row, run


def _telling(told: dict[str, float], *, reads: float = 1.0, start: float = 0.0) -> Writer:
    """A run of fio's plain JSON: percentiles by the names of its counters, no histogram."""
    return run("a", 1000, id=f"a{start}", start=start, reads=reads, told=told)


def test_a_percentile_that_is_told_without_a_histogram_is_one_value(tmp_path: Path) -> None:
    """It had no row, and without --metric p99 no word either."""
    before, after = ({"read.lat.p99": value, "read.clat.p99": 1.0} for value in (2e5, 3e5))
    pair = only(compared(tmp_path, [_telling(before)], [_telling(after)]))
    assert (row(pair, "p99").before, row(pair, "p99").after) == (2e5, 3e5)
    assert "one value each" in row(pair, "p99").reason
    assert not pair.missing


def test_told_percentiles_of_repeated_runs_are_judged(tmp_path: Path) -> None:
    before, after = (
        [_telling({"read.lat.p99": value + k}, start=100 * k + later) for k in range(3)]
        for value, later in ((200_000, 0), (300_000, 1000))
    )
    pair = only(compared(tmp_path, before, after, metrics=("p99",)))
    assert row(pair, "p99").outcome is Outcome.WORSE


def test_a_told_percentile_stands_beside_one_of_a_histogram(tmp_path: Path) -> None:
    before = [run("a", 1000, histogram=[[0, 990, 0, 20, 0]])]
    pair = only(compared(tmp_path, before, [_telling({"read.lat.p99": 2e5})], metrics=("p99", "read_p99")))
    for name in ("p99", "read_p99"):
        assert (row(pair, name).before, row(pair, name).after) == (12e4, 2e5)
        assert "one value each" in row(pair, name).reason


def test_of_a_mix_told_percentiles_are_those_of_reads_and_of_writes(tmp_path: Path) -> None:
    told = {"read.lat.p99": 2e5, "write.lat.p99": 4e5}
    sides = [_telling(told, reads=0.7)], [_telling(told, reads=0.7)]
    pair = only(compared(tmp_path / "usual", *sides))
    assert "p99" not in [one.metric for one in pair.rows]
    assert len(pair.missing) == 1
    assert pair.missing[0].startswith("p99: neither side has it. fio told it of reads and of writes")
    assert pair.missing[0].endswith("(--output-format=json+). To compare either: --metric read_p99 --metric write_p99.")
    pair = only(compared(tmp_path / "apart", *sides, metrics=("read_p99", "write_p99")))
    assert [(one.metric, one.before) for one in pair.rows] == [("read_p99", 2e5), ("write_p99", 4e5)]
    pair = only(compared(tmp_path / "one", [run("a", 1000, histogram=[[0, 990]])], sides[1]))
    assert "only the side before has it. fio told it of reads and of writes" in pair.missing[0]


def test_told_percentiles_are_of_like_parts_of_an_io(tmp_path: Path) -> None:
    """Where one side tells clat alone, the clat of both is compared, and that it is one is said."""
    before = [_telling({"read.lat.p99": 3e5, "read.clat.p99": 2e5})]
    pair = only(compared(tmp_path, before, [_telling({"read.clat.p99": 25e4})]))
    assert (row(pair, "p99").before, row(pair, "p99").after) == (2e5, 25e4)
    assert any(note.startswith("p99: of fio's clat, which leaves out the submission") for note in pair.notes)
