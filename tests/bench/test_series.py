"""The schedule of a time series, in a time of the test's own."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from storscope.workbench.clock_steps import ClockSteps
from storscope.workbench.series import slots
from storscope.workbench.sweep_reading import SweepRun, clock_steps, off_schedule, pauses

_S = 1_000_000_000


@dataclass
class Pace:
    """Time passes only when somebody sleeps or works; a sleeper oversleeps by `late_ns`."""

    ns: int = 12_345
    late_ns: int = 0
    slept: list[int] = field(default_factory=list)

    def now_ns(self) -> int:
        return self.ns

    def sleep(self, ns: int) -> None:
        self.slept.append(ns)
        self.ns += ns + self.late_ns


def _starts(works_ns: list[int], interval_ns: int, pace: Pace, missed: list[int]) -> list[tuple[int, int]]:
    """(slot, when it started since the first one)."""
    begin = pace.ns
    found = []
    for slot in slots(len(works_ns), interval_ns, pace, lambda: False, lambda _: None, missed):
        found.append((slot, pace.ns - begin))
        pace.ns += works_ns[slot]
    return found


def test_slots_start_when_they_are_due_whatever_the_ones_before_took() -> None:
    missed: list[int] = []
    works = [3 * _S, 1 * _S, 9 * _S, 2 * _S]
    assert _starts(works, 10 * _S, Pace(), missed) == [(slot, slot * 10 * _S) for slot in range(4)]
    assert missed == []


def test_what_overruns_its_slot_misses_the_next_and_keeps_to_the_schedule() -> None:
    missed: list[int] = []
    works = [3 * _S, 25 * _S, 1 * _S, 1 * _S, 1 * _S, 30 * _S, 1 * _S]
    found = _starts(works, 10 * _S, Pace(), missed)
    assert found == [(0, 0), (1, 10 * _S), (4, 40 * _S), (5, 50 * _S)]
    assert missed == [2, 3, 6]


@given(
    st.lists(st.integers(0, 35 * _S), min_size=1, max_size=30),
    st.integers(1, 20 * _S),
    st.integers(0, 1_000_000),
)
def test_starts_do_not_drift_and_every_slot_is_used_or_missed(works: list[int], interval: int, late: int) -> None:
    missed: list[int] = []
    found = _starts(works, interval, Pace(late_ns=late), missed)
    assert sorted([slot for slot, _ in found] + missed) == list(range(len(works)))
    for slot, start in found:
        assert 0 <= start - slot * interval <= late + interval, "late by the sleeper's lateness, never early"
        if late < interval:
            assert start - slot * interval <= late


def test_it_ends_soon_after_it_is_asked_to_also_while_it_waits() -> None:
    pace, wished = Pace(), [False]
    seen: list[int] = []
    for slot in slots(5, 600 * _S, pace, lambda: wished[0], seen.append, []):
        assert slot == 0
        pace.ns += 30 * _S
        wished[0] = True
    assert seen == []
    wished[0] = False
    waits = slots(5, 600 * _S, pace, lambda: len(seen) > 3, seen.append, [])
    assert next(waits) == 0
    assert list(waits) == []
    assert max(pace.slept) <= _S // 10


@given(st.integers(1, 30), st.integers(1, 20 * _S), st.integers(0, 400 * _S))
def test_a_continued_series_keeps_the_times_of_its_slots(count: int, interval: int, elapsed: int) -> None:
    """Those that began meanwhile are left out, and none starts before its time."""
    pace = Pace()
    began = pace.ns - elapsed
    found = []
    for slot in slots(count, interval, pace, lambda: False, lambda _: None, [], elapsed):
        found.append(slot)
        assert pace.ns == began + slot * interval
    assert found == [slot for slot in range(count) if slot * interval >= elapsed]


def _run(slot: int, start_s: float, length_s: float = 30.0, **labels: str) -> SweepRun:
    return SweepRun(f"run-{slot}", "log", slot, "ok", _S + round(start_s * _S), round(length_s * _S), labels)


def test_missed_and_late_slots_are_told() -> None:
    assert off_schedule([_run(0, 0.01), _run(1, 600.2), _run(2, 1200)], 600 * _S, _S) == []
    told = off_schedule([_run(0, 0.01, 1300.0), _run(3, 1803)], 600 * _S, _S)
    assert "2 slots were left out" in told[0]
    assert "took longer than the 10 min" in told[0]
    assert "10 min, 20 min" in told[0]
    assert "1 slot started late, by up to 3.00 s" in told[1]


def test_slots_that_passed_while_nobody_measured_are_told_apart_from_those_that_were_overrun() -> None:
    overrun, paused = off_schedule([_run(0, 0, 700.0), _run(2, 1200), _run(4, 2400)], 600 * _S, _S)
    assert overrun.startswith("1 slot was left out, as what was measured")
    assert overrun.endswith("the one after 10 min.")
    assert paused == "1 slot was left out, as the series was interrupted: the one after 30 min."


def test_a_slot_that_was_overrun_by_what_surrounds_a_run_is_not_told_as_an_interruption() -> None:
    """Storing a run takes time too, of which its row knows nothing: the run after it says so."""
    runs = [_run(0, 0, sweep_sitting="a"), _run(3, 1800, sweep_sitting="a", sweep_overrun="2")]
    (told,) = off_schedule(runs, 600 * _S, _S)
    assert told.startswith("2 slots were left out, as what was measured before them took longer")


def test_a_slot_whose_measurement_failed_is_not_told_as_an_interruption() -> None:
    within = [_run(0, 0, sweep_sitting="a"), _run(2, 1200, sweep_sitting="a")]
    assert off_schedule(within, 600 * _S, _S) == [
        "1 slot was left out, as the measurement failed: the one after 10 min."
    ]
    over = [_run(0, 0, sweep_sitting="a"), _run(2, 1200, sweep_sitting="b")]
    assert "as the series was interrupted" in off_schedule(over, 600 * _S, _S)[0]


def _set(hours: float) -> dict[str, str]:
    return {"sweep_clock_set_ns": str(round(hours * 3600 * _S))}


def test_a_clock_that_was_set_makes_no_slot_late_or_overrun() -> None:
    forward = [_run(0, 0), _run(1, 600 + 3600, **_set(1)), _run(2, 1200 + 3600, **_set(1))]
    assert off_schedule(forward, 600 * _S, _S) == []
    back = [_run(0, 0), _run(1, 600), _run(3, 1800 - 3600, **_set(-1))]
    assert off_schedule(back, 600 * _S, _S) == [
        "1 slot was left out, as the series was interrupted: the one after 20 min."
    ]


def test_a_clock_that_was_set_is_no_pause_and_hides_none() -> None:
    assert pauses([_run(0, 0), _run(1, 30 + 3600, **_set(1))]) == []
    (told,) = pauses([_run(1, 1830 - 3600, **_set(-1)), _run(0, 0)])
    assert told.startswith("There was a pause of 30 min")


def test_a_clock_that_was_set_is_told() -> None:
    assert clock_steps([_run(0, 0), _run(1, 600)]) == []
    (forward,) = clock_steps([_run(0, 0), _run(1, 4200, **_set(1)), _run(2, 1e6, **_set(48))])
    assert "clock was set forward by 2 d" in forward
    (back,) = clock_steps([_run(0, 0), _run(1, 600, **_set(-1))])
    assert "clock was set back by 60 min" in back


@given(st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.integers(-10, 10))
def test_a_clock_was_set_by_what_the_steady_one_has_not_gone(set_s: int, passed_s: int, before_s: int) -> None:
    now = {"wall": 1_700_000_000 * _S, "steady": 77 * _S}
    clock = ClockSteps(before_s * _S, lambda: now["wall"], lambda: now["steady"])
    now["wall"] += (passed_s + set_s) * _S
    now["steady"] += passed_s * _S
    assert clock.so_far_ns() == (set_s + before_s) * _S


def test_what_two_clocks_differ_by_when_they_are_read_is_no_step() -> None:
    assert ClockSteps().so_far_ns() == 0
