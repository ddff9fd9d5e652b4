"""Replays at the times of the trace that the array fell behind: the means are of a queue that grew with the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storscope.bench.rate_steps import RateStepFigures
from storscope.bench.samples import MEAN, Figure, Sample
from storscope.domain.units import NS_PER_S, format_count, format_instant, format_span
from storscope.sim.replay import TracePlan
from storscope.sim.takeovers import silence_at_end
from storscope.workbench.falling_behind import is_behind

_LEAST_LAG = 0.05
"""Of the trace's length: what is answered sooner after the last request was a burst at its end."""


def doubts_of_replay(plan: TracePlan, samples: Sequence[Sample], array: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence if far more requests waited when the last one came than their rate and latency explain.

    By the rule for rate steps (falling_behind.py). Says nothing of closed loops, in which answers let requests go.
    """
    arrivals_ns = plan.arrivals_ns
    if not len(arrivals_ns) or not samples:
        return ()
    inside = [one for one in samples if one.end_ns <= int(arrivals_ns[-1])]
    if not inside:
        return ()
    upto_ns = inside[-1].end_ns
    due = int(arrivals_ns.searchsorted(upto_ns, side="right"))
    done = sum(part.ios for one in inside for part in one.parts(None))
    lag_ns = samples[-1].end_ns - upto_ns
    is_cut = plan.duration_ns is not None and samples[-1].end_ns >= plan.duration_ns
    per_s = NS_PER_S / upto_ns
    whole = RateStepFigures(
        0, upto_ns, due * per_s, upto_ns, done * per_s, None, Figure(MEAN).of(inside), None, None
    )  # fmt: skip
    if not is_behind(whole) or (lag_ns < _LEAST_LAG * upto_ns and not is_cut):
        return ()
    later = "" if is_cut else f", and the last answer came {format_span(lag_ns)} later"
    why = (
        "Latencies are of a queue that grew for as long as the trace goes. Replay it slower, with a smaller --speed-up "
        "(below 1, if it was at its own times), or in a closed loop."
    )
    if (silence := silence_at_end(array, upto_ns)) is not None:
        why = (
            f"What is sent to controller {silence.controller} waits until controller {silence.to} has taken over from "
            f"it, at {format_instant(silence.to_ns)}: latencies are of that wait."
        )
    said = (
        f"The array fell behind the trace: at {format_span(upto_ns)} {format_count(due - done)} of the "
        f"{format_count(due)} requests that had come were not answered{later}. {why}"
    )
    return (said,)
