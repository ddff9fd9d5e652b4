"""What each row of a table is of: the first thing that it names, from VMs and volumes down to hosts and arrays.

What else a row names is where that thing is, or what tells it from others of its name: a volume as each of several
hosts sees it is `host/volume`, and one of several SVMs `svm/volume`. A row of a total counts the others twice, and is
left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._headings import words_of
from storscope.sources.importers._table_cells import Table
from storscope.sources.importers._table_heading import KINDS, ORDER, PREFIX

DEFAULT_SYSTEM: Final = "counter-table"
_OF_HOSTS: Final = frozenset({"vm", "vm_disk", "datastore", "device", "partition", "filesystem", "adapter"})
"""Kinds whose names mean something within a host only."""
_PLACES: Final = {
    ("vdisk", "disk_group"): "lives_on", ("vdisk", "controller"): "owned_by", ("disk", "disk_group"): "member_of",
    ("port", "controller"): "member_of", ("device", "host"): "member_of", ("vm", "datastore"): "lives_on",
    ("vm_disk", "vm"): "member_of", ("vm_disk", "datastore"): "lives_on", ("partition", "device"): "lives_on",
    ("adapter", "host"): "member_of", ("controller", "array"): "member_of", ("disk_group", "array"): "member_of",
}  # fmt: skip
"""What a row's thing and another one that it names have to do with each other."""
_TOTALS: Final = frozenset({"total", "totals", "all", "sum", "average", "grand total"})

Named = dict[str, str]
"""Kind -> name of all that a row names."""


@dataclass
class RowsOfThing:
    """The rows of one thing."""

    entity: EntityRef
    rows: list[list[str]] = field(default_factory=list)
    places: set[tuple[str, EntityRef]] = field(default_factory=set)


def things_of(table: Table, recorder: Recorder, options: ImportOptions) -> dict[EntityRef, RowsOfThing]:
    """Every thing that the table names, in its order."""
    named = [(row, _named(table, row)) for row in table.rows]
    kept = _without_totals(named, recorder, options)
    apart = _apart(table, kept, options)
    found: dict[EntityRef, RowsOfThing] = {}
    for row, names in kept:
        entity, places = _entity(names, apart, options)
        rows = found.setdefault(entity, RowsOfThing(entity))
        rows.rows.append(row)
        rows.places |= places
    return found


def _named(table: Table, row: Sequence[str]) -> Named:
    heading = table.heading
    named = {kind: row[index].strip() for kind, index in heading.things.items() if row[index].strip()}
    if heading.kind is not None and "vdisk" in named:
        said = " ".join(words_of(row[heading.kind]))
        kind = KINDS.get(said) or KINDS.get(said.removesuffix("s")) or "vdisk"
        named[kind] = named.pop("vdisk")
    if named.keys() == {PREFIX}:
        named["array"] = named.pop(PREFIX)
    return named


# Totals ----------------------------------------------------------------------------------------------------------


def _without_totals(
    rows: Sequence[tuple[list[str], Named]], recorder: Recorder, options: ImportOptions
) -> list[tuple[list[str], Named]]:
    """Without rows of all things, and of a thing on all of its places where each place has a row of its own."""
    ones = [(row, named, {kind: name for kind, name in named.items() if not is_total(name)}) for row, named in rows]
    in_parts = {_entity(named, {}, options)[0] for _, named, without in ones if without == named}
    kept = []
    for row, named, without in ones:
        kind = _kind_of(named)
        is_whole = is_total(named.get(kind, "")) or (without != named and _entity(without, {}, options)[0] in in_parts)
        if is_whole:
            recorder.omit("rows of totals, which count everything twice")
        else:
            kept.append((row, without))
    return kept


def is_total(name: str) -> bool:
    """Whether a name is of all things together: Total, (total), _Total, 'All:'."""
    return name.strip(" :()[]<>*_").lower() in _TOTALS


# Which thing -----------------------------------------------------------------------------------------------------


def _apart(table: Table, kept: Sequence[tuple[Sequence[str], Named]], options: ImportOptions) -> dict[str, set[str]]:
    """Kind -> kinds that tell rows of one such thing and time apart; SVMs tell things apart at any time."""
    first: dict[tuple[EntityRef, str], Named] = {}
    within: dict[EntityRef, str] = {}
    apart: dict[str, set[str]] = {}
    for row, named in kept:
        entity, _ = _entity(named, {}, options)
        if named.get(PREFIX) and within.setdefault(entity, named[PREFIX]) != named[PREFIX]:
            apart.setdefault(entity.kind, set()).add(PREFIX)
        other = first.setdefault((entity, table.time(row)), named)
        if other is not named:
            apart.setdefault(entity.kind, set()).update(
                kind for kind in named if kind != entity.kind and named[kind] != other.get(kind)
            )
    return apart


def _kind_of(named: Named) -> str:
    return next((kind for kind in ORDER if kind in named), "array")


def _entity(
    named: Named, apart: dict[str, set[str]], options: ImportOptions
) -> tuple[EntityRef, set[tuple[str, EntityRef]]]:
    """What a row is of, and where that is."""
    kind = _kind_of(named)
    of_host = kind in _OF_HOSTS or (kind == "host" and "array" not in named)
    within = named.get("host") if of_host else None
    system = options.system or within or named.get("array") or DEFAULT_SYSTEM
    before = [named[other] for other in sorted(apart.get(kind, ())) if other in named]
    entity = EntityRef(system, kind, "/".join([*before, named.get(kind, system)]))
    places = {
        (relation, EntityRef(system, other, name))
        for other, name in named.items()
        if (relation := _PLACES.get((kind, other))) is not None
    }
    return entity, places
