"""What streams ask for, in one figure each: for the columns of `runs`, and of the streams that a part of a run has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from storscope.domain.workload import AccessSpec, Closed, Copy, Open, Stream


def asked_of(streams: Sequence[Stream], targets: int) -> dict[str, float | None]:
    """One figure for each column of `runs`; null where streams differ, since a mean of unlike streams says nothing.

    I/Os are outstanding on each target of a stream; one that names none is on all `targets`.
    """
    lines = [_mean_line(stream) for stream in streams]
    depths = [
        stream.load.outstanding * stream.workers * (len(stream.targets) or targets)
        for stream in streams
        if isinstance(stream.load, Closed)
    ]
    single = len(streams) == 1
    return {
        "block_bytes": lines[0][0] if single else None,
        "read_ratio": lines[0][1] if single else None,
        "random_ratio": lines[0][2] if single else None,
        "outstanding": float(sum(depths)) if len(depths) == len(streams) else None,
        "workers": float(sum(stream.workers for stream in streams)),
    }


def rate_of(streams: Sequence[Stream]) -> dict[str, str]:
    """What arrives where all streams are open loops: then the rate is load, and a comparison takes it as that."""
    rates = [stream.load.rate_per_s for stream in streams if isinstance(stream.load, Open)]
    return {"rate_per_s": f"{sum(rates):g}"} if len(rates) == len(streams) else {}


def _mean_line(stream: Stream) -> tuple[float, float, float]:
    """Size, share of reads and of random offsets, as means over transfers."""
    if isinstance(stream.access, Copy):
        return float(stream.access.size_bytes), 0.5, stream.access.random_share
    lines = stream.access.lines
    total = math.fsum(line.transfer_weight for line in lines)

    def mean(of: Sequence[float]) -> float:
        return math.fsum(value * line.transfer_weight for value, line in zip(of, lines, strict=True)) / total

    return (
        mean([line.size_bytes for line in lines]),
        mean([_reads(line) for line in lines]),
        mean([line.random_share for line in lines]),
    )


def _reads(line: AccessSpec) -> float:
    """A reply goes the other way, so that half of its transfers read."""
    return 0.5 if line.reply_bytes else line.read_share
