"""A workload out of measured loads: what volumes were asked for, so that a design can be asked for the same.

An open loop by default: the measured rate arrives whatever the storage does, so that a slower design is seen to queue.
Closed, it is as many I/Os in flight as were measured. Where these are no whole number, users that think between their
I/Os keep both rate and number as they were, by the interactive response time law, R = N / X - Z (E. D. Lazowska et al.,
Quantitative System Performance, 1984, chapter 3).

Beware: counters tell neither offsets nor which I/Os are sequential; the losses and the comment of the file say so.
"""

from __future__ import annotations

import glob
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.loss import LossList
from storscope.bench.workloads.toml_write import write_toml
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.entity import EntityRef
from storscope.domain.errors import UsageError
from storscope.domain.load import Closed, Load, Open, ThinkTime
from storscope.domain.units import KIB, NS_PER_S, NS_PER_US, SECTOR_BYTES, format_duration, format_rounded
from storscope.domain.workload import Stream, Workload
from storscope.workbench.derived_words import Assumed, comment, held_back, not_taken, one_line, source, untold
from storscope.workbench.held_loads import HeldLoad, held_of
from storscope.workbench.measured_loads import MeasuredLoad, MeasuredLoads

_STREAM = "the stream"
"""What is lost where too little is known of a volume."""
_WHOLE_WITHIN = 0.05
"""Relative distance from a whole number in flight that is taken for it: means of a time have as much noise (ours)."""
_TOLD_FROM = 0.01
"""Relative change of a size from which its rounding to sectors is told (ours)."""


@dataclass(frozen=True)
class Derived:
    """The workload with what could not be known of it, and a comment that says what it was made of."""

    definition: Definition
    comment: tuple[str, ...]

    def toml(self) -> str:
        """The file."""
        return "".join(f"# {line}".rstrip() + "\n" for line in self.comment) + write_toml(self.definition)[0]


def derived_workload(
    measured: MeasuredLoads,
    zero_ns: int | None = None,
    *,
    is_closed: bool = False,
    assumed: Assumed | None = None,
    held: Sequence[HeldLoad] = (),
) -> Derived:
    """One stream for each load, on a target of its volume's name. Raises UsageError if too little is known of all.

    Of what was `held` at a limit it is said that more may have been wanted.
    """
    assumed = assumed or Assumed()
    _refuse_idle(measured, assumed)
    losses = LossList()
    for what, reason in untold(measured, assumed, is_closed=is_closed):
        losses.lost("all streams", what, reason)
    losses.approximated("all streams", "sizes", "means of reads and of writes; which sizes there were is not told")
    names = _target_names([load.entity for load in measured.loads])
    streams: list[Stream] = []
    used: list[str] = []
    for load in measured.loads:
        name = names[load.entity]
        stream = _stream(load, name, [*used, name].index(name), assumed, losses, is_closed=is_closed)
        if stream is not None:
            streams.append(stream)
            if (limit := held_of(held, load.entity)) is not None:
                held_back(load, limit, losses, is_closed=is_closed)
            used += [] if name in used else [name]
    if not streams:
        left_out = " ".join(f"{one.where}: {one.reason}." for one in losses if one.what == _STREAM)
        raise UsageError("a volume whose rate, share of reads and sizes are told", "none", hint=left_out)
    not_taken(measured, losses)
    systems = ", ".join(sorted({load.entity.system for load in measured.loads}))
    workload = Workload(f"measured on {one_line(systems)}", tuple(streams), source=source(measured, zero_ns))
    workload.check(len(used))
    definition = Definition("measured", (workload,), targets=tuple(map(glob.escape, used)), losses=losses.as_tuple())
    return Derived(definition, tuple(comment(measured, zero_ns, held, is_closed=is_closed)))


def _refuse_idle(measured: MeasuredLoads, assumed: Assumed) -> None:
    """What is assumed of what the evidence tells throughout would have no effect."""
    shares = [load.read_share for load in measured.loads]
    sizes = [size for load in measured.loads for size in (load.mean_bytes or load.read_bytes, load.write_bytes)]
    told = (("--read-share", assumed.read_share, shares), ("--size", assumed.size_bytes, sizes))
    for option, value, values in told:
        if value is not None and None not in values:
            raise UsageError(f"{option} where evidence does not tell it", "evidence that tells it of every volume")


# Streams -------------------------------------------------------------------------------------------------------------


def _target_names(entities: Sequence[EntityRef]) -> dict[EntityRef, str]:
    """The name of a volume; what several hosts see by one name is HOST/VOLUME of each."""
    count = Counter(entity.name for entity in entities)
    return {one: one.name if count[one.name] == 1 else f"{one.system}/{one.name}" for one in entities}


def _stream(
    load: MeasuredLoad, name: str, target: int, assumed: Assumed, losses: LossList, *, is_closed: bool
) -> Stream | None:
    """None if too little is known."""
    lines = _lines(load, assumed, losses)
    asked = _asked(load, losses, is_closed=is_closed) if lines else None
    if asked is None:
        return None
    label = load.label if name == load.entity.name else f"{load.label} of {load.entity.system}"
    return Stream(Mix(lines), asked[0], label, asked[1], targets=(target,))


def _lines(load: MeasuredLoad, assumed: Assumed, losses: LossList) -> tuple[AccessSpec, ...]:
    """One for reads and one for writes, or one for both where their sizes are the same; none if too little is known."""
    share = assumed.read_share if load.read_share is None else load.read_share
    if share is None:
        losses.lost(load.label, _STREAM, "left out, as its share of reads is not told (--read-share)")
        return ()
    if load.read_share is None:
        losses.lost(load.label, "share of reads", "not told; as --read-share says")
    shares = {"read": share, "write": 1 - share}
    told = {"read": load.read_bytes, "write": load.write_bytes}
    sizes = {}
    for word in (word for word, part in shares.items() if part > 0):
        size = told[word] or load.mean_bytes or assumed.size_bytes
        if size is None:
            losses.lost(load.label, _STREAM, f"left out, as the size of a {word} is not told (--size)")
            return ()
        if told[word] is None and load.mean_bytes is not None:
            losses.approximated(load.label, f"size of {word}s", "only the mean of all I/Os is told")
        elif told[word] is None:
            losses.lost(load.label, f"size of {word}s", "not told; as --size says")
        sizes[word] = _in_sectors(size)
        if abs(sizes[word] - size) > _TOLD_FROM * size:
            losses.approximated(load.label, f"size of {word}s", f"{size:,.0f} B, rounded to sectors: {sizes[word]:,} B")
    if len(set(sizes.values())) == 1:
        return (_line(next(iter(sizes.values())), 1.0, _short(share), assumed),)
    return tuple(_line(size, _short(shares[word]), float(word == "read"), assumed) for word, size in sizes.items())


def _line(size: int, share: float, read_share: float, assumed: Assumed) -> AccessSpec:
    """Where a size is no power of two, its multiples would be odd places to begin at."""
    is_even = size.bit_count() == 1
    align = 0 if is_even else 4 * KIB if size >= 4 * KIB else SECTOR_BYTES
    return AccessSpec(size, share, read_share, assumed.random_share, align_bytes=align)


def _in_sectors(size: float) -> int:
    return max(1, round(size / SECTOR_BYTES)) * SECTOR_BYTES


def _short(number: float) -> float:
    """Six digits are more than counters tell."""
    return float(f"{number:.6g}")


def _asked(load: MeasuredLoad, losses: LossList, *, is_closed: bool) -> tuple[Load, ThinkTime | None] | None:
    """Its load and think time; None where a closed loop is wanted and nothing tells what was in flight."""
    if not is_closed:
        return Open(_short(load.ops_per_s)), None
    number = load.in_flight
    if not number:
        losses.lost(load.label, _STREAM, "left out, as neither latency nor queue is told (without --closed it is in)")
        return None
    whole = max(1, round(number))
    if abs(number - whole) <= _WHOLE_WITHIN * whole:
        return Closed(whole), None
    users = math.ceil(number)
    think_ns = round((users - number) / load.ops_per_s * NS_PER_S / NS_PER_US) * NS_PER_US
    asked = f"{users} outstanding with {format_duration(think_ns)} of think time"
    losses.approximated(
        load.label, "outstanding", f"{format_rounded(number)} in flight, written as {asked}, which keeps the rate"
    )
    return Closed(users), ThinkTime(think_ns)
