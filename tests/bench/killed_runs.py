"""Runs that are killed with all that belongs to them, as where a container ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

_PATIENCE_S = 120


def kill_with_its_watcher(process: subprocess.Popen[Any]) -> None:
    """Ends a run, and first the process beside it that would remove its scratch file a moment later."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
    (watcher,) = [child for child in children if b"afterwards" in Path(f"/proc/{child}/cmdline").read_bytes()]
    os.kill(int(watcher), signal.SIGKILL)
    process.kill()
    process.communicate(timeout=_PATIENCE_S)
