"""Runs on the page: each once, and the streams on volumes or targets that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.report.pack import Packer
from storscope.report.page import render
from storscope.report.runs import RunTable, run_table
from storscope.store import Store
from storscope.workbench.importing import import_paths
from tests.report.evidence import START_NS, S, verdict_of
from tests.support.cases import make_store

_ID = "simulation-31a45725-18ea9bbffbfb6c5f"
_PARTS = ("clone 1 on esx/desktops", "clone 2 on esx/desktops", "clone 10 on esx/templates")


def runs_of_streams(
    ids: Sequence[str], engine: str = "storscope-sim", name: str = "ten clones"
) -> Callable[[Recorder], None]:
    """Runs of three streams each, as `storscope simulate` and `storscope bench` record them."""

    def write(recorder: Recorder) -> None:
        for number, id_ in enumerate(ids):
            run = recorder.run(
                id_, engine=engine, engine_version="0.1.0", name=name, system="array", workers=11, outstanding=64,
                block_bytes=8192, read_ratio=0.7, random_ratio=1.0,
            )  # fmt: skip
            for rate, part in ((600.0, ""), *((100.0 * n, f": {words}") for n, words in enumerate(_PARTS, 1))):
                entity = EntityRef("array", "process" if part else "job", id_ + part)
                values = {"ops_per_s": rate, "bytes_per_s": rate * 8192, "latency_ns_mean": 2e6, "latency_ns_max": 9e6}
                recorder.observe(entity, START_NS + number * 9 * S, 5 * S, values, run=run)
                buckets = [(1e6, 2e6, 98), (2e6, 4e6, 2)]
                recorder.histogram(entity, START_NS + number * 9 * S, 5 * S, "read", "lat", buckets, run=run)

    return write


def _table(path: Path, write: Callable[[Recorder], None]) -> RunTable:
    found = run_table(make_store(path / "store", write), Packer())
    assert found is not None
    return found


def test_a_simulated_run_is_one_row_and_its_streams_on_volumes_stand_apart(tmp_path: Path) -> None:
    table = _table(tmp_path, runs_of_streams([_ID]))
    assert [row[0] for row in table.rows] == ["ten clones"]
    assert "Of" not in table.heads
    assert table.scatter is None
    parts = table.parts
    assert parts is not None
    assert parts.title == "Streams on volumes of ten clones"
    assert parts.note.startswith(f"One simulated run, {_ID}, in its parts: 3 streams on volumes.")
    assert parts.heads == [
        "Stream on volume", "In flight", "Operations", "Throughput", "Mean latency", "Highest", "p99",
    ]  # fmt: skip
    assert [row[0] for row in parts.rows] == list(_PARTS), "a run's workers are not those of a stream; 2 before 10"
    assert parts.rows[1] == [_PARTS[1], "0.4", "200 IOPS", "1.64 MB/s", "2.00 ms", "9.00 ms", "≤ 4.00 ms"]
    assert parts.scatter is not None
    assert parts.scatter.chart["names"] == list(_PARTS)
    assert parts.scatter.note == "Each point is one of 3 streams on volumes of one simulated run."


def test_the_id_of_a_run_with_a_name_stands_once_among_theruns_of_streams(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", runs_of_streams([_ID]))
    page = render(verdict_of(store, bad_windows={}), store)
    section = page.partition('<section id="runs">')[2].partition("</section>")[0]
    assert section.count(_ID) == 1
    assert "enchmark" not in section


def test_runs_of_one_name_are_told_apart_by_their_ids_and_their_streams_with_them(tmp_path: Path) -> None:
    table = _table(tmp_path, runs_of_streams(["bench-1", "bench-2", "bench-3"], "storscope", "oltp"))
    names = ["oltp (bench-1)", "oltp (bench-2)", "oltp (bench-3)"]
    assert [row[0] for row in table.rows] == names
    assert table.scatter is not None
    assert table.scatter.chart["names"] == names
    assert table.scatter.note == "Each point is one of 3 benchmark runs."
    parts = table.parts
    assert parts is not None
    assert parts.heads[:2] == ["Stream on target", "Run"]
    assert [row[1] for row in parts.rows] == [name for name in names for _ in _PARTS]
    assert "3 runs in parts: 9 streams on targets." in parts.note


def managers_and_workers(recorder: Recorder) -> None:
    """As Iometer tells them: sums and what they are of, by names of their own."""
    run = recorder.run("4k read", engine="iometer", name="4k read", system="host")
    for kind, name in (("job", "4k read"), ("host", "hosta"), ("process", "Worker 1"), ("process", "Worker: 2")):
        values = {"ops_per_s": 10.0, "latency_ns_mean": 1e6}
        recorder.observe(EntityRef("host", kind, name), START_NS, S, values, run=run)


def test_what_a_run_was_observed_of_stays_a_row_and_a_point_of_its_name(tmp_path: Path) -> None:
    table = _table(tmp_path, managers_and_workers)
    assert table.parts is None
    assert [row[:2] for row in table.rows] == [
        ["4k read", name] for name in ("4k read", "Worker 1", "Worker: 2", "hosta")
    ]
    assert table.scatter is not None
    assert table.scatter.chart["names"] == [row[1] for row in table.rows]
    assert table.scatter.note == "Each point is one of 4 rows of the table above."


def test_what_is_in_flight_is_explained_where_the_table_tells_it(tmp_path: Path) -> None:
    def rates_alone(recorder: Recorder) -> None:
        run = recorder.run("1", engine="iometer", name="4k read", system="host")
        recorder.observe(EntityRef("host", "job", "4k read"), START_NS, S, {"ops_per_s": 10.0}, run=run)

    table = _table(tmp_path / "rates", rates_alone)
    assert "In flight" not in table.heads
    assert table.note == ""
    assert "In flight is operations per second" in _table(tmp_path / "latency", runs_of_streams([_ID])).note


# Over time ------------------------------------------------------------------------------------------------------------


def runs_over_time(
    runs: int = 1, intervals: int = 12, engine: str = "fio", *, whole: bool = False
) -> Callable[[Recorder], None]:
    """Runs one after another whose rate rises, as of a cache that warms up."""

    def write(recorder: Recorder) -> None:
        for number in range(runs):
            begin_ns = START_NS + number * 100 * S + 689  # as our own runs have times: to the nanosecond
            run = recorder.run(f"run {number}", engine=engine, name=f"run {number}", system="host", time_ns=begin_ns)
            entity = EntityRef("host", "job", f"run {number}")
            for at in range(intervals):
                values = {"ops_per_s": 100.0 * (at + 1), "latency_ns_mean": 8e6 / (at + 1)}
                recorder.observe(entity, begin_ns + at * S, S, values, run=run)
            if whole:
                recorder.observe(entity, begin_ns, intervals * S, {"ops_per_s": 650.0}, run=run)

    return write


def test_runs_with_intervals_are_drawn_over_the_time_since_their_start(tmp_path: Path) -> None:
    packer = Packer()
    table = run_table(make_store(tmp_path / "store", runs_over_time(2)), packer)
    assert table is not None
    course = table.course
    assert course is not None
    assert course.chart["labels"] == ["run 0", "run 1"]
    assert [panel["name"] for panel in course.chart["panels"]] == ["ops_per_s", "latency_ns_mean"]  # type: ignore[attr-defined]
    assert course.note == "Points are intervals, each at its beginning. Intervals are of 1.00 s."
    assert course.chart["axis"]["values"] == [0.0, 12.0]  # type: ignore[index]


def test_of_many_runs_the_first_are_drawn_and_the_others_counted(tmp_path: Path) -> None:
    course = _table(tmp_path, runs_over_time(9)).course
    assert course is not None
    assert course.chart["labels"] == [f"run {number}" for number in range(6)]
    assert "The first 6 of 9 runs with intervals are drawn." in course.note


@pytest.mark.parametrize(
    "write",
    [
        runs_over_time(intervals=7),
        runs_over_time(engine="storscope-sim"),
        runs_over_time(whole=True),
        runs_of_streams([_ID]),
    ],
    ids=["few intervals", "simulated", "the whole beside its parts", "no intervals"],
)
def test_other_runs_have_no_course(write: Callable[[Recorder], None], tmp_path: Path) -> None:
    assert _table(tmp_path, write).course is None


def test_runs_of_one_name_in_several_files_are_told_apart_by_these(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        text = "".join(f"{1000 * at}, {50 + ord(name)}, 0, 0, 0\n" for at in range(1, 10))
        (tmp_path / name / "x_iops.1.log").write_text(text)
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, [tmp_path / "a", tmp_path / "b"])
    table = run_table(store, Packer())
    assert table is not None
    assert table.course is not None
    assert sorted(table.course.chart["labels"]) == ["x (a/x_iops.1.log)", "x (b/x_iops.1.log)"]  # type: ignore[call-overload]
    assert table.course.chart["axis"]["values"] == [0.0, 9.0], "one after another, though they have no times"  # type: ignore[index]


def test_a_page_with_runs_over_time_does_not_say_that_there_is_none(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", runs_over_time())
    page = render(verdict_of(store, bad_windows={}), store)
    section = page.partition('<section id="runs">')[2].partition("</section>")[0]
    assert "Over the time since the start" in section
    assert "This evidence holds no load" not in page
