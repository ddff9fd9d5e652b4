"""The difference of a figure of repeated runs, and why it has no interval where the repetitions show no spread.

Runs that were taken in turn are compared couple by couple (`compare.in_turn`). Percentiles of runs lie in buckets, and
those of a steady device often in the same one run after run: these spread by less than its width, which is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storscope.compare.in_turn import in_couples
from storscope.compare.matching import Pair
from storscope.compare.metrics import METRICS, Metric
from storscope.compare.subjects import Subject
from storscope.model.compare import Difference, compare_couples, compare_runs
from storscope.model.compare_buckets_of_runs import compare_buckets_of_runs
from storscope.model.compare_histograms import Buckets

_TELLING_COPIES = ("latency", "iops", "bandwidth")
"""Figures of which runs that were measured hardly have all alike."""


def of_runs(pair: Pair, metric: Metric, values: Sequence[Sequence[float]], level: float) -> tuple[Difference, str]:
    """By one value of each run, before and after; with why there is no interval, if there is none."""
    before, after = (np.asarray(side, dtype=np.float64) for side in values)
    couples = in_couples(pair)
    difference = None
    if couples is not None:
        before, after = before[couples[0]], after[couples[1]]
        difference = compare_couples(before, after, level=level)
    if difference is None or difference.difference is None:  # also of couples that differ by the same, being rounded
        difference = compare_runs(before, after, level=level)
    return difference, "" if difference.difference else f"no interval: {_why_alike(pair, metric)}"


def of_histograms(
    pair: Pair, metric: Metric, sides: Sequence[Sequence[Buckets]], level: float
) -> tuple[Difference, str]:
    """A percentile by one histogram of each run."""
    share = metric.share or 0.0
    difference, doubt = of_runs(pair, metric, [[one.percentile(share) for one in side] for side in sides], level)
    if not doubt or any(len(side) > 1 and _are_copies(side) for side in sides):
        return difference, doubt
    bounds = [np.asarray([one.bounds(share) for one in side]) for side in sides]
    couples = in_couples(pair)
    if couples is not None:
        bounds = [side[coupled] for side, coupled in zip(bounds, couples, strict=True)]
    within = compare_buckets_of_runs(bounds[0], bounds[1], is_paired=couples is not None, level=level)
    return within, "" if within.difference else "no interval: every run has it in a bucket without an upper end"


def _are_copies(side: Sequence[Buckets]) -> bool:
    """Whether their distributions are one, which those of repetitions never are."""
    first = _counted(side[0])
    return all(_counted(one) == first for one in side[1:])


def _counted(one: Buckets) -> dict[tuple[float, float], int]:
    return {
        (float(low), float(high)): int(count)
        for low, high, count in zip(one.low, one.high, one.total, strict=True)
        if count
    }


def _why_alike(pair: Pair, metric: Metric) -> str:
    """Why repetitions that are meant to show chance show none."""
    if _differ_elsewhere(pair):
        how = "as figures do that are rounded"
        more = "; histograms tell more (fio: --output-format=json+)" if metric.share else " or held to a limit"
        return f"the repetitions agree in it to the last digit, {how}{more}"
    if all(run.is_simulated for run in (*pair.before, *pair.after)):
        return "the repetitions agree to the last digit, as simulations of one seed do: give each its own (--seed)"
    return "the repetitions agree to the last digit, as copies of one run do: measure again"


def _differ_elsewhere(pair: Pair) -> bool:
    """Whether the repetitions have other figures that differ, so that they are no copies."""
    return all(
        any(len({run.measured().value(METRICS[name]) for run in group}) > 1 for name in _TELLING_COPIES)
        for group in _groups(pair)
        if len(group) > 1
    )


def _groups(pair: Pair) -> tuple[list[Subject], list[Subject]]:
    return pair.before, pair.after
