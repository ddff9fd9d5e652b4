"""Which run of one side belongs to which of the other.

By the name of the access specification first; what has no partner of its name, by its load (block size, shares of
reads and of random access, outstanding or jobs, and what else was asked for, see `compare.asked`); and when a single
load is left on either side, these two, since the user named them. Runs of one name and load on a side are repetitions
of one another. Entities of running systems go by their name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from storscope.compare.asked import asked_differences
from storscope.compare.asked_things import RATE
from storscope.compare.subjects import Subject
from storscope.compare.wording import listed, load_in_words
from storscope.domain.comparison import Unmatched

_RATIO_TOLERANCE = 0.03
"""Some sources measure the share of reads instead of stating it (fio's text); a draw of 1,000 is within 0.03."""
_RELATIVE_TOLERANCE = 0.01


@dataclass(frozen=True)
class Pair:
    """What is compared with what. Several subjects a side are repetitions."""

    name: str
    before: list[Subject]
    after: list[Subject]
    notes: list[str] = field(default_factory=list)


@dataclass
class Matched:
    """The pairs, and what has no partner."""

    pairs: list[Pair] = field(default_factory=list)
    unmatched: list[Unmatched] = field(default_factory=list)


Group = list[Subject]


def load_differences(one: Subject, other: Subject) -> list[tuple[str, float, float]]:
    """Fields of the load that both sides state, differently.

    Where a side does not tell how many I/Os were outstanding (tables of fio scripts do not), its number of jobs does,
    but not of arrivals at a rate, which are those of all workers together.
    """
    names = ["block_bytes", "read_ratio", "random_ratio", "outstanding"]
    tells_outstanding = None not in (one.load.outstanding, other.load.outstanding)
    if not tells_outstanding and not (_has_rate(one) or _has_rate(other)):
        names.append("workers")
    found = []
    for name in names:
        a, b = getattr(one.load, name), getattr(other.load, name)
        if a is None or b is None:
            continue
        tolerance = _RATIO_TOLERANCE if name.endswith("ratio") else _RELATIVE_TOLERANCE * max(a, b)
        if abs(a - b) > tolerance:
            found.append((name, a, b))
    return found


def _has_rate(subject: Subject) -> bool:
    things = [subject.asked.whole, *(own for _, own in subject.asked.streams)]
    return any(own[RATE].value is not None for own in things if RATE in own)


def have_one_load(one: Subject, other: Subject) -> bool:
    """Whether nothing that both state differs."""
    return not load_differences(one, other) and not asked_differences(one.asked, other.asked)


# Runs -----------------------------------------------------------------------------------------------------------------


def match_runs(before: Sequence[Subject], after: Sequence[Subject]) -> Matched:
    """Pairs of groups of runs, in the order of the side before; points of a sweep in the order of its table."""
    matched = Matched()
    left, right = _by_name(before), _by_name(after)
    for name in [name for name in left if name in right]:
        left[name], right[name] = _pair_of_one_name(left[name], right[name], matched)
    lone, other = ([group for groups in side.values() for group in groups] for side in (left, right))
    lone, other = _pair_by_load(lone, other, matched)
    if not matched.pairs and len(lone) == len(other) == 1:
        matched.pairs.append(_pair(lone.pop(), other.pop(), ["The names differ; paired since there is nothing else."]))
    matched.unmatched += [_without_partner("before", group, after) for group in lone]
    matched.unmatched += [_without_partner("after", group, before) for group in other]
    order = {id(subject): index for index, subject in enumerate(before)}
    matched.pairs.sort(key=lambda pair: _place(pair.before[0], order[id(pair.before[0])]))
    return matched


def _place(subject: Subject, index: int) -> tuple[str, tuple[float, ...]]:
    """Points of a sweep by mode, size, share of reads and load; others stay where they are, before them."""
    if subject.sweep_mode is None:
        return "", (index,)
    load = subject.load
    sizes = (load.block_bytes, load.read_ratio, load.workers, load.outstanding)
    return subject.sweep_mode, tuple(-1.0 if size is None else size for size in sizes)


def _by_name(subjects: Iterable[Subject]) -> dict[str, list[Group]]:
    named: dict[str, list[Subject]] = defaultdict(list)
    for subject in subjects:
        named[_plain_name(subject.name)].append(subject)
    return {name: _by_load(group) for name, group in named.items()}


def _plain_name(name: str) -> str:
    """Without regard to case and to the number of spaces."""
    return " ".join(name.split()).casefold()


def _by_load(subjects: Iterable[Subject]) -> list[Group]:
    groups: list[Group] = []
    for subject in subjects:
        home = next((group for group in groups if have_one_load(group[0], subject)), None)
        if home is None:
            groups.append([subject])
        else:
            home.append(subject)
    return groups


def _pair_of_one_name(left: list[Group], right: list[Group], matched: Matched) -> tuple[list[Group], list[Group]]:
    """Those of the same load; a single rest on both sides too, whose different load will be said. Returns the rest."""
    left, right = _take_pairs(left, right, matched, lambda a, b: have_one_load(a[0], b[0]), [])
    if len(left) == len(right) == 1:
        matched.pairs.append(_pair(left.pop(), right.pop(), []))
    return left, right


def _pair_by_load(left: list[Group], right: list[Group], matched: Matched) -> tuple[list[Group], list[Group]]:
    """Groups without a partner of their name, by load where both sides state it."""
    left, right = (_by_load(subject for group in side for subject in group) for side in (left, right))
    return _take_pairs(left, right, matched, _have_the_same_load, ["The names differ; paired by load."])


def _have_the_same_load(one: Group, other: Group) -> bool:
    stated = all(
        None not in (load.block_bytes, load.read_ratio, load.random_ratio) for load in (one[0].load, other[0].load)
    )
    return stated and have_one_load(one[0], other[0])


def _take_pairs(
    left: list[Group], right: list[Group], matched: Matched, fits: Callable[[Group, Group], bool], notes: list[str]
) -> tuple[list[Group], list[Group]]:
    """Pairs each group with the first that fits; returns what is left of both sides."""
    rest, free = [], list(right)
    for group in left:
        partner = next((other for other in free if fits(group, other)), None)
        if partner is None:
            rest.append(group)
            continue
        free.remove(partner)
        matched.pairs.append(_pair(group, partner, notes))
    return rest, free


def _pair(before: Group, after: Group, notes: list[str]) -> Pair:
    said = list(notes)
    for side, group in (("before", before), ("after", after)):
        names = list(dict.fromkeys(subject.name for subject in group))
        if len(names) > 1:
            said.append(f"Taken as repetitions, having the same load ({side}): {listed(names)}.")
    return Pair(_pair_name(before, after), before, after, said)


def _pair_name(before: Group, after: Group) -> str:
    names = [list(dict.fromkeys(subject.name for subject in group)) for group in (before, after)]
    if names[0] == names[1] and len(names[0]) == 1:
        return names[0][0]
    if len(names[0]) == len(names[1]) == 1:
        return names[0][0] if _plain_name(names[0][0]) == _plain_name(names[1][0]) else f"{names[0][0]} → {names[1][0]}"
    return load_in_words(before[0].load)


def _without_partner(side: str, group: Group, others: Sequence[Subject]) -> Unmatched:
    name, load = group[0].name, _load_words(group[0])
    namesakes = [subject for subject in others if _plain_name(subject.name) == _plain_name(name)]
    if namesakes:
        loads = listed(list(dict.fromkeys(map(_load_words, namesakes))))
        return Unmatched(side, name, f"the other side ran it with another load: {loads}; this one: {load}")
    return Unmatched(side, name, f"the other side has no run of this name or load ({load})")


def _load_words(subject: Subject) -> str:
    return ", ".join([load_in_words(subject.load), *subject.asked.words()])


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
            matched.pairs.append(Pair(subject.name, [subject], namesakes, [note]))
        else:
            matched.unmatched.append(Unmatched("before", subject.key, "the other side has no counters of it"))
    matched.unmatched += [Unmatched("after", subject.key, "the other side has no counters of it") for subject in free]
    if not matched.pairs and len(before) == len(after) == 1:
        note = f"The names differ; paired since there is nothing else: {before[0].key} against {after[0].key}."
        return Matched([Pair(f"{before[0].name} → {after[0].name}", list(before), list(after), [note])])
    matched.pairs.sort(key=lambda pair: -(pair.before[0].activity + pair.after[0].activity))
    return matched
