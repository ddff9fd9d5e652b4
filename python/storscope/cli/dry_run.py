"""What a dry run says beside the checks of the targets: the time to fill files, and whether I/Os suit O_DIRECT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from storscope.bench.direct_blocks import DirectBlock
    from storscope.bench.goals import Goal
    from storscope.domain.workload import Workload
    from storscope.workbench.benchmarking import BenchSettings

_BYTES_PER_S: Final = 100_000_000
"""What a time to fill is told for, as the target's own rate is not known: a disk does about so much."""


def filling_words(targets: Sequence[str], workload: Workload, settings: BenchSettings) -> str:
    """What is written before, to fill scratch files, and how long that takes; '' where there is none."""
    from storscope.bench.targets import is_new, scratch_size
    from storscope.domain.units import format_bandwidth, format_bytes, format_span

    sizes = [
        scratch_size(settings.size_bytes, workload, index) for index, target in enumerate(targets) if is_new(target)
    ]
    if not sizes:
        return ""
    files = "the scratch file" if len(sizes) == 1 else f"{len(sizes)} scratch files"
    took = format_span(sum(sizes) * 1_000_000_000 // _BYTES_PER_S)
    return (
        f"Before that {files} would be filled, {format_bytes(sum(sizes))}: at {format_bandwidth(_BYTES_PER_S)} that "
        f"takes {took}."
    )


def block_of(targets: Sequence[str], settings: BenchSettings) -> DirectBlock | None:
    """What offsets and sizes must be multiples of; None through the page cache, which takes any."""
    from storscope.bench.direct_blocks import direct_block

    return direct_block(targets) if settings.direct else None


def misfit_words(block: DirectBlock | None, workload: Workload) -> str:
    """Why a workload does not suit O_DIRECT; '' if it does."""
    from storscope.domain.units import format_bytes

    wrong = () if block is None else block.misfits(workload)
    if block is None or not wrong:
        return ""
    sizes = ", ".join(format_bytes(size) for size in wrong)
    return f"{block.misfits_do}: {sizes} on blocks of {format_bytes(block.size_bytes)}"


def print_blocks(block: DirectBlock | None, workloads: Sequence[Workload]) -> bool:
    """Says whether all of them suit O_DIRECT, and how to mend it; returns whether none fails for certain."""
    from storscope.bench.direct_blocks import CHOOSE

    if block is None:
        return True
    wrong = sum(bool(block.misfits(workload)) for workload in workloads)
    if not wrong:
        click.echo(f"Sizes and offsets suit O_DIRECT: multiples of {block.words}.")
        return True
    few = "this workload" if len(workloads) == 1 else f"{wrong} of {len(workloads)}"
    click.echo(
        f"Past the page cache (O_DIRECT) sizes and offsets must be multiples of {block.words}: {few} "
        f"{block.misfits_do}. {CHOOSE}"
    )
    return not block.is_strict


def print_memory(workload: Workload, targets: int, settings: BenchSettings) -> None:
    """What the data of I/Os in flight take of memory. Raises ConfigError where that is too much."""
    from storscope.bench.engine import buffer_bytes
    from storscope.bench.record import ENGINE
    from storscope.domain.units import format_bytes

    if settings.engine == ENGINE:
        click.echo(f"The data of I/Os in flight would take {format_bytes(buffer_bytes(workload, targets))} of memory.")


def print_room(workload: Workload, targets: int, settings: BenchSettings, goal: Goal) -> None:
    """What a run takes on the disk below the store while it lasts."""
    from storscope.domain.units import format_bytes, format_span
    from storscope.workbench.measured_interval import room_bytes

    room = room_bytes(goal, workload, settings.interval_ns, targets)
    click.echo(
        f"Recorded in intervals of {format_span(settings.interval_ns)}: about {format_bytes(room)} in the store's "
        f"directory, if it takes {format_span(goal.longest_ns)}."
    )


def impossible_words(workload: Workload, targets: int, settings: BenchSettings) -> str:
    """Why the engine cannot make a load: no room in memory, no ring for its queues, pauses; '' if it can."""
    from storscope.bench.engine import buffer_bytes
    from storscope.bench.record import ENGINE
    from storscope.domain.errors import ConfigError
    from storscope.workbench.engines import check_load

    try:
        check_load(settings.engine, workload, targets)
        if settings.engine == ENGINE:
            buffer_bytes(workload, targets)
    except ConfigError as error:
        return f"would fail: expected {error.expected}, found {error.found}"
    return ""


def print_preparation(targets: Sequence[str], workload: Workload, settings: BenchSettings) -> bool:
    """Of a single workload: the time to fill files, and whether it suits O_DIRECT; returns what `print_blocks` does."""
    filling = filling_words(targets, workload, settings)
    if filling:
        click.echo(filling)
    return print_blocks(block_of(targets, settings), [workload])
