"""How far background work is that a run ends in the middle of, and how long all of it takes at that rate, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storscope.domain.units import NS_PER_S, format_bytes, format_ratio, format_span


def unfinished_words(report: Mapping[str, Any], end_ns: int) -> list[str]:
    """A sentence for each task of an array's report that still runs at `end_ns`."""
    return [_words(task, _rebuilt(report, task), end_ns) for task in report["background"] if task["running"]]


def whole_ns(task: Mapping[str, Any], end_ns: int) -> float | None:
    """From its start to its end, if it goes on as it did until `end_ns`; None where nothing can be told yet.

    Steps that have begun count as done, so that this is too short while only some have; not so short that it would be
    more than its rate allows. Drives are slower towards the inside: what begins at the outer edge and is held up by
    nothing but its drives takes longer.
    """
    lasted_ns = end_ns - task["started_ns"]
    if not task["done_ratio"] or lasted_ns <= 0 or not task["bytes"]:
        return None
    at_once_ns = task["bytes"] * NS_PER_S / rate if (rate := task["rate_bytes_per_s"]) else 0.0
    return float(max(lasted_ns, at_once_ns) / task["done_ratio"])


def _rebuilt(report: Mapping[str, Any], task: Mapping[str, Any]) -> list[str]:
    """The drive that is rebuilt and those that wait for it to be, in their order; none of other work."""
    waiting: list[str] = []
    rebuilt: list[str] = []
    for form in report["happenings"] if task["kind"] == "rebuild" else ():
        over = form["drives"] if form["kind"] == "data_lost" else ()
        if form["no_effect"] is not None or form.get("group") != task["group"]:
            continue
        if form["kind"] == "drive_failed" and form["has_spare"]:
            waiting.append(form["drive"])
        elif form["kind"] == "task_started":
            rebuilt = [form["drive"]]
        elif form["kind"] in ("task_finished", "task_failed"):
            over = [form["drive"]]
        waiting = [drive for drive in waiting if drive not in over]
    return rebuilt + [drive for drive in waiting if drive not in rebuilt]


def _words(task: Mapping[str, Any], rebuilt: Sequence[str], end_ns: int) -> str:
    of, *waiting = rebuilt or [task["group"]]
    done = f"{task['name']} of {of}: {format_ratio(task['done_ratio'])} done, {format_bytes(task['bytes'])}"
    if (takes_ns := whole_ns(task, end_ns)) is not None:
        done += f"; at this rate all of it takes about {format_span(takes_ns)}"
    return f"{done}; {', '.join(waiting)} {'waits' if len(waiting) == 1 else 'wait'} for it" if waiting else done
