"""Folders, archives and streams become files to read, within limits."""

from __future__ import annotations

import errno
import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from storscope.domain.errors import UsageError
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
        archive.writestr("zeros again", b"\0" * 5_000_000)
    [(name, reason)] = _found(tmp_path / "bomb.zip")
    assert name.endswith("bomb.zip: zeros")
    assert "expected at most" in reason


def _nested(members: int, depth: int, content: bytes) -> bytes:
    """Archives of archives: each level has so many of the one below."""
    for _ in range(depth):
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(members):
                archive.writestr(f"{number}.zip", content)
        content = whole.getvalue()
    return content


def test_the_members_of_archives_in_archives_count_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """17 kB of four levels of sixteen each were read for hours."""
    (tmp_path / "nested.zip").write_bytes(_nested(5, 3, b"counters"))
    assert len(_found(tmp_path / "nested.zip")) == 125
    monkeypatch.setattr(expand, "MAX_MEMBERS", 100)
    *read, (name, reason) = _found(tmp_path / "nested.zip")
    assert len(read) < 100
    assert name == str(tmp_path / "nested.zip")
    assert "expected at most 100 members, found more" in reason


def test_the_growth_of_archives_in_archives_counts_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "FREE_BYTES", 10_000)
    monkeypatch.setattr(expand, "MAX_RATIO", 10)
    (tmp_path / "nested.zip").write_bytes(_nested(5, 3, b"0" * 9_000))
    *read, (name, reason) = _found(tmp_path / "nested.zip")
    assert 4 <= len(read) < 125
    assert name == str(tmp_path / "nested.zip")
    assert "expected at most" in reason


def test_an_encrypted_member_is_refused_by_its_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "locked.zip", "w") as archive:
        archive.writestr("esxtop.csv", "counters")
    content = bytearray((tmp_path / "locked.zip").read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1
    (tmp_path / "locked.zip").write_bytes(content)
    [(name, reason)] = _found(tmp_path / "locked.zip")
    assert name.endswith("locked.zip: esxtop.csv")
    assert "found one that needs a password" in reason


def _cut_gzip() -> bytes:
    return gzip.compress(os.urandom(4_000))[:-40]


def test_what_comes_after_a_damaged_archive_is_read(tmp_path: Path) -> None:
    members = {"a.gz": _cut_gzip(), "b.txt": b"counters", "c.zip": b"PK\x03\x04" + bytes(100), "d.txt": b"more"}
    folder = tmp_path / "folder"
    folder.mkdir()
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as zipped, tarfile.open(tmp_path / "all.tar", "w") as tarred:
        for name, content in members.items():
            (folder / name).write_bytes(content)
            zipped.writestr(name, content)
            tarred.add(folder / name, name)
    for place in (folder, tmp_path / "all.zip", tmp_path / "all.tar"):
        items = list(expand.expand([place]))
        assert [isinstance(item, Unreadable) and item.is_broken for item in items] == [True, False, True, False]
        assert [content for _, content in _found(place)][1::2] == ["counters", "more"]


@pytest.mark.parametrize("format_", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_a_cut_tar_gives_what_was_whole(tmp_path: Path, format_: int) -> None:
    (tmp_path / "a").write_text("counters")
    with tarfile.open(tmp_path / "whole.tar", "w", format=format_) as archive:
        archive.add(tmp_path / "a", "a")
        first_ends = archive.offset
        archive.add(tmp_path / "a", "b")
        end = archive.offset
    whole = (tmp_path / "whole.tar").read_bytes()
    for length in (len(whole), end):  # without the blocks at the end
        (tmp_path / "cut.tar").write_bytes(whole[:length])
        assert [content for _, content in _found(tmp_path / "cut.tar")] == ["counters", "counters"]
    for length in (first_ends + 4, first_ends + 511, first_ends + 513, end - 509):
        (tmp_path / "cut.tar").write_bytes(whole[:length])
        first, second = _found(tmp_path / "cut.tar")
        assert first[1] == "counters"
        assert "expected a complete archive" in second[1], length
    damaged = bytearray(whole)
    damaged[first_ends + 148] ^= 8  # the header's checksum
    (tmp_path / "cut.tar").write_bytes(damaged)
    assert "expected a complete archive" in _found(tmp_path / "cut.tar")[-1][1]


def test_a_name_that_is_no_utf_8_can_be_shown_and_stored(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/b\xfcro.txt"
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(b"counters")
    [(name, content)] = _found(Path(os.fsdecode(path)))
    assert name.endswith("/b\N{LATIN SMALL LETTER U WITH DIAERESIS}ro.txt")
    assert content == "counters"


def test_a_device_or_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    items = list(expand.expand([tmp_path / "pipe"]))
    assert [item.reason for item in items if isinstance(item, Unreadable)] == ["is no regular file"]


def test_what_a_folder_holds_and_is_not_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "counters").write_text("counters")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "day").mkdir()
    for name, target in {"latest": "day", "loop": "loop", "nowhere": "absent", "today": "counters"}.items():
        (tmp_path / name).symlink_to(target)
    (tmp_path / "day" / "up").symlink_to("..")
    found = {name.removeprefix(f"{tmp_path}/"): said for name, said in _found(tmp_path)}
    assert found == {
        "counters": "counters",
        "today": "counters",
        "pipe": "is no regular file",
        "day/up": "is a link to a folder: name it to have it read",
        "latest": "is a link to a folder: name it to have it read",
        "loop": "is a link to what is not there, or no file",
        "nowhere": "is a link to what is not there, or no file",
    }


def test_a_folder_that_may_not_be_read_leaves_the_others_to_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /var/log has some of other users; root may read all, so what refuses is the call."""
    (tmp_path / "private").mkdir()
    (tmp_path / "sar").write_text("counters")
    exists = Path.exists

    def guarded(path: Path) -> bool:
        if path.parent.name == "private":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return exists(path)

    monkeypatch.setattr(Path, "exists", guarded)
    items = list(expand.expand([tmp_path]))
    assert [item.name.rpartition("/")[2] for item in items] == ["private", "sar"]
    assert isinstance(items[0], Unreadable)
    assert (items[0].reason, items[0].is_broken) == ("cannot be read: Permission denied", True)


def test_a_file_that_is_gone_before_its_turn_leaves_the_others_to_be_read(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
    found = []
    for item in expand.expand([tmp_path]):
        (tmp_path / "b").unlink(missing_ok=True)
        found.append(item.path.name if isinstance(item, Evidence) else item.reason)
    assert found == ["a", "cannot be read: No such file or directory", "c"]
