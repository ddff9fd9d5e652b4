"""Which run of one side belongs to which of the other. Entities of running systems go by their name.

Runs of one name and load, on the same thing, are repetitions of one another (`compare.repetitions`). Such groups are
paired with each other, never pooled, in this order:

1. of the same name and load on the same thing: device, system, RAID level and other columns of a table;
2. where these are all but one of them: a row of RAID 10 with that of RAID 50, then a device with the one in its place,
   and so on; a row whose name is made of its columns goes by these alone;
3. of the same name; where a single one is left on both sides also of another load, which is said loudly;
4. of different names, by a load that both state in full: the numbered runs base-1, base-2, ... of one load are
   repetitions then;
5. when a single group is left on either side and nothing else was paired, these two, since the user named them.

Two groups are a pair only if neither fits anything else on the other side. What fits several is listed, not guessed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from storscope.compare.clones import clones_words
from storscope.compare.marks import DESIGN, DEVICE, NAME_COLUMNS, RAID, SYSTEM
from storscope.compare.repetitions import (
    Group,
    groups_of,
    how_they_repeat,
    name_of,
    numbered_together,
    plain_name,
)
from storscope.compare.same_load import has_stated_load, have_one_load, state_one_load
from storscope.compare.subjects import Subject
from storscope.compare.wording import listed, load_in_words
from storscope.domain.comparison import Unmatched

_SYSTEMS: Final = frozenset({SYSTEM, DESIGN, "host", "array"})
_APART: Final[Sequence[frozenset[str]]] = (
    frozenset(),
    frozenset({DESIGN}),
    frozenset({RAID}),
    frozenset({DEVICE}),
    _SYSTEMS,
    frozenset({RAID, DEVICE}),
    _SYSTEMS | {RAID},
    _SYSTEMS | {DEVICE},
    _SYSTEMS | {RAID, DEVICE},
)
"""Marks in which the two of a pair may differ, from the nearest pairs on."""
_MADE_OF: Final = frozenset({DEVICE, SYSTEM})
"""Columns that name a row with others, where no column of its own does (sources/importers/results_table.py)."""
_TESTS: Final = NAME_COLUMNS - _MADE_OF - {"host", "array", "mode", "rw", "pattern", RAID}
_MOST_ASKED: Final = 3


@dataclass(frozen=True)
class Pair:
    """What is compared with what. Several subjects a side are repetitions."""

    name: str
    before: list[Subject]
    after: list[Subject]
    notes: list[str] = field(default_factory=list)
    pairing: list[str] = field(default_factory=list)
    """How they came together, where that is not plainly by one name; sentences."""


@dataclass
class Matched:
    """The pairs, and what has no partner."""

    pairs: list[Pair] = field(default_factory=list)
    unmatched: list[Unmatched] = field(default_factory=list)


Key = Callable[[Subject], Hashable]
IsAlike = Callable[[Subject, Subject], bool]
Said = Callable[[Group, Group], list[str]]


# Runs -----------------------------------------------------------------------------------------------------------------


def match_runs(before: Sequence[Subject], after: Sequence[Subject]) -> Matched:
    """Pairs of groups of runs, in the order of the side before; points of a sweep in the order of its table."""
    sides = (groups_of(before), groups_of(after))
    free = (list(sides[0]), list(sides[1]))
    pairs: list[Pair] = []
    pairs += _take(sides, free, partial(_key, frozenset()), state_one_load, _nothing)
    for apart in _APART:
        pairs += _take(sides, free, partial(_key, apart), have_one_load, _marks_words(apart))
    pairs += _take(sides, free, _plain_name, have_one_load, _though_marks_differ)
    pairs += _take(free, free, _plain_name, _always, _though_marks_differ)  # the load differs, which will be said
    numbered = (numbered_together(free[0]), numbered_together(free[1]))
    pairs += _take(numbered, numbered, has_stated_load, _have_the_same_stated_load, _by_load)
    rest: tuple[list[Group], list[Group]] = (_apart_again(numbered[0], free[0]), _apart_again(numbered[1], free[1]))
    if not pairs and len(rest[0]) == len(rest[1]) == 1:
        said = ["The names differ; paired since there is nothing else."]
        pairs.append(_pair(rest[0].pop(), rest[1].pop(), said))
    unmatched = [_without_partner("before", group, sides[1]) for group in rest[0]]
    unmatched += [_without_partner("after", group, sides[0]) for group in rest[1]]
    order = {id(subject): index for index, subject in enumerate(before)}
    pairs.sort(key=lambda pair: _place(pair.before[0], order[id(pair.before[0])]))
    return Matched(pairs, unmatched)


def _place(subject: Subject, index: int) -> tuple[str, tuple[float, ...]]:
    """Points of a sweep by mode, size, share of reads and load; others stay where they are, before them."""
    if subject.sweep_mode is None:
        return "", (index,)
    load = subject.load
    sizes = (load.block_bytes, load.read_ratio, load.workers, load.outstanding)
    return subject.sweep_mode, tuple(-1.0 if size is None else size for size in sizes)


def _take(
    sides: tuple[list[Group], list[Group]],
    free: tuple[list[Group], list[Group]],
    key: Key,
    is_alike: IsAlike,
    said: Said,
) -> list[Pair]:
    """Takes the groups out of `free` of which each fits nothing but the other in all of `sides`, and pairs them.

    Two fit that have one key and are alike.
    """
    left, right = _by_key(sides[0], key), _by_key(sides[1], key)
    is_free = {id(group) for group in free[1]}
    found = []
    for group in list(free[0]):
        partners = [other for other in right[key(group[0])] if is_alike(group[0], other[0])]
        if len(partners) != 1 or id(partners[0]) not in is_free:
            continue
        if sum(is_alike(other[0], partners[0][0]) for other in left[key(group[0])]) == 1:
            found.append(_pair(group, partners[0], said(group, partners[0])))
            for side, one in zip(free, (group, partners[0]), strict=True):
                side[:] = [other for other in side if other is not one]
    return found


def _by_key(groups: Iterable[Group], key: Key) -> defaultdict[Hashable, list[Group]]:
    found: defaultdict[Hashable, list[Group]] = defaultdict(list)
    for group in groups:
        found[key(group[0])].append(group)
    return found


def _always(_one: Subject, _other: Subject) -> bool:
    return True


def _plain_name(subject: Subject) -> str:
    return plain_name(subject.name)


def _nothing(_one: Group, _other: Group) -> list[str]:
    return []


def _key(apart: frozenset[str], subject: Subject) -> tuple[str, frozenset[tuple[str, str]]]:
    """What test it is, and on what, but for what the two of a pair may differ in."""
    marks = {name: text for name, text in subject.marks.items() if name not in apart}
    is_named_by_marks = not _TESTS & subject.marks.keys() and bool(_MADE_OF & subject.marks.keys())
    name = "" if subject.row is not None and is_named_by_marks else plain_name(subject.name)
    return name, frozenset(marks.items())


def _marks_words(apart: frozenset[str]) -> Said:
    """Rows are paired though a column differs: which. Of runs that storscope made the sides say what they ran on."""

    def words(one: Group, other: Group) -> list[str]:
        if one[0].row is None or not apart:
            return []
        marks = (one[0].marks, other[0].marks)
        unlike = [name for name in sorted(apart) if marks[0].get(name) != marks[1].get(name)]
        return [f"Paired by their other columns: {' and '.join(unlike)} {_differ(unlike)}."] if unlike else []

    return words


def _differ(names: Sequence[str]) -> str:
    return "differs" if len(names) == 1 else "differ"


def _though_marks_differ(one: Group, other: Group) -> list[str]:
    if one[0].row is None or other[0].row is None:
        return []
    marks = (one[0].marks, other[0].marks)
    unlike = [name for name in sorted({*marks[0], *marks[1]}) if marks[0].get(name) != marks[1].get(name)]
    return [f"Paired by name, though {' and '.join(unlike)} {_differ(unlike)}."] if unlike else []


def _have_the_same_stated_load(one: Subject, other: Subject) -> bool:
    return has_stated_load(one) and has_stated_load(other) and have_one_load(one, other)


def _by_load(_one: Group, _other: Group) -> list[str]:
    return ["The names differ; paired by load."]


def _apart_again(numbered: Iterable[Group], free: Iterable[Group]) -> list[Group]:
    """The groups of which those that found no partner were put together."""
    left = {id(subject) for group in numbered for subject in group}
    return [group for group in free if id(group[0]) in left]


def _pair(before: Group, after: Group, said: list[str]) -> Pair:
    pairing = [*said, *how_they_repeat("before", before), *how_they_repeat("after", after)]
    return Pair(_pair_name(before, after), before, after, list(pairing), pairing)


def _pair_name(before: Group, after: Group) -> str:
    one, other = name_of(before), name_of(after)
    return one if plain_name(one) == plain_name(other) else f"{one} → {other}"


# What has no partner --------------------------------------------------------------------------------------------------


def _without_partner(side: str, group: Group, others: Sequence[Group]) -> Unmatched:
    name = name_of(group) + (f" ({len(group)} runs)" if len(group) > 1 else "")
    namesakes = [other for other in others if _plain_name(other[0]) == _plain_name(group[0])]
    fitting = [other for other in namesakes if have_one_load(group[0], other[0])]
    fitting = fitting or [other for other in others if _fits_by_marks(group[0], other[0])]
    fitting = fitting or [other for other in others if _have_the_same_stated_load(group[0], other[0])]
    load = _load_words(group[0])
    clones = clones_words(group[0].name, (other[0].name for other in others)) if group[0].engine == "fio" else ""
    if fitting:
        names = listed(list(dict.fromkeys(name_of(other) for other in fitting)))
        unsure = "fits several" if len(fitting) > 1 else "is not the only one that fits what there is"
        reason = f"{unsure} of the other side ({names}); different tests are not averaged: choose with run=NAME"
    elif clones:
        reason = clones
    elif namesakes:
        loads = listed(list(dict.fromkeys(_load_words(other[0]) for other in namesakes)))
        reason = f"the other side ran it with another load: {loads}; this one: {load}"
    else:
        reason = f"the other side has no run of this name or load ({load})"
    return Unmatched(side, name, reason)


def _fits_by_marks(one: Subject, other: Subject) -> bool:
    return have_one_load(one, other) and any(_key(apart, one) == _key(apart, other) for apart in _APART)


def _load_words(subject: Subject) -> str:
    """The load, and of what else was asked for the first things: of several streams there are dozens."""
    asked = subject.asked.words()
    return ", ".join([load_in_words(subject.load), *([listed(asked, _MOST_ASKED)] if asked else [])])


# Entities -------------------------------------------------------------------------------------------------------------


def match_entities(before: Sequence[Subject], after: Sequence[Subject]) -> Matched:
    """Pairs of entities: of the same system, kind and name; else of the same kind and name where that is unique."""
    matched, free = Matched(), list(after)
    waiting = []
    for subject in before:
        partner = next((other for other in free if other.key == subject.key), None)
        if partner is None:
            waiting.append(subject)
            continue
        free.remove(partner)
        matched.pairs.append(Pair(subject.name, [subject], [partner]))
    for subject in waiting:
        namesakes = [other for other in free if other.name == subject.name]
        if len(namesakes) == 1 and sum(other.name == subject.name for other in waiting) == 1:
            free.remove(namesakes[0])
            note = f"Of another system: {subject.key} against {namesakes[0].key}."
            matched.pairs.append(Pair(subject.name, [subject], namesakes, [note], [note]))
        else:
            matched.unmatched.append(Unmatched("before", subject.key, "the other side has no counters of it"))
    matched.unmatched += [Unmatched("after", subject.key, "the other side has no counters of it") for subject in free]
    if not matched.pairs and len(before) == len(after) == 1:
        note = f"The names differ; paired since there is nothing else: {before[0].key} against {after[0].key}."
        return Matched([Pair(f"{before[0].name} → {after[0].name}", list(before), list(after), [note], [note])])
    matched.pairs.sort(key=lambda pair: -(pair.before[0].activity + pair.after[0].activity))
    return matched
