"""The demonstration's side of a process that brings load (live_worker)."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from storscope.domain.errors import StorscopeError
from storscope.domain.workload import Workload

_T = TypeVar("_T")
_PATIENCE_S = 0.05
_FAREWELL_S = 20.0
"""How long a process may take to remove its scratch file; on a slow disk that is many extents."""


@dataclass(frozen=True)
class Seen:
    """An interval of a worker's measurement."""

    at_s: float
    """When it was told, by the monotonic clock."""
    ios: int
    ops_per_s: float
    bytes_per_s: float
    latency_ns_mean: float | None
    latency_ns_p99: float | None


@dataclass(frozen=True)
class Done:
    """A measurement that is in the store."""

    run: str
    capture: str
    status: str
    doubts: tuple[str, ...]
    ops_per_s: float


class Worker:
    """A process with an open scratch file. Leaving the `with` ends it and waits until it has cleaned up."""

    def __init__(self, opening: Mapping[str, Any]) -> None:
        self.name = str(opening["name"])
        self.seen: list[Seen] = []
        self.ready: Mapping[str, Any] | None = None
        self._done: Done | None = None
        self._error: str | None = None
        # A session of its own: Ctrl-C on the terminal is for the demonstration, which then ends this process.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "storscope.workbench.live_worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._listen, self._read_errors)]
        for thread in self._threads:
            thread.start()
        self._errors: list[str] = []
        self._send(opening)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Ends it, in good order if it lets itself; what it then leaves is removed at the next start."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(_FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def wait_ready(self) -> Mapping[str, Any]:
        """Until its scratch file is filled."""
        return self._until(lambda: self.ready)

    def start(self, workload: Workload, duration_s: float) -> None:
        """Begins a measurement."""
        self._done, self.seen = None, []
        self._send({"workload": workload.to_json(), "duration_ns": round(duration_s * 1e9)})

    def wait_done(self, meanwhile: Callable[[], None] = lambda: None) -> Done:
        """Until the measurement is in the store."""
        return self._until(lambda: self._done, meanwhile)

    def check(self) -> None:
        """Raises StorscopeError if it failed or is gone."""
        if self._error is not None:
            raise StorscopeError(self._error.removesuffix("."), where=self.name)
        if self._process.poll() is not None:
            said = " ".join(self._errors[-3:]).strip() or f"exit code {self._process.returncode}"
            raise StorscopeError(f"a process that brings the load of the {self.name}", said)

    def latest(self) -> Seen | None:
        """The latest interval of a measurement under way."""
        return self.seen[-1] if self.seen and self._done is None else None

    def _until(self, asked: Callable[[], _T | None], meanwhile: Callable[[], None] = lambda: None) -> _T:
        while (answer := asked()) is None:
            self.check()
            meanwhile()
            time.sleep(_PATIENCE_S)
        return answer

    def _send(self, form: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(form) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.check()
            raise

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            form = json.loads(line)
            kind = form.pop("kind")
            if kind == "interval":
                form.pop("seconds")
                self.seen.append(Seen(time.monotonic(), **form))
            elif kind == "done":
                self._done = Done(**{**form, "doubts": tuple(form["doubts"])})
            elif kind == "ready":
                self.ready = form
            else:
                self._error = form["message"]

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line)
