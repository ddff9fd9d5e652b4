"""A store that somebody else made, or changed: it is refused with words, and does nothing to what is outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.domain.errors import StoreError
from storscope.store import CaptureInfo, Store
from storscope.store.lock import STORE_LOCK

_FIRST = f"capture={0:016x}"


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
