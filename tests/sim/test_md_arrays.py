"""Eight drives under md, as the example designs say them: laws, and a second model that shares nothing with the first.

What was measured of single drives, and of four mirrored ones, is held by `drive_measured.rs` and `array_measured.rs` in
`crates/storscope-sim/tests`.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import pytest

from storscope.cli.commands.demo import examples_folder
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from tests.sim.independent_array import random_requests

_DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
_DURATION = "2m"
_SIZE_GIB = {"raid10": 3_725, "raid5": 6_519}
# Half a turn, the overhead, and the least seek of the drive: what is left of a read however short the stroke is.
_LEAST_READ_S = 60 / 7_200 / 2 + 0.3e-3 + 0.8e-3

_ONE_DRIVE = """
name = "one drive"
[[group]]
name = "g"
drive = "samsung-f1-1tb"
count = 1
layout = "raid0"
[[volume]]
name = "v"
group = "g"
size = "931 GiB"
[[host]]
name = "h"
volumes = [{ volume = "v" }]
"""


def _text(layout: str, share: float) -> str:
    text = (examples_folder() / "designs" / f"md-8x7200-{layout}.toml").read_text()
    size = f'size = "{_SIZE_GIB[layout]} GiB"'
    assert size in text
    return text.replace(size, f'size = "{round(_SIZE_GIB[layout] * share)} GiB"')


@cache
def _iops(layout: str, *, writes: bool, outstanding: int, share: float = 1.0) -> float:
    """Without the first third, in which the drives' caches fill."""
    line = AccessSpec(4096, read_share=0.0 if writes else 1.0)
    workload = Workload("random", (Stream(Mix((line,)), Closed(outstanding)),))
    text = _ONE_DRIVE if layout == "one drive" else _text(layout, share)
    run = simulate(plan_of(read_design(text, layout), workload, duration=_DURATION), started_ns=0)
    kept = run.intervals[len(run.intervals) // 3 :]
    done = sum(interval.direction("reads", "writes").ios for interval in kept)
    return done * NS_PER_S / sum(interval.duration_ns for interval in kept)


def _one_drive(*, writes: bool, outstanding: int = 1) -> float:
    return _iops("one drive", writes=writes, outstanding=outstanding)


@pytest.mark.parametrize(
    ("layout", "writes", "outstanding", "share"),
    [
        ("raid10", False, 4, 1.0),
        ("raid10", False, 16, 1.0),
        ("raid10", False, 64, 0.25),
        ("raid10", True, 8, 1.0),
        ("raid10", True, 8, 0.1),
        ("raid5", False, 4, 0.1),
        ("raid5", False, 64, 1.0),
        ("raid5", True, 1, 1.0),
        ("raid5", True, 8, 1.0),
        ("raid5", True, 64, 0.25),
    ],
)
def test_a_second_model_finds_the_same(layout: str, writes: bool, outstanding: int, share: float) -> None:
    found = _iops(layout, writes=writes, outstanding=outstanding, share=share)
    second = random_requests(layout, writes=writes, outstanding=outstanding, share=share).iops
    assert found == pytest.approx(second, rel=0.05)


def test_one_read_at_a_time_is_as_fast_on_any_array_as_on_one_drive() -> None:
    alone = _one_drive(writes=False)
    for layout in _SIZE_GIB:
        assert _iops(layout, writes=False, outstanding=1) == pytest.approx(alone, rel=0.01)


def test_a_second_read_finds_an_idle_mirror_but_not_always_an_idle_drive_of_raid_5() -> None:
    alone = _one_drive(writes=False)
    assert _iops("raid10", writes=False, outstanding=2) == pytest.approx(2 * alone, rel=0.01)
    # Two customers and eight stations of exponential times: 16/9 (mean value analysis). Times that vary less do better.
    assert 16 / 9 * 1.02 < _iops("raid5", writes=False, outstanding=2) / alone < 2 * 0.98


@pytest.mark.parametrize("outstanding", _DEPTHS)
def test_reads_are_between_what_chance_and_what_even_queues_give(outstanding: int) -> None:
    alone = _one_drive(writes=False)
    by_chance = outstanding * 8 / (outstanding + 7) * alone  # exponential times, nothing sorted
    raid5 = _iops("raid5", writes=False, outstanding=outstanding)
    evenly = min(outstanding, 8) * _one_drive(writes=False, outstanding=max(1, round(outstanding / 8)))
    assert 0.99 * by_chance < raid5 < 1.03 * evenly
    assert _iops("raid10", writes=False, outstanding=outstanding) > 0.99 * raid5


def test_mirrored_writes_are_those_of_half_the_drives_at_any_depth() -> None:
    alone = _one_drive(writes=True)
    for outstanding in (1, 8, 128):
        assert 0.93 < _iops("raid10", writes=True, outstanding=outstanding) / (4 * alone) < 1.01


def test_a_small_write_of_raid_5_takes_two_reads_at_once_and_then_what_the_drives_caches_let_in() -> None:
    """Of two normal times the longer is 1/√π of the deviation above the mean. Writing back is in the way at times."""
    deviation_s = 3.8e-3  # of the drive's read: a turn's 2.4 and the seek's 3.0 ms
    slower_s = 1 / _one_drive(writes=False) + deviation_s / math.sqrt(math.pi)
    took_s = 1 / _iops("raid5", writes=True, outstanding=1)
    assert slower_s < took_s < slower_s + 60 / 7_200 / 2


def test_small_writes_of_raid_5_use_two_reads_and_two_writes_of_eight_drives() -> None:
    """From where the arms are busy until the drives have more than four reads to choose from."""
    limit = 8 / (2 / _one_drive(writes=False) + 2 / _one_drive(writes=True))
    for outstanding in (8, 16):
        assert _iops("raid5", writes=True, outstanding=outstanding) == pytest.approx(limit, rel=0.06)


@pytest.mark.parametrize("layout", _SIZE_GIB)
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.1])
def test_more_outstanding_is_never_slower(layout: str, writes: bool, share: float) -> None:
    found = [_iops(layout, writes=writes, outstanding=depth, share=share) for depth in _DEPTHS]
    assert all(more > 0.98 * less for less, more in pairwise(found)), found


@pytest.mark.parametrize("layout", _SIZE_GIB)
def test_shorter_strokes_are_faster_but_rotation_stays(layout: str) -> None:
    found = [_iops(layout, writes=False, outstanding=1, share=share) for share in (1.0, 0.5, 0.25, 0.1, 0.01)]
    assert found == sorted(found)
    assert found[0] * 2 < found[-1] < 1 / _LEAST_READ_S
