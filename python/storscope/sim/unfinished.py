"""How far background work is that a run ends in the middle of, and how long all of it takes at that rate, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storscope.domain.units import format_bytes, format_ratio, format_span


def unfinished_words(report: Mapping[str, Any], end_ns: int) -> list[str]:
    """A sentence for each task of an array's report that still runs at `end_ns`."""
    return [_words(task, end_ns) for task in report["background"] if task["running"]]


def whole_ns(task: Mapping[str, Any], end_ns: int) -> float | None:
    """From its start to its end, if it goes on as it did until `end_ns`; None where nothing can be told yet.

    Steps that have begun count as done, so that this is too short while only some have. Drives are slower towards the
    inside: what begins at the outer edge and is held up by nothing but its drives takes longer.
    """
    lasted_ns = end_ns - task["started_ns"]
    return lasted_ns / task["done_ratio"] if task["done_ratio"] and lasted_ns > 0 and task["bytes"] else None


def _words(task: Mapping[str, Any], end_ns: int) -> str:
    done = f"{task['name']} of {task['group']}: {format_ratio(task['done_ratio'])} done, {format_bytes(task['bytes'])}"
    takes_ns = whole_ns(task, end_ns)
    return done if takes_ns is None else f"{done}; at this rate all of it takes about {format_span(takes_ns)}"
