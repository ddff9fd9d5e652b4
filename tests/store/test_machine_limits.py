"""A process that runs out of something calls no capture damaged."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
from typing import Any

import duckdb
import pytest

from storscope.domain.errors import DamagedStore, StoreError
from storscope.store import Store, engine
from storscope.store.checksums import SUMS

_OF_THE_MACHINE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES, errno.EIO)


def _refused(store: Store) -> StoreError:
    with pytest.raises(StoreError) as raised:
        Store.open(store.path).query("SELECT count(*) FROM observations")
    assert not isinstance(raised.value, DamagedStore)
    assert "again" not in raised.value.hint, "nobody is told to import it again"
    return raised.value


@pytest.mark.parametrize("files", range(6, 30, 2))
def test_a_process_that_may_open_few_files_blames_none_of_them(store: Store, files: int) -> None:
    script = (
        "import sys, resource, duckdb, encodings.ascii; from pathlib import Path; from storscope.store import Store\n"
        "from storscope.domain.errors import DamagedStore, StoreError\n"
        "Store.open(Path(sys.argv[2])).query('SELECT 1'); store = Store.open(Path(sys.argv[1]))\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, hard))\n"
        "try:\n"
        "    print(store.query('SELECT count(*) AS n FROM observations').to_pylist())\n"
        "except StoreError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    loaded = shutil.copytree(store.path, store.path.with_name("loaded"))
    done = subprocess.run(
        [sys.executable, "-c", script, str(store.path), str(loaded)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(("[{'n': 1000}]", "StoreError ")), done.stdout
    if files == 6:
        assert "Too many open files. Let" in done.stdout.replace(".\n  ", ". ")


@pytest.mark.parametrize("number", _OF_THE_MACHINE)
@pytest.mark.parametrize("name", ["observations.parquet", SUMS])
def test_a_file_that_the_machine_does_not_let_be_proved_is_not_damaged(
    store: Store, name: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = io.open

    def fails(file: Any, *rest: Any, **named: Any) -> Any:
        if str(file).endswith(name):
            raise OSError(number, os.strerror(number), str(file))
        return opened(file, *rest, **named)

    monkeypatch.setattr(io, "open", fails)
    error = _refused(store)
    assert error.where.endswith(name)
    assert os.strerror(number) in error.found
    with pytest.raises(StoreError) as raised:
        list(Store.open(store.path).check())
    assert not isinstance(raised.value, DamagedStore)


@pytest.mark.parametrize("number", _OF_THE_MACHINE)
def test_a_file_that_the_engine_cannot_open_is_not_damaged(
    store: Store, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = store.path / f"capture={0:016x}" / "observations.parquet"
    said = duckdb.IOException(f'IO Error: Cannot open file "{file}": {os.strerror(number)}')
    monkeypatch.setattr(engine.Engine, "_check_rows", lambda *_: (_ for _ in ()).throw(said))
    assert os.strerror(number) in _refused(store).found


@pytest.mark.parametrize("said", [MemoryError(), duckdb.OutOfMemoryException("Allocation failure")])
def test_a_store_that_finds_no_memory_is_not_damaged(
    store: Store, said: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.Engine, "_check_rows", lambda *_: (_ for _ in ()).throw(said))
    assert _refused(store).expected == "more memory"
