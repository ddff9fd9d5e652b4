"""Times on a local clock, placed by the zone and by their order.

Where summer time ends an hour comes twice, and a stamp alone does not say which of the two it means. A stamp that goes
back within that hour is of the second pass, and so are those that follow. Beware: a capture that begins within the
hour, or a log with few lines in it, does not tell; it is placed in the first pass.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units

_NS_PER_MINUTE: Final = 60 * units.NS_PER_S
_JUMBLED_NS: Final = 5 * _NS_PER_MINUTE
"""Lines of a log may stand out of order by less."""
_SELDOM_NS: Final = 30 * _NS_PER_MINUTE
"""Samples this far apart may fall on the same minute of both passes."""


@dataclass
class LocalClock:
    """Remembers the latest instant that it placed."""

    zone: dt.tzinfo
    jumbled: bool = False
    """For logs: lines may share a stamp, or stand a little out of order."""
    previous_ns: int | None = None
    abbreviations: set[str] = field(default_factory=set)
    """What the zone is called at the times that had an abbreviation."""
    _step_ns: int = 0
    _has_repeated: bool = False

    @property
    def words(self) -> str:
        """What to add to the words about the clock where stamps were found in the second pass."""
        return "; the hour that autumn repeats is told by the order of its stamps" if self._has_repeated else ""

    def instant(self, moment: dt.datetime, abbreviation: str | None = None) -> int:
        """The instant of a time, ns since 1970. A naive one is on this clock, perhaps with CET or CEST beside it."""
        if moment.tzinfo is not None:
            return units.ns_from_datetime(moment)
        first, second = passes(moment, self.zone)
        names = [moment.replace(tzinfo=self.zone, fold=fold).tzname() or "" for fold in (0, 1)] if abbreviation else []
        self.abbreviations.update(names)
        if names.count(abbreviation or "") == 1:
            first = second = (first, second)[names.index(abbreviation or "")]
        return self.place(first, second)

    def place(self, first_ns: int, second_ns: int) -> int:
        """Which of two instants a stamp means that reads the same in both passes of an hour; one, if they are equal."""
        is_second = second_ns > first_ns and self._goes_back(first_ns)
        self._has_repeated |= is_second
        chosen_ns = second_ns if is_second else first_ns
        if self.previous_ns is not None and chosen_ns > self.previous_ns:
            self._step_ns = chosen_ns - self.previous_ns
        self.previous_ns = chosen_ns
        return chosen_ns

    def _goes_back(self, first_ns: int) -> bool:
        if self.previous_ns is None:
            return False
        back_ns = self.previous_ns - first_ns
        if self.jumbled:
            return back_ns > _JUMBLED_NS
        return back_ns > 0 or (back_ns == 0 and self._step_ns >= _SELDOM_NS)


def passes(moment: dt.datetime, zone: dt.tzinfo) -> tuple[int, int]:
    """The instants that a naive time may mean: the first pass of a repeated hour and the second, or the same twice."""
    first = units.ns_from_datetime(moment.replace(tzinfo=zone, fold=0))
    second = units.ns_from_datetime(moment.replace(tzinfo=zone, fold=1))
    # A time that the spring skips has two readings as well, the later one first.
    return first, max(first, second)
