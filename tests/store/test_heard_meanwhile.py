"""Ctrl-C while the engine works: it is what is raised, whatever the engine was at, and nothing goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from storscope.store.engine import Engine
from storscope.store.heard_meanwhile import heard_meanwhile
from tests.support.cases import make_store

_HOURS = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000000) b"


def _interrupted_in_start(*, has_begun: bool) -> Callable[[threading.Thread], None]:
    start = threading.Thread.start

    def begin(thread: threading.Thread) -> None:
        if has_begun:
            start(thread)
        raise KeyboardInterrupt

    return begin


def test_work_that_has_just_begun_is_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python waits for a thread to begin, and hears signals there."""
    stopped, ended, begun = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        stopped.wait(60)
        ended.set()

    start = _interrupted_in_start(has_begun=True)

    def begin(thread: threading.Thread) -> None:
        try:
            start(thread)
        finally:
            assert begun.wait(60)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(threading.Thread, "start", begin)
        heard_meanwhile(work, stopped.set)
    assert ended.is_set()


def test_work_that_has_not_begun_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[None] = []
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(threading.Thread, "start", _interrupted_in_start(has_begun=False))
        heard_meanwhile(lambda: None, lambda: stops.append(None))
    assert stops == []


def test_ctrl_c_while_a_store_is_looked_at_first_is_what_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_for_hours(_: Engine, connection: Any) -> None:
        connection.execute(_HOURS).fetchall()

    store = make_store(tmp_path / "store", lambda _: None)
    monkeypatch.setattr(Engine, "_check_rows", look_for_hours)
    with pytest.raises(KeyboardInterrupt):
        _interrupt_soon(lambda: store.query("SELECT 1"))


def test_a_question_that_does_not_end_in_time_does_not_hide_what_is_raised(tmp_path: Path) -> None:
    """An engine that is still at it refuses to be closed."""
    store = make_store(tmp_path / "store", lambda _: None)
    store.query("SELECT 1")
    connection = store._engine._connection  # type: ignore[union-attr]
    assert connection is not None

    def ask() -> None:
        try:
            connection.execute(_HOURS)
        except Exception:
            ended.set()

    ended = threading.Event()
    threading.Thread(target=ask, daemon=True).start()
    time.sleep(0.5)
    store.forget()
    while not ended.wait(0.1):
        connection.interrupt()


def _interrupt_soon(ask: Callable[[], object]) -> None:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    ask()
