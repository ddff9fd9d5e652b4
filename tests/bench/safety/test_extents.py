"""The extent map tells written from unwritten, holes and what is not yet on the device."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.safety import extents
from storscope.bench.safety.extents import Extent, ExtentMap, Flag
from storscope.domain.units import KIB, MIB
from tests.bench.safety.conftest import Rig, run


def write(path: Path, at: int, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        os.pwrite(descriptor, content, at)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@pytest.fixture
def ext4(rig: Rig) -> Path:
    return rig.ext4(rig.loop(rig.image(size_bytes=256 * MIB)))


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.needs("fallocate")
class TestOnExt4:
    def test_a_written_file_is_fully_written(self, ext4: Path) -> None:
        write(ext4 / "file", 0, os.urandom(MIB))
        seen = extents(ext4 / "file")
        assert (seen.source, seen.written_bytes, seen.unwritten_bytes, seen.hole_bytes) == ("FIEMAP", MIB, 0, 0)
        assert seen.is_fully_written
        assert all(extent.physical for extent in seen.extents)

    def test_preallocated_space_is_unwritten(self, ext4: Path) -> None:
        run("fallocate", "--length", str(4 * MIB), ext4 / "file")
        write(ext4 / "file", MIB, os.urandom(MIB))
        seen = extents(ext4 / "file")
        assert (seen.written_bytes, seen.unwritten_bytes, seen.hole_bytes) == (MIB, 3 * MIB, 0)
        assert seen.is_fully_written is False

    def test_a_sparse_file_is_holes(self, ext4: Path) -> None:
        write(ext4 / "file", 8 * MIB, os.urandom(64 * KIB))
        seen = extents(ext4 / "file")
        assert (seen.written_bytes, seen.hole_bytes) == (64 * KIB, 8 * MIB)
        assert seen.is_fully_written is False

    def test_what_is_still_in_memory_is_delayed_until_asked_to_sync(self, ext4: Path) -> None:
        (ext4 / "file").write_bytes(os.urandom(MIB))
        assert extents(ext4 / "file", sync=True).is_fully_written
        with (ext4 / "file").open("ab") as file:
            file.write(os.urandom(MIB))
            file.flush()
            seen = extents(ext4 / "file")
            assert seen.delayed_bytes == MIB
            assert not seen.is_fully_written
        seen = extents(ext4 / "file", sync=True)
        assert (seen.delayed_bytes, seen.written_bytes) == (0, 2 * MIB)

    def test_a_map_longer_than_one_call_is_read_whole(self, ext4: Path) -> None:
        with (ext4 / "file").open("wb") as file:
            for index in range(1200):
                file.seek(index * 16 * KIB)
                file.write(b"x" * 4096)
            os.fsync(file.fileno())
        seen = extents(ext4 / "file")
        assert len(seen.extents) == 1200
        assert seen.written_bytes == 1200 * 4096

    def test_bytes_after_the_end_do_not_count(self, ext4: Path) -> None:
        write(ext4 / "file", 0, b"x" * 1000)
        run("fallocate", "--keep-size", "--length", str(4 * MIB), ext4 / "file")
        seen = extents(ext4 / "file")
        assert (seen.size_bytes, seen.written_bytes, seen.unwritten_bytes, seen.hole_bytes) == (1000, 1000, 0, 0)


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.btrfs")
def test_btrfs_tells_compressed_and_shared_extents(rig: Rig) -> None:
    device = rig.loop(rig.image(size_bytes=320 * MIB))
    run("mkfs.btrfs", "-q", device)
    point = rig.mount(device, "-o", "compress-force=zstd")
    write(point / "file", 0, b"compressible " * (MIB // 13))
    run("cp", "--reflink=always", point / "file", point / "clone")
    seen = extents(point / "file", sync=True)
    assert seen.encoded_bytes
    assert seen.shared_bytes


def test_an_empty_file_has_an_empty_map(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    seen = extents(tmp_path / "empty")
    assert (seen.extents, seen.size_bytes, seen.hole_bytes) == ((), 0, 0)


def test_without_fiemap_holes_are_known_and_the_rest_is_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> int:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(fcntl, "ioctl", refuse)
    write(tmp_path / "full", 0, os.urandom(MIB))
    write(tmp_path / "sparse", 4 * MIB, os.urandom(MIB))
    (tmp_path / "hole").touch()
    os.truncate(tmp_path / "hole", MIB)
    full, sparse, hole = (extents(tmp_path / name) for name in ("full", "sparse", "hole"))
    assert (full.source, full.hole_bytes, full.unwritten_bytes, full.written_bytes) == ("SEEK_HOLE", 0, None, None)
    assert full.is_fully_written is None
    assert (sparse.hole_bytes, sparse.is_fully_written) == (4 * MIB, False)
    assert (full.missing_bytes, sparse.missing_bytes) == (0, 4 * MIB)
    assert hole.hole_bytes == MIB


def test_another_error_is_not_swallowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "ioctl", fail)
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(OSError, match="Input/output"):
        extents(tmp_path / "file")


def test_sums_add_up() -> None:
    kinds = (Flag(0), Flag.UNWRITTEN, Flag.DELAYED | Flag.UNKNOWN, Flag.INLINE, Flag.LAST)
    parts = tuple(Extent(index * 2 * KIB, None, KIB, flags) for index, flags in enumerate(kinds))
    seen = ExtentMap(10 * KIB, parts, "FIEMAP")
    assert (seen.written_bytes, seen.unwritten_bytes, seen.delayed_bytes, seen.inline_bytes) == (2 * KIB, KIB, KIB, KIB)
    assert seen.hole_bytes == 5 * KIB
    assert seen.missing_bytes == 8 * KIB
