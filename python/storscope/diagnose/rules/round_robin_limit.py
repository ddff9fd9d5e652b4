"""The round-robin settings of devices differ from what the array's maker advises.

Looks for
    Devices with round robin whose I/O limit per path is not the one the array's maker advises; devices of arrays that
    serve every path at once, yet use a fixed or most-recently-used path; devices that use non-optimised paths while
    optimised ones work (useANO=1).

Why it matters
    With the default limit 1,000 I/Os go down one path before the next is taken: a queue builds on one link or port
    while the others rest. A fixed path never uses the others at all. Non-optimised paths send commands through the
    wrong controller, which forwards them, and some arrays move the volume after them.

Evidence
    Path policy and its settings per device (`esxcli storage nmp device list`).

When it is wrong
    One device with few I/Os in flight gains nothing from a lower limit, and many devices spread over the paths by
    themselves. Makers change their advice between releases, and array-side plug-ins (Dell MEM, PowerPath) replace the
    policy altogether.

References
    The makers' documents named in each finding (Dell EqualLogic TR1091: 3; NetApp, Pure Storage and IBM FlashSystem:
    1); VMware knowledge base 2069356 on the default of 1,000 I/Os.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._arrays import DEFAULT_ROUND_ROBIN_IOPS, Maker, maker_of
from storscope.diagnose.rules._entities import counted, joined, listed, where
from storscope.diagnose.rules._iscsi import is_true
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_count

_NAME = "round-robin-limit"
_ONE_PATH = {"VMW_PSP_FIXED", "VMW_PSP_MRU"}


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    policies = {
        entity: facts["path_policy"].value
        for entity, facts in case.facts_by_entity.items()
        if entity.kind == "device" and "path_policy" in facts
    }
    if not policies:
        return [NotEvaluated(_NAME, "the path policy of devices (esxcli storage nmp device list)")]
    outcomes: list[Outcome] = [
        *_limits(case, settings, policies),
        *_single_paths(case, policies),
        *_non_optimised(case, policies),
    ]
    return outcomes or [
        NotEvaluated(_NAME, "devices with round robin whose array's advice is known; seen are "
                     + joined(sorted(set(policies.values()))))
    ]  # fmt: skip


# The limit ---------------------------------------------------------------------------------------------------------


def _limits(case: Case, settings: Settings, policies: dict[EntityRef, str]) -> list[Outcome]:
    groups: dict[tuple[str, Maker, float], list[EntityRef]] = defaultdict(list)
    for device, policy in sorted(policies.items()):
        limit, maker = case.fact(device, "round_robin_iops"), maker_of(case, device)
        known = maker is not None and maker.round_robin_iops is not None
        if policy == "VMW_PSP_RR" and known and maker and limit is not None and limit.number is not None:
            groups[device.system, maker, limit.number].append(device)
    return [_limit(case, settings, maker, limit, devices) for (_, maker, limit), devices in groups.items()]


def _limit(case: Case, settings: Settings, maker: Maker, limit: float, devices: list[EntityRef]) -> Outcome:
    advised = maker.round_robin_iops or 1
    shown = counted(len(devices), f"{maker.name} device")
    if limit <= advised * settings["limit_factor_max"]:
        return Healthy(
            _NAME, f"Round robin takes the next path after {format_count(limit)} I/Os on {shown}, as advised."
        )
    default = " (the default)" if limit == DEFAULT_ROUND_ROBIN_IOPS else ""
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.8,
        title=f"Round robin switches paths every {format_count(limit)} I/Os; {maker.name} advises {advised:.0f}",
        summary=(
            f"{shown} ({listed(case, devices)}) {'sends' if len(devices) == 1 else 'send'} {format_count(limit)} I/Os"
            f"{default} down one path before taking the next. {maker.name} advises {advised:.0f}."
        ),
        why=(
            "A burst queues on one link while the other rests, so a single busy volume gets one link's bandwidth and "
            "its latency."
        ),
        innocent=(
            "With many volumes busy at once the paths are shared well anyway, and a single stream with few I/Os in "
            "flight gains nothing."
        ),
        check=(
            "Compare commands per second per path in esxtop (view u, or d with P) over a few seconds while one volume "
            "is busy: alternating bursts mean the limit matters."
        ),
        remedy=(
            f"esxcli storage nmp psp roundrobin deviceconfig set -t iops -I {advised:.0f} -d {devices[0].name}; and a "
            "claim rule (esxcli storage nmp satp rule add ... -P VMW_PSP_RR -O iops="
            f"{advised:.0f}) so that new volumes get it too."
        ),
        source=maker.advice,
        entities=tuple(devices),
        evidence=(_rows(case, devices),),
        weight=0.2,
        numbers={"round_robin_iops": limit, "advised_iops": advised, "devices": len(devices)},
    )


# Policies that use one path ----------------------------------------------------------------------------------------


def _single_paths(case: Case, policies: dict[EntityRef, str]) -> list[Outcome]:
    groups: dict[tuple[str, Maker, str], list[EntityRef]] = defaultdict(list)
    for device, policy in sorted(policies.items()):
        maker = maker_of(case, device)
        paths = [path for path in case.linked_from(device, "leads_to") if path.kind == "path"]
        if policy in _ONE_PATH and maker is not None and maker.serves_all_paths and len(paths) > 1:
            groups[device.system, maker, policy].append(device)
    return [_single_path(case, maker, policy, devices) for (_, maker, policy), devices in groups.items()]


def _single_path(case: Case, maker: Maker, policy: str, devices: list[EntityRef]) -> Finding:
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING if maker.round_robin_iops is not None else Severity.INFO,
        confidence=0.75,
        title=f"{counted(len(devices), maker.name + ' device')} on one path only ({policy})",
        summary=(
            f"{listed(case, devices)} {'has' if len(devices) == 1 else 'have'} the path policy {policy}, which sends "
            f"everything down one path. {maker.name} serves several paths at once."
        ),
        why="The other links and ports are spare parts: bandwidth and queue of one path are all a volume gets.",
        innocent="The array's own plug-in spreads the load, or only one path exists by design.",
        check="esxcli storage nmp path list: count the active paths; see in esxtop which carry commands.",
        remedy=f"esxcli storage nmp device set -P VMW_PSP_RR -d {devices[0].name}, and a claim rule for new volumes.",
        source=maker.advice,
        entities=tuple(devices),
        evidence=(_rows(case, devices),),
        weight=0.3,
        numbers={"devices": len(devices)},
    )


# Non-optimised paths -----------------------------------------------------------------------------------------------


def _non_optimised(case: Case, policies: dict[EntityRef, str]) -> list[Outcome]:
    groups: dict[str, list[EntityRef]] = defaultdict(list)
    for device in sorted(policies):
        fact = case.fact(device, "use_ano")
        if fact is not None and is_true(fact.value):
            groups[device.system].append(device)
    return [_use_ano(case, devices) for devices in groups.values()]


def _use_ano(case: Case, devices: list[EntityRef]) -> Finding:
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.8,
        title=f"{counted(len(devices), 'device')} may use non-optimised paths (useANO=1)",
        summary=(
            f"{listed(case, devices)} {'is' if len(devices) == 1 else 'are'} set to use non-optimised paths while "
            "optimised ones work."
        ),
        why=(
            "Commands reach the controller that does not own the volume and are forwarded: an extra hop each, and some "
            "arrays move the volume to the other controller and back."
        ),
        innocent="Someone set it for a test or for an array without ownership, where every path is optimised anyway.",
        check="esxcli storage nmp path list: are there paths in the state 'active unoptimized', and do they carry I/O?",
        remedy=f"esxcli storage nmp psp roundrobin deviceconfig set -U 0 -d {devices[0].name}",
        source="VMware: useANO is 0 unless set. No threshold is involved.",
        entities=tuple(devices),
        evidence=(_rows(case, devices),),
        weight=0.3,
        numbers={"devices": len(devices)},
    )


def _rows(case: Case, devices: list[EntityRef]) -> EvidenceRows:
    return case.evidence(
        "Path policy per device",
        f"""SELECT entity AS device, max(value) FILTER (name = 'array_type') AS array_type,
        max(value) FILTER (name = 'path_policy') AS path_policy,
        max(number) FILTER (name = 'round_robin_iops') AS round_robin_iops,
        max(value) FILTER (name = 'use_ano') AS use_ano
        FROM facts WHERE {where(devices)} GROUP BY entity ORDER BY entity""",
    )


RULE = Rule(
    name=_NAME,
    title="round-robin settings differ from the array maker's advice",
    evaluate=_evaluate,
    thresholds=(
        Threshold("limit_factor_max", 4, "times the advised limit that is still taken as following the advice",
                  "ours: between 1 and 4 I/Os the published gain is within noise"),
    ),
)  # fmt: skip
