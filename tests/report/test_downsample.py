"""Fewer points, every extreme."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storscope.report.downsample import Downsampled, downsample

S = 1_000_000_000

values = st.one_of(st.floats(0, 1e12), st.just(float("nan")))


@st.composite
def sampled(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times with a few gaps, ends, and values some of which are absent."""
    column = np.asarray(draw(st.lists(values, min_size=1, max_size=200)))
    steps = draw(st.lists(st.sampled_from([10, 10, 10, 10, 500]), min_size=len(column), max_size=len(column)))
    times = np.cumsum(np.asarray(steps, dtype=np.int64)) * S
    return times, times + 10 * S, column


def reduced(times: np.ndarray, ends: np.ndarray, column: np.ndarray, buckets: int) -> Downsampled:
    return downsample(times, ends, {"v": column}, {}, buckets)


@given(sampled(), st.integers(1, 50))
def test_the_global_extremes_survive(sample: tuple[np.ndarray, np.ndarray, np.ndarray], buckets: int) -> None:
    times, ends, column = sample
    small = reduced(times, ends, column, buckets).columns["v"]
    known = column[np.isfinite(column)]
    if len(known):
        assert np.nanmin(small.low) == known.min()
        assert np.nanmax(small.high) == known.max()
    else:
        assert np.isnan(small.low).all()


@given(sampled(), st.integers(1, 50))
def test_each_bucket_keeps_the_extremes_of_its_samples(
    sample: tuple[np.ndarray, np.ndarray, np.ndarray], buckets: int
) -> None:
    times, ends, column = sample
    small = reduced(times, ends, column, buckets)
    part = small.columns["v"]
    for index in range(len(small.time_ns) - 1):
        inside = column[(times >= small.time_ns[index]) & (times < small.time_ns[index + 1])]
        inside = inside[np.isfinite(inside)]
        if len(inside):
            assert part.low[index] == inside.min()
            assert part.high[index] == inside.max()
            assert inside.min() <= part.mean[index] <= inside.max()
        else:
            assert np.isnan([part.low[index], part.mean[index], part.high[index]]).all()


@given(sampled(), st.integers(1, 50))
def test_times_rise_and_the_last_row_is_absent(sample: tuple[np.ndarray, np.ndarray, np.ndarray], buckets: int) -> None:
    times, ends, column = sample
    small = reduced(times, ends, column, buckets)
    assert (np.diff(small.time_ns) > 0).all()
    assert np.isnan(small.columns["v"].mean[-1])
    assert small.time_ns[-1] == ends[-1]


def test_a_gap_stays_a_gap() -> None:
    times = np.concatenate([np.arange(0, 100, 10), np.arange(1000, 1100, 10)]).astype(np.int64) * S
    small = reduced(times, times + 10 * S, np.ones(20), 4)
    assert list(small.time_ns // S) == [0, 50, 100, 1000, 1050, 1100]
    assert list(np.isnan(small.columns["v"].mean)) == [False, False, True, False, False, True]


def test_a_latency_is_averaged_over_operations_not_over_samples() -> None:
    times = np.arange(4, dtype=np.int64) * S
    latency, ops = np.asarray([1e6, 1e6, 9e6, np.nan]), np.asarray([10.0, 10.0, 60.0, 5.0])
    small = downsample(times, times + S, {"latency": latency}, {"latency": ops}, 1)
    assert small.columns["latency"].mean[0] == 7e6


def test_few_samples_are_left_as_they_are() -> None:
    times = np.arange(5, dtype=np.int64) * S
    column = np.asarray([3.0, np.nan, 1.0, 0.0, 2.0])
    part = reduced(times, times + S, column, 100).columns["v"]
    np.testing.assert_array_equal(part.mean[:-1], column)
    np.testing.assert_array_equal(part.low, part.high)
