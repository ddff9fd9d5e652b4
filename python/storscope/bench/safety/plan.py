"""What exactly would be done, in plain words: for --dry-run, and for the user to read before permission is given.

A plan runs the very checks of the real run, under the same claim, and opens nothing for writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from storscope.bench.safety.access import Inspection, inspect
from storscope.bench.safety.check import Check, Outcome, passed, refused
from storscope.bench.safety.kernel import Kernel
from storscope.bench.safety.ownership import Journal
from storscope.bench.safety.permission import OPTION, Demand, decide, demand, printable, refusals_can_be_lifted
from storscope.bench.safety.target import (
    DeviceTarget,
    DirectoryTarget,
    FileTarget,
    NewFileTarget,
    Place,
    Target,
    resolve,
)
from storscope.domain.errors import TargetRefused
from storscope.domain.units import format_bytes


@dataclass(frozen=True)
class Intent:
    """What the run wants of the target."""

    writes: bool
    size_bytes: int | None = None
    """Of the scratch file, or of the region that is used; null for all there is."""
    keep: bool = False
    """Whether a scratch file stays."""
    direct: bool = False


@dataclass(frozen=True)
class Plan:
    """What would be done, and whether it may."""

    target: Target
    """For `open_for_writing(expected=...)`: the run must find what the plan described."""
    what_it_is: tuple[str, ...]
    actions: tuple[str, ...]
    checks: tuple[Check, ...]
    demand: Demand | None
    """What must be typed; null if nothing."""
    refusal: TargetRefused | None
    """Why it would be refused; null if it would run."""

    @property
    def is_allowed(self) -> bool:
        """Whether the run would start."""
        return self.refusal is None

    def lines(self) -> Iterator[str]:
        """Ready to print; nothing in it can steer a terminal."""
        yield f"Target: {printable(self.target.asked)}"
        yield from (f"  {printable(line)}" for line in self.what_it_is)
        yield "Would be done:"
        yield from (f"  {printable(line)}" for line in self.actions)
        yield "Checks:"
        yield from (f"  {_MARKS[check.outcome]} {check.name}: {printable(check.says)}" for check in self.checks)
        if self.refusal is not None:
            yield f"Refused: {self.refusal}"
            return
        lost = list(dict.fromkeys(item for check in self.checks for item in check.loses))
        if lost:
            yield f"Allowed all the same by {OPTION}. This would be lost for ever:"
            yield from (f"  - {printable(item)}" for item in lost)
        yield "Nothing has been written."


_MARKS = {Outcome.PASSED: "✓", Outcome.REFUSED: "✗", Outcome.UNKNOWN: "?"}


def plan(
    path: str | Path,
    intent: Intent,
    *,
    permission: str | None = None,
    journal: Journal | None = None,
    kernel: Kernel | None = None,
) -> Plan:
    """Describes a run on a target. Raises UsageError, TargetRefused for a path that leads to no storage at all."""
    kernel = kernel or Kernel()
    found = _inspection(path, intent, journal, kernel)
    refusal = _refusal(found, permission, kernel) if _is_written(found.target, intent) else None
    wanted = demand(found.target, kernel) if refusal is not None and refusals_can_be_lifted(found.checks) else None
    return Plan(
        found.target, tuple(_what_it_is(found.target)), tuple(_actions(found, intent)), found.checks, wanted, refusal
    )


def _is_written(target: Target, intent: Intent) -> bool:
    """Reading in a directory needs a file that has been written."""
    return intent.writes or isinstance(target, DirectoryTarget | NewFileTarget)


def _inspection(path: str | Path, intent: Intent, journal: Journal | None, kernel: Kernel) -> Inspection:
    target = resolve(path, kernel)
    if not _is_written(target, intent):
        return Inspection(target, (passed("reading", "opened for reading only: nothing can be lost"),))
    found = inspect(path, size_bytes=intent.size_bytes, journal=journal, kernel=kernel)
    if isinstance(found.target, DirectoryTarget | NewFileTarget):
        return replace(found, checks=(*found.checks, _journal(journal or Journal.of_user())))
    return found


def _journal(journal: Journal) -> Check:
    """Without a memory of it no scratch file is made."""
    refusal = journal.refusal()
    if refusal is None:
        return passed("journal", f"scratch files are remembered in {journal.folder}")
    says = f"no scratch file can be remembered in {refusal.where or 'a home directory'}: {refusal.found}"
    return refused("journal", says, refusal.hint)


def _refusal(found: Inspection, permission: str | None, kernel: Kernel) -> TargetRefused | None:
    try:
        decide(found.target, found.checks, permission, kernel)
    except TargetRefused as refusal:
        return refusal
    return None


def _what_it_is(target: Target) -> Iterator[str]:
    if isinstance(target, DeviceTarget):
        yield from _device_lines(target)
    elif isinstance(target, FileTarget):
        allocated = format_bytes(target.allocated_bytes)
        yield f"the file {target.path}, {format_bytes(target.size_bytes)}, {allocated} allocated"
        yield from _extent_lines(target)
        yield from _place_lines(target.place)
    elif isinstance(target, DirectoryTarget):
        yield f"the directory {target.path}"
        yield from _place_lines(target.place)
    else:
        yield f"a new file {target.path}"
        yield from _place_lines(target.directory.place)


def _device_lines(target: DeviceTarget) -> Iterator[str]:
    device = target.device
    kind = f"partition {device.partition} of {device.disk}" if device.is_partition else "a whole device"
    yield f"{device.name} ({device.number}), {kind}, {format_bytes(device.size_bytes)} ({device.size_bytes} bytes)"
    yield f"model {device.model or 'unknown'}, serial number {device.serial or 'none'}"
    if device.backing_file:
        yield f"a loop device over {device.backing_file}"
    if device.dm_name:
        yield f"device-mapper name {device.dm_name}"
    if device.slaves:
        yield f"rests on {', '.join(device.slaves)}"
    if target.partitions:
        yield f"partitions {', '.join(part.name for part in target.partitions)}"


def _extent_lines(target: FileTarget) -> Iterator[str]:
    if target.extents is None:
        yield "its extent map cannot be read"
        return
    parts = {
        "written": target.extents.written_bytes,
        "unwritten": target.extents.unwritten_bytes,
        "holes": target.extents.hole_bytes,
        "not yet on the device": target.extents.delayed_bytes,
    }
    yield ", ".join(f"{name} {'unknown' if size is None else format_bytes(size)}" for name, size in parts.items())


def _place_lines(place: Place) -> Iterator[str]:
    if place.mount is None:
        yield "on a file system that no visible mount table shows"
    else:
        device = f" on {place.device.name}" if place.device else ""
        yield f"on {place.mount.fs_type}{device}, mounted at {place.mount.point} ({place.mount.options})"
    yield f"{format_bytes(place.free_bytes)} of {format_bytes(place.total_bytes)} free"


def _actions(found: Inspection, intent: Intent) -> Iterator[str]:
    target, size = found.target, intent.size_bytes
    how = " past the page cache (O_DIRECT)" if intent.direct else ""
    if isinstance(target, DirectoryTarget | NewFileTarget):
        name = target.path if isinstance(target, NewFileTarget) else f"{Path(target.path) / 'storscope-scratch-*.dat'}"
        yield f"create {name}" + ("" if size is None else f", {format_bytes(size)}")
        yield f"fill it, then {'read and write' if intent.writes else 'read'} it{how}"
        yield "keep it, as asked" if intent.keep else "remove it at the end, or at the next start after a crash"
        return
    whole = target.size_bytes if isinstance(target, FileTarget) else target.device.size_bytes
    extent = format_bytes(whole if size is None else size)
    if intent.writes:
        yield f"open {target.path} for reading and writing{how}, and overwrite up to {extent} of it"
        yield "create and remove nothing"
    else:
        yield f"open {target.path} read-only{how} and read up to {extent} of it"
        yield "write, create and remove nothing"
