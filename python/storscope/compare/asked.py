"""What was asked of the storage beside sizes, mix and depth: rates, pauses, places, direct I/O; and where two differ.

A thing that one side does not tell is no difference. What a tool does because nothing was said counts between two runs
of this tool only: fio shows all its options, yet one of its runs and one of ours are not called unlike for what fio
leaves unsaid. Targets, designs, seeds, names and how long a run lasts are no things of this kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from storscope.compare.wording import listed, load_in_words
from storscope.domain.comparison import AFTER, BEFORE, Load

_TOLERANCE = 0.01

Value = float | str | tuple["Value", ...] | None


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing that was asked for."""

    value: Value
    """What is compared, numbers to 1 %; None is none of it."""
    words: str
    is_usual: bool = False
    """It goes without saying."""
    is_unsaid: bool = False
    """Nobody asked for it: it is what the tool does then."""
    of_target: str = ""
    """The target that it is a place of, where places of others are no such places: it is not compared with theirs."""


Things = Mapping[str, Thing]
"""By names that a user reads: 'rate', 'think time'."""


@dataclass(frozen=True)
class Asked:
    """What a run tells of what it was asked for; of most tools nothing."""

    tool: str = ""
    whole: Things = field(default_factory=dict)
    """Of the run as a whole."""
    streams: Sequence[tuple[str, Things]] = ()
    """Of each stream, with its name."""
    loads: Sequence[Load] = ()
    """Of each of several streams, in their order: sizes and mixes that the run has no common one of."""
    has_pauses: bool = False
    """Whether its generator rests between I/Os because it was told to."""

    def words(self) -> list[str]:
        """'rate 100/s', 'think time 2.00 ms': what does not go without saying."""
        parts = [("", self.whole), *((_of_stream(name, self.streams), things) for name, things in self.streams)]
        return [f"{name}{of} {thing.words}" for of, things in parts for name, thing in _unusual(things)]

    def by_stream(self) -> list[str]:
        """'stream 'hog': 64 KiB, 0 % reads, rate 100/s', of several streams whose loads are known; else nothing."""
        if len(self.loads) < 2:
            return []
        told = zip(self.streams, self.loads, strict=True)
        return [
            f"{stream_words(stream, number)}: "
            + ", ".join([load_in_words(load), *(f"{name} {thing.words}" for name, thing in _unusual(things))])
            for number, ((stream, things), load) in enumerate(told, 1)
        ]

    def of_the_whole(self) -> list[str]:
        """'direct I/O': what does not go without saying, of the run as a whole."""
        return [f"{name} {thing.words}" for name, thing in _unusual(self.whole)]


def stream_words(name: str, number: int) -> str:
    """'stream 'hog'', or its number, from 1, where it has no name."""
    return f"stream '{name}'" if name else f"stream {number}"


def _unusual(things: Things) -> list[tuple[str, Thing]]:
    return [(name, thing) for name, thing in things.items() if not thing.is_usual]


def asked_differences(one: Asked, other: Asked, names: tuple[str, str] = (BEFORE, AFTER)) -> list[str]:
    """What both tell, differently: 'rate 100/s before, 620/s after'; `names` are what the sides are called."""
    found = []
    if one.tool == other.tool and len(one.streams) != len(other.streams):
        found.append(_numbers_of_streams(one, other, names))
    for name, a, b in _both(one, other):
        if a is None or b is None or (one.tool != other.tool and (a.is_unsaid or b.is_unsaid)):
            continue
        if a.of_target and b.of_target and a.of_target != b.of_target:
            continue
        if not _are_equal(a.value, b.value):
            unlike = "not the same" if a.words == b.words else f"{a.words} {names[0]}, {b.words} {names[1]}"
            found.append(f"{name} {unlike}")
    return found


def _numbers_of_streams(one: Asked, other: Asked, names: tuple[str, str]) -> str:
    left, right = ({name for name, _ in side.streams if name} for side in (one, other))
    alone = [
        f"{_in_quotes(sorted(streams))} {side} alone"
        for side, streams in zip(names, (left - right, right - left), strict=True)
        if streams
    ]
    which = f" ({', '.join(alone)})" if alone else ""
    return f"number of streams {len(one.streams)} {names[0]}, {len(other.streams)} {names[1]}{which}"


def _in_quotes(names: Sequence[str]) -> str:
    return listed([f"'{name}'" for name in names], 2)


def told_by_one(one: Asked, other: Asked, names: tuple[str, str] = (BEFORE, AFTER)) -> Iterator[tuple[str, str, str]]:
    """(name, what the silent side is called, words of the other) of what does not go without saying."""
    for name, a, b in _both(one, other):
        told, silent = (a, names[1]) if b is None else (b, names[0])
        if told is not None and (a is None or b is None) and not (told.is_usual or told.is_unsaid):
            yield name, silent, told.words


def _both(one: Asked, other: Asked) -> Iterator[tuple[str, Thing | None, Thing | None]]:
    for of, left, right in [("", one.whole, other.whole), *_stream_by_stream(one.streams, other.streams)]:
        for name in dict.fromkeys([*left, *right]):
            yield f"{name}{of}", left.get(name), right.get(name)


def _stream_by_stream(
    left: Sequence[tuple[str, Things]], right: Sequence[tuple[str, Things]]
) -> Iterator[tuple[str, Things, Things]]:
    """Those of one name where both have the same names, else those of one place; none where their numbers differ."""
    left = left or [(name, {}) for name, _ in right]
    right = right or [(name, {}) for name, _ in left]
    if len(left) != len(right):
        return
    by_name = dict(right)
    have_the_same_names = len(by_name) == len(right) and by_name.keys() == {name for name, _ in left}
    for (name, things), (_, others) in zip(left, right, strict=True):
        yield _of_stream(name, left), things, by_name[name] if have_the_same_names else others


def _of_stream(name: str, streams: Sequence[tuple[str, Things]]) -> str:
    return "" if len(streams) == 1 else f" of stream '{name}'"


def _are_equal(one: Value, other: Value) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= _TOLERANCE * max(abs(one), abs(other))
    return one == other
