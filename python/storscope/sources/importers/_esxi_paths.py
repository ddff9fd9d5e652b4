"""Paths: esxcli storage nmp path list, esxcli storage core path list, esxcfg-mpath -b and -l."""

from __future__ import annotations

import re

from storscope.sources.importers._esxi_book import Book
from storscope.sources.importers._esxi_devices import device_of, link_path
from storscope.sources.importers._esxi_text import Record
from storscope.sources.importers._vmware_names import DEVICE_ID, find_device

_RUNTIME_NAME = re.compile(r"vmhba\d+:C\d+:T\d+:L\d+")
_MPATH_DEVICE = re.compile(rf"(?P<device>{DEVICE_ID}) : (?P<label>.+)")
_MPATH_PATH = re.compile(
    r"(?P<path>vmhba\d+:C\d+:T\d+:L\d+) LUN:\d+ state:(?P<state>\w+) (?P<transport>\w+)(?:\s+(?P<details>.*))?"
)
_PREFERRED = re.compile(r"preferred(?: path)?(?:: (yes|no))?")


def _path_of(record: Record, book: Book) -> str | None:
    name = record.take("Runtime Name")
    if name is None or not _RUNTIME_NAME.fullmatch(name):
        return None
    device = device_of(record, "Device", "Device Display Name") or find_device(record.name or "")
    record.take("Device", "Device Display Name")
    link_path(book, name, device)
    return name


def nmp_path(record: Record, book: Book) -> bool:
    """A record of `esxcli storage nmp path list`: the path's group and whether it is preferred."""
    name = _path_of(record, book)
    if name is None:
        return False
    path = book.entity("path", name)
    book.fact(path, "group_state", record.take("Group State"))
    config = record.take("Path Selection Policy Path Config")
    book.fact(path, "path_config", config)
    match = _PREFERRED.search(config or "")
    if match is not None:
        book.fact(path, "preferred", match[1] != "no")
    book.rest(path, record)
    return True


def core_path(record: Record, book: Book) -> bool:
    """A record of `esxcli storage core path list` or `esxcfg-mpath -l`: the path's state and its ends."""
    name = _path_of(record, book)
    if name is None:
        return False
    path = book.entity("path", name)
    state = record.take("State")
    book.fact(path, "state", state.lower() if state else None)
    if transport := record.take("Transport"):
        book.fact(path, "transport", transport)
    book.rest(path, record)
    return True


class MpathTable:
    """`esxcfg-mpath -b`: a device, then its paths."""

    def __init__(self) -> None:
        self.device: str | None = None

    def row(self, line: str, book: Book) -> bool:
        """A device line or one of its paths."""
        if match := _MPATH_DEVICE.fullmatch(line):
            self.device = match["device"]
            device = book.entity("device", self.device)
            book.labels[device] = match["label"]
            book.link(device, "member_of", book.host)
            return True
        match = _MPATH_PATH.fullmatch(line)
        if match is None:
            return False
        link_path(book, match["path"], self.device)
        path = book.entity("path", match["path"])
        book.fact(path, "state", match["state"].lower())
        book.fact(path, "transport", match["transport"])
        book.fact(path, "path_ends", match["details"])
        return True
