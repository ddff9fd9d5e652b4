"""Whether 03/04 is in March or April, told by the step from one date to the next.

A tool that takes samples crosses midnight with its usual step: read in the wrong order, 03/04 and 04/04 lie a month
apart, or the clock goes back. So the order is the one under which more steps to another date are usual ones. What has
no usual step, a log of events, is in order of time: under the right order it does not turn round.
"""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

_USUAL_STEPS: Final = 10
"""A step this many times the usual one is still the tool's own: a slow sample, a moment without the processor."""
_STEP_WITHOUT_A_USUAL_S: Final = 25.0 * 3600
"""Where every date has one stamp only: up to a day (and the hour of autumn), as against the 28 of the other order."""


@dataclass
class DateOrder:
    """Takes every stamp of a file in its order, as the instant it is under either order."""

    is_regular: bool = True
    """Whether a tool took samples; otherwise things happened, and only their order counts."""
    _previous: tuple[float | None, float | None] | None = None
    _same_date_s: Counter[float] = field(default_factory=Counter)
    _to_another_date_s: list[tuple[float | None, float | None]] = field(default_factory=list)
    _told: tuple[int, bool | None] = (0, None)

    def step(self, month_first_s: float | None, day_first_s: float | None) -> None:
        """The next stamp, in seconds since 1970; None under an order in which there is no such date."""
        previous, self._previous = self._previous, (month_first_s, day_first_s)
        if previous is None or previous == self._previous:
            return
        month_first, day_first = _difference(month_first_s, previous[0]), _difference(day_first_s, previous[1])
        if month_first is not None and month_first == day_first:
            self._same_date_s[month_first] += 1
        else:
            self._to_another_date_s.append((month_first, day_first))

    def pause(self) -> None:
        """Another capture begins: the step to its first stamp is none."""
        self._previous = None

    @property
    def day_first(self) -> bool | None:
        """Whether the day is first; None when the steps do not tell."""
        known = len(self._to_another_date_s)
        if self._told[0] != known:
            self._told = (known, self._by_steps() if self.is_regular else self._by_turns())
        return self._told[1]

    def _by_steps(self) -> bool | None:
        usual = [step for step in self._same_date_s.elements() if step > 0]
        most = _USUAL_STEPS * statistics.median_high(usual) if usual else _STEP_WITHOUT_A_USUAL_S
        month, day = (
            sum(step is not None and 0 < step <= most for step in steps)
            for steps in zip(*self._to_another_date_s, strict=True)
        )
        return None if month == day else day > month

    def _by_turns(self) -> bool | None:
        month, day = (_turns_round(steps) for steps in zip(*self._to_another_date_s, strict=True))
        return None if month == day else month


def _difference(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _turns_round(steps: tuple[float | None, ...]) -> bool:
    """True for what neither only rises nor only falls; a log may have its newest event first."""
    return None in steps or (
        any(step is not None and step > 0 for step in steps) and any(step is not None and step < 0 for step in steps)
    )
