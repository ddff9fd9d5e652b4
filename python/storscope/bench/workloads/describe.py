"""Explains a workload in words, with every number that decides what it asks of the storage."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from storscope.bench.workloads.definition import Sweep
from storscope.bench.workloads.gaps import alignment_bytes, leaves_gaps
from storscope.domain.units import KIB, NS_PER_S, format_bytes, format_duration, format_rate
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    Copy,
    DataPool,
    Flush,
    FlushKind,
    HotSpot,
    Load,
    Mix,
    Open,
    Process,
    Starts,
    Stream,
    Verification,
    Workload,
    Zipf,
)


def describe(workload: Workload) -> list[str]:
    """Sentences: first the whole, then each stream, then what is written and checked."""
    lines = [_whole(workload)]
    for stream in workload.streams:
        lines += _stream(stream, is_only=len(workload.streams) == 1)
    lines += _data(workload)
    return lines


def describe_sweep(sweep: Sweep) -> list[str]:
    """What a file wants repeated."""
    lines = []
    for name, values in (
        ("outstanding I/Os", sweep.outstanding),
        ("workers", sweep.workers),
        ("targets", sweep.targets),
    ):
        if values:
            shown = ", ".join(map(str, values[:12])) + (", ..." if len(values) > 12 else "")
            lines.append(f"Repeated with {shown} {name}.")
    if sweep.duration_ns:
        ramp = f" after {_span(sweep.ramp_up_ns)} of ramp-up" if sweep.ramp_up_ns else ""
        lines.append(f"Each run lasts {_span(sweep.duration_ns)}{ramp}.")
    return lines


def _whole(workload: Workload) -> str:
    reads = any(stream.access.reads for stream in workload.streams)
    does = "Reads and writes." if reads and workload.writes else "Only writes." if workload.writes else "Only reads."
    count = len(workload.streams)
    return does if count == 1 else f"{count} streams at the same time. {does}"


def _stream(stream: Stream, *, is_only: bool) -> Iterator[str]:
    head = "" if is_only else f"Stream {stream.name!r}: " if stream.name else "A stream: "
    yield head + _load(stream.load, stream)
    if isinstance(stream.access, Copy):
        yield _copy(stream.access)
    else:
        yield from _mix(stream.access)
    if stream.flush is not None:
        yield _flush(stream.flush, is_open=stream.load.is_open)
    if stream.think_time is not None:
        spread = "always" if stream.think_time.process is Process.FIXED else "on average, exponentially spread,"
        after = "each completion" if stream.flush is None else "each completion, or the flush behind it,"
        yield f"After {after} a place in the queue rests {spread} {format_duration(stream.think_time.mean_ns)}."
    yield from _places(stream)


def _load(load: Load, stream: Stream) -> str:
    workers = "One worker keeps" if stream.workers == 1 else f"{stream.workers} workers each keep"
    if isinstance(load, Closed):
        return f"{workers} {_count(load.outstanding, 'I/O')} outstanding on each target (closed loop)."
    spread = "at random (Poisson)" if load.process is Process.POISSON else "at equal intervals"
    workers = "one worker" if stream.workers == 1 else f"{stream.workers} workers"
    limit = f"{workers}, at most {_count(load.max_outstanding, 'I/O')} in flight in each"
    if isinstance(load, Open):
        rate = format_rate(load.rate_per_s, "requests/s")
        return f"{rate} arrive {spread} whatever the storage does (open loop); {limit}."
    shown = [f"{format_rate(step.rate_per_s, '/s')} for {_span(step.duration_ns)}" for step in load.steps[:8]]
    steps = ", ".join(shown)
    more = f", and {len(load.steps) - 8} more" if len(load.steps) > 8 else ""
    return f"Requests arrive {spread} at {steps}{more} (open loop); {limit}."


def _copy(copy: Copy) -> str:
    way = "from front to back" if copy.random_share == 0 else f"{_percent(copy.random_share)} at random offsets"
    start = f" from {format_bytes(copy.destination_start_bytes)} on" if copy.destination_start_bytes else ""
    return (
        f"Copies in pieces of {format_bytes(copy.size_bytes)}, {way}: each read is followed by a write to the same "
        f"place of target {copy.destination}{start}."
    )


_MOST_KINDS = 24
"""What more are, as the hundred sizes of a range of fio's, hide what stands above and below them."""
_KINDS_AT_ENDS = 3


def _mix(mix: Mix) -> Iterator[str]:
    lines = [line for line in mix.lines if line.share > 0]
    if len(lines) == 1:
        yield f"Each transfer has {_line(lines[0], lines)}"
        return
    total = math.fsum(line.share for line in lines)
    unit = "transfer" if all(line.burst == 1 for line in lines) else "burst"
    yield f"For each {unit} one of {len(lines)} kinds is drawn; {_summary(lines)}"
    left_out = lines[_KINDS_AT_ENDS:-_KINDS_AT_ENDS] if len(lines) > _MOST_KINDS else []
    for line in lines[:_KINDS_AT_ENDS] if left_out else lines:
        yield f"  {_percent(line.share / total)}: {_line(line, lines)}"
    if left_out:
        share = _percent(math.fsum(line.share for line in left_out) / total)
        sizes = [line.size_bytes for line in left_out]
        span = f"{format_bytes(min(sizes))} to {format_bytes(max(sizes))}"
        yield f"  {share}: {len(left_out)} more kinds, {span} (convert --to toml lists all)"
        for line in lines[-_KINDS_AT_ENDS:]:
            yield f"  {_percent(line.share / total)}: {_line(line, lines)}"


def _summary(lines: Sequence[AccessSpec]) -> str:
    """The means over transfers, which lines with bursts weigh more than their share. A reply is one of them."""
    replies = [
        replace(line, size_bytes=line.reply_bytes, read_share=1 - line.read_share) for line in lines if line.reply_bytes
    ]
    transfers = [*lines, *replies]
    total = math.fsum(line.transfer_weight for line in transfers)

    def mean(values: Sequence[float]) -> float:
        return math.fsum(value * line.transfer_weight for value, line in zip(values, transfers, strict=True)) / total

    size = mean([line.size_bytes for line in transfers])
    reads, random = mean([line.read_share for line in transfers]), mean([line.random_share for line in transfers])
    return f"over all, {format_bytes(size)} on average, {_percent(reads)} reads, {_percent(random)} random."


def _line(line: AccessSpec, lines: Sequence[AccessSpec]) -> str:
    kinds = {1.0: "all reads", 0.0: "all writes"}
    places = {1.0: "all at random offsets", 0.0: "sequential"}
    does = kinds.get(line.read_share, f"{_percent(line.read_share)} reads")
    goes = places.get(line.random_share, f"{_percent(line.random_share)} at random offsets, the rest sequential")
    words = f"{format_bytes(line.size_bytes)}, {does}, {goes}"
    if line.random_share:
        words += f", aligned to {format_bytes(line.effective_align_bytes)}"
    elif leaves_gaps(line, lines):
        words += f", each at the next multiple of {format_bytes(line.effective_align_bytes)}"
    if line.delay_ns or line.burst > 1:
        pause = f" after a pause of {format_duration(line.delay_ns)}" if line.delay_ns else ""
        words += f"; {line.burst} back to back{pause}"
    if line.reply_bytes:
        words += f"; then a transfer of {format_bytes(line.reply_bytes)} the other way"
    return words + "."


def _flush(flush: Flush, *, is_open: bool) -> str:
    """What follows writes, and who waits for it."""
    writes = "each write" if flush.every == 1 else f"every {flush.every:,} writes of a worker on a target"
    covers = "the data" if flush.kind is FlushKind.DATA else "the data and all that is known of the file"
    waits = "sent the instant the write is done" if is_open else "in the write's place, whose next request waits for it"
    return f"After {writes} follows a flush ({flush.kind}: {covers}), {waits}."


def _places(stream: Stream) -> Iterator[str]:
    offsets, region = stream.offsets, stream.region
    if stream.workers > 1:
        yield from _starts(stream)
    if isinstance(offsets, Zipf):
        yield f"Random offsets follow a Zipf distribution with exponent {offsets.exponent:g}: few places are busy."
    if isinstance(offsets, HotSpot):
        yield (
            f"{_percent(offsets.access_share)} of the random offsets go to {_percent(offsets.space_share)} of the "
            f"space, from {_percent(offsets.start_share)} on."
        )
    if region.start_bytes or region.length_bytes is not None:
        end = "to the end" if region.length_bytes is None else f"{format_bytes(region.length_bytes)} long"
        exactly = f" ({region.start_bytes:,} bytes)" if region.start_bytes % KIB else ""
        yield f"Uses a region of each target from {format_bytes(region.start_bytes)}{exactly}, {end}."
        if isinstance(stream.access, Mix) and region.start_bytes % alignment_bytes(stream.access.lines):
            yield "What is aligned is so counted from the start of the region, not of the target."
    if stream.targets:
        yield f"Only on target {', '.join(map(str, stream.targets))}."


def _starts(stream: Stream) -> Iterator[str]:
    if stream.starts is Starts.APART:
        yield "The workers begin evenly spread over the space, not all at its start."
    elif _is_sequential(stream.access):
        yield "All workers begin at the start of the space, so that they visit the same places one after the other."


def _is_sequential(access: Mix | Copy) -> bool:
    lines = access.lines if isinstance(access, Mix) else (access,)
    return all(line.random_share == 0 for line in lines)


def _data(workload: Workload) -> Iterator[str]:
    data = workload.data
    if workload.writes and data != DataPool():
        duplicates = (
            f", {_percent(data.duplicate_ratio)} of its blocks of {format_bytes(data.duplicate_block_bytes)} are "
            f"duplicates of {data.duplicate_contents} contents"
        )
        made_of = f"zeros for {_percent(data.compressible_ratio)}" if data.compressible_ratio else "random bits"
        yield f"What is written is {made_of}{duplicates if data.duplicate_ratio else ''}; each block is stamped."
    reads = any(stream.access.reads for stream in workload.streams)
    if workload.verification is Verification.STAMPS and not reads:
        yield "Each block that is written has a stamp, but nothing is read that could be checked."
    elif workload.verification is Verification.STAMPS:
        yield "Each block that is read is checked for its stamp; it must have been written by storscope before."


def _span(time_ns: int) -> str:
    """A duration without rounding: '2 min 30 s'."""
    if time_ns < NS_PER_S:
        return format_duration(time_ns)
    minutes, seconds = divmod(time_ns / NS_PER_S, 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{count:g} {unit}" for count, unit in ((hours, "h"), (minutes, "min"), (seconds, "s")) if count]
    return " ".join(parts)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count:,} {what}s"
