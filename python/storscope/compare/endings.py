"""How the runs of a pair ended, and what may not be judged because of that.

A run that failed, lost data or had errors did something else than its load from then on: mirrors that need no second
write are fast. Latencies of an invalid run leave out what its user would have waited, or have delays of the generator
in them. Both are shown, not judged, but for what is sure all the same: a latency that is known to be too high and is
still the lower one only hides a part of the difference, as does one that is too low and still the higher one; one
that counts the wait in a queue that the workload limits is that of the workload. A run that was interrupted or killed
is shorter than planned, and its figures are what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from storscope.compare.alike import OWN_ENGINES
from storscope.compare.matching import Pair
from storscope.compare.metrics import METRICS, Metric
from storscope.compare.prediction import predicted_side, sides
from storscope.compare.subjects import Subject
from storscope.compare.wording import listed
from storscope.domain import flush
from storscope.domain.comparison import AFTER, BEFORE, Outcome

_OK: Final = "ok"
_INVALID: Final = "invalid"
_FIGURES_STAND: Final = {_OK, _INVALID, "interrupted", "killed"}
"""Any other status is a failure, or an error in the words of its tool ("error 5 (EIO)", "3 I/O errors")."""
_LIMITED: Final = "limited"
_RESPONSES: Final = frozenset({"latency", "read_latency", "write_latency"})
"""Of our own runs: a flush begins when its write is done, and the latency of the device at submission."""
_SERVICE: Final = "device_latency"
_SERVICE_STANDS: Final = ("upper", _LIMITED)
"""Bounds of runs whose service is what the storage took all the same: what was late was late before it was sent."""
_BOUNDS: Final = {
    "upper": "what delayed the generator {side} only adds to the latency",
    "lower": "the storage fell behind {side}, and those that waited longest are not in the latency",
    _LIMITED: "the latency {side} counts the wait for a place among those that the workload allows in flight",
}
"""By what an invalid latency is of the truth."""


def barred_by_ending(pair: Pair, metric: Metric) -> str:
    """Which runs ended so that the figure may not be judged, as a reason; empty when none did."""
    if failed := _counted(pair, lambda run: run.status not in (None, *_FIGURES_STAND)):
        return f"{failed} failed or lost data"
    if metric.unit != "ns":
        return ""
    stands = _SERVICE_STANDS if metric.name == _SERVICE else ()
    invalid = _counted(pair, lambda run: run.status == _INVALID and run.latency_bound not in stands)
    return f"the latencies of {invalid} do not mean what they say" if invalid else ""


def sure_in_spite(pair: Pair, metric: Metric) -> dict[Outcome, str]:
    """Of a latency that `barred_by_ending` bars: the outcomes that are sure all the same, each with its reason.

    Only of the response, and so only where both sides are our own runs.
    """
    runs = (*pair.before, *pair.after)
    ended_alike = all(run.status in (None, _OK, _INVALID) for run in runs)
    if not _is_response(metric) or not _are_own(runs) or predicted_side(pair) or not ended_alike:
        return {}
    invalid = [{run.latency_bound for run in side if run.status == _INVALID} for side in (pair.before, pair.after)]
    sure = {}
    for outcome, bounds in ((Outcome.BETTER, ("lower", "upper")), (Outcome.WORSE, ("upper", "lower"))):
        if all(found <= {bound, _LIMITED} for found, bound in zip(invalid, bounds, strict=True)):
            words = [
                _BOUNDS[bound].format(side=side)
                for found, side in zip(invalid, (BEFORE, AFTER), strict=True)
                for bound in sorted(bound for bound in found if bound is not None)
            ]
            is_exact = set().union(*invalid) == {_LIMITED}
            sure[outcome] = f"{'' if is_exact else 'at least so: '}{' and '.join(words)}"
    return sure


def _is_response(metric: Metric) -> bool:
    return metric.name in _RESPONSES or (metric.share is not None and flush.OPERATION not in metric.operations)


def _are_own(runs: Sequence[Subject]) -> bool:
    return all((run.engine or "").lower() in OWN_ENGINES for run in runs)


def _counted(pair: Pair, is_meant: Callable[[Subject], bool]) -> str:
    """'the run before and 1 of 3 runs after', 'the measured run'; empty when none is meant."""
    words = []
    for side, group in sides(pair):
        count = sum(is_meant(run) for run in group)
        if count:
            runs = f"{side} {{}}" if predicted_side(pair) else f"{{}} {side}"
            words.append(
                f"the {runs.format('run')}" if len(group) == 1 else f"{count} of {len(group)} {runs.format('runs')}"
            )
    return " and ".join(words)


ENDED = "Did not end well"
"""How that warning begins."""


def ending_warnings(pair: Pair) -> list[str]:
    """The runs that did not end well, and how to judge them all the same."""
    ended = [run for run in (*pair.before, *pair.after) if run.status not in (None, _OK)]
    if not ended:
        return []
    judged = " --allow-failed judges them all the same." if barred_by_ending(pair, METRICS["latency"]) else ""
    return [f"{ENDED}: " + listed([f"{run.key} ({run.status})" for run in ended]) + f".{judged}"]
