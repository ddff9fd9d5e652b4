"""How much a fio job asks for: its depth, or its rate.

fio's rates are integers for each job and direction; they wait for completions. At equal intervals they are bytes per
second: `rate_iops` counts each I/O as one of the least size (__setup_rate of fio's init.c; fio 3.33, 4 and 16 KiB in
equal parts, rate_iops=300: 120/s). So bytes per second are written where sizes differ, or I/Os per second are no
integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from storscope.bench.workloads._fio_parts import Part
from storscope.bench.workloads.loss import LossList
from storscope.domain.workload import Closed, Load, Open, Process

_EXACT, _NEAR = 1e-3, 0.05
"""By how much of a rate those of its directions may be off to be the same, and to be nearly the same."""
_FAST_POISSON_PER_S = 1000
"""Below this rate fio's Poisson arrivals are less than 0.1 % too fast (usec_for_io of io_u.c)."""


def load_options(load: Load, targets: int, where: str, losses: LossList) -> list[str]:
    """The depth of a job that works on so many targets. An open loop needs `rate_options` too."""
    if not isinstance(load, Closed):
        assert isinstance(load, Open)
        return [f"iodepth={load.max_outstanding}"]
    depth = load.outstanding * targets
    if targets > 1:
        reason = f"fio keeps {depth} over all {targets} targets together"
        losses.approximated(f"{where}.load", f"{load.outstanding} outstanding per target", reason)
    return [f"iodepth={depth}"]


def rate_options(load: Open, part: Part, share: float, where: str, losses: LossList) -> list[str]:
    """The rate of each process of a job that has a share of the arrivals."""
    per_job = load.rate_per_s * share
    reason = "fio's rate waits for completions and counts latency from then, not from the arrival"
    losses.approximated(f"{where}.load", f"{load.rate_per_s:g} arrivals/s", reason)
    exact = [per_job * part.reads, per_job * (1 - part.reads)]
    rates = [max(1, round(rate)) if rate else 0 for rate in exact]
    off = max(abs(rate - wanted) for rate, wanted in zip(rates, exact, strict=True)) / per_job
    if load.process is Process.FIXED and (_sizes_differ(part) or off > _EXACT):
        return [_bytes_per_s(per_job, part, where, losses)]
    if off > _EXACT:
        note = losses.lost if off > _NEAR else losses.approximated
        note(f"{where}.load", f"{_named(exact)} for each job", f"rounded to {_named(rates)}: fio's rates are integers")
    options = [f"rate_iops={_of_directions(rates)}"]
    if load.process is Process.POISSON:
        options.append("rate_process=poisson")
        _note_poisson(max(rates), where, losses)
    return options


def _of_directions(rates: Sequence[int]) -> str:
    """Of reads and of writes; one number where there are none of the others."""
    return str(max(rates)) if 0 in rates else f"{rates[0]},{rates[1]}"


def _named(rates: Sequence[float]) -> str:
    named = zip(rates, ("reads", "writes"), strict=True)
    return " and ".join(f"{rate:g} {name}/s" for rate, name in named if rate)


def _sizes_differ(part: Part) -> bool:
    """Whether the reads, or the writes, have several sizes."""
    reads = {line.size_bytes for line in part.lines if line.read_share > 0}
    writes = {line.size_bytes for line in part.lines if line.read_share < 1}
    return max(len(reads), len(writes)) > 1


def _bytes_per_s(per_job: float, part: Part, where: str, losses: LossList) -> str:
    """The rate of each process as bytes, which fio holds whatever the sizes are."""
    if _sizes_differ(part):
        what = f"{per_job:g}/s of several sizes at equal intervals"
        losses.approximated(f"{where}.load", what, "fio has bytes per second: it waits longer after a large transfer")
    rates = [0.0, 0.0]
    for line in part.lines:
        bytes_per_s = per_job * line.transfer_weight / part.weight * line.size_bytes
        rates[0] += bytes_per_s * line.read_share
        rates[1] += bytes_per_s * (1 - line.read_share)
    return f"rate={_of_directions([max(1, round(rate)) if rate else 0 for rate in rates])}"


def _note_poisson(rate: int, where: str, losses: LossList) -> None:
    """Mean gap of fio's arrivals: 1 / (e^(1/m) - 1) us with m = floor(1e6 / rate); it cuts each gap to whole us."""
    whole_us = 10**6 // rate
    real = 1e6 * math.expm1(1 / whole_us) if whole_us else math.inf
    if rate > _FAST_POISSON_PER_S and real > rate * 1.001:
        reason = f"fio's Poisson arrivals are cut to whole microseconds: expect {real:.0f}/s"
        losses.approximated(f"{where}.load", f"{rate} Poisson arrivals/s", reason)
