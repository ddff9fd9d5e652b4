"""Folders, archives and streams become files to read, within limits."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from storscope.domain.errors import MalformedInput, UnsafeArchive, UsageError
from storscope.sources import expand
from storscope.sources.evidence import Evidence
from storscope.sources.expand import Unreadable


def _found(*paths: Path) -> list[tuple[str, str]]:
    """(name, content or the reason it cannot be read); an Evidence lives only until the next one."""
    return [
        (item.name, item.path.read_text() if isinstance(item, Evidence) else item.reason)
        for item in expand.expand(list(paths))
    ]


def test_a_folder_is_walked_in_order_hidden_files_left_out(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/2", "b/1", "a", ".hidden"):
        (tmp_path / name).write_text(name)
    assert [content for _, content in _found(tmp_path)] == ["a", "b/1", "b/2"]


def test_members_of_archives_in_archives_keep_a_name_that_says_where(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("day/esxtop.csv", "counters")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
    [(name, content)] = _found(tmp_path / "outer.zip")
    assert name.endswith("outer.zip: inner.zip: day/esxtop.csv")
    assert content == "counters"


def test_an_empty_file_and_a_store_are_named_and_passed_over(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "storscope-store.json").write_text("{}")
    reasons = dict(_found(tmp_path))
    assert reasons[str(tmp_path / "empty")] == "is empty"
    assert "storscope store" in reasons[str(tmp_path / "store")]


def test_what_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing of that name"):
        _found(tmp_path / "absent")


def test_growth_is_limited_by_the_packed_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "FREE_BYTES", 10_000)
    with zipfile.ZipFile(tmp_path / "honest.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("counters.csv", b"\n".join(b"%d,%d" % (n, n * n) for n in range(20_000)))
    assert len(_found(tmp_path / "honest.zip")[0][1]) > 10_000
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * 5_000_000)
    with pytest.raises(UnsafeArchive, match="at most"):
        _found(tmp_path / "bomb.zip")


def test_an_encrypted_member_is_refused_by_its_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "locked.zip", "w") as archive:
        archive.writestr("esxtop.csv", "counters")
    content = bytearray((tmp_path / "locked.zip").read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1
    (tmp_path / "locked.zip").write_bytes(content)
    with pytest.raises(MalformedInput, match=r"not encrypted, found esxtop\.csv, which needs a password"):
        _found(tmp_path / "locked.zip")


def test_a_device_or_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    items = list(expand.expand([tmp_path / "pipe"]))
    assert [item.reason for item in items if isinstance(item, Unreadable)] == ["is no regular file"]
