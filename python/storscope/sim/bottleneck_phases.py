"""What bounds a run with changes or rate steps: what bounds each part, since a mean over unlike times would hide it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from storscope.domain.units import format_instant
from storscope.sim.bottleneck import Bottleneck
from storscope.sim.phases import Phase

_MOST_SPANS = 3
"""Stretches of time that are named for one bottleneck; a volume that moves to and fro has dozens."""


def bottleneck_by_phase(bounds: Sequence[tuple[Phase, Bottleneck]]) -> Bottleneck:
    """Of several phases. Each bottleneck is told once, with when, in the words of its longest phase. Where nothing is
    used to the full, phases whose I/Os spend their time elsewhere are told apart: a cache that is lost fills no drive.

    Phases in which no I/O was answered are left out, unless there is no other.
    """
    told = [one for one in bounds if one[1].kind != "unknown"] or list(bounds)
    keys = list(dict.fromkeys(_key(bound) for _, bound in told))
    return Bottleneck("phases", None, None, None, " ".join(_words(key, told) for key in keys))


_Key = tuple[str, str | None, str | None]


def _key(bound: Bottleneck) -> _Key:
    return bound.kind, bound.name, bound.part


def _words(key: _Key, told: Sequence[tuple[Phase, Bottleneck]]) -> str:
    """When, and what then bounds it; phases that follow each other are one stretch."""
    runs = [list(run) for is_it, run in groupby(told, lambda one: _key(one[1]) == key) if is_it]
    spans = [f"{format_instant(run[0][0].from_ns)} to {format_instant(run[-1][0].to_ns)}" for run in runs]
    left_out = len(spans) - _MOST_SPANS
    when = " and ".join(spans[:_MOST_SPANS]) + (f" and {left_out} times more" if left_out > 0 else "")
    members = [one for run in runs for one in run]
    longest, bound = max(members, key=lambda one: one[0].duration_ns)
    its_time = f"{format_instant(longest.from_ns)} to {format_instant(longest.to_ns)}"
    figures = f" (figures of {its_time})" if len(members) > 1 else ""
    return f"From {when}{figures}: {bound.words[:1].lower()}{bound.words[1:]}"
