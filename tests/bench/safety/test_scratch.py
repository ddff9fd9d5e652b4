"""Scratch files leave nothing behind, also after a crash, and nothing else is ever removed."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.safety import Journal, Kernel, Swept, create, inspect, open_for_writing, sweep
from storscope.bench.safety import ownership as ownership_module
from storscope.bench.safety import scratch as scratch_module
from storscope.bench.safety.ownership import Record, sidecar
from storscope.bench.safety.processes import ProcessId, is_alive, this_process
from storscope.domain.errors import TargetRefused, UsageError
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig, run

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


def test_a_process_number_that_was_used_again_is_not_taken_for_the_creator(tmp_path: Path, journal: Journal) -> None:
    path = crash(tmp_path)
    record = only_record(journal)
    journal.write(replace(record, process=replace(record.process, pid=os.getpid())))
    assert outcomes() == {str(path): Swept.REMOVED}


def test_a_kept_file_stays_even_after_a_crash(tmp_path: Path) -> None:
    path = crash(tmp_path, "keep")
    assert outcomes() == {str(path): Swept.KEPT}
    assert path.exists()


def test_a_kept_file_may_be_written_again_without_permission(tmp_path: Path) -> None:
    with create(tmp_path / "test.dat", MIB, keep=True) as scratch:
        os.pwrite(scratch.descriptor, b"x" * 4096, 0)
    for _ in range(2):
        with open_for_writing(tmp_path / "test.dat") as opened:
            os.pwrite(opened.descriptor, b"y" * 4096, 4096)


def test_a_kept_file_that_somebody_changed_is_no_longer_ours(tmp_path: Path) -> None:
    file = tmp_path / "test.dat"
    create(file, MIB, keep=True).close()
    with file.open("r+b") as other:
        other.write(b"somebody's data")
    with pytest.raises(TargetRefused, match="did not create"):
        open_for_writing(file)


def test_a_kept_file_that_somebody_changed_is_known_even_if_its_time_was_set_back(tmp_path: Path) -> None:
    file = tmp_path / "test.dat"
    create(file, MIB, keep=True).close()
    before = file.stat()
    with file.open("r+b") as other:
        other.write(b"somebody's data")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(TargetRefused, match="did not create"):
        open_for_writing(file)


@pytest.mark.parametrize("again", [False, True])
def test_a_kept_file_that_somebody_appended_to_during_the_run_is_no_longer_ours(tmp_path: Path, again: bool) -> None:
    """No run of ours changes the size."""
    file, said = tmp_path / "test.dat", list[str]()
    used: Any = create(file, MIB, keep=True, told=said.append)
    if again:
        used.close()
        used = open_for_writing(file, told=said.append)
    with file.open("ab") as other:
        other.write(b"somebody's data")
    used.close()
    assert "its size changed from 1048576 to 1048591 bytes while it was in use" in said[0]
    with pytest.raises(TargetRefused, match="did not create"):
        open_for_writing(file)


def test_a_copy_of_a_kept_file_is_not_ours(tmp_path: Path) -> None:
    """`cp --preserve=all` copies the mark; the inode and the birth time it cannot copy."""
    file = tmp_path / "test.dat"
    create(file, MIB, keep=True).close()
    run("cp", "--preserve=all", file, tmp_path / "copy.dat")
    with pytest.raises(TargetRefused, match="did not create"):
        open_for_writing(tmp_path / "copy.dat")


def abandoned(folder: Path, journal: Journal) -> tuple[Path, Record]:
    """A scratch file whose process has ended, with its record."""
    path = crash(folder)
    return path, only_record(journal)


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
    run("mkfs.ext4", "-q", device)
    point = rig.mount(device)
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
    device = rig.loop(rig.image(size_bytes=128 * MIB))
    run("mkfs.ext4", "-q", device)
    point = rig.mount(device)
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


def told_at_the_end(scratch: scratch_module.Scratch) -> list[str]:
    said: list[str] = []
    scratch.told = said.append
    scratch.close()
    return said


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.needs("chattr")
def test_a_file_that_cannot_be_removed_at_the_end_is_told_and_remembered(rig: Rig, journal: Journal) -> None:
    device = rig.loop(rig.image(size_bytes=128 * MIB))
    run("mkfs.ext4", "-q", device)
    point = rig.mount(device)
    run("chattr", "+a", point)
    scratch = create(point, MIB)
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


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{", '{"version": 1}', '{"version": 2, "word": "WORD"}', '"x"', "\xff", "{}" * 10]
)
def test_a_broken_record_does_nothing(journal: Journal, text: str) -> None:
    journal.folder.mkdir(parents=True)
    (journal.folder / "WORD.json").write_text(text, encoding="latin-1")
    assert outcomes() == {}


@pytest.mark.parametrize(
    "change",
    [{"path": None}, {"path": 1}, {"path": "a\0b"}, {"inode": "1"}, {"device": ["1", 2]}, {"born_ns": 1.5},
     {"keep": 1}, {"seal": {"size_bytes": None, "modified_ns": "1"}}],
)  # fmt: skip
def test_a_record_with_a_field_of_another_type_does_nothing(
    tmp_path: Path, journal: Journal, change: dict[str, Any]
) -> None:
    path, record = abandoned(tmp_path, journal)
    file = journal.folder / f"{record.word}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    assert outcomes() == {}
    assert path.exists()


def test_a_record_that_others_may_write_is_not_trusted(tmp_path: Path, journal: Journal) -> None:
    """Whoever can write a journal of ours could choose what root removes."""
    path, record = abandoned(tmp_path, journal)
    file = journal.folder / f"{record.word}.json"
    file.chmod(0o666)
    assert outcomes() == {}
    assert path.exists()


@pytest.mark.needs_root
def test_a_record_or_file_of_another_user_is_not_trusted(tmp_path: Path, journal: Journal) -> None:
    path, record = abandoned(tmp_path, journal)
    os.chown(journal.folder / f"{record.word}.json", 12345, 12345)
    assert outcomes() == {}
    os.chown(journal.folder / f"{record.word}.json", os.geteuid(), os.getegid())
    os.chown(path, 12345, 12345)
    assert outcomes() == {str(path): Swept.NOT_OURS}
    assert path.exists()


def test_the_journal_is_private(tmp_path: Path, journal: Journal) -> None:
    with create(tmp_path, 4096):
        assert journal.folder.stat().st_mode & 0o077 == 0
        for file in journal.folder.iterdir():
            assert file.stat().st_mode & 0o077 == 0
            assert json.loads(file.read_text())["version"] == 1


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


@pytest.mark.parametrize("has_attributes", [True, False])
def test_a_journal_that_cannot_be_written_is_named_with_a_way_out(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch, has_attributes: bool
) -> None:
    if not has_attributes:
        without_attributes(monkeypatch)
    (tmp_path / "state").write_text("no folder")
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"state/storscope/scratch: .*found Not a directory[\s\S]*XDG_STATE_HOME"):
        create(folder, 4096)
    assert list(folder.iterdir()) == []
    assert list(journal.records()) == []


@pytest.fixture
def full_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a home without room: small files are created, and cannot be written."""
    sync = os.fsync

    def full(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.usefixtures("full_journal")
def test_a_full_home_is_not_called_a_full_target(tmp_path: Path, journal: Journal) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"state/storscope/scratch: .*No space left on device[\s\S]*XDG_STATE_HOME"):
        create(folder, 4096)
    assert list(folder.iterdir()) == []
    assert list(journal.folder.iterdir()) == [], "no draft stays"


def test_a_kept_file_that_cannot_be_remembered_is_told(
    tmp_path: Path, journal: Journal, request: pytest.FixtureRequest
) -> None:
    file, said = tmp_path / "test.dat", list[str]()
    scratch = create(file, MIB, keep=True, told=said.append)
    request.getfixturevalue("full_journal")
    scratch.close()
    assert "cannot be remembered" in said[0]
    assert "No space left on device" in said[0]
    with pytest.raises(TargetRefused, match="did not create"):
        open_for_writing(file)


def test_a_user_without_a_home_may_read_and_is_told_what_writing_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", none)
    assert sweep() == []
    assert inspect(tmp_path).checks
    with pytest.raises(UsageError, match="XDG_STATE_HOME"):
        create(tmp_path, 4096)


def test_a_mark_that_is_there_already_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: Journal
) -> None:
    without_attributes(monkeypatch)
    (tmp_path / "new.storscope-mark").write_text("somebody's")
    with pytest.raises(TargetRefused, match=r"new\.storscope-mark: .*File exists"):
        create(tmp_path / "new", 4096)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["new.storscope-mark"]
    assert (tmp_path / "new.storscope-mark").read_text() == "somebody's"


def test_the_journal_of_another_user_s_home_is_none(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """`su` and `sudo` may leave HOME as it was; tests that only read stopped there."""

    def forbidden(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "is_dir", forbidden)
    assert list(journal.records()) == []


def test_there_must_be_room_with_a_margin(tmp_path: Path) -> None:
    space = os.statvfs(tmp_path)
    free = space.f_bavail * space.f_frsize
    with pytest.raises(TargetRefused, match="must stay free"):
        create(tmp_path, free - MIB)
    assert not list(tmp_path.glob("storscope*"))


def test_names_of_any_bytes_survive_the_journal(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff\n\x1b[2J")
    folder.mkdir()
    path = folder / os.fsdecode(b"na\xc3\x28me")
    scratch = create(path, 4096)
    assert [leftover.path for leftover in sweep()] == [str(path)]
    scratch.close()
    assert list(folder.iterdir()) == []


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


def test_inspecting_creates_nothing(tmp_path: Path, journal: Journal) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    inspect(folder, size_bytes=MIB)
    inspect(folder / "new", size_bytes=MIB)
    assert list(folder.iterdir()) == []
    assert not journal.folder.exists()
