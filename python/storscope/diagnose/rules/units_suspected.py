"""A counter seems to be in another unit than it says.

Looks for
    A constant factor near 1,000, 1,024, 512 or a million between operations x latency and the queue depth, and bytes
    over operations that give I/O sizes no storage uses.

Why it matters
    A latency in µs read as ms makes a healthy array look dead, and the other way round.

Evidence
    Operations and latency with queue depth, or operations with bytes, of block devices over at least 20 intervals.

When it is wrong
    A counter that is simply wrong gives any factor, and by chance one near 1,000.

References
    Little's law as in littles-law. I/O sizes: a sector has 512 bytes; the largest I/O of the common hosts is 32 MiB
    (ESX: Disk.DiskMaxIOSize 32,767 KiB). A published trap: EVA counters whose names end in "us" and are divided by
    1,000,000 to get ms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, listed, observed
from storscope.diagnose.rules._little import Comparison, comparisons, unit_factor
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_bytes
from storscope.store.series import Series

_NAME = "units-suspected"
_BLOCK_KINDS = ("device", "vdisk", "disk", "vm_disk", "partition")
_PAIRS = (("read_bytes_per_s", "read_ops_per_s"), ("write_bytes_per_s", "write_ops_per_s"),
          ("bytes_per_s", "ops_per_s"))  # fmt: skip


@dataclass(frozen=True)
class _Size:
    entity: EntityRef
    bytes_column: str
    ops_column: str
    size_bytes: float


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    compared = comparisons(case, settings)
    sizes = [size for series in case.series(*_BLOCK_KINDS).values() for size in _sizes(series, settings)]
    if not compared and not sizes:
        return [
            NotEvaluated(_NAME, "operations with queue depth and latency, or with bytes, of block devices over time")
        ]
    outcomes: list[Outcome] = []
    factors: dict[tuple[str, str, float], list[Comparison]] = defaultdict(list)
    for one in compared:
        if (factor := unit_factor(one.ratio)) is not None:
            factors[one.entity.system, one.entity.kind, factor].append(one)
    outcomes += [_by_factor(case, factor, found) for (_, _, factor), found in sorted(factors.items())]
    odd: dict[tuple[str, str, str, bool], list[_Size]] = defaultdict(list)
    for size in sizes:
        small = size.size_bytes < settings["io_size_bytes_min"]
        if small or size.size_bytes > settings["io_size_bytes_max"]:
            odd[size.entity.system, size.entity.kind, size.bytes_column, small].append(size)
    outcomes += [_by_size(case, found, small) for (_, _, _, small), found in sorted(odd.items())]
    return outcomes or [Healthy(_NAME, _healthy_words(compared, sizes))]


def _healthy_words(compared: list[Comparison], sizes: list[_Size]) -> str:
    words = []
    if sizes:
        words.append(_size_words([size.size_bytes for size in sizes]))
    if compared:
        words.append(f"no constant factor in Little's law on {counted(len(compared), 'entity', 'entities')}")
    return "Units look right: " + "; ".join(words) + "."


def _size_words(sizes_bytes: Sequence[float]) -> str:
    """From the smallest to the largest; one, where they are written alike."""
    low, high = (format_bytes(round(size)) for size in (min(sizes_bytes), max(sizes_bytes)))
    return f"I/Os of {low} on average" if low == high else f"I/O sizes between {low} and {high}"


def _sizes(series: Series, settings: Settings) -> list[_Size]:
    """Mean bytes an operation, of each direction that has load; of the total only where directions are unknown."""
    found: list[_Size] = []
    for bytes_column, ops_column in _PAIRS:
        if (ops_column == "ops_per_s" and found) or not series.has(bytes_column, ops_column):
            continue
        moved, ops = series[bytes_column], series[ops_column]
        keep = np.isfinite(moved) & np.isfinite(ops)
        if keep.sum() >= settings["samples_min"] and ops[keep].mean() >= settings["ops_per_s_min"]:
            size = float(moved[keep].sum() / ops[keep].sum())
            if size > 0:
                found.append(_Size(series.entity, bytes_column, ops_column, size))
    return found


def _by_factor(case: Case, factor: float, compared: list[Comparison]) -> Finding:
    worst = max(compared, key=lambda one: (one.in_flight, one.entity))
    entities = [one.entity for one in compared]
    shown = f"{factor:,.0f}" if factor > 1 else f"1/{1 / factor:,.0f}"
    high = factor > 1
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.85,
        title=f"Latency of {counted(len(compared), worst.entity.kind)} of {worst.entity.system} is off by {shown}",
        summary=(
            f"On {case.label(worst.entity)} operations x latency is {worst.ratio.estimate:.4g} times the counted queue "
            f"depth, constantly (95 % interval {worst.ratio.low:.4g} to {worst.ratio.high:.4g}): the latency is "
            f"probably {'smaller' if high else 'greater'} than shown by {shown if high else f'{1 / factor:,.0f}'} "
            f"times. Concerned: {listed(case, entities)}."
        ),
        why="Every latency of these entities is wrong by that factor, and with it each finding that uses it.",
        innocent="The queue depth, not the latency, is in another unit, or a broken counter gives it by chance.",
        check="Compare one latency with another tool, or read the unit in the source's heading.",
        remedy="Import the source again with the right unit, or tell us: the importer may have read the unit wrongly.",
        source="Within 12 % of a factor of units, constant over time: ours.",
        entities=tuple(entities),
        evidence=(
            case.evidence(
                "Operations x latency against the counted queue depth",
                f"""SELECT kind, entity, count(*) AS intervals, avg(ops_per_s) AS ops_per_s_mean,
                avg({worst.latency_column}) AS {worst.latency_column}, avg(queue_depth_mean) AS queue_depth_mean,
                avg(ops_per_s * {worst.latency_column} / 1e9) / nullif(avg(queue_depth_mean), 0) AS ratio
                FROM observations WHERE {observed(case, entities)} GROUP BY kind, entity ORDER BY kind, entity""",
            ),
        ),
        weight=0.4,
        numbers={"factor": factor, "ratio": worst.ratio.estimate},
    )


def _by_size(case: Case, sizes: list[_Size], small: bool) -> Finding:
    worst = (min if small else max)(sizes, key=lambda size: size.size_bytes)
    entities = [size.entity for size in sizes]
    guess = _guess(worst.size_bytes)
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.8,
        title=f"Bytes of {counted(len(sizes), worst.entity.kind)} of {worst.entity.system} give impossible I/O sizes",
        summary=(
            f"On {case.label(worst.entity)} {worst.bytes_column} over {worst.ops_column} is "
            f"{format_bytes(worst.size_bytes)} an operation. {guess} Concerned: {listed(case, entities)}."
        ),
        why="Throughput of these entities is wrong by the same factor, and so is what is concluded about I/O sizes.",
        innocent="Most operations carry no data (flushes, unmap, reservations), which makes the mean small.",
        check="Read the unit in the source's heading, or compare the throughput with another tool.",
        remedy="Import the source again with the right unit, or tell us: the importer may have read the unit wrongly.",
        source="Below a sector of 512 bytes or above 64 MiB: no host issues such I/Os.",
        entities=tuple(entities),
        evidence=(
            case.evidence(
                "Bytes and operations",
                f"""SELECT kind, entity, avg({worst.bytes_column}) AS {worst.bytes_column},
                avg({worst.ops_column}) AS {worst.ops_column},
                sum({worst.bytes_column}) / nullif(sum({worst.ops_column}), 0) AS io_size_bytes
                FROM observations WHERE {observed(case, entities)} GROUP BY kind, entity ORDER BY kind, entity""",
            ),
        ),
        weight=0.2,
        numbers={"io_size_bytes": worst.size_bytes},
    )


def _guess(size_bytes: float) -> str:
    for factor, words in ((1024.0, "KiB were taken for bytes"), (512.0, "sectors were taken for bytes"),
                          (1024.0**2, "MiB were taken for bytes")):  # fmt: skip
        if 512 <= size_bytes * factor <= 1024**2:
            return f"Times {factor:,.0f} it would be {format_bytes(round(size_bytes * factor))}: perhaps {words}."
        if 512 <= size_bytes / factor <= 1024**2:
            return f"Divided by {factor:,.0f} it would be {format_bytes(round(size_bytes / factor))}: a unit too many."
    return "No common unit explains it."


RULE = Rule(
    name=_NAME,
    title="a counter seems to be in another unit than it says",
    evaluate=_evaluate,
    thresholds=(
        Threshold("io_size_bytes_min", 512, "mean I/O size below which bytes are doubted", "a sector"),
        Threshold("io_size_bytes_max", 64 * 1024**2, "mean I/O size above which bytes are doubted",
                  "ours: twice the largest I/O of ESX"),
        Threshold("ops_per_s_min", 100, "mean operations per second below which a mean size says nothing",
                  "ours: tools that print 0.01 MB/s lose small amounts"),
        Threshold("samples_min", 20, "intervals below which nothing is said", "ours"),
        Threshold("queue_depth_min", 0.0005, "mean operations in flight, below which nothing is said",
                  "ours: a latency that is 1,000 times too small hides a queue of 0.5"),
    ),
)  # fmt: skip
