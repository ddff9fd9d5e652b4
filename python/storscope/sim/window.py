"""A part of a simulated run: what the array's components did between two instants, in the form of the whole report.

The array notes all its counters at the ends of intervals and wherever something changes, the load included (marks.rs);
the difference of two marks is what was done between them, to the nanosecond. What has no difference, such as the
greatest queue, is left out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from storscope.domain.units import NS_PER_S
from storscope.sim.rate_limits import allowed_over_time, allowed_until
from storscope.sim.takeovers import failed_controllers

Report = Mapping[str, Any]
"""ArrayReport of crates/storscope-sim as JSON, or a part of it: `start_ns`, `duration_ns`, `targets`, `components`,
`limits`, `cache` and `background`."""
_ASKED = ("reads", "writes", "flushes")
_COUNTERS = ("drives", "stations")
"""What marks have rows of counters for, in the order of the components."""
_QUEUES = ("mean", "max")


def window(report: Report, from_ns: int, to_ns: int) -> Report:
    """What was done from one instant to another, by the marks nearest to them; `start_ns` and `duration_ns` say which.

    Instants count from the run's start. Of a part without any length all rates and means are None.
    """
    return _between(report, _mark_at(report, from_ns), _mark_at(report, to_ns))


def together(report: Report, pieces: Sequence[tuple[Report, Report]]) -> Report:
    """What was done between several pairs of marks, as if they followed one another; `start_ns` is the first's."""
    first = last = pieces[0][0]
    for early, late in pieces:
        last = _moved_on(last, early, late)
    return _between(report, first, last)


def _moved_on(counted: Any, early: Any, late: Any) -> Any:
    """Counters of a mark, or one of them, with what another two marks have between them."""
    if isinstance(counted, Mapping):
        return {name: _moved_on(counted[name], early[name], late[name]) for name in counted}
    if isinstance(counted, list):
        return [_moved_on(*three) for three in zip(counted, early, late, strict=True)]
    return counted if counted is None or isinstance(counted, bool) else counted + (late - early)


def _between(report: Report, first: Report, last: Report) -> Report:
    duration_ns = last["time_ns"] - first["time_ns"]
    drives = sum(component["kind"] == "drive" for component in report["components"])
    failed = {
        one["drive"] for one in report["happenings"]
        if one["kind"] == "drive_failed" and one["time_ns"] <= first["time_ns"]
    }  # fmt: skip
    failed |= failed_controllers(report, first["time_ns"], last["time_ns"])
    counted = [numbers for name in _COUNTERS for numbers in (last[name] - first[name]).astype(np.int64).tolist()]
    shown = [
        {
            **(_drive if index < drives else _station)(component, numbers, duration_ns),
            "is_failed": component["name"] in failed and (index < drives or component["kind"] == "controller"),
            **_allowed(report, component, first["time_ns"], last["time_ns"]),
        }
        for index, (component, numbers) in enumerate(zip(report["components"], counted, strict=True))
    ]
    limits = _limits(report, first, last, duration_ns)
    return {
        "start_ns": first["time_ns"],
        "duration_ns": duration_ns,
        "targets": _targets(report, first, last, limits),
        "components": shown,
        "limits": limits,
        "cache": _cache(report, first, last),
        "background": _tasks(report, first, last),
    }


def inner_marks(report: Report, from_ns: int, to_ns: int) -> tuple[int, int]:
    """The first and the last mark between two instants; twice the first instant where there are no two such.

    Where neither the array nor the load changes (load_changes.py) there may be none. What comes up to half an interval
    before or after would be counted to a time that it is not of; a part without any length has no figures.
    """
    times = [mark["time_ns"] for mark in report["marks"]]
    first, end = bisect_left(times, from_ns), bisect_right(times, to_ns)
    return (times[first], times[end - 1]) if end - first >= 2 else (from_ns, from_ns)


def until(report: Report, end_ns: int) -> Report:
    """The report with the queues of drives up to the run's end; behind it is what was in flight then.

    Of a run that is shorter than a slice the first slice stays.
    """
    queue = report["queue"]
    slices = max(1, (end_ns - queue["start_ns"]) // queue["slice_ns"])
    return {**report, "queue": {**queue, **{name: [one[:slices] for one in queue[name]] for name in _QUEUES}}}


def compact(part: dict[str, Any]) -> dict[str, Any]:
    """An object of the report as the core writes it, with arrays for what it has of each drive.

    To be called for each object as it is read: as lists, the marks of 2,000 drives take half a gigabyte.
    """
    if "stations" in part and "time_ns" in part:
        return {**part, **{name: np.asarray(part[name], np.uint64) for name in _COUNTERS}}
    if "slice_ns" in part and "mean" in part:
        return {**part, **{name: np.asarray(part[name]) for name in _QUEUES}}
    return part


def _mark_at(report: Report, at_ns: int) -> Report:
    """The mark nearest to an instant."""
    marks: Sequence[Report] = report["marks"]
    place = bisect_left(marks, at_ns, key=lambda mark: mark["time_ns"])
    return min(marks[max(0, place - 1) : place + 1], key=lambda mark: abs(mark["time_ns"] - at_ns))


def _allowed(report: Report, component: Report, from_ns: int, to_ns: int) -> dict[str, Any]:
    """What a limit of rates allowed: at the end of a part, and all along it in words; nothing of other components."""
    if component["kind"] != "rate_limit":
        return {"allows": None, "allowed": None}
    found = report["happenings"], component
    return {"allows": allowed_until(*found, to_ns), "allowed": allowed_over_time(*found, from_ns, to_ns)}


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _drive(component: Report, numbers: Sequence[int], duration_ns: int) -> Report:
    busy, used, area, done, response, reads, writes, read_bytes, written_bytes, waited_ns, for_writes_ns = numbers
    waits = (None, None) if component["read_waits_ns"] is None else (waited_ns, for_writes_ns)
    return {
        **_named(component),
        "busy_ratio": _ratio(busy, duration_ns),
        "used_ratio": _ratio(used, duration_ns),
        "throughput_per_s": _ratio(done * NS_PER_S, duration_ns),
        "queue_mean": _ratio(area, duration_ns),
        "response_ns_mean": _ratio(response, done),
        "operations": [reads, writes],
        "bytes": [read_bytes, written_bytes],
        "read_wait_ns": waits[0],
        "read_wait_for_writes_ns": waits[1],
    }


def _station(component: Report, numbers: Sequence[int], duration_ns: int) -> Report:
    busy, area, done, residence, arrived = numbers
    busy_ratio = _ratio(busy, duration_ns * component["servers"])
    return {
        **_named(component),
        "busy_ratio": busy_ratio,
        "used_ratio": busy_ratio,
        "throughput_per_s": _ratio(done * NS_PER_S, duration_ns),
        "queue_mean": _ratio(area, duration_ns),
        "response_ns_mean": _ratio(residence, arrived),
        "operations": None,
        "bytes": None,
        "read_wait_ns": None,
        "read_wait_for_writes_ns": None,
    }


def _named(component: Report) -> dict[str, Any]:
    return {name: component[name] for name in ("kind", "name", "group", "servers", "parallel", "is_spare")}


def passed(target: Report, limits: Sequence[Report]) -> int:
    """How many I/Os of a target got a controller in a window, `limits` being those of the same window.

    An I/O gets its controller, and counts as proxied, when it has passed the limits: at once if nothing waits there.
    Else those that were completed stand for it; what is behind the limits at a window's ends one count has alone.
    """
    ways = {"lun": f"{target['host']}/{target['volume']}", "adapter": target["host"], "host": target["host"]}
    waits = any((one["waited"] or one["waiting_mean"]) and ways.get(one["kind"], one["name"]) == one["name"]
                for one in limits)  # fmt: skip
    return int(sum(target["completed" if waits else "submitted"]))


def _proxied_share(proxied: int, target: Report, limits: Sequence[Report]) -> float | None:
    """At most 1: of what is behind the limits at a window's ends, one count may have I/Os that the other has not."""
    share = _ratio(proxied, passed(target, limits))
    return None if share is None else min(1.0, share)


def _targets(report: Report, first: Report, last: Report, limits: Sequence[Report]) -> list[Report]:
    found: list[Report] = []
    for target, before, after in zip(report["targets"], first["targets"], last["targets"], strict=True):
        counts = {
            name: [late - early for early, late in zip(before[name], after[name], strict=True)]
            for name in ("completed", "failed", "proxied", "submitted", "flash")
        }
        flushed = after["flushed"] - before["flushed"]
        parts = {
            asked: _parts(report, before["spent"][index], after["spent"][index], answered)
            for index, (asked, answered) in enumerate(zip(_ASKED, (*counts["completed"], flushed), strict=True))
        }
        flash = None if target["flash"] is None else target["flash"] | dict(
            zip(("reads", "hits"), counts["flash"], strict=True)
        )  # fmt: skip
        found.append({
            "host": target["host"], "volume": target["volume"],
            **{name: counts[name] for name in ("submitted", "completed", "failed")},
            "proxied_share": _proxied_share(sum(counts["proxied"]), {**target, **counts}, limits),
            "flash": flash, "flushed": flushed, **parts,
        })  # fmt: skip
    return found


def _parts(report: Report, before: Sequence[int], after: Sequence[int], completed: int) -> Report:
    """Mean time per answered I/O in each part that took any."""
    spent = {
        name: late - early for name, early, late in zip(report["parts"], before, after, strict=True) if late > early
    }
    parts = [{"part": name, "mean_ns": amount / completed} for name, amount in spent.items() if completed]
    return {"parts": parts}


def _limits(report: Report, first: Report, last: Report, duration_ns: int) -> list[Report]:
    found: list[Report] = []
    for limit, before, after in zip(report["limits"], first["limits"], last["limits"], strict=True):
        used, full, waited, waiting = (late - early for early, late in zip(before, after, strict=True))
        found.append({
            **{name: limit[name] for name in ("kind", "name", "most")},
            "used_mean": _ratio(used, duration_ns), "full_ratio": _ratio(full, duration_ns),
            "waited": waited, "waiting_mean": _ratio(waiting, duration_ns),
        })  # fmt: skip
    return found


def _cache(report: Report, first: Report, last: Report) -> Report | None:
    cache = report["cache"]
    if cache is None:
        return None
    counts = {name: late - first["cache"][name] for name, late in last["cache"].items() if name != "most_dirty_pages"}
    return {
        **counts,
        "read_hit_ratio": _ratio(counts["read_hits"], counts["reads"]),
        "absorbed_ratio": _ratio(counts["absorbed_pages"], counts["written_pages"]),
        "page_bytes": cache["page_bytes"], "dirty_limit_pages": cache["dirty_limit_pages"],
        "dirty_pages": last["dirty_pages"],
        "clean_limit_pages": cache["clean_limit_pages"], "clean_pages": cache["clean_pages"],
    }  # fmt: skip


def _tasks(report: Report, first: Report, last: Report) -> list[Report]:
    """Bytes of this part, and whether any step began in it; how far each is at its end.

    Steps count from 0 where work begins anew: at the end of a part that is not of the part.
    """
    return [
        {**{name: task[name] for name in ("name", "kind", "group", "rate_bytes_per_s")},
         "bytes": after[0] - before[0], "has_begun": after[1] not in (0, before[1]),
         "done_ratio": _ratio(after[1], after[2])}
        for task, before, after in zip(report["background"], first["tasks"], last["tasks"], strict=True)
    ]  # fmt: skip


def forwarded(report: Report, from_ns: int, to_ns: int) -> dict[str, int]:
    """Volume -> I/Os that came through another controller than its owner between two instants."""
    first, last = _mark_at(report, from_ns), _mark_at(report, to_ns)
    found: dict[str, int] = {}
    for target, before, after in zip(report["targets"], first["targets"], last["targets"], strict=True):
        count = sum(after["proxied"]) - sum(before["proxied"])
        found[target["volume"]] = found.get(target["volume"], 0) + count
    return found
