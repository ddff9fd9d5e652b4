from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from storscope.diagnose.peers import clusters, grid_of, make_grid, peers, system_grids
from storscope.diagnose.rules import heavy_hitter, latency_above_tier
from storscope.diagnose.tier_limits import tier_limits
from storscope.diagnose.windows import bad_windows, rhythm_of_windows
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from tests.diagnose.days import MS, START_NS, FloatArray, day, entity, record
from tests.support.cases import findings, make_case


def at(interval: int, step_s: int = 20) -> int:
    return START_NS + interval * step_s * NS_PER_S


def _slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
    latency[:, 100:160] *= 10


def test_a_stretch_of_bad_latency_is_one_window(tmp_path: Path) -> None:
    assert bad_windows(make_case(tmp_path, day(_slow))) == {"array": [(at(100), at(160))]}


def _hog(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
    """v00 does 3,000 operations a second at 8 ms; two others with 150 wait 30 ms instead of 4."""
    ops[0, 100:160] = 3_000
    latency[0, 100:160] = 8 * MS
    latency[1:3, 100:160] = 30 * MS


def test_victims_beside_many_quick_operations_make_a_window(tmp_path: Path) -> None:
    assert bad_windows(make_case(tmp_path, day(_hog, volumes=3)))["array"] == [(at(100), at(160))]


def test_two_of_twenty_make_a_window_and_one_of_twenty_does_not(tmp_path: Path) -> None:
    def slow(count: int) -> Callable[[np.random.Generator, FloatArray, FloatArray, FloatArray], None]:
        def change(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
            latency[:count, 100:160] = 30 * MS

        return change

    assert bad_windows(make_case(tmp_path / "two", day(slow(2), volumes=20)))["array"] == [(at(100), at(160))]
    assert bad_windows(make_case(tmp_path / "one", day(slow(1), volumes=20)))["array"] == []


def test_a_volume_that_is_always_slow_is_no_window(tmp_path: Path) -> None:
    def archive(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[0] *= 9

    assert bad_windows(make_case(tmp_path, day(archive)))["array"] == []


def test_a_good_day_has_none_and_says_so(tmp_path: Path) -> None:
    assert bad_windows(make_case(tmp_path, day())) == {"array": []}


def test_an_idle_night_is_not_bad_though_its_few_operations_are_slow(tmp_path: Path) -> None:
    def idle(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[:, 100:160] = 0.1
        latency[:, 100:160] = 200 * MS

    assert bad_windows(make_case(tmp_path, day(idle)))["array"] == []


def test_a_single_spike_is_no_window_and_a_short_gap_no_end(tmp_path: Path) -> None:
    def spiky(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[:, 30] = 300 * MS
        latency[:, [200, 201, 202, 205, 206, 207]] = 100 * MS

    assert bad_windows(make_case(tmp_path, day(spiky)))["array"] == [(at(200), at(208))]


def test_flash_is_bad_where_disk_would_be_good(tmp_path: Path) -> None:
    def flash(recorder: Recorder) -> None:
        day(lambda rng, ops, moved, latency: latency[:, 50:90].fill(3 * MS), latency_ms=0.9)(recorder)
        recorder.fact(entity("shared", "disk_group"), "media", "ssd")

    def disk(recorder: Recorder) -> None:
        day(lambda rng, ops, moved, latency: latency[:, 50:90].fill(3 * MS), latency_ms=2)(recorder)
        recorder.fact(entity("shared", "disk_group"), "media", "hdd")

    assert bad_windows(make_case(tmp_path / "flash", flash))["array"] == [(at(50), at(90))]
    assert bad_windows(make_case(tmp_path / "disk", disk))["array"] == []


def test_the_users_thresholds_move_the_windows(tmp_path: Path) -> None:
    case = make_case(tmp_path, day(latency_ms=20))
    assert bad_windows(case)["array"] == []
    case.memo.clear()
    case.settings = {"latency-above-tier": {"latency_ns_critical_disk": 10 * MS}}
    assert bad_windows(case)["array"] == [(at(0), at(720))]
    assert tier_limits(case, entity("v00")).critical_ns == 10 * MS


def test_sources_with_different_steps_meet_on_one_grid(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        fine, coarse = np.arange(120.0)[None], np.arange(20.0)[None]
        record(recorder, {"ops_per_s": fine, "latency_ns_mean": fine * MS}, ["a"], step_s=10)
        record(recorder, {"ops_per_s": coarse, "latency_ns_mean": coarse * MS}, ["b"], step_s=60)

    grid = grid_of(make_case(tmp_path, write), "array", "vdisk")
    assert grid is not None
    assert grid.step_ns == 60 * NS_PER_S
    assert grid.ops[:, 0].tolist() == [2.5 + 6 * i for i in range(20)]
    assert grid.ops[:, 1].tolist() == list(range(20))
    assert grid.latency_ns[0, 0] == sum(i * i for i in range(6)) / 15 * MS  # weighted by operations


def test_a_whole_never_competes_with_its_parts(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        ops = np.tile(np.array([[100.0], [60.0], [35.0], [80.0], [1.0]]), (1, 40))
        names = ["sda", "dm-0", "dm-1", "sdb", "dm-2"]
        record(recorder, {"ops_per_s": ops, "latency_ns_mean": ops * MS}, names, kind="device", on=None)
        for part, whole in (("dm-0", "sda"), ("dm-1", "sda"), ("dm-2", "sdb")):
            recorder.link(entity(part, "device"), "lives_on", entity(whole, "device"))

    case = make_case(tmp_path, write)
    assert [one.entity.name for one in peers(case, "array", "device")] == ["dm-0", "dm-1", "sdb"]


def test_parts_and_wholes_of_several_kinds_form_one_cluster(tmp_path: Path) -> None:
    disk, machine, store, other = (
        entity("d1", "vm_disk"), entity("vm1", "vm"), entity("ds", "datastore"), entity("vm2", "vm"))  # fmt: skip

    def write(recorder: Recorder) -> None:
        recorder.link(disk, "member_of", machine)
        recorder.link(disk, "lives_on", store)
        recorder.entity(other)

    case = make_case(tmp_path, write)
    assert clusters(case, dict.fromkeys([store, disk, other, machine])) == [[machine, disk, store], [other]]


def test_an_array_stands_by_its_volumes_not_its_disks(tmp_path: Path) -> None:
    case = make_case(tmp_path, day(), day(kind="disk", seed=1))
    assert system_grids(case)["array"].kind == "vdisk"
    assert make_grid([]) is None


def test_no_window_reaches_over_time_that_was_not_measured(tmp_path: Path) -> None:
    """The last five minutes of one evening and the first five of the next are two windows."""

    def late(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[:, -15:] *= 10

    def early(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[:, :15] *= 10

    next_day_ns = START_NS + 24 * 3600 * NS_PER_S
    case = make_case(tmp_path, day(late, count=180), day(early, count=180, start_ns=next_day_ns))
    assert bad_windows(case)["array"] == [(at(165), at(180)), (next_day_ns, next_day_ns + 15 * 20 * NS_PER_S)]


def test_a_lost_sample_ends_no_window(tmp_path: Path) -> None:
    def still_slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[:, :29] *= 10

    case = make_case(tmp_path, day(_slow, count=130), day(still_slow, count=90, start_ns=at(131)))
    assert bad_windows(case)["array"] == [(at(100), at(160))]


def test_what_linux_calls_nvme_is_flash_and_a_fact_says_more(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        steady = np.full((5, 40), 100.0)
        names = ["nvme0n1", "nvme1c2n3", "dm-0", "nvmeof-lun", "nvme9n1"]
        columns = {"ops_per_s": steady, "write_latency_ns_mean": steady * MS / 10, "latency_ns_mean": steady * MS / 10}
        record(recorder, columns, names, kind="device", on=None)
        recorder.link(entity("dm-0", "device"), "lives_on", entity("nvme0n1", "device"))
        recorder.fact(entity("nvme9n1", "device"), "rotational", "1")

    case = make_case(tmp_path, write)
    tiers = {name: case.tier(entity(name, "device")) for name in ("nvme0n1", "nvme1c2n3", "dm-0")}
    assert {(tier.name, tier.known_from, tier.is_assumed) for tier in tiers.values()} == {("flash", "its name", True)}
    assert case.tier(entity("nvmeof-lun", "device")).known_from == "assumed"
    assert case.tier(entity("nvme9n1", "device")).name == "disk"


def test_where_most_of_the_time_is_slow_the_slow_time_is_the_window(tmp_path: Path) -> None:
    def mostly(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[:, 120:] *= 18

    assert bad_windows(make_case(tmp_path, day(mostly, latency_ms=1)))["array"] == [(at(120), at(720))]


def test_few_operations_with_as_many_in_flight_as_usual_are_a_bad_window(tmp_path: Path) -> None:
    """A device that stalls completes less than 2 % of the usual; that is not the idleness that makes nobody wait."""

    def stall(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[:, 100:160] *= 0.01
        latency[:, 100:160] *= 1_000

    assert bad_windows(make_case(tmp_path, day(stall)))["array"] == [(at(100), at(160))]


def _bursts(starts: list[int]) -> Callable[[np.random.Generator, FloatArray, FloatArray, FloatArray], None]:
    """Four intervals from each of these on in which v01 brings 40 times its load, and everybody waits."""

    def change(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for start in starts:
            ops[1, start : start + 4] *= 40
            latency[:, start : start + 4] = 60 * MS

    return change


def test_windows_that_come_back_by_the_clock_are_told_so(tmp_path: Path) -> None:
    """A checkpoint every 5 minutes was "24 bad windows", and nothing said that they came every 5 minutes."""
    case = make_case(tmp_path, day(_bursts(list(range(10, 700, 15)))))
    found = rhythm_of_windows(case, "array")
    assert found is not None
    assert found.period_ns == 15 * 20 * NS_PER_S
    for rule in (heavy_hitter.RULE, latency_above_tier.RULE):
        [finding] = findings(rule, case)
        assert "The bad windows of array come every 5 min (46 of them)" in finding.summary


def test_windows_at_any_time_have_no_rhythm(tmp_path: Path) -> None:
    case = make_case(tmp_path, day(_bursts([10, 40, 51, 120, 133, 210, 290, 301, 400, 480, 495, 600])))
    assert rhythm_of_windows(case, "array") is None
    [finding] = findings(heavy_hitter.RULE, case)
    assert "come every" not in finding.summary
