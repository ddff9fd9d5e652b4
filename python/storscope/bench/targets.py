"""From a path to an open target that a run may use, prepared so that the figures mean something.

A directory or a new name gets a scratch file, written through and proved written before it is measured: reading what
was never written measures memory. Existing files and devices are opened through the checks of `bench.safety`, read-only
if the workload only reads. The engine gets the very descriptor that was checked.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from storscope.bench.device_check import Answer, Asked, DeviceCheck
from storscope.bench.device_counters import DeviceWatch
from storscope.bench.engine import EngineRun, NoTarget, RunPlan, explained, run_error
from storscope.bench.room import check_room, needed_bytes
from storscope.bench.safety import (
    DeviceTarget,
    DirectoryTarget,
    ExtentMap,
    FileTarget,
    NewFileTarget,
    OpenTarget,
    Scratch,
    create,
    extents_of,
    open_for_reading,
    open_for_writing,
    resolve,
)
from storscope.bench.safety.afterwards import removed_if_killed
from storscope.bench.stamping import at_index, targets_at
from storscope.bench.underneath import Underneath, storable, underneath
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import ConfigError, StorscopeError, TargetRefused, UsageError
from storscope.domain.load import Closed, Region
from storscope.domain.units import MIB, NS_PER_S, format_bytes
from storscope.domain.workload import Stream, Workload

DEFAULT_SCRATCH_BYTES = 1024 * MIB
_PREFILL_BYTES = MIB
_PREFILL_OUTSTANDING = 8
_PREFILL_INTERVAL_NS = NS_PER_S // 4
_PREFILL_ENGINE = "threads"
"""A ring would be tried out first, with up to 16 MiB that the device's counters would show as well."""
_ENOUGH_NS = 24 * 3600 * NS_PER_S

_NOTHING_KNOWN = Underneath((), None, "nobody looked")

Told = Callable[[str], None]
"""Hears what is being done, in a sentence."""
Filled = Callable[[int, int], None]
"""Hears how many bytes of how many are written, while a scratch file is filled."""


def _unheard(done_bytes: int, total_bytes: int) -> None:
    pass


@dataclass(frozen=True)
class Wish:
    """What is wanted of a target."""

    workload: Workload
    size_bytes: int | None
    permission: str | None
    direct: bool
    writes: bool
    """Whether it is opened for writing; a scratch file is filled in any case."""
    told: Told
    filled: Filled = _unheard
    keep: bool = False
    """Whether a scratch file stays, once it is filled."""


@dataclass(frozen=True)
class Ready:
    """A target that can be measured."""

    descriptor: int
    name: str
    kind: str
    """scratch, file or device."""
    direct: bool
    doubts: tuple[str, ...]
    confined_bytes: int | None = None
    """Workloads are confined to the first part of the target; None is all of it."""
    under: Underneath = _NOTHING_KNOWN
    extents: ExtentMap | None = None
    """Of the part of a file that is used, before it is measured."""
    prefill: DeviceCheck | None = None
    """What the devices did while a scratch file was filled."""
    writable: bool = False

    @property
    def size_bytes(self) -> int:
        """Of the part that workloads may use."""
        return self.confined_bytes or os.lseek(self.descriptor, 0, os.SEEK_END)


def is_new(path: str | Path) -> bool:
    """Whether a scratch file would be made for it."""
    return isinstance(resolve(path), DirectoryTarget | NewFileTarget)


def scratch_size(size_bytes: int | None, workload: Workload | None = None, index: int = 0) -> int:
    """The size of a scratch file: whole MiB, as it is filled with transfers of that size.

    Where none is asked for, 1 GiB, or more if the workload's regions reach further on target `index`.
    """
    needed = 0 if workload is None else -(-needed_bytes(workload, index) // MIB) * MIB
    size = max(DEFAULT_SCRATCH_BYTES, needed) if size_bytes is None else size_bytes
    if size < MIB or size % MIB:
        raise UsageError("a size of whole MiB for a scratch file", f"{size} bytes", hint="For example --size 1G.")
    return size


def confined(workload: Workload, size_bytes: int | None) -> Workload:
    """The workload with streams that reach to the end of the target ending at `size_bytes` instead."""
    if size_bytes is None:
        return workload
    return replace(workload, streams=tuple(_confined(stream, size_bytes) for stream in workload.streams))


def _confined(stream: Stream, size_bytes: int) -> Stream:
    region = stream.region
    if region.length_bytes is not None:
        return stream
    if region.start_bytes >= size_bytes:
        raise ConfigError(f"a region that starts before {format_bytes(size_bytes)}", format_bytes(region.start_bytes))
    return replace(stream, region=Region(region.start_bytes, size_bytes - region.start_bytes))


def check_fits(workload: Workload, *sizes_bytes: int) -> None:
    """Whether the engine would run it on targets of these sizes; tried on no storage for a moment."""
    check_room(workload, sizes_bytes)
    targets = tuple(NoTarget("null", size_bytes) for size_bytes in sizes_bytes)
    plan = RunPlan(workload, targets, duration_ns=1, seed=0, max_failures=0)
    EngineRun(plan).outcome()


# Scratch files --------------------------------------------------------------------------------------------------------


def scratch(stack: ExitStack, path: str | Path, wish: Wish, index: int = 0) -> Ready:
    """A file made, filled and proved filled, as target `index`; `stack` removes it.

    Raises TargetRefused, UsageError.
    """
    size_bytes, direct = scratch_size(wish.size_bytes, wish.workload, index), wish.direct
    made = stack.enter_context(create(path, size_bytes, told=wish.told))
    stack.enter_context(removed_if_killed(made))
    wish.told(f"Filling {made.path} with {format_bytes(size_bytes)}.")
    under = underneath(made.descriptor)
    watch = DeviceWatch(under, direct=direct, extents=None)
    is_direct = _fill(stack, made, wish, size_bytes, index)
    extents = extents_of(made.descriptor, sync=True)
    if wish.keep:
        made.keep()
        wish.told(f"{made.path} stays, as --keep asks.")
    prefill = watch.compare({"read": Asked(0, 0), "write": Asked(size_bytes // _PREFILL_BYTES, size_bytes)})
    doubts = [
        *_cache_doubts(direct, is_direct),
        *_extent_doubts(extents, reads=True),
        *_prefill_doubts(prefill, extents),
    ]
    descriptor, _ = _reopened(stack, made, os.O_RDWR if wish.writes else os.O_RDONLY, is_direct)
    return Ready(
        descriptor, storable(str(made.path)), "scratch", is_direct, tuple(doubts), under=under, extents=extents,
        prefill=prefill, writable=wish.writes,
    )  # fmt: skip


def _reopened(stack: ExitStack, scratch: Scratch, flags: int, direct: bool) -> tuple[int, bool]:
    """Another descriptor of the same file, past the page cache if its file system can do that."""
    path = f"/proc/self/fd/{scratch.descriptor}"
    try:
        descriptor, is_direct = os.open(path, flags | os.O_CLOEXEC | (os.O_DIRECT if direct else 0)), direct
    except OSError as error:
        if not direct or error.errno != errno.EINVAL:
            raise
        descriptor, is_direct = os.open(path, flags | os.O_CLOEXEC), False
    stack.callback(os.close, descriptor)
    return descriptor, is_direct


def _fill(stack: ExitStack, made: Scratch, wish: Wish, size_bytes: int, index: int) -> bool:
    """Writes every byte once, with the workload's own data and stamps, to the device. Whether that was direct."""
    descriptor, is_direct = _reopened(stack, made, os.O_RDWR, wish.direct)
    line = AccessSpec(_PREFILL_BYTES, read_share=0.0, random_share=0.0, align_bytes=wish.workload.stamp_unit_bytes)
    stream = Stream(Mix((line,)), Closed(_PREFILL_OUTSTANDING))
    filling = at_index(Workload("prefill", (stream,), data=wish.workload.data), index)
    plan = RunPlan(
        filling, targets_at(descriptor, index), _ENOUGH_NS, seed=0, interval_ns=_PREFILL_INTERVAL_NS,
        max_bytes_per_worker=size_bytes, engine=_PREFILL_ENGINE,
    )  # fmt: skip
    run, done_bytes = EngineRun(plan), 0
    for interval in run.intervals():
        done_bytes += interval.all.bytes
        wish.filled(done_bytes, size_bytes)
    outcome = run.outcome()
    if outcome.error is not None:
        raise run_error(*outcome.error)
    _write_out(descriptor, made.path)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    if outcome.result["ending"]["completed"] * _PREFILL_BYTES != size_bytes:
        raise StorscopeError("a scratch file filled completely", f"{outcome.result['ending']['completed']} MiB")
    return is_direct


def _write_out(descriptor: int, path: Path) -> None:
    """To the device: what went through the page cache may find only now that there is no room, or that it fails."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        said = f"{path} could not be written out: {error.strerror} (os error {error.errno})"
        raise run_error("failed", explained(said)) from error


# What exists ----------------------------------------------------------------------------------------------------------


def existing(stack: ExitStack, path: str | Path, wish: Wish) -> Ready:
    """What is there, opened after the checks; `stack` closes it. Raises TargetRefused, UsageError."""
    opened, is_direct = _opened(path, wish)
    stack.enter_context(opened)
    _refuse_more_than_there_is(opened.target, os.lseek(opened.descriptor, 0, os.SEEK_END), wish.size_bytes)
    doubts = list(_cache_doubts(wish.direct, is_direct))
    kind = "file" if isinstance(opened.target, FileTarget) else "device"
    extents = _used_extents(opened.descriptor, wish.size_bytes) if kind == "file" else None
    if extents is not None:
        reads = any(stream.access.reads for stream in wish.workload.streams)
        doubts += _extent_doubts(extents, reads=reads, writes=wish.writes)
    elif any(stream.access.reads for stream in wish.workload.streams):
        doubts.append(
            "Not known: whether all of the device was ever written. What was not is answered without a medium."
        )
    return Ready(
        opened.descriptor, storable(opened.target.path), kind, is_direct, tuple(doubts), wish.size_bytes,
        underneath(opened.descriptor), extents, writable=wish.writes,
    )  # fmt: skip


def _used_extents(descriptor: int, size_bytes: int | None) -> ExtentMap:
    """Of the part that is used: what lies beyond it says nothing of the figures."""
    extents = extents_of(descriptor, sync=True)
    return extents if size_bytes is None else extents.until(size_bytes)


def used_size(path: str | Path, size_bytes: int | None) -> int:
    """How much of what exists would be used, without opening it. Raises UsageError for more than there is."""
    target = resolve(path)
    if not isinstance(target, FileTarget | DeviceTarget):
        raise UsageError("a file or a block device", "a directory", where=target.asked)
    there_is = target.size_bytes if isinstance(target, FileTarget) else target.device.size_bytes
    _refuse_more_than_there_is(target, there_is, size_bytes)
    return there_is if size_bytes is None else size_bytes


def known_sizes(paths: Sequence[str], size_bytes: int | None) -> tuple[int, ...]:
    """How much of the targets would be used, in bytes, for workloads that ask for a share of it.

    Empty where that is not one size for all, or not known before: of a scratch file whose size follows from the
    workload, and of what cannot be used, which is told when it is opened.
    """
    try:
        sizes = {size_bytes if is_new(path) else used_size(path, size_bytes) for path in paths}
    except (StorscopeError, OSError):
        return ()
    return () if len(sizes) != 1 or None in sizes else tuple(size for size in sizes if size)


def _refuse_more_than_there_is(target: FileTarget | DeviceTarget, there_is: int, size_bytes: int | None) -> None:
    if size_bytes is not None and size_bytes > there_is:
        raise UsageError(
            f"--size of at most {format_bytes(there_is)}, as large as it is", format_bytes(size_bytes),
            where=target.path, hint="Without --size all of it is used.",
        )  # fmt: skip


def _opened(path: str | Path, wish: Wish) -> tuple[OpenTarget, bool]:
    def attempt(direct: bool) -> OpenTarget:
        if wish.writes:
            return open_for_writing(
                path, permission=wish.permission, reach_bytes=wish.size_bytes, direct=direct, told=wish.told
            )
        return open_for_reading(path, direct=direct)

    try:
        return attempt(wish.direct), wish.direct
    except TargetRefused as error:
        cause = error.__cause__
        if not (wish.direct and isinstance(cause, OSError) and cause.errno == errno.EINVAL):
            raise
        return attempt(False), False


# Doubts ---------------------------------------------------------------------------------------------------------------


def _cache_doubts(wanted: bool, direct: bool) -> Iterator[str]:
    if not direct:
        why = "the file system knows no O_DIRECT" if wanted else "as asked with --buffered"
        yield f"I/Os go through the page cache ({why}): reads may never reach the device."


def _extent_doubts(found: ExtentMap, *, reads: bool, writes: bool = False) -> Iterator[str]:
    if found.is_fully_written is None and reads:
        yield "The file system does not tell whether every block is written: reads may be answered from memory."
    elif found.is_fully_written is None:
        yield "The file system does not tell whether every block is written: first writes may allocate."
    elif not found.is_fully_written:
        what = f"{format_bytes(found.missing_bytes)} of the file are holes, unwritten or not yet on the device"
        if reads:
            yield f"Not the device: {what}, and reading them is answered from memory."
        if writes:
            yield f"{what}: each first write there allocates, unlike later ones."
    if writes and found.shared_bytes:
        yield (
            f"{format_bytes(found.shared_bytes)} of the file are shared with a snapshot or a copy: each first write "
            "there needs a new place, unlike later ones where the file system overwrites in place."
        )
    if found.encoded_bytes:
        through = ", and reads may go through the page cache" if reads else ""
        yield f"The file system compresses or encrypts the file: its device transfers another number of bytes{through}."


def _prefill_doubts(prefill: DeviceCheck, extents: ExtentMap) -> Iterator[str]:
    """What the counters add to the extent map. That there is no device is said once, of the run itself."""
    if prefill.answer is not Answer.NOT_THE_DEVICE or prefill.moved is None or extents.encoded_bytes:
        return
    yield (
        f"The filling is not proved: of {format_bytes(prefill.asked['write'].bytes)} the device wrote "
        f"{format_bytes(prefill.moved['write'].bytes)}; what it kept elsewhere may be read from there."
    )
