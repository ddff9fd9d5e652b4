"""Virtual switches, port groups and NICs: esxcfg-vswitch -l, esxcfg-nics -l and the esxcli lists that replaced them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from storscope.sources.importers._esxi_book import UNSURE, Book
from storscope.sources.importers._esxi_text import Record, integer, names, option

_MAC = r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}"
_UPLINKS = r"(?P<uplinks>[A-Za-z]\S*)"
_SWITCH = re.compile(rf"(?P<name>\S.*?)\s+\d+\s+\d+\s+\d+\s+(?P<mtu>\d+)(?:\s+{_UPLINKS})?")
_SWITCH_WITHOUT_MTU = re.compile(rf"(?P<name>\S.*?)\s+\d+\s+\d+\s+\d+(?:\s+{_UPLINKS})?")
_GROUP = re.compile(rf"(?P<name>\S.*?)\s+(?:portgroup\d+\s+)?(?P<vlan>\d+)\s+\d+(?:\s+{_UPLINKS})?")
_DVPORT = re.compile(r"(?P<id>\d+)\s+[01]\s*(?P<client>vmk\d+|vmnic\d+)?(?:\s.*)?")
_GROUP_LIST = re.compile(r"(?P<name>\S.*?)\s+(?P<switch>\S+)\s+\d+\s+(?P<vlan>\d+)")
_NIC = re.compile(
    rf"(?P<name>vmnic\w+)\s+(?P<pci>\S*:\S+)\s+(?P<driver>\S+)\s+(?:(?:Up|Down)\s+)?(?P<link>Up|Down)\s+(?P<speed>\d+)"
    rf"(?:Mbps)?\s+(?P<duplex>\w+)\s+(?P<mac>{_MAC})\s+(?P<mtu>\d+)(?:\s+(?P<description>.*))?"
)


@dataclass
class SwitchTable:
    """`esxcfg-vswitch -l`: switches, under each its port groups. ESX 3 has no MTU column."""

    has_mtu: bool = True
    switch: str | None = None
    part: str = "switch"

    def header(self, line: str) -> bool:
        """Notes which part of the listing follows; false when the line is no header of it."""
        if re.match(r"(?:Switch|DVS) Name\s+Num Ports", line):
            self.part, self.has_mtu = "switch", "MTU" in line
        elif re.match(r"PortGroup Name\s", line):
            self.part = "group"
        elif re.match(r"DVPort ID\s", line):
            self.part = "dvport"
        else:
            return False
        return True

    def row(self, line: str, book: Book) -> bool:
        """A row of the part that the last header opened."""
        if self.header(line):
            return True
        read = {"switch": self._switch, "group": self._group, "dvport": self._dvport}[self.part]
        return read(line, book)

    def _switch(self, line: str, book: Book) -> bool:
        match = (_SWITCH if self.has_mtu else _SWITCH_WITHOUT_MTU).fullmatch(line)
        if match is None:
            return False
        self.switch = match["name"]
        switch = book.entity("vswitch", self.switch)
        if self.has_mtu:
            book.fact(switch, "mtu", int(match["mtu"]), "bytes")
        _switch_uplinks(book, self.switch, names(match["uplinks"]))
        return True

    def _group(self, line: str, book: Book) -> bool:
        match = _GROUP.fullmatch(line)
        if match is None:
            return False
        group = book.entity("portgroup", match["name"])
        book.fact(group, "vlan", match["vlan"])
        if self.switch:
            book.link(group, "member_of", book.entity("vswitch", self.switch))
        # This listing does not tell active uplinks from standby ones; `policy failover get` does and overrules it.
        _group_uplinks(book, match["name"], "active_uplinks", names(match["uplinks"]), rank=UNSURE)
        return True

    def _dvport(self, line: str, book: Book) -> bool:
        match = _DVPORT.fullmatch(line)
        if match is None or self.switch is None:
            return False
        switch, client = book.entity("vswitch", self.switch), match["client"] or ""
        if client.startswith("vmk"):
            book.link(book.entity("port", client), "member_of", switch)
        elif client:
            book.link(switch, "uses", book.entity("nic", client))
        return True


def _switch_uplinks(book: Book, name: str, nics: list[str]) -> None:
    switch = book.entity("vswitch", name)
    book.fact(switch, "uplinks", ",".join(nics) or None)
    for nic in nics:
        book.link(switch, "uses", book.entity("nic", nic))


def _group_uplinks(book: Book, name: str, fact: str, nics: list[str], rank: int) -> None:
    group = book.entity("portgroup", name)
    book.fact(group, fact, ",".join(nics) or None, rank=rank)
    for nic in nics:
        book.link(group, "uses", book.entity("nic", nic))


def portgroup_row(line: str, book: Book) -> bool:
    """A row of `esxcli network vswitch standard portgroup list`."""
    match = _GROUP_LIST.fullmatch(line)
    if match is None:
        return False
    group = book.entity("portgroup", match["name"])
    book.fact(group, "vlan", match["vlan"])
    book.link(group, "member_of", book.entity("vswitch", match["switch"]))
    return True


def nic_row(line: str, book: Book) -> bool:
    """A row of `esxcfg-nics -l` or `esxcli network nic list`; with an admin status the link status is the second."""
    match = _NIC.fullmatch(line)
    if match is None:
        return False
    nic = book.entity("nic", match["name"])
    up = match["link"] == "Up"
    book.fact(nic, "link_up", up)
    book.fact(nic, "speed_mbit", int(match["speed"]) if up else None, "Mbit/s")
    book.fact(nic, "mtu", int(match["mtu"]), "bytes")
    book.fact(nic, "driver", match["driver"])
    book.fact(nic, "mac_address", match["mac"].lower())
    book.fact(nic, "duplex", match["duplex"] if up else None)
    book.fact(nic, "description", match["description"])
    return True


def standard_switch(record: Record, book: Book) -> None:
    """A record of `esxcli network vswitch standard list`."""
    name = record.take("Name") or record.name
    if name is None:
        return
    switch = book.entity("vswitch", name)
    book.fact(switch, "mtu", integer(record.take("MTU")), "bytes")
    _switch_uplinks(book, name, names(record.take("Uplinks")))
    for group in names(record.take("Portgroups")):
        book.link(book.entity("portgroup", group), "member_of", switch)
    book.rest(switch, record)


def failover_policy(record: Record, book: Book) -> bool:
    """The output of `... policy failover get`; whose it is stands in the command only. False without a name."""
    group = option(book.command, "-p", "--portgroup-name")
    switch = option(book.command, "-v", "--vswitch-name")
    active, standby = names(record.take("Active Adapters")), names(record.take("Standby Adapters"))
    if group:
        _group_uplinks(book, group, "active_uplinks", active, rank=2)
        _group_uplinks(book, group, "standby_uplinks", standby, rank=2)
        book.rest(book.entity("portgroup", group), record)
    elif switch:
        book.fact(book.entity("vswitch", switch), "active_uplinks", ",".join(active) or None)
        book.fact(book.entity("vswitch", switch), "standby_uplinks", ",".join(standby) or None)
        book.rest(book.entity("vswitch", switch), record)
    return bool(group or switch)
