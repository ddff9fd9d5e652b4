"""Puts consecutive intervals together to one, in the form the engine writes them.

What merge_next in crates/storscope-load/src/tally.rs does: counts add up, the number in flight is weighted by time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from storscope.bench.buckets import Buckets
from storscope.bench.compact import is_compact
from storscope.bench.figures import DIRECTIONS, FLUSHES, Interval
from storscope.bench.histograms import Histograms

Form = dict[str, Any]

_NO_LATENCIES = Buckets().to_form()
_AT_ONCE = 64
"""How many are held in memory: a run of a day has 86,400."""


def joined(intervals: Iterable[Interval], index: int = 0) -> Interval | None:
    """One interval over all of them, numbered `index`; None of none. Latencies keep their buckets: nothing is lost."""
    pending: list[Interval] = []
    for interval in intervals:
        pending.append(interval)
        if len(pending) == _AT_ONCE:
            pending = [_joined(pending, index)]
    return _joined(pending, index) if pending else None


def with_silent(interval: Interval, whole: Interval) -> Interval:
    """The same with each stream on a target that did nothing in it and is in `whole`: intervals may lack those."""
    made = {(cell["stream"], cell["target"]) for cell in interval.form["cells"]}
    silent = [cell for cell in whole.form["cells"] if (cell["stream"], cell["target"]) not in made]
    return Interval({**interval.form, "cells": [*interval.form["cells"], *map(_silenced, silent)]})


def _silenced(cell: Form) -> Form:
    return {name: nothing_of(value) if isinstance(value, dict) else value for name, value in cell.items()}


def nothing_of(tally: Mapping[str, Any]) -> Form:
    """A tally of no I/O, with the measures that another one has."""
    return {name: _NO_LATENCIES if isinstance(value, dict) else 0 for name, value in tally.items()}


def _joined(intervals: Sequence[Interval], index: int) -> Interval:
    forms = [interval.form for interval in intervals]
    if len(forms) == 1:
        return Interval({**forms[0], "index": index})
    first, last = forms[0], forms[-1]
    duration_ns = sum(form["duration_ns"] for form in forms)
    in_flight = [(form["outstanding_mean"], form["duration_ns"]) for form in forms]
    offered = [form["offered_per_s"] for form in forms if form["offered_per_s"] is not None]
    return Interval({
        "index": index, "start_ns": first["start_ns"], "duration_ns": duration_ns, "drain": False,
        "cells": _cells(forms),
        "submitted": sum(form["submitted"] for form in forms),
        "in_flight_at_end": last["in_flight_at_end"],
        "outstanding_mean": _mean(in_flight),
        "offered_per_s": offered[-1] if offered else None,
        "failures": _failures(forms),
        "usage": {name: sum(form["usage"][name] for form in forms) for name in first["usage"]},
    })  # fmt: skip


def _mean(values: Sequence[tuple[float | None, int]]) -> float | None:
    """Weighted by time; None where one of them is."""
    duration_ns = sum(length_ns for _, length_ns in values)
    areas = [value * length_ns for value, length_ns in values if value is not None]
    if len(areas) < len(values):
        return None
    return sum(areas) / duration_ns if duration_ns else 0.0


def _cells(forms: Sequence[Any]) -> list[Form]:
    grouped: dict[tuple[int, int], list[Form]] = {}
    for form in forms:
        for cell in form["cells"]:
            grouped.setdefault((cell["stream"], cell["target"]), []).append(cell)
    found: list[Form] = [{"stream": stream, "target": target} for stream, target in grouped]
    for name in DIRECTIONS:
        groups = [[cell[name] for cell in cells] for cells in grouped.values()]
        for cell, tally in zip(found, _tallies(groups), strict=True):
            cell[name] = tally
    flushes = [[cell[FLUSHES] for cell in cells if cell.get(FLUSHES) is not None] for cells in grouped.values()]
    flushing = _tallies([group for group in flushes if group])
    for cell, group in zip(found, flushes, strict=True):
        cell[FLUSHES] = next(flushing) if group else None
    return found


def _tallies(groups: Sequence[Sequence[Form]]) -> Iterator[Form]:
    """Each group as one."""
    tallies = list(chain.from_iterable(groups))
    has_arrays = bool(tallies) and all(is_compact(tally["response"]) for tally in tallies)
    return iter(_together(groups)) if has_arrays else map(_tally, groups)


def _tally(tallies: Sequence[Form]) -> Form:
    histograms = {
        measure: Buckets.merged(Buckets.from_form(tally[measure]) for tally in tallies).to_form()
        for measure in _measures(tallies[0])
    }
    return _counted(tallies) | histograms


def _together(groups: Sequence[Sequence[Form]]) -> list[Form]:
    """The same for many groups at once, of tallies with arrays (compact.py)."""
    tallies = list(chain.from_iterable(groups))
    group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    is_shared = all(tally["service"] is tally["response"] for tally in tallies)
    found = [_counted(group) for group in groups]
    for measure in _measures(tallies[0]):
        if measure == "service" and is_shared:
            for one in found:
                one[measure] = one["response"]
            continue
        summed = Histograms.from_forms([tally[measure] for tally in tallies]).summed(group_of, len(groups))
        for one, form in zip(found, summed.to_forms(has_lists=False), strict=True):
            one[measure] = form
    return found


def _measures(tally: Form) -> list[str]:
    return [name for name, value in tally.items() if isinstance(value, dict)]


def _counted(tallies: Sequence[Form]) -> Form:
    return {name: sum(tally[name] for tally in tallies) for name in ("ios", "bytes")}


def _failures(forms: Sequence[Any]) -> list[Form]:
    counts: dict[int, int] = {}
    for form in forms:
        for failure in form["failures"]:
            counts[failure["errno"]] = counts.get(failure["errno"], 0) + failure["count"]
    return [{"errno": errno, "count": count} for errno, count in counts.items()]
