"""Adapters and targets: core adapter list, iscsi adapter list and param get, target portals, vmkiscsi-tool -T.

Dependent-hardware iSCSI (bnx2i, be2iscsi) carries storage past the NIC's counters; independent (qla4xxx) has no NIC at
all; software iSCSI (iscsi_vmk) is a VMkernel client. vSphere Storage, "About ESXi and the iSCSI SAN".
"""

from __future__ import annotations

import re
from typing import Final

from storscope.domain.entity import EntityRef
from storscope.sources.importers._esxi_book import Book, Value
from storscope.sources.importers._esxi_text import Record, boolean, integer, option

_QUAD = r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}"
_ADDRESS = rf"(?:{_QUAD}|\[?[0-9a-fA-F:]*:[0-9a-fA-F:]+\]?)"
_ADAPTER = re.compile(
    r"(?P<name>vmhba\d+)\s+(?P<driver>\S+)\s+(?P<state>link-\S+|online|offline|unbound|unknown)\s+(?P<uid>\S+)"
    r"(?:\s+(?P<description>.*))?"
)
_PARAMETER = re.compile(r"(?P<name>[A-Za-z]\w*)\s+(?P<value>\S+)\s+\S+\s+\S+\s+\S+\s+(?:true|false)\s+(?:true|false)")
_TARGET_PORTAL = re.compile(rf"vmhba\d+\s+(?P<target>\S+)\s+(?P<ip>{_ADDRESS})\s+(?P<port>\d+)(?:\s+\d+)?")
_SEND_TARGET = re.compile(rf"vmhba\d+\s+(?P<portal>{_QUAD}:\d+)")
_TOOL_PORTAL = re.compile(r"Portal \d+\s*:\s*(?P<portal>\S+:\d+)")
_TOOL_FIELD = re.compile(r"(?:NAME|ALIAS|DISCOVERY METHOD FLAGS|SEND TARGETS DISCOVERY \w+|Portal \d+)\s*:.*")

_SOFTWARE: Final = {"iscsi_vmk"}
_DEPENDENT: Final = {"bnx2i"}
_DEPENDENT_WITH_NIC: Final = {"be2iscsi", "qfle3i", "qedil"}
"""Drivers of cards that do both: dependent where a port of the host is bound to them."""
_INDEPENDENT: Final = {"qla4xxx"}


def adapter_row(line: str, book: Book) -> bool:
    """A row of `esxcli storage core adapter list` or `esxcli iscsi adapter list`."""
    match = _ADAPTER.fullmatch(line)
    if match is None:
        return False
    adapter = book.entity("adapter", match["name"])
    book.link(adapter, "member_of", book.host)
    book.fact(adapter, "driver", match["driver"])
    book.fact(adapter, "link_state", match["state"])
    book.fact(adapter, "uid", match["uid"] if match["uid"] != f"iscsi.{match['name']}" else None)
    book.fact(adapter, "description", match["description"])
    return True


def parameter_row(line: str, book: Book) -> bool:
    """A row of `esxcli iscsi adapter param get -A vmhbaN`; the adapter stands in the command only."""
    match = _PARAMETER.fullmatch(line)
    if match is None:
        return False
    name, value, unit = _parameter(match["name"], match["value"])
    adapter = option(book.command, "-A", "--adapter")
    if value is None:
        return True
    if adapter:
        book.fact(book.entity("adapter", adapter), name, value, unit)
    else:
        book.unplaced.append((book.system, name, value, unit))
    return True


def _parameter(name: str, text: str) -> tuple[str, Value | None, str | None]:
    if name == "DelayedAck":
        return "delayed_ack", boolean(text), None
    if name == "LoginTimeout":
        return "login_timeout_s", integer(text), "s"
    number = integer(text)
    return name, number if number is not None else (None if text == "na" else text), None


def target_portal_row(line: str, book: Book) -> bool:
    """A row of `esxcli iscsi adapter target portal list`, or of `... discovery sendtarget list`."""
    match = _TARGET_PORTAL.fullmatch(line)
    if match is not None:
        book.one_of(book.host, "target_portal", f"{match['ip']}:{match['port']}")
        book.one_of(book.host, "target", match["target"])
        return True
    match = _SEND_TARGET.fullmatch(line)
    if match is not None:
        book.one_of(book.host, "target_portal", match["portal"])
    return match is not None


def tool_row(line: str, book: Book) -> bool:
    """A line of `vmkiscsi-tool -T -l vmhbaN` (or -D): portals, and the names of targets."""
    if match := _TOOL_PORTAL.fullmatch(line):
        book.one_of(book.host, "target_portal", match["portal"])
        return True
    if _TOOL_FIELD.fullmatch(line) is None:
        return False
    name, _, value = line.partition(":")
    if name.strip() == "NAME":
        book.one_of(book.host, "target", value.strip())
    return True


def physical_portal(record: Record, book: Book) -> None:
    """A record of `esxcli iscsi physicalnetworkportal list`: the NIC of a dependent adapter."""
    adapter, nic = record.take("Adapter") or record.name, record.take("Vmnic")
    if adapter and nic:
        book.link(book.entity("adapter", adapter), "uses", book.entity("nic", nic))
        book.fact(book.entity("nic", nic), "mac_address", (record.take("MAC Address") or "").lower() or None)
        book.fact(book.entity("nic", nic), "speed_mbit", integer(record.take("Current Speed")) or None, "Mbit/s")
        book.rest(book.entity("nic", nic), record)


def iscsi_kinds(book: Book) -> None:
    """At the end: what kind of iSCSI each adapter is, where driver and bindings tell; otherwise nothing is said."""
    bound = {two for one, relation, two in book.links if relation == "uses" and one.kind == "port"}
    with_nic = {one for one, relation, two in book.links if relation == "uses" and two.kind == "nic"}
    for adapter in book.of_kind("adapter"):
        book.fact(adapter, "iscsi_kind", _kind(book, adapter, adapter in bound | with_nic))


def _kind(book: Book, adapter: EntityRef, tied_to_nic: bool) -> str | None:
    driver = book.value(adapter, "driver")
    description = f"{book.value(adapter, 'description') or ''}"
    if driver in _SOFTWARE or ("iSCSI" in description and "Software" in description):
        return "software"
    if driver in _DEPENDENT or (driver in _DEPENDENT_WITH_NIC and tied_to_nic):
        return "dependent"
    return "independent" if driver in _INDEPENDENT else None


def place_parameters(book: Book) -> int:
    """At the end: parameters without an adapter belong to the host's only iSCSI adapter. Returns how many stay over."""
    left = 0
    for system, name, value, unit in book.unplaced:
        candidates = [adapter for adapter in _iscsi_adapters(book) if adapter.system == system]
        if len(candidates) == 1:
            book.fact(candidates[0], name, value, unit)
        else:
            left += 1
    return left


def _iscsi_adapters(book: Book) -> list[EntityRef]:
    bound = {two for one, relation, two in book.links if relation == "uses" and one.kind == "port"}
    return [
        adapter
        for adapter in book.of_kind("adapter")
        if adapter in bound or adapter in book.local_addresses or book.value(adapter, "iscsi_kind") is not None
    ]
