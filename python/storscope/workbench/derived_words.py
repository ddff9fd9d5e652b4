"""What is said of a workload that was made of measured loads: what they were, what is not known, what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from storscope.bench.workloads.loss import LossList
from storscope.domain.entity import said_of
from storscope.domain.units import format_bytes, format_duration, format_ratio, format_rounded, format_span, format_time
from storscope.workbench.held_loads import HeldLoad
from storscope.workbench.measured_loads import MeasuredLoad, MeasuredLoads

_MOST_NAMED = 8
_NEARLY_ALL = 0.95
"""Share of a time from which what was not measured of it is not told (ours)."""


@dataclass(frozen=True)
class Assumed:
    """What the evidence does not tell, as somebody says it is; None leaves out what needs it."""

    random_share: float = 1.0
    read_share: float | None = None
    size_bytes: int | None = None


# What is not known ---------------------------------------------------------------------------------------------------


def untold(measured: MeasuredLoads, assumed: Assumed, *, is_closed: bool) -> Iterator[tuple[str, str]]:
    """What no counter tells of any stream, and what stands in its place."""
    share = format_ratio(assumed.random_share)
    yield "random or sequential", f"counters do not tell; {share} of the I/Os are written as random (--random-share)"
    alike = "counters do not tell; all of each volume is used alike, so that caches find less again than they may have"
    yield "offsets and working set", f"{alike} (region and offsets in docs/workloads.md)"
    which = "number in flight" if is_closed else "rate"
    yield (
        f"bursts shorter than {format_span(measured.interval_ns)}, and how the load changed",
        f"one {which} holds throughout, {'that of the busiest time' if measured.is_peak else 'the mean'}",
    )


def not_taken(measured: MeasuredLoads, losses: LossList) -> None:
    """What of the evidence is not in the workload, or is in it twice."""
    if measured.idle:
        names = ", ".join(one_line(one.name) for one in measured.idle[:_MOST_NAMED])
        more = f" and {len(measured.idle) - _MOST_NAMED:,} more" if len(measured.idle) > _MOST_NAMED else ""
        losses.elsewhere("idle", f"{names}{more}", "did nothing in that time")
    shorter = _measured_shorter(measured)
    if shorter:
        names = ", ".join(one_line(one.label) for one in shorter[:_MOST_NAMED])
        more = f" and {len(shorter) - _MOST_NAMED:,} more" if len(shorter) > _MOST_NAMED else ""
        reason = "measured for less of the time than others; the mean of what was (the file says how long)"
        losses.approximated(f"{names}{more}", "rate", reason)
    for kind in measured.other_kinds:
        reason = f"left out, as they may carry the same I/Os; --entity '{kind}/*' takes them instead"
        losses.elsewhere("other counters", kind, reason)
    for upper, lower in measured.nested:
        reason = f"rests on {one_line(lower.name)}, which is in it, too; narrow --entity down"
        losses.lost(one_line(upper.name), "its I/Os are counted twice", reason)


def held_back(load: MeasuredLoad, held: HeldLoad, losses: LossList, *, is_closed: bool) -> None:
    """What a limit let through is not what was asked for."""
    if is_closed:
        losses.approximated(load.label, "asked for beyond its limit", f"{_held(held)}; as many are in flight as waited")
        return
    reason = f"{_held(held)}, so nothing tells how much more was wanted; --closed has as many in flight as waited then"
    losses.lost(load.label, "asked for beyond its limit", reason)


def _held(held: HeldLoad) -> str:
    together = f" with {len(held.entities) - 1:,} more" if len(held.entities) > 1 else ""
    at = f"{'' if held.is_shown else 'perhaps '}held at {held.level}"
    return f"{at}{together} for {format_ratio(held.share)} of the time (throughput-cap)"


def _measured_shorter(measured: MeasuredLoads) -> list[MeasuredLoad]:
    """Those that were measured for less of the time than the one with most; empty where all were alike."""
    longest_ns = max(load.measured_ns for load in measured.loads)
    return [load for load in measured.loads if load.measured_ns < _NEARLY_ALL * longest_ns]


# Words ---------------------------------------------------------------------------------------------------------------


def source(measured: MeasuredLoads, zero_ns: int | None) -> str:
    """Where the workload comes from."""
    span = f"{format_time(measured.start_ns, zero_ns)} to {format_time(measured.end_ns, zero_ns)}"
    return f"counters, {span}, {'the busiest time' if measured.is_peak else 'the mean'}"


def comment(
    measured: MeasuredLoads, zero_ns: int | None, held: Sequence[HeldLoad] = (), *, is_closed: bool
) -> Iterator[str]:
    """The lines above the workload in its file."""
    what = "the busiest time of all together" if measured.is_peak else "the mean"
    length = format_span(measured.end_ns - measured.start_ns) + _measured_part(measured)
    start, end = format_time(measured.start_ns, zero_ns), format_time(measured.end_ns, zero_ns)
    yield f"Measured, {what}: {start} to {end} ({length}), in intervals of {format_span(measured.interval_ns)}."
    rows = [_HEADS, *(_row(load, zero_ns) for load in measured.loads)]
    if _measured_shorter(measured):
        lengths = ["measured", *(format_span(load.measured_ns) for load in measured.loads)]
        rows = [(row[0], length, *row[1:]) for row, length in zip(rows, lengths, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(width) if number else cell.ljust(width)
                 for number, (cell, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        yield "  " + "  ".join(cells).rstrip()
    yield "In flight is rate x latency (Little's law)."
    loop = "as many in flight as were measured" if is_closed else "the measured rate, whatever the storage does"
    yield f"Asked for: {loop} (docs/workloads.md says when which)."
    for one in held:
        names = one_line(", ".join(entity.name for entity in one.entities))
        yield said_of(names, f"{_held(one)}. What more was wanted is not known.")
    if held and not is_closed:
        yield "With --closed as many I/Os are in flight as waited then: compare latencies, and higher limits, by that."
    yield "Not known, and assumed: what is random, where in a volume I/Os go, bursts within an interval, single sizes."
    yield "Targets are names of volumes of a design; if it calls them otherwise, change them here."


def _measured_part(measured: MeasuredLoads) -> str:
    """', of which 4 min were measured', or the shortest and the longest of the volumes; empty for nearly all."""
    lengths_ns = [load.measured_ns for load in measured.loads]
    if _measured_shorter(measured):
        shortest, longest = (format_span(length) for length in (min(lengths_ns), max(lengths_ns)))
        return f", of which {shortest} to {longest} were measured, as the volumes differ"
    if max(lengths_ns) < _NEARLY_ALL * (measured.end_ns - measured.start_ns):
        return f", of which {format_span(max(lengths_ns))} were measured"
    return ""


_HEADS = ("volume", "rate", "busiest", "at", "reads", "read size", "write size", "latency", "in flight")


def _row(load: MeasuredLoad, zero_ns: int | None) -> tuple[str, ...]:
    number = load.in_flight
    return (
        one_line(load.label), f"{load.ops_per_s:,.1f} /s", f"{load.busiest_per_s:,.1f} /s",
        format_time(load.busiest_ns, zero_ns), format_ratio(load.read_share), format_bytes(load.read_bytes),
        format_bytes(load.write_bytes), format_duration(load.latency_ns),
        "–" if number is None else format_rounded(number),
    )  # fmt: skip


def one_line(text: str) -> str:
    """A name of a file's in a comment must not end it."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
