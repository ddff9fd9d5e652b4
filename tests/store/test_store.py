from __future__ import annotations

import errno
import gc
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.domain.entity import EntityRef
from storscope.domain.errors import DamagedStore, NewerStore, NotAStore, QueryError, StoreError
from storscope.domain.recorder import Recorder
from storscope.domain.schema import CANONICAL, CAPTURES, SCHEMA_VERSION
from storscope.store import CaptureInfo, Store
from storscope.store.capture import _parquet_writer
from storscope.store.checksums import SUMS
from tests.support.cases import make_store

DEVICE = EntityRef("host", "device", "sda")
SECOND = 10**9


def _info(capture: str) -> CaptureInfo:
    return CaptureInfo(capture, "x", capture, 1, "t", 1, 0, "h", "0", {})


def _one_row(recorder: Recorder) -> None:
    recorder.observe(DEVICE, 0, SECOND, {"ops_per_s": 1.0})


def test_an_empty_store_answers_with_no_rows(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    for table in ("observations", "counters", "histograms", "events", "facts", "links", "runs", "captures"):
        assert store.query(f"SELECT * FROM {table}").num_rows == 0


@pytest.mark.parametrize("name", ["st\udcff", "st\udcff/below"])
def test_a_path_that_is_not_in_utf_8_is_refused_before_anything_is_made(name: str, tmp_path: Path) -> None:
    """Neither Arrow nor DuckDB could open its files; a relative path would let them be written, and not be read."""
    path = tmp_path / name
    for refused in (Store.check_place, Store.open, lambda path: Store.open(path, create=True)):
        with pytest.raises(StoreError, match="a store whose path is in UTF-8") as caught:
            refused(path)
        assert "st\\xff" in caught.value.found
    assert list(tmp_path.iterdir()) == []


def test_a_store_below_a_directory_that_is_not_in_utf_8_is_refused_by_its_own_name_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "\udcff").mkdir()
    monkeypatch.chdir(tmp_path / "\udcff")
    with pytest.raises(StoreError, match="from the root on"):
        Store.open(Path("store"), create=True)
    assert list(Path().iterdir()) == []


def test_a_directory_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(NotAStore, match="other things"):
        Store.open(tmp_path, create=True)
    with pytest.raises(NotAStore, match="no such directory"):
        Store.open(tmp_path / "absent")


def test_a_link_that_leads_nowhere_and_a_device_are_told_as_these(tmp_path: Path) -> None:
    """A link to a disk that is not mounted: 'File exists' when it was to be made, 'no such directory' when read."""
    link = tmp_path / "link"
    link.symlink_to("elsewhere")
    for refused in (Store.check_place, Store.open, lambda path: Store.open(path, create=True)):
        with pytest.raises(NotAStore, match="found a link to elsewhere, which is not there"):
            refused(link)
        with pytest.raises(NotAStore, match="found no directory"):
            refused(Path("/dev/null"))
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_a_newer_store_is_refused_with_both_versions(tmp_path: Path) -> None:
    Store.open(tmp_path / "store", create=True)
    marker = tmp_path / "store" / "storscope-store.json"
    marker.write_text(json.dumps({"schema_version": SCHEMA_VERSION + 1}))
    with pytest.raises(NewerStore, match=rf"{SCHEMA_VERSION} or older, found version {SCHEMA_VERSION + 1}"):
        Store.open(tmp_path / "store")


def test_a_marker_that_is_no_json_is_called_damaged(tmp_path: Path) -> None:
    Store.open(tmp_path / "store", create=True)
    (tmp_path / "store" / "storscope-store.json").write_text("{")
    with pytest.raises(DamagedStore):
        Store.open(tmp_path / "store")


_VALUES = st.one_of(st.none(), st.floats(min_value=0, max_value=1e15, allow_nan=False))


@settings(max_examples=30)
@given(rows=st.lists(st.fixed_dictionaries(dict.fromkeys(CANONICAL[:9], _VALUES)), min_size=1, max_size=20))
def test_what_goes_in_comes_out_and_no_null_becomes_zero(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, float | None]]
) -> None:
    def write(recorder: Recorder) -> None:
        for number, row in enumerate(rows):
            recorder.observe(DEVICE, number * SECOND, SECOND, row)

    store = make_store(tmp_path_factory.mktemp("store") / "s", write)
    columns = ", ".join(CANONICAL[:9])
    found = store.query(f"SELECT {columns} FROM stored_observations ORDER BY time").to_pylist()
    assert found == [row for row in rows if any(value is not None for value in row.values())]


def test_counters_unpack_to_the_values_that_were_recorded(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        for number in range(5):
            recorder.counter(DEVICE, number * SECOND, SECOND, "merges", "1/s", float(number))
        recorder.counter(DEVICE, 0, SECOND, "flushes", "1/s", 7.0)
        recorder.counter(DEVICE, 0, SECOND, "absent", "1/s", float("nan"))

    store = make_store(tmp_path / "store", write)
    rows = store.query(
        "SELECT name, epoch_ns(time) AS t, duration_ns, value FROM counters ORDER BY name, t"
    ).to_pylist()
    assert rows == [
        {"name": "flushes", "t": 0, "duration_ns": SECOND, "value": 7.0},
        *({"name": "merges", "t": n * SECOND, "duration_ns": SECOND, "value": float(n)} for n in range(5)),
    ]


def test_totals_follow_from_their_parts_and_never_from_one_alone(tmp_path: Path) -> None:
    both = {"read_ops_per_s": 30.0, "write_ops_per_s": 10.0, "read_latency_ns_mean": 1e6, "write_latency_ns_mean": 5e6}

    def write(recorder: Recorder) -> None:
        recorder.observe(DEVICE, 0, SECOND, both)
        recorder.observe(DEVICE, SECOND, SECOND, {"read_ops_per_s": 30.0, "read_latency_ns_mean": 1e6})
        recorder.observe(DEVICE, 2 * SECOND, SECOND, {"ops_per_s": 7.0, **both})

    store = make_store(tmp_path / "store", write)
    rows = store.query("SELECT ops_per_s, latency_ns_mean FROM observations ORDER BY time").to_pylist()
    assert rows[0] == {"ops_per_s": 40.0, "latency_ns_mean": 2e6}
    assert rows[1]["ops_per_s"] is None
    assert rows[2]["ops_per_s"] == 7.0


_READS = {"read_ops_per_s": 10.0, "read_latency_ns_mean": 1e6}


@pytest.mark.parametrize(
    ("writes", "mean_ns"),
    [
        ({}, 1e6),
        ({"write_ops_per_s": 0.0}, 1e6),
        ({"write_ops_per_s": 0.0, "write_latency_ns_mean": 0.0, "write_bytes_per_s": 0.0}, 1e6),
        ({"write_bytes_per_s": 4e8}, None),
        ({"write_latency_ns_mean": 5e7}, None),
        ({"write_ops_per_s": 10.0}, None),
        ({"ops_per_s": 1000.0}, None),
    ],
)
@pytest.mark.parametrize("is_swapped", [False, True], ids=["reads", "writes"])
def test_the_latency_of_one_direction_is_that_of_all_only_where_the_other_did_nothing(
    writes: dict[str, float], mean_ns: float | None, is_swapped: bool, tmp_path: Path
) -> None:
    """Bytes or a latency of writes without their rate tell of writes; they may be most of the operations."""

    def swapped(name: str) -> str:
        begin, mark, end = name.partition("_")
        return {"read": "write", "write": "read"}.get(begin, begin) + mark + end if is_swapped else name

    row = {swapped(name): value for name, value in (_READS | writes).items()}
    store = make_store(tmp_path / "store", lambda recorder: recorder.observe(DEVICE, 0, SECOND, row))
    assert store.query("SELECT latency_ns_mean FROM observations").column(0).to_pylist() == [mean_ns]


@pytest.mark.parametrize(
    ("row", "latency_ns", "is_derived"),
    [
        ({"ops_per_s": 10.0, "queue_depth_mean": 0.5}, 5e7, True),
        ({"read_ops_per_s": 4.0, "write_ops_per_s": 6.0, "queue_depth_mean": 0.5}, 5e7, True),
        ({"ops_per_s": 10.0, "queue_depth_mean": 0.5, "latency_ns_mean": 1e6}, 1e6, False),
        (_READS | {"queue_depth_mean": 0.5}, 1e6, False),
        ({"ops_per_s": 10.0, "queue_depth_mean": 0.5, "device_latency_ns_mean": 1e6}, None, False),
        ({"read_ops_per_s": 10.0, "queue_depth_mean": 0.5}, None, False),
        ({"ops_per_s": 0.0, "queue_depth_mean": 0.5}, None, False),
        ({"ops_per_s": 10.0, "queue_depth_mean": 0.0}, None, False),
        ({"ops_per_s": 0.4, "queue_depth_mean": 0.5}, None, False),
        ({"ops_per_s": 10.0}, None, False),
    ],
    ids=["both", "by direction", "measured", "reads measured", "below the host", "reads alone", "nothing done",
         "nothing in flight", "longer than its interval", "no queue"],
)  # fmt: skip
def test_a_latency_follows_from_the_queue_where_none_is_told_which_is_marked(
    row: dict[str, float], latency_ns: float | None, is_derived: bool, tmp_path: Path
) -> None:
    store = make_store(tmp_path / "store", lambda recorder: recorder.observe(DEVICE, 0, SECOND, row))
    rows = store.query("SELECT latency_ns_mean, latency_is_derived FROM observations").to_pylist()
    assert rows == [{"latency_ns_mean": latency_ns, "latency_is_derived": is_derived}]


def test_a_run_keeps_in_flight_what_it_was_asked_to_and_no_latency_follows(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        recorder.observe(DEVICE, 0, SECOND, {"ops_per_s": 10.0, "queue_depth_mean": 0.5}, run="r1")

    store = make_store(tmp_path / "store", write)
    assert store.query("SELECT latency_ns_mean FROM observations").column(0).to_pylist() == [None]


def test_a_write_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    with pytest.raises(RuntimeError), store.writer(_info("ab")) as writer:
        recorder = Recorder(writer.write)
        recorder.observe(DEVICE, 0, SECOND, {"ops_per_s": 1.0})
        recorder.finish()
        raise RuntimeError
    assert store.captures() == []
    assert [path.name for path in store.path.iterdir()] == ["storscope-store.json"]


def _write_for_ever(path: Path) -> None:
    store = Store.open(path)
    for number in range(10_000):
        with store.writer(_info(f"{number:04x}")) as writer:
            recorder = Recorder(writer.write)
            for step in range(200):
                recorder.observe(DEVICE, step * SECOND, SECOND, {"ops_per_s": float(number)})
                recorder.counter(DEVICE, step * SECOND, SECOND, "c", "", float(number))
            recorder.finish()
            writer.commit(recorder)


@pytest.mark.parametrize("after_s", [0.35, 0.4, 0.47, 0.6])
def test_a_killed_writer_leaves_only_whole_captures(tmp_path: Path, after_s: float) -> None:
    path = tmp_path / "store"
    Store.open(path, create=True)
    process = multiprocessing.get_context("spawn").Process(target=_write_for_ever, args=(path,))
    process.start()
    deadline = time.monotonic() + 120
    while not list(path.glob("capture=*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(after_s / 4)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    store = Store.open(path)
    captures = store.captures()
    assert captures
    counts = store.query("SELECT capture, count(*) AS rows FROM observations GROUP BY 1").to_pylist()
    assert {row["capture"] for row in counts} == {row["capture"] for row in captures}
    assert {row["rows"] for row in counts} == {200}
    assert not list(path.glob(".incoming-*")), "what the killed process left is cleaned up on opening"


def test_reading_while_another_writes_sees_whole_captures(tmp_path: Path) -> None:
    path = tmp_path / "store"
    Store.open(path, create=True)
    process = multiprocessing.get_context("spawn").Process(target=_write_for_ever, args=(path,))
    process.start()
    try:
        seen = 0
        deadline = time.monotonic() + 120
        while seen < 5 and time.monotonic() < deadline:
            rows = Store.open(path).query("SELECT count(*) AS n FROM observations GROUP BY capture").to_pylist()
            assert {row["n"] for row in rows} <= {200}
            seen = len(rows)
        assert seen >= 5
    finally:
        process.kill()
        process.join()


def test_a_query_can_reach_nothing_outside_the_store(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    store = Store.open(tmp_path / "store", create=True)
    for statement in (
        f"SELECT * FROM read_csv('{secret}')",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        f"ATTACH '{tmp_path / 'x.db'}'",
    ):
        with pytest.raises(QueryError):
            store.query(statement)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1 AS a) TO '{store}/capture=0000000000000000/observations.parquet' (FORMAT parquet)",
        "EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{store}/capture=0000000000000000/observations.parquet'",
        "COPY (SELECT 1) TO '{store}/new.csv'",
        "COPY (PIVOT observations ON entity USING count(*)) TO '{store}/new.csv'",
        "ATTACH '{store}/new.db'",
        "EXPORT DATABASE '{store}/new'",
        "CREATE TABLE kept AS SELECT 1",
        "DROP VIEW observations",
        "SELECT * FROM read_text('{store}/storscope-store.json')",
    ],
)
def test_a_question_changes_nothing_and_reads_tables_only(statement: str, tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", _one_row)
    before = {path: path.read_bytes() for path in store.path.rglob("*") if path.is_file()}
    with pytest.raises(QueryError):
        store.query(statement.format(store=store.path))
    assert {path: path.read_bytes() for path in store.path.rglob("*") if path.is_file()} == before
    assert store.query("SELECT count(*) FROM observations").column(0).to_pylist() == [1]


@pytest.mark.parametrize(
    "question",
    [
        "SELECT ops_per_s FROM observations",
        "FROM observations",
        "WITH mine AS (FROM observations) SELECT * FROM mine",
        "VALUES (1)",
        "DESCRIBE observations",
        "SUMMARIZE SELECT ops_per_s FROM observations",
        "PIVOT observations ON entity USING count(*)",
        "EXPLAIN SELECT * FROM observations",
        "EXPLAIN ANALYZE SELECT * FROM observations",
    ],
)
def test_what_only_reads_is_answered(question: str, tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", _one_row)
    assert store.query(question).num_rows


@pytest.mark.parametrize("folder", ["lab[1]", "we*ird", "a?b", "it's", "{a,b}"])
def test_a_path_is_no_pattern(folder: str, tmp_path: Path) -> None:
    """The engine takes names for patterns, and found the store beside."""
    for beside in ("lab1", "weird", "we-ird", "axb", "a", "b"):
        make_store(tmp_path / beside / "store", _one_row)
    store = make_store(tmp_path / folder / "store", _one_row)
    assert store.query("SELECT count(*) FROM observations").column(0).to_pylist() == [1]


@pytest.mark.parametrize("table", ["observations", "captures"])
def test_a_capture_without_one_of_its_files_is_never_judged(table: str, tmp_path: Path) -> None:
    """A copy of a store that broke off."""
    store = make_store(tmp_path / "store", _one_row)
    (file := store.path / f"capture={0:016x}" / f"{table}.parquet").unlink()
    with pytest.raises(DamagedStore, match=rf"{table}\.parquet: expected .*, found none[\s\S]*storscope store remove"):
        Store.open(store.path).query("SELECT 1")
    assert not file.exists()


def test_a_file_with_other_rows_than_its_capture_counts_is_never_judged(tmp_path: Path) -> None:
    def write_more(recorder: Recorder) -> None:
        for number in range(3):
            recorder.observe(DEVICE, number * SECOND, SECOND, {"ops_per_s": 1.0})

    store, other = make_store(tmp_path / "store", _one_row), make_store(tmp_path / "other", write_more)
    file = Path(f"capture={0:016x}") / "observations.parquet"
    (store.path / file).write_bytes((other.path / file).read_bytes())
    with pytest.raises(DamagedStore, match=r"observations\.parquet: expected what was written"):
        Store.open(store.path).query("SELECT 1")
    (store.path / file).with_name(SUMS).unlink()  # as an earlier version wrote it
    with pytest.raises(DamagedStore, match=r"observations\.parquet: expected 1 row, found 3 rows"):
        Store.open(store.path).query("SELECT 1")


def test_a_file_that_is_damaged_is_named_or_read_as_it_was(tmp_path: Path) -> None:
    """Some errors of the engine name none."""

    def write(recorder: Recorder) -> None:
        for number in range(500):
            recorder.observe(DEVICE, number * SECOND, SECOND, {"ops_per_s": number / 7})

    store = make_store(tmp_path / "store", write)
    file = store.path / f"capture={0:016x}" / "observations.parquet"
    file.with_name(SUMS).unlink()  # as an earlier version wrote it
    whole, chance = file.read_bytes(), random.Random(5)
    for _ in range(20):
        broken = bytearray(whole)
        broken[chance.randrange(4, len(whole))] ^= 1 << chance.randrange(8)
        file.write_bytes(broken)
        try:
            Store.open(store.path).query("SELECT * FROM observations")
        except DamagedStore as error:
            assert error.where == str(file)


def test_wrong_sql_is_answered_with_the_tables_there_are(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    with pytest.raises(QueryError, match="The tables are: observations"):
        store.query("SELECT * FROM observation")
    with pytest.raises(QueryError, match="SELECT"):
        store.query("SELECT 1; DROP VIEW observations")


@pytest.mark.parametrize(
    "wrong", ["hour(time)", "date_trunc('minute', time)", "time - INTERVAL 1 HOUR", "max(time) - min(time)"]
)
def test_a_function_that_takes_no_nanoseconds_is_told_with_what_to_write(wrong: str, tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", _one_row)
    with pytest.raises(QueryError, match="Write time::TIMESTAMPTZ"):
        store.query(f"SELECT {wrong} FROM observations")
    assert store.query(f"SELECT {wrong.replace('time', 'time::TIMESTAMPTZ')} FROM observations").num_rows == 1


def test_a_large_answer_comes_in_parts_so_that_long_texts_fit(tmp_path: Path) -> None:
    """A column of strings may have 2 GiB in each part; a part of a million rows could not hold a design in each."""
    store = Store.open(tmp_path / "s", create=True)
    answer = store.query("SELECT range AS number, repeat('x', 100) AS text FROM range(100000)")
    chunks = answer.column("text").chunks
    assert sum(map(len, chunks)) == 100_000
    assert max(map(len, chunks)) < 2**31 / 100_000, "each text may have 100 kB"
    assert answer.schema.field("text").type == pa.string()
    assert answer.column("number").to_pylist() == list(range(100_000))


@pytest.mark.parametrize(
    "folder", ["run=base", "system=db01", "kind=backup", "capture=zz", "time=2026", "entity=a/name=b"]
)
def test_folders_above_the_store_say_nothing_about_its_rows(folder: str, tmp_path: Path) -> None:
    """Data lakes name folders by column and value, and the engine took such names for columns of the files."""

    def write(recorder: Recorder) -> None:
        recorder.observe(DEVICE, 10**18, SECOND, {"ops_per_s": 1.0})
        recorder.counter(DEVICE, 10**18, SECOND, "merges", "1/s", 2.0)

    kept, moved = (make_store(tmp_path / place, write, write) for place in ("store", f"{folder}/store"))
    for table in ("observations", "counters", "entities", "captures"):
        assert moved.query(f"SELECT * FROM {table} ORDER BY ALL") == kept.query(f"SELECT * FROM {table} ORDER BY ALL")
    assert kept.query("SELECT DISTINCT capture FROM observations ORDER BY 1").column(0).to_pylist() == [
        f"{0:016x}",
        f"{1:016x}",
    ]


def test_a_removed_capture_is_gone_from_every_table(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", _one_row)
    store.remove_capture(f"{0:016x}")
    assert store.query("SELECT * FROM observations").num_rows == 0
    assert store.captures() == []


@pytest.mark.needs_root
def test_a_store_without_room_says_so_and_is_as_before(tmp_path: Path) -> None:
    """A file system of 1 MiB, and twice as much that cannot be compressed."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=True)
    try:
        store = Store.open(place / "store", create=True)
        before = sorted(store.path.iterdir())
        with pytest.raises(StoreError, match=r"No space left[\s\S]*--store"), store.writer(_info("a" * 16)) as writer:
            recorder, numbers = Recorder(writer.write), random.Random(1)
            for second in range(120_000):
                values = {"ops_per_s": numbers.random(), "latency_ns_mean": numbers.random()}
                recorder.observe(DEVICE, second * SECOND, SECOND, values)
            recorder.finish()
            writer.commit(recorder)
        assert sorted(store.path.iterdir()) == before
        assert store.captures() == []
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.needs_root
def test_a_store_that_is_read_only_is_not_said_to_need_room(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=True)
    try:
        store = Store.open(place / "store", create=True)
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        with pytest.raises(StoreError, match="Read-only file system") as caught, store.writer(_info("a" * 16)):
            pass
        assert caught.value.hint == "Choose another one with --store."
    finally:
        subprocess.run(["umount", place], check=True)


class _FullFile:
    """What pyarrow writes a file with, when there is no room for the file's end."""

    def close(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_without_room_for_its_end_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow tried to end it again when it was collected, and printed a traceback."""
    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    file = _parquet_writer(tmp_path / "file", CAPTURES)
    file.writer = _FullFile()
    with pytest.raises(OSError, match="No space left"):
        file.close()
    del file
    gc.collect()
    assert not printed


def test_a_store_that_cannot_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StoreError, match=r"No space left[\s\S]*--store"):
        Store.open(tmp_path / "new", create=True)
    assert not list(tmp_path.iterdir())
    (tmp_path / "theirs").mkdir()
    with pytest.raises(StoreError):
        Store.open(tmp_path / "theirs", create=True)
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"], "what was there stays"


def _write(store: Store, capture: str, rows: int = 1) -> None:
    with store.writer(_info(capture)) as writer:
        recorder = Recorder(writer.write)
        for step in range(rows):
            recorder.observe(DEVICE, step * SECOND, SECOND, {"ops_per_s": 1.0})
        recorder.finish()
        writer.commit(recorder)


def test_listing_captures_again_reads_none_again_until_one_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / "store", create=True)
    for capture in ("a" * 16, "b" * 16):
        _write(store, capture)
    read: list[Path] = []
    whole = pq.read_table

    def read_table(file: Path, **options: Any) -> pa.Table:
        read.append(file)
        return whole(file, **options)

    monkeypatch.setattr(pq, "read_table", read_table)
    first = store.captures()
    assert len(read) == 2
    assert store.captures() == first
    assert store.only(["a" * 16]).captures() == first[:1]
    assert len(read) == 2
    store.remove_capture("b" * 16)
    assert store.captures() == first[:1]
    _write(store, "b" * 16, rows=2)
    again = store.captures()
    assert len(read) == 3
    assert [row["row_counts"] for row in again] != [row["row_counts"] for row in first]


def test_of_many_captures_only_the_damaged_one_is_at_fault(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    names = [f"{number:016x}" for number in range(70)]
    for name in names:
        _write(store, name)
    file = store.path / f"capture={names[66]}" / "observations.parquet"
    file.write_bytes(file.read_bytes()[:-20] + b"x" * 20)
    assert [one.id for one in store.check() if one.fault is not None] == [names[66]]
