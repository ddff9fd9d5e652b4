"""One bound iSCSI port carries (nearly) all the traffic.

Looks for
    Two or more VMkernel ports bound to one iSCSI adapter whose packet counters differ so much that one of them
    carries nearly everything.

Why it matters
    Port binding with round robin is there to give two links' bandwidth and to survive the loss of one. A port that
    carries nothing does neither: the throughput stops at one link, and nobody knows whether the fail-over would work.

Evidence
    Sent and received packets per bound port: `esxcli iscsi networkportal list`.

When it is wrong
    Adapters with dependent-hardware iSCSI send storage traffic past the NIC's counters. Counters that were reset
    shortly before, or a port that was bound a moment ago, look the same. Received broadcasts count on idle ports,
    therefore sent packets decide.

References
    VMware vSphere Storage 6.0, "Best Practices for Configuring Networking with Software iSCSI"; the share of 0.8 is
    ours: round robin with equal paths gives 0.5 of two ports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import where
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_count, format_ratio

_NAME = "iscsi-port-idle"
_IDLE_PACKETS_RATIO = 0.001


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    groups = _packets_by_adapter(case)
    if not groups:
        return [NotEvaluated(_NAME, "sent packets of at least two bound ports (esxcli iscsi networkportal list)")]
    return [_judge(case, settings, adapter, packets) for adapter, packets in sorted(groups.items())]


def _packets_by_adapter(case: Case) -> dict[EntityRef, dict[EntityRef, float]]:
    """Adapter -> bound port -> packets sent; adapters with fewer than two counted ports are left out."""
    found: dict[EntityRef, dict[EntityRef, float]] = defaultdict(dict)
    for port, facts in case.facts_by_entity.items():
        sent = facts.get("tx_packets")
        if port.kind == "port" and "iscsi_bound" in facts and sent is not None and sent.number is not None:
            for adapter in case.linked(port, "uses"):
                if adapter.kind == "adapter":
                    found[adapter][port] = sent.number
    return {adapter: packets for adapter, packets in found.items() if len(packets) >= 2}


def _judge(case: Case, settings: Settings, adapter: EntityRef, packets: dict[EntityRef, float]) -> Outcome:
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
    case: Case, adapter: EntityRef, busiest: EntityRef, idlest: EntityRef, packets: dict[EntityRef, float], share: float
) -> Finding:
    sent_least, sent_most = packets[idlest], packets[busiest]
    dead = sent_least < _IDLE_PACKETS_RATIO * sent_most
    hardware = _hardware_guard(case, adapter)
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if dead else Severity.WARNING,
        confidence=hardware[0],
        title=f"{idlest.name} carries {'no' if dead else 'hardly any'} iSCSI traffic; {busiest.name} carries "
        + ("all of it" if dead else "most of it"),
        summary=(
            f"Of the ports bound to {adapter.name}, {idlest.name} has sent {format_count(sent_least)} packets while "
            f"{busiest.name} has sent {format_count(sent_most)} ({format_ratio(share)}). {hardware[1]}"
        ),
        why=(
            "All storage traffic runs over one link: throughput stops at that link's bandwidth, latency climbs when "
            "backups or large copies fill it, and the second path has never proved that it works."
        ),
        innocent=(
            "The counters were reset or the port was bound only recently; or the adapter offloads iSCSI "
            "(dependent hardware), so that its storage packets are not counted on the NIC."
        ),
        check=(
            f"Read the counters twice, a minute apart, under load: esxcli iscsi networkportal list. Then see whether "
            f"{idlest.name} has sessions: esxcli iscsi session connection list, and ping through it: "
            f"vmkping -I {idlest.name} -d -s 8972 TARGET."
        ),
        remedy=(
            f"Make the array accept a session through {idlest.name} (re-scan after binding; check the switch port, "
            "VLAN and the path count per volume: esxcli storage nmp path list), so that every volume has an active "
            "path over each port; then let round robin use both."
        ),
        source="Share above 80 % of two or more bound ports: our bound; equal round robin gives 50 %.",
        entities=(idlest, busiest, adapter),
        evidence=(
            case.evidence(
                f"Packets per port bound to {adapter.name}",
                f"""SELECT entity AS port,
                    max(number) FILTER (name = 'tx_packets') AS tx_packets,
                    max(number) FILTER (name = 'rx_packets') AS rx_packets,
                    max(value) FILTER (name = 'nic_driver') AS nic_driver,
                    max(number) FILTER (name = 'speed_mbit') AS speed_mbit,
                    max(value) FILTER (name = 'link_up') AS link_up,
                    max(value) FILTER (name = 'path_status') AS path_status
                FROM facts WHERE {where(packets)} GROUP BY entity ORDER BY entity""",
            ),
        ),
        weight=share,
        numbers={"tx_packets_least": sent_least, "tx_packets_most": sent_most, "share_of_busiest": share},
    )


_COUNTED_DRIVERS = {"igb", "igbn", "ixgbe", "ixgben", "e1000", "e1000e", "tg3", "ntg3", "nmlx4_en", "nmlx5_core",
                    "i40en", "enic", "nvmxnet3"}  # fmt: skip
"""NIC drivers without iSCSI offload: their counters see all storage traffic."""


def _hardware_guard(case: Case, adapter: EntityRef) -> tuple[float, str]:
    """How far the counters can be trusted, given that dependent-hardware iSCSI hides its traffic from them."""
    kind = case.fact(adapter, "iscsi_kind")
    drivers = {
        fact.value for port in case.linked_from(adapter, "uses") if (fact := case.fact(port, "nic_driver")) is not None
    }
    if kind is not None and kind.value == "dependent":
        return 0.3, "The adapter is dependent-hardware iSCSI, whose packets the NIC may not count: verify first."
    if kind is not None and kind.value == "software":
        return 0.97, "The adapter is software iSCSI, so the counters see all of its traffic."
    if drivers and drivers <= _COUNTED_DRIVERS:
        names = ", ".join(sorted(drivers))
        return 0.95, (
            f"Dependent-hardware iSCSI, which hides traffic from these counters, is ruled out: driver {names} "
            "has no iSCSI offload."
        )
    return 0.7, "Whether the adapter offloads iSCSI, which would hide traffic from these counters, is not known."


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
