"""What a transfer looks like in a fio job: direction, sizes, randomness, offsets, alignment, pauses.

Percentages are integers in fio; what is rounded is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from storscope.bench.workloads._fio_parts import Part
from storscope.bench.workloads.gaps import leaves_gaps
from storscope.bench.workloads.loss import LossList
from storscope.bench.workloads.percent import percents, whole_percent
from storscope.domain.units import NS_PER_US
from storscope.domain.workload import AccessSpec, HotSpot, Offsets, Zipf

_MOST_SPLITS = 64
"""BSSPLIT_MAX of fio's thread_options.h."""


def transfer_options(part: Part, offsets: Offsets, where: str, losses: LossList) -> list[str]:
    """The options of a job that stands for `part`; its losses are named by `where`."""
    reads = part.reads
    random = [_random_of(part.lines, reading=True), _random_of(part.lines, reading=False)]
    for share, reading in zip(random, (True, False), strict=True):
        _note_mean(share, part.lines, reading, where, losses)
    is_random = any(share for share in random if share)
    kind = "read" if reads >= 1 else "write" if reads <= 0 else "rw"
    options = [f"rw={'rand' if is_random else ''}{kind}"]
    if kind == "rw":
        options.append(f"rwmixread={whole_percent(reads, where, 'reads', losses)}")
        if any((share or 0) < 1 for share in random):
            losses.approximated(where, "sequential position", "fio keeps one for reads and one for writes")
    options += _sizes(part, kind, where, losses)
    _note_gaps(part.lines, where, losses)
    if is_random:
        options += _randomness(random, where, losses)
        options += _offsets(offsets, where, losses)
        options += _alignment(part, where, losses)
    return [*options, *_pause(part.lines, where, losses)]


# Sizes ----------------------------------------------------------------------------------------------------------------


def _sizes(part: Part, kind: str, where: str, losses: LossList) -> list[str]:
    splits = []
    for used, reading in ((kind != "write", True), (kind != "read", False)):
        weights: dict[int, float] = {}
        for line in part.lines:
            share = line.read_share if reading else 1 - line.read_share
            weights[line.size_bytes] = weights.get(line.size_bytes, 0.0) + line.transfer_weight * share
        splits.append(_split(weights, where, losses) if used else [])
    # Else fio rounds down what is no multiple of the direction's least size (fio 3.33).
    unaligned = ["bs_unaligned=1"] if any(_has_odd_sizes(split) for split in splits) else []
    if kind != "rw" or splits[0] == splits[1]:
        return [_sizes_option(splits[0] or splits[1]), *unaligned]
    return ["bssplit=" + ",".join(_split_text(split) for split in splits), *unaligned]


def _has_odd_sizes(split: Sequence[tuple[int, int]]) -> bool:
    return any(size % min(split)[0] for size, _ in split)


def _split(weights: dict[int, float], where: str, losses: LossList) -> list[tuple[int, int]]:
    """Sizes with whole per cent; what rounds to nothing is listed."""
    found = {size: weight for size, weight in weights.items() if weight > 0}
    kept = sorted(found, key=lambda size: -found[size])[:_MOST_SPLITS]
    sizes = [size for size in found if size in kept]
    shares = percents([found[size] for size in sizes])
    total = math.fsum(found.values())
    for size, weight in found.items():
        share = shares[sizes.index(size)] if size in sizes else 0
        exact = 100 * weight / total
        if share == 0:
            losses.lost(where, f"{size} bytes, {exact:.3g} %", "fio's splits have 64 sizes of whole per cent")
        elif abs(share - exact) > 1e-6:
            losses.approximated(where, f"{size} bytes, {exact:.4g} %", f"rounded to {share} %")
    return [(size, share) for size, share in zip(sizes, shares, strict=True) if share]


def _sizes_option(split: Sequence[tuple[int, int]]) -> str:
    return f"bs={split[0][0]}" if len(split) == 1 else f"bssplit={_split_text(split)}"


def _split_text(split: Sequence[tuple[int, int]]) -> str:
    return ":".join(f"{size}/{share}" for size, share in split)


# Places ---------------------------------------------------------------------------------------------------------------


def _random_of(lines: Sequence[AccessSpec], *, reading: bool) -> float | None:
    """The random share of the reads, or of the writes; None where there are none."""
    weights = [line.transfer_weight * (line.read_share if reading else 1 - line.read_share) for line in lines]
    total = math.fsum(weights)
    if not total:
        return None
    mean = math.fsum(weight * line.random_share for weight, line in zip(weights, lines, strict=True)) / total
    return round(mean, 12)


def _note_mean(share: float | None, lines: Sequence[AccessSpec], reading: bool, where: str, losses: LossList) -> None:
    """What one random share for all sizes leaves out."""
    used = [line for line in lines if (line.read_share > 0 if reading else line.read_share < 1)]
    shares = sorted({line.random_share for line in used})
    if share is not None and len(shares) > 1:
        words = ", ".join(f"{100 * each:.4g}" for each in shares[:8])
        what = f"{'reads' if reading else 'writes'} of {words} % random"
        losses.approximated(where, what, f"fio has one share for all sizes: their mean, {100 * share:.4g} %")


def _randomness(random: Sequence[float | None], where: str, losses: LossList) -> list[str]:
    found = [100 if share is None else whole_percent(share, where, "random", losses) for share in random]
    if found[0] == found[1] or None in random:
        share = found[1] if random[0] is None else found[0]
        return [f"percentage_random={share}"] if share < 100 else []
    return [f"percentage_random={found[0]},{found[1]}"]


def _offsets(offsets: Offsets, where: str, losses: LossList) -> list[str]:
    if isinstance(offsets, Zipf):
        exponent = offsets.exponent
        if exponent == 1:
            losses.approximated(f"{where}.offsets", "exponent 1", "fio refuses exactly 1; 1.0001 is written")
            exponent = 1.0001
        return ["norandommap", f"random_distribution=zipf:{exponent:g}"]
    if isinstance(offsets, HotSpot):
        return ["norandommap", f"random_distribution=zoned:{_zones(offsets, where, losses)}"]
    return ["norandommap"]


def _zones(spot: HotSpot, where: str, losses: LossList) -> str:
    """Before, in and after the hot spot, as access/space in whole per cent."""
    before, after = spot.start_share, 1 - spot.start_share - spot.space_share
    cold = max(before + after, 1e-12)
    rest = 1 - spot.access_share if before + after > 1e-9 else 0.0
    exact = [(rest * before / cold, before), (1 - rest, spot.space_share), (rest * after / cold, after)]
    space = percents([share for _, share in exact])
    reached = [share if size else 0.0 for (share, _), size in zip(exact, space, strict=True)]
    # What rounds to no space cannot be visited; fio wants the shares of the others to add up to 100.
    access = percents(reached if any(reached) else [float(size) for size in space])
    shown = ":".join(f"{share}/{size}" for share, size in zip(access, space, strict=True) if size)
    off = max(
        abs(value / 100 - wanted)
        for pair, values in zip(exact, zip(access, space, strict=True), strict=True)
        for wanted, value in zip(pair, values, strict=True)
    )
    if off > 1e-8:
        losses.approximated(f"{where}.offsets", "hot spot", f"rounded to whole per cent: {shown}")
    return shown


def _note_gaps(lines: Sequence[AccessSpec], where: str, losses: LossList) -> None:
    """What is not random has no alignment in fio. Where it is above the size, most of the space is skipped."""
    for line in lines:
        if line.random_share < 1 and leaves_gaps(line, lines):
            note = losses.lost if line.size_bytes < line.effective_align_bytes else losses.approximated
            what = f"{line.size_bytes} bytes in sequence at multiples of {line.effective_align_bytes}"
            note(where, what, "fio leaves no gap: it goes on where the transfer before ended")


def _alignment(part: Part, where: str, losses: LossList) -> list[str]:
    """That of the reads and that of the writes, each one for all sizes (blockalign; fio 3.33)."""
    reads = [line for line in part.lines if line.read_share > 0]
    writes = [line for line in part.lines if line.read_share < 1]
    found = [_aligned(lines, where, losses) for lines in (reads, writes) if lines]
    smallest = min(line.size_bytes for line in part.lines)
    if found[0] == found[-1]:
        return [] if found[0] == smallest and len(part.lines) == 1 else [f"blockalign={found[0]}"]
    return [f"blockalign={found[0]},{found[1]}"]


def _aligned(lines: Sequence[AccessSpec], where: str, losses: LossList) -> int:
    """What those of a direction begin at multiples of. Without effect in fio where none is random."""
    aligns = {line.effective_align_bytes for line in lines}
    align = math.gcd(*aligns)
    if len(aligns) > 1 and any(line.random_share > 0 for line in lines):
        reason = f"fio has one alignment for all sizes of a direction; {align} is written"
        losses.approximated(where, f"alignments {sorted(aligns)}"[:120], reason)
    return align


# Pauses ---------------------------------------------------------------------------------------------------------------


def _pause(lines: Sequence[AccessSpec], where: str, losses: LossList) -> list[str]:
    delay_ns, burst = lines[0].delay_ns, lines[0].burst
    if burst > 1 and len(lines) > 1:
        losses.approximated(where, f"bursts of {burst}", "fio draws the size of each transfer anew")
    if not delay_ns:
        return []
    delay_us = round(delay_ns / NS_PER_US)
    if delay_us * NS_PER_US != delay_ns:
        losses.approximated(where, f"delay of {delay_ns} ns", f"rounded to {delay_us} us")
    return [f"thinktime={max(1, delay_us)}", *([f"thinktime_blocks={burst}"] if burst > 1 else [])]
