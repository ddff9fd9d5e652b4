"""Questions about some of a store's captures."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.store import Store
from tests.support.cases import make_store

_DEVICE = EntityRef("host", "device", "sda")


def _busy(rate_per_s: float) -> object:
    def write(recorder: Recorder) -> None:
        recorder.observe(_DEVICE, 10**18, 10**9, {"ops_per_s": rate_per_s})
        recorder.counter(_DEVICE, 10**18, 10**9, "errors", "", rate_per_s)

    return write


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "store", _busy(1.0), _busy(2.0), _busy(3.0))  # type: ignore[arg-type]


def test_a_part_answers_of_its_captures_only(store: Store) -> None:
    part = store.only([f"{1:016x}"])
    assert [row["capture"] for row in part.captures()] == [f"{1:016x}"]
    assert part.query("SELECT ops_per_s FROM observations").column(0).to_pylist() == [2.0]
    assert store.query("SELECT ops_per_s FROM observations").num_rows == 3


def test_all_captures_are_the_store_itself(store: Store) -> None:
    assert store.only([row["capture"] for row in store.captures()]) is store
    assert store.repeatable("SELECT 1") == "SELECT 1"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ops_per_s FROM observations ORDER BY 1",
        "SELECT o.ops_per_s FROM counters c\nJOIN observations o ON o.capture = c.capture WHERE c.value > 1 ORDER BY 1",
        "WITH kept AS (SELECT ops_per_s FROM observations) SELECT * FROM kept ORDER BY 1",
        "SELECT (SELECT count(*) FROM captures) AS number",
        "SELECT 5 AS number",
    ],
)
def test_a_repeatable_statement_gives_the_rows_of_the_part_from_the_whole_store(store: Store, sql: str) -> None:
    part = store.only([f"{0:016x}", f"{2:016x}"])
    assert store.query(part.repeatable(sql)).to_pylist() == part.query(sql).to_pylist()
