"""A store that somebody else made, or changed: it is refused with words, and does nothing to what is outside."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storscope.domain.errors import DamagedStore, StoreError, StorscopeError
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
    ("content", "found"),
    [
        ('{"schema_version": "1"}', 'schema_version "1"'), ('{"schema_version": 1.0}', "schema_version 1.0"),
        ('{"schema_version": true}', "schema_version true"), ('{"schema_version": 0}', "schema_version 0"),
        ("[]", "JSON of another kind"), ("{}", "none in it"),
    ],
)  # fmt: skip
def test_a_marker_without_a_version_is_told_as_what_it_is(content: str, found: str, store: Store) -> None:
    """It was 'expected version 1 or older, found version 1', and Python's words on indices of lists."""
    (store.path / MARKER).write_text(content)
    with pytest.raises(DamagedStore) as caught:
        Store.open(store.path)
    assert (caught.value.found, caught.value.where) == (found, str(store.path / MARKER))
    assert "--store DIR" in caught.value.hint


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


def _replaced(file: Path, column: str, values: pa.Array) -> None:
    """Without its sums, as a hand that made it knows how to make these."""
    (file.parent / SUMS).unlink(missing_ok=True)
    table = pq.read_table(file, partitioning=None)
    rows = values.take(pa.array([0] * table.num_rows))
    pq.write_table(table.set_column(table.column_names.index(column), column, rows), file)


@pytest.mark.parametrize("values", [[b"\xff\0"], ["much"], [[1]], [{"a": 1}]], ids=["bytes", "text", "list", "object"])
def test_what_is_no_number_in_a_column_of_numbers_is_an_error(values: list[object], store: Store) -> None:
    """It reached what reckons with it: a ValueError in the page of a diagnosis."""
    _replaced(store.path / _FIRST / "observations.parquet", "read_hit_ratio", pa.array(values))
    with pytest.raises(StorscopeError):
        store.query("SELECT read_hit_ratio FROM observations")


def test_a_column_has_its_type_whatever_a_file_has(store: Store) -> None:
    _replaced(store.path / _FIRST / "observations.parquet", "entity", pa.array([7]))
    _replaced(store.path / _FIRST / "observations.parquet", "ops_per_s", pa.array([7]))
    found = store.query("SELECT DISTINCT entity, ops_per_s FROM observations WHERE entity = '7'")
    assert found.to_pylist() == [{"entity": "7", "ops_per_s": 7.0}]


@pytest.mark.parametrize("column", ["omitted", "row_counts", "warnings", "imported_at"])
def test_a_capture_that_says_of_itself_what_cannot_be_is_damaged(column: str, store: Store) -> None:
    _replaced(store.path / _FIRST / "captures.parquet", column, pa.array([float("inf")]))
    with pytest.raises(DamagedStore) as caught:
        store.captures()
    assert caught.value.where == str(store.path / _FIRST / "captures.parquet")
