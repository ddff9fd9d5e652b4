"""The journal of scratch files: whose records are trusted, and what is said where it cannot be written."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.safety import Journal, Swept, create, inspect, sweep
from storscope.domain.errors import UsageError
from tests.bench.safety.scratches import abandoned, outcomes, without_attributes


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


@pytest.mark.usefixtures("full_journal")
def test_a_full_home_is_not_called_a_full_target(tmp_path: Path, journal: Journal) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"state/storscope/scratch: .*No space left on device[\s\S]*XDG_STATE_HOME"):
        create(folder, 4096)
    assert list(folder.iterdir()) == []
    assert list(journal.folder.iterdir()) == [], "no draft stays"


def test_a_user_without_a_home_may_read_and_is_told_what_writing_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", none)
    assert sweep() == []
    assert inspect(tmp_path).checks
    with pytest.raises(UsageError, match="as in XDG_STATE_HOME=/var/tmp/NAME storscope bench"):
        create(tmp_path, 4096)


def test_the_journal_of_another_user_s_home_is_none(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """`su` and `sudo` may leave HOME as it was; tests that only read stopped there."""

    def forbidden(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "is_dir", forbidden)
    assert list(journal.records()) == []


def test_names_of_any_bytes_survive_the_journal(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff\n\x1b[2J")
    folder.mkdir()
    path = folder / os.fsdecode(b"na\xc3\x28me")
    scratch = create(path, 4096)
    assert [leftover.path for leftover in sweep()] == [str(path)]
    scratch.close()
    assert list(folder.iterdir()) == []
