"""What a device rests on: every device and file whose bytes are also its own, from the device down.

A loop device rests on a file or a device, a stacked device (LVM, md, multipath, bcache) on its slaves, a partition on
its disk; each of them may be any of these again. The walk ends at disks and at files. Upwards no walk is needed:
whatever rests directly on one of them makes it used already.

Beware: which parts of its slaves a stacked device takes is not in sysfs, so that all of them count as its bytes, except
for what else rests on a slave: the volumes of one LVM group are not each other's users.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import product

from storscope.bench.safety.block import BlockDevice, below, device_named, device_of_number, family
from storscope.bench.safety.kernel import DeviceNumber, Kernel
from storscope.bench.safety.loops import Backing, backing_of
from storscope.bench.safety.target import Identity


@dataclass(frozen=True)
class Stack:
    """A device with all that it rests on."""

    devices: tuple[BlockDevice, ...]
    """The device itself first, then the rest of its family, then what lies below."""
    whole: frozenset[DeviceNumber]
    """Those whose bytes are not divided by a stacked device: nothing else may rest on them."""
    backings: tuple[Backing, ...]
    """What lies below the loop devices among them."""

    @property
    def numbers(self) -> set[DeviceNumber]:
        """Of all the devices."""
        return {device.number for device in self.devices}

    @property
    def loops(self) -> set[str]:
        """The names of the loop devices among them."""
        return {backing.name for backing in self.backings}

    def disks(self, kernel: Kernel) -> set[str]:
        """The names of the whole disks at the bottom; a loop device over a file is one."""
        return {name for device in self.devices for name in below(kernel, device) if not self._is_passed(name)}

    def _is_passed(self, name: str) -> bool:
        """A loop device over another device is not the bottom."""
        return any(backing.name == name and backing.device is not None for backing in self.backings)


@dataclass(frozen=True)
class Bytes:
    """An open file or device, by what it shares its bytes with."""

    identity: Identity
    stack: Stack | None
    """Of a device that sysfs knows."""

    def overlap(self, other: Bytes) -> bool:
        """Whether a write to one may change the other. Two partitions of a disk, or volumes of a group, do not."""
        return self._is_in(other.stack) or other._is_in(self.stack) or self._meets(other)

    def _is_in(self, stack: Stack | None) -> bool:
        if stack is None:
            return False
        files = {Identity("file", *backing.file) for backing in stack.backings if backing.file is not None}
        return self.identity in files or (self.identity.kind == "device" and self.identity.device in stack.numbers)

    def _meets(self, other: Bytes) -> bool:
        """Whether two loop devices below them are set up over one file."""
        pairs = product(self.stack.backings if self.stack else (), other.stack.backings if other.stack else ())
        return any(one.name != two.name and one.file is not None and one.file == two.file for one, two in pairs)


def bytes_of(kernel: Kernel, descriptor: int) -> Bytes:
    """Of what is open."""
    identity = Identity.of(os.fstat(descriptor))
    device = device_of_number(kernel, identity.device) if identity.kind == "device" else None
    return Bytes(identity, None if device is None else stack_of(kernel, device))


def stack_of(kernel: Kernel, device: BlockDevice) -> Stack:
    """Walks down from a device. A circle, which no kernel should allow, ends where it closes."""
    devices: dict[DeviceNumber, BlockDevice] = {}
    backings: dict[str, Backing] = {}
    whole: set[DeviceNumber] = set()
    todo = [(device, True)]
    while todo:
        top, is_whole = todo.pop(0)
        members = family(kernel, top)
        whole.update(member.number for member in members if is_whole)
        for member in members:
            if member.number in devices:
                continue
            devices[member.number] = member
            todo += [(slave, False) for name in member.slaves if (slave := device_named(kernel, name)) is not None]
            backing = _backing(kernel, member)
            if backing is not None and backing.name not in backings:
                backings[backing.name] = backing
                under = None if backing.device is None else device_of_number(kernel, backing.device)
                todo += [(under, True)] if under is not None else []
    return Stack(tuple(devices.values()), frozenset(whole), tuple(backings.values()))


def _backing(kernel: Kernel, device: BlockDevice) -> Backing | None:
    """Below a loop device or a partition of one; null for all else."""
    if device.backing_file is None:
        return None
    return backing_of(kernel, device_named(kernel, device.disk) or device)
