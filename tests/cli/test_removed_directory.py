"""Commands that are started in a directory that was removed since: a job that was cleaned up, another terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from storscope.cli.commands.demo import examples_folder

_IDLE_PORT = examples_folder() / "equallogic"
_GO = "Go to another directory, or there again if it was made anew.\n"
_SAID = f"error: the working directory: expected one that is there, found that it was removed.\n  {_GO}"


def _run(tmp_path: Path, arguments: str) -> subprocess.CompletedProcess[str]:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "{sys.executable}" -P -m storscope {arguments}'
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [f'diagnose "{_IDLE_PORT}"', f'import "{_IDLE_PORT}"', "store info", "workload convert oltp --to toml -o a.toml"],
)
def test_what_is_missing_is_told(tmp_path: Path, arguments: str) -> None:
    done = _run(tmp_path, arguments)
    assert done.returncode == 2
    assert done.stderr.endswith(_SAID)


def test_a_relative_name_that_leads_nowhere_is_told_with_the_reason(tmp_path: Path) -> None:
    done = _run(tmp_path, "compare before.csv after.csv")
    assert done.returncode == 2
    assert done.stderr.startswith("error: expected a file, folder, archive or store")
    assert done.stderr.endswith(f"  The directory you are in was removed. {_GO}")


def test_what_needs_no_place_is_done(tmp_path: Path) -> None:
    assert _run(tmp_path, "rules").returncode == 0
