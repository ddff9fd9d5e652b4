"""Throughput of one drive by queue depth, looked for among the runs of a store."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from storscope.domain.errors import ConfigError, InputError
from storscope.domain.units import bytes_from_text, format_bytes, ns_from_ms
from storscope.sim.fitting import DepthGrid, DepthRate
from storscope.store import Store

_RUNS: Final = """
WITH rates AS (
    SELECT capture, run, sum(ops_per_s * coalesce(duration_ns, 1)) / sum(coalesce(duration_ns, 1)) AS ops_per_s
    FROM observations WHERE kind = 'job' AND run IS NOT NULL AND ops_per_s IS NOT NULL GROUP BY ALL
)
SELECT r.capture, r.run, r.name, r.system, r.block_bytes, r.read_ratio, r.outstanding, r.workers, r.status,
       r.parameters, rates.ops_per_s
FROM runs r JOIN rates USING (capture, run)
WHERE r.outstanding IS NOT NULL AND r.read_ratio IN (0, 1)
  AND (r.random_ratio >= 0.99 OR (r.random_ratio IS NULL AND contains(lower(r.name), 'rand')))
ORDER BY r.outstanding, r.workers, r.run
"""
_COUNTED_SD: Final = """
SELECT name, unit, value FROM counters
WHERE capture = ? AND run = ? AND name IN ('read.lat.stddev', 'lat_sd_ms', 'latency_sd_ms')
"""
_HISTOGRAM: Final = """
SELECT bucket_low_ns, bucket_high_ns, counts FROM histograms
WHERE capture = ? AND run = ? AND kind = 'job' AND operation = 'read' AND measure = 'service'
"""
_MOST_NAMED: Final = 12


@dataclass(frozen=True)
class FoundGrid:
    """A grid with where it comes from."""

    grid: DepthGrid
    used_bytes: int | None
    """How much of the drive was used, where the runs say so."""
    notes: tuple[str, ...]


def most_span(found: FoundGrid, size_bytes: int) -> float:
    """The share of a drive that was used; all of it where that is not known."""
    return 1.0 if found.used_bytes is None else min(1.0, found.used_bytes / size_bytes)


def grid_of(store: Store, where: str, *, only: str | None = None, block_bytes: int | None = None) -> FoundGrid:
    """The grid of the one drive that a store has runs of, or of the one called `only`.

    Raises InputError where there is none, ConfigError where it is not clear which is meant.
    """
    rows = store.query(_RUNS).to_pylist()
    if not rows:
        raise InputError(
            "runs of random reads or writes with a number of outstanding I/Os", "none", where=where,
            hint="For instance: storscope bench DEVICE --sweep sizes=4k modes=randread,randwrite depth=1,2,4,8,16,32",
        )  # fmt: skip
    rows, notes = _of_one_drive(rows, where, only)
    rows = _of_one_size(rows, where, block_bytes, notes)
    rows = _measured_well(rows, notes)
    rows = _of_few_workers(rows, notes)
    reads, writes = (_by_depth([row for row in rows if row["read_ratio"] == ratio]) for ratio in (1, 0))
    if not reads:
        raise InputError("random reads at one or more depths", "writes alone", where=where)
    first = next((row for row in rows if row["read_ratio"] == 1 and row["outstanding"] == 1), None)
    grid = DepthGrid(
        tuple(reads), tuple(writes), int(rows[0]["block_bytes"] or 4096),
        latency_ns_sd=None if first is None else _latency_ns_sd(store, [first["capture"], first["run"]]),
    )  # fmt: skip
    return FoundGrid(grid, _used_bytes(rows), tuple(notes))


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _place(row: Mapping[str, Any]) -> str:
    """What tells one drive from another: where it is, and the file or device that was measured."""
    parameters = dict(row["parameters"] or ())
    target = parameters.get("target") or parameters.get("filename") or parameters.get("device")
    return f"{row['system']}: {target}" if target else str(row["system"])


def _of_one_drive(
    rows: Sequence[dict[str, Any]], where: str, only: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    places = Counter(_place(row) for row in rows)
    fitting = [place for place in places if only is None or _fits(place, only)]
    if len(fitting) > 1 and only is not None:
        fitting = _called(only, fitting) or fitting
    if len(fitting) != 1:
        found = f"{len(fitting)} that fit" + ("" if only is None else f" {only!r}")
        raise ConfigError("results of one drive", found, where=where, hint=_choice(fitting or list(places), fitting))
    chosen = [row for row in rows if _place(row) == fitting[0]]
    drives = {dict(row["parameters"] or ()).get("n_drives", "1") for row in chosen}
    notes = [f"The results are of {count} drives; the fit takes them for one." for count in drives - {"1"}]
    return chosen, notes


def _fits(place: str, only: str) -> bool:
    """Whether `only` is a part of it, or a pattern with `*` and `?` that fits it, its system or its target as a whole.

    Brackets are text, as names hold them; case does not count.
    """
    place, only = place.lower(), only.lower()
    system, _, target = place.rpartition(": ")
    pattern = only.replace("[", "[[]")
    return only in place or any(fnmatchcase(name, pattern) for name in (place, system, target))


def _called(only: str, places: Sequence[str]) -> list[str]:
    """The one whose whole name it is; where names differ in case alone, the one in the same case."""
    whole = [place for place in places if place.lower() == only.lower()]
    return [place for place in whole if place == only] or whole


def _choice(known: Sequence[str], fitting: Sequence[str]) -> str:
    """How one of them is chosen."""
    named = "; ".join(repr(place) for place in known[:_MOST_NAMED])
    more = f"; and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    words = "They are" if fitting else "There are"
    return f"Say --only with a part of a name that no other has, or with all of it. {words}: {named}{more}."


def _of_one_size(
    rows: list[dict[str, Any]], where: str, block_bytes: int | None, notes: list[str]
) -> list[dict[str, Any]]:
    sizes = Counter(row["block_bytes"] for row in rows)
    chosen: float | None = sizes.most_common(1)[0][0] if block_bytes is None else float(block_bytes)
    kept = [row for row in rows if row["block_bytes"] == chosen]
    if not kept:
        known = ", ".join(format_bytes(size) for size in sizes)
        raise ConfigError(
            "a block size that was measured", format_bytes(chosen), where=where, hint=f"There are: {known}"
        )
    if len(kept) < len(rows):
        size, count = format_bytes(chosen), _runs(len(rows) - len(kept))
        notes.append(f"Left out, for other block sizes than {size}: {count}; see --block.")
    if chosen is None:
        notes.append("The block size is not said, and taken as 4 KiB.")
    return kept


def _measured_well(rows: list[dict[str, Any]], notes: list[str]) -> list[dict[str, Any]]:
    kept = [row for row in rows if row["status"] in (None, "ok")]
    if not kept:
        raise InputError("runs that ended well", "none")
    if len(kept) < len(rows):
        notes.append(f"Left out, as they failed or are doubtful: {_runs(len(rows) - len(kept))}.")
    return kept


def _of_few_workers(rows: list[dict[str, Any]], notes: list[str]) -> list[dict[str, Any]]:
    """Those of one worker, where there are such: with many the host's order is mixed in.

    Where these are of one depth alone, as of a sweep over jobs, others tell what more outstanding I/Os do.
    """
    kept: list[dict[str, Any]] = []
    for ratio in (1, 0):
        each = [row for row in rows if row["read_ratio"] == ratio]
        alone = {round(row["outstanding"]) for row in each if _is_alone(row)}
        is_told = len(alone) > 1
        kept += [row for row in each if _is_alone(row) or not (is_told or round(row["outstanding"]) in alone)]
    if len(kept) < len(rows):
        notes.append(f"Left out, for more than one worker: {_runs(len(rows) - len(kept))}.")
    if any(map(_is_alone, kept)) and (several := sum(not _is_alone(row) for row in kept)):
        notes.append(f"Of several workers, as no run of one has as much outstanding: {_runs(several)}.")
    return kept


def _is_alone(row: Mapping[str, Any]) -> bool:
    return (row["workers"] or 1) == 1


def _by_depth(rows: Sequence[dict[str, Any]]) -> list[DepthRate]:
    """The geometric mean of the rates at each depth; a depth at which nothing was done has none."""
    grouped: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        grouped[round(row["outstanding"])].append(row["ops_per_s"])
    return [
        DepthRate(depth, rates[0] if len(rates) == 1 else statistics.geometric_mean(rates))
        for depth, rates in sorted(grouped.items())
        if min(rates) > 0
    ]


def _latency_ns_sd(store: Store, run: list[str]) -> float | None:
    """Standard deviation of the responses of a run, as it was counted, or from the histogram."""
    counted = store.query(_COUNTED_SD, run).to_pylist()
    if counted:
        row = counted[0]
        return float(row["value"]) if row["unit"] == "ns" else ns_from_ms(row["value"])
    total = first = second = 0.0
    for row in store.query(_HISTOGRAM, run).to_pylist():
        for low, high, count in zip(row["bucket_low_ns"], row["bucket_high_ns"], row["counts"], strict=True):
            middle = (low + high) / 2
            total, first, second = total + count, first + count * middle, second + count * middle * middle
    if total < 2:
        return None
    return math.sqrt(max(0.0, second / total - (first / total) ** 2)) or None


def _used_bytes(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """How much of the target the runs used, where all say the same."""
    said = set()
    for row in rows:
        parameters = dict(row["parameters"] or ())
        said.add(parameters.get("sweep_size_bytes") or parameters.get("size"))
    text = said.pop() if len(said) == 1 else None
    try:
        return None if text is None else bytes_from_text(text)
    except ValueError:
        return None
