"""Naming, grouping and quoting entities in findings: what many rules share and no rule is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from storscope.diagnose.case import Case
from storscope.domain.entity import EntityRef
from storscope.store.sql import sql_list, sql_text


def listed(case: Case, entities: Iterable[EntityRef], most: int = 4) -> str:
    """'A', 'A and B', 'A, B, C, D and 36 more': friendliest names, in order of name."""
    return joined([case.label(entity) for entity in sorted(set(entities))], most)


def joined(words: Sequence[str], most: int = 4) -> str:
    """The words as a list in a sentence; beyond `most` only their number."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most:,} more"
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "none"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """'1 device', '2 devices', '1,200 volumes'."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def by_system(entities: Iterable[EntityRef]) -> dict[str, list[EntityRef]]:
    """System -> its entities, both in order of name."""
    found: dict[str, list[EntityRef]] = defaultdict(list)
    for entity in sorted(set(entities)):
        found[entity.system].append(entity)
    return dict(found)


def where(entities: Iterable[EntityRef], *conditions: str) -> str:
    """An SQL condition that selects rows of these entities, names quoted, and of the further conditions."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entity in entities:
        groups[entity.system, entity.kind].append(entity.name)
    chosen = " OR ".join(
        f"(system = {sql_text(system)} AND kind = {sql_text(kind)} AND entity IN {sql_list(names)})"
        for (system, kind), names in sorted(groups.items())
    )
    return " AND ".join([f"({chosen or 'false'})", *(condition for condition in conditions if condition != "true")])


def observed(case: Case, entities: Iterable[EntityRef], *conditions: str) -> str:
    """As `where`, for observations and counters of running systems in the time range of the case."""
    return where(entities, case.running, case.time_condition(), *conditions)


def in_use(case: Case, entities: Iterable[EntityRef], *conditions: str) -> str:
    """As `observed`, for observations of the captures the case uses: those it set aside would count twice."""
    groups: dict[tuple[str, ...], list[EntityRef]] = defaultdict(list)
    for entity in entities:
        series = case.all_series.get(entity)
        groups[series.captures if series else ()].append(entity)
    chosen = " OR ".join(
        where(found, f"capture IN {sql_list(captures)}" if captures else "true")
        for captures, found in sorted(groups.items())
    )
    parts = [f"({chosen or 'false'})", case.running, case.time_condition(), *conditions]
    return " AND ".join(part for part in parts if part != "true")
