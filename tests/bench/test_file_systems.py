"""What is told of files whose file system does something of its own: shares blocks, or moves what is overwritten."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from storscope.cli.main import run as storscope
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig, run

Made = Callable[..., Path]
"""Makes a file system of that name and mounts it with these options."""


@pytest.fixture
def made(data: Path) -> Iterator[Made]:
    with ExitStack() as stack:
        rig = Rig(data.parent, stack)

        def make(name: str, *options: str) -> Path:
            device = rig.loop(rig.image(name, size_bytes=512 * MIB))
            run(f"mkfs.{name}", "-q", device)
            return rig.mount(device, *options)

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


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.btrfs")
@pytest.mark.parametrize(
    ("line", "is_cached"),
    [("align = 512", True), ('align = "4k"', False), ("align = 512, random_share = 0.0", False)],
)
def test_what_btrfs_takes_through_the_page_cache_is_told(
    made: Made, data: Path, capsys: pytest.CaptureFixture[str], line: str, is_cached: bool
) -> None:
    """Before the run as well. No I/O fails, and O_DIRECT is set."""
    mount = made("btrfs")
    file = mount / "file"
    file.write_bytes(os.urandom(8 * MIB))
    doubts = _doubts(data, capsys, f'size = "8k", {line}', str(file))
    assert ("no multiples of 4 KiB, the block of btrfs, go through the page cache (512 B)" in doubts) is is_cached
    assert storscope(["bench", str(file), "--workload", str(data.parent / "w.toml"), "--dry-run"]) == 0
    assert ("this workload would go through the page cache" in capsys.readouterr().out) is is_cached


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.btrfs")
@pytest.mark.needs("mkfs.xfs")
def test_it_is_told_of_the_target_alone_that_such_ios_are_sent_to(
    made: Made, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [made(name) / "file" for name in ("btrfs", "xfs")]
    for file in files:
        file.write_bytes(os.urandom(8 * MIB))
    streams = (
        f'[[stream]]\noutstanding = 1\ntargets = [{index}]\nline = [{{ size = "8k", align = "{align}" }}]\n'
        for index, align in enumerate(("4k", "512"))
    )
    workload = data.parent / "two.toml"
    workload.write_text('name = "two"\n' + "".join(streams))
    given = ["bench", *map(str, files), "--workload", str(workload), "--duration", "300ms", "--json"]
    assert storscope([*given, "--store", str(data.parent / "store")]) == 0
    assert "no multiples of 4 KiB" not in capsys.readouterr().out


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.btrfs")
def test_the_page_cache_is_named_where_compressed_data_is_read_from_it(
    made: Made, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """btrfs reads compressed extents through it, past which it was asked (btrfs_dio_iomap_begin)."""
    file = made("btrfs", "-o", "compress-force=zstd") / "file"
    file.write_bytes(b"compressible " * (4 * MIB // 13))
    doubts = _doubts(data, capsys, 'size = "4k"', str(file), "--size", "2m")
    assert "its device transfers another number of bytes, and reads may go through the page cache." in doubts
    assert re.search(r"compresses or encrypts [^:;]* of the file, and may read that through the page cache", doubts)
