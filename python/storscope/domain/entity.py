"""Entities: the things that evidence is about, and how they hang together.

An entity is named by (system, kind, name): the system is the host or array whose tool spoke. Two systems may both
have a device `sda`; they never meet by accident.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KINDS: Final = (
    "array", "controller", "disk_group", "vdisk", "disk", "host", "vm", "vm_disk", "datastore", "adapter", "port",
    "path", "device", "partition", "filesystem", "process", "job", "nic", "vswitch", "portgroup",
    "rate_limit", "flash_cache",
)  # fmt: skip
"""Entity kinds. A vdisk is what others call LUN or volume. `nic`, `vswitch` and `portgroup` carry iSCSI. A `rate_limit`
is what a volume or a host is allowed, a `flash_cache` the flash that a host has before a volume."""

RELATIONS: Final = {
    "lives_on": "data of this entity lies on that one: vdisk on disk_group, datastore on device, vm_disk on datastore",
    "member_of": "a part of that group: disk in disk_group, controller in array, vm_disk in vm, device in host",
    "owned_by": "served by that controller: vdisk by controller",
    "leads_to": "a path leads to that device",
    "uses": "traffic goes through that entity: path over adapter or port, vmk port over nic, portgroup over vswitch",
    "same_as": "another name for the same thing: multipath map and WWID",
}
"""Link relations, with their reading direction."""

SHARING_RELATIONS: Final = ("lives_on", "member_of", "owned_by", "uses", "leads_to")
"""Relations along which two entities can slow each other down."""


@dataclass(frozen=True, slots=True, order=True)
class EntityRef:
    """The name of an entity: (system, kind, name)."""

    system: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Link:
    """`source` stands in `relation` to `target`, both in the same system."""

    source: EntityRef
    relation: str
    target: EntityRef


def said_of(names: str, said: str) -> str:
    """'sda: said'. Of names that end in a colon, as those of Windows' disks do ('0 C:'), that one is enough."""
    return f"{names} {said}" if names.endswith(":") else f"{names}: {said}"
