"""A process that stood still is not taken for a slow device."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.figures import Outcome
from storscope.bench.samples import Part, Sample, Samples
from storscope.bench.standstill import Standstills
from storscope.domain.units import NS_PER_MS
from storscope.store import Store

_OUTCOME = Outcome({"valid": True, "invalid_streams": []}, ("Another doubt.",), None)


def _ticked(*pauses_ms: int) -> Standstills:
    seen, now_ns = Standstills(7), 7
    for pause in pauses_ms:
        now_ns += pause * NS_PER_MS
        seen.tick(now_ns)
    return seen


def test_ticks_in_time_and_a_little_late_say_nothing() -> None:
    assert _ticked(*[100] * 50, 350, *[100] * 50).told(_OUTCOME, Samples()) is _OUTCOME


def test_a_pause_is_a_doubt_with_its_time_and_length() -> None:
    told = _ticked(*[100] * 40, 3100, *[100] * 1000).told(_OUTCOME, Samples())
    assert told.is_valid
    assert told.doubts[0] == "Another doubt."
    assert "stood still for 3.00 s, first 4.10 s into the run" in told.doubts[1]


def test_pauses_that_are_much_of_the_run_make_it_invalid() -> None:
    told = _ticked(*[100] * 40, 3100, 1100, *[100] * 20).told(_OUTCOME, Samples())
    assert not told.is_valid
    assert not told.is_valid_of(0), "all streams stood still"
    assert "stood still for 3.00 s, in all 2 times and 4.00 s" in told.doubts[1]


@pytest.mark.parametrize(("at_ms", "is_still"), [(5000, False), (4000, True), (7250, True)])
def test_a_thread_that_was_late_while_the_generator_ran_says_nothing(at_ms: int, is_still: bool) -> None:
    """The pause is from 4.1 s to 7.1 s."""
    busy = Sample(at_ms * NS_PER_MS, 125 * NS_PER_MS, Part(ios=1, bytes=4096))
    told = _ticked(*[100] * 40, 3100).told(_OUTCOME, Samples([busy]))
    assert (len(told.doubts) == 2) is is_still


_CLOSED = """
name = "one"
[[stream]]
outstanding = 1
[[stream.line]]
size = "4k"
"""


def test_a_closed_loop_that_was_stopped_says_so(data: Path, tmp_path: Path) -> None:
    """Ctrl-Z and fg."""
    (tmp_path / "one.toml").write_text(_CLOSED)
    store = tmp_path / "store"
    options = ("--workload", str(tmp_path / "one.toml"), "--size", "8M", "--duration", "8s", "--store", str(store))
    command = (sys.executable, "-m", "storscope", "bench", str(data), *options)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not any(spool.read_bytes().count(b"\n") > 1 for spool in store.glob(".bench-*.jsonl")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(process.pid, signal.SIGCONT)
        said: Any = process.communicate(timeout=120)[0]
    assert "INVALID" in said
    assert "This process stood still for" in said
    assert Store.open(store).query("SELECT status FROM runs").to_pylist() == [{"status": "invalid"}]
