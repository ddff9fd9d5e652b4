"""Bound iSCSI ports do not have one uplink each.

Looks for
    VMkernel ports bound to an iSCSI adapter whose port group has more than one active uplink, a standby uplink or
    none at all; two bound ports on the same uplink; a binding the hypervisor itself calls not compliant.

Why it matters
    Multipathing decides over paths, teaming decides over NICs. When a bound port may move to another NIC behind the
    multipathing's back, two paths end up on one link: half the bandwidth, and a failing link takes both.

Evidence
    The bindings (`esxcli iscsi networkportal list`) and the uplinks of their port groups (`esxcfg-vswitch -l`,
    `esxcli network vswitch standard portgroup policy failover get`).

When it is wrong
    `esxcfg-vswitch -l` prints active and standby uplinks in one column: a second NIC may be standby (no better) or
    unused (fine). A host that does not bind ports at all, one subnet per NIC, needs no such rule.

References
    VMware vSphere Storage 6.0, "Best Practices for Configuring Networking with Software iSCSI": each bound VMkernel
    port has exactly one active uplink and no standby uplinks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._entities import joined, where
from storscope.diagnose.rules._iscsi import BOUND_PORTS, Adapter, bound_adapters, portgroup_of, uplinks
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity

_NAME = "iscsi-binding"
_UPLINKS = "the uplinks of the bound ports' port groups (esxcfg-vswitch -l)"


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    adapters = bound_adapters(case)
    if not adapters:
        return [NotEvaluated(_NAME, f"{BOUND_PORTS} and {_UPLINKS}")]
    return [_judge(case, adapter) for adapter in adapters]


def _judge(case: Case, adapter: Adapter) -> Outcome:
    known = {port: found for port in adapter.ports if (found := uplinks(case, port)) is not None}
    faults = _faults(case, adapter, known)
    if faults:
        return _finding(case, adapter, faults)
    unknown = [port.name for port in adapter.ports if port not in known]
    if unknown:
        return NotEvaluated(_NAME, f"{_UPLINKS}; not known for {joined(unknown)} of {adapter.name}")
    pairs = ", ".join(f"{port.name} {active[0]}" for port, (active, _) in known.items())
    if len(known) == 1:
        return Healthy(_NAME, f"The only port bound to {adapter.name} has one active uplink: {pairs}.")
    return Healthy(_NAME, f"Each port bound to {adapter.name} has one active uplink of its own: {pairs}.")


def _faults(case: Case, adapter: Adapter, known: dict[EntityRef, tuple[list[str], list[str]]]) -> dict[EntityRef, str]:
    """Port -> what is wrong with its uplinks."""
    faults = {}
    users: dict[str, list[EntityRef]] = defaultdict(list)
    for port, (active, standby) in known.items():
        if len(active) != 1:
            faults[port] = f"{port.name} has {len(active)} active uplinks ({joined(active)})"
        elif standby:
            faults[port] = f"{port.name} has {joined(standby)} as standby uplink besides {active[0]}"
        for nic in active:
            users[nic].append(port)
    for nic, ports in users.items():
        for port in ports if len(ports) > 1 else ():
            faults.setdefault(port, f"{port.name} shares {nic} with another bound port")
    for port in adapter.ports:
        verdict = case.fact(port, "compliant")
        if verdict is not None and verdict.value.lower() in {"false", "non-compliant", "noncompliant", "not compliant"}:
            faults.setdefault(port, f"the host calls the binding of {port.name} not compliant")
    return faults


def _finding(case: Case, adapter: Adapter, faults: dict[EntityRef, str]) -> Finding:
    said = "name IN ('active_uplinks', 'standby_uplinks', 'compliant', 'iscsi_bound')"
    groups = [group for port in adapter.ports if (group := portgroup_of(case, port)) is not None]
    texts = [faults[port] for port in sorted(faults)]
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.9,
        title=f"Ports bound to {adapter.name} lack an uplink of their own",
        summary=f"Of {len(adapter.ports)} ports bound to {adapter.name}: {'; '.join(texts)}.",
        why=(
            "Teaming may then move a port to another NIC without multipathing knowing: two paths share one link, and "
            "what looks redundant is lost with one cable."
        ),
        innocent=(
            "The NIC listed second may be set to unused, which esxcfg-vswitch -l does not show, or the ports are "
            "bound only for management and no volume is reached through them."
        ),
        check=(
            "esxcli network vswitch standard portgroup policy failover get -p "
            f"{groups[0].name if groups else 'PORTGROUP'} must show one active adapter and no standby adapter."
        ),
        remedy=(
            "Override the teaming of each iSCSI port group: one NIC active, every other one unused, another NIC for "
            "each port; then re-scan the adapter."
        ),
        source="VMware vSphere Storage 6.0, best practices for port binding: exactly one active uplink, no standby.",
        entities=(*sorted(faults), *adapter.entities),
        evidence=(
            case.evidence(
                "Bound ports and the uplinks of their port groups",
                f"""SELECT kind, entity, name, value FROM facts
                WHERE {where([*adapter.ports, *groups], said)}
                ORDER BY kind, entity, name""",
            ),
        ),
        weight=0.5,
        numbers={"ports_at_fault": len(faults), "ports_bound": len(adapter.ports)},
    )  # fmt: skip


RULE = Rule(name=_NAME, title="bound iSCSI ports do not have one uplink each", evaluate=_evaluate)
