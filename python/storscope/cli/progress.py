"""Progress on standard error: the file being read, how far, and when it will be done."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SHOW_AFTER_S = 0.5


class ReadingProgress:
    """A callback for `import_paths` that draws a bar once a file takes longer than half a second.

    Nothing is drawn when standard error is no terminal.
    """

    def __init__(self) -> None:
        self._enabled = sys.stderr.isatty()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._name = ""
        self._started = time.monotonic()

    def __enter__(self) -> ReadingProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __call__(self, name: str, done_bytes: int, total_bytes: int) -> None:
        """Tells how much of a file has been read."""
        if not self._enabled:
            return
        if name != self._name:
            self.stop()
            self._name, self._started = name, time.monotonic()
        if self._bar is None:
            if time.monotonic() - self._started < _SHOW_AFTER_S:
                return
            self._start(total_bytes)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done_bytes)

    def _start(self, total_bytes: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._name[-50:], total=total_bytes)
        self._bar.start()

    def stop(self) -> None:
        """Takes the bar away; what is read next has a new one."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None
