"""Ctrl-C, SIGTERM and SIGHUP: the first ends a command without a traceback, or a measurement in good order.

Of a measurement the second one ends at once. The exit code tells which signal came first.
"""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any, Final

_INTERRUPTIONS: Final = {
    signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL,
}  # fmt: skip
"""Signal -> what it does by itself."""


class FirstInterruption:
    """Ctrl-C, SIGTERM and SIGHUP interrupt once, and what is temporary goes with the command.

    While that is being told, another one would only end the ending with a traceback.
    """

    def __init__(self) -> None:
        self.has_come = False
        self._first: int | None = None

    @property
    def exit_code(self) -> int:
        """Of a command that was interrupted, as a shell tells it: 128 and the number of the first signal."""
        return 128 + (self._first or signal.SIGINT)

    def listen(self) -> None:
        """To those that are not ignored: who ignores one, for nohup, goes on to."""
        for number, usual in _INTERRUPTIONS.items():
            if signal.getsignal(number) is usual:
                signal.signal(number, self)

    def note(self, number: int) -> None:
        """One came, also to a measurement that ends in its own way."""
        self._first = self._first or number

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """Hears one; raises KeyboardInterrupt for the first."""
        self.note(number)
        if not self.has_come:
            self.has_come = True
            raise KeyboardInterrupt


class Interruption:
    """Turns SIGINT, SIGTERM and SIGHUP into a wish to stop while `gentle`, into KeyboardInterrupt otherwise.

    All alike, so that scratch files are removed also when a connection breaks off and its terminal is gone; SIGHUP
    stays ignored where it was, for nohup. Only for the main thread. With `once`, signals after the first
    KeyboardInterrupt are ignored, so that nothing interrupts what the first one takes down.
    """

    def __init__(self, *, once: bool = False) -> None:
        self.gentle = False
        self._once = once
        self._raised = False
        self._wanted = False
        self._before: dict[signal.Signals, Any] = {}
        self._terminals: list[int] = []

    def __enter__(self) -> Interruption:
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        self._terminals = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]
        for number in numbers:
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

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        outer = self._before.get(signal.Signals(number))
        if isinstance(outer, FirstInterruption):
            outer.note(number)
        if number == signal.SIGHUP:
            self._leave_terminals()
        if self._once and self._raised:
            return
        if not self.gentle or self._wanted:
            self._raised = True
            raise KeyboardInterrupt
        self._wanted = True

    def _leave_terminals(self) -> None:
        """What is still printed goes nowhere where the terminal is gone: EIO would keep the run from being stored."""
        gone = [descriptor for descriptor in self._terminals if not os.isatty(descriptor)]
        if gone:
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            for descriptor in gone:
                os.dup2(nowhere, descriptor)
            os.close(nowhere)
