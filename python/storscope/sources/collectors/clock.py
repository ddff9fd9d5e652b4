"""The clocks of a collector, as an argument: tests hand in one of their own."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks and a way to wait."""

    def monotonic_ns(self) -> int:
        """Nobody sets it; only differences mean something."""

    def utc_ns(self) -> int:
        """Since 1970; may be set at any time."""

    def wait(self, until_ns: int, ended: threading.Event) -> bool:
        """Waits until the monotonic clock shows that, or until `ended`; whether it ended."""


class SystemClock:
    """The clocks of this host."""

    def monotonic_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def utc_ns(self) -> int:
        """CLOCK_REALTIME."""
        return time.time_ns()

    def wait(self, until_ns: int, ended: threading.Event) -> bool:
        """As the protocol says."""
        return ended.wait(max(0, until_ns - time.monotonic_ns()) / 1e9)
