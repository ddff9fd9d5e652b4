"""Native work that takes long and hears no signal: done beside the main thread, which goes on hearing them.

DuckDB looks for signals only while the calling thread itself works on the answer. While that waits for another one of
its threads, Ctrl-C would wait for the answer, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

_Answer = TypeVar("_Answer")

_PATIENCE_S = 0.1
"""So often a wait is looked up from: where a library takes signals its own way, as Polars, none ends it."""
_MOST_PATIENCE_S = 5.0
"""So long what was told to stop may take for it. Then it is left alone, and ends with the process."""


def heard_meanwhile(work: Callable[[], _Answer], stop: Callable[[], None]) -> _Answer:
    """What `work` returns, or raises. Where a signal raises meanwhile, `stop` is called, and that is raised.

    In any other thread than the main one, which alone hears signals, it is simply done.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    answers: list[_Answer] = []
    errors: list[BaseException] = []
    is_over = threading.Event()  # a join that a signal has ended takes the thread for ended, too
    turn = threading.Lock()
    """Whose it is first: the work's, that begins, or the signal's, after which it does not."""

    def do() -> None:
        if not turn.acquire(blocking=False):
            return
        try:
            answers.append(work())
        except BaseException as error:  # raised where it is waited for
            errors.append(error)
        finally:
            is_over.set()

    try:
        threading.Thread(target=do, daemon=True).start()  # where signals are heard, too
        while not is_over.wait(_PATIENCE_S):
            pass
    except BaseException:
        if not turn.acquire(blocking=False):
            _stop(stop, is_over)
        raise
    if errors:
        raise errors[0]
    return answers[0]


def _stop(stop: Callable[[], None], is_over: threading.Event) -> None:
    """Again and again: what has not begun yet does not hear it."""
    for _ in range(round(_MOST_PATIENCE_S / _PATIENCE_S)):
        stop()
        if is_over.wait(_PATIENCE_S):
            return
