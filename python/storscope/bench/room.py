"""How many targets a workload names, and how much room its regions ask of each: told before anything is created.

Only regions with a length, and copies that go to a place of their own, ask for room. All else is fitted to what there
is by the engine, which checks the whole plan again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storscope.domain.access import Copy, Mix
from storscope.domain.errors import ConfigError
from storscope.domain.units import GIB, MIB, format_bytes
from storscope.domain.workload import Stream, Workload


def check_count(workload: Workload, count: int) -> None:
    """Raises ConfigError if streams name more than `count` targets."""
    named = [index for stream in workload.streams for index in stream.targets]
    named += [stream.access.destination for stream in workload.streams if isinstance(stream.access, Copy)]
    needed = max(named, default=0) + 1
    if needed > count:
        raise ConfigError(
            f"{needed} targets, as the streams of {workload.name!r} number them from 0 to {needed - 1}", f"{count}",
            hint="Name all of them after 'storscope bench', in that order.",
        )  # fmt: skip


def needed_bytes(workload: Workload, index: int = 0) -> int:
    """The room that the workload's own regions ask of target `index`; 0 if they take what there is."""
    return max((need for stream in workload.streams for need in _needs(stream, index)), default=0)


def _needs(stream: Stream, index: int) -> Iterator[int]:
    region = stream.region
    length = region.length_bytes or 0
    if not stream.targets or index in stream.targets:
        yield region.start_bytes + length
    if isinstance(stream.access, Copy) and stream.access.destination == index:
        yield stream.access.destination_start_bytes + length


def check_room(workload: Workload, sizes_bytes: Sequence[int]) -> None:
    """Raises ConfigError if a target is smaller than the workload's own regions, or than one of its transfers."""
    for index, size in enumerate(sizes_bytes):
        needed = needed_bytes(workload, index)
        _check_transfers(workload, index, sizes_bytes)
        if needed > size:
            which = f"target {index}, " if len(sizes_bytes) > 1 else ""
            raise ConfigError(
                f"{which}at least {format_bytes(needed)}, as the regions of {workload.name!r} reach that far",
                format_bytes(size),
                hint=f"For example a scratch file with --size {size_word(needed)}, a larger target, or other regions "
                "in the workload's file (storscope workload convert writes one).",
            )  # fmt: skip


def _check_transfers(workload: Workload, index: int, sizes_bytes: Sequence[int]) -> None:
    """Of streams that take what there is; where a region has a length, the engine tells of it."""
    streams = [one for one in workload.streams if not one.targets or index in one.targets]
    whole = [one for one in streams if one.region.length_bytes is None]
    largest = max((one.region.start_bytes + _largest_bytes(one) for one in whole), default=0)
    if largest > sizes_bytes[index]:
        which = f"target {index}, " if len(sizes_bytes) > 1 else ""
        raise ConfigError(
            f"{which}room for one transfer of {workload.name!r}, {format_bytes(largest)}",
            format_bytes(sizes_bytes[index]),
            hint=f"For example a scratch file with --size {size_word(largest)}, a larger target, or smaller transfers.",
        )  # fmt: skip


def _largest_bytes(stream: Stream) -> int:
    access = stream.access
    return access.size_bytes if isinstance(access, Copy) else _largest_of(access)


def _largest_of(mix: Mix) -> int:
    return max((max(line.size_bytes, line.reply_bytes) for line in mix.lines), default=0)


def size_word(size_bytes: int) -> str:
    """As --size takes it, rounded up to whole MiB: '2G', '1100M'."""
    whole = -(-size_bytes // MIB) * MIB
    return f"{whole // GIB}G" if whole % GIB == 0 else f"{whole // MIB}M"
