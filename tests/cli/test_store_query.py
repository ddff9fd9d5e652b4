"""What `store query` prints of an answer."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from storscope.domain.entity import EntityRef
from storscope.store import Store
from tests.support.cases import make_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    device = EntityRef("host", "device", "sda")
    store = make_store(tmp_path / "s", lambda recorder: recorder.observe(device, 10**18, 10**9, {"ops_per_s": 1.0}))
    return store.path


def _asked(path: Path, sql: str, form: str) -> str:
    command = [sys.executable, "-m", "storscope", "store", "query", "--store", str(path), "--format", form, sql]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


_SQL = """SELECT sum(duration_ns) AS sum, 1.10 AS decimal, TIME '10:00' AS time, DATE '2026-11-21' AS date,
          INTERVAL 90 MINUTE AS length, NULL AS nothing, {'at': TIME '10:00'} AS nested FROM observations"""


def test_numbers_are_numbers_and_what_json_has_not_is_text(path: Path) -> None:
    (row,) = json.loads(_asked(path, _SQL, "json"))
    assert row == {
        "sum": 10**9, "decimal": 1.1, "time": "10:00:00", "date": "2026-11-21", "length": "P0M0DT5400S",
        "nothing": None, "nested": {"at": "10:00:00"},
    }  # fmt: skip
    (cells,) = csv.DictReader(_asked(path, _SQL, "csv").splitlines())
    assert (cells["sum"], cells["length"]) == ("1000000000", "P0M0DT5400S")
    assert '"' not in _asked(path, "SELECT sum(duration_ns) FROM observations", "table")


def test_a_table_tells_instants_apart_and_writes_dates_without_quotes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intervals of a benchmark are a tenth of a second, those of a simulation often less."""
    sql = """SELECT TIMESTAMPTZ '2026-11-21 01:13:25.05Z' AS a, TIMESTAMPTZ '2026-11-21 01:13:25.0001Z' AS b,
             TIMESTAMPTZ '2026-11-21 01:13:25Z' AS c, TIMESTAMP '2026-11-21 01:13:25' AS d, DATE '2026-11-21' AS e"""
    monkeypatch.setenv("COLUMNS", "200")
    row = _asked(path, sql, "table").splitlines()[-1]
    assert [cell.strip() for cell in row.split("│")] == [
        "2026-11-21 01:13:25.05Z", "2026-11-21 01:13:25.0001Z", "2026-11-21 01:13:25Z", "2026-11-21 01:13:25",
        "2026-11-21",
    ]  # fmt: skip


def test_nothing_is_no_export(tmp_path: Path) -> None:
    store, out = Store.open(tmp_path / "s", create=True), tmp_path / "out"
    command = [sys.executable, "-m", "storscope", "store", "export", "--store", str(store.path), "--format", "csv"]
    refused = subprocess.run([*command, "-o", str(out)], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "expected evidence in the store, found none" in refused.stderr
    assert not out.exists()


def test_columns_of_one_name_do_not_hide_each_other(path: Path) -> None:
    sql = "SELECT 1 AS a, 2 AS a, 3 AS a, 4 AS a_1"
    assert json.loads(_asked(path, sql, "json")) == [{"a": 1, "a_2": 2, "a_3": 3, "a_1": 4}]
    assert _asked(path, sql, "table").splitlines()[-1].split() == ["1", "│", "2", "│", "3", "│", "4"]


def test_several_tables_are_exported_whole_or_not_at_all(path: Path, tmp_path: Path) -> None:
    """A file system without room, here for more than 4 KiB in a file: `entities` fits, `observations` does not."""
    out = tmp_path / "out"
    tables = ("--table", "captures", "--table", "entities", "--table", "observations")
    command = [sys.executable, "-m", "storscope", "store", "export", "--store", str(path), "--format", "csv", *tables]
    limited = ["bash", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "bash", *command, "-o", str(out)]
    failed = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert failed.returncode == 2 and "a place where the file can be written" in failed.stderr
    assert not out.exists()
    subprocess.run([*command, "-o", str(out)], check=True, capture_output=True)
    assert sorted(file.name for file in out.iterdir()) == ["captures.csv", "entities.csv", "observations.csv"]
