"""What refuses a target, and another process that has it open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from storscope.bench.safety import Outcome, demand, inspect, open_for_writing
from storscope.bench.safety.kernel import Kernel
from storscope.bench.safety.permission import OPTION
from storscope.domain.errors import TargetRefused
from tests.bench.safety.conftest import Rig


def refusals(path: Path) -> dict[str, bool]:
    """Names of the checks that refuse -> whether permission would lift them."""
    return {check.name: check.overridable for check in inspect(path).checks if check.outcome is Outcome.REFUSED}


def assert_refused_for_good(path: Path, *names: str) -> None:
    """Refused, by each of these checks, and with the right words typed just the same."""
    found = refusals(path)
    assert set(names) <= set(found), found
    assert not any(found[name] for name in names)
    wanted = demand(inspect(path).target, Kernel())
    assert wanted is not None
    for typed in (None, wanted.text):
        with pytest.raises(TargetRefused) as refusal:
            open_for_writing(path, permission=typed)
        assert OPTION not in str(refusal.value)


def alias_by_node(rig: Rig, device: Path) -> Path:
    node = rig.folder / "another-node"
    os.mknod(node, 0o60600, device.stat().st_rdev)
    return node


HOLD_OPEN = "import os, sys; fd = os.open(sys.argv[1], int(sys.argv[2])); print('open', flush=True); sys.stdin.read()"


class Other:
    """Another process that has something open until it is told to end."""

    def __init__(self, code: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Other:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "open\n"
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate()
