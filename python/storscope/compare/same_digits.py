"""Two runs that agree to the last digit: one run copied, or simulations of one seed that a change does not touch.

Their difference is 0, and the interval around it tells what another run, or another seed, would do, not that nothing is
known of the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from storscope.compare.matching import Pair
from storscope.compare.metrics import METRICS, Metric
from storscope.compare.subjects import Subject
from storscope.compare.wording import listed

_FIGURES: Final = [METRICS[name] for name in ("latency", "iops", "bandwidth")]
_ALIKE: Final = "Both sides agree to the last digit, interval by interval"
_SIMULATED: Final = (
    f"{_ALIKE}, as simulations of one seed do whose designs do the same for this load: what was changed, if anything, "
    "has no effect at all on it. The intervals tell what other seeds would do."
)
_COPIED: Final = f"{_ALIKE}, as copies of one run do: measure again."


def notes_on_same_digits(pairs: Sequence[Pair]) -> list[str]:
    """Of pairs with one run a side that are alike in each interval, a sentence for each reason."""
    alike = [pair for pair in pairs if _agrees(pair)]
    simulated = [pair.name for pair in alike if pair.before[0].is_simulated and pair.after[0].is_simulated]
    copied = [pair.name for pair in alike if pair.name not in simulated]
    return [f"{listed(names, 3)}: {words}" for names, words in ((simulated, _SIMULATED), (copied, _COPIED)) if names]


def _agrees(pair: Pair) -> bool:
    if not pair.before[0].is_run or len(pair.before) > 1 or len(pair.after) > 1:
        return False
    found = [_are_alike(pair.before[0], pair.after[0], metric) for metric in _FIGURES]
    return any(found) and False not in found


def _are_alike(one: Subject, other: Subject, metric: Metric) -> bool | None:
    """None where neither has it over intervals."""
    series = [subject.measured().series(metric) for subject in (one, other)]
    if series[0] is None or series[1] is None:
        return None if series[0] is series[1] else False
    if len(series[0]) < 2 or len(series[0]) != len(series[1]):
        return False
    return bool(np.array_equal(series[0].top, series[1].top) and np.array_equal(series[0].bottom, series[1].bottom))
