"""A replay that the array cannot keep up with says so: its latencies grow with the trace."""

from __future__ import annotations

import pytest

from storscope.sim.replay import TraceSource
from storscope.sim.traces.read import trace_from_text
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import trace_plan_of
from tests.sim.one_drive import one_drive


def _doubts(at_s: list[float], **options: object) -> list[str]:
    rows = [f"{at},R,{4096 * (number % 1000)},4096" for number, at in enumerate(at_s)]
    trace = trace_from_text("\n".join(["time_s,op,offset_bytes,length_bytes", *rows]) + "\n", "t.csv")
    plan = trace_plan_of(one_drive(), [TraceSource(trace)], **options)  # type: ignore[arg-type]
    return [one for one in simulate(plan, started_ns=0).doubts if "fell behind" in one]


_EVEN = [number / 50 for number in range(1000)]


def test_twice_what_the_array_does_is_a_queue_that_grows() -> None:
    """A mean of 2.5 s of a queue that grew to 5 s was told without a doubt."""
    (doubt,) = _doubts(_EVEN, speed_up=4.0)
    assert doubt.startswith(
        "The array fell behind the trace: at 5.00 s 501 of the 1,000 requests that had come were not answered, "
        "and the last answer came 5.00 s later."
    )
    assert doubt.endswith(
        "Replay it slower, with a smaller --speed-up (below 1, if it was at its own times), or in a closed loop."
    )


def test_it_is_told_of_a_replay_that_is_cut_too() -> None:
    assert _doubts(_EVEN, speed_up=4.0, duration_ns=3 * 10**9)


@pytest.mark.parametrize("speed_up", [1.0, 1.9])
def test_what_the_array_keeps_up_with_is_not_doubted(speed_up: float) -> None:
    assert not _doubts(_EVEN, speed_up=speed_up)


def test_neither_are_bursts_that_are_done_before_the_next_nor_one_at_the_end() -> None:
    bursts = [second for second in range(20) for _ in range(60)]
    assert not _doubts(sorted(map(float, bursts)))


def test_neither_is_a_closed_loop() -> None:
    assert not _doubts(_EVEN, outstanding=16, speed_up=4.0)


def test_neither_is_a_slow_array_whose_queue_does_not_grow() -> None:
    """Each request waits half a second behind those of its own instant, from the first to the last."""
    assert not _doubts([number // 50 * 0.6 for number in range(1500)])


@pytest.mark.parametrize("at_s", [[0.0], [0.0, 0.5], [0.0] * 500])
def test_what_is_too_short_to_tell_is_not_doubted(at_s: list[float]) -> None:
    assert not _doubts(at_s)
