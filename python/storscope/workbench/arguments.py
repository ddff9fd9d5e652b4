"""What Python callers give, of whatever they ask: numbers, durations, how a value is shown in an error.

NumPy's scalars are taken, as Python's own. Truth values are no numbers.
"""

from __future__ import annotations

import numbers
import operator
import re
from collections.abc import Sequence
from typing import SupportsIndex

from storscope.domain.errors import UsageError
from storscope.domain.units import NS_PER_S, ns_from_text

Duration = str | float
"""Like '60s' or '5m'; a plain number is seconds, also as text."""

_PLAIN = re.compile(r"\s*(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*")
_MOST_NS = 10**9 * NS_PER_S
"""About 31 years, the end that the command line has, too."""


def taken_texts(what: str, texts: object) -> tuple[str, ...]:
    """One text, or a sequence of them, as several. Raises UsageError for anything else."""
    found = (texts,) if isinstance(texts, str) else texts
    if not isinstance(found, Sequence) or not all(isinstance(one, str) for one in found):
        raise UsageError(what, found_words(texts))
    return tuple(found)


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
            found_words(duration),
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


def within(what: str, value: object, least: int, most: int, *, hint: str = "") -> int | None:
    """A whole number in a range; None stands for what was not asked. Raises UsageError for anything else."""
    if value is None:
        return None
    taken = whole(value)
    if taken is None or not least <= taken <= most:
        raise UsageError(
            f"{what}, a whole number from {least:,} to {most:,}", found_words(value),
            hint=hint if taken is not None and taken > most else "",
        )  # fmt: skip
    return taken


def taken_whole(what: str, value: object, least: int, most: int) -> int:
    """A whole number in a range. Raises UsageError for anything else."""
    taken = within(what, value, least, most)
    if taken is None:
        raise UsageError(f"{what}, a whole number from {least:,} to {most:,}", found_words(value))
    return taken


def whole(value: object) -> int | None:
    """A whole number of any type that is one (PEP 357), but no truth value; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # arrays of several numbers have the method, too
        return None


def real(what: str, value: object) -> float:
    """A number of any type that is one. Raises UsageError for anything else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise UsageError(what, found_words(value))
    try:
        return float(value)
    except (OverflowError, TypeError):  # beyond all floats, or a span of NumPy, which calls itself a number
        raise UsageError(what, found_words(value)) from None


def found_words(value: object) -> str:
    """What was given, for an error."""
    return repr(value)[:80]
