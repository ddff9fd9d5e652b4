"""One kind of stamp on all of a target, whoever writes it: what fills it, preconditions it, or ran on it before.

A stamp names its place: the target's index in the run and the byte, at the head of each stamp unit (stamp.rs of
crates/storscope-load). So a verification takes stamps at finer units than its own, and none at coarser ones.
"""

from __future__ import annotations

from dataclasses import replace

from storscope.bench.engine import DescriptorTarget
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.workload import Stream, Verification, Workload


def stamped_alike(workload: Workload, others: Workload) -> Workload:
    """The workload with stamps at units that suit `others` on the same target, too, where these are verified.

    The unit is the common divisor of all lines (`Workload.stamp_unit_bytes`), so one more line with a share of nothing
    sets it: no request is drawn from it.
    """
    unit_bytes = others.stamp_unit_bytes
    if others.verification is Verification.NONE or not workload.writes or workload.stamp_unit_bytes == unit_bytes:
        return workload
    first, *rest = workload.streams
    return replace(workload, streams=(_with_unit(first, unit_bytes), *rest))


def _with_unit(stream: Stream, unit_bytes: int) -> Stream:
    assert isinstance(stream.access, Mix)  # a verified workload has no copies
    read_share = stream.access.lines[0].read_share
    unit = AccessSpec(unit_bytes, share=0.0, read_share=read_share)
    return replace(stream, access=Mix((*stream.access.lines, unit)))


def at_index(workload: Workload, index: int) -> Workload:
    """The workload on that target alone; see `targets_at`."""
    return replace(workload, streams=tuple(replace(stream, targets=(index,)) for stream in workload.streams))


def targets_at(descriptor: int, index: int) -> tuple[DescriptorTarget, ...]:
    """Targets of which the one at `index` is the open file, as in runs that follow; those before it are not used."""
    return (DescriptorTarget(descriptor),) * (index + 1)
