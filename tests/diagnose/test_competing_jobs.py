"""Jobs are kept apart from running systems, unless they ran beside each other on the same storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.peers import grid_of
from storscope.diagnose.rules.noisy_neighbour import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.report.reading import Judged, read_evidence
from storscope.store.competing import competing_captures, running_condition
from tests.support.cases import findings, judge, make_case, make_store

_HOST = "lab"
_START_NS = 1_800_000_000 * NS_PER_S
_HALF_NS = NS_PER_S // 2


def _job(
    name: str, run: str, latencies_ms: Sequence[float], *, start_s: float = 0.0, ops: float = 200.0, device: str = "sda"
) -> Callable[[Recorder], None]:
    """A run with an interval each half second, on a file system on a device."""

    def write(recorder: Recorder) -> None:
        job, files = EntityRef(_HOST, "job", name), EntityRef(_HOST, "filesystem", f"/mnt/{name}")
        recorder.link(job, "lives_on", files)
        recorder.link(files, "lives_on", EntityRef(_HOST, "device", device))
        for number, latency_ms in enumerate(latencies_ms):
            when = _START_NS + round(start_s * NS_PER_S) + number * _HALF_NS
            values = {"ops_per_s": ops, "bytes_per_s": ops * 4096, "latency_ns_mean": latency_ms * NS_PER_MS}
            recorder.observe(job, when, _HALF_NS, values, run=run)
        recorder.run(
            run, engine="test", name=name, system=_HOST, time_ns=_START_NS, duration_ns=len(latencies_ms) * _HALF_NS
        )

    return write


def _incident(device_of_hog: str = "sda") -> list[Callable[[Recorder], None]]:
    """A victim for 30 s that waits twelve times as long from 8 to 13 s and from 20 to 25 s, when the hog runs."""
    rng = np.random.default_rng(3)
    quiet = rng.gamma(100, 0.005, 60)
    loud = np.array([16 <= step < 26 or 40 <= step < 50 for step in range(60)])
    victim = _job("victim", "v", list(np.where(loud, 12 * quiet, quiet)))
    bursts = [
        _job("hog", run, list(rng.gamma(100, 0.06, 10)), start_s=start, ops=3000.0, device=device_of_hog)
        for run, start in (("h1", 8.0), ("h2", 20.0))
    ]
    return [victim, *bursts]


def test_a_job_that_slows_down_another_is_named(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, *_incident()))
    assert finding.severity > Severity.INFO
    assert [entity.name for entity in finding.entities[:2]] == ["hog", "victim"]
    assert "device sda" in finding.summary
    assert finding.numbers["episodes"] == 2
    rows = {row[0]: row for row in finding.evidence[0].rows}
    assert set(rows) == {"hog", "victim"}, "the query beside the finding gives its rows again"
    quiet, loud = rows["victim"][1:3]
    assert quiet == pytest.approx(0.5e6, rel=0.1), "while the hog does not run it is quiet"
    assert loud == pytest.approx(12 * quiet, rel=0.1)


def test_between_its_runs_a_job_brings_no_load(tmp_path: Path) -> None:
    grid = grid_of(make_case(tmp_path, *_incident()), _HOST, "job")
    assert grid is not None
    hog = [entity.name for entity in grid.entities].index("hog")
    assert grid.ops[:16, hog].max() == 0.0
    assert grid.ops[17:25, hog].min() == pytest.approx(3000.0)
    assert grid.ops[27:39, hog].max() == 0.0
    assert np.isnan(grid.latency_ns[:16, hog]).all()


def test_jobs_on_different_devices_do_not_compete(tmp_path: Path) -> None:
    case = make_case(tmp_path, *_incident(device_of_hog="sdb"))
    assert competing_captures(case.store) == []
    assert case.running == "run IS NULL"
    assert not findings(RULE, case)
    assert not case.all_series


def test_a_job_alone_is_a_benchmark(tmp_path: Path) -> None:
    case = make_case(tmp_path, _job("one", "a", [1.0] * 60), _job("two", "b", [1.0] * 60, start_s=40.0))
    assert not case.all_series
    assert read_evidence(Judged(case.store)).tracks == []


def test_runs_of_one_job_do_not_compete_with_each_other(tmp_path: Path) -> None:
    store = make_store(tmp_path, _job("one", "a", [1.0] * 20), _job("one", "b", [1.0] * 20))
    assert competing_captures(store) == []


def test_a_job_of_which_only_the_sum_is_known_stays_apart(tmp_path: Path) -> None:
    store = make_store(tmp_path, _job("one", "a", [1.0]), _job("two", "b", [1.0] * 20))
    assert competing_captures(store) == []


def test_competing_jobs_are_drawn_and_others_are_not(tmp_path: Path) -> None:
    alone = _job("alone", "x", [1.0] * 60, start_s=500.0)
    case = make_case(tmp_path, *_incident(), alone)
    drawn = {track.entity.name for track in read_evidence(Judged(case.store)).tracks}
    assert drawn == {"hog", "victim"}
    assert running_condition(case.store).count("'") == 2 * 3 + 2
    assert judge(RULE, case)


def test_steps_that_follow_each_other_do_not_compete_though_stamps_were_rounded(tmp_path: Path) -> None:
    """A sweep goes through its specifications once for each depth: their jobs last from its begin to its end."""
    step_s, rounded_s = 10.0, 0.007
    steps = [
        _job(name, f"{name}{depth}", [1.0] * 20, start_s=(2 * depth + place) * (step_s - rounded_s))
        for depth in range(4)
        for place, name in enumerate(("read", "write"))
    ]
    store = make_store(tmp_path, *steps)
    assert competing_captures(store) == []


@pytest.mark.parametrize(("start_s", "compete"), [(29.0, False), (28.5, False), (26.0, True), (15.0, True)])
def test_runs_must_have_been_at_work_together(start_s: float, compete: bool, tmp_path: Path) -> None:
    store = make_store(tmp_path, _job("one", "a", [1.0] * 60), _job("two", "b", [1.0] * 60, start_s=start_s))
    assert bool(competing_captures(store)) is compete


def test_what_one_worker_did_is_never_its_own_rival(tmp_path: Path) -> None:
    worker = EntityRef(_HOST, "process", "Worker 1")

    def both(workers: Sequence[EntityRef]) -> Callable[[Recorder], None]:
        def write(recorder: Recorder) -> None:
            for place, (name, run) in enumerate((("read", "a"), ("write", "b"))):
                _job(name, run, [1.0] * 20)(recorder)
                recorder.observe(workers[place], _START_NS, 20 * _HALF_NS, {"ops_per_s": 200.0}, run=run)

        return write

    assert competing_captures(make_store(tmp_path / "one", both([worker, worker]))) == []
    other = EntityRef(_HOST, "process", "Worker 2")
    assert competing_captures(make_store(tmp_path / "two", both([worker, other])))
