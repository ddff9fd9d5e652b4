"""A dry run says exactly what would be done, and does nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from storscope.bench.safety import Intent, Journal, open_for_writing, plan
from storscope.domain.errors import TargetRefused
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig, run


def text(path: Path, intent: Intent, permission: str | None = None) -> str:
    return "\n".join(plan(path, intent, permission=permission).lines())


def test_a_scratch_file_is_announced_and_not_created(tmp_path: Path, journal: Journal) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    said = text(folder, Intent(writes=True, size_bytes=MIB, direct=True))
    assert f"create {folder}/storscope-scratch-*.dat, 1 MiB" in said
    assert "fill it, then read and write it past the page cache (O_DIRECT)" in said
    assert "remove it at the end, or at the next start after a crash" in said
    assert said.endswith("Nothing has been written.")
    assert list(folder.iterdir()) == []
    assert not journal.folder.exists()


def test_a_read_test_in_a_directory_also_needs_a_file(tmp_path: Path) -> None:
    said = text(tmp_path / "new.dat", Intent(writes=False, size_bytes=MIB, keep=True))
    assert f"create {tmp_path}/new.dat, 1 MiB" in said
    assert "keep it, as asked" in said


def test_a_read_of_an_existing_file_needs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"precious")
    planned = plan(file, Intent(writes=False))
    assert planned.is_allowed
    assert planned.demand is None
    said = "\n".join(planned.lines())
    assert f"open {file} read-only and read up to 8 B of it" in said
    assert "write, create and remove nothing" in said


def test_a_refusal_shows_failed_and_passed_checks_the_loss_and_the_word(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"precious")
    planned = plan(file, Intent(writes=True))
    assert not planned.is_allowed
    assert planned.demand is not None
    assert planned.demand.text == f"{file}:8"
    said = "\n".join(planned.lines())
    assert "✗ content: a file of 8" in said
    assert "✓ links: one name" in said
    assert f"--overwrite '{file}:8'" in said
    assert file.read_bytes() == b"precious"


def test_a_refusal_that_is_lifted_is_said_with_what_would_be_lost(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"precious")
    said = text(file, Intent(writes=True), permission=f"{file}:8")
    assert "Allowed all the same by --overwrite. This would be lost for ever:\n  - its content, last changed" in said
    assert "Refused" not in said
    assert "Allowed all the same" not in text(tmp_path, Intent(writes=True, size_bytes=MIB))


def test_too_little_room_is_not_called_use_or_data(tmp_path: Path) -> None:
    planned = plan(tmp_path, Intent(writes=True, size_bytes=2**60))
    assert planned.refusal is not None
    assert "expected room for what would be written, found needs 1024 PiB" in str(planned.refusal)
    assert "in use" not in str(planned.refusal)


def test_plan_and_run_agree(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"precious")
    for typed in (None, "wrong", f"{file}:8"):
        planned = plan(file, Intent(writes=True), permission=typed)
        try:
            open_for_writing(file, permission=typed, expected=planned.target).close()
        except TargetRefused as refusal:
            assert planned.refusal is not None
            assert str(refusal) == str(planned.refusal)
        else:
            assert planned.is_allowed


def test_a_journal_without_a_place_refuses_as_the_run_would(tmp_path: Path, journal: Journal) -> None:
    assert plan(tmp_path, Intent(writes=True, size_bytes=MIB)).is_allowed
    (tmp_path / "state").write_text("no folder")
    found = plan(tmp_path, Intent(writes=True, size_bytes=MIB))
    assert not found.is_allowed
    assert "Not a directory" in str(found.refusal)
    assert "XDG_STATE_HOME" in str(found.refusal)


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "a\x1b[2J\nb"
    file.write_bytes(b"precious")
    said = text(file, Intent(writes=True))
    assert "\x1b" not in said
    assert "a\\x1b[2J\\x0ab" in said


def test_the_plan_of_a_new_name_in_memory_says_so() -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm here")
    said = text(Path("/dev/shm"), Intent(writes=True, size_bytes=4096))
    assert "memory, not a device" in said


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_the_plan_of_a_device_tells_what_it_is(rig: Rig) -> None:
    image = rig.image()
    device = rig.loop(image)
    run("mkfs.ext4", "-q", device)
    said = text(device, Intent(writes=True))
    assert f"{device.name} (7:{os.minor(device.stat().st_rdev)}), a whole device, 32 MiB (33554432 bytes)" in said
    assert f"a loop device over {image}" in said
    assert "✗ signatures: carries ext2/3/4 file system (mark at byte 1,080)" in said
    assert "✓ exclusive:" in said
    before = image.read_bytes()
    text(device, Intent(writes=True), permission=f"{image}:{image.stat().st_size}")
    assert image.read_bytes() == before


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_the_plan_of_something_in_use_offers_no_word(rig: Rig) -> None:
    device = rig.loop()
    run("mkfs.ext4", "-q", device)
    rig.mount(device)
    planned = plan(device, Intent(writes=True))
    assert planned.demand is None
    assert "--overwrite" not in "\n".join(planned.lines())
