"""Bad windows by reads and writes apart, and by limits that are wider for large I/O."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.directions import directions, size_bytes
from storscope.diagnose.judged_grids import judged_grids
from storscope.diagnose.peers import system_grids
from storscope.diagnose.tier_limits import tier_limits
from storscope.diagnose.windows import bad_windows
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB, MIB
from tests.diagnose.apart import HDD, SSD, apart, at, during, steady, written
from tests.diagnose.days import MS, FloatArray, day, entity, record
from tests.support.cases import make_case


def test_slow_reads_beside_many_cached_writes_are_a_bad_window(tmp_path: Path) -> None:
    """20 reads/s of 60 ms beside 480 writes/s of 0.3 ms have a mean of 2.7 ms, which is nothing on disk."""
    case = make_case(tmp_path, apart((steady(20), during(steady(4), 60)), (steady(480), steady(0.3))))
    assert bad_windows(case)["array"] == [(at(100), at(160))]


def test_slow_writes_beside_many_cached_reads_are_a_bad_window(tmp_path: Path) -> None:
    case = make_case(tmp_path, apart((steady(480), steady(0.3)), (steady(20), during(steady(4), 60))))
    assert bad_windows(case)["array"] == [(at(100), at(160))]


def test_where_reads_and_writes_are_not_told_apart_the_mean_is_judged(tmp_path: Path) -> None:
    mean_ms = during(steady(0.448), 2.688)
    case = make_case(tmp_path, written({"ops_per_s": steady(500), "latency_ns_mean": mean_ms * MS}, HDD))
    assert bad_windows(case)["array"] == []


def test_bytes_beside_a_rate_that_was_rounded_to_nothing_have_no_size(tmp_path: Path) -> None:
    """iostat prints one read of 4 KiB in five minutes as 0.00 r/s and 0.01 rkB/s."""
    reads, writes = during(steady(0), 10, first=0, last=1), steady(100)
    columns = {
        "read_ops_per_s": reads, "read_bytes_per_s": steady(10.24), "read_latency_ns_mean": steady(0.1) * MS,
        "write_ops_per_s": writes, "write_bytes_per_s": writes * 16 * KIB,
        "write_latency_ns_mean": during(steady(1), 90) * MS,
    }  # fmt: skip
    case = make_case(tmp_path, written(columns, HDD))
    limits = tier_limits(case, entity("v00"))
    (series,) = case.all_series.values()
    assert np.isnan(size_bytes(directions(series, 0)["reads"])[1:]).all()
    assert (limits.along(series, limits.critical_ns) == limits.critical_ns).all()
    assert bad_windows(case)["array"] == [(at(100), at(160))]


@pytest.mark.parametrize(("reads", "writes"), [(6, 600), (4, 60)])
def test_a_direction_that_is_next_to_nothing_makes_no_window(tmp_path: Path, reads: float, writes: float) -> None:
    """Less than 2 % of the operations, or than five a second."""
    case = make_case(tmp_path, apart((steady(reads), during(steady(4), 60)), (steady(writes), steady(0.3))))
    assert bad_windows(case)["array"] == []


def test_reads_of_one_entity_are_victims_beside_many_quick_reads(tmp_path: Path) -> None:
    """A sixth of the reads wait 28 ms in place of 4, all others 1: the mean of all reads is 5.5 ms."""
    quick = steady(1, volumes=6)
    quick[0] = 4
    case = make_case(
        tmp_path,
        apart((steady(50, volumes=6), during(quick, 28)), (steady(2_000, volumes=6), steady(0.3, volumes=6))),
    )
    assert bad_windows(case)["array"] == [(at(100), at(160))]


def test_reads_that_are_bad_for_a_moment_make_no_window(tmp_path: Path) -> None:
    spiky = during(steady(4), 60, first=100, last=101)
    case = make_case(tmp_path, apart((steady(20), spiky), (steady(480), steady(0.3))))
    assert bad_windows(case)["array"] == []


def _blocks(size_bytes: float, ms: float) -> Callable[[Recorder], None]:
    """Flash that does 8 KiB in 0.3 ms, and for 20 min blocks of another size in so many ms."""

    def change(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[:, 100:160] = ms * MS
        moved[:, 100:160] = ops[:, 100:160] * size_bytes

    def write(recorder: Recorder) -> None:
        day(change, latency_ms=0.3)(recorder)
        recorder.fact(entity("shared", "disk_group"), "media", SSD)

    return write


@pytest.mark.parametrize("ms", [3, 5, 8.5])
def test_large_blocks_on_idle_flash_are_no_bad_window(tmp_path: Path, ms: float) -> None:
    """1 MiB takes 8.4 ms at 125 MB/s: what takes as long is large, not slow."""
    assert bad_windows(make_case(tmp_path, _blocks(MIB, ms)))["array"] == []


def test_large_blocks_that_take_too_long_for_their_size_are_one(tmp_path: Path) -> None:
    assert bad_windows(make_case(tmp_path, _blocks(MIB, 12)))["array"] == [(at(100), at(160))]
    assert bad_windows(make_case(tmp_path / "small", _blocks(64 * KIB, 3)))["array"] == [(at(100), at(160))]


def test_small_reads_are_judged_by_their_own_size_beside_large_writes(tmp_path: Path) -> None:
    """100 reads/s of 8 KiB at 4 ms are too slow for flash; the mean of all, 257 KiB at 4 ms, is within its limit."""
    reads, writes = steady(100), steady(33)
    columns = {
        "read_ops_per_s": reads, "read_bytes_per_s": reads * 8 * KIB,
        "read_latency_ns_mean": during(steady(0.3), 4) * MS,
        "write_ops_per_s": writes, "write_bytes_per_s": writes * MIB, "write_latency_ns_mean": steady(4) * MS,
        "ops_per_s": reads + writes, "bytes_per_s": reads * 8 * KIB + writes * MIB,
        "latency_ns_mean": (reads * during(steady(0.3), 4) + writes * 4) / (reads + writes) * MS,
    }  # fmt: skip
    case = make_case(tmp_path, written(columns, SSD))
    assert bad_windows(case)["array"] == [(at(100), at(160))]
    whole, *directions = judged_grids(case, system_grids(case)["array"])
    assert [one.of for one in directions] == ["reads", "writes"]
    assert whole.critical_ns[120, 0] == pytest.approx((100 * 2 + 33 * (2 + MIB / 125e3)) / 133 * MS)
    assert directions[0].critical_ns[120, 0] == 2 * MS


def test_the_users_rate_of_large_blocks_moves_the_windows(tmp_path: Path) -> None:
    case = make_case(tmp_path, _blocks(MIB, 5))
    case.settings = {"latency-above-tier": {"large_io_bytes_per_s": 1e9}}
    assert bad_windows(case)["array"] == [(at(100), at(160))]


def test_in_longer_steps_the_limit_is_the_mean_of_those_of_its_operations(tmp_path: Path) -> None:
    """Of six intervals of 10 s in a minute, half do 1 MiB and half 8 KiB, as often."""

    def write(recorder: Recorder) -> None:
        fine, coarse = np.full((1, 120), 100.0), np.full((1, 20), 100.0)
        size = np.where(np.arange(120) % 2, 8 * KIB, MIB)[None]
        record(recorder, {"ops_per_s": fine, "bytes_per_s": fine * size, "latency_ns_mean": fine * MS / 100}, ["a"],
               step_s=10)  # fmt: skip
        record(recorder, {"ops_per_s": coarse, "latency_ns_mean": coarse * MS / 100}, ["b"], step_s=60)
        recorder.fact(entity("shared", "disk_group"), "media", SSD)

    case = make_case(tmp_path, write)
    grid = system_grids(case)["array"]
    whole = judged_grids(case, grid)[0]
    half_ns = (1 + MIB / 125e3 / 2) * MS
    assert whole.warning_ns[3].tolist() == pytest.approx([half_ns, MS])
    always = np.ones(len(grid.time_ns), dtype=bool)
    _, limit_ns = whole.mean_and_limit_ns(always, whole.warning_ns)
    assert limit_ns == pytest.approx((half_ns + MS) / 2)


def test_who_only_reads_has_a_part_in_the_reads_of_all(tmp_path: Path) -> None:
    """Some sources tell no latency of writes where there never was one."""

    def only_reads(recorder: Recorder) -> None:
        columns = {"ops_per_s": steady(50), "latency_ns_mean": during(steady(4), 60) * MS}
        columns |= {"read_ops_per_s": steady(50), "read_latency_ns_mean": columns["latency_ns_mean"]}
        record(recorder, columns | {"write_ops_per_s": steady(0)}, ["reader"])

    writer = apart((steady(1), steady(4)), (steady(2_000), steady(0.3)))
    case = make_case(tmp_path, only_reads, writer)
    _, *directions = judged_grids(case, system_grids(case)["array"])
    assert [one.of for one in directions] == ["reads", "writes"]
    assert directions[0].grid.total_latency_ns[120] == pytest.approx(60 * MS)
    assert bad_windows(case)["array"] == [(at(100), at(160))]


def test_the_limits_on_a_grid_are_those_of_each_entity(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        ops = np.full((2, 40), 50.0)
        size = np.array([np.full(40, 8 * KIB), np.where(np.arange(40) % 2, 8 * KIB, MIB)])
        latency = np.where(np.arange(40) % 10 == 3, np.nan, 2 * MS) + np.zeros((2, 40))
        record(recorder, {"ops_per_s": ops, "bytes_per_s": ops * size, "latency_ns_mean": latency}, ["small", "large"])

    case = make_case(tmp_path, write)
    [grid] = system_grids(case).values()
    whole = judged_grids(case, grid)[0]
    for column, (series, limits) in enumerate(zip(grid.series, whole.limits, strict=True)):
        plain_where_untimed = np.isfinite(series["latency_ns_mean"])
        expected = np.where(plain_where_untimed, limits.along(series, limits.critical_ns), limits.critical_ns)
        assert (whole.critical_ns[:, column] == expected).all()
    assert len(np.unique(whole.critical_ns)) == 2
