"""What is waited for until it is on the disk, and what not."""

import os
from pathlib import Path

import pytest

from storscope.store import Store
from storscope.store.outliving import passing
from storscope.workbench.importing import import_paths
from storscope.workbench.temporary_stores import folder_for_stores

_SAMPLE = Path(__file__).parents[2] / "python/storscope/examples/noisy_neighbour/iostat.txt"


def _import_into(place: Path) -> None:
    summary = import_paths(Store.open(place, create=True), [_SAMPLE])
    assert summary.imported


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files and directories that were waited for."""
    waited: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        waited.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return waited


def test_a_store_that_is_kept_is_on_the_disk_before_it_is_said_to_be(tmp_path: Path, synced: list[str]) -> None:
    _import_into(tmp_path / "store")
    assert any(name.endswith("captures.parquet") for name in synced)
    assert str(tmp_path / "store") in synced


def test_a_store_that_is_gone_with_its_command_waits_for_no_disk(synced: list[str]) -> None:
    with folder_for_stores() as folder:
        _import_into(folder / "store")
        assert (folder / "store").is_dir()
    assert synced == []


def test_a_store_beside_or_after_one_that_passes_is_waited_for(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "here").mkdir()
    with passing(tmp_path / "here"):
        _import_into(tmp_path / "there")
    first = len(synced)
    assert first > 0
    _import_into(tmp_path / "here" / "store")
    assert len(synced) > first
