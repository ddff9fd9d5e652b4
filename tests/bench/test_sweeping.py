"""Sweeps as a whole: real runs on scratch files, continued, shown again, read back."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.sweep import axes_of, matrix
from storscope.bench.sweep_order import balanced_order
from storscope.cli.main import run
from storscope.store import Store
from storscope.workbench.one_at_a_time import one_at_a_time
from tests.bench.killed_runs import kill_with_its_watcher
from tests.bench.safety.conftest import Rig
from tests.bench.sweep_runs import printed_json, runs_of, wait_for_captures

_AXES = ("sizes=4k,64k", "modes=randread,write", "jobs=1,2")
_SHORT = ("--duration", "0.1s", "--size", "8M")


def _arguments(data: Path, *options: str, axes: tuple[str, ...] = _AXES) -> list[str]:
    return ["bench", str(data), "--sweep", *axes, *_SHORT, "--store", str(data.parent / "store"), *options]


def test_two_forms_of_output_contradict_each_other(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_arguments(data, "--json", "--format", "csv")) == 2
    assert "found --json and --format csv" in capsys.readouterr().err
    assert not (data.parent / "store").exists()


def test_every_point_is_a_run_with_the_id_of_its_sweep(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_arguments(data, "--seed", "5", "--format", "json")) == 0
    result = printed_json(capsys)
    runs = runs_of(data)
    planned = matrix(axes_of(_AXES))
    assert {row["sweep"] for row in runs} == {result["id"]}
    assert sorted(row["point"] for row in runs) == sorted(item.point.key for item in planned)
    (order,) = balanced_order([item.point for item in planned], 1, 5)
    assert [row["point"] for row in runs] == [planned[index].point.key for index in order], "measured in that order"
    assert len({row["seed"] for row in runs}) == len(runs), "every point has draws of its own"
    row = next(row for row in runs if row["point"] == "write size=65536 jobs=2 depth=1")
    found = [row[name] for name in ("block_bytes", "workers", "outstanding", "read_ratio", "random_ratio")]
    assert found == [65536, 2, 2, 0, 0]
    assert (result["done"], result["planned"], result["complete"]) == (8, 8, True)
    assert [cell["words"] for cell in result["cells"]] == [item.point.words for item in planned], "in matrix order"
    assert not list(data.iterdir())


def test_a_sweep_is_measured_by_one_process_at_a_time(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = _arguments(data, axes=("sizes=4k",))
    assert run(arguments) == 0
    store = data.parent / "store"
    digest = Store.open(store).query("SELECT parameters['sweep_plan'] AS digest FROM runs").to_pylist()[0]["digest"]
    with one_at_a_time(store, digest, "sweep"):
        for options in ([], ["--fresh"]):
            assert run([*arguments, *options]) == 2
            assert "found another one that is at it" in capsys.readouterr().err
    assert len(runs_of(data)) == 1
    assert run([*arguments, "--fresh"]) == 0
    assert not list(store.glob(".sweep-*"))


def test_the_result_names_the_whole_path_and_the_host(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    arguments = ["bench", ".", "--sweep", "sizes=4k", "--size", "8M", "--store", str(data.parent / "store")]
    assert run([*arguments, "--duration", "0.1s", "--format", "json"]) == 0
    result = printed_json(capsys)
    assert result["target"] == str(data)
    assert result["host"]


def test_several_targets_are_swept_together_and_recorded_apart(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [data / "one", data / "two"]
    for path in files:
        path.write_bytes(os.urandom(8 * 1024**2))
    store = str(data.parent / "store")
    arguments = ["bench", str(files[0]), "--sweep", "modes=randread", str(files[1]), "depth=1,2", "--store", store]
    assert run([*arguments, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert all(f"Target: {path}" in shown for path in files)
    assert run([*arguments, "--duration", "0.1s", "--format", "json"]) == 0
    result = printed_json(capsys)
    assert (result["done"], result["target"]) == (2, f"{files[0]}, {files[1]}")
    assert result["size_bytes"] == 8 * 1024**2
    rates = Store.open(Path(store)).query(
        "SELECT run, kind, entity, sum(ops_per_s * duration_ns) AS ios FROM observations GROUP BY ALL"
    )
    by_run: dict[tuple[str, str], list[float]] = {}
    for row in rates.to_pylist():
        by_run.setdefault((row["run"], row["kind"]), []).append(row["ios"])
    for (name, kind), ios in by_run.items():
        assert len(ios) == (1 if kind == "job" else 2)
        assert sum(ios) == pytest.approx(by_run[name, "job"][0])


def test_figures_are_those_of_the_store(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = ("--duration", "1s")  # also on a slow disk there are so many reads and writes that their share tells
    assert run(_arguments(data, *long, "--format", "json", axes=("modes=randrw", "mix=70", "jobs=2"))) == 0
    (cell,) = printed_json(capsys)["cells"]
    figures = {name: found["value"] for name, found in cell["figures"].items()}
    store = Store.open(data.parent / "store")
    (row,) = store.query(
        """SELECT sum(ops_per_s * o.duration_ns) / sum(o.duration_ns) AS ops,
                  sum(read_bytes_per_s * o.duration_ns) / sum(o.duration_ns) AS read_bytes
           FROM observations o JOIN runs r USING (run)"""
    ).to_pylist()
    assert figures["ops_per_s"] == pytest.approx(row["ops"])
    assert figures["read_bytes_per_s"] == pytest.approx(row["read_bytes"])
    assert figures["read_ops_per_s"] + figures["write_ops_per_s"] == pytest.approx(figures["ops_per_s"])
    assert 0.5 < figures["read_ops_per_s"] / figures["ops_per_s"] < 0.9
    latencies = store.query(
        """SELECT high, sum(n) AS n FROM (SELECT unnest(bucket_high_ns) AS high, unnest(counts) AS n
           FROM histograms JOIN runs USING (run) WHERE measure = 'response') GROUP BY 1 ORDER BY 1"""
    ).to_pylist()
    total = sum(int(row["n"]) for row in latencies)
    below = sum(int(row["n"]) for row in latencies if row["high"] < figures["latency_ns_p99"])
    upto = sum(int(row["n"]) for row in latencies if row["high"] <= figures["latency_ns_p99"])
    assert below < 0.99 * total <= upto
    assert figures["latency_ns_mean"] < figures["latency_ns_p99"]


def test_several_streams_are_not_counted_twice(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run with several streams has rows of its own and rows of each stream."""
    arguments = ["bench", str(data), "--workload", "oltp", "--sweep", "depth=2", *_SHORT, "--format", "json"]
    store_path = data.parent / "store"
    assert run([*arguments, "--store", str(store_path)]) == 0
    (cell,) = printed_json(capsys)["cells"]
    store = Store.open(store_path)
    kinds = "SELECT kind, count(*) AS rows, sum(ops_per_s) AS ops FROM observations GROUP BY kind"
    rows = {row["kind"]: row for row in store.query(kinds).to_pylist()}
    assert rows["process"]["rows"] == 2, "oltp has two streams"
    assert cell["figures"]["ops_per_s"]["value"] == pytest.approx(rows["job"]["ops"])
    assert rows["process"]["ops"] == pytest.approx(rows["job"]["ops"])


def test_repetitions_are_interleaved_and_give_intervals(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axes = ("sizes=4k,64k", "modes=randread")
    long = ("--duration", "0.4s")  # others on the disk hold up no run so long that it has no latency
    assert run(_arguments(data, *long, "--repeat", "3", "--format", "json", axes=axes)) == 0
    result = printed_json(capsys)
    assert [row["block"] for row in runs_of(data)] == [0, 0, 1, 1, 2, 2], "a block is over before the next one starts"
    for cell in result["cells"]:
        assert cell["runs"] == 3
        for name in ("ops_per_s", "latency_ns_mean", "latency_ns_p99"):
            found = cell["figures"][name]
            assert found["low"] < found["value"] < found["high"]


def test_the_same_command_measures_anew_when_all_is_there(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axes = ("modes=randread",)
    assert run(_arguments(data, axes=axes)) == 0
    assert run(_arguments(data, axes=axes)) == 0
    assert len({row["sweep"] for row in runs_of(data)}) == 2
    capsys.readouterr()
    assert run(_arguments(data, "--resume", axes=axes)) == 0
    captured = capsys.readouterr()
    assert "1 of 1 measurements are in the store" in captured.err
    assert "randread" in captured.out
    assert len(runs_of(data)) == 2, "there was nothing to measure"


def test_what_is_in_the_store_is_shown_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_arguments(data, "--show")) == 2
    capsys.readouterr()
    assert run(_arguments(data, "--format", "json")) == 0
    measured = printed_json(capsys)
    assert run(_arguments(data, "--show", "--format", "json")) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == measured
    assert f" as {measured['id']}." in captured.err, "what `compare run=` takes"
    assert len(runs_of(data)) == 8
    assert run([*_arguments(data, "--show"), "--duration", "0.2s"]) == 2
    assert "asked the same" in capsys.readouterr().err


def test_two_sweeps_of_one_store_are_compared_by_their_ids(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axes = ("sizes=4k,64k", "modes=randread")
    sweeps = []
    for _ in range(2):
        assert run(_arguments(data, "--format", "json", axes=axes)) == 0
        sweeps.append(printed_json(capsys)["id"])
    assert run(["compare", *(f"run={sweep}" for sweep in sweeps), "--store", str(data.parent / "store"), "--json"]) == 0
    pairs = printed_json(capsys)["pairs"]
    assert sorted(pair["name"] for pair in pairs) == [
        "randread, 4 KiB, 1 job, depth 1", "randread, 64 KiB, 1 job, depth 1",
    ]  # fmt: skip
    assert all(len(pair["runs_before"]) == len(pair["runs_after"]) == 1 for pair in pairs)


# Ctrl-C and crashes ---------------------------------------------------------------------------------------------------


def _started(data: Path, *options: str) -> subprocess.Popen[str]:
    program = (sys.executable, "-m", "storscope")
    return subprocess.Popen(
        [*program, *_arguments(data, *options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_killed_sweep_goes_on_where_it_was(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = ("--duration", "0.5s")
    process = _started(data, *slow)
    wait_for_captures(data, 3)
    kill_with_its_watcher(process)
    assert list(data.iterdir()), "a scratch file is left for the next start"
    assert run(_arguments(data, *slow, "--format", "json")) == 0
    captured = capsys.readouterr()
    assert "is continued: " in captured.err
    runs = [row for row in runs_of(data) if row["status"] in {"ok", "invalid"}]
    assert len(runs) == 8, "what was measured is not measured again"
    assert len({row["point"] for row in runs}) == 8
    assert len({row["sweep"] for row in runs}) == 1
    assert len({row["sweep_seed"] for row in runs}) == 1, "the order is that of the first part"
    planned = matrix(axes_of(_AXES))
    (order,) = balanced_order([item.point for item in planned], 1, int(runs[0]["sweep_seed"]))
    assert [row["point"] for row in runs] == [planned[index].point.key for index in order]
    assert json.loads(captured.out)["complete"]
    assert not list(data.iterdir())


def test_an_interrupted_sweep_keeps_what_it_has_and_says_how_to_go_on(data: Path) -> None:
    process = _started(data, "--duration", "1s")
    wait_for_captures(data, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    done = sum(row["status"] in {"ok", "invalid"} for row in runs_of(data))
    assert 2 <= done < 8
    assert f"{done} of 8 measurements" in out
    assert f"{8 - done} measurement" in out
    assert "missing; the same command continues with what is missing." in out
    assert "Traceback" not in err
    assert not list(data.iterdir())
    again = subprocess.run(
        [sys.executable, "-m", "storscope", *_arguments(data, "--duration", "1s", "--fresh", "--dry-run")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 0
    assert len(runs_of(data)) <= done + 1, "a dry run measures nothing"


@pytest.mark.parametrize("grown", [True, False])
def test_a_target_of_another_size_is_told_where_a_sweep_goes_on(
    data: Path, capsys: pytest.CaptureFixture[str], grown: bool
) -> None:
    target, store = data / "target", str(data.parent / "store")
    target.write_bytes(os.urandom(8 * 1024**2))
    arguments = ["bench", str(target), "--sweep", "sizes=4k,8k", "--duration", "0.2s", "--store", store]
    assert run(arguments) == 0
    (last, *_) = sorted(Path(store).glob("capture=*"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    assert run(["store", "remove", last.name.removeprefix("capture="), "--store", store]) == 0
    if grown:
        with target.open("ab") as file:
            file.write(os.urandom(8 * 1024**2))
    capsys.readouterr()
    assert run([*arguments, "--format", "json"]) == 0
    result = printed_json(capsys)
    told = "The target changed its size: it had 8 MiB in 1 and 16 MiB in 1 of 2 measurements (--fresh starts anew)."
    assert (told in result["notes"], result["size_bytes"]) == ((True, None) if grown else (False, 8 * 1024**2))


# Safety ---------------------------------------------------------------------------------------------------------------


def test_a_sweep_that_writes_refuses_a_file_of_somebody_else(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = data / "foreign"
    foreign.write_bytes(os.urandom(8 * 1024**2))
    content = foreign.read_bytes()
    assert run(_arguments(foreign, axes=("modes=read,write",))) == 2
    assert "would be lost" in capsys.readouterr().err
    assert foreign.read_bytes() == content
    assert run(_arguments(foreign, axes=("modes=read,randread",))) == 0, "reading is harmless"
    assert foreign.read_bytes() == content


def test_a_point_that_cannot_be_measured_leaves_the_others_alone(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks that O_DIRECT does not take fail; the other sizes are measured all the same."""
    path = data / "file"
    path.write_bytes(os.urandom(8 * 1024**2))
    code = run(_arguments(path, "--format", "json", axes=("modes=read", "sizes=100,4k")))
    result = printed_json(capsys)
    if code == 0:
        pytest.skip("this file system takes any size with O_DIRECT")
    assert code == 2
    assert [cell["block_bytes"] for cell in result["cells"]] == [4096]
    (failure,) = result["failures"]
    assert failure.startswith("read, 100 B")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("sizes=4k",), "Axes need --sweep"),
        (("--sweep", "sizes=4x"), "4x"),
        (("--sweep", "sizes=4k", "other"), "one target, or several that exist"),
        (("--sweep", "sizes=4k", "job=2", "dephts=4"), "Did you mean jobs=2 depth=4? The axes are sizes, modes, jobs"),
        (("--sweep", "sizes=4k", "block=8k"), "block=8k"),
        (("--repeat", "2", "--workload", "log"), "--sweep or --time-series"),
        (("--fresh", "--workload", "log"), "--resume or --fresh, found neither"),
        (("--dry-run", "--json", "--workload", "log"), "--dry-run alone"),
        (("--dry-run", "--format", "csv", "--sweep", "sizes=4k"), "also --format csv"),
        (("--time-series", "10s", "--workload", "log", "--repeat", "2"), "10m/30s"),
        (("--time-series", "10s/1s", "--workload", "log"), "how long"),
        (("--time-series", "1s/2s", "--workload", "log", "--repeat", "2"), "slots longer"),
        (("--time-series", "10s/1s", "--workload", "log", "--repeat", "2", "--duration", "1s"), "without --duration"),
        (("--time-series", "10s/1s", "--workload", "log", "--repeat", "2", "--within", "2%"), "EVERY/LENGTH"),
        (("--time-series", "10s/1s", "--workload", "log", "--repeat", "2", "--figure", "p99"), "--figure alone"),
        (("--sweep", "modes=read", "--round", "1s"), "--round with --steady-state"),
        (("--sweep", "modes=read", "--within", "2%", "--duration", "1s"), "several"),
        (("--sweep", "--workload", "log", "sizes=4k"), "jobs and depth"),
    ],
)
def test_what_makes_no_sense_is_refused(
    data: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    assert run(["bench", str(data), *options, "--store", str(data.parent / "store")]) == 2
    assert words in capsys.readouterr().err
    assert not (data.parent / "store").exists()


# When a measurement ends ----------------------------------------------------------------------------------------------


def test_points_are_measured_until_they_are_sure_enough(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ends = ("--within", "60%", "--max-duration", "7s", "--size", "8M")
    arguments = ["bench", str(data), "--sweep", "jobs=1,2", *ends, "--store", str(data.parent / "store")]
    assert run([*arguments, "--format", "json"]) == 0
    result = printed_json(capsys)
    assert result["ends"] == "IOPS within ±60 %, at most 7.00 s"
    rows = _parameters(data)
    assert [row["goal"] for row in rows] == [result["ends"]] * 2
    for row in rows:
        assert row["goal_met"] == "true" or any("instead of ±60 %" in doubt for doubt in row["warnings"])
    assert run([*arguments, "--show"]) == 0
    assert "2 of 2 measurements, each until IOPS within ±60 %, at most 7.00 s" in capsys.readouterr().out
    assert run([*arguments[:-4], "--duration", "0.1s", *arguments[-2:], "--show"]) == 2, "that is another sweep"


def test_points_in_steady_state_are_measured_in_rounds(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--steady-state", "--round", "1s", "--size", "8M", "--store", str(data.parent / "store"))
    assert run(["bench", str(data), "--sweep", "modes=randread", *options]) == 0
    assert "each until steady state of IOPS, 25 rounds of 1.00 s at most" in capsys.readouterr().out
    (row,) = _parameters(data)
    assert "round" in row["ended"]


def test_a_sweep_preconditions_once_and_every_run_says_so(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_arguments(data, "--precondition", axes=("modes=randread", "jobs=1,2"))) == 0
    said = capsys.readouterr().err
    assert said.count("Preconditioning: ") == 1
    first, *measured = _parameters(data)
    assert first["sweep"] is None
    assert len(measured) == 2
    for row in measured:
        assert row["preconditioned"].endswith(f"16 MiB by run {first['run']}"), "twice the 8 MiB"
    assert run(_arguments(data, "--precondition", "--show", axes=("modes=randread", "jobs=1,2"))) == 0
    assert run(_arguments(data, "--show", axes=("modes=randread", "jobs=1,2"))) == 2, "without it is another sweep"


def test_each_run_of_a_sweep_finds_the_stamps_of_the_others(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workloads = data.parent / "sizes.toml"
    workloads.write_text(
        "".join(
            f'[[workload]]\nname = "{size}"\nverification = "stamps"\n'
            f'stream = [{{ outstanding = 4, line = [{{ size = "{size}", read_share = 0.5 }}] }}]\n'
            for size in ("4k", "2k")
        )
    )
    options = ("--workload", str(workloads), "--repeat", "2", "--format", "json", "--precondition")
    assert run(_arguments(data, *options, axes=())) == 0
    result = printed_json(capsys)
    assert (result["done"], result["failures"]) == (4, [])
    stored = Store.open(data.parent / "store").query(
        "SELECT parameters['workload'] AS asked FROM runs WHERE name = '4k'"
    )
    lines = [json.loads(row["asked"])["streams"][0]["access"]["lines"] for row in stored.to_pylist()]
    assert [[line["size_bytes"] for line in each] for each in lines] == [[4096], [4096]], "as it was asked"


def test_preconditioning_a_sweep_that_reads_is_refused_where_nothing_may_be_written(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data / "theirs"
    path.write_bytes(os.urandom(8 * 1024**2))
    content = path.read_bytes()
    for dry in ((), ("--dry-run",)):
        assert run(_arguments(path, "--precondition", *dry, axes=("modes=randread",))) == 2
        captured = capsys.readouterr()
        assert "--overwrite" in captured.out + captured.err
    assert path.read_bytes() == content


def _dry_run(data: Path, capsys: pytest.CaptureFixture[str], options: str) -> str:
    assert run(f"bench {data} --sweep jobs=1,2 --size 8M --dry-run {options}".split()) == 0
    return capsys.readouterr().out


def test_the_matrix_says_how_long_it_takes_at_most(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = _dry_run(data, capsys, "--within 2% --max-duration 30s --precondition")
    assert "2 measurements, each until IOPS within ±2 %, at most 30 s; at most 60 s in all" in out
    assert "First would be written: twice the capacity" in out
    assert not list(data.iterdir())


def test_a_series_is_listed_once_and_not_once_a_slot(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = _dry_run(data, capsys, "--time-series 10m/30s --for 4h")
    assert "48 measurements of 30 s, 4 h 00 min in all" in out
    assert "in each of 24 slots, every 10 min" in out
    assert out.count("randread") == 2


def _parameters(data: Path) -> list[dict[str, Any]]:
    names = ("sweep", "goal", "goal_met", "ended", "preconditioned")
    wanted = ", ".join(f"parameters['{name}'] AS {name}" for name in names)
    query = f"SELECT run, c.warnings, {wanted} FROM runs r JOIN captures c USING (capture) ORDER BY time"
    return Store.open(data.parent / "store").query(query).to_pylist()


# Tables ---------------------------------------------------------------------------------------------------------------


def test_the_matrix_is_shown_before_anything_is_done(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = f"bench {data} --sweep sizes=4k,16k,64k modes=randread,randwrite,read jobs=1,2,4,8 --size 8M --dry-run"
    assert run(line.split()) == 0
    out = capsys.readouterr().out
    assert "36 measurements of 10 s, about 6 min in all" in out
    assert "  36. " in out
    assert "Nothing has been written." in out
    assert run([*line.split()[:1], *line.split()[2:], str(data)]) == 0, "the target may come last"
    verb, target, option, *axes = line.split()[:6]
    assert run([verb, target, option, " ".join(axes), "--size", "8M", "--dry-run"]) == 0, "axes may stand in quotes"
    assert capsys.readouterr().out.count("36 measurements") == 2
    assert not list(data.iterdir())


@pytest.mark.needs_root
def test_a_device_is_swept_if_nothing_would_be_lost(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        device = Rig(data, stack).loop(Rig(data, stack).image(size_bytes=16 * 1024**2))
        store = str(data.parent / "store")
        arguments = ["bench", str(device), "--sweep", "modes=randwrite,randrw", "--duration", "0.1s", "--store", store]
        assert run([*arguments, "--format", "json"]) == 0
        result = printed_json(capsys)
        assert (result["target_kind"], result["size_bytes"], result["done"]) == ("device", 16 * 1024**2, 2)
        with device.open("r+b") as node:
            node.write(b"XFSB")
        assert run([*arguments, "--fresh"]) == 2
        assert "XFS" in capsys.readouterr().err


def test_the_fio_table_is_read_back(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_arguments(data, "--format", "json")) == 0
    cells = printed_json(capsys)["cells"]
    assert run(_arguments(data, "--show", "--format", "fio-table")) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0] == "DEVICE;SIZE;MODE;BLOCKSIZE;NUMJOBS;READMB;WRITEMB;READIOS;WRITEIOS"
    rows = list(csv.DictReader(io.StringIO(text), delimiter=";"))
    assert [row["SIZE"] for row in rows] == ["8M"] * 8
    table = data.parent / "table.csv"
    table.write_text(text)
    assert run(["import", str(table), "--store", str(data.parent / "imported")]) == 0
    found = {
        (row["mode"], row["block_bytes"], row["workers"]): row
        for row in Store.open(data.parent / "imported")
        .query(
            """SELECT r.parameters['mode'] AS mode, r.block_bytes, r.workers, o.read_ops_per_s, o.write_ops_per_s,
                      o.read_bytes_per_s, o.write_bytes_per_s
               FROM runs r JOIN observations o USING (capture, run)"""
        )
        .to_pylist()
    }
    assert len(found) == len(cells) == 8
    for cell in cells:
        row = found[cell["mode"], cell["block_bytes"], cell["jobs"]]
        for name in ("read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s"):
            assert row[name] == pytest.approx(cell["figures"][name]["value"], rel=1e-3, abs=1), (cell["words"], name)


def test_the_printed_table_has_units_and_bars(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_arguments(data)) == 0
    captured = capsys.readouterr()
    for words in ("randread\n", "write\n", "64 KiB", "IOPS", "MB/s", "mean latency", "p99", "█", "O_DIRECT"):
        assert words in captured.out
    row = r"^ +(4|64) KiB .*\d (µs|ms)\b"
    assert re.search(row, captured.out, re.MULTILINE), "latencies have units; on busy machines they are longer"
    assert "8/8 " in captured.err


def test_a_comparison_of_sweeps_is_in_the_order_of_their_table(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axes = ("sizes=64k,4k", "modes=write,randread", "jobs=2,1")
    store = str(data.parent / "store")
    sweeps = []
    for seed in ("1", "2"):
        assert run(_arguments(data, "--fresh", "--seed", seed, "--format", "json", axes=axes)) == 0
        sweeps.append(printed_json(capsys)["id"])
    assert run(["compare", *(f"run={sweep}" for sweep in sweeps), "--store", store, "--json"]) in (0, 1)
    names = [pair["name"] for pair in printed_json(capsys)["pairs"]]
    expected = matrix(axes_of(("sizes=4k,64k", "modes=randread,write", "jobs=1,2")))
    assert names == [item.point.words for item in expected]


def test_the_store_tells_of_a_sweep_as_one(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_arguments(data, "--format", "json")) == 0
    sweep = printed_json(capsys)["id"]
    store = str(data.parent / "store")
    assert run(["store", "info", "--store", store]) == 0
    captured = capsys.readouterr()
    assert f"{sweep}  8 captures  bench of {data}" in captured.out
    assert "8 in runs" in captured.out
    assert captured.out.count("    rows") == 1
    assert "--all shows every capture" in captured.err
    assert run(["store", "info", "--store", store, "--all"]) == 0
    assert capsys.readouterr().out.count("    rows") == 8
