"""What `docs/arrays.md` says of four measured drives, and of what no curve of one drive tells, still comes out."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from tests.sim.independent_array import random_requests

_PAGE = (Path(__file__).parents[2] / "docs" / "arrays.md").read_text(encoding="utf-8")
_MEASURED = {1: 73.2, 2: 146.8, 4: 228.3, 8: 298.4, 16: 363.5, 32: 425.8, 64: 480.5, 128: 518.4}

_FOUR_DRIVES = """
name = "four drives"
[[group]]
name = "md10"
drive = "samsung-f1-1tb"
count = 4
layout = "raid10"
segment = "512 KiB"
read_choice = "{read_choice}"
[[volume]]
name = "file"
group = "md10"
size = "1861 GiB"
[[host]]
name = "linux"
volumes = [{{ volume = "file" }}]
"""


def _iops(read_choice: str, outstanding: int, *, writes: bool = False) -> float:
    """Without the first third, in which the drives' caches fill."""
    line = AccessSpec(4096, read_share=0.0 if writes else 1.0)
    workload = Workload("random", (Stream(Mix((line,)), Closed(outstanding)),))
    design = read_design(_FOUR_DRIVES.format(read_choice=read_choice), "four drives")
    run = simulate(plan_of(design, workload, duration="5m"), started_ns=0)
    kept = run.intervals[len(run.intervals) // 3 :]
    done = sum(interval.direction("reads", "writes").ios for interval in kept)
    return done * NS_PER_S / sum(interval.duration_ns for interval in kept)


def _said(pattern: str) -> list[float]:
    """The numbers that the page has at these places; a line's end is a space."""
    found = re.findall(pattern, _PAGE.replace("\n", " "))
    assert found, f"docs/arrays.md no longer says {pattern}"
    return [float(number) for number in found]


@pytest.mark.parametrize(
    ("read_choice", "pattern"),
    [
        ("nearest", r"The mean error is ([0-9.]+) %"),
        ("round_robin", r"in turn \(`round_robin`\) it is ([0-9.]+) %"),
        ("round_robin", r'with the copies in turn \(`"round_robin"`\) the mean error above is ([0-9.]+) %'),
        ("shortest_queue", r"by the shorter queue \(`shortest_queue`\) ([0-9.]+) %"),
    ],
)
def test_the_mean_error_of_reads_is_what_the_page_says(read_choice: str, pattern: str) -> None:
    errors = [abs(_iops(read_choice, depth) / measured - 1) for depth, measured in _MEASURED.items()]
    assert _said(pattern) == [pytest.approx(100 * sum(errors) / len(errors), abs=0.6)]


def test_writes_of_four_drives_are_what_the_page_says() -> None:
    assert _said(r"predicted ([0-9]+) \(\+3 to \+7 %\)") == [pytest.approx(_iops("nearest", 8, writes=True), rel=0.01)]


@cache
def _writes(outstanding: int, **habits: Any) -> float:
    return random_requests("raid5", writes=True, outstanding=outstanding, **habits).iops


def _one_at_a_time(outstanding: int, **habits: Any) -> float:
    return _writes(outstanding, batch=1, **habits)


def test_a_drive_that_waits_before_it_writes_back_is_less_in_the_way_of_single_writes() -> None:
    """And costs more where the arms are short, since what it could have written meanwhile it writes later."""
    assert 1.05 < _writes(1, idle_ms=5.0) / _writes(1) < 1.15
    assert 1.12 < _writes(1, idle_ms=5.0, share=0.1) / _writes(1, share=0.1) < 1.25
    assert 0.88 < _one_at_a_time(8, idle_ms=5.0) / _one_at_a_time(8) < 0.97


def test_a_drive_that_reads_and_writes_back_in_turn_does_less_at_depth() -> None:
    """The arm has fewer places to choose from than where reads and dirty writes compete."""
    for outstanding, share in ((64, 1.0), (128, 1.0), (128, 0.1)):
        ratio = _one_at_a_time(outstanding, in_turn=True, share=share) / _one_at_a_time(outstanding, share=share)
        assert 0.82 < ratio < 0.91, (outstanding, share)
    assert _one_at_a_time(8, in_turn=True) == pytest.approx(_one_at_a_time(8), rel=0.03)


def test_writing_back_in_batches_costs_writes_of_raid_5_at_depth_only() -> None:
    """While one drive holds up writes the others have less to choose from."""
    for outstanding, share in ((64, 1.0), (128, 1.0), (128, 0.1)):
        assert 0.88 < _writes(outstanding, share=share) / _one_at_a_time(outstanding, share=share) < 0.98
    assert _writes(1) == pytest.approx(_one_at_a_time(1), rel=0.02)
