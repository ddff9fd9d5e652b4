"""Shows how sure a measurement is: its figures with their intervals, the warm-up, and why it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.text_table import print_sentences
from storscope.domain.interval_words import lopsided_words
from storscope.domain.units import format_span

if TYPE_CHECKING:
    from storscope.bench.judgement import Judgement
    from storscope.bench.settling import Estimate

_NEARLY_ALL = 0.95
_SHOWN = {
    "iops": "IOPS", "bandwidth": "throughput", "mean": "mean", "p50": "p50", "p99": "p99", "p99.9": "p99.9",
    "flush-iops": "flushes", "flush-mean": "flush mean", "flush-p99": "flush p99",
}  # fmt: skip


def print_judgement(
    judgement: Judgement, measured_ns: int, run_ns: int | None = None, *, marks: bool = True
) -> None:  # fmt: skip
    """The figures of I/Os and of flushes, each with its interval, and doubts; with `marks` the chosen one is marked."""
    click.secho("figures, with 95 % intervals", bold=True)
    for name, words in _shown(judgement).items():
        estimate = judgement.estimates.get(name)
        if estimate is not None:
            mark = "  ← measured for" if marks and name == judgement.figure else ""
            click.echo(f"  {words:<11} {estimate_words(name, estimate)}{mark}")
    whole = "" if run_ns is None or is_nearly_all(measured_ns, run_ns) else f" of the run's {format_span(run_ns)}"
    print_sentences(f"over {format_span(measured_ns)}{whole}. {judgement.start} {judgement.ended}", "  ")
    print_own_doubts(judgement)
    click.echo()


def print_own_doubts(judgement: Judgement) -> None:
    """What is doubted of the figures themselves, for a place beside them: a level that moved, a cache that filled."""
    for doubt in judgement.doubts:
        print_sentences(f"doubt: {doubt}", "  ", colour="yellow")


def other_doubts(doubts: Sequence[str], judgement: Judgement | None) -> list[str]:
    """Those of a run that do not stand beside its figures already."""
    return [doubt for doubt in doubts if judgement is None or doubt not in judgement.doubts]


def is_nearly_all(measured_ns: int, run_ns: int) -> bool:
    """Whether the figures are of the run but for what was cut off when it ended."""
    return measured_ns > _NEARLY_ALL * run_ns


def _shown(judgement: Judgement) -> dict[str, str]:
    return _SHOWN if judgement.figure in _SHOWN else {**_SHOWN, judgement.figure: judgement.figure}


def estimate_words(name: str, estimate: Estimate) -> str:
    """'81,234 IOPS ±1.3 % (80,200 IOPS to 82,300 IOPS)'; without an interval it says so.

    '2.88 ms −15 %/+6.9 % (2.46 ms to 3.08 ms)' where one end is clearly farther than the other.
    """
    from storscope.bench.judgement import shown_share, shown_value
    from storscope.bench.samples import Figure

    figure = Figure.from_name(name)
    value = shown_value(figure, estimate.value)
    low, high = shown_value(figure, estimate.low), shown_value(figure, estimate.high)
    if estimate.low is None or estimate.high is None:
        bound = f", at least {low}" if estimate.low else ""
        return f"{value} (too little data for an interval{bound})"
    if estimate.relative is None:  # of 0 there is no share
        return f"{value} ({low} to {high})"
    if estimate.relative > 1.0:  # '±' of more than all of it tells nothing
        return f"{value} ({low} to {high})" if estimate.low else f"{value} (too little data for an interval)"
    share = lopsided_words(estimate.value, estimate.low, estimate.high) or shown_share(estimate.relative)
    return f"{value} {share} ({low} to {high})"


def judgement_to_json(judgement: Judgement) -> dict[str, Any]:
    """The result as plain JSON values; every figure has its unit beside it."""
    from storscope.bench.samples import Figure
    from storscope.bench.settling import CONFIDENCE

    return {
        "figure": judgement.figure,
        "goal_met": judgement.goal_met,
        "warm_up_ns": judgement.from_ns,
        "warm_up": judgement.start,
        "ended": judgement.ended,
        "confidence": CONFIDENCE,
        "figures": {
            name: {**one.to_json(), "relative_half_width": one.relative, "unit": Figure.from_name(name).unit}
            for name, one in judgement.estimates.items()
        },
    }
