"""What was compared, told for whoever reads the comparison: each run or entity, with its figures over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from storscope.compare.matching import Pair
from storscope.compare.subjects import Intervals, Subject
from storscope.compare.wording import load_in_words
from storscope.domain.arrays import IntArray
from storscope.domain.comparison import AFTER, BEFORE, ComparedSubject, OverTime, Side
from storscope.domain.units import NS_PER_S

_SHOWN: Final = ("ops_per_s", "bytes_per_s", "latency_ns_mean")


def compared_subjects(pair: Pair, captures: Mapping[Side, Mapping[str, str]]) -> list[ComparedSubject]:
    """The subjects of a pair, the side before first. `captures` are the paths of each side's captures by their id."""
    sides: tuple[tuple[Side, list[Subject]], ...] = ((BEFORE, pair.before), (AFTER, pair.after))
    return [_told(subject, side, captures[side]) for side, group in sides for subject in group]


def _told(subject: Subject, side: Side, paths: Mapping[str, str]) -> ComparedSubject:
    over_time = _over_time(subject)
    began_ns, duration_ns = subject.time_ns, subject.duration_ns
    if over_time is not None and duration_ns is None:
        duration_ns = int(over_time.end_ns[-1] - over_time.begin_ns[0])
    if began_ns is None or not subject.is_run:
        began_ns = _first_ns(subject)
    elif subject.duration_ns is None:
        began_ns = max(began_ns - subject.warm_up_ns, _first_ns(subject) or began_ns)  # of a range of the run
    return ComparedSubject(
        side=side,
        key=subject.key,
        name=subject.name,
        place=subject.place,
        engine=subject.engine or "",
        load=_load(subject) if subject.is_run else "",
        began_ns=began_ns,
        duration_ns=duration_ns,
        status=subject.status or "",
        captures=[paths[one] for one in subject.capture.split(",") if one in paths],
        over_time=over_time,
    )


def _load(subject: Subject) -> str:
    """What was asked for; of several streams stream by stream, behind what they have in common."""
    streams, whole = subject.asked.by_stream(), load_in_words(subject.load)
    if not streams:
        return ", ".join([whole, *subject.asked.words()])
    return "; ".join([", ".join([whole, *subject.asked.of_the_whole()]), *streams])


def _first_ns(subject: Subject) -> int | None:
    intervals = subject.measured().intervals
    return next((time for time in intervals.time_ns if time is not None), None) if intervals is not None else None


def _over_time(subject: Subject) -> OverTime | None:
    """None of a single interval, which has no course."""
    intervals = subject.measured().intervals
    if intervals is None or len(intervals) < 2:
        return None
    columns = {name: intervals.columns[name] for name in _SHOWN if name in intervals.columns}
    if not any(np.isfinite(column).any() for column in columns.values()):
        return None
    lengths_ns = np.round(intervals.duration_s * NS_PER_S).astype(np.int64)
    begin_ns = _since_start(subject, intervals, lengths_ns)
    return OverTime(begin_ns, begin_ns + lengths_ns, columns)


def _since_start(subject: Subject, intervals: Intervals, lengths_ns: IntArray) -> IntArray:
    """When each interval began; without times in the source one follows the other."""
    times = [time for time in intervals.time_ns if time is not None]
    if len(times) != len(intervals):
        return subject.warm_up_ns + np.cumsum(lengths_ns) - lengths_ns
    return np.asarray(times, dtype=np.int64) - _start_ns(subject, times[0])


def _start_ns(subject: Subject, first_ns: int) -> int:
    """That of the run, unless its intervals go by another clock, which places them before it; else their own."""
    if not subject.is_run or subject.time_ns is None:
        return first_ns
    start_ns = subject.time_ns - subject.warm_up_ns
    return start_ns if start_ns <= first_ns else first_ns
