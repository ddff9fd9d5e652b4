"""The engine on no storage and on scratch files: what it yields is whole and agrees with itself."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storscope.bench.engine import DescriptorTarget, EngineRun, NoTarget, RunPlan, buffer_bytes
from storscope.bench.figures import MEASURES, Interval, Latencies, Outcome
from storscope.bench.target_set import ready_targets
from storscope.bench.targets import Ready, Wish, confined
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import ConfigError, UsageError
from storscope.domain.load import Closed, Open, Region
from storscope.domain.units import KIB, MIB, NS_PER_S
from storscope.domain.workload import Stream, Verification, Workload

_SIZE = 16 * MIB


def _workload(read_share: float = 1.0, *, outstanding: int = 4, verification: str = "none") -> Workload:
    mix = Mix((AccessSpec(4 * KIB, read_share=read_share),))
    return Workload("test", (Stream(mix, Closed(outstanding)),), verification=Verification(verification))


def _ran(plan: RunPlan) -> tuple[list[Interval], Outcome]:
    run = EngineRun(plan)
    return list(run.intervals()), run.outcome()


def _nothing(workload: Workload, kind: str = "null", **settings: int) -> RunPlan:
    wanted = {"duration_ns": NS_PER_S // 2, "seed": 1, "interval_ns": NS_PER_S // 10} | settings
    return RunPlan(workload, (NoTarget(kind, _SIZE),), **wanted)


@contextmanager
def _ready(path: Path, workload: Workload, size_bytes: int | None, *, direct: bool = True) -> Iterator[Ready]:
    wish = Wish(workload, size_bytes, permission=None, direct=direct, writes=False, told=lambda _: None)
    with ready_targets([str(path)], wish) as (ready,):
        yield ready


def test_the_intervals_add_up_to_the_total() -> None:
    intervals, outcome = _ran(_nothing(_workload(0.5)))
    assert [interval.index for interval in intervals] == list(range(5))
    assert sum(interval.all.ios for interval in intervals) == outcome.total.all.ios > 1000
    assert sum(interval.all.bytes for interval in intervals) == outcome.total.all.ios * 4 * KIB
    assert sum(interval.duration_ns for interval in intervals) == outcome.total.duration_ns


def test_every_io_is_timed_three_ways() -> None:
    _, outcome = _ran(_nothing(_workload(0.5)))
    for name in ("reads", "writes"):
        direction = outcome.total.direction(name)
        assert all(direction.of(measure).count == direction.ios > 0 for measure in MEASURES)


def test_each_io_in_flight_has_a_buffer() -> None:
    assert buffer_bytes(_workload(outstanding=3), 2) == 2 * 3 * 4 * KIB


def test_an_open_loop_arrives_at_its_rate() -> None:
    stream = Stream(Mix((AccessSpec(4 * KIB),)), Open(2000.0))
    _, outcome = _ran(_nothing(Workload("open", (stream,)), duration_ns=NS_PER_S))
    ending, asked = outcome.result["ending"], pytest.approx(2000.0, abs=5 * 2000**0.5)
    assert ending["submitted"] + ending["unsent"] == asked
    assert outcome.total.all.ios + ending["drained"] == ending["submitted"]
    # Where the machine pauses near the end, that less was in time is told.
    assert outcome.total.per_s(outcome.total.all.ios) == asked or outcome.doubts


def test_a_run_that_is_stopped_keeps_what_it_measured() -> None:
    run = EngineRun(_nothing(_workload(), duration_ns=60 * NS_PER_S))
    seen: list[Interval] = []
    for interval in run.intervals(lambda: len(seen) >= 1):
        seen.append(interval)  # noqa: PERF402  the condition looks at the list meanwhile
    outcome = run.outcome()
    assert outcome.stopped
    assert 0 < outcome.total.duration_ns < 10 * NS_PER_S
    assert outcome.total.all.ios > 0


def test_a_plan_that_cannot_be_run_is_a_configuration_error() -> None:
    stream = Stream(Mix((AccessSpec(4 * KIB),)), Closed(1), region=Region(0, 2 * _SIZE))
    with pytest.raises(ConfigError, match="region within the target"):
        EngineRun(_nothing(Workload("too large", (stream,))))


def test_latencies_merge_and_give_the_quantile_of_the_bucket() -> None:
    parts = [
        {"count": 3, "mean_ns": 10.0, "max_ns": 12, "bucket_low_ns": [9, 12], "bucket_high_ns": [9, 12],
         "bucket_count": [2, 1]},
        {"count": 1, "mean_ns": 1000.0, "max_ns": 1000, "bucket_low_ns": [1000], "bucket_high_ns": [1003],
         "bucket_count": [1]},
        {"count": 0, "mean_ns": None, "max_ns": None, "bucket_low_ns": [], "bucket_high_ns": [], "bucket_count": []},
    ]  # fmt: skip
    merged = Latencies.merged(parts)
    assert (merged.count, merged.mean_ns) == (4, (30.0 + 1000.0) / 4)
    assert [merged.quantile_ns(share) for share in (0.0, 0.5, 0.75, 1.0)] == [9, 9, 12, 1000]
    assert merged.buckets() == [(8, 9, 2), (11, 12, 1), (999, 1003, 1)]
    assert Latencies.merged([]).quantile_ns(0.5) is None


def test_reads_of_a_scratch_file_obey_littles_law_and_leave_nothing_behind(data: Path) -> None:
    with _ready(data, _workload(), _SIZE) as ready:
        flags = fcntl.fcntl(ready.descriptor, fcntl.F_GETFL)
        assert flags & os.O_ACCMODE == os.O_RDONLY
        plan = RunPlan(_workload(), (DescriptorTarget(ready.descriptor),), NS_PER_S, seed=1)
        _, outcome = _ran(plan)
    assert not list(data.iterdir())
    total, drain = outcome.total, Interval(outcome.result["drain"])
    # What is in flight at the end counts as well: where the machine pauses just then, it is much.
    in_flight_ns = sum((part.outstanding_mean or 0.0) * part.duration_ns for part in (total, drain))
    assert total.all.service.sum_ns + drain.all.service.sum_ns == pytest.approx(in_flight_ns, rel=0.05)
    assert total.all.ios > 0
    assert total.outstanding_mean is not None
    assert total.outstanding_mean <= 4.01
    found = {doubt["kind"] for doubt in outcome.result["doubts"]}
    assert found <= {"places_empty", "tail_late"}, "what a busy machine does to a closed loop"
    assert outcome.is_valid or found


def test_a_scratch_file_carries_the_stamps_that_a_verification_reads(data: Path) -> None:
    workload = _workload(0.7, verification="stamps")
    with _ready(data, workload, _SIZE) as ready:
        _, outcome = _ran(RunPlan(workload, (DescriptorTarget(ready.descriptor),), NS_PER_S // 2, seed=1))
        assert outcome.error is None
        Path(ready.name).write_bytes(b"\0" * _SIZE)
        reading = _workload(1.0, verification="stamps")
        _, outcome = _ran(RunPlan(reading, (DescriptorTarget(ready.descriptor),), NS_PER_S // 2, seed=1))
    assert outcome.error is not None
    assert outcome.error[0] == "mismatch"
    assert not outcome.is_valid


def test_a_file_with_holes_is_read_with_a_doubt(data: Path) -> None:
    path = data / "sparse"
    with path.open("xb") as file:
        file.truncate(_SIZE)
    with _ready(path, _workload(), None) as ready:
        assert any("holes" in doubt for doubt in ready.doubts)
    assert path.stat().st_size == _SIZE


def test_only_the_part_of_a_file_that_was_asked_for_is_used(data: Path) -> None:
    path = data / "file"
    path.write_bytes(os.urandom(_SIZE))
    with _ready(path, _workload(), MIB, direct=False) as ready:
        assert confined(_workload(), ready.confined_bytes).streams[0].region == Region(0, MIB)
        assert any("page cache" in doubt for doubt in ready.doubts)


def test_a_scratch_file_has_whole_mebibytes(data: Path) -> None:
    with pytest.raises(UsageError, match="whole MiB"), _ready(data, _workload(), MIB + 1):
        pass
    assert not list(data.iterdir())
