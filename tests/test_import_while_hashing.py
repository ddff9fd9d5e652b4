"""A large file is hashed while it is read: nothing else may depend on which comes first."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest
from benches import _esxtop_like

from storscope.store import Store
from storscope.workbench import importing_one
from storscope.workbench.importing import import_paths


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    path = tmp_path / "esxtop.csv"
    _esxtop_like.write(path, 600, 40)
    return path


@pytest.fixture(params=["hash first", "hash last"])
def hash_meanwhile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing_one, "_HASHED_MEANWHILE_BYTES", 0)
    at_once = importing_one.sha256_of

    def late(path: Path) -> str:
        time.sleep(0.3)
        return at_once(path)

    if request.param == "hash last":
        monkeypatch.setattr(importing_one, "sha256_of", late)


@pytest.mark.usefixtures("hash_meanwhile")
def test_a_file_is_published_under_its_hash_and_known_the_second_time(tmp_path: Path, wide: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    first = import_paths(store, [wide])
    assert [item.capture for item in first.imported] == [hashlib.sha256(wide.read_bytes()).hexdigest()[:16]]
    second = import_paths(store, [wide])
    assert not second.imported
    assert [item.capture for item in second.known] == first.captures
    assert len(store.captures()) == 1
    assert not list(store.path.glob(".incoming-*"))
    assert store.query("SELECT count(*) AS n FROM observations").to_pylist()[0]["n"] > 0


@pytest.mark.usefixtures("hash_meanwhile")
def test_a_file_that_breaks_off_leaves_nothing(tmp_path: Path, wide: Path) -> None:
    wide.write_bytes(wide.read_bytes()[:1000])
    store = Store.open(tmp_path / "store", create=True)
    assert import_paths(store, [wide]).failures
    assert [path.name for path in store.path.iterdir()] == ["storscope-store.json"]
