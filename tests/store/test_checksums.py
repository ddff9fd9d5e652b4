"""Files of a store are what was written, or are named."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from storscope.domain.errors import DamagedStore
from storscope.store import Store
from storscope.store.checksums import SUMS


def _first(store: Store) -> Path:
    return store.path / f"capture={0:016x}"


def _turn_a_bit(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def test_the_sums_are_those_of_the_system_s_own_tool(store: Store) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", SUMS], cwd=_first(store), check=True)
    assert sorted(line.split()[1] for line in (_first(store) / SUMS).read_text().splitlines()) == sorted(
        file.name for file in _first(store).glob("*.parquet")
    )


@pytest.mark.parametrize("table", ["observations", "captures"])
def test_no_single_bit_is_read_that_was_turned_over(store: Store, table: str) -> None:
    file = _first(store) / f"{table}.parquet"
    whole, chance = file.read_bytes(), random.Random(7)
    for _ in range(30):
        _turn_a_bit(file, chance)
        with pytest.raises(DamagedStore, match="SHA-256") as raised:
            Store.open(store.path).query("SELECT * FROM observations")
        assert raised.value.where == str(file)
        assert [one.fault is None for one in store.check()] == [False, True]
        file.write_bytes(whole)
    assert Store.open(store.path).query("SELECT count(*) FROM observations").column(0).to_pylist() == [1000]


def test_a_capture_s_own_row_is_proved_before_it_is_listed(store: Store) -> None:
    _turn_a_bit(_first(store) / "captures.parquet", random.Random(1))
    with pytest.raises(DamagedStore, match="SHA-256"):
        Store.open(store.path).captures()


def test_what_was_proved_is_proved_again_once_it_is_another_file(store: Store) -> None:
    assert store.query("SELECT 1").num_rows == 1
    _turn_a_bit(_first(store) / "observations.parquet", random.Random(3))
    store.forget()
    with pytest.raises(DamagedStore, match="SHA-256"):
        store.query("SELECT 1")


@pytest.mark.parametrize(
    "content", ["", "no sums\n", "00  observations.parquet\n", f"{'0' * 64}  ../x.parquet\n", "\xff"]
)
def test_sums_that_are_none_are_named(store: Store, content: str) -> None:
    (_first(store) / SUMS).write_bytes(content.encode("latin-1"))
    with pytest.raises(DamagedStore, match=SUMS):
        Store.open(store.path).query("SELECT 1")


def test_a_table_that_came_later_is_not_read(store: Store) -> None:
    (_first(store) / "events.parquet").write_bytes((_first(store) / "observations.parquet").read_bytes())
    with pytest.raises(DamagedStore, match=r"events\.parquet: expected the tables that SHA256SUMS lists"):
        Store.open(store.path).query("SELECT 1")


def test_a_capture_of_an_earlier_version_is_read_and_called_readable(store: Store) -> None:
    (_first(store) / SUMS).unlink()
    assert Store.open(store.path).query("SELECT count(*) FROM observations").column(0).to_pylist() == [1000]
    assert [(one.has_sums, one.fault) for one in store.check()] == [(False, None), (True, None)]
    (_first(store) / "observations.parquet").write_bytes(b"PAR1")
    first, second = Store.open(store.path).check()
    assert (first.fault is None, second.fault is None) == (False, True)


def test_one_that_is_copied_with_its_store_is_as_it_was(store: Store, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "run=1"
    shutil.copytree(store.path, copy)
    assert all(one.fault is None and one.has_sums for one in Store.open(copy).check())


def _storscope(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "storscope", "store", *arguments], capture_output=True, text=True, check=False
    )


def test_check_names_each_damaged_file_and_ends_with_1(store: Store) -> None:
    whole = _storscope("check", "--store", str(store.path))
    assert (whole.returncode, whole.stderr) == (0, "")
    assert "2 captures, 6 files" in whole.stdout and whole.stdout.rstrip().endswith(": 2 as written")
    for capture, table in ((0, "observations"), (1, "captures")):
        _turn_a_bit(store.path / f"capture={capture:016x}" / f"{table}.parquet", random.Random(5))
    found = _storscope("check", "--store", str(store.path))
    assert found.returncode == 1
    first, second, total = found.stdout.splitlines()
    assert first.startswith("DAMAGED") and f"capture={0:016x}/observations.parquet" in first
    assert second.startswith("DAMAGED") and f"capture={1:016x}/captures.parquet" in second
    assert total.endswith(": 0 as written, 2 DAMAGED")
    assert f"store remove --store {store.path} {0:016x} {1:016x}" in found.stderr


def test_remove_takes_out_what_is_named_and_nothing_where_one_name_is_wrong(store: Store) -> None:
    def ids() -> list[str]:
        return [row["capture"] for row in Store.open(store.path).captures()]

    wrong = _storscope("remove", "--store", str(store.path), f"{0:016x}", "nosuch")
    assert wrong.returncode != 0 and "'nosuch', and none" in wrong.stderr
    several = _storscope("remove", "--store", str(store.path), "0000")
    assert several.returncode != 0 and "2 that begin so" in several.stderr
    dry = _storscope("remove", "--store", str(store.path), f"{0:016x}", "--dry-run")
    assert (dry.returncode, dry.stdout.split()[:3]) == (0, ["would", "remove", f"{0:016x}"])
    assert len(ids()) == 2
    gone = _storscope("remove", "--store", str(store.path), f"{0:016x}")
    assert (gone.returncode, gone.stdout) == (0, f"removed {0:016x}  synthetic  synthetic-0\n")
    assert ids() == [f"{1:016x}"]
    assert not list(store.path.glob(".incoming-*"))


def test_remove_takes_out_what_is_damaged(store: Store) -> None:
    _turn_a_bit(_first(store) / "captures.parquet", random.Random(5))
    assert _storscope("remove", "--store", str(store.path), f"{0:016x}").returncode == 0
    assert Store.open(store.path).query("SELECT count(*) FROM observations").column(0).to_pylist() == [500]
