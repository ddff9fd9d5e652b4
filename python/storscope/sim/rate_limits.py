"""What volumes and hosts of a design are allowed (crates/storscope-types/src/design/rate_limit.rs), in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from storscope.domain.units import (
    NS_PER_S,
    format_bandwidth,
    format_bytes,
    format_count,
    format_instant,
    format_rate,
    format_ratio,
)

_KEYS: Final = (("limit", ""), ("read_limit", " reads"), ("write_limit", " writes"))
"""Keys of a volume or a host, and what the name of the limit ends with (build.rs)."""


def rate_limits(design: Mapping[str, Any]) -> dict[str, list[str]]:
    """Each limit of rates by the name that the array gives it (build.rs), with the volumes whose I/Os it lets pass.

    Those that come with a change are there as well.
    """
    found = {}
    changes = [one["limits_change"] for one in design["changes"] if one["limits_change"] is not None]
    owners = [("volume", one, [one["name"]]) for one in design["volumes"]]
    owners += [("host", one, [volume["volume"] for volume in one["volumes"]]) for one in design["hosts"]]
    for kind, one, volumes in owners:
        for limits in (one, *(change for change in changes if change[kind] == one["name"])):
            for suffix, _ in limits_of(limits):
                found[f"{kind} {one['name']}{suffix}"] = volumes
    return found


def limits_of(one: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The limits of a volume or a host of a design: '', ' reads' or ' writes', and the limit."""
    return ((suffix, one[key]) for key, suffix in _KEYS if one[key] is not None)


def allowed_words(limit: Mapping[str, Any] | None) -> str:
    """'3,000 IOPS, 131 MB/s'; with a burst '300 IOPS, bursts of 3,000 IOPS'; of none 'no limit'."""
    if limit is None:
        return "no limit"
    plain = _rates_words(limit["iops"], limit["bandwidth_bytes_per_s"])
    burst = _rates_words(limit["burst_iops"], limit["burst_bandwidth_bytes_per_s"])
    return f"{plain}, bursts of {burst}" if burst else plain


def limit_words(limit: Mapping[str, Any]) -> str:
    """All of it: '300 IOPS, bursts of 3,000 IOPS for 33 min (5,400,000 credits), I/Os up to 256 KiB count as one'."""
    said = allowed_words(limit)
    if limit["burst_for_ns"] is not None:
        said += f" for {format_instant(limit['burst_for_ns'])} ({', '.join(_credits(limit))})"
    if limit["burst_left"] is not None:
        said += f", {format_ratio(limit['burst_left'])} of them at first"
    if limit["io_unit_bytes"] is not None:
        sequential = ", sequential ones together" if limit["merge_sequential"] else ""
        said += f", I/Os up to {format_bytes(limit['io_unit_bytes'])} count as one{sequential}"
    return said


def limit_changes(happenings: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """The changes of a limit in order of time; `happenings` are those of an array's report."""
    return [
        one for one in happenings
        if one["kind"] == "limit_changed" and one["no_effect"] is None and one["limit"] == name
    ]  # fmt: skip


def allowed_until(
    happenings: Sequence[Mapping[str, Any]], limit: Mapping[str, Any], at_ns: int
) -> Mapping[str, Any] | None:
    """What a limit, a component of an array's report, allowed just before an instant; None: it did not limit."""
    later = [one["from"] for one in limit_changes(happenings, limit["name"]) if one["time_ns"] >= at_ns]
    found: Mapping[str, Any] | None = later[0] if later else limit["allows"]
    return found


def allowed_over_time(
    happenings: Sequence[Mapping[str, Any]], limit: Mapping[str, Any], from_ns: int, to_ns: int
) -> str:
    """The same of a part of a run: '500 IOPS'; of one that changed '500 IOPS until 2 min, then no limit'."""
    changes = limit_changes(happenings, limit["name"])
    within = [one for one in changes if from_ns < one["time_ns"] < to_ns]
    before = (f"{allowed_words(one['from'])} until {format_instant(one['time_ns'])}" for one in within)
    return ", then ".join([*before, allowed_words(allowed_until(happenings, limit, to_ns))])


def _credits(limit: Mapping[str, Any]) -> Iterator[str]:
    seconds = limit["burst_for_ns"] / NS_PER_S
    if limit["burst_iops"] is not None:
        yield f"{format_count(round(seconds * (limit['burst_iops'] - limit['iops'])))} credits"
    if limit["burst_bandwidth_bytes_per_s"] is not None:
        kept = seconds * (limit["burst_bandwidth_bytes_per_s"] - limit["bandwidth_bytes_per_s"])
        yield f"credits of {format_bytes(kept)}"


def _rates_words(iops: float | None, bytes_per_s: float | None) -> str:
    said = [] if iops is None else [format_rate(iops)]
    return ", ".join(said + ([] if bytes_per_s is None else [format_bandwidth(bytes_per_s)]))
