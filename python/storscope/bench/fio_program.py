"""The fio that is installed: where it is, which version, and which of its I/O engines can be used here.

Supports 3.6 and later, where json+ has the buckets of the total latency; checked with 3.33. Refuses older ones.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass

from storscope.bench.ring import ring_refused
from storscope.domain.errors import MissingTool

_OLDEST = (3, 6)
_PATIENCE_S = 20
_HOW_TO_GET = (
    "Install it: apt install fio (Debian, Ubuntu), dnf install fio (Fedora, RHEL), zypper install fio (SUSE), "
    "apk add fio (Alpine), brew install fio (Homebrew). Or measure without it: leave out --engine fio."
)


@dataclass(frozen=True)
class FioProgram:
    """An fio that can be run."""

    path: str
    version: str
    """Without the prefix, like '3.33'."""


def find_fio() -> FioProgram:
    """The fio of the search path. Raises MissingTool, with how to get it, if there is none or it is too old."""
    path = shutil.which("fio")
    if path is None:
        raise MissingTool("the program fio", "none in the search path", hint=_HOW_TO_GET)
    said = _said(path, "--version")
    match = re.match(r"fio-((\d+)\.(\d+)\S*)", said)
    if match is None:
        raise MissingTool("fio, by what it says of its version", repr(said[:60]), where=path, hint=_HOW_TO_GET)
    if (int(match[2]), int(match[3])) < _OLDEST:
        raise MissingTool(f"fio {_OLDEST[0]}.{_OLDEST[1]} or later", match[1], where=path, hint=_HOW_TO_GET)
    return FioProgram(path, match[1])


def ioengine_of(fio: FioProgram) -> tuple[str, str | None]:
    """The I/O engine that our own is closest to, and why it is not io_uring, if so."""
    built = set(_said(fio.path, "--enghelp").split())
    refused = ring_refused()
    if "io_uring" in built and refused is None:
        return "io_uring", None
    reason = refused or "this fio was built without io_uring"
    return ("libaio" if "libaio" in built else "psync"), reason


def _said(path: str, option: str) -> str:
    try:
        done = subprocess.run(
            [path, option], capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingTool("a fio that runs", str(error), where=path, hint=_HOW_TO_GET) from error
    return done.stdout.strip() or done.stderr.strip()
