"""Long measurements have longer intervals, so that they do not fill the disk below the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.bench.goals import FixedTime, Goal, Precision, SteadyState
from storscope.bench.samples import Figure
from storscope.cli.main import run
from storscope.domain.load import RateStep, Steps
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import AccessSpec, Closed, Load, Mix, Stream, Workload
from storscope.workbench.measured_interval import measured_interval_ns, room_bytes

_MINUTE_NS = 60 * NS_PER_S
_DAY_NS = 1440 * _MINUTE_NS
_IOPS = Figure("iops")


def _workload(load: Load) -> Workload:
    return Workload("reads", (Stream(Mix((AccessSpec(8192),)), load),))


_CLOSED = _workload(Closed(1))


@pytest.mark.parametrize(
    ("goal", "interval_s"),
    [
        (FixedTime(NS_PER_S), 1),
        (FixedTime(10 * _MINUTE_NS), 1),
        (FixedTime(10 * _MINUTE_NS + 1), 2),
        (FixedTime(60 * _MINUTE_NS), 10),
        (FixedTime(_DAY_NS), 30),
        (FixedTime(_DAY_NS, ramp_ns=25 * NS_PER_S), 5),
        (Precision(_IOPS), 1),
        (Precision(_IOPS, longest_ns=60 * _MINUTE_NS), 1),
        (Precision(_IOPS, longest_ns=_DAY_NS), 30),
        (SteadyState(_IOPS), 5),
        (SteadyState(_IOPS, round_ns=_DAY_NS // 24 + NS_PER_S), 1),
    ],
)
def test_the_longer_a_run_the_longer_are_its_intervals(goal: Goal, interval_s: int) -> None:
    assert measured_interval_ns(goal, _CLOSED) == interval_s * NS_PER_S


def test_rate_steps_are_multiples_of_an_interval() -> None:
    steps = _workload(Steps((RateStep(100.0, 600 * NS_PER_S), RateStep(200.0, 3601 * NS_PER_S))))
    assert measured_interval_ns(FixedTime(_DAY_NS), steps) == NS_PER_S


def test_a_day_takes_less_than_a_gigabyte_for_each_stream_on_each_target() -> None:
    goal = FixedTime(_DAY_NS)
    assert room_bytes(goal, _CLOSED, measured_interval_ns(goal, _CLOSED), 1) < 2**30
    assert room_bytes(goal, _CLOSED, NS_PER_S, 3) == 86_400 * 3 * 40_000


def test_a_dry_run_tells_the_intervals_and_their_room(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", str(data), "--workload", "random-8k-70-read", "--size", "8M", "--dry-run"]
    assert run([*arguments, "--duration", "1d", "--store", str(data.parent / "store")]) == 0
    said = "Recorded in intervals of 30 s: about 110 MiB in the store's directory, if it takes 24 h 00 min."
    assert said in capsys.readouterr().out
