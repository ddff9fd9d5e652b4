"""Scratch files leave nothing behind, also after a crash, and nothing else is ever removed."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.safety import Journal, Swept, create, inspect, open_for_writing
from storscope.bench.safety import scratch as scratch_module
from storscope.domain.errors import TargetRefused, UsageError
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig, run
from tests.bench.safety.scratches import (
    DEAD,
    crash,
    only_record,
    outcomes,
    without_attributes,
    without_birth_times,
    without_nameless_files,
)


def test_a_scratch_file_is_there_while_it_is_used_and_gone_afterwards(tmp_path: Path, journal: Journal) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with create(folder, MIB) as scratch:
        assert scratch.path.parent == folder
        assert scratch.path.stat().st_size == MIB
        assert scratch.path.stat().st_mode & 0o777 == 0o600
        assert os.pwrite(scratch.descriptor, b"x", 0) == 1
        assert only_record(journal).path == str(scratch.path)
    assert list(folder.iterdir()) == []
    assert list(journal.records()) == []


def test_it_is_removed_when_the_run_fails(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(KeyboardInterrupt), create(folder, MIB):
        raise KeyboardInterrupt
    assert list(folder.iterdir()) == []


def test_after_a_crash_the_next_start_removes_it(tmp_path: Path, journal: Journal) -> None:
    path = crash(tmp_path)
    assert path.exists()
    assert outcomes() == {str(path): Swept.REMOVED}
    assert not path.exists()
    assert list(journal.records()) == []
    assert outcomes() == {}


def test_the_file_of_a_running_process_stays(tmp_path: Path) -> None:
    with create(tmp_path, MIB) as scratch:
        assert outcomes() == {str(scratch.path): Swept.IN_USE}
        assert scratch.path.exists()


def told_at_the_end(scratch: scratch_module.Scratch) -> list[str]:
    said: list[str] = []
    scratch.told = said.append
    scratch.close()
    return said


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.needs("chattr")
def test_a_file_that_cannot_be_removed_at_the_end_is_told_and_remembered(rig: Rig, journal: Journal) -> None:
    point = rig.ext4(rig.loop(rig.image(size_bytes=128 * MIB)))
    scratch = create(point, MIB)
    run("chattr", "+a", point)
    assert told_at_the_end(scratch) == [f"The scratch file {scratch.path}: cannot be removed: Operation not permitted."]
    run("chattr", "-a", point)
    journal.write(replace(only_record(journal), process=DEAD))
    assert outcomes() == {str(scratch.path): Swept.REMOVED}


def test_a_file_whose_folder_was_renamed_during_the_run_is_removed(tmp_path: Path, journal: Journal) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    scratch = create(folder, 4096)
    folder.rename(tmp_path / "renamed")
    assert told_at_the_end(scratch) == []
    assert list((tmp_path / "renamed").iterdir()) == []
    assert list(journal.records()) == []


def test_a_file_that_got_another_name_during_the_run_is_told(tmp_path: Path) -> None:
    first, second, third = (create(tmp_path / name, 4096) for name in ("first", "second", "third"))
    first.path.rename(tmp_path / "renamed")
    (tmp_path / "linked").hardlink_to(second.path)
    third.path.unlink()
    assert told_at_the_end(first) == [
        f"The scratch file {tmp_path}/renamed: left alone: somebody gave it this name while it was in use."
    ]
    assert told_at_the_end(second) == [
        f"The scratch file {second.path}: left alone: somebody gave it another name besides (a hard link)."
    ]
    assert told_at_the_end(third) == []


def test_a_name_that_exists_is_never_replaced(tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text("data")
    with pytest.raises(UsageError):
        create(file, 4096)
    assert file.read_text() == "data"


def test_a_name_that_appears_meanwhile_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: Journal
) -> None:
    file = tmp_path / "mine"
    make = scratch_module._make

    def late(*arguments: Any) -> int:
        descriptor = make(*arguments)
        file.write_text("data")
        return descriptor

    monkeypatch.setattr(scratch_module, "_make", late)
    with pytest.raises(TargetRefused, match="File exists"):
        create(file, 4096)
    assert file.read_text() == "data"
    assert list(journal.records()) == []


@pytest.mark.parametrize("lack", [without_nameless_files, without_attributes, without_birth_times])
def test_poorer_file_systems_are_cleaned_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: Journal, lack: Any
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    lack(monkeypatch)
    with create(folder, 4096) as scratch:
        assert scratch.path.exists()
    assert list(folder.iterdir()) == []
    abandoned_one = create(folder, 4096)
    journal.write(replace(abandoned_one.record, process=DEAD))
    os.close(abandoned_one.descriptor)
    assert outcomes() == {str(abandoned_one.path): Swept.REMOVED}
    assert list(folder.iterdir()) == []


@pytest.mark.needs_root
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs(f"mkfs.{name}")) for name in ("ext4", "xfs", "btrfs")]
)
def test_crash_and_sweep_on_a_real_file_system(rig: Rig, name: str) -> None:
    device = rig.loop(rig.image(size_bytes=512 * MIB))
    run(f"mkfs.{name}", "-q", device)
    point = rig.mount(device)
    before = sorted(point.iterdir())
    path = crash(point)
    assert outcomes() == {str(path): Swept.REMOVED}
    with create(point / "kept", MIB, keep=True):
        pass
    open_for_writing(point / "kept").close()
    (point / "kept").unlink()
    assert sorted(point.iterdir()) == before


def test_a_failure_while_it_is_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: Journal
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    without_nameless_files(monkeypatch)

    def full(descriptor: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "ftruncate", full)
    with pytest.raises(TargetRefused, match="No space left"):
        create(folder, 4096)
    assert list(folder.iterdir()) == []
    assert list(journal.records()) == []


def test_a_mark_that_is_there_already_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: Journal
) -> None:
    without_attributes(monkeypatch)
    (tmp_path / "new.storscope-mark").write_text("somebody's")
    with pytest.raises(TargetRefused, match=r"new\.storscope-mark: .*File exists"):
        create(tmp_path / "new", 4096)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["new.storscope-mark"]
    assert (tmp_path / "new.storscope-mark").read_text() == "somebody's"


def test_there_must_be_room_with_a_margin(tmp_path: Path) -> None:
    space = os.statvfs(tmp_path)
    free = space.f_bavail * space.f_frsize
    with pytest.raises(TargetRefused, match="must stay free"):
        create(tmp_path, free - MIB)
    assert not list(tmp_path.glob("storscope*"))


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_a_file_system_without_an_inode_left_is_told_as_that(rig: Rig) -> None:
    point = rig.ext4(rig.loop(rig.image(size_bytes=128 * MIB)), "-N", "16")
    with pytest.raises(OSError, match="No space left"):
        for number in range(1000):
            (point / str(number)).touch()
    with pytest.raises(TargetRefused, match="No space left on device") as refused:
        create(point, MIB)
    assert "no inode left for another file (df -i)" in refused.value.message()


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    scratch = create(tmp_path, 4096)
    scratch.close()
    scratch.path.write_text("a new file of that name")
    scratch.close()
    assert scratch.path.exists()


def test_a_file_that_was_renamed_or_replaced_during_the_run_is_not_removed(tmp_path: Path) -> None:
    scratch = create(tmp_path / "x", 4096)
    (tmp_path / "x").rename(tmp_path / "y")
    (tmp_path / "x").write_text("somebody else's")
    scratch.close()
    assert (tmp_path / "x").read_text() == "somebody else's"
    assert (tmp_path / "y").exists()


def test_inspecting_creates_nothing(tmp_path: Path, journal: Journal) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    inspect(folder, size_bytes=MIB)
    inspect(folder / "new", size_bytes=MIB)
    assert list(folder.iterdir()) == []
    assert not journal.folder.exists()
