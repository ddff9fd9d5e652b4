"""Whether a simulated run lived on credits of limits that it would have spent had it gone on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from storscope.domain.units import NS_PER_S, format_bandwidth, format_rate, format_span
from storscope.sim.rate_limits import limit_changes

_LEAST_ABOVE = 0.05
"""Part of what is allowed for good that a burst is above it, at the least: what arrives at random spends a few credits,
too (ours)."""
_LEAST_LEFT = 0.001
"""Less is as good as spent, which the array tells itself."""


def doubts_of_credits(report: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence if credits were spent faster than they come back and some were left at the end: the one that is spent
    first. `report` is the array's of the whole run."""
    found = sorted(_running_out(report), key=lambda one: one[0])
    return (found[0][1],) if found else ()


def _running_out(report: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
    """In how many ns credits of a limit are spent at the pace of the run, and what that means."""
    for limit in report["components"]:
        changes = limit_changes(report["happenings"], limit["name"])
        lived_ns = report["duration_ns"] - (changes[-1]["time_ns"] if changes else 0)
        for one in limit["credits"]:
            # What is held is told by how long it takes to earn it: at the allowed rate, 1 ns for each ns.
            spent_ns = (one["at_first"] - one["left"]) * one["earned_in_ns"]
            if one["left"] < _LEAST_LEFT or spent_ns < _LEAST_ABOVE * lived_ns:
                continue
            lasts_ns = one["left"] * one["earned_in_ns"] / spent_ns * lived_ns
            key, words = _COUNTED[one["counted"]]
            allowed = limit["allows"][key]
            rate = words(allowed * (1.0 + spent_ns / lived_ns))
            after = report["duration_ns"] + lasts_ns
            said = (
                f"The load lives on credits of the limit of {limit['name']}: {rate} were let through, of which "
                f"{words(allowed)} are allowed for good. At this pace what was left lasts {format_span(lasts_ns)} "
                f"more. Simulate longer, with --duration {_longer(after)}, or without credits: burst_left = 0 in the "
                "limit."
            )
            yield lasts_ns, said


_COUNTED: dict[str, tuple[str, Callable[[float], str]]] = {
    "ios": ("iops", format_rate),
    "bytes": ("bandwidth_bytes_per_s", format_bandwidth),
}


def _longer(ns: float) -> str:
    """A duration as the command line takes it, well beyond this."""
    seconds = 1.5 * ns / NS_PER_S
    minutes = seconds / 60
    if minutes < 3:
        return f"{math.ceil(seconds)}s"
    return f"{math.ceil(minutes)}m" if minutes < 180 else f"{math.ceil(minutes / 60)}h"
