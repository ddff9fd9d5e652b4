"""Our engine and fio measure the same on the same target: in turn, several times, compared within what the times vary.

The kernel limits the device far below what either engine can do: so the truth is known, both must find it, and a busy
machine, on which the one that costs more CPU does less, disturbs little. On the file system above it runs alternate.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from storscope.bench.engine import NoTarget, RunPlan
from storscope.bench.figures import Interval
from storscope.bench.fio_program import find_fio
from storscope.bench.fio_result import State, state_of
from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.fio_write import FioRun, fio_file
from storscope.domain.access import AccessSpec
from storscope.domain.load import Closed, Open, Process
from storscope.domain.units import KIB, MIB, NS_PER_S
from tests.bench.calm import calm
from tests.bench.fio_runs import by_fio, by_us, opened, plan, workload
from tests.bench.safety.conftest import Rig, run
from tests.bench.throttle import throttled

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
_SIZE = 64 * MIB
_IOPS = 500
_SLICE_S = 0.1
"""The kernel hands out a limit in slices of so long (DFL_THROTL_SLICE_HD of block/blk-throttle.c): so many I/Os more or
less are in a run."""
_STUDENT_5 = 2.571
"""Two-sided 95 % of Student's t with 5 degrees of freedom."""


def _rate(total: Interval) -> float:
    rate = total.per_s(total.all.ios)
    assert rate is not None
    return rate


def _service_ns(total: Interval) -> float:
    mean = total.all.service.mean_ns
    assert mean is not None
    return mean


def _in_flight(total: Interval) -> float:
    """By Little's law."""
    return _rate(total) * _service_ns(total) / NS_PER_S


@pytest.mark.needs_root
@pytest.mark.parametrize("lines", [(AccessSpec(4 * KIB),), (AccessSpec(4 * KIB, 0.75), AccessSpec(16 * KIB, 0.25))])
def test_both_find_the_limit_of_a_device_and_the_wait_for_it(tmp_path: Path, lines: tuple[AccessSpec, ...]) -> None:
    calm(tmp_path, lambda folder: _both_find_the_limit(folder, lines))


def _both_find_the_limit(folder: Path, lines: tuple[AccessSpec, ...]) -> None:
    depth, seconds = 4, 2
    with ExitStack() as stack:
        rig = Rig(folder, stack)
        device = rig.loop(rig.image(size_bytes=_SIZE))
        stack.enter_context(throttled(device, _IOPS))
        descriptor = stack.enter_context(opened(device))
        what = plan(workload(*lines, load=Closed(depth)), descriptor, seconds * NS_PER_S)
        totals = [engine(what)[1].total for engine in (by_us, by_fio)]
    slack = 1.5 * _SLICE_S / seconds
    for total in totals:
        assert _rate(total) == pytest.approx(_IOPS, rel=slack)
        assert _service_ns(total) == pytest.approx(depth / _IOPS * NS_PER_S, rel=slack)
        assert (
            depth * (1 - slack) < _in_flight(total) < depth * 1.02
        )  # what waits for a slice at the end is not counted
    ours, theirs = (total.all for total in totals)
    assert ours.bytes / ours.ios == pytest.approx(theirs.bytes / theirs.ios, rel=0.1)
    for share in (0.1, 0.25, 0.99):  # most wait for nothing, some for the next slice
        first, second = (side.service.quantile_ns(share) for side in (ours, theirs))
        assert first is not None
        assert second is not None
        assert abs(first - second) < 0.5 * _SLICE_S * NS_PER_S


@pytest.mark.needs_root
def test_both_agree_on_a_file_system_within_what_repetitions_vary(tmp_path: Path) -> None:
    calm(tmp_path, _both_agree_on_a_file_system)


def _both_agree_on_a_file_system(folder: Path) -> None:
    mixed = workload(AccessSpec(8 * KIB, read_share=0.7), load=Closed(4))
    pairs: list[tuple[Interval, Interval]] = []
    with ExitStack() as stack:
        rig = Rig(folder, stack)
        device = rig.loop(rig.image(size_bytes=2 * _SIZE))
        path = rig.ext4(device) / "file"
        run("dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={_SIZE // MIB}", "conv=fsync", "status=none")
        descriptor = stack.enter_context(opened(path))
        stack.enter_context(throttled(device, _IOPS))
        for number in range(6):
            what = plan(mixed, descriptor, NS_PER_S, seed=number)
            first, second = (by_us, by_fio) if number % 2 == 0 else (by_fio, by_us)
            one, other = first(what)[1].total, second(what)[1].total
            pairs.append((one, other) if first is by_us else (other, one))
    for ours, theirs in pairs:
        for total in (ours, theirs):
            assert total.all.bytes == total.all.ios * 8 * KIB
            assert _share_of_reads(total) == pytest.approx(0.7, abs=5 * math.sqrt(0.21 / total.all.ios))
            assert _in_flight(total) <= 4 * 1.02
    _agree([_rate(theirs) / _rate(ours) for ours, theirs in pairs])
    _agree([_service_ns(theirs) / _service_ns(ours) for ours, theirs in pairs])


def _share_of_reads(total: Interval) -> float:
    return total.direction("reads").ios / total.all.ios


def _agree(ratios: list[float]) -> None:
    """The mean ratio is 1 within its 95 % interval, or as near as the slices of the limit allow."""
    assert len(ratios) == 6
    logs = [math.log(ratio) for ratio in ratios]
    half = _STUDENT_5 * statistics.stdev(logs) / math.sqrt(len(logs))
    assert abs(statistics.fmean(logs)) <= max(half, _SLICE_S), ratios


@pytest.mark.parametrize("process", Process)
def test_both_make_the_asked_rate_on_no_storage(tmp_path: Path, process: Process) -> None:
    calm(tmp_path, lambda _: _both_make_the_asked_rate(process))


def _both_make_the_asked_rate(process: Process) -> None:
    asked = workload(AccessSpec(4 * KIB, read_share=0.7), load=Open(500.0, process, 64))
    _, outcome = by_us(RunPlan(asked, (NoTarget("null", _SIZE),), 2 * NS_PER_S, seed=3))
    theirs = _by_fio_on_nothing(asked, 2)
    chance = 5 * math.sqrt(1000) if process is Process.POISSON else 30
    lost = 300 if process is Process.POISSON else 0  # what fio is late with, on a busy machine, it never makes up for
    for total, missing in ((outcome.total, 0), (theirs, lost)):
        assert 1000 - chance - missing <= total.all.ios <= 1000 + chance
        assert total.all.bytes == total.all.ios * 4 * KIB
        assert _share_of_reads(total) == pytest.approx(0.7, abs=5 * math.sqrt(0.21 / 1000))


def test_both_keep_the_queue_full_on_no_storage() -> None:
    asked = workload(AccessSpec(4 * KIB, 0.5), AccessSpec(64 * KIB, 0.5), load=Closed(8))
    _, outcome = by_us(RunPlan(asked, (NoTarget("nop", _SIZE),), NS_PER_S // 2, seed=3))
    theirs = _by_fio_on_nothing(asked, 0.5)
    for total in (outcome.total, theirs):
        assert total.all.bytes / total.all.ios == pytest.approx(34 * KIB, rel=0.02)
        assert _in_flight(total) <= 8 * 1.02


def _by_fio_on_nothing(asked: object, seconds: float) -> Interval:
    """fio's own engine `null`, with the job that our writer makes."""
    assert isinstance(asked, type(workload()))
    options = ("thread", f"filesize={_SIZE}")
    file = fio_file(Definition("x", (asked,)), FioRun(("nothing",), "null", runtime_s=seconds, options=options))
    done = subprocess.run(
        [find_fio().path, "--output-format=json+", "-"], input=file.text, text=True, capture_output=True, check=True
    )
    document = json.loads(done.stdout[done.stdout.index("{") :])
    return state_of(document, file.jobs).since(State(), 0)
