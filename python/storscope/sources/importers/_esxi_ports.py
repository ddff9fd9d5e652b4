"""VMkernel ports: esxcfg-vmknic -l, the iSCSI port binding of ESXi 5 and of ESX 4, interfaces, iSCSI connections.

Beware: the MAC in the port binding is that of the NIC behind the port (its uplink); `esxcfg-vmknic -l` has the
port's own. Port groups have names with spaces and even with addresses in them, so a row is anchored on `vmkN` and on
the first address that is followed by a netmask.
"""

from __future__ import annotations

import re

from storscope.sources.importers._esxi_book import Book
from storscope.sources.importers._esxi_text import Record, boolean, integer, option

_QUAD = r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}"
_MASK = r"(?:255|254|252|248|240|224|192|128|0)\.\d{1,3}\.\d{1,3}\.\d{1,3}"
_MAC = r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}"
_VMKNIC = re.compile(
    rf"(?P<port>vmk\d+)\s+(?P<group>.+?)\s+(?:IPv4\s+)?(?P<ip>{_QUAD})\s+(?P<mask>{_MASK})\s+(?:{_QUAD}\s+)?"
    rf"(?P<mac>{_MAC})\s+(?P<mtu>\d+)(?:\s+(?P<tso>\d+))?(?:\s+(?P<enabled>true|false))?(?:\s+(?P<type>[A-Z]+))?"
    r"(?:\s+(?P<stack>\S+))?"
)
_VMKNIC6 = re.compile(
    rf"(?P<port>vmk\d+)\s+(?P<group>.+?)\s+IPv6\s+(?P<ip>[0-9a-fA-F:]+)\s+(?P<bits>\d+)\s+(?P<mac>{_MAC})\s+(?P<mtu>\d+)"
    r"(?:\s.*)?"
)


def vmknic_row(line: str, book: Book) -> bool:
    """A row of `esxcfg-vmknic -l`, aligned or squeezed, in any of its column sets."""
    match = _VMKNIC.fullmatch(line)
    if match is None:
        return _vmknic6_row(line, book)
    port = book.entity("port", match["port"])
    book.fact(port, "ip_address", _address(match["ip"]))
    book.fact(port, "netmask", match["mask"] if _address(match["ip"]) else None)
    book.fact(port, "mac_address", match["mac"].lower())
    book.fact(port, "mtu", int(match["mtu"]), "bytes")
    book.fact(port, "enabled", boolean(match["enabled"]))
    book.fact(port, "net_stack", match["stack"])
    _member_of_group(book, match["port"], match["group"])
    return True


def _vmknic6_row(line: str, book: Book) -> bool:
    match = _VMKNIC6.fullmatch(line)
    if match is None:
        return False
    port = book.entity("port", match["port"])
    book.one_of(port, "ipv6_address", f"{match['ip']}/{match['bits']}")
    book.fact(port, "mac_address", match["mac"].lower())
    book.fact(port, "mtu", int(match["mtu"]), "bytes")
    _member_of_group(book, match["port"], match["group"])
    return True


def _member_of_group(book: Book, port: str, group: str | None) -> None:
    """A number in the place of a port group is a port of a distributed switch."""
    if group and group.isdigit():
        book.fact(book.entity("port", port), "dvport", group)
    elif group:
        book.link(book.entity("port", port), "member_of", book.entity("portgroup", group))


def _address(text: str | None) -> str | None:
    return text if text and text != "0.0.0.0" else None


def network_portal(record: Record, book: Book) -> None:
    """A record of `esxcli iscsi networkportal list`: a port bound to an iSCSI adapter."""
    name = record.take("Vmknic")
    adapter = record.take("Adapter") or record.name
    if name is None:
        return
    port = book.entity("port", name)
    book.fact(port, "iscsi_bound", True)
    book.fact(port, "uplink_mac_address", (record.take("MAC Address") or "").lower() or None)
    book.fact(port, "compliant", (record.take("Compliant Status") or "").lower() or None)
    book.fact(port, "rx_packets", integer(record.take("Rx Packets")))
    book.fact(port, "tx_packets", integer(record.take("Tx Packets")))
    book.fact(port, "nic_driver", record.take("NIC Driver"))
    book.fact(port, "path_status", record.take("Path Status"))
    _address_and_link(
        book, name, record.take("IPv4"), record.take("IPv4 Subnet Mask"), record.take("MTU"),
        record.take("Link Up"), record.take("Current Speed"),
    )  # fmt: skip
    if adapter:
        book.link(port, "uses", book.entity("adapter", adapter))
    group, switch = record.take("PortGroup"), record.take("Vswitch")
    _member_of_group(book, name, group)
    if group and switch:
        book.link(book.entity("portgroup", group), "member_of", book.entity("vswitch", switch))
    book.rest(port, record)


def _address_and_link(
    book: Book, name: str, ip: str | None, mask: str | None, mtu: str | None, up: str | None, speed: str | None
) -> None:
    port = book.entity("port", name)
    book.fact(port, "ip_address", _address(ip))
    book.fact(port, "netmask", mask if _address(ip) else None)
    book.fact(port, "mtu", integer(mtu), "bytes")
    book.fact(port, "link_up", boolean(up))
    # A link that is down has no speed.
    book.fact(port, "speed_mbit", integer(speed) or None, "Mbit/s")


def swiscsi_nic(record: Record, book: Book) -> None:
    """ESX 4: a record of `esxcli swiscsi nic list -d vmhbaN`; the adapter stands in the command only."""
    name = record.name
    if name is None or not name.startswith("vmk"):
        return
    port = book.entity("port", name)
    book.fact(port, "iscsi_bound", True)
    book.fact(port, "uplink_mac_address", (record.take("mac address") or "").lower() or None)
    book.fact(port, "rx_packets", integer(record.take("packets received")))
    book.fact(port, "tx_packets", integer(record.take("packets sent")))
    book.fact(port, "nic_driver", record.take("NIC driver"))
    _address_and_link(
        book, name, record.take("ipv4 address"), record.take("ipv4 net mask"), record.take("mtu"),
        record.take("link connected"), record.take("ethernet speed"),
    )  # fmt: skip
    if nic := record.take("pNic name"):
        book.link(port, "uses", book.entity("nic", nic))
    if adapter := option(book.command, "-d", "--adapter"):
        book.link(port, "uses", book.entity("adapter", adapter))
    book.rest(port, record)


def ip_interface(record: Record, book: Book) -> None:
    """A record of `esxcli network ip interface list`."""
    name = record.take("Name") or record.name
    if name is None:
        return
    port = book.entity("port", name)
    book.fact(port, "mac_address", (record.take("MAC Address") or "").lower() or None)
    book.fact(port, "mtu", integer(record.take("MTU")), "bytes")
    group, switch = record.take("Portgroup"), record.take("Portset")
    if group and group != "N/A":
        _member_of_group(book, name, group)
        if switch:
            book.link(book.entity("portgroup", group), "member_of", book.entity("vswitch", switch))
    book.rest(port, record)


def iscsi_connection(record: Record, book: Book) -> None:
    """A record of `esxcli iscsi session connection list`: counted per port, and its target kept."""
    adapter = book.entity("adapter", record.take("Adapter") or (record.name or "").partition(",")[0])
    book.local_addresses.setdefault(adapter, []).append(record.take("LocalAddress") or "")
    book.one_of(adapter, "target", record.take("Target"))
    book.one_of(adapter, "target_address", record.take("RemoteAddress"))


def connections_per_port(book: Book) -> None:
    """At the end: how many connections each bound port carries. 0 is counted where the adapter's list was read."""
    for adapter, addresses in book.local_addresses.items():
        book.fact(adapter, "iscsi_connections", len(addresses))
        ports = {one for one, relation, two in book.links if (relation, two, one.kind) == ("uses", adapter, "port")}
        for port in sorted(ports):
            address = book.value(port, "ip_address")
            if isinstance(address, str) and any(addresses):
                book.fact(port, "iscsi_connections", addresses.count(address))


def uplinks_by_mac(book: Book) -> None:
    """At the end: the NIC whose MAC the port binding shows is the one the port sends through."""
    nics = {(nic.system, book.value(nic, "mac_address")): nic for nic in book.of_kind("nic")}
    for port in book.of_kind("port"):
        mac = book.value(port, "uplink_mac_address")
        if mac is not None and (nic := nics.get((port.system, mac))) is not None:
            book.link(port, "uses", nic)
