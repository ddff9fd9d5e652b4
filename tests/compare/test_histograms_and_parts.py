"""Percentiles from histograms, and runs that are recorded in parts or in intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from storscope.compare import compare_sides, parse_side
from storscope.domain.comparison import Outcome, Settings
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.compare.evidence import SECOND, START, Writer, compared, noisy, only, row, run, undated
from tests.support.cases import make_store


def test_percentiles_come_from_histograms(tmp_path: Path) -> None:
    before = [run("a", noisy(1000), histogram=[[0, 990, 0, 10, 0]])]
    after = [run("a", noisy(1000, seed=3), histogram=[[0, 900, 0, 0, 100]])]
    pair = only(compared(tmp_path, before, after, metrics=("p50", "p99", "read_p99.9", "write_p99")))
    assert (row(pair, "p50").change, row(pair, "p99").before) == (0.0, 3e4)
    assert row(pair, "p99").after == pytest.approx(24e4)
    assert row(pair, "p99").method == "buckets"
    assert "takes I/Os as independent" in row(pair, "p99").reason
    assert row(pair, "read_p99.9").before == pytest.approx(12e4)
    assert [one.metric for one in pair.rows] == ["p50", "p99", "read_p99.9"]
    assert pair.distribution is not None
    assert pair.distribution.probability_slower == pytest.approx(0.99 * 0.1 + 0.01 * 0.1 + 0.99 * 0.9 / 2)


def test_a_histogram_per_interval_is_judged(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    before = [run("a", noisy(1000), histogram=rng.poisson([0.1, 900, 60, 40, 1], (60, 5)).tolist())]
    after = [run("a", noisy(1000, seed=3), histogram=rng.poisson([0.1, 500, 60, 40, 0.1, 400], (60, 6)).tolist())]
    pair = only(compared(tmp_path, before, after, metrics=("p99",)))
    assert row(pair, "p99").method == "bucket-series"
    assert row(pair, "p99").outcome is Outcome.WORSE


def test_intervals_without_a_date_are_judged_as_those_with_one(tmp_path: Path) -> None:
    """As in fio's logs, of which times are known since the beginning alone."""
    rng = np.random.default_rng(1)
    rates = [rng.poisson([0.1, level, 60, 40, 1, level * 0.01], (60, 6)).tolist() for level in (900, 500)]
    sides = [
        [run("a", noisy(1000, 60, seed=seed, rho=0.9), histogram=own)] for seed, own in zip((0, 3), rates, strict=True)
    ]
    dated = only(compared(tmp_path / "dated", *sides, metrics=("p99", "iops")))
    bare = only(
        compared(tmp_path / "bare", *([undated(one) for one in side] for side in sides), metrics=("p99", "iops"))
    )
    assert row(dated, "p99").method == "bucket-series"
    assert [row(bare, name) for name in ("p99", "iops")] == [row(dated, name) for name in ("p99", "iops")]


def test_a_metric_that_one_side_lacks_is_said(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a", 10, histogram=[[0, 1]])], [run("a", 10)]))
    assert "p99: only the side before has it." in pair.notes
    assert "p99" not in [one.metric for one in pair.rows]


def test_a_metric_that_some_runs_lack_is_said_with_their_names(tmp_path: Path) -> None:
    """One run without histograms takes the percentile of all."""
    before = [run("a", 10, id=f"a{k}", start=100 * k, histogram=[[0, 1]]) for k in range(3)]
    after = [run("a", 10, id=f"b{k}", start=900 + 100 * k, histogram=[[0, 1]] if k else ()) for k in range(3)]
    pair = only(compared(tmp_path / "1", before, after))
    assert pair.missing == ["p99: 1 of 3 runs after lacks it (b0)."]
    assert set(pair.missing) <= set(pair.notes)
    pair = only(compared(tmp_path / "2", [*before[:2], run("a", 10, id="a9", start=500)], after))
    assert pair.missing == ["p99: 1 of 3 runs before lacks it (a9); 1 of 3 runs after lacks it (b0)."]


def test_a_metric_that_was_asked_for_and_neither_side_has_is_said(tmp_path: Path) -> None:
    sides = [run("a", 10)], [run("a", 20)]
    pair = only(compared(tmp_path / "asked", *sides, metrics=("p99", "busy")))
    assert not pair.rows
    assert [note.split(".")[0] for note in pair.notes] == ["p99: neither side has it", "busy: neither side has it"]
    assert "json+" in pair.notes[0]
    assert not only(compared(tmp_path / "usual", *sides)).notes


def test_workers_that_ran_together_add_up(tmp_path: Path) -> None:
    def workers(rate: float) -> object:
        def write(recorder: Recorder) -> None:
            recorder.run("w", engine="iometer", name="w", system="h", time_ns=START, duration_ns=20 * SECOND)
            for name, share, latency in (("Worker 1", 0.75, 1e6), ("Worker 2", 0.25, 5e6)):
                for k in range(20):
                    figures = {"ops_per_s": rate * share, "latency_ns_mean": latency}
                    recorder.observe(EntityRef("h", "process", name), START + k * SECOND, SECOND, figures, run="w")

        return write

    pair = only(compared(tmp_path, [workers(1000)], [workers(2000)]))  # type: ignore[list-item]
    assert (row(pair, "iops").before, row(pair, "iops").after) == (1000, 2000)
    assert row(pair, "latency").before == pytest.approx(2e6)
    assert row(pair, "iops").method == "series"


def test_workers_cut_at_different_intervals_stay_in_step(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        recorder.run("w", engine="iometer", name="w", system="h", time_ns=START, duration_ns=40 * SECOND)
        for late, name in ((0, "Worker 1"), (SECOND // 4, "Worker 2")):
            for k in range(40):
                at = START + k * SECOND + late
                recorder.observe(EntityRef("h", "process", name), at, SECOND, {"ops_per_s": 10.0 + k}, run="w")

    store = make_store(tmp_path, write)
    sides = (parse_side("until=2027-01-15T08:00:20"), parse_side("since=2027-01-15T08:00:20"))
    found = compare_sides((store, sides[0]), (store, sides[1]), Settings(metrics=("iops",)), version="test")
    iops = row(only(found), "iops")
    assert (iops.values_before, iops.values_after) == (19, 20)
    assert iops.before == pytest.approx(2 * np.mean([10.0 + k for k in range(19)]))


def test_the_whole_of_a_run_is_not_taken_for_an_interval(tmp_path: Path) -> None:
    def with_whole(mean: float, seed: int) -> object:
        def write(recorder: Recorder) -> None:
            run("a", noisy(mean, 30, seed=seed))(recorder)
            recorder.observe(EntityRef("host", "job", "a"), START, 30 * SECOND, {"ops_per_s": 7.0}, run="a")

        return write

    pair = only(compared(tmp_path, [with_whole(1000, 1)], [with_whole(1000, 2)], metrics=("iops",)))  # type: ignore[list-item]
    assert row(pair, "iops").values_before == 30
    assert row(pair, "iops").before == pytest.approx(1000, rel=0.05)


@pytest.mark.parametrize("last_s", [0.05, 0.11])
def test_the_first_of_three_intervals_is_not_taken_for_the_whole(last_s: float, tmp_path: Path) -> None:
    """A run of 2.1 s: the first second is nearly as long as what follows it."""

    def of(rates: Sequence[float]) -> Writer:
        def write(recorder: Recorder) -> None:
            run("a", rates[:2], duration_s=2 + last_s)(recorder)
            values = {"ops_per_s": rates[2]}
            job = EntityRef("host", "job", "a")
            recorder.observe(job, START + 2 * SECOND, int(last_s * SECOND), values, run="a")

        return write

    pair = only(compared(tmp_path, [of([100, 200, 300])], [of([100, 200, 300])], metrics=("iops",)))
    assert row(pair, "iops").values_before == 3
    assert row(pair, "iops").before == pytest.approx((100 + 200 + 300 * last_s) / (2 + last_s))
