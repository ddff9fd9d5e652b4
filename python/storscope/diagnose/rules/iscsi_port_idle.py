"""One bound iSCSI port carries (nearly) all the traffic.

Looks for
    Two or more VMkernel ports bound to one iSCSI adapter whose packet counters differ so much that one of them
    carries nearly everything.

Why it matters
    Port binding with round robin is there to give two links' bandwidth and to survive the loss of one. A port that
    carries nothing does neither: the throughput stops at one link, and nobody knows whether the fail-over would work.

Evidence
    Sent and received packets per bound port: `esxcli iscsi networkportal list`. Working paths on two channels speak
    for a session of each port (`esxcli storage nmp device list`), which is weighed against the counters.

When it is wrong
    Adapters with dependent-hardware iSCSI send storage traffic past the NIC's counters. Counters that were reset
    shortly before, or a port that was bound a moment ago, look the same. Received broadcasts count on idle ports,
    therefore sent packets decide.

References
    VMware vSphere Storage 6.0, "Best Practices for Configuring Networking with Software iSCSI"; the share of 0.8 is
    ours: round robin with equal paths gives 0.5 of two ports.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import joined, where
from storscope.diagnose.rules._iscsi import Adapter, bound_adapters
from storscope.diagnose.rules._paths import is_dead, paths_by_device
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_count, format_ratio

_NAME = "iscsi-port-idle"
_IDLE_PACKETS_RATIO = 0.001


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    groups = _packets_by_adapter(case)
    if not groups:
        return [NotEvaluated(_NAME, "sent packets of at least two bound ports (esxcli iscsi networkportal list)")]
    return [_judge(case, settings, adapter, packets) for adapter, packets in groups]


def _packets_by_adapter(case: Case) -> list[tuple[Adapter, dict[EntityRef, float]]]:
    """Each adapter with its bound ports and the packets each has sent; fewer than two counted ports are left out."""
    found = []
    for adapter in bound_adapters(case):
        facts = {port: case.fact(port, "tx_packets") for port in adapter.ports}
        packets = {port: sent.number for port, sent in facts.items() if sent is not None and sent.number is not None}
        if len(packets) >= 2:
            found.append((adapter, packets))
    return found


def _judge(case: Case, settings: Settings, adapter: Adapter, packets: dict[EntityRef, float]) -> Outcome:
    total = sum(packets.values())
    if total < settings["packets_min"]:
        return NotEvaluated(_NAME, f"more traffic: the ports of {adapter.name} have sent {format_count(total)} packets")
    busiest = max(packets, key=lambda port: packets[port])
    idlest = min(packets, key=lambda port: packets[port])
    share = packets[busiest] / total
    if share <= settings["share_max"]:
        shares = ", ".join(f"{port.name} {format_ratio(count / total)}" for port, count in sorted(packets.items()))
        return Healthy(_NAME, f"The iSCSI ports of {adapter.name} share the packets sent: {shares}.")
    return _finding(case, adapter, busiest, idlest, packets, share)


def _finding(
    case: Case, adapter: Adapter, busiest: EntityRef, idlest: EntityRef, packets: dict[EntityRef, float], share: float
) -> Finding:
    sent_least, sent_most = packets[idlest], packets[busiest]
    dead = sent_least < _IDLE_PACKETS_RATIO * sent_most
    guard = _hardware_guard(case, adapter)
    ways = _working_channels(case, adapter)
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if dead else Severity.WARNING,
        confidence=guard.confidence * (_PATHS_FACTOR if len(ways) > 1 else 1),
        title=f"{idlest.name} carries {'no' if dead else 'hardly any'} iSCSI traffic; {busiest.name} carries "
        + ("all of it" if dead else "most of it"),
        summary=(
            f"Of the ports bound to {adapter.name}, {idlest.name} has sent {format_count(sent_least)} packets while "
            f"{busiest.name} has sent {format_count(sent_most)} ({format_ratio(share)}). {guard.words}"
            + _paths_words(ways)
        ),
        why=(
            "All storage traffic runs over one link: throughput stops at that link's bandwidth, latency climbs when "
            "backups or large copies fill it, and the second path has never proved that it works."
        ),
        innocent=f"The counters were reset or the port was bound only recently. {guard.innocent}",
        check=_check(idlest, ways),
        remedy=_remedy(idlest, ways),
        source="Share above 80 % of two or more bound ports: our bound; equal round robin gives 50 %.",
        entities=(idlest, busiest, *adapter.entities),
        evidence=_evidence(case, adapter, packets, ways),
        weight=share,
        numbers={"tx_packets_least": sent_least, "tx_packets_most": sent_most, "share_of_busiest": share},
    )


_COUNTED_DRIVERS = {"igb", "igbn", "ixgbe", "ixgben", "e1000", "e1000e", "tg3", "ntg3", "nmlx4_en", "nmlx5_core",
                    "i40en", "enic", "nvmxnet3"}  # fmt: skip
"""NIC drivers without iSCSI offload: their counters see all storage traffic."""


@dataclass(frozen=True, slots=True)
class _Guard:
    """How far the counters can be trusted, given that dependent-hardware iSCSI hides its traffic from them."""

    confidence: float
    words: str
    innocent: str


def _hardware_guard(case: Case, adapter: Adapter) -> _Guard:
    facts = [case.fact(entity, "iscsi_kind") for entity in adapter.entities]
    kinds = {fact.value if fact is not None else None for fact in facts}
    drivers = {fact.value for port in adapter.ports if (fact := case.fact(port, "nic_driver")) is not None}
    if "dependent" in kinds:
        return _Guard(
            0.3,
            "The adapter is dependent-hardware iSCSI, whose packets the NIC may not count: verify first.",
            "Most likely here: the adapter offloads iSCSI, so that its storage packets are not counted on the NIC.",
        )
    if kinds == {"software"}:
        return _Guard(
            0.97,
            "The adapter is software iSCSI, so the counters see all of its traffic.",
            "An offload that hides packets from the counters is no explanation: the adapter is software iSCSI.",
        )
    if drivers and drivers <= _COUNTED_DRIVERS:
        names = ", ".join(sorted(drivers))
        return _Guard(
            0.95,
            "Dependent-hardware iSCSI, which hides traffic from these counters, is ruled out: driver "
            f"{names} has no iSCSI offload.",
            f"An offload that hides packets from the counters is no explanation: driver {names} has none.",
        )
    return _Guard(
        0.7,
        "Whether the adapter offloads iSCSI, which would hide traffic from these counters, is not known.",
        "Or the adapter offloads iSCSI (dependent hardware), so that its storage packets are not counted on the NIC.",
    )


def _evidence(
    case: Case, adapter: Adapter, packets: dict[EntityRef, float], ways: list[str]
) -> tuple[EvidenceRows, ...]:
    rows = case.evidence(
        f"Packets per port bound to {adapter.name}",
        f"""SELECT entity AS port,
            max(number) FILTER (name = 'tx_packets') AS tx_packets,
            max(number) FILTER (name = 'rx_packets') AS rx_packets,
            max(value) FILTER (name = 'nic_driver') AS nic_driver,
            max(number) FILTER (name = 'speed_mbit') AS speed_mbit,
            max(value) FILTER (name = 'link_up') AS link_up,
            max(value) FILTER (name = 'path_status') AS path_status
        FROM facts WHERE {where(packets)} GROUP BY entity ORDER BY entity""",
    )
    if len(ways) < 2:
        return (rows,)
    paths = [path for entity in adapter.entities for path in case.linked_from(entity, "uses") if path.kind == "path"]
    sql = f"""SELECT target AS device, entity AS path FROM links
        WHERE {where(paths, "relation = 'leads_to'")} ORDER BY target, entity"""
    return rows, case.evidence(f"Paths over {adapter.name}", sql)


# The paths ---------------------------------------------------------------------------------------------------------

_CHANNEL = re.compile(r"[^:]+:C\d+")
_PATHS_FACTOR = 0.9
"""Paths over two channels speak for a session of the idle port, against what its counters say (ours)."""


def _working_channels(case: Case, adapter: Adapter) -> list[str]:
    """'vmhba36:C0', 'vmhba36:C1': the channels over which a device has paths that are not dead.

    Only the channels of one device count: two devices with one path each have no choice of ways.
    """
    most: list[str] = []
    for paths in paths_by_device(case).values():
        own = [
            path for path in paths if not is_dead(case, path) and set(case.linked(path, "uses")) & {*adapter.entities}
        ]
        channels = sorted({match[0] for path in own if (match := _CHANNEL.match(path.name))})
        most = max(most, channels, key=len)
    return most


def _paths_words(ways: list[str]) -> str:
    if len(ways) < 2:
        return ""
    return (
        f" Yet working paths exist on {joined(ways)}: each needs a session, so sessions exist or existed, and which "
        "port each is bound to decides."
    )


def _check(idlest: EntityRef, ways: list[str]) -> str:
    counters = "Read the counters twice, a minute apart, under load: esxcli iscsi networkportal list."
    ping = f"and ping through it: vmkping -I {idlest.name} -d -s 8972 TARGET."
    if len(ways) > 1:
        return (
            "Look at which port each session is bound to: esxcli iscsi session connection list (compare its local "
            f"addresses with that of {idlest.name}). {counters} See commands per path in esxtop, {ping}"
        )
    return f"{counters} Then see whether {idlest.name} has sessions: esxcli iscsi session connection list, {ping}"


def _remedy(idlest: EntityRef, ways: list[str]) -> str:
    if len(ways) > 1:
        return (
            f"If no session is bound to {idlest.name}: unbind it, bind it again and re-scan, then check the switch "
            f"port and VLAN. If one is: the paths over it are idle; check the path policy and which paths are active "
            "(esxcli storage nmp path list), so that round robin uses both ports."
        )
    return (
        f"Make the array accept a session through {idlest.name} (re-scan after binding; check the switch port, "
        "VLAN and the path count per volume: esxcli storage nmp path list), so that every volume has an active "
        "path over each port; then let round robin use both."
    )


RULE = Rule(
    name=_NAME,
    title="one bound iSCSI port carries nearly all traffic",
    evaluate=_evaluate,
    thresholds=(
        Threshold("share_max", 0.8, "greatest share of packets sent that one of the bound ports may have",
                  "ours; equal round robin gives 1/ports"),
        Threshold("packets_min", 10_000, "packets sent in all, below which nothing is said", "ours"),
    ),
)  # fmt: skip
