"""Readings at a steady interval, on a thread of its own."""

from __future__ import annotations

import threading
from types import TracebackType

from storscope.domain.units import NS_PER_S
from storscope.sources.collectors.kernel_counters import KernelCounters


class Background:
    """Takes readings while its `with` lasts: one at once, one each interval, one at the end.

    Until it ended, the recorder of the counters belongs to its thread. What goes wrong there is raised at the end.
    """

    def __init__(self, counters: KernelCounters, interval_ns: int = NS_PER_S) -> None:
        self._counters, self._interval_ns = counters, interval_ns
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="storscope-collector", daemon=True)

    def __enter__(self) -> Background:
        self._counters.sample()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error

    def watch_process(self, pid: int) -> None:
        """Reads that process's counters too, from the next reading on."""
        self._counters.processes.append(pid)

    def _run(self) -> None:
        try:
            self._sample_on_time()
        except Exception as error:
            self._error = error

    def _sample_on_time(self) -> None:
        clock, interval = self._counters.clock, self._interval_ns
        origin = clock.monotonic_ns()
        tick = 1
        while not clock.wait(origin + tick * interval, self._ended):
            self._counters.sample()
            passed = max(tick, (clock.monotonic_ns() - origin) // interval)
            self._counters.recorder.omit("readings that were missed; their intervals are longer", passed - tick)
            tick = passed + 1
        self._counters.sample()
