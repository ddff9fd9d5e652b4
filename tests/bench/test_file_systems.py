"""What is told of files whose file system does something of its own: shares blocks, or moves what is overwritten."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from storscope.cli.main import run as storscope
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig, run

Made = Callable[[str], Path]
"""Makes a file system of that name and mounts it."""


@pytest.fixture
def made(data: Path) -> Iterator[Made]:
    with ExitStack() as stack:
        rig = Rig(data.parent, stack)

        def make(name: str) -> Path:
            device = rig.loop(rig.image(size_bytes=512 * MIB))
            run(f"mkfs.{name}", "-q", device)
            return rig.mount(device)

        yield make


def _doubts(data: Path, capsys: pytest.CaptureFixture[str], line: str, *arguments: str) -> str:
    """All doubts of a short run of one line, closed loop."""
    workload = data.parent / "w.toml"
    workload.write_text(f'name = "w"\n[[stream]]\noutstanding = 1\nline = [{{ {line} }}]\n')
    given = ["bench", *arguments, "--workload", str(workload), "--duration", "300ms", "--json"]
    assert storscope([*given, "--store", str(data.parent / "store")]) == 0
    return " ".join(json.loads(capsys.readouterr().out)["doubts"])


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.xfs")
@pytest.mark.parametrize(("share", "is_told"), [(0.0, True), (0.5, True), (1.0, False)])
def test_blocks_that_are_shared_with_a_copy_are_told_where_they_are_written(
    made: Made, data: Path, capsys: pytest.CaptureFixture[str], share: float, is_told: bool
) -> None:
    file = made("xfs") / "file"
    file.write_bytes(os.urandom(8 * MIB))
    run("cp", "--reflink=always", file, file.with_name("copy"))
    line = f'size = "4k", read_share = {share}'
    allowed = ("--overwrite", f"{file}:{8 * MIB}") if share < 1 else ()
    doubts = _doubts(data, capsys, line, str(file), *allowed)
    assert ("8 MiB of the file are shared with a snapshot or a copy: each first write" in doubts) is is_told
