"""fio as an engine: what it reports is whole, agrees with itself, and says what it cannot say."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.engine import DescriptorTarget
from storscope.bench.figures import PARTS_OF_SERVICE, Interval, Latencies
from storscope.bench.fio_engine import FioEngineRun, fio_plan, shortened
from storscope.bench.fio_judging import asked_ios
from storscope.bench.fio_program import find_fio
from storscope.bench.fio_result import State, state_of
from storscope.bench.goals import FixedTime, Progress
from storscope.bench.measuring import Measuring
from storscope.bench.samples import Samples
from storscope.bench.workloads._fio_jobs import FioJob
from storscope.cli.main import run
from storscope.domain.access import AccessSpec, Copy, Mix
from storscope.domain.errors import ConfigError, MissingTool, StorscopeError
from storscope.domain.load import Closed, Load, Open, Process, RateStep, Region, Steps
from storscope.domain.units import KIB, MIB, NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.store import Store
from tests.bench.calm import calm
from tests.bench.fio_runs import by_fio, never, opened, plan, workload
from tests.bench.safety.conftest import Rig

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
_SIZE = 16 * MIB
_PROGRAM = (sys.executable, "-m", "storscope", "bench")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A file that is written through."""
    path = tmp_path / "target"
    path.write_bytes(os.urandom(_SIZE))
    with path.open("r+b") as file:
        os.fsync(file.fileno())
    return path


# What it yields -------------------------------------------------------------------------------------------------------


def test_the_intervals_add_up_to_the_total(target: Path) -> None:
    with opened(target) as descriptor:
        mixed = workload(AccessSpec(4 * KIB, read_share=0.5))
        intervals, outcome = by_fio(plan(mixed, descriptor, 2 * NS_PER_S))
    total = outcome.total
    assert outcome.error is None
    assert len(intervals) >= 3
    assert sum(interval.duration_ns for interval in intervals) == total.duration_ns
    assert sum(interval.all.bytes for interval in intervals) == total.all.bytes == total.all.ios * 4 * KIB
    for name in ("reads", "writes"):
        parts = [interval.direction(name) for interval in intervals]
        whole = total.direction(name)
        assert sum(part.ios for part in parts) == whole.ios > 0
        assert sum(part.service.sum_ns for part in parts) == pytest.approx(whole.service.sum_ns, rel=1e-3)
        assert max(part.service.max_ns or 0 for part in parts) == whole.service.max_ns


def test_what_fio_does_not_time_is_absent_and_its_own_times_add_up(target: Path) -> None:
    with opened(target) as descriptor:
        _, outcome = by_fio(plan(workload(), descriptor))
    reads = outcome.total.direction("reads")
    assert reads.response.count == reads.lateness.count == 0
    assert reads.response.quantile_ns(0.5) is None
    assert outcome.total.outstanding_mean is None
    tallies = [cell["reads"] for cell in outcome.total.form["cells"]]
    slat, clat = (Latencies.merged(tally[part] for tally in tallies) for part in PARTS_OF_SERVICE)
    assert reads.service.mean_ns is not None
    assert slat.sum_ns + clat.sum_ns == pytest.approx(reads.service.sum_ns, rel=0.02)


def test_littles_law_holds_for_what_is_taken_as_service(target: Path) -> None:
    """At most as many as its depth are in flight, and with the submission in it nearly that."""
    with opened(target) as descriptor:
        _, outcome = by_fio(plan(workload(load=Closed(4), workers=2), descriptor))
    total = outcome.total
    rate, service = total.per_s(total.all.ios), total.all.service.mean_ns
    assert rate is not None
    assert service is not None
    assert 0.5 * 8 < rate * service / NS_PER_S <= 8 * 1.02


def test_the_medians_of_the_buckets_are_those_that_fio_prints(target: Path) -> None:
    with opened(target) as descriptor:
        made = fio_plan(plan(workload(), descriptor), direct=True)
        done = subprocess.run(
            made.command, input=made.file.text, capture_output=True, text=True, pass_fds=(descriptor,), check=True
        )
    document = json.loads(done.stdout[done.stdout.rindex("\n{\n") + 1 :])
    printed = document["jobs"][0]["read"]["lat_ns"]
    reads = state_of(document, made.file.jobs).since(State(), 0).direction("reads")
    assert reads.service.mean_ns == pytest.approx(printed["mean"])
    assert reads.service.max_ns == printed["max"]
    for share in (0.5, 0.99):
        ours = reads.service.quantile_ns(share)
        assert ours == pytest.approx(printed["percentile"][f"{share * 100:.6f}"], rel=0.016)


def _document(runtime_ms: int, bytes_before: int, ios: int) -> dict[str, Any]:
    """What fio 3.33 writes of a job that reads, shortened."""
    times = {"N": ios, "mean": 5e7, "max": 9e7, "bins": {"50000000": ios}}
    read = {"runtime": runtime_ms, "io_bytes": bytes_before, "total_ios": ios + 64, "short_ios": 0}
    none = {"runtime": 0, "io_bytes": 0, "total_ios": 0, "short_ios": 0}
    job = {"read": read | {f"{name}_ns": times for name in ("lat", "clat")}, "write": none}
    return {"jobs": [job | {"usr_cpu": 1.0, "sys_cpu": 1.0, "ctx": 1, "job_runtime": runtime_ms}]}


def test_the_bytes_of_an_interval_are_those_of_its_ios() -> None:
    """fio counts bytes before I/Os: of a device limited to 800 a second it told 720 x 4 KiB and 784 I/Os at once."""
    jobs = [FioJob("job", ("rw=randread", "bs=4096"))]
    states = [State()]
    for runtime_ms, blocks, ios in ((876, 720, 784), (1875, 1520, 1547), (7007, 5664, 5664)):
        states.append(state_of(_document(runtime_ms, blocks * 4096, ios), jobs))
    for before, after in itertools.pairwise(states):
        reads = after.since(before, 0).direction("reads")
        assert reads.bytes == 4096 * reads.ios > 0
    assert states[-1].since(State(), 0).all.bytes == 5664 * 4096
    several = state_of(_document(876, 720 * 4096, 784), [FioJob("job", ("rw=randread", "bssplit=4096/50:8192/50"))])
    assert several.since(State(), 0).all.bytes == 720 * 4096, "of several sizes nobody knows more"


@pytest.mark.parametrize("load", [Closed(4), Open(20_000.0)])
def test_the_figures_of_a_whole_run_are_those_of_fio_itself(target: Path, load: Load) -> None:
    """Also what it did in its last tenth of a second."""
    goal = FixedTime(NS_PER_S * 23 // 10)
    with opened(target) as descriptor, ExitStack() as stack:
        made = fio_plan(plan(workload(load=load), descriptor, goal.longest_ns), direct=True)
        fio = stack.enter_context(FioEngineRun(made))
        measuring = Measuring(fio, goal, NS_PER_S // 4, parts=1, measure="service")
        intervals = list(measuring.intervals(never))
        outcome = fio.outcome()
    judgement, total = measuring.judgement(outcome), outcome.total
    assert judgement.from_ns == 0
    assert judgement.estimates["iops"].value == pytest.approx(_rate(total))
    assert judgement.estimates["bandwidth"].value == pytest.approx(_rate(total) * 4 * KIB)
    assert judgement.estimates["mean"].value == pytest.approx(total.all.service.mean_ns)
    assert all(interval.all.bytes == interval.all.ios * 4 * KIB for interval in intervals)


# Rates ----------------------------------------------------------------------------------------------------------------


def test_a_rate_that_fio_misses_makes_the_run_invalid(target: Path) -> None:
    with opened(target) as descriptor:
        impossible = workload(load=Open(5_000_000.0, Process.FIXED, 2))
        _, outcome = by_fio(plan(impossible, descriptor))
    assert not outcome.is_valid
    assert any("of 5,000,000 IOPS that were asked for" in doubt for doubt in outcome.doubts)


def test_the_job_of_an_open_loop_says_that_its_latency_has_no_queue_in_it(target: Path) -> None:
    with opened(target) as descriptor:
        losses = fio_plan(plan(workload(load=Open(60_000.0)), descriptor), direct=True).losses
    assert any("counts latency from then, not from the arrival" in loss for loss in losses)
    assert any("expect 64494/s" in loss for loss in losses)


def test_rate_steps_end_with_the_run() -> None:
    steps = Steps(tuple(RateStep(rate, NS_PER_S) for rate in (100.0, 200.0, 300.0)))
    short = shortened(workload(load=steps), NS_PER_S * 3 // 2).streams[0].load
    assert isinstance(short, Steps)
    assert [step.duration_ns for step in short.steps] == [NS_PER_S, NS_PER_S // 2]
    assert asked_ios(workload(load=steps).streams[0], NS_PER_S * 3 // 2) == 200.0


def test_rate_steps_are_on_one_time_line(target: Path, tmp_path: Path) -> None:
    calm(tmp_path, lambda _: _rate_steps_are_on_one_time_line(target))


def _rate_steps_are_on_one_time_line(target: Path) -> None:
    steps = Steps((RateStep(200.0, NS_PER_S // 2), RateStep(2000.0, NS_PER_S // 2)), Process.FIXED)
    with opened(target) as descriptor:
        intervals, outcome = by_fio(plan(workload(load=steps), descriptor))
    assert outcome.total.duration_ns == pytest.approx(NS_PER_S, rel=0.1)
    # However late fio writes its status, no I/O comes before its time: at no instant are there more than were due.
    ends_s = [end_ns / NS_PER_S for end_ns in itertools.accumulate(interval.duration_ns for interval in intervals)]
    # A busy machine may make the first interval longer than its step, and the last a moment without any I/O.
    assert _rate(intervals[0]) < 500 or ends_s[0] > 0.5
    assert max(map(_rate, intervals)) > 500
    made = list(itertools.accumulate(interval.all.ios for interval in intervals))
    assert [ios for ios, end_s in zip(made, ends_s, strict=True) if ios > _due(end_s) + 100] == []
    assert made[-1] > _due(0.75), "the second step was made, too"
    assert len(outcome.total.form["cells"]) == 1


def _due(at_s: float) -> float:
    """I/Os that are due by then: half a second at 200 per second, then 2,000."""
    return 200 * min(at_s, 0.5) + 2000 * max(0.0, at_s - 0.5)


def _rate(interval: Interval) -> float:
    rate = interval.per_s(interval.all.ios)
    assert rate is not None
    return rate


def test_each_stream_has_a_cell_of_its_own(target: Path) -> None:
    both = Workload("both", (workload().streams[0], workload(AccessSpec(64 * KIB, read_share=0.0)).streams[0]))
    with opened(target) as descriptor:
        _, outcome = by_fio(plan(both, descriptor, NS_PER_S // 2))
    first, second = outcome.total.form["cells"]
    assert (first["stream"], second["stream"]) == (0, 1)
    assert first["reads"]["bytes"] == first["reads"]["ios"] * 4 * KIB > 0
    assert second["writes"]["bytes"] == second["writes"]["ios"] * 64 * KIB > 0
    assert first["writes"]["ios"] == second["reads"]["ios"] == 0


def test_each_target_has_a_cell_and_a_queue_of_its_own(target: Path) -> None:
    other = target.with_name("other")
    shutil.copy(target, other)
    line = Mix((AccessSpec(4 * KIB),))
    streams = (
        Stream(line, Closed(2)),
        Stream(line, Open(600.0, Process.FIXED, 8)),
        Stream(line, Closed(1), targets=(1,)),
    )
    with opened(target) as one, opened(other) as two:
        made = plan(Workload("two", streams), one, 3 * NS_PER_S)
        both = replace(made, targets=(DescriptorTarget(one), DescriptorTarget(two)))
        text = fio_plan(both, direct=True).file.text
        _, outcome = by_fio(both)
    assert [line for line in text.splitlines() if line.startswith("iodepth=")] == [
        f"iodepth={depth}" for depth in (2, 2, 8, 8, 1)
    ]
    cells = {(cell["stream"], cell["target"]): cell["reads"]["ios"] for cell in outcome.total.form["cells"]}
    assert sorted(cells) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)]
    assert all(cells.values())
    # What fio misses of a rate on a busy machine is told.
    is_missed = any("IOPS that were asked for" in doubt for doubt in outcome.doubts)
    assert cells[1, 0] == pytest.approx(900, rel=0.1) or is_missed


def test_a_copy_goes_from_one_target_to_the_other(target: Path) -> None:
    other = target.with_name("other")
    shutil.copy(target, other)
    copying = Workload("copy", (Stream(Copy(64 * KIB, 1), Closed(2), targets=(0,)),))
    with opened(target, os.O_RDONLY | os.O_DIRECT) as one, opened(other) as two:
        both = replace(plan(copying, one, NS_PER_S // 2), targets=(DescriptorTarget(one), DescriptorTarget(two)))
        _, outcome = by_fio(both)
    first, second = outcome.total.form["cells"]
    assert (first["target"], second["target"]) == (0, 1)
    assert first["writes"]["ios"] == second["reads"]["ios"] == 0
    assert first["reads"]["ios"] == pytest.approx(second["writes"]["ios"], rel=0.02)


# The target -----------------------------------------------------------------------------------------------------------


def test_the_checked_file_is_used_whatever_its_path_leads_to_meanwhile(target: Path) -> None:
    innocent = target.with_name("innocent")
    innocent.write_bytes(b"precious" * 4096)
    with opened(target) as descriptor:
        target.unlink()
        target.symlink_to(innocent)
        _, outcome = by_fio(plan(workload(AccessSpec(4 * KIB, read_share=0.0)), descriptor, NS_PER_S // 4))
        assert outcome.total.all.ios > 0
        assert os.fstat(descriptor).st_size == _SIZE
    assert innocent.read_bytes() == b"precious" * 4096


def test_a_workload_that_only_reads_writes_nothing(target: Path) -> None:
    content = target.read_bytes()
    with opened(target, os.O_RDONLY | os.O_DIRECT) as descriptor:
        made = fio_plan(plan(workload(), descriptor), direct=True)
        assert "--readonly" in made.command
        by_fio(plan(workload(), descriptor, NS_PER_S // 4))
    assert target.read_bytes() == content


def test_a_region_beyond_the_target_is_refused_before_fio_could_extend_it(target: Path) -> None:
    beyond = Workload("beyond", (Stream(workload().streams[0].access, Closed(1), region=Region(0, 2 * _SIZE)),))
    with opened(target) as descriptor, pytest.raises(ConfigError, match="reach that far"):
        fio_plan(plan(beyond, descriptor), direct=True)
    assert target.stat().st_size == _SIZE


def test_the_same_seed_gives_the_same_job_and_every_seed_is_one_for_fio(target: Path) -> None:
    with opened(target) as descriptor:
        texts = [fio_plan(plan(workload(), descriptor, seed=seed), direct=True).file.text for seed in (7, 7, 2**64 - 1)]
        assert texts[0] == texts[1] != texts[2]
        _, outcome = by_fio(plan(workload(), descriptor, NS_PER_S // 10, seed=2**64 - 1))
    assert outcome.total.all.ios > 0


def test_where_io_uring_is_refused_another_engine_is_used_and_said(
    target: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = find_fio().path
    program = tmp_path / "bin" / "fio"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase "$1" in --enghelp) echo "Available IO engines: psync";; *) exec {real} "$@";; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with opened(target) as descriptor:
        _, outcome = by_fio(plan(workload(), descriptor, NS_PER_S // 4))
    assert outcome.engines[0].endswith("psync (this fio was built without io_uring)")
    assert any("one I/O in flight a worker" in doubt for doubt in outcome.doubts)
    assert _in_flight(outcome.total) <= 1.02


def _in_flight(total: Interval) -> float:
    service = total.all.service.mean_ns
    assert service is not None
    return _rate(total) * service / NS_PER_S


# Trouble --------------------------------------------------------------------------------------------------------------


@pytest.mark.needs_root
def test_io_errors_are_told_with_what_was_measured_before(tmp_path: Path) -> None:
    with ExitStack() as stack:
        rig = Rig(tmp_path, stack)
        image = rig.image(size_bytes=_SIZE)
        device = rig.loop(image)
        os.truncate(image, MIB)  # what is read beyond fails
        with opened(device) as descriptor:
            sequential = workload(AccessSpec(4 * KIB, random_share=0.0), load=Closed(1))
            _, outcome = by_fio(plan(sequential, descriptor))
    assert outcome.error is not None
    assert "Input/output error" in outcome.error[1]
    assert outcome.total.failed == 1
    assert 0 < outcome.total.all.ios <= MIB // (4 * KIB)


def test_a_fio_that_measures_nothing_is_an_error_in_its_own_words(target: Path) -> None:
    with opened(target) as descriptor:
        made = plan(workload(AccessSpec(1000, align_bytes=1000)), descriptor, NS_PER_S // 4)
        with pytest.raises(StorscopeError, match="Invalid argument"):
            by_fio(made)  # O_DIRECT wants whole blocks


def test_a_stopped_run_keeps_what_it_measured(target: Path) -> None:
    seen: list[Interval] = []
    with opened(target) as descriptor, ExitStack() as stack:
        made = fio_plan(plan(workload(), descriptor, 60 * NS_PER_S), direct=True)
        fio = stack.enter_context(FioEngineRun(made))
        for interval in fio.intervals(lambda: len(seen) >= 2):
            seen.append(interval)  # noqa: PERF402  the condition looks at the list meanwhile
        outcome = fio.outcome()
    assert outcome.stopped
    assert outcome.error is None
    assert outcome.is_valid
    assert NS_PER_S // 4 < outcome.total.duration_ns < 30 * NS_PER_S


def test_without_fio_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool) as caught:
        find_fio()
    for words in ("apt install fio", "dnf install fio", "brew install fio"):
        assert words in str(caught.value)


def test_without_fio_nothing_is_prepared(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(data))
    store = data.parent / "store"
    assert run(["bench", str(data), "--workload", "log", "--engine", "fio", "--store", str(store)]) == 2
    said = capsys.readouterr().err
    assert "apt install fio" in said
    assert "Filling" not in said
    assert not store.exists()


def test_a_fio_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "fio"
    program.write_text("#!/bin/sh\necho fio-2.21\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(MissingTool, match=re.escape("fio 3.6 or later, found fio-2.21") + "|2.21"):
        find_fio()


def test_a_result_of_another_shape_is_an_error() -> None:
    with pytest.raises(StorscopeError, match="2 entries"):
        state_of({"jobs": [{}]}, [FioJob("a", ()), FioJob("b", ())])


# When it ends ---------------------------------------------------------------------------------------------------------


class Second(FixedTime):
    """Is content with a second, of whatever is allowed."""

    def progress(self, samples: Samples, grid_ns: int) -> Progress:
        return replace(super().progress(samples, grid_ns), is_enough=samples.end_ns >= NS_PER_S)


def test_fio_ends_when_its_goal_is_reached(target: Path) -> None:
    goal = Second(60 * NS_PER_S)
    with opened(target) as descriptor, ExitStack() as stack:
        fio = stack.enter_context(FioEngineRun(fio_plan(plan(workload(), descriptor, goal.longest_ns), direct=True)))
        measuring = Measuring(fio, goal, NS_PER_S // 4, parts=1, measure="service")
        intervals = list(measuring.intervals(never))
        outcome = fio.outcome()
    assert (outcome.error, outcome.stopped) == (None, False), "that is neither a failure nor an interruption"
    *before, last = itertools.accumulate(interval.duration_ns for interval in intervals)
    assert all(end_ns < NS_PER_S for end_ns in before)
    assert last >= NS_PER_S


@pytest.mark.parametrize("options", [("--within", "2%"), ("--steady-state", "--figure", "p99")])
def test_no_latency_of_fio_ends_an_open_loop(
    data: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    job = data.parent / "arrivals.toml"
    job.write_text('name = "a"\n[[stream]]\nrate_per_s = 100\n[[stream.line]]\nsize = "4k"\n')
    store = str(data.parent / "store")
    arguments = ["bench", str(data), "--workload", str(job), "--engine", "fio", "--store", store, *options]
    assert run(arguments) == 2
    assert "--figure iops or bandwidth" in capsys.readouterr().err


# The verb -------------------------------------------------------------------------------------------------------------


def test_a_run_of_fio_is_in_the_store_with_its_job_and_its_doubts(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = data.parent / "store"
    options = ["--workload", "vdi-boot", "--duration", "1s", "--size", "16M", "--engine", "fio"]
    assert run(["bench", str(data), *options, "--store", str(store), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["status"] == "ok"
    assert result["all"]["ios"] > 0
    assert result["read"]["service"]["p99_ns"] > 0
    assert result["outstanding_mean"] is result["read"]["response"]["p99_ns"] is result["all"]["lateness"]["max_ns"]
    assert result["outstanding_mean"] is None
    assert any("their mean" in doubt for doubt in result["doubts"])
    opened_store = Store.open(store)
    (row,) = opened_store.query(
        "SELECT engine, engine_version, parameters['job'] AS job, parameters['doubts'] AS doubts FROM runs"
    ).to_pylist()
    assert row["engine"] == "fio"
    assert row["engine_version"] == find_fio().version
    assert "bssplit=" in row["job"]
    assert "their mean" in row["doubts"]
    counted = opened_store.query(
        "SELECT measure, sum(list_sum(counts)) AS ios FROM histograms GROUP BY measure ORDER BY measure"
    ).to_pylist()
    assert {row["measure"] for row in counted} == {"clat", "service", "slat"}
    assert {row["ios"] for row in counted} == {result["all"]["ios"]}
    means = opened_store.query("SELECT bool_and(latency_ns_mean = device_latency_ns_mean) AS same FROM observations")
    assert means.to_pylist() == [{"same": True}]
    assert not list(data.iterdir())


def test_fio_and_our_engine_can_be_compared(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, runs = str(data.parent / "store"), []
    for engine in ("storscope", "fio"):
        options = ["--workload", "random-8k-70-read", "--duration", "2s", "--size", "16M", "--engine", engine]
        assert run(["bench", str(data), *options, "--store", store, "--json"]) == 0
        runs.append(json.loads(capsys.readouterr().out)["run"])
    assert run(["compare", *(f"run={name}" for name in runs), "--store", store, "--json"]) in {0, 1}
    assert json.loads(capsys.readouterr().out)


def test_nothing_of_a_run_that_fio_refuses_is_kept(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = data.parent / "odd.toml"
    odd.write_text('name = "odd"\n[[stream]]\noutstanding = 1\nline = [{ size = 1000, align = 1000 }]\n')
    store = data.parent / "store"
    options = ["--workload", str(odd), "--duration", "1s", "--size", "16M", "--engine", "fio", "--store", str(store)]
    assert run(["bench", str(data), *options]) == 2
    assert "Invalid argument" in capsys.readouterr().err
    assert not store.exists()
    assert not list(data.iterdir())


def test_ctrl_c_ends_fio_and_keeps_what_it_reported(data: Path) -> None:
    process = _started(data)
    _wait_for_intervals(data, 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    (row,) = Store.open(data.parent / "store").query("SELECT engine, status, duration_ns FROM runs").to_pylist()
    assert (row["engine"], row["status"]) == ("fio", "interrupted")
    assert row["duration_ns"] > NS_PER_S
    assert not list(data.iterdir())


def test_fio_ends_when_storscope_is_killed(data: Path) -> None:
    process = _started(data)
    _wait_for_intervals(data, 2)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (fio,) = [child for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "fio"]
    process.kill()
    process.communicate(timeout=120)
    deadline = time.monotonic() + 120
    while Path(f"/proc/{fio}/fd/1").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{fio}/fd/1").exists()


def _started(data: Path) -> subprocess.Popen[str]:
    options = ("--workload", "oltp", "--size", "16M", "--duration", "60s", "--store", str(data.parent / "store"))
    return subprocess.Popen([*_PROGRAM, str(data), *options, "--engine", "fio"], stderr=subprocess.PIPE, text=True)


def _wait_for_intervals(data: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        spools = list((data.parent / "store").glob(".bench-*.jsonl"))
        if spools and spools[0].read_bytes().count(b"\n") > count:
            return
        time.sleep(0.05)
    pytest.fail("no interval was spooled")
