"""Rate steps that asked for more than was done: a mean over all steps does not show them, nor does the step after them,
which does what was left. And steps that are too short to tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from storscope.bench.rate_steps import RateStepFigures
from storscope.domain.units import NS_PER_S, format_duration, format_instant, format_rate
from storscope.sim.bottleneck import Bottleneck
from storscope.sim.phases import Phase

_CHANCE = 4.0
"""Standard deviations of a Poisson count: so many I/Os fewer than asked chance explains, hardly more."""
_IN_FLIGHT = 1.25
"""What is on its way when a step ends is not done in it: of a load that the array keeps up with about as many as its
rate times its latency (Little). Where it falls behind, the wait of those that are done rises evenly to the last one's,
so that at least twice as many are left as the rate and the mean latency of those that were done give."""
_NAMED_AT_MOST = 3


def doubts_of_steps(steps: Sequence[RateStepFigures]) -> tuple[str, ...]:
    """A sentence on the steps in which less was done than asked; nothing where closed loops run beside them."""
    behind = [one for one in steps if is_behind(one)]
    if not behind:
        return ()
    named = [_words(one) for one in behind[:_NAMED_AT_MOST]]
    if len(behind) > _NAMED_AT_MOST:
        named.append(f"less than asked at {len(behind) - _NAMED_AT_MOST} more steps")
    said = (
        f"The array did not keep up with what was asked: it did {', '.join(named)}. The longer such a step lasts, the "
        "slower it gets; what it left undone is in the figures of the next step."
    )
    return (said,)


def doubts_of_short_steps(steps: Sequence[RateStepFigures], interval_ns: int) -> tuple[str, ...]:
    """A sentence on steps that no whole interval lies in: nothing is known of them, not even that they fell behind."""
    short = [one for one in steps if not one.counted_ns]
    if not short:
        return ()
    first = f"{format_instant(short[0].start_ns)} to {format_instant(short[0].end_ns)}"
    more = f" and {len(short) - 1} more have" if len(short) > 1 else " has"
    said = (
        f"The rate step from {first}{more} no figures: no whole interval of {format_duration(interval_ns)} lies "
        "within. Let steps last longer, or be fewer."
    )
    return (said,)


def _words(step: RateStepFigures) -> str:
    done, asked = format_rate(step.ops_per_s, "").strip(), format_rate(step.asked_per_s)
    return f"{done} of {asked} from {format_instant(step.start_ns)} to {format_instant(step.end_ns)}"


def with_backlog(
    bounds: Sequence[tuple[Phase, Bottleneck]], steps: Sequence[RateStepFigures]
) -> list[tuple[Phase, Bottleneck]]:
    """What bounds each stretch, with a word where it begins with what the step before it left undone."""
    ends = {one.end_ns for one in steps if is_behind(one)}
    said = " Its first I/Os are those that the step before left undone."
    return [
        (phase, replace(bound, words=bound.words + said) if phase.from_ns in ends else bound) for phase, bound in bounds
    ]


def is_behind(step: RateStepFigures) -> bool:
    """Whether less was done in it than asked, by more than chance and what was on its way explain."""
    if step.asked_per_s is None or step.ops_per_s is None:
        return False
    seconds = step.counted_ns / NS_PER_S
    asked, missing = step.asked_per_s * seconds, (step.asked_per_s - step.ops_per_s) * seconds
    in_flight = step.ops_per_s * (step.mean_ns or 0.0) / NS_PER_S
    return missing > max(_CHANCE * math.sqrt(asked), _IN_FLIGHT * in_flight)
