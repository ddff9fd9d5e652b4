"""What many access specifications say together, where each alone says too little.

One run a side of forty specifications leaves forty rows undecided, though all forty are a third slower. The sign test
pools them, metric by metric: each pair of runs gives one sign. What is not judged gives none: other loads, failed
runs, predictions, figures of the load. Entities of one running system are not pooled, since they share its users.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from storscope.compare.differences import Found
from storscope.domain.comparison import Agreement, Outcome, PairResult, Settings
from storscope.model.compare import holm
from storscope.model.sign_test import Signs, signs

_PAIRS_MIN: Final = 8
"""Fewer are shown one by one. Eight of one sign are chance in 0.8 %, of three metrics (Holm) in 2.3 %."""
_AGREEING_MIN: Final = 0.75
"""Part that must have the sign of the median: with fewer 'over all' hides too many that went the other way (ours)."""


def agreements(results: Iterable[tuple[PairResult, Sequence[Found]]], settings: Settings) -> list[Agreement]:
    """Each metric that enough pairs have; `results` are pairs of runs with the differences they were judged by."""
    changes: dict[str, list[float]] = defaultdict(list)
    better: dict[str, str] = {}
    for pair, found in results:
        if not pair.is_comparable and not settings.allow_different_load:
            continue
        for row, one in zip(pair.rows, found, strict=True):
            is_barred = bool(one.barred) and not settings.allow_failed and row.outcome is Outcome.UNDECIDED
            if row.better is not None and row.outcome is not None and row.change is not None and not is_barred:
                changes[row.metric].append(row.change)
                better[row.metric] = row.better
    pooled = {metric: signs(values, settings.level) for metric, values in changes.items() if len(values) >= _PAIRS_MIN}
    adjusted = holm([one.p_value for one in pooled.values()])
    return [
        _agreement(metric, better[metric], one, p, settings)
        for (metric, one), p in zip(pooled.items(), adjusted, strict=True)
    ]


def _agreement(metric: str, better: str, found: Signs, p_adjusted: float, settings: Settings) -> Agreement:
    is_higher = found.median > 0
    agreeing = (found.above if is_higher else found.below) / max(found.above + found.below, 1)
    is_told = p_adjusted < 1 - settings.level and abs(found.median) >= settings.threshold and agreeing >= _AGREEING_MIN
    outcome = Outcome.BETTER if is_higher == (better == "higher") else Outcome.WORSE
    return Agreement(
        metric=metric,
        better=better,
        higher=found.above,
        lower=found.below,
        change_median=found.median,
        change_median_low=found.low,
        change_median_high=found.high,
        p_value=found.p_value,
        p_value_adjusted=p_adjusted,
        outcome=outcome if is_told else Outcome.UNDECIDED,
    )
