"""A trace as values, and what all its readers share: limits, and errors that name the line."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from storscope.domain.arrays import IntArray
from storscope.domain.errors import MalformedInput
from storscope.domain.units import NS_PER_S

SECTOR_BYTES = 512
LONGEST_BYTES = 1 << 30
"""Of one request."""
_LARGEST_OFFSET = 1 << 62
_LONGEST_NS = 10_000 * 86_400 * NS_PER_S
"""From the first request on; times may count from 1970."""
_LATEST_NS = 2**63 - 1
"""In 2262: the columns are 64 bits."""
_MOST_DIGITS = 24


@dataclass(frozen=True)
class Trace:
    """The requests of one file, in its order. All columns have the same length, at least one."""

    where: str
    format: str
    at_ns: IntArray
    """When each came; only differences count."""
    offset_bytes: IntArray
    length_bytes: IntArray
    is_write: npt.NDArray[np.bool_]
    line: IntArray
    """Where each stands in the file, from 1."""
    places: tuple[str, ...] = ()
    """Names of volumes or devices, if the file tells them."""
    place: IntArray | None = None
    """Which of `places` each is for."""
    think_ns: IntArray | None = None
    """From each answer to the next request, if the file tells it."""
    has_times: bool = True
    """False where the file tells the order alone; `at_ns` is the same for all then."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What the file holds beside requests, and how often."""

    def __len__(self) -> int:
        return len(self.at_ns)

    @property
    def duration_ns(self) -> int:
        """From the first to the last request."""
        return int(self.at_ns[-1] - self.at_ns[0])


class Gathering:
    """Requests as they are read, column by column, so that millions of them take 49 bytes each."""

    def __init__(self, where: str, format_: str) -> None:
        self.where, self._format = where, format_
        self._at, self._offset, self._length, self._line, self._place, self._think = (array("q") for _ in range(6))
        self._write = bytearray()
        self._places: dict[str, int] = {}
        self.left_out: Counter[str] = Counter()

    def add(
        self, line: int, at_ns: int, offset: int, length: int, *, is_write: bool, place: str | None = None,
        think_ns: int = 0,
    ) -> None:  # fmt: skip
        """One request. MalformedInput for one that cannot be."""
        if not 1 <= length <= LONGEST_BYTES:
            raise self.error(line, f"1 to {LONGEST_BYTES} bytes", str(length))
        if not 0 <= offset <= _LARGEST_OFFSET:
            raise self.error(line, "an offset from 0 on", str(offset))
        first_ns = self._at[0] if self._at else at_ns
        sound = 0 <= at_ns <= min(_LATEST_NS, first_ns + _LONGEST_NS) and 0 <= think_ns <= _LONGEST_NS
        if not sound:
            expected = "a time from 0 on, before 2262 and at most 10000 days after the first"
            raise self.error(line, expected, f"{max(at_ns, think_ns)} ns")
        if self._at and at_ns < self._at[-1]:
            hint = "Sort the requests by time."
            raise self.error(line, "a time not before that of the request above", f"{at_ns} ns", hint)
        number = -1 if place is None else self._places.setdefault(place, len(self._places))
        self._at.append(at_ns)
        self._offset.append(offset)
        self._length.append(length)
        self._write.append(is_write)
        self._line.append(line)
        self._place.append(number)
        self._think.append(think_ns)

    def error(self, line: int, expected: str, found: str, hint: str = "") -> MalformedInput:
        """With the place in the file."""
        shown = found if len(found) <= 80 else found[:77] + "..."
        return MalformedInput(expected, repr(shown), where=f"{self.where}, line {line}", hint=hint)

    def trace(self, *, thinks: bool = False, has_times: bool = True) -> Trace:
        """All that was added; MalformedInput if that is nothing."""
        if not self._at:
            raise MalformedInput("at least one request", "none", where=self.where)
        at, offset, length, line, place, think = (
            np.frombuffer(column, np.int64)
            for column in (self._at, self._offset, self._length, self._line, self._place, self._think)
        )
        return Trace(
            self.where, self._format, at, offset, length, np.frombuffer(self._write, bool), line,
            tuple(self._places), place if self._places else None, think if thinks else None,
            has_times, dict(self.left_out),
        )  # fmt: skip


def is_passed_over(line: str) -> bool:
    """An empty line, or one that begins with #: a remark."""
    return not line.strip() or line.lstrip().startswith("#")


def exact_ns(text: str, unit_ns: int) -> int | None:
    """A decimal number of units in ns, rounded down, without the error of a float; None if it is none.

    Small times have exponents where Python wrote them: 5e-05.
    """
    number, mark, exponent = text.strip().lower().partition("e")
    whole, _, fraction = number.partition(".")
    if not (whole or fraction) or not (whole + fraction).isascii() or not (whole + fraction).isdigit():
        return None
    digits = exponent.removeprefix("-") if exponent.startswith("-") else exponent.removeprefix("+")
    if mark and not (digits.isascii() and digits.isdigit()):
        return None
    power = int(exponent) if mark and len(digits) <= 3 else 0
    if max(len(whole), len(fraction), abs(power)) > _MOST_DIGITS or len(digits) > 3:
        return None
    value: int = int(whole + fraction) * unit_ns
    shift = power - len(fraction)
    return int(value * 10**shift) if shift >= 0 else int(value // 10**-shift)


def whole_number(text: str) -> int | None:
    """Digits alone, at most 20 of them."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None
