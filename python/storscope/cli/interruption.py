"""Ctrl-C while something is measured: the first ends it in good order, the second at once."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """Turns SIGINT and SIGTERM into a wish to stop while `gentle`, into KeyboardInterrupt otherwise.

    SIGTERM is handled alike, so that scratch files are removed then too. Only for the main thread. With `once`, signals
    after the first KeyboardInterrupt are ignored, so that nothing interrupts what the first one takes down.
    """

    def __init__(self, *, once: bool = False) -> None:
        self.gentle = False
        self._once = once
        self._raised = False
        self._wanted = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def is_wanted(self) -> bool:
        """Whether somebody wants the run to end. Being asked makes the next signal a gentle one."""
        self.gentle = True
        return self._wanted

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._once and self._raised:
            return
        if not self.gentle or self._wanted:
            self._raised = True
            raise KeyboardInterrupt
        self._wanted = True
