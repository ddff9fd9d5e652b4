"""Latencies that begin at the same moment: where one side is ours and the other another tool's, both from submission.

Our latency is the response, from when an I/O should have started; fio's lat (slat + clat) and Iometer's begin when the
I/O is handed over, as our service does (docs/bench.md). So of our runs the service is taken then, in means and in
distributions. Of the service of reads, writes and flushes apart no mean is kept: it is all of the service where a run
has but one of them, and else comes from the distributions. What a run says itself of how sure its latencies are is of
the response, and left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from storscope.compare.flushes_apart import mean_of_ios
from storscope.compare.matching import Pair
from storscope.compare.metrics import FLUSH_RATE, IN_FLIGHT, METRICS, Metric
from storscope.compare.service_apart import SERVICE, service_apart
from storscope.compare.subjects import HistogramPart, Intervals, Measured, Subject, in_flight
from storscope.domain.arrays import FloatArray

OWN_ENGINES: Final = frozenset({"storscope", "storscope-sim"})
_FROM_SUBMISSION: Final = frozenset({"fio", "iometer", "diskspd", "elbencho"})
_LATENCY = "latency_ns_mean"
_KINDS: Final = {"read": "reads", "write": "writes", "flush": "flushes"}
"""What names of figures begin with, in words."""
_DIRECTIONS: Final = ("read", "write")
_NOTE: Final = (
    "Latencies begin at submission on both sides: {tools}, and of storscope the service. Its response, from when an "
    "I/O should have started, is not compared."
)
_APART: Final = (
    "Of storscope's runs the service of {kinds} apart is from distributions, whose buckets are at most 0.8 % wide, and "
    "their common mean, which is exact."
)
_NOT_APART: Final = (
    "{name}: not compared. Latencies are compared from submission, and of storscope's run the service of {kinds} apart "
    "is not kept, nor is it in distributions for its intervals."
)
_TOLD: Final = {
    "fio": "fio's lat (slat + clat)", "iometer": "Iometer's", "diskspd": "diskspd's", "elbencho": "elbencho's",
}  # fmt: skip


def is_mixed(pair: Pair) -> bool:
    """Whether our runs are compared with those of tools that are known to time from submission."""
    engines = _engines(pair)
    return bool(engines & OWN_ENGINES and engines & _FROM_SUBMISSION) and engines <= OWN_ENGINES | _FROM_SUBMISSION


def alike(pair: Pair, metrics: Sequence[Metric]) -> Pair:
    """The pair with latencies that begin at the same moment, and notes where that takes something."""
    if not pair.before[0].is_run or not is_mixed(pair):
        return pair
    tools = " and ".join(_TOLD[engine] for engine in sorted(_engines(pair) - OWN_ENGINES))
    before, after = ([_from_submission(subject) for subject in side] for side in (pair.before, pair.after))
    notes = [_NOTE.format(tools=tools), *_about_directions([*before, *after], metrics)]
    return replace(pair, before=before, after=after, notes=[*pair.notes, *notes])


def _about_directions(subjects: Sequence[Subject], metrics: Sequence[Metric]) -> list[str]:
    """Where the means of reads, writes and flushes apart come from that are asked for, or why there are none."""
    ours = [subject.measured() for subject in subjects if (subject.engine or "").lower() in OWN_ENGINES]
    mixed = [one for one in ours if len(_made(one)) > 1]
    made = [word for word in _KINDS if any(word in _made(one) for one in mixed)]
    asked = [metric for metric in metrics if metric.column in {_column(word) for word in made}]
    if not asked:
        return []
    kinds = " and of ".join(_KINDS[word] for word in made)
    unknown = [
        metric for metric in asked if any(one.value(metric) is None for one in mixed if _word(metric) in _made(one))
    ]
    notes = [_NOT_APART.format(name=metric.name, kinds=kinds) for metric in unknown]
    return notes if len(unknown) == len(asked) else [_APART.format(kinds=kinds), *notes]


def _made(measured: Measured) -> set[str]:
    """What it did at all."""
    rates = {"read": METRICS["read_iops"], "write": METRICS["write_iops"], "flush": METRICS["flush_rate"]}
    return {word for word, rate in rates.items() if measured.value(rate)}


def _word(metric: Metric) -> str:
    return metric.column.partition("_")[0]


def _column(word: str) -> str:
    return f"{word}_latency_ns_mean"


def _engines(pair: Pair) -> set[str]:
    return {(subject.engine or "unknown").lower() for subject in (*pair.before, *pair.after)}


def _from_submission(subject: Subject) -> Subject:
    change = _own if (subject.engine or "").lower() in OWN_ENGINES else _others
    return replace(subject, measured=functools.cache(functools.partial(_changed, subject.measured, change)))


def _changed(measured: Callable[[], Measured], change: Callable[[Measured], Measured]) -> Measured:
    return change(measured())


def _own(measured: Measured) -> Measured:
    return Measured(
        None if measured.whole is None else _of_service(measured.whole, measured.histograms),
        None if measured.intervals is None else _of_service(measured.intervals, measured.histograms),
        [part for part in measured.histograms if part.measure != "response"],
        {name: known for name, known in measured.own.items() if name in METRICS and METRICS[name].unit != "ns"},
    )


def _of_service(intervals: Intervals, histograms: Sequence[HistogramPart]) -> Intervals:
    columns: dict[str, FloatArray] = dict(intervals.columns)
    service = columns.get(SERVICE)
    for name in (_LATENCY, *map(_column, _KINDS)):
        columns.pop(name, None)
    if service is None:
        return replace(intervals, columns=columns)
    alone = [word for word in _DIRECTIONS if all(_is_idle(columns, other) for other in _KINDS if other != word)]
    means = dict.fromkeys(alone, service) if alone else service_apart(intervals, histograms)
    columns |= {_column(word): values for word, values in means.items()}
    if FLUSH_RATE not in columns:
        columns[_LATENCY] = service
        return replace(intervals, columns=columns)
    rates = {word: intervals.column(f"{word}_ops_per_s") for word in _DIRECTIONS if word in means}
    columns[IN_FLIGHT] = in_flight(intervals.column("ops_per_s") + np.nan_to_num(columns[FLUSH_RATE]), service)
    if rates:
        spent = sum(np.where(rate > 0, rate * means[word], 0.0) for word, rate in rates.items())
        columns[_LATENCY] = mean_of_ios(np.asarray(spent), intervals.column("ops_per_s"))
    return replace(intervals, columns=columns)


def _is_idle(columns: Mapping[str, FloatArray], word: str) -> bool:
    """Whether it is known that there was none; flushes are told of runs that make them."""
    rates = columns.get(f"{word}_ops_per_s")
    return word == "flush" if rates is None else not rates.any()


def _others(measured: Measured) -> Measured:
    """Their lat under the name that our service has. Open loops that we had fio run have a service and no more."""
    whole, intervals = (
        _of_service(one, measured.histograms)
        if one is not None and _LATENCY not in one.columns and SERVICE in one.columns
        else one
        for one in (measured.whole, measured.intervals)
    )
    return replace(
        measured,
        whole=whole,
        intervals=intervals,
        histograms=[_renamed(part) for part in measured.histograms],
        told={(one, _ours(measure), percent): value for (one, measure, percent), value in measured.told.items()},
    )


def _renamed(part: HistogramPart) -> HistogramPart:
    return replace(part, measure=_ours(part.measure))


def _ours(measure: str) -> str:
    return "service" if measure == "lat" else measure
