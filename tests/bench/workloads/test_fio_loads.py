"""How much a fio job asks for: its depth, rates and pauses."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.fio_job import read_fio
from storscope.bench.workloads.fio_write import FioRun, write_fio
from storscope.bench.workloads.loss import LossKind
from storscope.domain.units import MIB
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    Mix,
    Open,
    Process,
    Region,
    Stream,
    ThinkTime,
    Workload,
)
from tests.bench.workloads.fio_jobs import job, lines, losses_of


@pytest.mark.parametrize(("options", "load"), [
    ("rw=read iodepth=32 ioengine=io_uring", Closed(32)),
    ("rw=read iodepth=32", Closed(1)),
    ("rw=read rate_iops=100 numjobs=3", Open(300.0, Process.FIXED, 1)),
    ("rw=rw rate_iops=70,30", Open(100.0, Process.FIXED, 1)),
    ("rw=rw rate_iops=100", Open(200.0, Process.FIXED, 1)),
    ("rw=write bs=64k rate=640k", Open(10.0, Process.FIXED, 1)),
    ("rw=read rate_iops=1k", Open(1024.0, Process.FIXED, 1)),
    # fio reckons with the least size: at equal intervals in bytes, Poisson arrivals in I/Os.
    ("rw=read rate_iops=100 bssplit=4k/50:16k/50", Open(40.0, Process.FIXED, 1)),
    ("rw=read rate_iops=100 bsrange=512-1m", Open(100 * 2 / 2049, Process.FIXED, 1)),
    ("rw=rw rate_iops=100,60 bssplit=4k/50:16k/50,8k/100", Open(100.0, Process.FIXED, 1)),
    ("rw=read rate_iops=100 bssplit=4k/50:16k/50 rate_process=poisson", Open(100.0, Process.POISSON, 1)),
    ("rw=read rate=100k bssplit=4k/50:16k/50", Open(10.0, Process.FIXED, 1)),
    ("rw=read rate=100k bssplit=4k/50:16k/50 rate_process=poisson", Open(25.0, Process.POISSON, 1)),
    ("rw=read rate_iops=1k kb_base=1000", Open(1000.0, Process.FIXED, 1)),
])  # fmt: skip
def test_a_job_says_how_much_is_asked(options: str, load: object) -> None:
    assert job(options).load == load


def test_a_pause_after_each_of_one_outstanding_is_a_think_time_and_other_pauses_are_said() -> None:
    """fio pauses from the completion on, a delay counts from the submission."""
    assert job("rw=read thinktime=5ms").think_time == ThinkTime(5 * 10**6, Process.FIXED)
    assert lines(job("rw=read thinktime=5ms"))[0].delay_ns == 0
    stream = Stream(Mix((AccessSpec(4096),)), Closed(1), think_time=ThinkTime(5 * 10**6, Process.FIXED))
    text, losses = write_fio(Definition("x", (Workload("w", (stream,)),)), FioRun(("/a",)))
    assert read_fio(text).workloads[0].streams[0] == stream
    assert not losses
    for options in ("thinktime=5ms thinktime_blocks=4", "thinktime=5ms iodepth=4 ioengine=libaio"):
        assert job(f"rw=read {options}").think_time is None
        assert "what is in flight end before it pauses" in losses_of(f"rw=read {options}")
    delay = replace(stream, access=Mix((AccessSpec(4096, delay_ns=10**6),)), think_time=None)
    _, losses = write_fio(Definition("x", (Workload("w", (delay,)),)), FioRun(("/a",)))
    assert "what is in flight end before it pauses" in "\n".join(map(str, losses))


@pytest.mark.parametrize(("options", "is_said"), [
    ("rw=randrw bs=4k,8k thinktime=5ms thinktime_blocks=4", True),
    ("rw=randread bssplit=4k/50:8k/50 thinktime=5ms thinktime_blocks=4", True),
    ("rw=randrw thinktime=5ms thinktime_blocks=4", False),
    ("rw=randrw bs=4k,8k thinktime=5ms", False),
])  # fmt: skip
def test_a_burst_of_one_size_where_fio_draws_each_is_said(options: str, is_said: bool) -> None:
    """fio 3.33 makes 15 % of bursts of four alike with 60 % of reads of another size; here all of them are."""
    assert ("here a burst is of one line" in losses_of(options)) is is_said


def test_places_that_think_are_jobs_of_one_each_where_no_request_follows_on_another() -> None:
    pause = ThinkTime(5 * 10**6, Process.FIXED)
    stream = Stream(Mix((AccessSpec(4096),)), Closed(3), workers=2, think_time=pause)
    text, losses = write_fio(Definition("x", (Workload("w", (stream,)),)), FioRun(("/a",)))
    found = read_fio(text).workloads[0].streams[0]
    assert (found.workers, found.load, found.think_time) == (6, Closed(1), pause)
    assert "6 jobs of one each" in "\n".join(map(str, losses))
    sequential = replace(stream, access=Mix((AccessSpec(4096, random_share=0.0),)))
    _, losses = write_fio(Definition("x", (Workload("w", (sequential,)),)), FioRun(("/a",)))
    assert "think_time" in str([loss for loss in losses if loss.kind is LossKind.LOST])


def test_a_think_time_of_one_place_on_each_of_several_targets_is_no_pause_of_a_job() -> None:
    stream = Stream(Mix((AccessSpec(4096),)), Closed(1), think_time=ThinkTime(5 * 10**6, Process.FIXED))
    text, losses = write_fio(Definition("x", (Workload("w", (stream,)),)), FioRun(("/a", "/b")))
    assert "thinktime" not in text
    assert "think_time" in str([loss for loss in losses if loss.kind is LossKind.LOST])


@pytest.mark.parametrize(("rate", "loads"), [
    ("rate_iops=,200", {"j reads": Closed(8), "j writes": Open(400.0, Process.FIXED, 8)}),
    ("rate_iops=0,200", {"j reads": Closed(8), "j writes": Open(400.0, Process.FIXED, 8)}),
    ("rate_iops=300,", {"j reads": Open(600.0, Process.FIXED, 8), "j writes": Closed(8)}),
    ("rate=1m, bs=4k", {"j reads": Open(512.0, Process.FIXED, 8), "j writes": Closed(8)}),
])  # fmt: skip
def test_a_mix_with_a_rate_for_one_direction_is_two_streams_the_other_without_a_rate(
    rate: str, loads: dict[str, object]
) -> None:
    """It has been one open loop, with a rate for the other direction that fio does not hold it to."""
    options = f"rw=randrw rwmixread=70 ioengine=libaio iodepth=8 numjobs=2 size=8m norandommap {rate}"
    (workload,) = read_fio("[j]\n" + options.replace(" ", "\n")).workloads
    assert {stream.name: stream.load for stream in workload.streams} == loads
    assert [lines(stream) for stream in workload.streams] == [(AccessSpec(4096),), (AccessSpec(4096, read_share=0.0),)]
    assert {(stream.workers, stream.region, stream.targets) for stream in workload.streams} == {
        (2, Region(0, 8 * MIB), ())
    }
    rated = next(name.removeprefix("j ") for name, load in loads.items() if isinstance(load, Open))
    assert f"only the {rated} have a rate" in losses_of(options)
    text, _ = write_fio(Definition("x", (workload,)), FioRun(("/a",)))
    assert read_fio(text).workloads[0].streams == workload.streams


def test_a_rate_of_a_direction_that_a_job_does_not_have_is_none() -> None:
    assert job("rw=randread rate_iops=,200").load == Closed(1)
    assert job("rw=randrw rwmixread=100 rate_iops=,200").load == Closed(1)


@pytest.mark.needs("fio")
@pytest.mark.parametrize("rated", [0, 1])
def test_fio_does_not_hold_the_direction_without_a_rate_to_any(rated: int, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(bytes(4 * MIB))
    rate = "rate_iops=" + ("200," if rated == 0 else ",200")
    options = ["rw=randrw", "rwmixread=70", "norandommap", "filename=target", "time_based", "runtime=1", rate]
    (tmp_path / "job").write_text("\n".join(["[j]", *options]))
    done = subprocess.run(["fio", "--output-format=json", "job"], cwd=tmp_path, capture_output=True, check=True)
    (found,) = json.loads(done.stdout)["jobs"]
    per_s = [found[name]["iops"] for name in ("read", "write")]
    assert per_s[rated] == pytest.approx(200, rel=0.1)
    assert per_s[1 - rated] > 400


@pytest.mark.needs("fio")
@pytest.mark.parametrize("process", ["linear", "poisson"])
@pytest.mark.parametrize("rate", ["rate_iops=1000", "rate=10000k"])
def test_a_rate_of_mixed_sizes_is_read_as_fio_holds_it(rate: str, process: str, tmp_path: Path) -> None:
    options = ["rw=randread", "ioengine=null", "size=1g", "norandommap", "time_based", "runtime=2",
               "bssplit=4k/50:16k/50", rate, f"rate_process={process}"]  # fmt: skip
    (tmp_path / "job").write_text("\n".join(["[j]", *options]))
    done = subprocess.run(["fio", "--output-format=json", "job"], cwd=tmp_path, capture_output=True, check=True)
    (found,) = json.loads(done.stdout)["jobs"]
    load = job(" ".join(options)).load
    assert isinstance(load, Open)
    assert found["read"]["iops"] == pytest.approx(load.rate_per_s, rel=0.15)


@pytest.mark.parametrize(("options", "said"), [
    ("rw=randread rate_iops=100", "least size of reads, 4096 bytes, where the mean is 10240: 40/s in each job"),
    ("rw=randread rate=100k rate_process=poisson", "rate=100k: fio reckons with the least size of reads"),
])  # fmt: skip
def test_a_rate_that_mixed_sizes_make_another_one_is_said(options: str, said: str) -> None:
    found = losses_of(f"{options} bssplit=4k/50:16k/50")
    assert said in found
    assert "writes" not in found
    assert "reckons" not in losses_of(f"{options} bs=16k")


def test_a_queue_that_drains_before_it_is_filled_again_is_lost() -> None:
    """With it fio 3.33 had 22 in flight on average (rate x latency), without it 32."""
    losses = read_fio("[a]\nioengine=libaio\nrw=randread\niodepth=32\niodepth_low=8\n").losses
    assert [loss.reason for loss in losses if loss.kind is LossKind.LOST] == [
        "fio lets 32 in flight drain to 8 before it sends more; here each is followed by the next"
    ]
    assert "iodepth_low" not in str(read_fio("[a]\nrw=randread\niodepth=32\niodepth_low=8\n").losses)


@pytest.mark.parametrize("name", ["iodepth_batch_complete", "iodepth_batch_complete_min"])
def test_completions_that_are_awaited_together_are_lost(name: str) -> None:
    """With 32 of 32 fio 3.33 had 26 in flight on average (rate x latency), and each time none was left at the end."""
    losses = read_fio(f"[a]\nioengine=libaio\nrw=randread\niodepth=32\n{name}=48\n").losses
    assert [loss.reason for loss in losses if loss.kind is LossKind.LOST] == [
        "fio awaits 32 of 32 in flight before it sends more; here each is followed by the next"
    ]
    for nothing in (f"ioengine=libaio\niodepth=32\n{name}=1", f"ioengine=libaio\niodepth=1\n{name}=8"):
        losses = read_fio(f"[a]\nrw=randread\n{nothing}\n").losses
        assert not [loss for loss in losses if loss.kind is LossKind.LOST]


def test_a_pause_after_a_time_of_io_is_left_out() -> None:
    """It has come before each I/O: 50 a second, where fio makes 58,000."""
    stream = job("rw=randread thinktime=20ms thinktime_iotime=50ms")
    assert stream.think_time is None
    assert lines(stream)[0].delay_ns == 0
    assert job("rw=randread thinktime=20ms thinktime_iotime=0").think_time is not None
