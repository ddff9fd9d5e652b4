"""The difference of each figure of a pair, by the statistics that its evidence allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from storscope.compare.endings import barred_by_ending, sure_in_spite
from storscope.compare.matching import Pair
from storscope.compare.metrics import METRICS, Metric
from storscope.compare.repeated_figures import of_histograms, of_runs
from storscope.compare.subjects import HistogramPart, Subject
from storscope.compare.told_percentiles import tells_apart, told_of
from storscope.compare.wording import listed
from storscope.domain.arrays import FloatArray
from storscope.domain.comparison import Distribution, Outcome
from storscope.domain.flush import OPERATION
from storscope.model.compare import (
    INTERVALS_MIN,
    Difference,
    Method,
    compare_known,
    compare_series,
    only_values,
)
from storscope.model.compare_histograms import (
    Buckets,
    buckets_of,
    compare_percentile,
    mann_whitney_of_buckets,
)

_MEASURES: Final = ("response", "lat", "clat", "service")
"""Latencies from the most to the least complete; both sides must have the same one. Submission alone is none."""


@dataclass(frozen=True)
class Found:
    """A figure's difference; `doubt` says why it has no interval."""

    metric: Metric
    difference: Difference
    doubt: str = ""
    barred: str = ""
    """Why it may not be judged, whatever it is: how the runs ended."""
    sure: Mapping[Outcome, str] = field(default_factory=dict)
    """Where it is barred: the outcomes that are sure all the same, with the reason."""


def differences(
    pair: Pair, metrics: Sequence[Metric], seed: int, level: float, *, were_asked: bool = False
) -> tuple[list[Found], list[str]]:
    """What can be compared of the pair, and sentences about what cannot.

    What neither side has is told of metrics that were asked for, not of those that are looked for anyway.
    """
    found, missing = [], []
    for metric in metrics:
        has = [_has(group, metric) for group in (pair.before, pair.after)]
        if all(has):
            result = _percentile(pair, metric, seed, level) if metric.share else _mean(pair, metric, seed, level)
            if result is not None:
                barred = barred_by_ending(pair, metric)
                sure = sure_in_spite(pair, metric) if barred else {}
                found.append(replace(result, barred=barred, sure=sure))
            else:
                missing.append(f"{metric.name}: the sides timed different parts of an I/O{_parts_words(pair, metric)}.")
        elif any(_has([run], metric) for run in (*pair.before, *pair.after)):
            missing.append(f"{metric.name}: {_who_lacks(pair, metric)}.{_of_either(pair, metric)}")
        elif were_asked or _of_either(pair, metric):
            missing.append(f"{metric.name}: neither side has it.{_of_either(pair, metric) or _source(metric)}")
    return found, missing


def about_parts(pair: Pair, metrics: Sequence[Metric]) -> list[str]:
    """What percentiles are of where fio kept no distribution of the whole: its mean latency is of more than that."""
    of_clat = [metric.name for metric in metrics if metric.share and _common_measure(pair, metric) == "clat"]
    if not of_clat:
        return []
    names = listed(of_clat)
    what = f"{names}: of fio's clat, which leaves out the submission (slat); the mean latency is of lat, which has it"
    return [f"{what}. fio keeps percentiles of lat with lat_percentiles=1."]


def others_on_both_sides(pairs: Sequence[Pair]) -> list[str]:
    """Names of the metrics that some pair has on both sides, whether they were looked for or not."""
    return [
        name
        for name, metric in METRICS.items()
        if any(_has(pair.before, metric) and _has(pair.after, metric) for pair in pairs)
    ]


def _source(metric: Metric) -> str:
    return " Percentiles are taken from histograms; fio writes them with --output-format=json+." if metric.share else ""


def _of_either(pair: Pair, metric: Metric) -> str:
    """What to do where a percentile is told of reads and of writes, but not of both; empty where it is not."""
    if not any(tells_apart(run.measured(), metric) for run in (*pair.before, *pair.after)):
        return ""
    apart = f"--metric read_{metric.name} --metric write_{metric.name}"
    return (
        f" fio told it of reads and of writes; of both together it takes histograms (--output-format=json+). "
        f"To compare either: {apart}."
    )


def _parts_words(pair: Pair, metric: Metric) -> str:
    """Which, and what to do where fio was not told to keep the part that the other side has."""
    timed = [
        {
            *(part.measure for run in group for part in run.measured().histograms if part.measure in _MEASURES),
            *(measure for run in group for measure in told_of(run.measured(), metric)),
        }
        for group in (pair.before, pair.after)
    ]
    words = [" and ".join(measure for measure in _MEASURES if measure in own) for own in timed]
    hint = "; run fio with lat_percentiles=1" if any(own == {"clat"} for own in timed) else ""
    return f" ({words[0]} before, {words[1]} after{hint})"


def _who_lacks(pair: Pair, metric: Metric) -> str:
    """A side, or some of its runs: 'only the side before has it', '1 of 3 runs after lacks it (NAME)'."""
    lacking = [[run for run in group if not _has([run], metric)] for group in (pair.before, pair.after)]
    groups = (pair.before, pair.after)
    for own, other, group, side in zip(lacking, lacking[::-1], groups, ("after", "before"), strict=True):
        if len(own) == len(group) and not other:
            return f"only the side {side} has it"
    return "; ".join(
        f"{len(own)} of {len(group)} runs {side} {'lacks' if len(own) == 1 else 'lack'} it "
        f"({listed([run.key for run in own])})"
        for own, group, side in zip(lacking, groups, ("before", "after"), strict=True)
        if own
    )


def _has(group: Sequence[Subject], metric: Metric) -> bool:
    if metric.share:
        return all(_histograms(run, metric, None) or told_of(run.measured(), metric) for run in group)
    return all(subject.measured().value(metric) is not None for subject in group)


# Means ----------------------------------------------------------------------------------------------------------------


def _mean(pair: Pair, metric: Metric, seed: int, level: float) -> Found:
    if len(pair.before) == len(pair.after) == 1:
        return _of_two(pair.before[0], pair.after[0], metric, seed, level)
    return _of_groups(
        metric, pair, [[_value(run, metric) for run in group] for group in (pair.before, pair.after)], level
    )


def _value(subject: Subject, metric: Metric) -> float:
    value = subject.measured().value(metric)
    assert value is not None
    return value


def _of_two(before: Subject, after: Subject, metric: Metric, seed: int, level: float) -> Found:
    series = [subject.measured().series(metric) for subject in (before, after)]
    known = _of_own(before, after, metric, level)
    if (
        known is not None
        and known.difference is not None
        and min(0 if one is None else len(one) for one in series) < INTERVALS_MIN
    ):
        return Found(metric, known)
    if series[0] is None or series[1] is None or max(len(series[0]), len(series[1])) < 2:
        return Found(metric, only_values(_value(before, metric), _value(after, metric)), "no interval: one value each")
    difference = compare_series(series[0], series[1], seed=seed, level=level)
    few = min(len(series[0]), len(series[1]))
    doubt = "" if difference.difference else f"no interval: {few} intervals are too few ({INTERVALS_MIN} are needed)"
    return Found(metric, difference, doubt)


def _of_own(before: Subject, after: Subject, metric: Metric, level: float) -> Difference | None:
    """By what both runs say of themselves; None where one says nothing."""
    own = [subject.measured().own.get(metric.name) for subject in (before, after)]
    return None if own[0] is None or own[1] is None else compare_known(own[0], own[1], level=level)


def _of_groups(metric: Metric, pair: Pair, values: list[list[float]], level: float) -> Found:
    return Found(metric, *of_runs(pair, metric, values, level))


# Percentiles ----------------------------------------------------------------------------------------------------------


def _percentile(pair: Pair, metric: Metric, seed: int, level: float) -> Found | None:
    measure = _common_measure(pair, metric)
    if measure is None:
        return None
    share, groups = metric.share or 0.0, (pair.before, pair.after)
    if not all(_histograms(run, metric, measure) for group in groups for run in group):
        return _of_told(pair, metric, measure, level)
    before, after = ([_buckets(run, metric, measure) for run in group] for group in groups)
    if len(before) == len(after) == 1:
        found = compare_percentile(before[0], after[0], share, seed=seed, level=level)
        known = _of_own(pair.before[0], pair.after[0], metric, level)
        is_better = known is not None and known.difference is not None and found.method is Method.BUCKETS
        return Found(metric, known if known is not None and is_better else found)
    return Found(metric, *of_histograms(pair, metric, (before, after), level))


def _of_told(pair: Pair, metric: Metric, measure: str, level: float) -> Found:
    """Of runs of which some tell the percentile and no distribution."""

    def value(run: Subject) -> float:
        if _histograms(run, metric, measure):
            return _buckets(run, metric, measure).percentile(metric.share or 0.0)
        return told_of(run.measured(), metric)[measure]

    before, after = ([value(run) for run in group] for group in (pair.before, pair.after))
    if len(before) == len(after) == 1:
        return Found(metric, only_values(before[0], after[0]), "no interval: one value each")
    return _of_groups(metric, pair, [before, after], level)


def _common_measure(pair: Pair, metric: Metric | None) -> str | None:
    """What was timed on both sides; flushes, of which fio has the total alone, do not decide for reads and writes."""
    operations = {part.operation for run in (*pair.before, *pair.after) for part in run.measured().histograms}
    asked = metric.operations if metric is not None and metric.operations else operations - {OPERATION}
    timed = [
        {
            *(part.measure for part in run.measured().histograms if part.operation in asked),
            *(told_of(run.measured(), metric) if metric else ()),
        }
        for run in (*pair.before, *pair.after)
    ]
    return next((measure for measure in _MEASURES if all(measure in own for own in timed)), None)


def _histograms(subject: Subject, metric: Metric | None, measure: str | None) -> list[HistogramPart]:
    """The histograms of the metric's operations; else those of I/Os, of all together where there are such."""
    wanted = metric.operations if metric else ()
    parts = [
        part
        for part in subject.measured().histograms
        if part.measure in _MEASURES and part.counts.sum() and (measure is None or part.measure == measure)
    ]
    if wanted:
        return [part for part in parts if part.operation in wanted]
    together = [part for part in parts if part.operation == "all"]
    return together or [part for part in parts if part.operation != OPERATION]


def _buckets(subject: Subject, metric: Metric | None, measure: str) -> Buckets:
    """A row per instant, or per place in the series without times: reads and writes of one interval belong together."""
    parts = _histograms(subject, metric, measure)
    has_times = all(part.time_ns is not None for part in parts)
    by_instant: dict[int, list[HistogramPart]] = defaultdict(list)
    for part in parts:
        by_instant[part.time_ns if has_times and part.time_ns is not None else part.place].append(part)
    return buckets_of([_together(by_instant[instant]) for instant in sorted(by_instant)])


def _together(
    parts: Sequence[HistogramPart],
) -> tuple[FloatArray, FloatArray, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return (
        np.concatenate([part.low_ns for part in parts]),
        np.concatenate([part.high_ns for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )


def distribution(pair: Pair) -> Distribution | None:
    """Mann-Whitney on the latency distributions, when both sides have them of the same part of an I/O."""
    measure = _common_measure(pair, None)
    groups = (pair.before, pair.after)
    if measure is None or not all(_histograms(run, None, measure) for group in groups for run in group):
        return None
    sides = []
    for group in groups:
        parts = [part for run in group for part in _histograms(run, None, measure)]
        sides.append(buckets_of([_together(parts)]))
    said = mann_whitney_of_buckets(*sides)
    return Distribution(said.probability, said.p_value)
