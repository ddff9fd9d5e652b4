"""By how much the system's clock was set while something was measured, for what is told by it over hours.

A clock that is only slewed goes on with the one that counts from the system's start, suspended times included
(CLOCK_BOOTTIME, clock_gettime(2)). What the one has gone and the other has not was set: by NTP after a start of the
system, by an administrator, or by a hypervisor after a pause.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from storscope.domain.units import NS_PER_S

_LEAST_NS: Final = NS_PER_S
"""Less is no more than what a start may be late."""


def _steady_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class ClockSteps:
    """Looks from when it is made."""

    def __init__(
        self,
        before_ns: int = 0,
        wall_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = _steady_ns,
    ) -> None:
        """By `before_ns` it had been set before."""
        self._wall_ns, self._steady_ns = wall_ns, steady_ns
        self._start_ns = wall_ns() - steady_ns() - before_ns

    def so_far_ns(self) -> int:
        """By how much it was set forward, or, below 0, back; 0 for less than a second."""
        set_ns = self._wall_ns() - self._steady_ns() - self._start_ns
        return set_ns if abs(set_ns) >= _LEAST_NS else 0
