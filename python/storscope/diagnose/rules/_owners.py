"""Which controller serves which volume."""

from __future__ import annotations

from collections import defaultdict

from storscope.diagnose.case import Case
from storscope.domain.entity import EntityRef

OWNERS = "the owning controller of each volume (evaperf vd: 'Online To')"


def owners(case: Case) -> dict[str, dict[EntityRef, str]]:
    """System -> volume -> its controller, by link or by the fact online_to."""
    found: dict[str, dict[EntityRef, str]] = defaultdict(dict)
    for link in case.links:
        if link.relation == "owned_by" and link.source.kind == "vdisk" and link.target.kind == "controller":
            found[link.source.system][link.source] = link.target.name
    for entity, facts in case.facts_by_entity.items():
        owner = facts.get("online_to")
        if entity.kind == "vdisk" and owner is not None and owner.value.strip():
            found[entity.system][entity] = owner.value.strip()
    return dict(found)


def controllers(case: Case, system: str) -> set[str]:
    """Every controller of a system that the evidence names."""
    named = {entity.name for entity in case.entities if entity.kind == "controller" and entity.system == system}
    return named | set(owners(case).get(system, {}).values())
