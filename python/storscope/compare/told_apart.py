"""Names of pairs that have one name: each gets what tells its load, or what it ran on, from the others.

Iometer's ramp of outstanding I/Os, a fio job at several depths and the disk sda of several hosts have one name many
times, by which no row can be told from the next one: '8k random, 16 outstanding' and 'device sda, system esx1' can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Final

from storscope.compare.marks import DESIGN
from storscope.compare.matching import Pair
from storscope.compare.same_load import have_one_load, load_differences
from storscope.compare.subjects import Subject
from storscope.compare.wording import listed, load_in_words
from storscope.domain.comparison import Load

_MOST: Final = 4
"""Things that are named; of several streams dozens may differ."""


def told_apart(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs, those of a name that is there more than once with what differs behind it, where anything does."""
    by_name: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_name[pair.name].append(pair)
    words = {id(pair): text for own in by_name.values() for pair, text in zip(own, _what_differs(own), strict=True)}
    return [replace(pair, name=", ".join(filter(None, (pair.name, words[id(pair)])))) for pair in pairs]


def _what_differs(pairs: Sequence[Pair]) -> list[str]:
    """Of each, in words, what not all of them have; empty of a single one. Of two loads in a pair both are told."""
    if len(pairs) == 1:
        return [""]
    unlike = _unlike_fields([pair.before[0] for pair in pairs])
    told = [_told(pair, unlike) for pair in pairs]
    common = set.intersection(*(set(parts) for sides in told for parts in sides))
    return [" → ".join(_but_for(common, sides)) for sides in told]


def _but_for(common: set[str], sides: Sequence[Sequence[str]]) -> list[str]:
    """What either side says beside what all say; once where it is the same, nothing of one that says nothing."""
    said = [listed([part for part in parts if part not in common], _MOST) for parts in sides]
    return list(dict.fromkeys(filter(None, said)))


def _unlike_fields(subjects: Sequence[Subject]) -> set[str]:
    """Fields of the load in which one of them is not as the first, or of which one alone tells."""
    first = subjects[0]
    unlike = {name for other in subjects for name, _, _ in load_differences(first, other)}
    names = [field.name for field in fields(Load)]
    return unlike | {name for name in names if len({getattr(one.load, name) is None for one in subjects}) > 1}


def _told(pair: Pair, unlike: set[str]) -> list[list[str]]:
    """What either side says, once where both have one load."""
    one, other = pair.before[0], pair.after[0]
    if not one.is_run:
        return [[f"system {_system_of(entity)}"] for entity in (one, other)]
    marks = [f"{name} {text}" for name, text in sorted(one.marks.items() & other.marks.items()) if name != DESIGN]
    sides = (one,) if have_one_load(one, other) else (one, other)
    return [[*_load_words(subject, unlike), *marks, *_design_words(subject)] for subject in sides]


def _load_words(subject: Subject, unlike: set[str]) -> list[str]:
    load = Load(**{name: getattr(subject.load, name) for name in unlike})
    return [*([] if load == Load() else [load_in_words(load)]), *subject.asked.words()]


def _design_words(subject: Subject) -> list[str]:
    return [subject.place] if DESIGN in subject.marks and subject.place else []


def _system_of(entity: Subject) -> str:
    """The key is system/kind/name, the name 'kind name' (compare.running_systems)."""
    return entity.key.removesuffix("/" + entity.name.replace(" ", "/", 1))
