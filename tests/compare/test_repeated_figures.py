"""Repetitions whose figures agree: percentiles in one bucket, copies, figures that are rounded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from storscope.domain.comparison import Outcome
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.compare.evidence import SECOND, START, Writer, compared, only, row, run

_FINE = (0, 990, 0, 12, 0)
"""Counts in buckets of an octave: p99 is in the one from 80 µs to 160 µs."""


def _runs(histogram: Sequence[int], *, start: float, count: int = 3, step: int = 1) -> list[Writer]:
    """Repetitions of which each did a few I/Os more, all of them with the percentile in one bucket."""
    return [
        run("a", 1000 + k, id=f"a{k}", start=start + 100 * k, histogram=[[0, histogram[1] + step * k, *histogram[2:]]])
        for k in range(count)
    ]


@pytest.mark.parametrize(("before", "after"), [(3, 3), (1, 3), (4, 3)])
def test_percentiles_in_one_bucket_run_after_run_are_judged_by_its_edges(
    before: int, after: int, tmp_path: Path
) -> None:
    """They were "cannot tell": copies of one run, though p99 was 32 times as long."""
    slow = (0, 900, 0, 0, 0, 0, 0, 0, 100)
    sides = _runs(_FINE, start=0, count=before), _runs(slow, start=1000, count=after)
    p99 = row(only(compared(tmp_path, *sides, metrics=("p99",))), "p99")
    assert (p99.before, p99.after, p99.method) == (12e4, 384e4, "runs")
    assert p99.outcome is Outcome.WORSE
    assert p99.difference_low is not None and p99.change_low is not None
    assert 0 < p99.difference_low < 256e4 - 16e4, "less than between the nearer edges"
    assert 0 < p99.change_low < 256 / 16 - 1
    assert p99.p_value is not None and p99.p_value < 0.05


def test_percentiles_in_neighbouring_buckets_may_be_as_good_as_one(tmp_path: Path) -> None:
    sides = _runs(_FINE, start=0), _runs((0, 990, 0, 0, 12), start=1000)
    p99 = row(only(compared(tmp_path, *sides, metrics=("p99",))), "p99")
    assert (p99.change, p99.p_value) == (1.0, 1.0)
    assert p99.outcome is Outcome.UNDECIDED
    assert "could be anything from" in p99.reason


def test_runs_in_turn_with_percentiles_in_one_bucket_are_still_couples(tmp_path: Path) -> None:
    before, after = _runs(_FINE, start=0), _runs((0, 900, 0, 0, 0, 0, 0, 0, 100), start=50)
    p99 = row(only(compared(tmp_path, before, after, metrics=("p99",))), "p99")
    assert (p99.method, p99.outcome) == ("couples", Outcome.WORSE)


def test_copies_of_one_run_are_still_suspected(tmp_path: Path) -> None:
    copies = [run("a", 1000, id=f"a{k}", start=100 * k, histogram=[_FINE]) for k in range(3)]
    pair = only(compared(tmp_path, copies, _runs((0, 900, 0, 0, 0, 0, 100), start=1000), metrics=("p99",)))
    assert row(pair, "p99").outcome is Outcome.UNDECIDED
    assert "copies of one run" in row(pair, "p99").reason


def test_a_percentile_above_all_buckets_says_why_it_has_no_interval(tmp_path: Path) -> None:
    def writer(number: int, start: float) -> Writer:
        def write(recorder: Recorder) -> None:
            run("a", 1000 + number, id=f"a{number}", start=start)(recorder)
            buckets = [(0.0, 1e6, 10), (1e6, float("inf"), 90 + number)]
            at = int(START + start * SECOND)
            recorder.histogram(EntityRef("host", "job", "a"), at, SECOND, "read", "lat", buckets, run=f"a{number}")

        return write

    sides = [[writer(k, 100 * k + later) for k in range(3)] for later in (0, 1000)]
    p99 = row(only(compared(tmp_path, *sides, metrics=("p99",))), "p99")
    assert p99.reason == "no interval: every run has it in a bucket without an upper end"


def test_percentiles_that_are_told_alike_are_called_rounded(tmp_path: Path) -> None:
    """Plain JSON of fio has 116,736 ns in every run of a steady device: these are no copies."""
    sides = [
        [run("a", 1000 + k, id=f"a{k}", start=later + 100 * k, reads=1.0, told={"read.lat.p99": ns}) for k in range(3)]
        for ns, later in ((116_736.0, 0), (150_000.0, 1000))
    ]
    p99 = row(only(compared(tmp_path, *sides, metrics=("p99",))), "p99")
    assert p99.outcome is Outcome.UNDECIDED
    assert "as figures do that are rounded; histograms tell more (fio: --output-format=json+)" in p99.reason


def test_a_rate_that_is_held_is_no_copy(tmp_path: Path) -> None:
    sides = [
        [run("a", 1000, id=f"a{k}", start=later + 100 * k, latency_ns=1e6 * scale + k) for k in range(3)]
        for scale, later in ((1, 0), (2, 1000))
    ]
    iops = row(only(compared(tmp_path, *sides, metrics=("iops",))), "iops")
    assert "as figures do that are rounded or held to a limit" in iops.reason


def test_couples_that_differ_by_the_same_are_compared_as_runs(tmp_path: Path) -> None:
    """Rounded figures do; each side has its spread all the same."""
    before, after = ([run("a", rate + k, id=f"a{k}", start=k + late) for k in (0, 20, 40)]
                     for rate, late in ((1000, 0), (500, 10)))  # fmt: skip
    iops = row(only(compared(tmp_path, before, after)), "iops")
    assert (iops.method, iops.outcome) == ("runs", Outcome.WORSE)


def test_repetitions_of_unlike_lengths_are_told_by_the_shortest_and_the_longest(tmp_path: Path) -> None:
    """It was "4 min after", though none ran that long."""
    sides = [
        [run("a", 1000 + k, id=f"a{k}", start=later + 1000 * k, duration_s=s) for k, s in enumerate(lengths)]
        for lengths, later in (((60, 60, 60), 0), ((60, 60, 600), 9000))
    ]
    (warning,) = only(compared(tmp_path, *sides)).warnings
    assert warning == "NOT THE SAME LOAD: ran 60 s before, 60 s to 10 min after."
