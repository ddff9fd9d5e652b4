"""Flushes that a workload asks for are made, by the kernel's own count, by both engines and fio, and counted alike."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.device_check import Answer, Asked
from storscope.bench.device_counters import DeviceWatch
from storscope.bench.device_judging import EXCESS_BYTES, JOURNAL_BYTES
from storscope.bench.engine import EngineRun
from storscope.bench.figures import Interval
from storscope.bench.fio_judging import doubts_of_fio
from storscope.bench.underneath import Level, Underneath
from storscope.cli.main import run as storscope
from storscope.domain import diskstats
from storscope.domain.access import AccessSpec
from storscope.domain.load import Closed, Load, Open, Process
from storscope.domain.units import KIB, MIB, NS_PER_S
from storscope.domain.workload import Flush, FlushKind, Workload
from storscope.store import Store
from tests.bench.fio_runs import Ran, by_fio, by_us, opened, plan, workload
from tests.bench.safety.conftest import Rig
from tests.bench.safety.trees import KernelTree

_SIZE = 32 * MIB
_WRITES = AccessSpec(8 * KIB, read_share=0.0, random_share=0.0)
_CLOSED = Closed(1)
_HAS_FIO = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def flushing(flush: Flush, load: Load = _CLOSED, line: AccessSpec = _WRITES) -> Workload:
    what = workload(line, load=load)
    return replace(what, streams=tuple(replace(stream, flush=flush) for stream in what.streams))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.write_bytes(os.urandom(_SIZE))
    with path.open("r+b") as file:
        os.fsync(file.fileno())
    return path


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A device of its own, which nobody else flushes."""
    with ExitStack() as stack:
        rig = Rig(tmp_path, stack)
        yield rig.loop(rig.image(size_bytes=_SIZE))


def counted(device: Path) -> int:
    """Flushes that the kernel has made of it."""
    return diskstats.parse(Path("/proc/diskstats").read_text())[device.name].get("fio", 0)


def with_engine(name: str) -> Callable[..., Ran]:
    def run(what: Any) -> Ran:
        made = EngineRun(replace(what, engine=name))
        return list(made.intervals()), made.outcome()

    return run


# What is made ---------------------------------------------------------------------------------------------------------


@pytest.mark.needs_root
@pytest.mark.parametrize("run", [with_engine("io_uring"), with_engine("threads"), pytest.param(by_fio, marks=_HAS_FIO)],
                         ids=["io_uring", "threads", "fio"])  # fmt: skip
@pytest.mark.parametrize("flush", [Flush(1), Flush(3, FlushKind.FULL)], ids=str)
def test_the_kernel_counts_the_flushes_that_are_told(run: Callable[..., Ran], flush: Flush, device: Path) -> None:
    for duration_ns in (NS_PER_S // 2, 2 * NS_PER_S, 8 * NS_PER_S):
        before = counted(device)
        with opened(device) as descriptor:
            _, outcome = run(plan(flushing(flush), descriptor, duration_ns))
        made = counted(device) - before
        total, drain = outcome.total, outcome.result["drain"]
        drained = sum(cell["flushes"]["ios"] for cell in drain["cells"])
        assert outcome.error is None
        # fio makes one more when it closes the device, and so may the kernel.
        assert total.flushes.ios + drained <= made <= total.flushes.ios + drained + 3
        assert total.flushes.ios == pytest.approx(total.direction("writes").ios / flush.every, abs=1)
        if total.flushes.ios > 20:  # others on the disk below make flushes take long
            break
    else:
        pytest.fail("too few flushes to tell anything")


@_HAS_FIO
def test_fio_and_ours_tell_the_same_of_the_same_workload(target: Path) -> None:
    for flush in (Flush(1), Flush(4)):
        with opened(target) as descriptor:
            both = [run(plan(flushing(flush), descriptor, NS_PER_S // 2)) for run in (by_us, by_fio)]
        for intervals, outcome in both:
            total = outcome.total
            assert total.flushes.ios == sum(interval.flushes.ios for interval in intervals)
            assert total.flushes.bytes == 0
            assert total.flushes.service.count == total.flushes.ios
            assert total.flushes.ios == pytest.approx(total.direction("writes").ios / flush.every, abs=1)
            assert total.all.ios == total.direction("writes").ios


@pytest.mark.needs("strace")
@pytest.mark.parametrize("kind", FlushKind)
def test_the_system_call_is_the_one_that_was_asked_for(kind: FlushKind, target: Path, tmp_path: Path) -> None:
    what = {
        "workload": flushing(Flush(1, kind), Closed(2)).to_json(), "targets": [{"kind": "path", "path": str(target)}],
        "duration_ns": 200_000_000, "engine": "threads",
    }  # fmt: skip
    program = (
        "import json, sys; from storscope import _core; "
        "result = json.loads(_core.LoadRun(sys.argv[1]).finish())['result']; "
        "print(sum(cell['flushes']['ios'] for part in ('total', 'drain') for cell in result[part]['cells']))"
    )
    log = tmp_path / "calls"
    command = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", str(log), sys.executable, "-c", program]
    told = int(subprocess.run([*command, json.dumps(what)], check=True, capture_output=True, text=True).stdout)
    calls = Counter(line.split()[1].split("(")[0] for line in log.read_text().splitlines() if "resumed" not in line)
    assert told > 0
    assert calls == {str(kind): told}


# Closed and open loop -------------------------------------------------------------------------------------------------


def test_a_flush_holds_the_place_of_its_write(target: Path) -> None:
    with opened(target) as descriptor:
        _, outcome = by_us(plan(flushing(Flush(1)), descriptor, NS_PER_S // 2))
    total = outcome.total
    assert total.outstanding_mean is not None
    assert total.outstanding_mean <= 1
    busy_ns = total.all.service.sum_ns + total.flushes.service.sum_ns
    assert busy_ns <= total.duration_ns * 1.01
    # What is in flight at the end counts as well: a flush takes long where others use the disk.
    drain = Interval(outcome.result["drain"])
    in_flight_ns = sum((part.outstanding_mean or 0.0) * part.duration_ns for part in (total, drain))
    busy_ns += drain.all.service.sum_ns + drain.flushes.service.sum_ns
    assert in_flight_ns == pytest.approx(busy_ns, rel=0.05)


def test_in_an_open_loop_each_arrival_has_its_flush(target: Path) -> None:
    what = flushing(Flush(1), Open(200.0, Process.FIXED, 64))
    with opened(target) as descriptor:
        _, outcome = by_us(plan(what, descriptor, 2 * NS_PER_S))
    assert outcome.total.flushes.response.count == outcome.total.flushes.ios
    assert 0 < outcome.total.all.ios - 64 <= outcome.total.flushes.ios <= outcome.total.all.ios


# What is told ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def _bench(data: Path, *options: str) -> None:
    arguments = ["bench", str(data), "--size", "8m", "--duration", "1s", *options]
    assert storscope(arguments) == 0


def test_a_measurement_of_commits_says_what_flushes_cost(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _bench(data, "--workload", "commits", "--store", str(data.parent / "store"))
    said = capsys.readouterr().out
    lines = said.splitlines()
    head = next(index for index, line in enumerate(lines) if line.startswith("flushes: "))
    assert lines[head].endswith("/s")
    assert lines[head + 1].startswith("  response  mean ")
    assert "max" in lines[head + 2]
    assert any(line.startswith("  flush p99 ") for line in lines)
    _bench(data, "--workload", "log", "--store", str(data.parent / "other"))
    assert "flush" not in capsys.readouterr().out


def test_the_tables_hold_flushes_beside_reads_and_writes(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _bench(data, "--workload", "commits", "--store", str(data.parent / "store"), "--json")
    form = json.loads(capsys.readouterr().out)
    assert form["flush"]["ios"] > 0
    assert form["flush"]["bytes"] == 0
    assert form["all"]["ios"] == form["write"]["ios"]
    assert "flush-p99" in form["figures"]
    store = Store.open(data.parent / "store")
    rows = store.query("SELECT operation, sum(list_sum(counts)) FROM histograms WHERE measure = 'response' GROUP BY 1")
    counts = {row[0]: row[1] for row in (tuple(each.values()) for each in rows.to_pylist())}
    assert counts["sync"] >= form["flush"]["ios"]
    (rates,) = store.query(
        "SELECT sum(ops_per_s * duration_ns) - sum(write_ops_per_s * duration_ns) AS flushes, "
        "(SELECT sum(value * duration_ns) FROM counters WHERE name = 'sync.ops_per_s') AS counted FROM observations"
    ).to_pylist()
    assert rates["flushes"] == pytest.approx(rates["counted"])


@_HAS_FIO
def test_a_run_of_ours_is_compared_with_one_of_fio(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = [data.parent / name for name in ("ours", "fios")]
    _bench(data, "--workload", "commits", "--store", str(sides[0]))
    _bench(data, "--workload", "commits", "--store", str(sides[1]), "--engine", "fio")
    capsys.readouterr()
    assert storscope(["compare", *map(str, sides), "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    found = {row["metric"]: row for row in pair["rows"]}
    assert {"flush_latency", "flush_p99", "flush_rate"} <= set(found)
    for name in ("flush_latency", "flush_p99", "flush_rate"):
        assert found[name]["before"] > 0
        assert found[name]["after"] > 0


def test_fio_that_flushes_more_than_it_was_asked_to_is_doubted() -> None:
    """As it does in a queue (fio 3.33, io_uring)."""
    what = flushing(Flush(10), Closed(4))
    tally = {"ios": 200, "bytes": 0, **{name: {"count": 0} for name in ("response", "service", "lateness")}}
    cell = {"stream": 0, "target": 0, "reads": {**tally, "ios": 0}, "writes": tally}

    def doubts(made: int) -> tuple[str, ...]:
        form = {"cells": [{**cell, "flushes": {**tally, "ios": made}}], "duration_ns": NS_PER_S}
        return doubts_of_fio(what, Interval(form))[0]

    assert doubts(20) == doubts(19) == ()
    assert doubts(72) == (
        "fio made 72 flushes in 200 writes, more than the one after every 10 that was asked for",
    )  # fmt: skip


# Whether it was the device --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fs_type", "flushes", "answer"), [
    ("ext4", 2_000, Answer.RECONCILED), ("ext4", 0, Answer.OTHERS_TOO), (None, 2_000, Answer.OTHERS_TOO),
])  # fmt: skip
def test_a_journal_that_is_written_for_flushes_is_not_another_s_work(
    fs_type: str | None, flushes: int, answer: Answer, tmp_path: Path
) -> None:
    tree = KernelTree(tmp_path)
    asked = {"read": Asked(0, 0), "write": Asked(2_000, 2_000 * 4 * KIB)}
    moved = asked["write"].bytes + EXCESS_BYTES + 2_000 * JOURNAL_BYTES // 2
    (tree.kernel.proc / "self").mkdir(exist_ok=True, parents=True)
    (tree.kernel.proc / "diskstats").write_text(_stats(0))
    watch = DeviceWatch(Underneath((Level(("sda",)),), fs_type), direct=True, extents=None, kernel=tree.kernel)
    (tree.kernel.proc / "diskstats").write_text(_stats(moved // 512))
    assert watch.compare(asked, flushes).answer is answer


def _stats(sectors: int) -> str:
    return f"8 0 sda 1 0 0 0 {sectors // 8 + 1} 0 {sectors} 0 0 0 0 0 0 0 0 0 0\n"
