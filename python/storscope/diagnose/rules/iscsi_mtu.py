"""The MTU changes along an iSCSI path.

Looks for
    A bound VMkernel port whose MTU differs from that of its virtual switch, of the NIC behind it, or of the other
    ports bound to the same adapter.

Why it matters
    A port that sends jumbo frames through a switch or NIC that takes 1,500 bytes loses them without a message: small
    commands pass, large reads and writes stall until they time out. The other way round jumbo frames are simply not
    used.

Evidence
    MTU of the ports (`esxcfg-vmknic -l`), virtual switches (`esxcfg-vswitch -l`) and NICs (`esxcfg-nics -l`).

When it is wrong
    The physical switches and the array are not in this evidence: equal values on the host do not prove the whole way.
    Only `vmkping -d -s 8972` through the port does.

References
    VMware vSphere Storage 6.0, "Enable Jumbo Frames for iSCSI": the whole path must have the same MTU. 8,972 bytes
    are 9,000 less 20 for IP and 8 for ICMP (RFC 791, RFC 792).
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._entities import joined, where
from storscope.diagnose.rules._iscsi import BOUND_PORTS, Adapter, bound_adapters, uplinks, vswitch_of
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity

_NAME = "iscsi-mtu"
_HEADERS_BYTES = 28
"""IPv4 and ICMP headers, which the size of a ping does not count."""


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    adapters = bound_adapters(case)
    if not adapters:
        return [NotEvaluated(_NAME, f"{BOUND_PORTS} and the MTU along them (esxcfg-vmknic -l, esxcfg-vswitch -l)")]
    return [_judge(case, adapter) for adapter in adapters]


def _judge(case: Case, adapter: Adapter) -> Outcome:
    ways = {port: _along(case, port) for port in adapter.ports}
    ports = {port: way[port] for port, way in ways.items() if port in way}
    beyond = {part: mtu for way in ways.values() for part, mtu in way.items() if part.kind != "port"}
    if not ports or (not beyond and len(ports) < 2):
        return NotEvaluated(_NAME, f"MTU of the ports of {adapter.name} and of what is behind them")
    if len(set(ports.values()) | set(beyond.values())) > 1:
        return _finding(case, adapter, ways, ports)
    return Healthy(_NAME, _healthy_words(ports, beyond))


def _along(case: Case, port: EntityRef) -> dict[EntityRef, float]:
    """The MTU of a port, its virtual switch and its NICs, where known."""
    parts: list[EntityRef] = [port]
    switch = vswitch_of(case, port)
    if switch is not None:
        parts.append(switch)
    active, standby = uplinks(case, port) or ([], [])
    parts += [EntityRef(port.system, "nic", nic) for nic in (*active, *standby)]
    return {part: fact.number for part in parts if (fact := case.fact(part, "mtu")) and fact.number is not None}


def _healthy_words(ports: dict[EntityRef, float], beyond: dict[EntityRef, float]) -> str:
    mtu = next(iter(ports.values()))
    names = [port.name for port in ports]
    bound = {1: f"the bound port {names[0]}", 2: f"both bound ports ({joined(names)})"}.get(
        len(names), f"all {len(names)} bound ports"
    )
    parts = [part.name for part in sorted(beyond, key=lambda part: (part.kind != "vswitch", part))]
    missing = "" if any(part.kind == "nic" for part in beyond) else "; the NICs' own MTU is not in the evidence"
    return (
        f"MTU {_plain(mtu)} on {joined([bound, *parts], 6)}{missing}. "
        f"Physical switches and array: vmkping -d -s {_plain(mtu - _HEADERS_BYTES)} would show them."
    )


def _plain(number: float) -> str:
    return f"{number:.0f}"


def _finding(
    case: Case, adapter: Adapter, ways: dict[EntityRef, dict[EntityRef, float]], ports: dict[EntityRef, float]
) -> Finding:
    choked = {
        port: min(way.values()) for port, way in ways.items() if port in way and min(way.values()) < way[port]
    }  # fmt: skip
    parts = sorted({part for way in ways.values() for part in way}, key=lambda part: (part.kind, part.name))
    values = {part: mtu for way in ways.values() for part, mtu in way.items()}
    least, most = min(values.values()), max(values.values())
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if choked else Severity.WARNING if len(set(ports.values())) > 1 else Severity.INFO,
        confidence=0.9,
        title=(
            f"{joined([port.name for port in choked], 2)} sends larger frames than its way takes"
            if choked
            else f"MTU differs along the iSCSI ports of {adapter.name}"
        ),
        summary="MTU " + ", ".join(f"{_plain(values[part])} on {part.name}" for part in parts) + ".",
        why=(
            "Frames larger than the way takes are dropped without a word: small commands pass, large reads and writes "
            "stall and time out."
            if choked
            else "Part of the way is set for jumbo frames that its ports never send: more packets and more processor "
            "time than meant, and paths that differ."
        ),
        innocent=(
            "The MTU of the NIC or switch was read before or after a change, or the port does not carry storage."
            if choked
            else "Jumbo frames were given up on purpose, and the larger MTU of the switch is left over: harmless."
        ),
        check=f"vmkping -I {next(iter(ports)).name} -d -s {_plain(most - _HEADERS_BYTES)} TARGET "
        "must be answered through every bound port.",
        remedy="Set one MTU on ports, virtual switch, NICs, physical switches and array: "
        f"{_plain(most)} everywhere, or {_plain(least)} everywhere.",
        source="VMware vSphere Storage 6.0, jumbo frames: the same MTU along the whole path. No threshold is involved.",
        entities=(*(choked or ports), *adapter.entities),
        evidence=(
            case.evidence(
                "MTU along the bound ports",
                f"""SELECT kind, entity, number AS mtu_bytes FROM facts WHERE {where(parts, "name = 'mtu'")}
                ORDER BY kind, entity""",
            ),
        ),
        weight=0.9 if choked else 0.3,
        numbers={"mtu_bytes_min": least, "mtu_bytes_max": most},
    )


RULE = Rule(name=_NAME, title="the MTU changes along an iSCSI path", evaluate=_evaluate)
