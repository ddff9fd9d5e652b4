"""What is said of a comparison as a whole, on a terminal and on a page: the answer, why rows are undecided, what to do.

Names stay as captures have them: who prints them makes them harmless.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from storscope.domain.comparison import (
    NOT_THE_SAME_LOAD,
    PREDICTION,
    Agreement,
    Comparison,
    MetricRow,
    Outcome,
    PairResult,
)
from storscope.domain.comparison_words import chance, change
from storscope.domain.entity import said_of
from storscope.domain.units import format_ratio

OFF_BY: Final = (
    "off by is predicted / measured − 1; a prediction is neither better nor worse, so --fail-on finds nothing in it"
)
_NAMES_SHOWN: Final = 3
_SIMULATOR: Final = "storscope-sim"
_FOUND: Final = (Outcome.BETTER, Outcome.WORSE)
_WITHIN_A_RUN: Final = ("series", "own", "bucket-series")
"""Methods whose intervals are from within one run a side."""
_WHAT_SIGNS_TELL: Final = (
    "That is the sign test over access specifications. It tells that the two sides differ, not why: what changed "
    "beside them, such as another load on the array, has one sign, too. Three or more runs a side, in turn, tell that."
)
_METHODS: Final = {
    "series": "intervals: blocks of neighbouring intervals are resampled, so that their correlation counts",
    "runs": "runs: Welch's test on the means of the runs",
    "own": "what each run says of itself, from samples of an eighth of a second; Welch's test",
    "couples": "runs in turn: the paired test on couples of runs next to each other",
    "buckets": "I/Os without order: counts resampled as if I/Os were independent; too narrow where they cluster",
    "bucket-series": "I/Os per interval: blocks of intervals are resampled; bounds are edges of buckets",
}


# The answer -----------------------------------------------------------------------------------------------------------


def is_judged(comparison: Comparison) -> bool:
    """Whether there is a verdict beside what is predicted."""
    return any(row.off_by is None or row.outcome for row in comparison.rows()) or not any(comparison.rows())


def answer(comparison: Comparison) -> tuple[str, Outcome]:
    """'WORSE: latency of a +12.0 %', and the outcome that it tells; what is better beside that is named, too."""
    better = _named(comparison, Outcome.BETTER)
    for outcome, beside in ((Outcome.WORSE, f"; better: {better}" if better else ""), (Outcome.BETTER, "")):
        if named := _named(comparison, outcome):
            return f"{outcome.value.upper()}: {named}{beside}", outcome
    for outcome in (Outcome.WORSE, Outcome.BETTER):
        if agreed := _agreed(comparison, outcome):
            return f"{outcome.value.upper()} TAKEN TOGETHER: {agreed}", outcome
    if not comparison.pairs:
        return "CANNOT TELL: nothing on one side belongs to something on the other.", Outcome.UNDECIDED
    if comparison.count(Outcome.SAME) and not comparison.count(Outcome.UNDECIDED):
        return "NO DIFFERENCE SHOWN.", Outcome.SAME
    if comparison.count(Outcome.SAME):
        words = "NO DIFFERENCE SHOWN where the evidence is enough; the rest cannot be told."
        return words, Outcome.UNDECIDED
    reasons = {row.reason for row in comparison.rows() if row.outcome is Outcome.UNDECIDED}
    if not any(comparison.rows()):
        reasons = {"no figure that was looked for can be compared"}
    elif not reasons and comparison.pairs and all(row.better is None for row in comparison.rows()):
        reasons = {"only figures of the load were compared, which are neither better nor worse"}
    return f"CANNOT TELL{': ' + reasons.pop() if len(reasons) == 1 else ''}.", Outcome.UNDECIDED


def _named(comparison: Comparison, outcome: Outcome) -> str:
    return _few(
        f"{row.metric} of {pair.name} {change(row.change)}"
        for pair in comparison.pairs
        for row in pair.rows
        if row.outcome is outcome
    )


def _agreed(comparison: Comparison, outcome: Outcome) -> str:
    """'latency of 38 of 38 access specifications higher, median +50.0 %'."""
    found = [one for one in comparison.agreements if one.outcome is outcome]
    return "; ".join(_agreement_words(one, with_what=index == 0) for index, one in enumerate(found))


def _agreement_words(one: Agreement, *, with_what: bool = True) -> str:
    is_higher = one.change_median > 0
    count, rose = (one.higher, "higher") if is_higher else (one.lower, "lower")
    what = " access specifications" if with_what else ""
    return f"{one.metric} {rose} in {count} of {one.higher + one.lower}{what}, median {change(one.change_median)}"


def agreements_told(comparison: Comparison) -> list[str]:
    """What the access specifications say together, and what that rests on."""
    found = [one for one in comparison.agreements if one.outcome in _FOUND]
    if not found:
        return []
    said = [
        f"taken together: {_agreement_words(one)} (from {change(one.change_median_low)} to "
        f"{change(one.change_median_high)}; by chance {chance(one.p_value_adjusted)}): {one.outcome.value}"
        for one in found
    ]
    return [*said, _WHAT_SIGNS_TELL]


def counted_outcomes(comparison: Comparison) -> str:
    """'1 worse, 3 cannot tell; changes below 5 % do not count, ...'; empty where nothing was judged."""
    counts = [f"{comparison.count(outcome)} {outcome.value}" for outcome in Outcome if comparison.count(outcome)]
    if not counts:
        return ""
    return (
        f"{', '.join(counts)}; changes below {format_ratio(comparison.threshold)} do not count, intervals at "
        f"{format_ratio(comparison.level)}"
    )


def predictions_off_by(comparison: Comparison) -> str:
    """Of each prediction one figure; of more than are named those that are off most, and what all are on average."""
    found = predictions_told(comparison)
    named = _few((f"{row.metric} of {pair.name} off by {change(off)}" for pair, row, off in found), rest=" and {} less")
    if len(found) <= _NAMES_SHOWN:
        return named
    return f"{named}; {format_ratio(sum(abs(off) for *_, off in found) / len(found))} on average"


def predictions_told(comparison: Comparison) -> list[tuple[PairResult, MetricRow, float]]:
    """Of each prediction the figure that tells it, and how far it is off, as a ratio.

    That is the rate where there is one, since latency then follows from it. Where there are more than are named, those
    that are off most come first: the first of the table would say that all are as near.
    """
    found = []
    for pair in comparison.pairs:
        rows = [row for row in pair.rows if row.off_by is not None and row.reason == PREDICTION]
        row = next((row for row in rows if row.metric == "iops"), rows[0] if rows else None)
        if row is not None and row.off_by is not None:
            found.append((pair, row, row.off_by))
    return found if len(found) <= _NAMES_SHOWN else sorted(found, key=lambda one: -_times_off(one[2]))


def _times_off(off_by: float) -> float:
    """How many times too much or too little, so that half is as far off as twice."""
    times = 1.0 + off_by
    return max(times, 1.0 / times) if times > 0 else math.inf


def _few(said: Iterable[str], between: str = ", ", rest: str = " and {} more") -> str:
    found = list(said)
    more = rest.format(len(found) - _NAMES_SHOWN) if len(found) > _NAMES_SHOWN else ""
    return between.join(found[:_NAMES_SHOWN]) + more


# Beneath the table ----------------------------------------------------------------------------------------------------


def reasons_told(comparison: Comparison) -> list[str]:
    """What rows say together; why their outcome is what it is, rows of one reason together."""
    reasons: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for pair in comparison.pairs:
        for row in pair.rows:
            if row.outcome and row.reason:
                reasons[row.outcome.value, row.reason][pair.name].append(row.metric)
    return agreements_told(comparison) + [
        f"{outcome}: {reason}{f' ({_rows(rows)})' if len(reasons) > 1 else ''}"
        for (outcome, reason), rows in reasons.items()
    ]


def _rows(rows: dict[str, list[str]]) -> str:
    """'latency, iops of A; p99 of B', cut after a few."""
    return _few((f"{', '.join(metrics)} of {name}" for name, metrics in rows.items()), "; ", "; and {} more")


def advice(comparison: Comparison) -> list[str]:
    """What would tell more than this comparison does."""
    barred = any(row.reason == NOT_THE_SAME_LOAD for row in comparison.rows())
    if not comparison.of_runs:
        hours = "Hours of like load compare (since=, until=); --allow-different-load judges these as they are."
        return [hours] if barred else []
    said = []
    if barred:
        said.append("What was driven differently is not judged: --allow-different-load judges it as it is.")
    if _chance_is_unknown(comparison):
        said.append(
            "To know what chance can do: three or more runs a side, best taken in turn (A B A B A B), or results per "
            "interval (fio --status-interval=1)."
        )
    elif any(row.outcome in _FOUND and row.method in _WITHIN_A_RUN for row in comparison.rows()):
        said.append(
            "The intervals are from one run a side and do not know how much runs differ: before you rely on a change, "
            "three or more runs a side, best taken in turn (A B A B A B)."
        )
    elif _is_too_short(comparison):
        seeds = ", of simulations each with another --seed" if _is_simulated(comparison) else ""
        said.append(f"What is too short to judge by one run a side, three or more a side tell{seeds}.")
    return said


def _is_too_short(comparison: Comparison) -> bool:
    """Whether the intervals of one run a side, which may not last longer between two changes, leave a row undecided."""
    return any(
        pair.is_comparable and row.outcome is Outcome.UNDECIDED and row.method in _WITHIN_A_RUN
        for pair in comparison.pairs
        if len(pair.runs_before) == len(pair.runs_after) == 1
        for row in pair.rows
        if "independent values" in row.reason or "no bound" in row.reason
    )


def _is_simulated(comparison: Comparison) -> bool:
    return all(subject.engine == _SIMULATOR for pair in comparison.pairs for subject in pair.subjects)


def _chance_is_unknown(comparison: Comparison) -> bool:
    return any(
        pair.is_comparable and row.outcome is Outcome.UNDECIDED and row.method in ("none", "buckets")
        for pair in comparison.pairs
        if len(pair.runs_before) == len(pair.runs_after) == 1  # more that agree to the last digit need no more of them
        for row in pair.rows
    )


def about_pairs(said: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Sentences, each after the names of the pairs it is about; one that is about several is told once."""
    about: dict[str, list[str]] = {}
    for sentence, name in said:
        about.setdefault(sentence, []).append(name)
    for sentence, names in about.items():
        yield said_of(_few(names, "; " if any(", " in name for name in names) else ", "), sentence)


def distributions_told(pairs: Sequence[PairResult]) -> list[str]:
    """Of each pair with distributions how often an I/O after takes longer."""
    return [
        f"latencies of {pair.name}: an I/O after takes longer than one before in "
        f"{format_ratio(pair.distribution.probability_slower)} of random pairs (Mann-Whitney, by chance "
        f"{chance(pair.distribution.p_value)} if I/Os were independent, which they are not)"
        for pair in pairs
        if pair.distribution is not None
    ]


def methods_told(comparison: Comparison) -> list[str]:
    """How each interval came about."""
    used = {row.method for row in comparison.rows()}
    said = [f"interval from {words}." for method, words in _METHODS.items() if method in used]
    if len(comparison.pairs) > 1 and any(row.p_value is not None for row in comparison.rows()):
        said.append(
            f"A verdict takes into account that each metric is compared {len(comparison.pairs)} times (Holm); the "
            "column 'by chance' is of the row alone."
        )
    return said
