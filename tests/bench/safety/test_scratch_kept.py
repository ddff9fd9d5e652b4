"""A kept scratch file may be written again, as long as nobody else changed it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.safety import Journal, Swept, create, open_for_writing
from storscope.domain.errors import TargetRefused
from storscope.domain.units import MIB
from tests.bench.safety.conftest import run
from tests.bench.safety.scratches import crash, outcomes


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
    with pytest.raises(TargetRefused, match="that storscope did not create, or that was changed since"):
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
