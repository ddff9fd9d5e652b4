"""What bounds a run with changes or rate steps: what bounds each part, since a mean over unlike times would hide it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from storscope.domain.units import format_instant
from storscope.sim.bottleneck import Bottleneck
from storscope.sim.phases import Phase

_MOST_SPANS = 3
"""Stretches of time that are named for one bottleneck; a volume that moves to and fro has dozens."""

_MOST_OF_TIME = 0.5
_NO_COMPONENT = ("load", "unknown")


def bottleneck_by_phase(bounds: Sequence[tuple[Phase, Bottleneck]]) -> Bottleneck:
    """Of several phases. Each bottleneck is told once, with when, in the words of its longest phase, or of that which
    uses a component most: a step that it keeps up with does not stand for one that overloads it. Phases in which I/Os
    wait for it most of their time are told apart from those in which they wait elsewhere, and so are those that it
    bounds for a part of their time. Where nothing is used to the full, phases whose I/Os spend their time elsewhere are
    told apart: a cache that is lost fills no drive. So are phases beside background work that I/Os wait behind and
    phases without: it is not said of a time in which it does not run, nor left out where it does.

    Phases in which no I/O was answered are left out, unless there is no other.
    """
    told = [one for one in bounds if one[1].kind != "unknown"] or list(bounds)
    keys = list(dict.fromkeys(_key(bound) for _, bound in told))
    return Bottleneck("phases", None, None, None, " ".join(_words(key, told) for key in keys))


_Key = tuple[str, str | None, str | None, bool, bool, str | None]


def _key(bound: Bottleneck) -> _Key:
    """What bounds it, and of a component whether I/Os spend most of their time there, and whether it does at times; and
    the background work that I/Os wait behind.
    """
    waits_there = bound.kind not in _NO_COMPONENT and (bound.time_share or 0.0) >= _MOST_OF_TIME
    return bound.kind, bound.name, bound.part, waits_there, bound.is_at_times, bound.background


def _words(key: _Key, told: Sequence[tuple[Phase, Bottleneck]]) -> str:
    """When, and what then bounds it; phases that follow each other without a gap are one stretch."""
    runs = [part for is_it, run in groupby(told, lambda one: _key(one[1]) == key) if is_it for part in _unbroken(run)]
    spans = [f"{format_instant(run[0][0].from_ns)} to {format_instant(run[-1][0].to_ns)}" for run in runs]
    left_out = len(spans) - _MOST_SPANS
    when = " and ".join(spans[:_MOST_SPANS]) + (f" and {left_out} times more" if left_out > 0 else "")
    members = [one for run in runs for one in run]
    shown, bound = max(members, key=_weight)
    its_time = f"{format_instant(shown.from_ns)} to {format_instant(shown.to_ns)}"
    figures = f" (figures of {its_time})" if len(members) > 1 else ""
    return f"From {when}{figures}: {bound.words[:1].lower()}{bound.words[1:]}"


def _weight(one: tuple[Phase, Bottleneck]) -> tuple[float, int]:
    phase, bound = one
    is_component = bound.kind not in _NO_COMPONENT and bound.used_ratio is not None
    return round(bound.used_ratio or 0.0, 2) if is_component else 0.0, phase.duration_ns


def _unbroken(run: Iterable[tuple[Phase, Bottleneck]]) -> list[list[tuple[Phase, Bottleneck]]]:
    """Cut where a phase was left out."""
    found: list[list[tuple[Phase, Bottleneck]]] = []
    for one in run:
        if found and found[-1][-1][0].to_ns == one[0].from_ns:
            found[-1].append(one)
        else:
            found.append([one])
    return found
