"""A store that somebody else made, or changed: it is refused with words, and does nothing to what is outside."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from storscope.domain.errors import DamagedStore, StoreError
from storscope.store import CaptureInfo, Store
from storscope.store.checksums import SUMS
from storscope.store.lock import STORE_LOCK
from storscope.store.marker import MARKER

_FIRST = f"capture={0:016x}"


@pytest.mark.parametrize(
    "name", ["capture=0 (copy)", "capture=a=capture=b", "capture=b\udcff", "capture=\x1b[2J", "capture="]
)
def test_a_folder_that_no_storscope_named_is_refused_by_its_name(name: str, store: Store) -> None:
    """A copy counted for twice; others were a KeyError and a std::bad_cast."""
    shutil.copytree(store.path / _FIRST, store.path / name)
    for asked in (store.captures, lambda: store.query("FROM observations"), lambda: list(store.check())):
        with pytest.raises(DamagedStore, match="captures only, named capture= and hexadecimal digits") as caught:
            asked()
        assert caught.value.found == ascii(name)[1:-1]
    shutil.rmtree(store.path / name)
    assert len(store.captures()) == 2


def test_a_lock_that_is_a_link_makes_no_file_where_it_leads(store: Store, tmp_path: Path) -> None:
    (store.path / STORE_LOCK).symlink_to(tmp_path / "made")
    (store.path / ".incoming-00").mkdir()
    assert len(Store.open(store.path).captures()) == 2
    info = CaptureInfo("aa", "x", "aa", 1, "t", 1, 0, "h", "0", {})
    with pytest.raises(StoreError, match="a store that takes a capture"), store.writer(info):
        pass
    assert not (tmp_path / "made").exists()


def test_links_in_a_store_are_removed_and_not_what_they_lead_to(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (store.path / "capture=abcd").symlink_to(outside)
    (store.path / ".incoming-0a").symlink_to(outside)
    (store.path / ".incoming-0b").mkdir()
    (store.path / ".incoming-0b" / "inside").symlink_to(outside)
    (store.path / _FIRST / "inside").symlink_to(outside)
    opened = Store.open(store.path)
    for capture in opened.capture_ids():
        opened.remove_capture(capture)
    assert opened.capture_ids() == []
    assert list(outside.iterdir()) == [outside / "kept"]


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"schema_version": ' + "9" * 5000, "null", "", '{"schema_version": "1"}']
)
def test_a_marker_that_is_none_is_refused(content: str, store: Store) -> None:
    (store.path / MARKER).write_text(content)
    with pytest.raises(StoreError):
        Store.open(store.path)


@pytest.mark.parametrize(
    "name", [MARKER, f"{_FIRST}/{SUMS}", f"{_FIRST}/captures.parquet", f"{_FIRST}/observations.parquet"]
)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_never_ends_is_no_file_of_a_store(kind: str, name: str, store: Store) -> None:
    """It was waited for, or read until no memory was left."""
    file = store.path / name
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    with pytest.raises(DamagedStore) as caught:
        Store.open(store.path).query("FROM observations")
    assert caught.value.where == str(file)
