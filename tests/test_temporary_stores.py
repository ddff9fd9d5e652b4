"""What errors call a store that lives as long as a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.domain.errors import StoreError, StorscopeError, UsageError
from storscope.store import Store
from storscope.workbench.temporary_stores import folder_for_stores, named_for


def _where(error: StorscopeError, folder: Path, *read: str) -> str:
    with pytest.raises(type(error)) as raised, named_for(folder, list(map(Path, read))):
        raise error
    assert (raised.value.expected, raised.value.found, raised.value.hint) == ("a", "b", "c")
    return raised.value.where


def test_what_was_read_into_it_stands_for_it(tmp_path: Path) -> None:
    error = UsageError("a", "b", where=str(tmp_path / "store"), hint="c")
    assert _where(error, tmp_path, "one.csv") == "one.csv"
    assert _where(error, tmp_path, "-", "two.csv") == "standard input, two.csv"
    assert _where(error, tmp_path, *"abcde") == "a, b, c and 2 more"


def test_other_places_and_trouble_of_the_store_itself_keep_theirs(tmp_path: Path) -> None:
    assert _where(UsageError("a", "b", where="--entity", hint="c"), tmp_path, "one.csv") == "--entity"
    store = str(tmp_path / "store")
    assert _where(StoreError("a", "b", where=store, hint="c"), tmp_path, "one.csv") == store


def test_a_place_for_temporary_files_of_which_nothing_could_be_read_is_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "\udcff"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with pytest.raises(StoreError, match="in UTF-8") as raised, folder_for_stores() as folder:
        Store.open(folder / "store", create=True)
    assert raised.value.hint == "That is among the temporary files. Set TMPDIR to a directory whose path is."
    assert list(place.iterdir()) == []
