"""What Python callers ask of a simulation, checked before the array is built."""

from __future__ import annotations

import numbers
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsIndex

from storscope.domain.errors import UsageError
from storscope.domain.units import NS_PER_S, count_from_text, ns_from_text
from storscope.sim.design import Design
from storscope.sim.simulation import LONGEST_NS

_LATEST_START_NS = 2**63 - 1 - LONGEST_NS
"""In 2162: times are 64 bits, and the longest run has to end within them."""
_WHY_NOT_LATER = "Times are 64 bits of ns, which end in 2262, and a run may take a hundred years."
_DEEPEST = 65536
_PLAIN = re.compile(r"\s*(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*")
_MOST_NS = 10**9 * NS_PER_S
"""About 31 years, the end that the command line has, too."""


def check_design(design: object) -> None:
    """Raises UsageError for what is neither a file, nor text, nor a design."""
    if not isinstance(design, str | Path | Design):
        raise UsageError("a design: a file, its text or a Design", _found(design))


def check_designs(designs: object) -> None:
    """Raises UsageError for one design in place of several: its text would be taken letter by letter."""
    if isinstance(designs, str) or not isinstance(designs, Sequence):
        raise UsageError("a list of designs", _found(designs), hint="One of them runs with storscope.simulate.")


def check_schedule(design: object, schedule: object) -> None:
    """Raises UsageError for what is no file, and where a schedule would be passed over: a Design has its own."""
    if schedule is not None and not isinstance(schedule, str | Path):
        raise UsageError("a schedule: a file", _found(schedule))
    if isinstance(schedule, str) and "\n" in schedule:
        raise UsageError(
            "a schedule: a file", f"text, {_found(schedule)}", hint="Write it to a file, and give its name."
        )
    if schedule is not None and isinstance(design, Design):
        raise UsageError(
            "a schedule with the file or text of a design", "one with a Design, which was read without it",
            hint="Give the schedule to storscope.load_design.",
        )  # fmt: skip


def taken_texts(what: str, texts: object) -> tuple[str, ...]:
    """One text, or a sequence of them, as several. Raises UsageError for anything else."""
    found = (texts,) if isinstance(texts, str) else texts
    if not isinstance(found, Sequence) or not all(isinstance(one, str) for one in found):
        raise UsageError(what, _found(texts))
    return tuple(found)


def taken_size(size: object) -> str | None:
    """A size as text; a number is bytes. Raises UsageError for anything else."""
    if size is None or isinstance(size, str):
        return size
    taken = _whole(size)
    if taken is None:
        raise UsageError("a size like '100G', a share like '10%', or bytes", _found(size))
    return str(taken)


def check_volumes(mapping: Mapping[str, object]) -> None:
    """Raises UsageError for what names no volumes."""
    for volume in mapping:
        if not isinstance(volume, str):
            raise UsageError("names or patterns of volumes as the keys of a mapping", _found(volume))


def check_traces(trace: object) -> None:
    """Raises UsageError for what is neither a file nor a mapping of volumes to files."""
    files = [trace]
    if isinstance(trace, Mapping):
        check_volumes(trace)
        files = list(trace.values())
    for file in files:
        if not isinstance(file, str | Path):
            raise UsageError("a trace: a file, or a mapping of volumes to files", _found(file))


@dataclass(frozen=True)
class Numbers:
    """The numbers of a simulation as callers gave them, as Python's own: those of NumPy are no JSON."""

    seed: int
    ios: int | None
    outstanding: int | None
    started_ns: int | None
    speed_up: float


def taken_numbers(
    *,
    seed: object = 1,
    ios: object = None,
    outstanding: object = None,
    started_ns: object = None,
    speed_up: object = 1.0,
) -> Numbers:
    """What callers gave, NumPy's scalars included. Raises UsageError for what is no number, or outside of its range.

    The ranges of seeds and of speed-ups are checked where they are used.
    """
    taken_seed = _whole(seed)
    if taken_seed is None:
        raise UsageError("a seed, a whole number", _found(seed))
    return Numbers(
        taken_seed,
        _within("a number of I/Os for ios (or text like '5M')", _count(ios), 1, 10**15),
        _within("a number of requests in flight for outstanding", outstanding, 1, _DEEPEST),
        _within("ns since 1970 for started_ns", started_ns, 0, _LATEST_START_NS, hint=_WHY_NOT_LATER),
        _real("a number for speed_up", speed_up),
    )


def taken_duration_ns(duration: object) -> int | None:
    """ns of what callers gave: '60s', '5m', or seconds as a number or as '60'; None stands for what was not asked.

    Raises UsageError for what is none, and for less than 1 ns: a run without any length has no figures.
    """
    if duration is None:
        return None
    ns = _duration_ns(duration)
    if ns is None or not 1 <= ns < _MOST_NS:
        raise UsageError(
            "a duration like '60s', '5m' or '1h' (a plain number is seconds), at least 1ns and below 1,000,000,000s",
            _found(duration),
        )  # fmt: skip
    return ns


def _duration_ns(duration: object) -> int | None:
    if isinstance(duration, str):
        try:
            return ns_from_text(f"{duration}s" if _PLAIN.fullmatch(duration) else duration)
        except (ValueError, OverflowError):
            return None
    if isinstance(duration, bool) or not isinstance(duration, numbers.Real):
        return None
    try:
        return round(float(duration) * NS_PER_S)
    except (ValueError, OverflowError, TypeError):  # NaN, what is beyond all floats, a span of NumPy
        return None


def _count(value: object) -> object:
    """A count that is written as on the command line as a number; anything else as it is."""
    try:
        return count_from_text(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _within(what: str, value: object, least: int, most: int, *, hint: str = "") -> int | None:
    """None stands for what was not asked."""
    if value is None:
        return None
    taken = _whole(value)
    if taken is None or not least <= taken <= most:
        raise UsageError(
            f"{what}, a whole number from {least:,} to {most:,}", _found(value),
            hint=hint if taken is not None and taken > most else "",
        )  # fmt: skip
    return taken


def _whole(value: object) -> int | None:
    """A whole number of any type that is one (PEP 357), but no truth value; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # arrays of several numbers have the method, too
        return None


def _real(what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise UsageError(what, _found(value))
    try:
        return float(value)
    except (OverflowError, TypeError):  # beyond all floats, or a span of NumPy, which calls itself a number
        raise UsageError(what, _found(value)) from None


def _found(value: object) -> str:
    return repr(value)[:80]
