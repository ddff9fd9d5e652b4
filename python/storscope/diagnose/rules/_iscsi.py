"""iSCSI as the rules see it: ports bound to adapters, what is behind them, and whose array they reach."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.diagnose.rules._entities import joined
from storscope.domain.entity import EntityRef

BOUND_PORTS = "the ports bound to an iSCSI adapter (esxcli iscsi networkportal list)"


@dataclass(frozen=True, slots=True)
class Adapter:
    """An iSCSI adapter and the VMkernel ports bound to it, in order of name.

    Adapters that share a bound port are one: what is wrong with a port is one cause, whatever it is bound to.
    """

    entity: EntityRef
    ports: Sequence[EntityRef]
    others: Sequence[EntityRef] = ()
    """Further adapters of the same host that share bound ports with the first."""

    @property
    def entities(self) -> tuple[EntityRef, ...]:
        """The adapter and those it shares ports with."""
        return (self.entity, *self.others)

    @property
    def name(self) -> str:
        """'vmhba36', or 'vmhba36 and vmhba37' where they share ports."""
        return joined([entity.name for entity in self.entities])


def bound_adapters(case: Case) -> list[Adapter]:
    """Every iSCSI adapter that has bound ports; those that share a port are one."""
    found: dict[EntityRef, set[EntityRef]] = defaultdict(set)
    for port, facts in case.facts_by_entity.items():
        bound = facts.get("iscsi_bound")
        if port.kind == "port" and bound is not None and bound.value.lower() != "false":
            for adapter in case.linked(port, "uses"):
                if adapter.kind == "adapter":
                    found[adapter].add(port)
    groups: list[tuple[list[EntityRef], set[EntityRef]]] = []
    for adapter, ports in sorted(found.items()):
        sharing = [group for group in groups if group[1] & ports]
        groups = [group for group in groups if not group[1] & ports]
        adapters = sorted({adapter, *(entity for group in sharing for entity in group[0])})
        groups.append((adapters, ports.union(*(group[1] for group in sharing))))
    return [Adapter(adapters[0], sorted(ports), tuple(adapters[1:])) for adapters, ports in sorted(groups)]


def portgroup_of(case: Case, port: EntityRef) -> EntityRef | None:
    """The port group of a VMkernel port."""
    return next((group for group in case.linked(port, "member_of") if group.kind == "portgroup"), None)


def vswitch_of(case: Case, port: EntityRef) -> EntityRef | None:
    """The virtual switch of a VMkernel port, through its port group."""
    group = portgroup_of(case, port)
    targets = case.linked(port, "member_of") + (case.linked(group, "member_of") if group else [])
    return next((switch for switch in targets if switch.kind == "vswitch"), None)


def uplinks(case: Case, port: EntityRef) -> tuple[list[str], list[str]] | None:
    """(active, standby) NICs of the port's port group; None when nothing tells them."""
    group = portgroup_of(case, port)
    if group is None:
        return None
    active, standby = case.fact(group, "active_uplinks"), case.fact(group, "standby_uplinks")
    nics = _split(active.value) if active else [nic.name for nic in case.linked(group, "uses") if nic.kind == "nic"]
    if not nics and active is None:
        return None
    return nics, _split(standby.value) if standby else []


def network_of(case: Case, port: EntityRef) -> ipaddress.IPv4Interface | None:
    """Address and netmask of a port; None when one is absent or malformed."""
    address, mask = case.fact(port, "ip_address"), case.fact(port, "netmask")
    if address is None or mask is None:
        return None
    try:
        return ipaddress.IPv4Interface(f"{address.value}/{mask.value}")
    except ValueError:
        return None


def target_portals(case: Case, system: str) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses of the target portals a host discovers, each once, in order."""
    found = set()
    for fact in case.facts:
        if fact.name == "target_portal" and fact.entity.system == system:
            try:
                found.add(ipaddress.IPv4Address(fact.value.rsplit(":", 1)[0].strip()))
            except ValueError:
                continue
    return sorted(found)


def iscsi_devices(case: Case, adapter: EntityRef) -> list[EntityRef]:
    """The devices reached through an adapter's paths; without known paths, every device of the system."""
    paths = [path for path in case.linked_from(adapter, "uses") if path.kind == "path"]
    reached = {device for path in paths for device in case.linked(path, "leads_to") if device.kind == "device"}
    if reached:
        return sorted(reached)
    return sorted(entity for entity in case.entities if entity.kind == "device" and entity.system == adapter.system)


def is_iscsi(case: Case, adapter: EntityRef) -> bool:
    """True when the evidence shows that an adapter speaks iSCSI."""
    facts = case.facts_by_entity.get(adapter, {})
    return bool({"iscsi_kind", "delayed_ack", "login_timeout_s"} & set(facts)) or any(
        adapter in bound.entities for bound in bound_adapters(case)
    )


def is_true(value: str) -> bool | None:
    """'true', 'yes', 'on', 'enabled' and 1 are True, their opposites False, anything else None."""
    word = value.strip().lower()
    if word in {"true", "yes", "on", "enabled", "1", "1.0"}:
        return True
    return False if word in {"false", "no", "off", "disabled", "0", "0.0"} else None


def _split(value: str) -> list[str]:
    return [nic.strip() for nic in value.split(",") if nic.strip() and nic.strip().lower() != "none"]
