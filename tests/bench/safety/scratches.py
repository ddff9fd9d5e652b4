"""Scratch files of runs that were killed, and file systems that lack something."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.safety import Journal, Swept, sweep
from storscope.bench.safety import ownership as ownership_module
from storscope.bench.safety import scratch as scratch_module
from storscope.bench.safety.ownership import Record
from storscope.bench.safety.processes import ProcessId

DEAD = ProcessId(2**22 + 1, 1, "an earlier boot")
"""A number above the largest the kernel gives (PID_MAX_LIMIT, linux/threads.h)."""

CRASH = """
import os, sys
from storscope.bench.safety import create
scratch = create(sys.argv[1], 1 << 20, keep=len(sys.argv) > 2)
os.pwrite(scratch.descriptor, b"x" * 4096, 0)
print(scratch.path, flush=True)
sys.stdin.read()
"""


def crash(folder: Path, *options: str) -> Path:
    """A run that is killed with its scratch file open."""
    process = subprocess.Popen(
        [sys.executable, "-c", CRASH, str(folder), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return path


def outcomes() -> dict[str, Swept]:
    return {leftover.path: leftover.outcome for leftover in sweep()}


def only_record(journal: Journal) -> Record:
    (record,) = journal.records()
    return record


def abandoned(folder: Path, journal: Journal) -> tuple[Path, Record]:
    """A scratch file whose process has ended, with its record."""
    path = crash(folder)
    return path, only_record(journal)


def without_nameless_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """As NFS, FAT and old kernels answer."""
    real = os.open

    def limited(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return real(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", limited)


def without_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As FAT and old tmpfs answer."""

    def refuse(*arguments: Any) -> bytes:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "setxattr", refuse)
    monkeypatch.setattr(os, "getxattr", refuse)


def without_birth_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_module, "born_ns", lambda descriptor: None)
    monkeypatch.setattr(ownership_module, "born_ns", lambda descriptor: None)
