"""A file is written whole, or what was there stays."""

from __future__ import annotations

import os
import resource
import signal
import threading
from pathlib import Path

import pytest

from storscope.domain.errors import UsageError
from storscope.store.whole_file import check_place, make_folder, whole_file, write_text


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_what_was_there_and_nothing_else(failure: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "out.toml"
    path.write_text("before")

    def fails() -> None:
        with whole_file(path) as file:
            file.write(b"half")
            raise failure

    with pytest.raises(failure):
        fails()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_is_told_with_the_place(tmp_path: Path) -> None:
    """As on a full disk: a file may not grow beyond a page."""
    path = tmp_path / "out.toml"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(UsageError, match=r"out\.toml: expected a place where .* found File too large"):
            write_text(path, "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert not list(tmp_path.iterdir())


def test_a_link_stays_a_link_and_permissions_are_those_of_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "content")
    plain = tmp_path / "plain"
    plain.touch()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "content"
    assert (tmp_path / "real").stat().st_mode == plain.stat().st_mode


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_text(pipe, "content")
    reader.join()
    assert read == [b"content"]
    assert pipe.is_fifo()


def test_a_place_where_no_file_can_be_is_told_before_the_work(tmp_path: Path) -> None:
    check_place(tmp_path / "new")
    with pytest.raises(UsageError, match="a folder that exists"):
        check_place(tmp_path / "none" / "new")
    for folder in (tmp_path, Path("")):  # noqa: PTH201  what an empty variable of a script gives
        with pytest.raises(UsageError, match="expected a file, found a folder"):
            check_place(folder, is_page=True, replaces=True)


def test_where_nothing_may_be_written_another_place_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError) as absent:
        check_place(tmp_path / "none" / "new.html")
    monkeypatch.setattr("storscope.store.whole_file.os.access", lambda *_: False)
    with pytest.raises(UsageError) as closed:
        check_place(tmp_path / "new.html")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file/reports: expected a place for a folder, found Not a directory") as made:
        make_folder(tmp_path / "file" / "reports")
    assert absent.value.hint == "Make it, or name a file in another folder."
    assert closed.value.hint == "Name a place in a folder of yours, such as /tmp/new.html."
    assert made.value.hint == "Name a place in a folder of yours, such as /tmp/reports."
    make_folder(tmp_path / "above" / "new")
    make_folder(tmp_path / "above" / "new")
    assert (tmp_path / "above" / "new").is_dir()


def test_a_mistyped_device_does_not_become_a_file_among_the_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mapper").mkdir()
    os.mkfifo(tmp_path / "known")
    check_place(tmp_path / "sdz")
    monkeypatch.setattr("storscope.store.whole_file._DEVICES", tmp_path)
    for name in ("sdz", "mapper/vg-lv"):
        with pytest.raises(UsageError, match=f"{name}: expected a file, or a device that exists"):
            check_place(tmp_path / name, replaces=True)
    check_place(tmp_path / "known")
    check_place(Path("/dev/stdout"))
    check_place(tmp_path.parent / "sdz")


def test_a_block_device_is_never_an_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sdb"
    path.write_text("a file system")
    monkeypatch.setattr(Path, "is_block_device", lambda _: True)
    for write in (check_place, lambda place: check_place(place, replaces=True), lambda place: write_text(place, "x")):
        with pytest.raises(UsageError, match=r"sdb: expected a file, found a block device, whose"):
            write(path)
    assert path.read_text() == "a file system"


def test_what_is_no_file_needs_no_leave(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_place(tmp_path / "pipe")
    check_place(Path("/dev/null"))
