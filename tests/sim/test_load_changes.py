"""What comes between two changes of the load is told by itself, however short it is beside the run."""

from __future__ import annotations

import math

import pytest

from storscope.domain.load import Closed, Open, Process, RateStep, Steps
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.workbench.interval_length import cut_interval_ns, interval_ns_for
from storscope.workbench.simulated import Simulated
from tests.sim.one_drive import READS, one_drive, run


def _hogged(start: str, end: str, duration: str) -> Simulated:
    """A victim of 20/s all the time, and a hog that keeps 16 in flight for a while."""
    victim = Stream(READS, Open(20.0, Process.FIXED), name="victim")
    schedule = f'[[stream]]\nname = "hog"\nstart = "{start}"\nend = "{end}"\n'
    workload = Workload("two", (victim, Stream(READS, Closed(16), name="hog")))
    return run(one_drive(schedule), workload, duration)


def _steps(duration: str | None, *steps: tuple[float, float]) -> Simulated:
    load = Steps(tuple(RateStep(rate, round(seconds * NS_PER_S)) for rate, seconds in steps), Process.FIXED)
    workload = Workload("steps", (Stream(READS, load, name="s"),))
    return run(one_drive(), workload, duration)


@pytest.mark.parametrize(
    ("start", "end", "duration"),
    [("605s", "620s", "20m"), ("905s", "920s", "30m"), ("601s", "605s", "20m"), ("30.1s", "30.4s", "60s")],
)
def test_a_short_hog_has_the_figures_of_its_own_time(start: str, end: str, duration: str) -> None:
    """The quiet time around it was counted in: 39 % and 38.8 IOPS for 100 % and 100, without a doubt."""
    simulated = _hogged(start, end, duration)
    before, hogged, after = simulated.phase_figures
    assert hogged.rate_per_s == pytest.approx(100.0, abs=4.0)
    assert hogged.top is not None
    assert hogged.top.ratio == pytest.approx(1.0, abs=1e-6)
    assert hogged.bounds.kind == "drive"
    assert hogged.measured is not None
    length_ns = hogged.phase.duration_ns
    assert hogged.measured.duration_ns == length_ns
    for quiet in (before, after):
        assert quiet.rate_per_s == pytest.approx(20.0, abs=0.7)  # what the hog left is done after it
        assert quiet.bounds.kind == "load"
    words = simulated.bottleneck.words
    assert " and " in words.split(" (figures of")[0]  # the quiet time is before it and after it
    assert "drive g/0 is used to" in words


def test_the_array_notes_its_counters_when_the_load_changes() -> None:
    simulated = _hogged("30.123456s", "40.654321s", "60s")
    marked = {mark["time_ns"] for mark in simulated.array["marks"] if mark["change"]}
    assert {30_123_456_000, 40_654_321_000} <= marked
    hogged = simulated.phase_figures[1]
    assert hogged.rate_per_s == pytest.approx(100.0, abs=0.2)
    assert hogged.top is not None
    assert hogged.top.ratio == pytest.approx(1.0, abs=1e-6)


def test_a_phase_without_a_whole_interval_still_has_a_rate_and_a_cause() -> None:
    simulated = _hogged("30.111111s", "30.333333s", "60s")
    hogged = simulated.phase_figures[1]
    assert hogged.measured is None
    assert hogged.rate_per_s == pytest.approx(100.0, abs=5.0)
    assert (hogged.bounds.kind, hogged.bounds.name) == ("drive", "g")


def test_a_run_without_changes_is_cut_as_ever() -> None:
    for length_ns in (0, 1, NS_PER_S, 77_777_777_777):
        assert cut_interval_ns(length_ns, ()) == interval_ns_for(length_ns)


@pytest.mark.parametrize(
    ("length_s", "changes_s"), [(60, (10, 20, 30)), (60, (30.1, 30.4)), (1200, (601, 605)), (86_400, (43_200,))]
)
def test_intervals_end_where_the_load_changes(length_s: float, changes_s: tuple[float, ...]) -> None:
    changes_ns = [round(one * NS_PER_S) for one in changes_s]
    found_ns = cut_interval_ns(round(length_s * NS_PER_S), changes_ns)
    assert math.gcd(*changes_ns) % found_ns == 0
    assert found_ns % 1000 == 0
    assert 20 <= length_s * NS_PER_S / found_ns <= 4096


@pytest.mark.parametrize("changes_ns", [(30_111_111_000, 30_333_333_000), (7 * NS_PER_MS,), (999,)])
def test_changes_that_no_interval_fits_leave_its_length_alone(changes_ns: tuple[int, ...]) -> None:
    assert cut_interval_ns(60 * NS_PER_S, changes_ns) == interval_ns_for(60 * NS_PER_S)


_UNEVEN = ((20.0, 10), (80.0, 10), (150.0, 10), (10.0, 30))


@pytest.mark.parametrize("duration", ["60s", "120s", "1h", "1d"])
def test_steps_have_the_same_figures_however_long_might_have_been_simulated(duration: str) -> None:
    """With an hour for the 60 s of the steps the overloaded one lost its figures, and its doubt."""
    simulated = _steps(duration, *_UNEVEN)
    filled, after = simulated.rate_steps[2:]
    assert (filled.counted_ns, after.counted_ns) == (10 * NS_PER_S, 30 * NS_PER_S)
    assert filled.mean_ns == pytest.approx(1.675 * NS_PER_S, rel=0.01)  # D/D/1
    assert after.ops_per_s == pytest.approx(26.7, abs=0.1)
    assert any("did not keep up with what was asked" in one for one in simulated.doubts)


def test_a_step_without_figures_is_doubted() -> None:
    simulated = _steps(None, (20.0, 30.0001), (50.0, 0.0201), (20.0, 29.9))
    (doubt,) = [one for one in simulated.doubts if "no figures" in one]
    assert doubt.startswith("The rate step from 30 s to 30 s has no figures: no whole interval of 300 ms")


def test_the_heavier_of_two_steps_that_one_component_bounds_is_told() -> None:
    words = _steps("60s", *_UNEVEN).bottleneck.words
    assert "From 10 s to 30 s (figures of 20 s to 30 s): drive g/0 is used to 100 %" in words
