"""Latency goes with the size of the I/O: large transfers, not a slow storage.

Looks for
    Entities of which the mean I/O size explains more than half of the differences in latency, with I/O of 64 KiB and
    more among them; and by how many milliseconds latency rises per 64 KiB.

Why it matters
    A read of 256 KiB takes longer than one of 8 KiB on any storage. Where size explains latency, milliseconds say
    little: judge those hours by MB/s, and look for trouble elsewhere.

Evidence
    Operations, bytes and latency per interval, over at least 30 busy intervals.

When it is wrong
    Backups bring large I/O and much load at once; where load explains latency nearly as well, or
    where small I/O on the same components slows down at the same times, nothing is said. The size is the mean of an
    interval: a few large copies among many small operations hardly move it.

References
    IBM DS8800 performance book and VMware (2014) on large I/O and Disk.DiskMaxIOSize; half of the variance at 64 KiB is
    common practice, no citation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import size_bytes
from storscope.diagnose.peers import Grid, grids
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, in_use, listed
from storscope.diagnose.rules._load import between, kind_word, named
from storscope.diagnose.windows import busy
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import KIB, format_bandwidth, format_bytes, format_duration, format_ratio
from storscope.model.bootstrap import Interval, block_length, interval_of_sums
from storscope.model.regression import coefficients, explained_share, moments, scaled, total_moments

_NAME = "latency-follows-io-size"
_KINDS = ("vdisk", "device", "datastore", "vm_disk", "vm", "disk_group", "array")
_STEP_BYTES = 64 * KIB
_SPREAD_MIN = 1.5
"""Large over small size; below it there is no size to explain anything by."""
_TAIL_INTERVALS = 10
_TAIL_MAX, _TAIL_MIN = 0.05, 0.002
"""Small and large size are those of the outermost ten intervals (ours), so that one hour a day, or a week, is seen."""


_OTHERS = (*_KINDS, "partition", "process")
_IN_STEP = 0.6
"""Correlation of log latency with that of small I/O from which the cause is common to both (ours)."""
_LOAD_AS_WELL = 0.7
"""Where load explains this much of what size explains, the two rise together and size is not to blame (ours)."""


@dataclass(frozen=True)
class _Fit:
    """Latency by I/O size for one entity. Sizes in steps of 64 KiB."""

    entity: EntityRef
    share: float
    """Share of the variance of latency that size explains."""
    share_of_load: float
    """Share that operations per second explain, where latency rises with them."""
    slope_ns: float
    """Nanoseconds per 64 KiB."""
    size_small: float
    size_large: float
    """Mean sizes that the outermost ten intervals reach, bytes."""
    large_ns: float
    small_ns: float
    """Fitted latency there."""
    bytes_per_s: float
    """Bytes per second that the busiest ten intervals reach."""
    columns: FloatArray
    weights: FloatArray
    start_ns: int
    end_ns: int


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    fits: dict[str, list[_Fit]] = defaultdict(list)
    for grid in grids(case, _KINDS):
        for column in range(len(grid.entities)):
            fit = _fit(settings, grid, column)
            if fit is not None:
                fits[grid.system].append(fit)
    if not fits:
        return [
            NotEvaluated(
                _NAME,
                f"operations, bytes and latency over at least {settings['intervals_min_count']:.0f} busy intervals "
                "(iostat -x -t, esxtop -b)",
            )
        ]
    return [_judge(case, settings, system, found) for system, found in fits.items()]


def _fit(settings: Settings, grid: Grid, column: int) -> _Fit | None:
    ops, moved, latency = grid.ops[:, column], grid.bytes[:, column], grid.latency_ns[:, column]
    keep = np.isfinite(ops) & np.isfinite(moved) & np.isfinite(latency) & busy(ops) & (np.nan_to_num(moved) > 0)
    if keep.sum() < settings["intervals_min_count"]:
        return None
    ops, size, latency = ops[keep], moved[keep] / ops[keep] / _STEP_BYTES, latency[keep]
    # Weighted by operations, but no interval counts more than four usual ones; a single spike makes no slope.
    weights = np.minimum(ops / np.median(ops), 4.0)
    tail = min(_TAIL_MAX, max(_TAIL_MIN, _TAIL_INTERVALS / len(size)))
    columns = np.column_stack([size, np.minimum(latency, np.quantile(latency, max(0.995, 1 - tail / 2)))])
    sums = total_moments(columns, weights)
    offset, slope = (float(each) for each in coefficients(sums, 2)[0])
    by_load = total_moments(np.column_stack([ops, columns[:, 1]]), weights)
    rises = float(coefficients(by_load, 2)[0, 1]) > 0
    small, large = np.quantile(size, [tail, 1 - tail])
    times = grid.time_ns[keep]
    return _Fit(
        grid.entities[column], float(explained_share(sums, 2)[0]),
        float(explained_share(by_load, 2)[0]) if rises else 0.0, slope, float(small) * _STEP_BYTES,
        float(large) * _STEP_BYTES, offset + slope * float(large), offset + slope * float(small),
        float(np.quantile(moved[keep], 1 - tail)), columns, weights, int(times[0]), int(times[-1]) + grid.step_ns,
    )  # fmt: skip


def _judge(case: Case, settings: Settings, system: str, fits: list[_Fit]) -> Outcome:
    failed = {fit.entity: _failed(case, settings, fit) for fit in fits}
    explained = [fit for fit in fits if not failed[fit.entity]]
    if not explained:
        most = max(fits, key=lambda fit: fit.share)
        return Healthy(_NAME, _not_blamed(case, settings, system, most, failed[most.entity]))
    kind = min((fit.entity.kind for fit in explained), key=_KINDS.index)
    own = sorted((fit for fit in explained if fit.entity.kind == kind), key=lambda fit: (-fit.share, fit.entity))
    return _finding(case, settings, own)


def _not_blamed(case: Case, settings: Settings, system: str, most: _Fit, failed: str) -> str:
    sizes = f"{format_bytes(most.size_small)} to {format_bytes(most.size_large)}"
    if most.share <= settings["explained_share"]:
        return (
            f"I/O size does not explain latency on {system}: at most {format_ratio(most.share)} of its differences "
            f"({named(case, most.entity)}, sizes {sizes})."
        )
    return (
        f"I/O size is not to blame on {system}: {format_ratio(most.share)} of the differences in latency of "
        f"{named(case, most.entity)} go with the size ({sizes}), but {failed}."
    )


def _failed(case: Case, settings: Settings, fit: _Fit) -> str:
    """What speaks against the size, in words; empty when nothing does."""
    if fit.share <= settings["explained_share"]:
        return f"it explains only {format_ratio(fit.share)}"
    if fit.size_large < settings["large_io_bytes"]:
        return f"none is large: that begins at {format_bytes(settings['large_io_bytes'])}"
    if fit.size_large < _SPREAD_MIN * max(fit.size_small, 1.0):
        return "the sizes hardly differ"
    if fit.slope_ns <= 0:
        return "the larger I/O is the quicker one"
    if fit.share_of_load >= _LOAD_AS_WELL * fit.share:
        return f"its operations per second explain {format_ratio(fit.share_of_load)} as well"
    other = _small_that_suffers_too(case, settings, fit.entity)
    return f"the small I/O of {named(case, other)} is slow at the same times" if other else ""


def _small_that_suffers_too(case: Case, settings: Settings, entity: EntityRef) -> EntityRef | None:
    """Whose small I/O, on the entity or beside it, is slow at the same times: then size is not to blame."""
    whole = case.all_series[entity]
    for other, series in case.all_series.items():
        if other == entity or other.system != entity.system or other.kind not in _OTHERS:
            continue
        if entity not in case.components(other) and not case.shared_components(entity, other):
            continue
        if not np.array_equal(series.time_ns, whole.time_ns):
            continue
        size = size_bytes(series)
        with np.errstate(divide="ignore", invalid="ignore"):
            one, two = np.log(whole["latency_ns_mean"]), np.log(series["latency_ns_mean"])
        known = np.isfinite(size) & np.isfinite(one) & np.isfinite(two)
        enough = known.sum() >= settings["intervals_min_count"]
        is_small = enough and np.quantile(size[known], 0.95) < settings["large_io_bytes"]
        if is_small and float(np.mean(scaled(one[known]) * scaled(two[known]))) > _IN_STEP:
            return other
    return None


def _bounds(case: Case, fit: _Fit) -> Interval:
    """Slope per 64 KiB with its interval by blocks of time."""
    solved = np.polyfit(fit.columns[:, 0], fit.columns[:, 1], 1)
    residual = fit.columns[:, 1] - np.polyval(solved, fit.columns[:, 0])
    block = max(block_length(residual), block_length(fit.columns[:, 0]))
    rows = moments(fit.columns, fit.weights)
    return interval_of_sums(rows, lambda sums: coefficients(sums, 2)[:, 1], block=block, seed=case.seed, replicates=200)


def _finding(case: Case, settings: Settings, fits: list[_Fit]) -> Finding:
    fit = fits[0]
    slope = _bounds(case, fit)
    what = (
        named(case, fit.entity)
        if len(fits) == 1
        else counted(len(fits), *(kind_word(fit.entity.kind, n) for n in (1, 2)))
    )
    entities = [each.entity for each in fits]
    return Finding(
        rule=_NAME,
        severity=Severity.INFO,
        confidence=0.8,
        title=f"Latency of {what} follows the I/O size: judge by MB/s",
        summary=(
            f"For {named(case, fit.entity)} the mean I/O size explains {format_ratio(fit.share)} of the differences in "
            f"latency: {format_duration(slope.estimate)} more per 64 KiB ({between(slope, format_duration)}), from "
            f"{format_duration(fit.small_ns)} at {format_bytes(fit.size_small)} to {format_duration(fit.large_ns)} at "
            f"{format_bytes(fit.size_large)}, with up to {format_bandwidth(fit.bytes_per_s)}. "
            + (f"The same holds for {listed(case, entities[1:])}." if len(fits) > 1 else "")
        ).strip(),
        why="A limit in milliseconds condemns every backup. What counts for large transfers is bytes per second.",
        innocent=(
            "This is the innocent explanation for high latency. It fails where large I/O only comes with high load, "
            "and the load is what slows."
        ),
        check=(
            "Compare MB/s in those intervals with what the link and the drives can do (1 Gbit/s carries about 115 "
            "MB/s); if it is near, the transfer is as fast as it can be."
        ),
        remedy=(
            "Judge these hours by MB/s; run backups and copies outside office hours; if small I/O suffers beside them, "
            "limit the size the host passes on (ESX: Disk.DiskMaxIOSize 128 KiB)."
        ),
        source=f"More than {format_ratio(settings['explained_share'])} of the variance at sizes of "
        f"{format_bytes(settings['large_io_bytes'])} and more: common practice, no citation.",
        entities=entities,
        start_ns=min(each.start_ns for each in fits),
        end_ns=max(each.end_ns for each in fits),
        evidence=(_rows(case, entities),),
        weight=0.5 * fit.share,
        numbers={
            "explained_share": fit.share, "slope_ns_per_64kib": slope.estimate, "slope_ns_per_64kib_low": slope.low,
            "slope_ns_per_64kib_high": slope.high, "size_bytes_large": fit.size_large,
            "bytes_per_s_high": fit.bytes_per_s, "entities": float(len(fits)),
        },
    )  # fmt: skip


def _rows(case: Case, entities: list[EntityRef]) -> EvidenceRows:
    """Latency by classes of size, each class twice the one before."""
    return case.evidence(
        "Latency by mean I/O size",
        f"""SELECT entity, CAST(round(pow(2, floor(log2(bytes_per_s / ops_per_s)))) AS BIGINT) AS size_bytes_from,
        count(*) AS intervals, round(median(latency_ns_mean)) AS latency_ns_median,
        round(median(bytes_per_s)) AS bytes_per_s_median
        FROM observations WHERE {
            in_use(case, entities[:5], "latency_ns_mean IS NOT NULL", "ops_per_s >= 1", "bytes_per_s > 0")
        }
        GROUP BY ALL ORDER BY entity, size_bytes_from""",
    )


RULE = Rule(
    name=_NAME,
    title="latency is explained by the size of the I/O",
    evaluate=_evaluate,
    thresholds=(
        Threshold("explained_share", 0.5, "share of the variance of latency that size must explain",
                  "common practice, no citation"),
        Threshold("large_io_bytes", 64 * KIB, "mean size that must be reached by the ten intervals with the largest",
                  "64 KiB: largest I/O of Windows Server 2003; backups use 64 to 256 KiB"),
        Threshold("intervals_min_count", 30, "busy intervals below which nothing is said", "ours"),
    ),
)  # fmt: skip
