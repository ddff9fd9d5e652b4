"""Which runs of one side are repetitions of each other: those of one name and load, on the same thing.

Runs of different names are none, whatever their load: two devices, two RAID levels. The exception are runs that their
user numbered: base-1, base-2, base-3 of one load, which is stated in full.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from storscope.compare.marks import numbers_apart
from storscope.compare.same_load import has_stated_load, state_one_load
from storscope.compare.subjects import Subject
from storscope.compare.wording import listed

Group = list[Subject]

_NUMBERED: Final = re.compile(r"(?P<stem>.*[^\W\d_])(?P<dash>[-_ .#]+)(?P<number>\d{1,4})")
_THINGS: Final = re.compile(
    r"(v?raid|raid.?level|disks?|drives?|luns?|vol(ume)?s?|devices?|hosts?|nodes?|servers?|vms?|arrays?|pools?|ports?"
    r"|paths?|ctrl|controllers?|groups?|targets?|depth|qd|iodepth|jobs?|numjobs|threads?|workers?|size|bs|stripe|v|ver"
    r"|version|level|tier|shelf|rack|site|nic|queues?)",
    re.IGNORECASE,
)
"""What a number belongs to that counts things or settings and no repetitions."""
_WORD: Final = re.compile(r"[^\W\d_]+")


def plain_name(name: str) -> str:
    """Without regard to case and to the number of spaces."""
    return " ".join(name.split()).casefold()


def groups_of(subjects: Iterable[Subject]) -> list[Group]:
    """Groups of repetitions, in the order of their first runs."""
    groups: list[Group] = []
    named: defaultdict[str, list[Group]] = defaultdict(list)
    for subject in subjects:
        namesakes = named[plain_name(subject.name)]
        home = next((group for group in namesakes if _is_the_same(group[0], subject)), None)
        if home is None:
            groups.append([subject])
            namesakes.append(groups[-1])
        else:
            home.append(subject)
    return groups


def _is_the_same(one: Subject, other: Subject) -> bool:
    on_one = one.marks == other.marks and one.is_simulated == other.is_simulated
    return on_one and state_one_load(one, other)


def numbered_together(groups: Sequence[Group]) -> list[Group]:
    """The groups, those of numbered names and one stated load put together."""
    found: list[Group] = []
    for group in groups:
        home = next((other for other in found if _is_numbered_as(other[0], group[0])), None)
        if home is None:
            found.append(list(group))
        else:
            home.extend(group)
    return found


def _is_numbered_as(one: Subject, other: Subject) -> bool:
    stems = (_stem(one.name), _stem(other.name))
    return stems[0] is not None and stems[0] == stems[1] and has_stated_load(one) and _is_the_same(one, other)


def _stem(name: str) -> str | None:
    """'base-' of 'base-3'; None of a name that ends in no number, or in one of a disk, a RAID level, a depth."""
    match = _NUMBERED.fullmatch(plain_name(name))
    if match is None or _THINGS.fullmatch(_WORD.findall(match["stem"])[-1]):
        return None
    return match["stem"] + match["dash"]


def name_of(group: Group) -> str:
    """Its name; of numbered runs 'base-*'."""
    names = list(dict.fromkeys(subject.name for subject in group))
    stem = _stem(names[0])
    return names[0] if len({plain_name(name) for name in names}) == 1 or stem is None else names[0][: len(stem)] + "*"


def how_they_repeat(side: str, group: Group) -> list[str]:
    """What was put together that is not plainly one test again; sentences."""
    names = list(dict.fromkeys(subject.name for subject in group))
    if len({plain_name(name) for name in names}) > 1:
        return [f"Taken as repetitions, being numbered and of the same load ({side}): {listed(names)}."]
    rows = [subject.row for subject in group if subject.row is not None]
    if len(rows) < 2:
        return []
    numbers = numbers_apart(rows)
    unlike = f", which differ in {listed(numbers)}" if numbers else ""
    return [f"Taken as repetitions ({side}): {len(rows)} rows of this name and load{unlike}."]
