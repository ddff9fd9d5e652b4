"""fio's logs beside its JSON are one run; the truth is fio's own result (PROVENANCE.md of the samples)."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from storscope.sources.evidence import Evidence
from storscope.sources.importers._fio_beside import Log, Namer, logs_named_by, parted, shared_out
from storscope.sources.importers._fio_log_rows import log_name
from storscope.store import Store
from storscope.workbench import parts
from storscope.workbench.import_summary import ImportSummary
from storscope.workbench.importing import import_paths

HERE = Path(__file__).parent / "fio_log"
DONE = """SELECT run, sum(duration_ns) / 1e9 AS seconds, count(*) AS intervals,
    sum(read_ops_per_s * duration_ns) / 1e9 AS ios, sum(read_bytes_per_s * duration_ns) / 1e9 AS bytes,
    sum(read_latency_ns_mean * read_ops_per_s * duration_ns) / sum(read_ops_per_s * duration_ns) AS latency
    FROM observations WHERE kind = 'job' GROUP BY capture, run ORDER BY run"""


def imported(*paths: Path, to: Path) -> tuple[Store, ImportSummary]:
    store = Store.open(to / "store", create=True)
    summary = import_paths(store, list(paths))
    assert not summary.failures
    return store, summary


def copied(name: str, to: Path) -> Path:
    folder = to / name
    shutil.copytree(HERE / name, folder)
    return folder


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """With another document in a JSON."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document, indent=1))


def captures(store: Store) -> list[str]:
    return [row["format"] for row in store.query("SELECT format FROM captures ORDER BY format").to_pylist()]


def warnings(summary: ImportSummary) -> str:
    return " ".join(sentence for item in summary.imported for sentence in item.warnings)


# One run --------------------------------------------------------------------------------------------------------------


def test_a_run_has_the_options_of_the_json_and_the_intervals_of_its_logs(tmp_path: Path) -> None:
    """Two jobs of one name; fio logs no rate of the last half second."""
    store, summary = imported(HERE / "averaged", to=tmp_path)
    assert captures(store) == ["fio_json"]
    assert warnings(summary).count("own") == 0
    runs = store.query("SELECT run, outstanding, block_bytes, duration_ns FROM runs ORDER BY run").to_pylist()
    jobs = json.loads((HERE / "averaged" / "pair.json").read_text())["jobs"]
    assert [row["run"] for row in runs] == ["pair #1", "pair #2"]
    for row, found, job in zip(runs, store.query(DONE).to_pylist(), jobs, strict=True):
        assert (row["outstanding"], row["block_bytes"]) == (int(job["job options"]["iodepth"]), 4096)
        assert row["duration_ns"] / 1e6 == pytest.approx(job["job_runtime"], abs=1)
        assert found["intervals"] > 5
        assert found["seconds"] == pytest.approx(5.5, abs=0.02)
        assert found["ios"] / found["seconds"] == pytest.approx(job["read"]["iops"], rel=0.03)
        assert found["latency"] == pytest.approx(job["read"]["lat_ns"]["mean"], rel=0.03)


def test_single_ios_are_all_there_with_their_distributions(tmp_path: Path) -> None:
    store, _ = imported(HERE / "single", to=tmp_path)
    (job,) = json.loads((HERE / "single" / "one.json").read_text())["jobs"]
    (found,) = store.query(DONE).to_pylist()
    assert found["ios"] == pytest.approx(job["read"]["total_ios"])
    assert found["bytes"] == pytest.approx(job["read"]["io_bytes"])
    counts = store.query(
        """SELECT measure, count(*) > 1 AS of_intervals, sum(list_sum(counts)) AS ios FROM histograms
           WHERE operation = 'read' GROUP BY measure ORDER BY measure"""
    ).to_pylist()
    assert [(row["measure"], row["of_intervals"], row["ios"]) for row in counts] == [
        (measure, True, job["read"]["total_ios"]) for measure in ("clat", "lat", "slat")
    ]


def test_logs_in_an_archive_are_beside_its_json(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "dump.zip", "w") as archive:
        for path in sorted((HERE / "averaged").iterdir()):
            archive.write(path, path.name)
    store, _ = imported(tmp_path / "dump.zip", to=tmp_path)
    assert captures(store) == ["fio_json"]
    assert all(row["intervals"] > 5 for row in store.query(DONE).to_pylist())


def test_what_was_imported_is_known(tmp_path: Path) -> None:
    store, _ = imported(HERE / "averaged", to=tmp_path)
    again = import_paths(store, [HERE / "averaged"])
    assert (len(again.imported), len(again.known)) == (0, 1)


def test_no_run_is_in_the_store_twice_however_its_files_come(tmp_path: Path) -> None:
    """The JSON alone and its logs alone, then both: the same runs counted as repetitions of each other."""
    folder = copied("averaged", tmp_path)
    store, _ = imported(folder / "pair.json", to=tmp_path)
    import_paths(store, sorted(folder.glob("*.log")))
    assert captures(store) == ["fio_json", "fio_log"]
    both = import_paths(store, [folder])
    assert "Takes the place of" in warnings(both)
    assert captures(store) == ["fio_json"]
    assert [row["intervals"] > 5 for row in store.query(DONE).to_pylist()] == [True, True]
    again = import_paths(store, [folder / "pair.json"])
    assert [item.capture for item in again.known] == both.captures
    assert captures(store) == ["fio_json"]


def test_a_damaged_capture_of_both_is_not_called_known_when_one_comes(tmp_path: Path) -> None:
    folder = copied("averaged", tmp_path)
    store, both = imported(folder, to=tmp_path)
    (tmp_path / "store" / f"capture={both.captures[0]}" / "observations.parquet").write_bytes(b"PAR1")
    (failure,) = import_paths(Store.open(store.path), [folder / "pair.json"]).failures
    assert "is damaged (" in failure.reason
    assert "import these together with --replace" in failure.reason
    assert not import_paths(Store.open(store.path), [folder], replace=True).failures
    assert len(import_paths(Store.open(store.path), [folder / "pair.json"]).known) == 1


def test_another_capture_that_is_damaged_keeps_no_logs_from_being_read(tmp_path: Path) -> None:
    store, other = imported(HERE / "single", to=tmp_path)
    (tmp_path / "store" / f"capture={other.captures[0]}" / "captures.parquet").unlink()
    summary = import_paths(Store.open(store.path), sorted((HERE / "averaged").glob("*.log")))
    assert [item.format for item in summary.imported] == ["fio_log"]


@pytest.mark.needs("fio")
@pytest.mark.parametrize(
    ("options", "of_job", "workers"),
    [
        (["--numjobs=2", "--group_reporting"], ["a"], [2]),
        (["--numjobs=2"], ["a #1", "a #2"], [1, 1]),
        (["--log_unix_epoch=1"], ["a"], [1]),
        (["--ramp_time=1"], ["a"], [1]),
        (["--stonewall", "--name=b", "--filename=data", "--size=4M", "--rw=read", "--rate_iops=300",
          "--write_lat_log=logs/b", "--write_iops_log=b", "--log_avg_msec=250", "--runtime=2", "--time_based"],
         ["a", "b"], [1, 1]),
    ],
    ids=["several as one", "several", "times of the epoch", "ramp", "phases"],
)  # fmt: skip
def test_what_fio_writes_now_is_one_run(
    options: list[str], of_job: list[str], workers: list[int], tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    subprocess.run(
        ["fio", "--name=a", "--filename=data", "--size=4M", "--rw=randread", "--bs=4k", "--rate_iops=400",
         "--runtime=2", "--time_based", "--log_avg_msec=250", "--write_lat_log=logs/a", "--write_iops_log=a",
         "--write_bw_log=a", *options, "--output-format=json", "--output=out.json"],
        cwd=tmp_path, check=True, timeout=120,
    )  # fmt: skip
    (tmp_path / "data").unlink()
    store, summary = imported(tmp_path, to=tmp_path / "logs")
    assert captures(store) == ["fio_json"], warnings(summary)
    rows = store.query("SELECT run, workers, epoch_ns(time) AS time, duration_ns FROM runs ORDER BY run").to_pylist()
    assert [(row["run"], row["workers"]) for row in rows] == list(zip(of_job, workers, strict=True))
    jobs = json.loads((tmp_path / "out.json").read_text())["jobs"]
    for found, job in zip(store.query(DONE).to_pylist(), jobs, strict=True):
        assert found["intervals"] >= 6
        assert found["ios"] / found["seconds"] == pytest.approx(job["read"]["iops"], rel=0.1)
    inside = store.query(
        """SELECT min(epoch_ns(o.time) - epoch_ns(r.time)) / 1e9 AS before,
                  max(epoch_ns(o.time) + o.duration_ns - epoch_ns(r.time) - r.duration_ns) / 1e9 AS behind
           FROM observations o JOIN runs r USING (capture, run)"""
    ).to_pylist()
    assert inside[0]["before"] >= -1.5
    assert inside[0]["behind"] <= 1.5


def test_of_processes_put_together_none_is_missing_in_the_last_interval(tmp_path: Path) -> None:
    """fio logs no last rate, of each process at its own time: the rate of the last interval was that of some alone."""
    options = {"numjobs": "2", "write_lat_log": "x", "write_iops_log": "x", "rw": "read", "bs": "4k"}
    read = {
        "total_ios": 400,
        "io_bytes": 1638400,
        "io_kbytes": 1600,
        "runtime": 2000,
        "lat_ns": {"mean": 5000.0, "N": 400},
    }
    job = {"jobname": "x", "groupid": 0, "job options": options, "read": read}
    (tmp_path / "out.json").write_text(
        json.dumps({"fio version": "fio-3.33", "timestamp": 1700000000, "jobs": [job]}, indent=1)
    )
    for number, ends in ((1, (500, 1000, 1500)), (2, (505, 1010, 1515, 2000))):
        for kind, value in (("iops", 100), ("lat", 5000)):
            text = "".join(f"{end}, {value}, 0, 0, 0\n" for end in ends)
            (tmp_path / f"x_{kind}.{number}.log").write_text(text)
    store, summary = imported(tmp_path, to=tmp_path)
    assert captures(store) == ["fio_json"], warnings(summary)
    rows = store.query("SELECT read_ops_per_s AS rate FROM observations ORDER BY time").to_pylist()
    assert [row["rate"] for row in rows] == pytest.approx([200, 200, 200])


def test_a_run_with_logs_has_the_name_of_the_host_beside_it(tmp_path: Path) -> None:
    """As the JSON alone has, by the device that both name at the same time."""
    folder = copied("averaged", tmp_path)
    disk = json.loads((folder / "pair.json").read_text())["disk_util"][0]["name"]
    changed(folder / "pair.json", lambda document: document.update(timestamp=1792137610, timestamp_ms=1792137610000))
    report = {"avg-cpu": {"user": 1}, "disk": [{"disk_device": disk, "r/s": 5.0, "w/s": 0.0, "util": 1.0}]}
    times = [{"timestamp": f"10/16/26 08:00:{second:02}", **report} for second in range(0, 30, 5)]
    host = {"nodename": "db1", "sysname": "Linux", "release": "6.1", "number-of-cpus": 2, "statistics": times}
    (folder / "iostat.json").write_text(json.dumps({"sysstat": {"hosts": [host]}}))
    store, _ = imported(folder, to=tmp_path)
    assert captures(store) == ["fio_json", "iostat_json"]
    assert store.query("SELECT DISTINCT system FROM runs").to_pylist() == [{"system": "db1"}]
    assert len(import_paths(store, [folder / "pair.json"]).known) == 1


# Not of one run -------------------------------------------------------------------------------------------------------


def to_other_names(document: dict[str, Any]) -> None:
    for job in document["jobs"]:
        for option in ("lat", "iops", "bw", "hist"):
            job["job options"][f"write_{option}_log"] = "other"


def to_maxima(document: dict[str, Any]) -> None:
    for job in document["jobs"]:
        job["job options"]["log_max_value"] = "1"


def to_more_ios(document: dict[str, Any]) -> None:
    for job in document["jobs"]:
        job["read"]["total_ios"] *= 2


def to_a_shorter_time(document: dict[str, Any]) -> None:
    for job in document["jobs"]:
        for way in ("read", "write"):
            job[way]["runtime"] //= 3
        job["job_runtime"] //= 3


def to_no_time(document: dict[str, Any]) -> None:
    for job in document["jobs"]:
        for way in ("read", "write"):
            job[way]["runtime"] = 0
        job["job_runtime"] = 0


def to_syncs(document: dict[str, Any]) -> None:
    for job in document["jobs"]:
        job["sync"] = {"total_ios": 50, "lat_ns": {"min": 1, "max": 9, "mean": 5.0, "stddev": 1.0, "N": 50}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (to_other_names, ""),
        (to_maxima, "the greatest of each interval"),
        (to_more_ios, "reads, and it did"),
        (to_a_shorter_time, "not of its time"),
        (to_syncs, "every sync"),
        (to_no_time, "it did not run"),
    ],
)
def test_logs_that_are_not_of_the_run_are_runs_of_their_own(
    change: Callable[[dict[str, Any]], None], said: str, tmp_path: Path
) -> None:
    folder = copied("averaged", tmp_path)
    changed(folder / "pair.json", change)
    store, summary = imported(folder, to=tmp_path)
    rows = store.query(DONE).to_pylist()
    assert sum(row["intervals"] > 1 for row in rows) == 2
    assert len(store.query("SELECT * FROM runs")) == 4
    assert said in warnings(summary)


def test_logs_without_latencies_are_a_run_of_their_own(tmp_path: Path) -> None:
    folder = copied("averaged", tmp_path)
    for path in folder.glob("*lat*.log"):
        path.unlink()
    store, summary = imported(folder, to=tmp_path)
    assert "rate and latency of every read" in warnings(summary)
    assert len(store.query("SELECT * FROM runs")) == 4


def test_logs_that_two_results_name_are_of_neither(tmp_path: Path) -> None:
    """The second run wrote over the logs of the first."""
    folder = copied("averaged", tmp_path)
    shutil.copy(folder / "pair.json", folder / "again.json")
    changed(folder / "again.json", lambda document: document.update(time="later"))
    store, _ = imported(folder, to=tmp_path)
    assert captures(store) == ["fio_json", "fio_json", "fio_log"]


def test_several_results_in_one_file_leave_their_logs_alone(tmp_path: Path) -> None:
    folder = copied("averaged", tmp_path)
    first = (folder / "pair.json").read_text()
    (folder / "pair.json").write_text(f"{first}\n{first}\n")
    store, summary = imported(folder, to=tmp_path)
    assert "2 results are in the JSON" in warnings(summary)
    assert len(store.query("SELECT * FROM runs")) == 6


def test_a_result_that_broke_off_loses_no_log(tmp_path: Path) -> None:
    folder = copied("averaged", tmp_path)
    whole = (folder / "pair.json").read_text()
    (folder / "pair.json").write_text(whole[: len(whole) // 2])
    store = Store.open(tmp_path / "store", create=True)
    summary = import_paths(store, [folder])
    assert [item.name for item in summary.failures] == [f"{folder}/pair.json"]
    assert captures(store) == ["fio_log"]


@pytest.mark.parametrize(
    ("most", "expected"),
    [(10**9, ["fio_json"]), (30_000, ["fio_json", "fio_log"]), (10, ["fio_json", *["fio_log"] * 12])],
)
def test_what_is_too_much_for_one_file_is_read_apart(
    most: int, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logs together, and in the end each by itself; the JSON has 9 kB, and its logs have 22 kB."""
    monkeypatch.setattr(parts, "_MOST_BYTES", most)
    store, _ = imported(HERE / "averaged", to=tmp_path)
    assert captures(store) == expected


# Which log is of which job --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "name", "expected"),
    [
        ("x", "x_lat.1.log", True),
        ("x", "x_iops.log", True),
        ("x", "y_lat.1.log", False),
        ("logs/x", "x_lat.1.log", True),
        ("logs/x", "logs/x_lat.1.log", True),
        ("/data/run/logs/x", "logs/x_lat.1.log", True),
        ("logs/x", "old/x_lat.1.log", False),
        ("logs/x", "gs/x_lat.1.log", False),
        ("x", "x_lat.txt", False),
        ("", "the job_clat_hist.3.log", True),
    ],
)
def test_an_option_names_logs(option: str, name: str, expected: bool, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"jobs": [{"jobname": "the job", "job options": {"write_lat_log": option}}]}))
    is_named = logs_named_by(Evidence(path))
    assert is_named is not None
    assert is_named(name) is expected


def test_a_result_without_such_options_names_none(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text('{"jobs": [{"jobname": "x", "job options": {"rw": "read"}}]}')
    assert logs_named_by(Evidence(path)) is None


def of(*names: str) -> list[Log]:
    return [Log(name, named, "") for name in names if (named := log_name(name))]


@pytest.mark.parametrize(
    ("widths", "expected"),
    [
        ([2, 1], [["x_lat.1.log", "x_lat.2.log"], ["x_lat.3.log"]]),
        ([1, 3], [["x_lat.1.log"], ["x_lat.2.log", "x_lat.3.log"]]),
        ([1, 1], [["x_lat.1.log"], ["x_lat.2.log"]]),
        ([1, None], [["x_lat.1.log"], ["x_lat.2.log", "x_lat.3.log"]]),
        ([1, None, 1], [["x_lat.1.log"], ["x_lat.2.log"], []]),
        ([None, None], [["x_lat.1.log"], []]),
    ],
)
def test_processes_are_numbered_through_all_jobs(widths: list[int | None], expected: list[list[str]]) -> None:
    namers = [Namer("x", {"write_lat_log": ""}, width) for width in widths]
    logs = of("x_lat.1.log", "x_lat.2.log", "x_lat.3.log")
    of_each, rest = shared_out(namers, logs)
    assert [[log.path for log in one] for one in of_each] == expected
    assert len(rest) == 3 - sum(map(len, expected))


def test_a_log_that_several_jobs_share_is_of_none() -> None:
    namers = [Namer("a", {"write_lat_log": "x"}, 1), Namer("b", {"write_lat_log": "x"}, 1)]
    assert shared_out(namers, of("x_lat.log"))[0] == [[], []]
    assert [len(one) for one in shared_out(namers[:1], of("x_lat.log"))[0]] == [1]


def test_logs_stand_behind_the_json_each_behind_its_name() -> None:
    text = 'fio: # no log.log\n{\n "a": 1\n}\n# f/x_lat.1.log\n1, 2, 0, 0\n# f/x_iops.1.log\n'
    before, logs = parted(text)
    assert before.endswith("}\n")
    assert [(log.path, log.text) for log in logs] == [("f/x_lat.1.log", "1, 2, 0, 0\n"), ("f/x_iops.1.log", "")]
    assert parted(before) == (before, [])
