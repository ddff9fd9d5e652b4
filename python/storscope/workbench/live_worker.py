"""A process that brings load for the live demonstration: opens a scratch file, then measures what it is told to.

    python -m storscope.workbench.live_worker

One JSON object a line. In: first what to open, then measurements; the end of the input is the end of the process, also
in the middle of a measurement, so that nothing outlives the demonstration. Out: `ready`, each `interval`, `done`, or
`error`. It is a process of its own so that the kernel counts its I/O apart.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from storscope.bench.figures import Interval
from storscope.bench.goals import FixedTime, default_figure
from storscope.domain.errors import StorscopeError
from storscope.domain.workload import Workload
from storscope.store import Store
from storscope.workbench.benchmarking import BenchSession, BenchSettings, bench_session


class _Commands:
    """What comes in, read on a thread of its own."""

    is_opening = False
    """Whether the end of the input must interrupt: filling a file asks nobody whether to go on."""

    def __init__(self) -> None:
        self.has_ended = threading.Event()
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def open_unless_ended(self) -> bool:
        """From now on the end of the input interrupts; False if it came before, when nothing was there to interrupt."""
        self.is_opening = True
        return not self.has_ended.is_set()

    def next(self) -> dict[str, Any] | None:
        """The next one; None at the end."""
        return self._lines.get()

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(json.loads(line))
        self.has_ended.set()
        self._lines.put(None)
        if self.is_opening:
            os.kill(os.getpid(), signal.SIGTERM)

    def interrupt(self, _number: int, _frame: object) -> None:
        """Handles SIGTERM: at most once, and not while the file is being removed."""
        if self.is_opening:
            self.is_opening = False
            raise SystemExit(0)


def _tell(**form: Any) -> None:
    print(json.dumps(form), flush=True)


def _interval(interval: Interval) -> None:
    whole = interval.all
    _tell(
        kind="interval", seconds=interval.duration_ns / 1e9, ops_per_s=interval.per_s(whole.ios), ios=whole.ios,
        bytes_per_s=interval.per_s(whole.bytes), latency_ns_mean=whole.response.mean_ns,
        latency_ns_p99=whole.response.quantile_ns(0.99),
    )  # fmt: skip


def _measure(session: BenchSession, command: dict[str, Any], name: str) -> None:
    workload = Workload.from_json(command["workload"])
    goal = FixedTime(command["duration_ns"], default_figure(workload), settles=False)
    benched = session.measure(workload, _interval, goal=goal, labels={"job": name})
    total = benched.outcome.total
    _tell(
        kind="done", run=benched.about.run, capture=benched.capture, status=benched.status,
        doubts=list(benched.doubts), ops_per_s=total.per_s(total.all.ios),
    )  # fmt: skip


def _work(commands: _Commands, opening: dict[str, Any]) -> None:
    name = opening["name"]
    Path("/proc/self/comm").write_text(name, encoding="ascii")
    workload = Workload.from_json(opening["workload"])
    settings = BenchSettings(
        duration_ns=1, seed=opening["seed"], size_bytes=opening["size_bytes"], interval_ns=opening["interval_ns"],
        shared=True,
    )  # fmt: skip
    store = Store.open(Path(opening["store"]))
    with bench_session(
        store, opening["directory"], workload, settings, told=lambda _: None, stop=commands.has_ended.is_set
    ) as session:
        commands.is_opening = False
        ready = session.target
        prefill = None if ready.prefill is None else ready.prefill.answer.value
        _tell(
            kind="ready", path=ready.name, devices=ready.under.nearest, fs_type=ready.under.fs_type,
            why_none=ready.under.why_none, direct=ready.direct, prefill=prefill,
        )  # fmt: skip
        while (command := commands.next()) is not None:
            _measure(session, command, name)


def main() -> int:
    """Works until its input ends. Exit code 2 after an error, which it has told."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    commands = _Commands()
    signal.signal(signal.SIGTERM, commands.interrupt)  # before `is_opening`, from when on it may come
    opening = commands.next()
    if opening is None:
        return 0
    try:
        if commands.open_unless_ended():
            _work(commands, opening)
    except StorscopeError as error:
        _tell(kind="error", message=error.message())
        return 2
    finally:
        commands.is_opening = False
        with contextlib.suppress(OSError):  # not empty while the other worker is still there
            Path(opening["directory"]).rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
