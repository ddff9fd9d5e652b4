"""Where a filter forbids an io_uring, or only its use, I/Os are made by threads; who asked for one hears it first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from storscope.bench.ring import ring_refused
from tests.bench.forbidding import IO_URING_ENTER, IO_URING_REGISTER, IO_URING_SETUP

_FORBIDDING = str(Path(__file__).parent / "forbidding.py")
_BENCH = ("-m", "storscope", "bench", "data", "--workload", "oltp", "--size", "8m", "--duration", "200ms")
_CALLS = pytest.mark.parametrize("call", [IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER])


def bench_where_forbidden(folder: Path, call: int, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "data").mkdir()
    command = [sys.executable, _FORBIDDING, str(call), *_BENCH, "--store", "store", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@_CALLS
def test_where_a_ring_is_forbidden_threads_measure_and_say_why(tmp_path: Path, call: int) -> None:
    done = bench_where_forbidden(tmp_path, call)
    assert done.returncode == 0, done.stderr
    assert "threads (io_uring is not available: device: io_uring_" in done.stdout
    assert "Operation not permitted" in done.stdout


@_CALLS
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_who_asks_for_a_forbidden_ring_hears_it_before_anything_is_written(
    tmp_path: Path, call: int, options: tuple[str, ...]
) -> None:
    done = bench_where_forbidden(tmp_path, call, "--ioengine", "io_uring", *options)
    assert done.returncode == 2
    assert "for --ioengine io_uring, found io_uring is not available" in done.stderr
    assert "leave --ioengine out, or choose --ioengine threads" in done.stderr
    assert "Filling" not in done.stderr
    assert not (tmp_path / "store").exists()


def test_where_a_ring_is_allowed_nothing_is_said() -> None:
    assert ring_refused() is None
