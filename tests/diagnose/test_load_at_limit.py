from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.rules.load_at_limit import RULE
from storscope.domain.finding import Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB, MIB
from tests.diagnose.days import MS, FloatArray, day, entity, record
from tests.model.queues import wandering
from tests.support.cases import findings, judge, make_case

CAPACITY = 4_000.0


def queue(utilisation: FloatArray, rng: np.random.Generator, service_ms: float = 4) -> FloatArray:
    """Latency of M/M/1, with the noise of an interval's mean."""
    return service_ms * MS / (1 - np.minimum(utilisation, 0.97)) * rng.gamma(60, 1 / 60, utilisation.shape)


def volumes(
    utilisation: FloatArray, seed: int = 0, kind: str = "vdisk", count: int = 4, service_ms: float = 4
) -> Callable[[Recorder], None]:
    """A writer of volumes that share one queue of known capacity."""

    def write(recorder: Recorder) -> None:
        rng = np.random.default_rng(seed)
        part = rng.dirichlet(np.full(count, 30.0), len(utilisation)).T
        latency = np.tile(queue(utilisation, rng, service_ms), (count, 1))
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
    [finding] = findings(RULE, make_case(tmp_path, volumes(use, service_ms=9)))
    assert finding.severity is Severity.WARNING
    assert "twice the" in finding.summary
    assert "extrapolated: the least" not in finding.summary
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


def test_a_load_that_hardly_varies_tells_nothing(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, day()))
    assert isinstance(outcome, NotEvaluated)
    assert "wider range of load" in outcome.needs


def test_flat_latency_over_a_wide_range_of_load_is_healthy(tmp_path: Path) -> None:
    use = walk(0.05, 0.6)

    def flat(recorder: Recorder) -> None:
        rng = np.random.default_rng(3)
        latency = 4 * MS * rng.gamma(60, 1 / 60, (2, len(use)))
        record(recorder, {"ops_per_s": np.tile(1_000 * use, (2, 1)), "latency_ns_mean": latency}, ["a", "b"])

    [healthy] = judge(RULE, make_case(tmp_path, flat))
    assert isinstance(healthy, Healthy)
    assert healthy.statement.startswith("No limit of both volumes of array together within 1,")


def test_good_latency_near_the_knee_is_about_headroom_and_information_at_most(tmp_path: Path) -> None:
    use = walk(0.3, 0.8)
    use[-400:] = 0.9
    case = make_case(tmp_path, volumes(use, kind="device", count=1, service_ms=0.15))
    [finding] = findings(RULE, case)
    assert finding.severity is Severity.INFO
    assert "latency still good" in finding.title
    assert "saturat" not in finding.title + finding.summary
    assert "headroom" in finding.summary
    assert "extrapolated: the least load seen" in finding.summary
    assert findings(RULE, make_case(tmp_path / "slow", volumes(use)))[0].severity is Severity.CRITICAL


def backup(recorder: Recorder) -> None:
    """Two devices: an hour a day 1,700 operations of 124 KiB at 40 ms, else 300 of 9 KiB at 3.4 ms."""
    rng = np.random.default_rng(4)
    on = (np.arange(2_160) // 30) % 24 == 2
    ops = np.where(on, rng.normal(850, 120, (2, 2_160)), rng.normal(150, 30, (2, 2_160)))
    latency = np.where(on, 40, 3.4) * MS * rng.gamma(200, 1 / 200, (2, 2_160))
    columns = {"ops_per_s": ops, "bytes_per_s": ops * np.where(on, 124, 9) * 1024, "latency_ns_mean": latency}
    record(recorder, columns, ["sda", "sdb"], kind="device", step_s=120)


def test_a_backup_that_is_switched_on_shows_no_knee(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, backup))
    assert isinstance(outcome, NotEvaluated)
    assert "both devices of array together" in outcome.needs
    assert "load between" in outcome.needs


def test_sizes_that_change_with_the_load_are_told(tmp_path: Path) -> None:
    use = walk(0.05, 0.6)
    use[900:1_300] = 0.93

    def mixed(recorder: Recorder) -> None:
        rng = np.random.default_rng(6)
        ops = CAPACITY * use[None, :]
        size = np.where(ops > CAPACITY / 2, 128, 8) * 1024
        columns = {"ops_per_s": ops, "bytes_per_s": ops * size, "latency_ns_mean": queue(use[None, :], rng)}
        record(recorder, columns, ["v0"])

    case = make_case(tmp_path, mixed)
    [finding] = findings(RULE, case)
    assert finding.severity is Severity.WARNING
    assert "128 KiB beyond it against 8" in finding.summary
    assert findings(RULE, case, size_factor=100)[0].severity is Severity.CRITICAL


def test_the_words_follow_the_factor(tmp_path: Path) -> None:
    use = walk(0.05, 0.8)
    use[-180:] = 0.75
    [finding] = findings(RULE, make_case(tmp_path, volumes(use)), knee_latency_factor=3)
    assert "latency is 3 times the" in finding.summary
    assert "twice" not in finding.summary


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
    case = make_case(tmp_path, volumes(use, service_ms=8))
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


def test_the_limits_are_those_of_the_subject_not_of_its_neighbour(tmp_path: Path) -> None:
    """A flash device ramped up to 4 ms is saturated, also beside a disk that does next to nothing."""

    def write(recorder: Recorder) -> None:
        rng = np.random.default_rng(0)
        load = 200 + 1750 * np.arange(360) / 360
        latency = 200 / (2000 - load) * MS * rng.gamma(200, 1 / 200, 360)
        slight, slow = rng.gamma(30, 8 / 30, 360), 6 * MS * rng.gamma(30, 1 / 30, 360)
        columns = {"ops_per_s": np.stack([slight, load]), "latency_ns_mean": np.stack([slow, latency])}
        record(recorder, columns, ["hda", "nvme0n1"], kind="device", on=None, step_s=10)

    [finding] = findings(RULE, make_case(tmp_path, write))
    assert finding.severity is Severity.CRITICAL
    assert "of its tier all the same" not in finding.summary


def test_a_knee_below_the_least_load_is_none(tmp_path: Path) -> None:
    """Latency at a steady load changed for another reason, as with a rebuild: load has little to do with it."""
    use = walk(0.55, 0.95)
    [outcome] = judge(RULE, make_case(tmp_path, volumes(use, count=1)))
    assert isinstance(outcome, NotEvaluated)
    assert "no load below" in outcome.needs


@pytest.mark.parametrize(("busy", "told"), [(0.09, False), (0.9, True)])
def test_an_idle_controller_has_no_knee(busy: float, told: bool, tmp_path: Path) -> None:
    use = walk(0.05, 0.6)
    use[-180:] = 0.47

    def controller(recorder: Recorder) -> None:
        rng = np.random.default_rng(8)
        columns = {
            "ops_per_s": CAPACITY * use[None, :], "latency_ns_mean": queue(use[None, :], rng),
            "cpu_busy_ratio": busy * use[None, :] / use.max(),
        }  # fmt: skip
        record(recorder, columns, ["A"], kind="controller", on=None)

    [outcome] = judge(RULE, make_case(tmp_path, controller))
    assert isinstance(outcome, NotEvaluated) is not told


def apart(utilisation: FloatArray, size_bytes: float = 8 * KIB) -> Callable[[Recorder], None]:
    """A writer of a volume whose few reads queue, beside many writes that a cache takes at once."""

    def write(recorder: Recorder) -> None:
        rng = np.random.default_rng(0)
        reads, writes = 0.05 * CAPACITY * utilisation, 0.95 * CAPACITY * utilisation
        reads_ns, writes_ns = queue(utilisation, rng, 12), queue(utilisation, rng, 0.4)
        columns = {
            "read_ops_per_s": reads, "read_latency_ns_mean": reads_ns, "read_bytes_per_s": reads * size_bytes,
            "write_ops_per_s": writes, "write_latency_ns_mean": writes_ns, "write_bytes_per_s": writes * size_bytes,
            "ops_per_s": reads + writes, "bytes_per_s": (reads + writes) * size_bytes,
            "latency_ns_mean": 0.05 * reads_ns + 0.95 * writes_ns,
        }  # fmt: skip
        record(recorder, {name: values[None] for name, values in columns.items()}, ["v00"])
        recorder.fact(entity("shared", "disk_group"), "media", "hdd")

    return write


def test_reads_that_wait_beyond_the_knee_are_harm_though_cached_writes_hide_it(tmp_path: Path) -> None:
    use = walk(0.05, 0.6)
    use[-180:] = 0.46
    [finding] = findings(RULE, make_case(tmp_path, apart(use)))
    assert finding.severity is Severity.WARNING
    assert "latency still good" not in finding.title
    assert "In the last bad window the load was" in finding.summary
    assert "ms (reads 25.9 ms and writes 919 µs), 110 % of the knee" in finding.summary


def test_reads_that_take_long_since_they_are_large_are_no_harm(tmp_path: Path) -> None:
    use = walk(0.05, 0.6)
    use[-180:] = 0.46
    [finding] = findings(RULE, make_case(tmp_path, apart(use, size_bytes=2 * MIB)))
    assert finding.severity is Severity.INFO


def test_a_volume_that_takes_no_time_beside_others_is_no_error(tmp_path: Path) -> None:
    """Sources of whole milliseconds say 0; it was a LinAlgError."""

    def write(recorder: Recorder) -> None:
        load = 100 + np.arange(50.0) * 7 % 13
        latency = np.vstack([MS * (1 + np.arange(50.0) / 10), np.zeros(50)])
        record(recorder, {"ops_per_s": np.vstack([load, load]), "latency_ns_mean": latency}, ["slow", "quick"])

    assert judge(RULE, make_case(tmp_path, write))
