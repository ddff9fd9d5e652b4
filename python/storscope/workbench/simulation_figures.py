"""Figures of a simulation that hosts and components give together: where the time goes, phases, what bounds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from storscope.bench.figures import DIRECTIONS, FLUSHES, Interval
from storscope.bench.joining import joined
from storscope.domain.units import NS_PER_S, format_ratio, format_span
from storscope.sim.bottleneck import Bottleneck, bottleneck
from storscope.sim.crowded_times import crowded_times
from storscope.sim.phases import Phase
from storscope.sim.used import Used, used_components
from storscope.sim.volume_time import BEFORE_SENDING, VolumeTime
from storscope.sim.window import Report, inner_marks, passed, window
from storscope.workbench.convoys import convoys_of

_ASKED = (*DIRECTIONS, FLUSHES)
_OF_A_MEAN = ("load", "cache", "limit", "few_drives")
"""What is said to bound a part in which no component is used to the full on average."""


@dataclass(frozen=True)
class TimeSpent:
    """Where the time of the I/Os of one host on one volume went, in one direction, or of its flushes."""

    target: int
    """Index of the attachment."""
    direction: str
    ios: int
    mean_ns: float
    """Mean response, that of the table of latencies; the parts add up to it."""
    parts_ns: Mapping[str, float]
    """Mean by part; `before_sending` is the wait of an open loop in which all that it may have in flight was so."""


def time_spent(measured: Interval, part_of_run: Report) -> list[TimeSpent]:
    """The figures of hosts (`measured`) split as the components say (`part_of_run`) that their time went."""
    found = []
    cells_of: dict[int, list[Mapping[str, Any]]] = {}
    for cell in measured.form["cells"]:
        cells_of.setdefault(cell["target"], []).append(cell)
    for index, target in enumerate(part_of_run["targets"]):
        cells = cells_of.get(index, [])
        for direction in _ASKED:
            whole = Interval({**measured.form, "cells": cells}).direction(direction)
            if not whole.ios or whole.response.mean_ns is None:
                continue
            parts = {part["part"]: part["mean_ns"] for part in target[direction]["parts"]}
            waited, served = whole.lateness.sum_ns / whole.ios, whole.service.sum_ns / whole.ios
            scale = served / total if (total := sum(parts.values())) else 0.0
            split = {BEFORE_SENDING: waited} if waited else {}
            split |= {name: mean_ns * scale for name, mean_ns in parts.items()}
            found.append(TimeSpent(index, direction, whole.ios, whole.response.mean_ns, split))
    return found


def _noted(part: Report) -> list[TimeSpent]:
    """The same by the array's own account, for a time that no whole interval lies in."""
    return [
        TimeSpent(index, direction, answered, sum(parts.values()), parts)
        for index, target in enumerate(part["targets"])
        for direction, answered in zip(_ASKED, (*target["completed"], target["flushed"]), strict=True)
        if (parts := {one["part"]: one["mean_ns"] for one in target[direction]["parts"]})
    ]


def bottleneck_of(array: Report, part: Report, spent: Sequence[TimeSpent], *, is_open: bool) -> Bottleneck:
    """What bounds a part of a run. `array` is the report of the whole run; `is_open` is whether all streams are.

    Where nothing is used to the full on average, it is what is so in the times in which nearly all I/Os are there.
    """
    found = _bottleneck(array, part, spent, is_open=is_open)
    if found.kind not in _OF_A_MEAN or (crowded := crowded_times(array, part)) is None:
        return found
    then, share = crowded
    unsent = [replace(one, parts_ns={BEFORE_SENDING: one.parts_ns.get(BEFORE_SENDING, 0.0)}) for one in spent]
    bound = _bottleneck(array, then, [*_noted(then), *unsent], is_open=is_open)
    if bound.kind in _OF_A_MEAN:
        return found
    length = f"{format_span(then['duration_ns'])} of {format_span(part['duration_ns'])}"
    words = f"For {length}, in which I/Os spend {format_ratio(share)} of their time, {_lowered(bound.words)}"
    return replace(bound, words=words, is_at_times=True)


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:]


def _bottleneck(array: Report, part: Report, spent: Sequence[TimeSpent], *, is_open: bool) -> Bottleneck:
    queue = array["queue"]
    first, end = (max(0, -(-(at_ns - queue["start_ns"]) // queue["slice_ns"])) for at_ns in _ends_ns(part))
    queues = {"mean": [one[first:end] for one in queue["mean"]]}
    found = convoys_of({"components": array["components"], "queue": queues})
    convoys = {group: (one.fullest_share, one.chance_share) for group, one in found.items()}
    ios = sum(one.ios for one in spent)
    whole_ns = sum(one.mean_ns * one.ios for one in spent)
    flushed_ns = sum(one.mean_ns * one.ios for one in spent if one.direction == FLUSHES)
    return bottleneck(
        part, all_parts(spent), convoys, is_open=is_open, room_ns=_room_ns(spent), ios=ios,
        flush_share=flushed_ns / whole_ns if whole_ns else 0.0, volumes=_volume_times(part, spent),
    )  # fmt: skip


def _room_ns(spent: Sequence[TimeSpent]) -> float:
    """The time that writes wait for room in the cache."""
    return sum(one.parts_ns.get("cache_wait", 0.0) * one.ios for one in spent if one.direction == "writes")


def _volume_times(part: Report, spent: Sequence[TimeSpent]) -> list[VolumeTime]:
    """The time of each host on each volume, of those with I/Os."""
    found = []
    for index, target in enumerate(part["targets"]):
        own = [one for one in spent if one.target == index]
        if own:
            name = f"{target['host']}/{target['volume']}"
            found.append(VolumeTime(target["host"], name, all_parts(own), _room_ns(own)))
    return found


def _ends_ns(part: Report) -> tuple[int, int]:
    return part["start_ns"], part["start_ns"] + part["duration_ns"]


def all_parts(spent: Sequence[TimeSpent]) -> dict[str, float]:
    """The time of all I/Os together by part."""
    found: dict[str, float] = {}
    for one in spent:
        for name, mean_ns in one.parts_ns.items():
            found[name] = found.get(name, 0.0) + mean_ns * one.ios
    return found


@dataclass(frozen=True)
class PhaseFigures:
    """What a phase of the run was like."""

    phase: Phase
    rate_per_s: float | None
    """I/Os answered between the first and the last mark within it; None of a phase without length."""
    flushes_per_s: float | None
    """Flushes answered in the same time; None too of a workload without any."""
    measured: Interval | None
    """Whole intervals within it, for latencies; None if there is none."""
    proxied_share: float | None
    top: Used | None
    """What was used most."""
    bounds: Bottleneck
    """What bounds it."""


def phase_figures(
    array: Report,
    phases: Sequence[Phase],
    intervals: Sequence[Interval],
    from_ns: int,
    is_open: Callable[[Phase], bool],
) -> list[PhaseFigures]:
    """Each phase from an instant on, where the run's warm-up ends. Nothing for a run without changes.

    `is_open` tells of a phase whether all streams that run in it are.
    """
    if len(phases) < 2:
        return []
    kept = [replace(one, from_ns=max(one.from_ns, from_ns)) for one in phases]
    return [_phase(array, one, intervals, is_open=is_open(one)) for one in kept]


def _phase(array: Report, phase: Phase, intervals: Sequence[Interval], *, is_open: bool) -> PhaseFigures:
    from_ns = phase.from_ns
    part = window(array, *inner_marks(array, from_ns, phase.to_ns))
    inside = [
        one for one in intervals if one.start_ns >= from_ns and one.start_ns + one.duration_ns <= phase.to_ns
    ]  # fmt: skip
    answered = sum(sum(target["completed"]) - sum(target["failed"]) for target in part["targets"])
    has_flushes = any(target["flushes"] is not None for target in array["targets"])
    flushed = sum(target["flushed"] for target in part["targets"])
    came, proxied = 0, 0.0
    for target in part["targets"]:
        came += (through := passed(target, part["limits"]))
        proxied += (target["proxied_share"] or 0.0) * through
    used = used_components(part["components"])
    measured = joined(inside)
    spent = _noted(part) if measured is None else time_spent(measured, part)
    return PhaseFigures(
        phase, _rate(part, answered), _rate(part, flushed) if has_flushes else None, measured,
        proxied / came if came else None, used[0] if used else None, bottleneck_of(array, part, spent, is_open=is_open),
    )  # fmt: skip


def _rate(part: Report, count: int) -> float | None:
    return count / part["duration_ns"] * NS_PER_S if part["duration_ns"] else None
