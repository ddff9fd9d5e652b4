"""Latencies that begin at the same moment: where one side is ours and the other another tool's, both from submission.

Our latency is the response, from when an I/O should have started; fio's lat (slat + clat) and Iometer's begin when the
I/O is handed over, as our service does (docs/bench.md). So of our runs the service is taken then, in means and in
distributions. Of the service of reads and of writes apart no mean is kept: it is there only where a run has but one of
them. What a run says itself of how sure its latencies are is of the response, and left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from storscope.compare.matching import Pair
from storscope.compare.metrics import METRICS
from storscope.compare.subjects import HistogramPart, Intervals, Measured, Subject
from storscope.domain.arrays import FloatArray

OWN_ENGINES: Final = frozenset({"storscope", "storscope-sim"})
_FROM_SUBMISSION: Final = frozenset({"fio", "iometer"})
_SERVICE, _LATENCY = "device_latency_ns_mean", "latency_ns_mean"
_DIRECTIONS: Final = (("read_latency_ns_mean", "write_ops_per_s"), ("write_latency_ns_mean", "read_ops_per_s"))
"""A direction's latency, and the rate that must be zero for all of the service to be of it."""
_NOTE: Final = (
    "Latencies begin at submission on both sides: {tools}, and of storscope the service. Its response, from when an "
    "I/O should have started, is not compared."
)
_TOLD: Final = {"fio": "fio's lat (slat + clat)", "iometer": "Iometer's"}


def is_mixed(pair: Pair) -> bool:
    """Whether our runs are compared with those of tools that are known to time from submission."""
    engines = _engines(pair)
    return bool(engines & OWN_ENGINES and engines & _FROM_SUBMISSION) and engines <= OWN_ENGINES | _FROM_SUBMISSION


def alike(pair: Pair) -> Pair:
    """The pair with latencies that begin at the same moment, and a note where that takes something."""
    if not pair.before[0].is_run or not is_mixed(pair):
        return pair
    tools = " and ".join(_TOLD[engine] for engine in sorted(_engines(pair) - OWN_ENGINES))
    before, after = ([_from_submission(subject) for subject in side] for side in (pair.before, pair.after))
    return Pair(pair.name, before, after, [*pair.notes, _NOTE.format(tools=tools)])


def _engines(pair: Pair) -> set[str]:
    return {(subject.engine or "unknown").lower() for subject in (*pair.before, *pair.after)}


def _from_submission(subject: Subject) -> Subject:
    change = _own if (subject.engine or "").lower() in OWN_ENGINES else _others
    return replace(subject, measured=functools.cache(functools.partial(_changed, subject.measured, change)))


def _changed(measured: Callable[[], Measured], change: Callable[[Measured], Measured]) -> Measured:
    return change(measured())


def _own(measured: Measured) -> Measured:
    return Measured(
        None if measured.whole is None else _of_service(measured.whole),
        None if measured.intervals is None else _of_service(measured.intervals),
        [part for part in measured.histograms if part.measure != "response"],
        {name: known for name, known in measured.own.items() if name in METRICS and METRICS[name].unit != "ns"},
    )


def _of_service(intervals: Intervals) -> Intervals:
    columns: dict[str, FloatArray] = dict(intervals.columns)
    service = columns.get(_SERVICE)
    for name in (_LATENCY, *(direction for direction, _ in _DIRECTIONS)):
        columns.pop(name, None)
    if service is None:
        return Intervals(intervals.duration_s, columns)
    columns[_LATENCY] = service
    for direction, other in _DIRECTIONS:
        if other in columns and not columns[other].any():
            columns[direction] = service
    return Intervals(intervals.duration_s, columns)


def _others(measured: Measured) -> Measured:
    """Their lat under the name that our service has. Open loops that we had fio run have a service and no more."""
    whole, intervals = (
        _of_service(one) if one is not None and _LATENCY not in one.columns and _SERVICE in one.columns else one
        for one in (measured.whole, measured.intervals)
    )
    return replace(
        measured, whole=whole, intervals=intervals, histograms=[_renamed(part) for part in measured.histograms]
    )


def _renamed(part: HistogramPart) -> HistogramPart:
    return replace(part, measure="service") if part.measure == "lat" else part
