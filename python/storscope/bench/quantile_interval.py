"""How sure a quantile of a run is, from its samples' histograms.

Its interval is that of the share of I/Os below it, read back from the histogram (Woodruff, "Confidence intervals for
medians and other position measures", 1952). The share varies from sample to sample as slow times come and go, so its
own interval is that of a mean over time (interval.rs), and never narrower than so many independent I/Os allow.

Beware: what came only a few times in the run, as the stalls of a device do, may come twice as often in the next one or
not at all. A quantile that rests on it has a lower bound at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from storscope import _core
from storscope.bench.buckets import Buckets

_LEAST_STRETCHES = 10
"""So often samples with I/Os as slow as a bound must have come, apart from each other, for an interval of a quantile.

Of fewer it is not known whether the usual number was seen, and an interval appears where there were few: in 150
simulations of a queue (M/M/1 at 80 % for a minute) 15 gave one of p99.9, of which one held the truth. With this bound
none does, and of p99 four fifths as many as before, as sound as before."""


def quantile_bounds(
    share: float, parts: Sequence[Buckets], confidence: float
) -> tuple[float | None, float | None, float | None]:
    """Low and high in ns, and about how many independent samples they rest on. What cannot be told is None.

    The low one is from how the share of I/Os below the quantile's bucket varies, the high one from that up to its end:
    one bucket may hold many I/Os, of a steady device or of a single stall, so that the two are not alike.
    """
    whole = Buckets.merged(parts)
    bucket = whole.bucket_of(share)
    assert bucket is not None  # there are I/Os, or the figure would have no value
    below = _share_up_to(bucket[0] - 1, parts, share, confidence)
    up_to = _share_up_to(bucket[1], parts, share, confidence)
    if below is None or up_to is None:
        return None, None, None
    low = whole.bucket_of(share - below.half_width) if share > below.half_width else None
    if low is None or _is_rare(low[0], parts):
        return _surely_reached(share, whole, parts, confidence), None, None
    is_seen = share + up_to.half_width < 1.0 and not _is_rare(bucket[0], parts)
    high = whole.bucket_of(share + up_to.half_width) if is_seen else None
    if high is None:
        return float(low[0]), None, None
    return float(low[0]), float(high[1]), min(below.independent, up_to.independent)


@dataclass(frozen=True)
class _Share:
    """A share of all I/Os and how far it may be off, from about so many independent samples."""

    value: float
    half_width: float
    independent: float


def _share_up_to(high_ns: int, parts: Sequence[Buckets], share: float, confidence: float) -> _Share | None:
    """Of I/Os in buckets that begin at or below; `share` is what it is about. None of too few samples."""
    reached = np.asarray([part.at_most(high_ns) for part in parts], dtype=np.float64)
    counts = np.asarray([part.total for part in parts], dtype=np.float64)
    value = float(reached.sum() / counts.sum())
    found = _core.mean_interval(((reached - value * counts) / counts.mean()).tolist(), confidence)
    if found is None:
        return None
    # Of n independent I/Os the share itself is uncertain by this much, however alike the samples are.
    least = NormalDist().inv_cdf(0.5 + confidence / 2.0) * math.sqrt(share * (1.0 - share) / counts.sum())
    return _Share(value, max(found[1], least), found[2])


def _surely_reached(share: float, whole: Buckets, parts: Sequence[Buckets], confidence: float) -> float | None:
    """A lower bound of a quantile that rests on I/Os which came too seldom: one that enough stretches reach.

    The share of I/Os below it is surely smaller than the quantile's, also without the rare ones: these are what makes
    that share vary.
    """
    tail = 2.0 * (1.0 - share)
    while tail < 0.5:  # a coarse search: the bound may be lower than it had to be, and is never higher
        bucket = whole.bucket_of(1.0 - tail)
        below = None if bucket is None else _share_up_to(bucket[0] - 1, parts, share, confidence)
        if bucket is None or below is None:
            return None
        if below.value + below.half_width <= share and not _is_rare(bucket[0], parts):
            return float(bucket[0])
        tail *= 2.0
    return None


def _is_rare(low_ns: int, parts: Sequence[Buckets]) -> bool:
    """Whether I/Os in the bucket that begins there, or slower, came too seldom to tell how often they do."""
    has_some = np.asarray([len(part.low) > 0 and int(part.low[-1]) >= low_ns for part in parts], dtype=np.bool_)
    stretches = int(has_some[0]) + int(np.count_nonzero(has_some[1:] & ~has_some[:-1]))
    return stretches < _LEAST_STRETCHES and 2 * int(np.count_nonzero(has_some)) <= len(parts)
