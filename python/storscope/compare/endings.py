"""How the runs of a pair ended, and what may not be judged because of that.

A run that failed, lost data or had errors did something else than its load from then on: mirrors that need no second
write are fast. Latencies of an invalid run leave out what its user would have waited. Both are shown, not judged. A run
that was interrupted or killed is shorter than planned, and its figures are what they were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from storscope.compare.matching import Pair
from storscope.compare.metrics import METRICS, Metric
from storscope.compare.prediction import predicted_side, sides
from storscope.compare.wording import listed

_OK: Final = "ok"
_INVALID: Final = "invalid"
_FIGURES_STAND: Final = {_OK, _INVALID, "interrupted", "killed"}
"""Any other status is a failure, or an error in the words of its tool ("error 5 (EIO)", "3 I/O errors")."""


def barred_by_ending(pair: Pair, metric: Metric) -> str:
    """Which runs ended so that the figure may not be judged, as a reason; empty when none did."""
    if failed := _counted(pair, lambda status: status not in _FIGURES_STAND):
        return f"{failed} failed or lost data"
    invalid = _counted(pair, lambda status: status == _INVALID) if metric.unit == "ns" else ""
    return f"the latencies of {invalid} do not mean what they say" if invalid else ""


def _counted(pair: Pair, is_meant: Callable[[str], bool]) -> str:
    """'the run before and 1 of 3 runs after', 'the measured run'; empty when none is meant."""
    words = []
    for side, group in sides(pair):
        count = sum(run.status is not None and is_meant(run.status) for run in group)
        if count:
            runs = f"{side} {{}}" if predicted_side(pair) else f"{{}} {side}"
            words.append(
                f"the {runs.format('run')}" if len(group) == 1 else f"{count} of {len(group)} {runs.format('runs')}"
            )
    return " and ".join(words)


def ending_warnings(pair: Pair) -> list[str]:
    """The runs that did not end well, and how to judge them all the same."""
    ended = [run for run in (*pair.before, *pair.after) if run.status not in (None, _OK)]
    if not ended:
        return []
    judged = " --allow-failed judges them all the same." if barred_by_ending(pair, METRICS["latency"]) else ""
    return ["Did not end well: " + listed([f"{run.key} ({run.status})" for run in ended]) + f".{judged}"]
