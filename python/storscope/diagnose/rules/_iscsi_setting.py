"""The common shape of the iSCSI settings that a maker advises on: one fact, one advice, three outcomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from storscope.diagnose.case import Case, Fact
from storscope.diagnose.rules._arrays import Maker, maker_of
from storscope.diagnose.rules._entities import joined, listed, where
from storscope.diagnose.rules._iscsi import bound_adapters, is_iscsi, iscsi_devices
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity


@dataclass(frozen=True)
class Setting:
    """What a rule about one setting says; `{entity}` and `{value}` are filled in."""

    rule: str
    fact: str
    needs: str
    """What would tell, with the command; '{entity}' is the adapter or host."""
    bad: Callable[[Fact, Maker], bool]
    advice: Callable[[Maker], str | None]
    """The document in which a maker advises; None when it does not."""
    title: str
    summary: str
    why: str
    innocent: str
    check: str
    remedy: str
    healthy: str
    severity: Severity = Severity.WARNING
    weight: float = 0.25


def judge_setting(case: Case, setting: Setting, entities: Sequence[EntityRef]) -> list[Outcome]:
    """One outcome per entity that has, or should have, the fact; entities of one host set alike are one finding."""
    if not entities:
        return [NotEvaluated(setting.rule, setting.needs.format(entity="ADAPTER"))]
    unknown = [entity for entity in entities if case.fact(entity, setting.fact) is None]
    outcomes: list[Outcome] = []
    alike: dict[tuple[str, str, str | None], list[EntityRef]] = defaultdict(list)
    for entity in entities:
        fact = case.fact(entity, setting.fact)
        if fact is not None:
            maker = advising_maker(case, entity, setting)
            alike[entity.system, fact.value, maker.name if maker is not None else None].append(entity)
    outcomes += [_judge(case, setting, group) for group in alike.values()]
    if unknown:
        outcomes.append(NotEvaluated(setting.rule, setting.needs.format(entity=joined([e.name for e in unknown]))))
    return outcomes


def iscsi_adapters(case: Case) -> list[EntityRef]:
    """Every adapter the evidence shows to speak iSCSI."""
    return sorted(entity for entity in case.entities if entity.kind == "adapter" and is_iscsi(case, entity))


def iscsi_hosts(case: Case, fact: str) -> list[EntityRef]:
    """The hosts of bound iSCSI adapters; where a host says the fact itself, that entity."""
    said = {entity for entity, facts in case.facts_by_entity.items() if entity.kind == "host" and fact in facts}
    systems = {adapter.entity.system for adapter in bound_adapters(case)} | {host.system for host in said}
    missing = systems - {host.system for host in said}
    return sorted(said | {EntityRef(system, "host", system) for system in missing})


def advising_maker(case: Case, entity: EntityRef, setting: Setting) -> Maker | None:
    """The maker of the iSCSI devices behind an adapter or host that advises on the setting."""
    makers = {maker_of(case, device) for device in iscsi_devices(case, entity)}
    return next((maker for maker in makers if maker is not None and setting.advice(maker) is not None), None)


def _judge(case: Case, setting: Setting, entities: Sequence[EntityRef]) -> Outcome:
    """One outcome for entities of one host with the same value and the same maker behind them."""
    fact, maker = case.facts_by_entity[entities[0]][setting.fact], advising_maker(case, entities[0], setting)
    names = joined([entity.name for entity in entities])
    if maker is None:
        return NotEvaluated(
            setting.rule,
            f"the maker of the array behind {names} (esxcli storage nmp device list), whose advice decides; "
            f"{setting.fact} is {fact.value}",
        )
    words = {
        "entity": names,
        "value": fact.value,
        "maker": maker.name,
        "advised": f"{maker.login_timeout_s or 0:.0f}",
    }
    if not setting.bad(fact, maker):
        return Healthy(setting.rule, setting.healthy.format(**words))
    reached = {device for entity in entities for device in iscsi_devices(case, entity)}
    devices = [device for device in reached if maker_of(case, device) is maker]
    return Finding(
        rule=setting.rule,
        severity=setting.severity,
        confidence=0.7,
        title=setting.title.format(**words),
        summary=setting.summary.format(**words) + f" Devices behind it: {listed(case, devices, 3)}.",
        why=setting.why.format(**words),
        innocent=setting.innocent.format(**words),
        check=setting.check.format(**words),
        remedy=setting.remedy.format(**words | {"entity": entities[0].name}) + _likewise(entities[1:]),
        source=setting.advice(maker) or "",
        entities=tuple(entities),
        evidence=(
            case.evidence(
                f"The setting of {names}",
                f"""SELECT entity, name, value FROM facts WHERE {where(entities, f"name = '{setting.fact}'")}""",
            ),
        ),
        weight=setting.weight,
    )


def _likewise(others: Sequence[EntityRef]) -> str:
    """The remedy shows the command for one entity, to be copied; the others follow in words."""
    return f" (likewise for {joined([entity.name for entity in others])})" if others else ""
