"""The book: what sections of ESXi configuration say, until the end of the file.

Facts are written at the end, because sections complete and correct one another: `policy failover get` tells active
uplinks from standby ones where `esxcfg-vswitch -l` lists both, and an adapter's kind follows from several lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importers._esxi_text import Record, integer

Value = str | float | bool
SURE = 1
UNSURE = 0


@dataclass(frozen=True, slots=True)
class Note:
    """A value with its unit and how far it yields to another."""

    value: Value
    unit: str | None
    rank: int


@dataclass
class Book:
    """Facts and links by entity, and where the reading stands."""

    system: str
    """The host the present section is about."""
    command: str | None = None
    """The command the present section is the output of, where a prompt shows it."""
    notes: dict[tuple[EntityRef, str], Note] = field(default_factory=dict)
    lists: dict[tuple[EntityRef, str, str], None] = field(default_factory=dict)
    """Facts that an entity may have several of."""
    labels: dict[EntityRef, str] = field(default_factory=dict)
    links: set[tuple[EntityRef, str, EntityRef]] = field(default_factory=set)
    unplaced: list[tuple[str, str, Value, str | None]] = field(default_factory=list)
    """(system, fact, value, unit) of adapters whose name the section does not say."""
    local_addresses: dict[EntityRef, list[str]] = field(default_factory=dict)
    """iSCSI adapter -> local address of each of its connections."""
    contradicted: int = 0

    def entity(self, kind: str, name: str) -> EntityRef:
        """An entity of the present host."""
        return EntityRef(self.system, kind, name)

    @property
    def host(self) -> EntityRef:
        """The present host."""
        return self.entity("host", self.system)

    def fact(
        self, entity: EntityRef, name: str, value: Value | None, unit: str | None = None, rank: int = SURE
    ) -> None:
        """A fact; None is none. What is said later replaces what was said before, unless it is less sure."""
        if value is None:
            return
        old = self.notes.get((entity, name))
        if old is not None and old.rank > rank:
            return
        if old is not None and old.rank == rank and old.value != value:
            self.contradicted += 1
        self.notes[entity, name] = Note(value, unit, rank)

    def one_of(self, entity: EntityRef, name: str, value: str | None) -> None:
        """One of several facts of the same name."""
        if value:
            self.lists[entity, name, value] = None

    def rest(self, entity: EntityRef, record: Record) -> None:
        """What no one took of a record, under the source's own names."""
        for key, value in record.rest():
            number = integer(value)
            self.fact(entity, key, number if number is not None and f"{number}" == value else value)

    def link(self, source: EntityRef, relation: str, target: EntityRef) -> None:
        """`source` stands in `relation` to `target`."""
        self.links.add((source, relation, target))

    def value(self, entity: EntityRef, name: str) -> Value | None:
        """A fact noted so far."""
        note = self.notes.get((entity, name))
        return note.value if note else None

    def of_kind(self, kind: str) -> list[EntityRef]:
        """Every entity of a kind that was spoken of, sorted."""
        spoken = {entity for entity, _ in self.notes} | {end for one, _, two in self.links for end in (one, two)}
        return sorted(entity for entity in spoken if entity.kind == kind)

    def systems(self) -> set[str]:
        """Every host that was spoken of."""
        noted = {entity.system for entity, _ in self.notes} | {entity.system for entity, _, _ in self.lists}
        return noted | {source.system for source, _, _ in self.links}

    def write(self, recorder: Recorder) -> None:
        """Everything noted, to the tables."""
        for (entity, name), note in self.notes.items():
            recorder.fact(entity, name, note.value, note.unit)
        for entity, name, value in self.lists:
            recorder.fact(entity, name, value)
        for source, relation, target in sorted(self.links):
            recorder.link(source, relation, target)
        for entity, label in self.labels.items():
            recorder.entity(entity, label)
        recorder.omit("values that the file contradicts further down", self.contradicted)
