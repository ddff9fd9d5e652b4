"""Bound iSCSI ports and target portals are not in one subnet.

Looks for
    Ports bound to one iSCSI adapter that lie in different subnets, and target portals that no bound port reaches
    without a router.

Why it matters
    A bound port tries every portal. Those in another subnet it cannot reach: sessions are missing, each re-scan
    waits for time-outs, and the paths that look configured do not exist.

Evidence
    Address and netmask of the bound ports (`esxcli iscsi networkportal list`, `esxcfg-vmknic -l`) and the target
    portals (`vmkiscsi-tool -T -l ADAPTER`, `esxcli iscsi adapter discovery sendtarget list`).

When it is wrong
    From vSphere 6.5 on bound ports may be routed to the targets. A portal that is only a discovery address, and hands
    out others, is reached once and no data passes through it.

References
    VMware vSphere Storage 6.0, "Best Practices for Configuring Networking with Software iSCSI"; VMware knowledge base
    2038869, "Considerations for using software iSCSI port binding".
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._entities import joined, where
from storscope.diagnose.rules._iscsi import BOUND_PORTS, Adapter, bound_adapters, network_of, target_portals
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity

_NAME = "iscsi-subnet"
_Networks = dict[EntityRef, ipaddress.IPv4Interface]


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    adapters = bound_adapters(case)
    if not adapters:
        return [NotEvaluated(_NAME, f"{BOUND_PORTS} and the target portals (vmkiscsi-tool -T -l ADAPTER)")]
    return [_judge(case, adapter) for adapter in adapters]


def _judge(case: Case, adapter: Adapter) -> Outcome:
    networks = {port: found for port in adapter.ports if (found := network_of(case, port)) is not None}
    if not networks:
        return NotEvaluated(_NAME, f"address and netmask of the ports of {adapter.name} (esxcfg-vmknic -l)")
    portals = target_portals(case, adapter.entity.system)
    subnets = sorted({interface.network for interface in networks.values()})
    stray = [portal for portal in portals if not any(portal in subnet for subnet in subnets)]
    if len(subnets) > 1 or stray:
        return _finding(case, adapter, networks, subnets, stray, portals)
    ports = f"The bound {'port' if len(networks) == 1 else 'ports'} {joined([port.name for port in networks])}"
    if not portals:
        return Healthy(
            _NAME, f"{ports} {'is' if len(networks) == 1 else 'are'} in one subnet, {subnets[0]}; "
            "the target portals are not in the evidence."
        )  # fmt: skip
    shown = joined([str(portal) for portal in portals])
    many = "portal" if len(portals) == 1 else "portals"
    return Healthy(_NAME, f"{ports} and the target {many} {shown} are in one subnet, {subnets[0]}.")


def _finding(
    case: Case,
    adapter: Adapter,
    networks: _Networks,
    subnets: list[ipaddress.IPv4Network],
    stray: list[ipaddress.IPv4Address],
    portals: list[ipaddress.IPv4Address],
) -> Finding:
    by_subnet: dict[ipaddress.IPv4Network, list[str]] = defaultdict(list)
    for port, interface in networks.items():
        by_subnet[interface.network].append(port.name)
    places = "; ".join(f"{joined(ports)} in {subnet}" for subnet, ports in sorted(by_subnet.items()))
    if stray:
        missing = f" {joined([str(portal) for portal in stray])} of {len(portals)} target portals lies in none of them."
    elif portals:
        missing = f" The target portals are {joined([str(portal) for portal in portals])}."
    else:
        missing = ""
    several = len(subnets) > 1
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.85 if several or stray == portals else 0.6,
        title=f"Ports bound to {adapter.name} "
        + ("lie in several subnets" if several else "cannot reach every target portal directly"),
        summary=f"Bound to {adapter.name}: {places}.{missing}",
        why=(
            "Every bound port tries every portal. Across subnets no session comes up without a route: paths are "
            "missing, and each re-scan and each start waits for the time-outs."
        ),
        innocent=(
            "The host runs vSphere 6.5 or later with a gateway set on the iSCSI ports, or the stray portal is a "
            "discovery address only."
        ),
        check=(
            f"vmkping -I {next(iter(networks)).name} -d -s 8972 PORTAL for each bound port and portal, and "
            "esxcli iscsi session connection list: each port needs a session to each portal."
        ),
        remedy=(
            "Give bound ports and portals addresses of one subnet; or, with one subnet per fabric, unbind the ports "
            "and let each find the portals of its own subnet."
        ),
        source="VMware knowledge base 2038869: bound ports and targets in one broadcast domain.",
        entities=(*networks, *adapter.entities),
        evidence=(
            case.evidence(
                "Addresses of the bound ports",
                f"""SELECT entity, max(value) FILTER (name = 'ip_address') AS ip_address,
                max(value) FILTER (name = 'netmask') AS netmask
                FROM facts WHERE {where(networks)} GROUP BY entity ORDER BY entity""",
            ),
        ),
        weight=0.6 if stray else 0.4,
        numbers={"subnets": len(subnets), "portals_not_reached": len(stray)},
    )


RULE = Rule(name=_NAME, title="bound iSCSI ports and target portals are not in one subnet", evaluate=_evaluate)
