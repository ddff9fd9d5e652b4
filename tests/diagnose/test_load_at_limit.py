from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.rules.load_at_limit import RULE
from storscope.domain.finding import Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.days import MS, FloatArray, day, entity, record
from tests.model.queues import wandering
from tests.support.cases import findings, judge, make_case

CAPACITY = 4_000.0


def queue(utilisation: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Latency of M/M/1 at 4 ms of service, with the noise of an interval's mean."""
    return 4 * MS / (1 - np.minimum(utilisation, 0.97)) * rng.gamma(60, 1 / 60, utilisation.shape)


def volumes(utilisation: FloatArray, seed: int = 0, kind: str = "vdisk", count: int = 4) -> Callable[[Recorder], None]:
    """A writer of volumes that share one queue of known capacity."""

    def write(recorder: Recorder) -> None:
        rng = np.random.default_rng(seed)
        part = rng.dirichlet(np.full(count, 30.0), len(utilisation)).T
        latency = np.tile(queue(utilisation, rng), (count, 1))
        columns = {"ops_per_s": CAPACITY * utilisation * part, "latency_ns_mean": latency}
        record(recorder, columns, [f"v{number:02}" for number in range(count)], kind=kind)

    return write


def walk(low: float, high: float, seed: int = 1, count: int = 1_440) -> FloatArray:
    return wandering(np.random.default_rng(seed), count, low, high)


def test_with_room_to_spare_it_says_how_much(tmp_path: Path) -> None:
    use = walk(0.05, 0.45)
    use[-180:] = 0.2
    [healthy] = judge(RULE, make_case(tmp_path, volumes(use)))
    assert isinstance(healthy, Healthy)
    assert "all 4 volumes of array together" in healthy.statement
    free = int(healthy.statement.split("leave ")[1].split(" %")[0])
    assert free == pytest.approx(60, abs=5)
    assert "interval" in healthy.statement


def test_near_the_knee_is_a_warning_with_the_known_knee(tmp_path: Path) -> None:
    use = walk(0.05, 0.6)
    use[-180:] = 0.46
    [finding] = findings(RULE, make_case(tmp_path, volumes(use)))
    assert finding.severity is Severity.WARNING
    assert finding.numbers["knee_ops_per_s"] == pytest.approx(CAPACITY / 2, rel=0.1)
    assert finding.numbers["knee_low_ops_per_s"] < CAPACITY / 2 < finding.numbers["knee_high_ops_per_s"]
    assert finding.numbers["capacity_low_ops_per_s"] < CAPACITY < finding.numbers["capacity_high_ops_per_s"]
    assert finding.numbers["utilisation_ratio"] == pytest.approx(0.92, abs=0.08)


def test_a_plateau_beyond_the_knee_is_saturation_and_critical(tmp_path: Path) -> None:
    use = walk(0.05, 0.6)
    use[900:1_300] = 0.93
    [finding] = findings(RULE, make_case(tmp_path, volumes(use)))
    assert finding.severity is Severity.CRITICAL
    assert "saturated" in finding.title
    assert "plateau" in finding.summary


def test_short_bursts_are_told_apart_from_saturation(tmp_path: Path) -> None:
    use = walk(0.05, 0.35)
    for start in range(50, 1_250, 60):
        use[start : start + 3] = 0.85
    use[-180:] = 0.2
    [finding] = findings(RULE, make_case(tmp_path, volumes(use)))
    assert "bursts" in finding.title
    assert finding.severity < Severity.CRITICAL
    assert "saturation" not in finding.summary


def test_a_load_that_stays_flat_shows_no_knee(tmp_path: Path) -> None:
    [healthy] = judge(RULE, make_case(tmp_path, day()))
    assert isinstance(healthy, Healthy)
    assert "No knee seen" in healthy.statement


def test_the_innocent_rise_that_a_neighbour_makes_is_no_limit(tmp_path: Path) -> None:
    def other(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for start in range(0, 720, 90):
            latency[:, start : start + 30] *= 8

    assert findings(RULE, make_case(tmp_path, day(other))) == []


def test_a_device_alone_has_its_own_knee(tmp_path: Path) -> None:
    use = walk(0.05, 0.6)
    use[-180:] = 0.47
    [finding] = findings(RULE, make_case(tmp_path, volumes(use, kind="device", count=1)))
    assert finding.entities == [entity("v00", "device")]


def test_volumes_of_one_group_are_added_up_when_others_hide_it(tmp_path: Path) -> None:
    use = walk(0.05, 0.6)
    use[-180:] = 0.47

    def two_groups(recorder: Recorder) -> None:
        volumes(use)(recorder)
        rng = np.random.default_rng(5)
        idle = {"ops_per_s": rng.gamma(5, 2000, (3, 1_440)), "latency_ns_mean": rng.gamma(50, 0.06 * MS, (3, 1_440))}
        record(recorder, idle, ["w0", "w1", "w2"], on=None)
        for name in ("w0", "w1", "w2"):
            recorder.link(entity(name), "lives_on", entity("fast", "disk_group"))

    [finding] = findings(RULE, make_case(tmp_path, two_groups))
    assert finding.entities[0] == entity("shared", "disk_group")
    assert finding.numbers["knee_ops_per_s"] == pytest.approx(CAPACITY / 2, rel=0.1)


def test_thresholds_take_effect(tmp_path: Path) -> None:
    use = walk(0.05, 0.6)
    use[-180:] = 0.3
    case = make_case(tmp_path, volumes(use))
    assert all(one.severity < Severity.WARNING for one in findings(RULE, case, beyond_share=1.0))
    assert findings(RULE, case, utilisation_ratio=0.4)[0].severity is Severity.WARNING


def test_a_short_capture_is_not_judged(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, day(count=20)))
    assert isinstance(outcome, NotEvaluated)


def test_devices_without_a_common_queue_are_judged_one_by_one(tmp_path: Path) -> None:
    busy = walk(0.05, 0.6, seed=2)
    busy[900:1_300] = 0.93
    calm = [walk(0.05, 0.3, seed=number) for number in (3, 4, 5)]

    def write(recorder: Recorder) -> None:
        rng = np.random.default_rng(7)
        use = np.stack([busy, *calm])
        columns = {"ops_per_s": CAPACITY * use, "latency_ns_mean": queue(use, rng)}
        record(recorder, columns, ["busy", "calm1", "calm2", "calm3"], kind="device")

    [finding] = findings(RULE, make_case(tmp_path, write))
    assert finding.title.startswith("Device busy")
    assert finding.numbers["knee_ops_per_s"] == pytest.approx(CAPACITY / 2, rel=0.1)
