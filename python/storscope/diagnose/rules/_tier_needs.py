"""What it would take to judge latency, by what there is: few intervals, nothing at work, no latency, no counters."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._entities import counted
from storscope.diagnose.rules._intervals import seconds, weighted_mean
from storscope.diagnose.rules._load import kind_word, named
from storscope.domain.arrays import BoolArray
from storscope.domain.units import NS_PER_S, format_duration, format_rate, format_span
from storscope.store.series import Series

_FROM = "(iostat -x -t, esxtop -b, perfmon, EVAperf)"


def needs_words(case: Case, settings: Settings, every: Iterable[Series]) -> str:
    """The evidence that is lacking, of things none of which could be judged; the one nearest to it is named."""
    known = [series for series in every if series.has("ops_per_s") or series.has("latency_ns_mean")]
    timed = [series for series in known if series.has("latency_ns_mean")]
    if timed:
        most = max(timed, key=lambda series: int(_at_work(settings, series).sum()))
        return _more_words(case, settings, most)
    if known:
        first = known[0].entity
        what = f"{len(known):,} {kind_word(first.kind, len(known))} of {first.system}"
        return f"latency per interval {_FROM}: of {what} only operations are told, and not how long they take"
    return f"latency and operations per interval {_FROM}"


def _at_work(settings: Settings, series: Series) -> BoolArray:
    told: BoolArray = np.isfinite(series["latency_ns_mean"])
    if series.has("ops_per_s"):
        told = told & (np.nan_to_num(series["ops_per_s"]) >= settings["idle_ops_per_s"])
    return told


def _more_words(case: Case, settings: Settings, series: Series) -> str:
    """What is lacking of something whose latency is told, and what there is of it."""
    at_work, least = _at_work(settings, series), settings["intervals_min_count"]
    idle, long = format_rate(settings["idle_ops_per_s"]), format_span(settings["held_up_s"] * NS_PER_S)
    words = f"{least:g} intervals with {idle} or more, or two of {long} together"
    count, name = int(at_work.sum()), named(case, series.entity)
    if not count:
        return f"{words}: {name}, like all that was seen, did less"
    rate = series["ops_per_s"] if series.has("ops_per_s") else np.ones(len(series))
    mean_ns = weighted_mean(series["latency_ns_mean"][at_work], rate[at_work])
    lasted = format_span(float(seconds(series)[at_work].sum()) * NS_PER_S)
    return (
        f"{words}: {name} has {counted(count, 'interval')} of them ({lasted}, with a mean of "
        f"{format_duration(mean_ns)})"
    )
