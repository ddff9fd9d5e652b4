"""Intervals that are far longer than the others of a file: seldom real, so they are said."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.recorder import Recorder

_TIMES_THE_USUAL: Final = 1_000
_NS_PER_DAY: Final = 86_400 * units.NS_PER_S
_LEAST_EXCHANGED_DAYS: Final = 27
"""The next day is a month away, or nearly, when day and month are exchanged."""


@dataclass
class LongSteps:
    """Learns every interval of a file, in ns, and the instant at which it ends."""

    _lengths_ns: list[int] = field(default_factory=list)
    _longest: tuple[int, int] = (0, 0)

    def add(self, length_ns: int, end_ns: int) -> None:
        """The next interval, longer than nothing."""
        self._lengths_ns.append(length_ns)
        self._longest = max(self._longest, (length_ns, end_ns))

    def warn(self, recorder: Recorder) -> None:
        """Names the longest interval if it is more than a thousand times the median."""
        if not self._lengths_ns:
            return
        usual_ns = statistics.median_low(self._lengths_ns)
        length_ns, end_ns = self._longest
        if length_ns <= _TIMES_THE_USUAL * usual_ns:
            return
        count = sum(length > _TIMES_THE_USUAL * usual_ns for length in self._lengths_ns)
        many = "One interval is" if count == 1 else f"{count:,} intervals are"
        exchanged = ", or the dates are read in the wrong order (--day-first, --month-first)"
        recorder.warn(
            f"{many} more than {_TIMES_THE_USUAL:,} times the usual {units.format_duration(usual_ns)}; the longest is "
            f"{length_ns / _NS_PER_DAY:.3g} days and ends {units.datetime_from_ns(end_ns):%Y-%m-%d %H:%M:%S} UTC. Its "
            "means say little. The machine slept, its clock was set, or captures were joined"
            f"{exchanged if length_ns > _LEAST_EXCHANGED_DAYS * _NS_PER_DAY else ''}."
        )
