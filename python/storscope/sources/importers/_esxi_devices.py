"""Devices: esxcli storage nmp device list, esxcli storage core device list, vsish statistics."""

from __future__ import annotations

import re

from storscope.domain.units import MIB
from storscope.sources.importers._esxi_book import Book
from storscope.sources.importers._esxi_text import Record, boolean, integer, names
from storscope.sources.importers._vmware_names import adapter_of, device_name, find_device

_POLICY = re.compile(r"(\w+)=([^,;{}: ]+)")
_PATH = re.compile(r"vmhba\d+:C\d+:T\d+:L\d+")
_COUNT = re.compile(r"\s*([A-Za-z][\w /-]*?)\s*:\s*(\d+)\s*")


def device_of(record: Record, *keys: str) -> str | None:
    """The identifier of a record's device: from its head, or from the parentheses of its display name."""
    named = record.name if record.name and find_device(record.name) == record.name else None
    shown = next((text for key in keys if (text := record.pairs.get(key.lower(), ("", ""))[1])), "")
    return named or find_device(shown)


def nmp_device(record: Record, book: Book) -> bool:
    """A record of `esxcli storage nmp device list`; its policy is `{policy=rr,iops=1000,useANO=0;...}`."""
    name = device_of(record, "Device Display Name")
    if name is None:
        return False
    device = book.entity("device", name)
    book.link(device, "member_of", book.host)
    if label := record.take("Device Display Name"):
        book.labels[device] = label
    book.fact(device, "array_type", record.take("Storage Array Type"))
    book.fact(device, "path_policy", record.take("Path Selection Policy"))
    policy = dict(_POLICY.findall(record.take("Path Selection Policy Device Config") or ""))
    book.fact(device, "round_robin_policy", policy.get("policy"))
    book.fact(device, "round_robin_iops", integer(policy.get("iops")))
    book.fact(device, "round_robin_bytes", integer(policy.get("bytes")), "bytes")
    book.fact(device, "use_ano", boolean(policy.get("useANO")))
    working = [path for path in names(record.take("Working Paths")) if _PATH.fullmatch(path)]
    for path in working:
        link_path(book, path, name)
    book.fact(device, "working_paths", len(working) if "Working Paths" in record else None)
    book.rest(device, record)
    return True


def link_path(book: Book, path: str, device: str | None) -> None:
    """The path leads to the device and uses its adapter."""
    reference = book.entity("path", path)
    if device is not None:
        book.link(reference, "leads_to", book.entity("device", device))
        book.link(book.entity("device", device), "member_of", book.host)
    if adapter := adapter_of(path):
        book.link(reference, "uses", book.entity("adapter", adapter))


def core_device(record: Record, book: Book) -> bool:
    """A record of `esxcli storage core device list`. `Size` counts MiB (a LUN of 2 TiB shows 2097152)."""
    name = device_of(record, "Devfs Path", "Display Name")
    if name is None:
        return False
    device = book.entity("device", name)
    book.link(device, "member_of", book.host)
    if label := record.take("Display Name"):
        book.labels[device] = label
    size = integer(record.take("Size"))
    book.fact(device, "size_bytes", size * MIB if size else None, "bytes")
    book.fact(device, "queue_limit", integer(record.take("Device Max Queue Depth")))
    book.fact(device, "media", _media(record))
    book.rest(device, record)
    return True


def _media(record: Record) -> str | None:
    """'ssd' when the device says so. False means 'does not say' for what an array presents; a local disk does say."""
    is_ssd = boolean(record.pairs.get("is ssd", ("", ""))[1])
    is_local = boolean(record.pairs.get("is local", ("", ""))[1])
    is_disk = record.pairs.get("device type", ("", "Direct-Access"))[1] == "Direct-Access"
    if is_ssd:
        return "ssd"
    return "hdd" if is_ssd is False and is_local and is_disk else None


def vsish_conflicts(line: str, book: Book) -> bool:
    """`reservationConflicts:10221` alone, as grep leaves it, and the brace that closes the whole."""
    return (line == "}" or line.startswith("reservationConflicts")) and VsishTable().row(line, book)


class VsishTable:
    """Statistics of a device from `vsish -e get /storage/.../DEVICE/stats`: `name:count` lines in braces."""

    def row(self, line: str, book: Book) -> bool:
        """A count; without a device in the command it has no owner and is not understood."""
        if line == "}":
            return True
        name = find_device((book.command or "").replace("/", " "))
        match = _COUNT.fullmatch(line)
        if match is None or name is None:
            return False
        device = book.entity("device", device_name(name))
        name = "reservation_conflicts" if match[1] == "reservationConflicts" else match[1]
        book.fact(device, name, int(match[2]))
        book.link(device, "member_of", book.host)
        return True
