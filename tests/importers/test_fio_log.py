from __future__ import annotations

import datetime as dt
import json
import math
import shutil
import subprocess
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.domain.fio_buckets import bucket_from_value
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import recognise
from storscope.sources.importers._fio_log_jobs import LoggedJob
from storscope.sources.importers._fio_log_rows import Entries, log_name
from storscope.sources.importers.fio_log import IMPORTER
from storscope.store import Store
from storscope.workbench.importing import import_paths
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

HERE = Path(__file__).parent / "fio_log"
SAMPLES = [HERE / "joined.txt", *(path for path in sorted(HERE.glob("*.log")) if "pbench_clat_hist" not in path.name)]


def joined(paths: list[Path], tmp_path: Path, options: ImportOptions | None = None) -> Tables:
    """Logs of one folder as they are read together."""
    text = "".join(f"# {path.name}\n{path.read_text()}" for path in paths)
    return read_text(IMPORTER, text, tmp_path, options)


def done_in(tables: Tables, run: str, way: str) -> dict[str, float]:
    """I/Os, bytes, mean latency and seconds of all intervals of a run."""
    rows = [row for row in tables.rows("observations") if row["run"] == run]
    found: dict[str, float] = defaultdict(float)
    for row in rows:
        seconds = row["duration_ns"] / 1e9
        ios = row[f"{way}_ops_per_s"] * seconds
        found["seconds"] += seconds
        found["ios"] += ios
        found["bytes"] += row[f"{way}_bytes_per_s"] * seconds
        found["waited"] += ios * (row[f"{way}_latency_ns_mean"] or 0.0)
    found["latency"] = found["waited"] / found["ios"]
    return found


def results_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["jobs"]
    return found


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))
    assert recognise(Evidence(path).head) is IMPORTER


# Truth: fio's own result of the same run ------------------------------------------------------------------------------


def test_averages_are_those_of_fios_result(tmp_path: Path) -> None:
    """fio logs no rate of the last half second, so a twelfth of the run is not in its logs."""
    tables = joined(sorted((HERE / "averaged").glob("*.log")), tmp_path)
    for number, job in enumerate(results_of(HERE / "averaged" / "pair.json"), 1):
        for way in ("read", "write"):
            found, truth = done_in(tables, f"pair #{number}", way), job[way]
            assert found["seconds"] == pytest.approx(5.5, abs=0.02)
            assert found["ios"] / found["seconds"] == pytest.approx(truth["iops"], rel=0.03)
            assert found["bytes"] / found["ios"] == pytest.approx(4096, rel=0.001)
            assert found["latency"] == pytest.approx(truth["lat_ns"]["mean"], rel=0.03)


def test_histograms_hold_the_ios_of_their_intervals(tmp_path: Path) -> None:
    """By the rates of the same intervals, which fio logs apart; their means are those of completion."""
    tables = joined(sorted((HERE / "averaged").glob("*.log")), tmp_path)
    for number, job in enumerate(results_of(HERE / "averaged" / "pair.json"), 1):
        for way in ("read", "write"):
            run = f"pair #{number}"
            rows = [row for row in tables.rows("histograms") if (row["run"], row["operation"]) == (run, way)]
            assert {row["measure"] for row in rows} == {"clat"}
            counts = sum(sum(row["counts"]) for row in rows)
            assert counts / sum(row["duration_ns"] / 1e9 for row in rows) == pytest.approx(job[way]["iops"], rel=0.03)
            middles = sum(
                count * (low + high) / 2
                for row in rows
                for low, high, count in zip(row["bucket_low_ns"], row["bucket_high_ns"], row["counts"], strict=True)
            )
            assert middles / counts == pytest.approx(job[way]["clat_ns"]["mean"], rel=0.1)  # a sixth wide each


def test_single_ios_are_those_of_fios_result(tmp_path: Path) -> None:
    tables = joined(sorted((HERE / "single").glob("*.log")), tmp_path)
    (job,) = results_of(HERE / "single" / "one.json")
    for way in ("read", "write"):
        found, truth = done_in(tables, "one", way), job[way]
        assert found["ios"] == pytest.approx(truth["total_ios"])
        assert found["bytes"] == pytest.approx(truth["io_bytes"])
        assert found["latency"] == pytest.approx(truth["lat_ns"]["mean"], abs=1)
        for measure in ("lat", "clat", "slat"):
            rows = [row for row in tables.rows("histograms") if (row["operation"], row["measure"]) == (way, measure)]
            assert sum(sum(row["counts"]) for row in rows) == truth["total_ios"]
            greatest = max(row["bucket_high_ns"][-1] for row in rows)
            assert greatest >= truth[f"{measure}_ns"]["max"]
            assert greatest <= truth[f"{measure}_ns"]["max"] * 1.02 + 1
    most = max(row["latency_ns_max"] for row in tables.rows("observations"))
    assert most == max(job[way]["lat_ns"]["max"] for way in ("read", "write"))
    assert tables.notes.omitted == {
        "bandwidths of single I/Os, which follow from size and latency": sum(
            job[way]["total_ios"] for way in ("read", "write")
        )
    }


@pytest.mark.needs("fio")
def test_what_fio_logs_now_is_what_it_reports(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    kinds = ("--write_lat_log=now", "--write_iops_log=now", "--write_bw_log=now", "--write_hist_log=now")
    subprocess.run(
        ["fio", "--name=now", f"--filename={tmp_path / 'data'}", "--size=4M", "--rw=randwrite", "--bs=8k",
         "--rate_iops=400", "--runtime=3", "--time_based", *kinds, "--log_unix_epoch=1", "--output-format=json",
         f"--output={tmp_path / 'now.json'}"],
        cwd=tmp_path / "logs", check=True, timeout=120,
    )  # fmt: skip
    store = Store.open(tmp_path / "store", create=True)
    summary = import_paths(store, [tmp_path / "logs"])
    assert not summary.failures
    (job,) = results_of(tmp_path / "now.json")
    ended_s = json.loads((tmp_path / "now.json").read_text())["timestamp"]
    (row,) = store.query(
        """SELECT sum(write_ops_per_s * duration_ns) / 1e9 AS ios, sum(write_bytes_per_s * duration_ns) / 1e9 AS bytes,
                  sum(write_latency_ns_mean * write_ops_per_s * duration_ns) / 1e9 AS waited, min(time) AS began
           FROM observations"""
    ).to_pylist()
    assert row["ios"] == pytest.approx(job["write"]["total_ios"])
    assert row["bytes"] == pytest.approx(job["write"]["io_bytes"])
    assert row["waited"] / row["ios"] == pytest.approx(job["write"]["lat_ns"]["mean"], abs=1)
    assert row["began"].timestamp() == pytest.approx(ended_s - 3, abs=3)


# Logs and their names -------------------------------------------------------------------------------------------------


def test_the_logs_of_a_folder_are_one_capture_and_a_run_for_each_job(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    shutil.copytree(HERE / "averaged", tmp_path / "logs", ignore=shutil.ignore_patterns("*.json"))
    import_paths(store, [tmp_path / "logs"])
    rows = store.query("SELECT run, read_ratio FROM runs ORDER BY run").to_pylist()
    assert [row["run"] for row in rows] == ["pair #1", "pair #2"]
    assert all(row["read_ratio"] == pytest.approx(0.7, abs=0.01) for row in rows)
    captures = store.query("SELECT format FROM captures").to_pylist()
    assert [row["format"] for row in captures] == ["fio_log"]


def test_logs_at_the_top_of_an_archive_have_their_own_names(tmp_path: Path) -> None:
    """They were called 'logs.zip: x'."""
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        for kind in ("lat", "iops"):
            archive.writestr(f"x_{kind}.1.log", "1000, 5, 0, 0\n2000, 6, 0, 0\n")
    store = Store.open(tmp_path / "store", create=True)
    summary = import_paths(store, [tmp_path / "logs.zip"])
    assert [item.name for item in summary.imported] == [f"{tmp_path}/logs.zip: x_iops.1.log and 1 more"]
    assert store.query("SELECT run FROM runs").to_pylist() == [{"run": "x"}]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a_b_lat.1.log", ("a_b", "lat", 1, None)),
        ("test_clat_hist.12.log", ("test", "clat_hist", 12, None)),
        ("x_clat.log", ("x", "clat", None, None)),
        ("x_iops.2.log.server-7", ("x", "iops", 2, "server-7")),
        ("logs/bw.1.log", ("", "bw", 1, None)),
        ("dump.zip: x_lat.1.log", ("x", "lat", 1, None)),
    ],
)
def test_a_name_says_what_a_log_is_of(name: str, expected: tuple[object, ...]) -> None:
    found = log_name(name)
    assert found is not None
    assert (found.test, found.kind, found.job, found.host) == expected


@pytest.mark.parametrize("name", ["flat.1.log", "x_lat.txt", "x_latency.1.log", "system.log", ""])
def test_other_names_say_nothing(name: str) -> None:
    assert log_name(name) is None


def test_a_log_whose_name_was_changed_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    path.write_text((HERE / "fio_3.42_w_lat.1.log").read_text())
    assert recognise(Evidence(path).head) is IMPORTER
    with pytest.raises(MalformedInput) as caught:
        read_tables(IMPORTER, path)
    assert "NAME_lat.1.log" in caught.value.expected
    assert "results.txt" in caught.value.found


def test_a_log_without_a_number_beside_numbered_ones_has_none_in_its_name(tmp_path: Path) -> None:
    """It was called 't #None'."""
    text = "# t_iops.1.log\n1000, 5, 0, 0\n2000, 6, 0, 0\n# t_iops.log\n1000, 7, 0, 0\n2000, 8, 0, 0\n"
    assert [row["run"] for row in read_text(IMPORTER, text, tmp_path).rows("runs")] == ["t #1", "t"]


@pytest.mark.parametrize(
    ("names", "is_said"),
    [
        (("all_lat.1", "rates_iops.1", "mb_bw.1"), True),  # write_lat_log=all, write_iops_log=rates, ...
        (("all_lat.1", "rates_iops.2"), False),
        (("before_lat.1", "after_lat.1"), False),  # two runs of fio
        (("before_lat.1", "before_iops.1"), False),
        (("all_lat", "rates_iops"), False),
    ],
)
def test_logs_of_one_number_and_unlike_names_are_said_to_be_apart(
    names: tuple[str, ...], is_said: bool, tmp_path: Path
) -> None:
    """fio numbers jobs: those of one job whose kinds have names of their own were three jobs without a word."""
    text = "".join(f"# {name}.log\n1000, 5000000, 0, 0\n2000, 5000000, 0, 0\n" for name in names)
    warnings = read_text(IMPORTER, text, tmp_path).notes.warnings
    said = [warning for warning in warnings if "nothing in common" in warning]
    assert bool(said) is is_said
    if is_said:
        assert said[0].startswith("Logs of number 1 have the names 'all', 'rates', 'mb'")


def test_hosts_of_clients_are_systems(tmp_path: Path) -> None:
    text = "# t_iops.1.log.alpha\n1000, 5, 0, 0\n2000, 6, 0, 0\n# t_iops.1.log.beta\n1000, 7, 0, 0\n2000, 8, 0, 0\n"
    rows = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert {(row["system"], row["read_ops_per_s"]) for row in rows} == {
        ("alpha", 5), ("alpha", 6), ("beta", 7), ("beta", 8)
    }  # fmt: skip


# Times and units ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "block_bytes"),
    [
        ("1, 5000, 0, 4096, 0\n2, 5000, 1, 4096, 0\n3, 5000, 0, 4096, 0\n", 4096.0),
        ("1, 5000, 0, 4096, 0\n2, 5000, 0, 8192, 0\n3, 5000, 0, 4096, 0\n", None),
        ("1, 5000, 0, 4096, 0\n2, 5000, 2, 1048576, 0\n3, 5000, 0, 4096, 0\n", 4096.0),  # a trim is no block
        ("1000, 5000, 0, 0, 0\n2000, 5000, 0, 0, 0\n", None),
    ],
)
def test_single_ios_of_one_size_tell_the_block_size(entries: str, block_bytes: float | None, tmp_path: Path) -> None:
    """Logs of 4 KiB and of 8 KiB were compared as if they were of one load."""
    (run,) = read_text(IMPORTER, f"# t_lat.1.log\n{entries}", tmp_path).rows("runs")
    assert run["block_bytes"] == block_bytes


def test_a_gap_is_a_time_without_an_io(tmp_path: Path) -> None:
    """fio writes no rate of a tick in which nothing was done, and the next one is of its own tick alone."""
    text = "# t_iops.1.log\n500, 100, 0, 0\n1000, 100, 0, 0\n3500, 10, 0, 0\n4000, 100, 0, 0\n"
    text += "# t_lat.1.log\n500, 1000, 0, 0, 0\n1002, 1000, 0, 0, 0\n3499, 9000, 0, 0, 0\n4001, 1000, 0, 0, 0\n"
    rows = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert [row["duration_ns"] / 1e9 for row in rows] == pytest.approx([0.5, 0.5, 2.0, 0.5, 0.5], abs=0.003)
    assert [row["read_ops_per_s"] for row in rows] == [100, 100, 0, 10, 100]
    assert [row["read_latency_ns_mean"] for row in rows] == [1000, 1000, None, 9000, 1000]


def test_a_direction_without_any_entry_did_nothing(tmp_path: Path) -> None:
    """fio logs whatever a job does. Without the 0 a job that only reads has no total, neither IOPS nor bandwidth."""
    parts = {"iops": (100, 300), "bw": (400, 1200), "lat": (1_000_000, 5_000_000)}
    for kind, values in parts.items():
        lines = (f"{1000 * place}, {value}, 0, 0, 0, 0\n" for place, value in enumerate(values, 1))
        (tmp_path / f"t_{kind}.1.log").write_text("".join(lines))
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, sorted(tmp_path.glob("*.log")))
    rows = store.query("SELECT * FROM observations ORDER BY time").to_pylist()
    assert [(row["ops_per_s"], row["write_ops_per_s"], row["write_latency_ns_mean"]) for row in rows] == [
        (100, 0, None),
        (300, 0, None),
    ]
    assert [row["bytes_per_s"] for row in rows] == [400 * 1024, 1200 * 1024]


def test_rates_without_a_log_stay_unknown(tmp_path: Path) -> None:
    text = "# t_lat.1.log\n1000, 5000, 0, 0\n# t_bw.1.log\n1000, 400, 0, 0\n"
    (row,) = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert (row["write_ops_per_s"], row["write_bytes_per_s"], row["write_latency_ns_mean"]) == (None, 0, None)


def test_rates_that_begin_late_have_the_latencies_of_their_time(tmp_path: Path) -> None:
    """As of the first job of several: fio's clock of the rates begins 139 ms after the job, that of latencies with it.

    The rates drift on: they are half an interval behind at the end.
    """
    ends = [639 + 501 * number for number in range(240)]
    text = "# t_iops.1.log\n" + "".join(f"{end}, 500, 0, 0, 0\n" for end in ends)
    text += "# t_bw.1.log\n" + "".join(f"{end + 7}, 2000, 0, 0, 0\n" for end in ends)
    text += "# t_lat.1.log\n" + "".join(f"{500 * number}, 9000, 0, 0, 0\n" for number in range(1, 245))
    rows = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert len(rows) == len(ends)
    assert {row["duration_ns"] for row in rows[1:]} == {501_000_000}
    for column, value in (("ops_per_s", 500), ("bytes_per_s", 2000 * 1024), ("latency_ns_mean", 9000)):
        assert [row[f"read_{column}"] for row in rows] == pytest.approx([value] * len(rows), rel=1e-6)


def test_jobs_that_share_a_log_are_added(tmp_path: Path) -> None:
    """per_job_logs=0: they stand one after another, each from its beginning."""
    text = "# t_iops.log\n500, 100, 0, 0\n1000, 100, 0, 0\n1500, 100, 0, 0\n501, 30, 0, 0\n1003, 40, 0, 0\n"
    text += "# t_lat.log\n500, 1000, 0, 0\n1000, 1000, 0, 0\n500, 3000, 0, 0\n1000, 3000, 0, 0\n1500, 3000, 0, 0\n"
    tables = read_text(IMPORTER, text, tmp_path)
    rows = tables.rows("observations")
    assert [row["read_ops_per_s"] for row in rows] == [130, 140, 100]
    assert [row["read_latency_ns_mean"] for row in rows] == [2000, 2000, 3000]
    assert any("2 jobs wrote into one log" in warning for warning in tables.notes.warnings)
    assert not tables.notes.omitted


def test_histograms_that_end_together_are_one(tmp_path: Path) -> None:
    """Of jobs that share a log, and after a pause of the job (thinktime), which fio closes with several."""
    bins = ", ".join(["0"] * 100 + ["7"] + ["0"] * 1755)
    times = (500, 1000, 1000, 1000, 501, 1003)
    text = "# t_clat_hist.log\n" + "".join(f"{time}, 0, 4096, {bins}\n" for time in times)
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["counts"] for row in tables.rows("histograms")] == [[14], [28]]
    assert [row["duration_ns"] for row in tables.rows("observations")] == [501_000_000, 502_000_000]


def test_times_begin_at_start_or_are_those_of_the_epoch(tmp_path: Path) -> None:
    start = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    text = "# t_iops.1.log\n1000, 5, 0, 0\n2000, 6, 0, 0\n"
    told = read_text(IMPORTER, text, tmp_path, ImportOptions(start=start))
    assert [row["time"] for row in told.rows("observations")] == [start, start + dt.timedelta(seconds=1)]
    assert told.notes.has_times
    assert not read_text(IMPORTER, text, tmp_path).notes.has_times
    epoch = read_text(IMPORTER, "# t_iops.1.log\n1795751507000, 5, 0, 0\n1795751508000, 6, 0, 0\n", tmp_path)
    assert epoch.notes.has_times
    assert [row["time"].timestamp() for row in epoch.rows("observations")] == [1795751506, 1795751507]


def test_a_unit_of_us_is_told_by_the_histograms_or_doubted(tmp_path: Path) -> None:
    lines = "1000, 5000, 0, 0\n2000, 5000, 0, 0\n"
    rates = "1000, 2000, 0, 0\n2000, 2000, 0, 0\n"
    bins = ", ".join(["0"] * 100 + ["7"] + ["0"] * 1115)
    doubted = read_text(IMPORTER, f"# t_lat.1.log\n{lines}# t_iops.1.log\n{rates}", tmp_path)
    assert any("before 3.0" in warning for warning in doubted.notes.warnings)
    known = f"# t_lat.1.log\n{lines}# t_iops.1.log\n{rates}# t_clat_hist.1.log\n1000, 0, 4096, {bins}\n"
    told = read_text(IMPORTER, known, tmp_path)
    assert not told.notes.warnings
    assert {row["read_latency_ns_mean"] for row in told.rows("observations")} == {5_000_000}
    (histogram,) = told.rows("histograms")
    assert (histogram["bucket_low_ns"], histogram["bucket_high_ns"]) == ([99_999], [100_999])


def test_histograms_alone_tell_rates_and_means_in_either_unit(tmp_path: Path) -> None:
    for most, unit_ns in ((1856, 1), (1216, 1000)):
        bins = ", ".join(["0"] * 100 + ["7"] + ["0"] * (most - 101))
        entry = f"# t_clat_hist.1.log\n0, 0, 4096, {bins}\n1000, 0, 4096, {bins}\n"
        (row,) = read_text(IMPORTER, entry, tmp_path).rows("observations")
        assert row["read_latency_ns_mean"] == pytest.approx(100.5 * unit_ns, abs=1)


def test_single_ios_of_a_clock_in_us_have_buckets_in_ns(tmp_path: Path) -> None:
    bins = ", ".join(["0"] * 100 + ["7"] + ["0"] * 1115)
    text = f"# t_lat.1.log\n5, 100, 0, 4096\n# t_clat_hist.1.log\n1000, 0, 4096, {bins}\n"
    rows = {row["measure"]: row for row in read_text(IMPORTER, text, tmp_path).rows("histograms")}
    assert rows["lat"]["bucket_low_ns"] == rows["clat"]["bucket_low_ns"] == [99_999]


def test_the_greatest_value_beside_the_mean_is_the_maximum(tmp_path: Path) -> None:
    text = "# t_lat.1.log\n1000, 5000, 90000, 0, 0, 0\n2000, 6000, 80000, 0, 0, 0\n# t_iops.1.log\n"
    rows = read_text(IMPORTER, text + "1000, 9, 0, 0, 0\n2000, 9, 0, 0, 0\n", tmp_path).rows("observations")
    assert [(row["read_latency_ns_mean"], row["latency_ns_max"]) for row in rows] == [(5000, 90000), (6000, 80000)]


def test_zeros_at_the_end_and_lines_that_are_cut_are_counted(tmp_path: Path) -> None:
    text = "# t_iops.1.log\n1000, 5, 0, 0\n2000, 6, 0, 0\n0, 0, 0, 0\nhalf, 3\n3000, 7, 0, 0\n4000, 1"
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_ops_per_s"] for row in tables.rows("observations")] == [5, 6, 7]
    assert sum(tables.notes.omitted.values()) == 3


def test_a_histogram_of_uninitialised_memory_is_refused() -> None:
    with pytest.raises(MalformedInput):
        read_tables(IMPORTER, HERE / "pbench_clat_hist.1.log")


def test_an_interval_of_single_ios_is_as_asked(tmp_path: Path) -> None:
    path = HERE / "single" / "one_lat.1.log"
    rows = read_tables(IMPORTER, path, ImportOptions(interval_s=0.5)).rows("observations")
    assert {row["duration_ns"] for row in rows[:-1]} == {500_000_000}


def test_tables_of_numbers_are_no_logs() -> None:
    for text in ("1, 2, 3, 4\n5, 6, 7, 8\n9, 10, 11, 12\n", "a, b\n", "1000, 5, 0\n2000, 5, 0\n3000, 5, 0\n"):
        assert recognise(Head("x_lat.1.log", text.encode(), "utf-8")) is not IMPORTER


# Laws -----------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 20_000), st.integers(1, 2**40), st.integers(0, 2)), min_size=1, max_size=200))
def test_no_single_io_is_lost_or_moved_to_another_bucket(ios: list[tuple[int, int, int]]) -> None:
    times, values, directions = (np.array(column, dtype=np.int64) for column in zip(*sorted(ios), strict=True))
    job = LoggedJob()
    job.add("lat", Entries(times, values, directions, np.full(len(ios), 4096)))
    stretches = job.stretches()
    assert sum(part.ops or 0 for stretch in stretches for part in stretch.done.values()) == len(ios)
    assert sum(part.size_bytes or 0 for stretch in stretches for part in stretch.done.values()) == 4096 * len(ios)
    waited = sum((part.ops or 0) * (part.latency_ns_mean or 0) for one in stretches for part in one.done.values())
    assert waited == pytest.approx(float(sum(value for _, value, _ in ios)), rel=1e-9)
    expected: dict[float, int] = defaultdict(int)
    for _, value, _ in ios:
        expected[bucket_from_value(value, "ns", math.inf)[0]] += 1
    found: dict[float, int] = defaultdict(int)
    for *_, buckets in job.distributions():
        for low, high, count in buckets:
            assert low < high
            found[low] += count
    assert found == expected


def test_latencies_outside_of_the_intervals_with_rates_are_those_of_none(tmp_path: Path) -> None:
    text = "# t_lat.1.log\n500, 41530, 0, 0\n# t_iops.1.log\n501, 9, 1, 0\n1000, 7, 0, 0\n1500, 8, 0, 0\n"
    rows = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert [row["read_ops_per_s"] for row in rows][-2:] == [7, 8]
    assert [row["read_latency_ns_mean"] for row in rows][-2:] == [None, None]


def test_entries_of_the_beginning_alone_are_no_interval(tmp_path: Path) -> None:
    text = "# t_iops.1.log\n0, 5, 0, 0\n0, 6, 0, 0\n# t_lat.1.log\n0, 5000, 0, 0\n"
    assert not read_text(IMPORTER, text, tmp_path).rows("observations")
