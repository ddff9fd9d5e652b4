"""Whether this process ran throughout a measurement, or stood still: Ctrl-Z, a frozen cgroup, a paused machine.

An I/O that was in flight meanwhile is seen to complete only afterwards. In an open loop the arrivals that were missed
show it; a closed loop has none, and the pause would look like the device's. A thread that ticks is late by as much. It
may be late on its own, for want of the interpreter: if I/Os completed meanwhile, the generator ran.

Beware: half a second is the shortest that is told, and what stops CLOCK_MONOTONIC too (suspend) is not seen.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from storscope.bench.figures import Outcome
from storscope.bench.samples import Samples
from storscope.domain.units import NS_PER_MS, format_ratio, format_span

_TICK_NS = 100 * NS_PER_MS
_LATE_NS = 500 * NS_PER_MS
_MARGIN_NS = 50 * NS_PER_MS
_INVALID_RATIO = 0.05
"""Of the run: throughput is wrong by as much, and so is every figure of what was in flight."""


@dataclass
class Standstills:
    """When a thread that wakes every 0.1 s did not."""

    began_ns: int
    found: list[tuple[int, int]] = field(default_factory=list)
    """Begin, from the start of the run on, and length in ns."""
    _last_ns: int = field(init=False)

    def __post_init__(self) -> None:
        self._last_ns = self.began_ns

    def tick(self, now_ns: int) -> None:
        """The thread is awake."""
        late_ns = now_ns - self._last_ns - _TICK_NS
        if late_ns >= _LATE_NS:
            self.found.append((self._last_ns + _TICK_NS - self.began_ns, late_ns))
        self._last_ns = now_ns

    def told(self, outcome: Outcome, samples: Samples) -> Outcome:
        """The outcome with the doubt; invalid if it was much of the run."""
        found = [one for one in self.found if not _has_ios(samples, *one)]
        if not found:
            return outcome
        still_ns, run_ns = sum(length for _, length in found), max(1, self._last_ns - self.began_ns)
        first_ns, longest_ns = found[0][0], max(length for _, length in found)
        often = "" if len(found) == 1 else f", in all {len(found)} times and {format_span(still_ns)}"
        doubt = (
            f"This process stood still for {format_span(longest_ns)}{often}, first {format_span(first_ns)} into the "
            f"run: it was stopped or frozen, or had no CPU ({format_ratio(still_ns / run_ns)} of the time). What was "
            "in flight then looks slow, and that is not the device. Measure again, undisturbed."
        )
        is_much = still_ns >= _INVALID_RATIO * run_ns
        of_all = {"valid": False, "latency_bound": None, "invalid_streams": None}
        result = {**outcome.result, **of_all} if is_much else outcome.result
        return replace(outcome, result=result, doubts=(*outcome.doubts, doubt))


def _has_ios(samples: Samples, start_ns: int, length_ns: int) -> bool:
    """Whether any completed within that time, its margins left out: the run counts from a moment later."""
    inside = samples.between(start_ns + _MARGIN_NS, start_ns + length_ns - _MARGIN_NS)
    return any(sample.part(None).ios for sample in inside)


@contextmanager
def standstills() -> Iterator[Standstills]:
    """Watches from now on, until the end."""
    seen, end = Standstills(time.monotonic_ns()), threading.Event()

    def watch() -> None:
        while not end.wait(_TICK_NS / 1e9):
            seen.tick(time.monotonic_ns())

    thread = threading.Thread(target=watch, name="standstill", daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        end.set()
        thread.join()
