"""What a sweep removes is proved to be ours and nobody's any more; all else stays, and is told."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.safety import Journal, Kernel, Swept, create, sweep
from storscope.bench.safety.ownership import Record, sidecar
from storscope.bench.safety.processes import is_alive, this_process
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig, run
from tests.bench.safety.scratches import (
    CRASH,
    DEAD,
    abandoned,
    crash,
    only_record,
    outcomes,
    without_attributes,
    without_birth_times,
)


def test_a_process_number_that_was_used_again_is_not_taken_for_the_creator(tmp_path: Path, journal: Journal) -> None:
    path = crash(tmp_path)
    record = only_record(journal)
    journal.write(replace(record, process=replace(record.process, pid=os.getpid())))
    assert outcomes() == {str(path): Swept.REMOVED}


def replaced(path: Path, record: Record) -> Record:
    path.unlink()
    path.write_text("a user's file under the same name")
    return record


def replaced_with_the_same_inode(path: Path, record: Record) -> Record:
    """ext4 gives a freed inode to the next file: number and name agree, mark and birth do not."""
    path.unlink()
    path.write_text("a user's file under the same name")
    return replace(record, inode=path.stat().st_ino)


def replaced_and_marked(path: Path, record: Record) -> Record:
    record = replaced_with_the_same_inode(path, record)
    os.setxattr(path, "user.storscope.scratch", record.word.encode())
    return record


def mark_changed(path: Path, record: Record) -> Record:
    os.setxattr(path, "user.storscope.scratch", b"0" * 32)
    return record


def mark_removed(path: Path, record: Record) -> Record:
    os.removexattr(path, "user.storscope.scratch")
    return record


def given_a_second_name(path: Path, record: Record) -> Record:
    path.with_name("second").hardlink_to(path)
    return record


def replaced_by_a_link(path: Path, record: Record) -> Record:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")
    return record


def replaced_by_a_directory(path: Path, record: Record) -> Record:
    path.unlink()
    path.mkdir()
    return record


def replaced_by_a_fifo(path: Path, record: Record) -> Record:
    path.unlink()
    os.mkfifo(path)
    return record


def inode_of_the_record_changed(path: Path, record: Record) -> Record:
    return replace(record, inode=record.inode + 1)


def birth_of_the_record_changed(path: Path, record: Record) -> Record:
    return replace(record, born_ns=1)


CHANGES = [
    replaced, replaced_with_the_same_inode, replaced_and_marked, mark_changed, mark_removed, given_a_second_name,
    replaced_by_a_link, replaced_by_a_directory, replaced_by_a_fifo, inode_of_the_record_changed,
    birth_of_the_record_changed,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_proved_to_be_ours_is_left_alone(tmp_path: Path, journal: Journal, change: Any) -> None:
    path, record = abandoned(tmp_path, journal)
    if record.born_ns is None:
        pytest.skip("the file system of the tests has no birth times")
    journal.write(change(path, record))
    assert outcomes() == {str(path): Swept.NOT_OURS}
    assert os.path.lexists(path)
    assert outcomes() == {}, "it is told once"


def test_a_file_that_is_gone_is_forgotten(tmp_path: Path, journal: Journal) -> None:
    path, _ = abandoned(tmp_path, journal)
    path.unlink()
    assert outcomes() == {str(path): Swept.GONE}
    assert list(journal.records()) == []


def test_a_folder_that_is_away_is_waited_for(tmp_path: Path, journal: Journal) -> None:
    """The file system may be mounted again later."""
    folder = tmp_path / "mount-point"
    folder.mkdir()
    path, _ = abandoned(folder, journal)
    folder.rename(tmp_path / "away")
    assert outcomes() == {str(path): Swept.AWAY}
    (tmp_path / "away").rename(folder)
    assert outcomes() == {str(path): Swept.REMOVED}


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_an_unmounted_file_system_is_waited_for(rig: Rig, journal: Journal) -> None:
    device = rig.loop(rig.image(size_bytes=128 * MIB))
    point = rig.ext4(device)
    path, _ = abandoned(point, journal)
    run("umount", point)
    try:
        assert outcomes() == {str(path): Swept.AWAY}
    finally:
        run("mount", device, point)
    assert outcomes() == {str(path): Swept.REMOVED}


def test_devices_may_have_other_numbers_when_they_come_back(tmp_path: Path, journal: Journal) -> None:
    """Another loop device or USB disk, or any remount of btrfs: inode, birth and mark stay."""
    path, record = abandoned(tmp_path, journal)
    journal.write(replace(record, device=record.device._replace(minor=record.device.minor + 1)))
    assert outcomes() == {str(path): Swept.REMOVED}


def test_without_birth_times_only_a_reboot_gives_devices_other_numbers(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_birth_times(monkeypatch)
    path, record = abandoned(tmp_path, journal)
    other = replace(record, device=record.device._replace(minor=record.device.minor + 1), born_ns=None)
    journal.write(other)
    for _ in range(2):
        (left,) = sweep()
        assert (left.outcome, left.is_news) == (Swept.ELSEWHERE, True)
    journal.write(replace(other, process=DEAD))
    assert outcomes() == {str(path): Swept.REMOVED}


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.needs("chattr")
def test_what_cannot_be_removed_is_told_and_stops_nothing(rig: Rig, journal: Journal) -> None:
    """After a crash a file system may come back read-only; then a file may be immutable, a folder append-only."""
    point = rig.ext4(rig.loop(rig.image(size_bytes=128 * MIB)))
    path, _ = abandoned(point, journal)
    run("mount", "-o", "remount,ro", point)
    (left,) = sweep()
    assert (left.outcome, left.is_news) == (Swept.STUCK, True)
    assert str(left) == f"{path}: cannot be removed: Read-only file system"
    run("mount", "-o", "remount,rw", point)
    for what, flag in ((path, "i"), (path, "a"), (point, "a")):
        run("chattr", f"+{flag}", what)
        assert str(sweep()[0]) == f"{path}: cannot be removed: Operation not permitted"
        run("chattr", f"-{flag}", what)
    assert outcomes() == {str(path): Swept.REMOVED}


def test_looking_what_would_be_removed_removes_nothing(tmp_path: Path, journal: Journal) -> None:
    path, record = abandoned(tmp_path, journal)
    assert [left.outcome for left in sweep(pretend=True)] == [Swept.REMOVED]
    assert path.exists()
    assert only_record(journal) == record


def test_a_mark_beside_a_file_must_be_that_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: Journal
) -> None:
    without_attributes(monkeypatch)
    scratch = create(tmp_path, 4096)
    assert sidecar(str(scratch.path)).exists()
    sidecar(str(scratch.path)).write_text("another word")
    journal.write(replace(scratch.record, process=DEAD))
    assert outcomes() == {str(scratch.path): Swept.NOT_OURS}
    assert scratch.path.exists()
    os.close(scratch.descriptor)


def test_this_process_lives_and_others_do_not() -> None:
    kernel = Kernel()
    here = this_process(kernel)
    assert is_alive(kernel, here)
    assert not is_alive(kernel, replace(here, start_ticks=here.start_ticks + 1))
    assert not is_alive(kernel, replace(here, boot="an earlier boot"))
    assert not is_alive(kernel, replace(here, pid=DEAD.pid))


SWEEP = """
from storscope.bench.safety import sweep
for leftover in sweep():
    print(f"{leftover.outcome.name} {leftover.path}")
"""

ELSEWHERE = ("unshare", "--pid", "--fork", "--mount-proc")


@pytest.mark.needs_root
@pytest.mark.needs("unshare")
def test_the_file_of_a_live_run_stays_when_another_container_sweeps(tmp_path: Path, journal: Journal) -> None:
    """There the process has no number, which looks as if it had ended."""
    with create(tmp_path, MIB) as scratch:
        assert run(*ELSEWHERE, sys.executable, "-c", SWEEP) == f"FOREIGN {scratch.path}"
        assert scratch.path.exists()
        assert only_record(journal) == scratch.record
    assert not scratch.path.exists()


@pytest.mark.needs_root
@pytest.mark.needs("unshare")
def test_the_file_of_another_containers_run_is_left_to_it(tmp_path: Path, journal: Journal) -> None:
    script = f"{CRASH}\nos._exit(1)"
    path = Path(run("sh", "-c", '! "$@" < /dev/null', "sh", *ELSEWHERE, sys.executable, "-c", script, tmp_path))
    for _ in range(2):
        assert outcomes() == {str(path): Swept.FOREIGN}
    assert path.exists()
    path.unlink()
    assert outcomes() == {str(path): Swept.AWAY}


@pytest.mark.parametrize("machine", ["another", ""])
def test_after_a_boot_only_the_same_machine_removes_it(tmp_path: Path, journal: Journal, machine: str) -> None:
    """A home on a network file system is many machines'; one without a name may be any of them."""
    path, record = abandoned(tmp_path, journal)
    journal.write(replace(record, process=replace(record.process, boot="another", machine=machine)))
    assert outcomes() == {str(path): Swept.FOREIGN}
    assert path.exists()


def test_after_a_boot_of_this_machine_it_is_removed(tmp_path: Path, journal: Journal) -> None:
    (tmp_path / "machine-id").write_text("0f1e2d3c4b5a69788796a5b4c3d2e1f0\n")
    kernel = Kernel(etc=tmp_path)
    path, record = abandoned(tmp_path, journal)
    earlier = replace(this_process(kernel), boot="earlier", pid=DEAD.pid, pid_namespace="pid:[1]")
    journal.write(replace(record, process=earlier))
    assert "0f1e2d3c" not in next(journal.folder.glob("*.json")).read_text()
    assert [leftover.outcome for leftover in sweep(kernel=kernel)] == [Swept.REMOVED]
    assert not path.exists()


def test_a_file_that_a_process_has_locked_stays_whatever_its_record_says(tmp_path: Path, journal: Journal) -> None:
    with create(tmp_path, MIB) as scratch:
        journal.write(replace(scratch.record, process=DEAD))
        assert outcomes() == {str(scratch.path): Swept.IN_USE}
        assert scratch.path.exists()
        assert only_record(journal).process == DEAD
    assert not scratch.path.exists()
