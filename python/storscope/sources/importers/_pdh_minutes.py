"""Times of rows whose stamps have lost their seconds (`3/26/2015 22:42`), from the order of the rows and the minutes.

Rows follow each other in equal steps, so many a minute tell the step: the mean between changes of minute, those left
out between which sampling paused or rows are missing. The steps are then laid so that every row lies in the minute that
is printed beside it. Where no such place is left, by more than a step, sampling paused before that minute, and the
steps begin anew with it. Beware: a pause within a minute is not seen before the next one, and times are wrong by up to
a step (behind a pause by what its first minute leaves open).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from storscope.domain import units
from storscope.domain.arrays import IntArray

_MINUTE_NS: Final = 60 * units.NS_PER_S
_HOUR_NS: Final = 60 * _MINUTE_NS
_GUESSED_STEP_NS: Final = 5 * units.NS_PER_S
"""esxtop's own delay when none is given (esxtop(1): 5 seconds)."""
_GREATEST_TOLERANCE_NS: Final = 15 * units.NS_PER_S
"""Of long steps; samples are late by less."""
_LATE_NS: Final = units.NS_PER_S
_FIT_ROUNDS: Final = 4
_FEW_MINUTES: Final = 3
_NOT_AS_SAID: Final = 0.1


class MinuteClock:
    """Places the rows of one capture, block by block."""

    def __init__(self, interval_s: float | None) -> None:
        """`interval_s` is what the user says about the step."""
        self._said_ns = round(interval_s * units.NS_PER_S) if interval_s else None
        self._counted_ns: int | None = None
        self._most_rows = 1
        self._fitted: tuple[int, int] = (0, 0)
        self._rows = 0
        self._last_minute_ns: int | None = None
        self._last_change: tuple[int, int] | None = None
        self._next_ns: int | None = None

    @property
    def step_ns(self) -> int:
        """From one row to the next, as far as is known by now.

        What rests on few rows is no longer than the rows of the fullest minute allow.
        """
        if self._said_ns:
            return self._said_ns
        found = self._counted_ns or _GUESSED_STEP_NS
        is_weak = self._fitted[0] < _FEW_MINUTES * self._most_rows
        return min(found, _in_ms(_MINUTE_NS / self._most_rows)) if is_weak else found

    @property
    def words(self) -> str:
        """How times were found."""
        source = "--interval" if self._said_ns else "counted per minute" if self._counted_ns else "a guess"
        return f"rebuilt from row order, {self.step_ns / units.NS_PER_S:g} s steps ({source})"

    @property
    def doubt(self) -> str | None:
        """What to say of an --interval that the stamps contradict."""
        said, counted = self._said_ns, self._counted_ns
        if not said or not counted or abs(counted / said - 1) <= _NOT_AS_SAID:
            return None
        return (
            f"The minutes of the stamps show a row every {counted / units.NS_PER_S:g} s, not every "
            f"{said / units.NS_PER_S:g} s as --interval says."
        )

    @property
    def tolerance_ns(self) -> int:
        """How far a row may lie outside its printed minute before the steps begin anew."""
        return min(self.step_ns, _GREATEST_TOLERANCE_NS)

    def place(self, stamps: IntArray) -> IntArray:
        """The local times of the next rows, by their stamps in full minutes."""
        minutes: IntArray = stamps - stamps % _MINUTE_NS
        firsts = np.flatnonzero(np.diff(minutes, prepend=minutes[0] - _MINUTE_NS))
        self._count(minutes, firsts)
        times = np.empty_like(minutes)
        for begin, past, low, high in self._stretches(minutes, firsts):
            times[begin:past] = self._phase(low, high) + self.step_ns * np.arange(past - begin)
            self._next_ns = int(times[past - 1]) + self.step_ns
        self._rows += len(minutes)
        self._last_minute_ns = int(minutes[-1])
        return times

    # The step --------------------------------------------------------------------------------------------------------

    def _count(self, minutes: IntArray, firsts: IntArray) -> None:
        """Counts rows from one change of minute to the next."""
        self._most_rows = max(self._most_rows, int(np.diff(firsts, append=len(minutes)).max()))
        changes = firsts[self._last_minute_ns in (None, int(minutes[0])) :]
        rows, at = changes + self._rows, minutes[changes]
        if self._last_change is not None:
            rows, at = np.insert(rows, 0, self._last_change[0]), np.insert(at, 0, self._last_change[1])
        if not len(rows):
            return
        self._last_change = int(rows[-1]), int(at[-1])
        if len(rows) > 1:
            self._fit(np.diff(rows), np.diff(at))

    def _fit(self, rows: IntArray, lengths: IntArray) -> None:
        """The mean step over the stretches of `lengths` ns with so many `rows` in which nothing is missing."""
        step = self._fitted[1] / self._fitted[0] if self._fitted[0] else _middle(rows, lengths)
        for _ in range(_FIT_ROUNDS):
            fits = np.abs(lengths - rows * step) <= 1.25 * min(step, _MINUTE_NS) + _LATE_NS
            between, ns = self._fitted[0] + int(rows[fits].sum()), self._fitted[1] + int(lengths[fits].sum())
            if not between or ns <= 0:
                return
            step = ns / between
        self._fitted = between, ns
        self._counted_ns = _in_ms(step)

    # The place -------------------------------------------------------------------------------------------------------

    def _stretches(self, minutes: IntArray, firsts: IntArray) -> Iterator[tuple[int, int, int, int]]:
        """Rows in which nothing is missing: the first, the one after the last, and when the first may be, in ns."""
        step, tolerance = self.step_ns, self.tolerance_ns
        begin, low, high = 0, None, None
        for first, past in zip(firsts.tolist(), [*firsts[1:].tolist(), len(minutes)], strict=True):
            minute = int(minutes[first])
            least = minute - (first - begin) * step
            most = minute + _MINUTE_NS - 1 - (past - 1 - begin) * step
            if low is None or high is None:
                low, high = least, most
            elif max(low, least) - min(high, most) <= tolerance:
                low, high = max(low, least), min(high, most)
            else:
                yield begin, first, low, high
                begin, low, high = first, minute, minute + _MINUTE_NS - 1 - (past - 1 - first) * step
        if low is not None and high is not None:
            yield begin, len(minutes), low, high

    def _phase(self, low: int, high: int) -> int:
        """When a stretch begins: where the one before leads, or an hour from there (summer time), if it may."""
        if self._next_ns is None:
            return low
        least, most = sorted((low, high))
        if least - self.tolerance_ns <= self._next_ns <= most + self.tolerance_ns:
            return min(max(self._next_ns, least), most)
        for shift in (_HOUR_NS, -_HOUR_NS):
            if least - self.tolerance_ns <= self._next_ns + shift <= most + self.tolerance_ns:
                return self._next_ns + shift
        return low


def _in_ms(step: float) -> int:
    """A step in ns, to the millisecond: rows and minutes know no more."""
    return max(1, round(step / units.NS_PER_MS)) * units.NS_PER_MS


def _middle(rows: IntArray, lengths: IntArray) -> float:
    """The median step, by rows: stretches with a pause have few."""
    steps = lengths / rows
    order = np.argsort(steps, kind="stable")
    place = int(np.searchsorted(np.cumsum(rows[order]), rows.sum() / 2))
    return max(float(steps[order][place]), 1.0)
