"""Importing again what a store has, but not as it was written."""

from __future__ import annotations

import zoneinfo
from pathlib import Path

import pytest

from storscope.sources.importer import ImportOptions
from storscope.store import Store
from storscope.workbench.import_summary import ImportSummary
from storscope.workbench.importing import import_paths

_EXAMPLE = Path(__file__).parents[1] / "examples" / "noisy_neighbour"
_FILES = [_EXAMPLE / "iostat.txt", _EXAMPLE / "diskstats.txt"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, _FILES)
    return store


def _again(store: Store, *, replace: bool = False, zone: zoneinfo.ZoneInfo | None = None) -> ImportSummary:
    return import_paths(Store.open(store.path), _FILES, options=ImportOptions(timezone=zone), replace=replace)


def _turn_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_a_damaged_capture_is_not_called_known_and_is_made_anew(store: Store) -> None:
    """It was 'known', with exit code 0, while every command refused the store and said to import it again."""
    damaged = _again(store).known[0].capture
    _turn_a_bit(store.path / f"capture={damaged}" / "observations.parquet")
    told = _again(store)
    assert [one.capture for one in told.known] == [one for one in store.capture_ids() if one != damaged]
    (failure,) = told.failures
    assert f"capture {damaged}, which is damaged (" in failure.reason and "--replace reads it anew" in failure.reason
    assert not _again(store, replace=True).failures
    assert [one.fault for one in store.check()] == [None, None]


def test_what_is_wrong_with_a_capture_keeps_no_other_from_being_known(store: Store) -> None:
    """With options it is looked at how each was read, which took the rows of all."""
    damaged, sound = store.capture_ids()
    (store.path / f"capture={damaged}" / "captures.parquet").unlink()
    told = _again(store, zone=zoneinfo.ZoneInfo("UTC"))
    assert [one.capture for one in told.known] == [sound]
    (failure,) = told.failures
    assert "captures.parquet: expected a readable Parquet file, found none" in failure.reason
