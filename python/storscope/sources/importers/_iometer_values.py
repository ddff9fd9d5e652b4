"""What rows of Iometer's results come to: canonical columns, those of several rows together, I/Os in flight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storscope.domain import units
from storscope.sources.importers._iometer import Row

RATES = (
    ("", ("MiBps (Binary)", "MBps (Binary)", "MBps")),
    ("read_", ("Read MiBps (Binary)", "Read MBps (Binary)", "Read MBps")),
    ("write_", ("Write MiBps (Binary)", "Write MBps (Binary)", "Write MBps")),
)


def canonical(row: Row) -> dict[str, float | None]:
    """Rates, sizes and latencies of a row. Where nothing was done in a direction, it has no latency."""
    values: dict[str, float | None] = {
        "ops_per_s": row.value("IOps"),
        "read_ops_per_s": row.value("Read IOps"),
        "write_ops_per_s": row.value("Write IOps"),
    }
    for prefix, columns in RATES:
        rate = row.first(*columns)
        values[f"{prefix}bytes_per_s"] = None if rate is None else units.bytes_from_mib(rate)
    for prefix, word in (("", ""), ("read_", "Read "), ("write_", "Write ")):
        mean = row.value(f"Average {word}Response Time")
        was_busy = bool(values[f"{prefix}ops_per_s"])
        values[f"{prefix}latency_ns_mean"] = units.ns_from_ms(mean) if mean is not None and was_busy else None
    greatest = row.value("Maximum Response Time")
    values["latency_ns_max"] = units.ns_from_ms(greatest) if greatest and values["ops_per_s"] else None
    return values


def together(parts: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """Rates added, mean latencies weighted by their rates, the greatest of the maxima."""
    if len(parts) == 1:
        return parts[0]
    values: dict[str, float | None] = {}
    for column in parts[0]:
        found = [(part[column], part) for part in parts]
        if column.endswith("_per_s"):
            values[column] = sum_of([value for value, _ in found])
        elif column == "latency_ns_max":
            values[column] = max((value for value, _ in found if value is not None), default=None)
        else:
            rate = column.replace("latency_ns_mean", "ops_per_s")
            weighted = [(value, part[rate] or 0.0) for value, part in found if value is not None]
            total = sum(weight for _, weight in weighted)
            values[column] = sum(value * weight for value, weight in weighted) / total if total else None
    return values


def outstanding_of(rows: Sequence[Row]) -> float | None:
    """Configured I/Os in flight: depth x targets, over the workers; by single targets where a worker's differ."""
    workers = list(_workers(rows))
    if workers:
        return sum_of([_of_worker(worker, targets) for worker, targets in workers])
    total = next((row for row in rows if row.type in ("ALL", "MANAGER")), None)
    return None if total is None else product_of(total.value("Queue Depth"), total.value("# Disks"))


def _workers(rows: Sequence[Row]) -> Iterator[tuple[Row, list[Row]]]:
    """Every worker with the targets listed below it."""
    worker: Row | None = None
    targets: list[Row] = []
    for row in rows:
        if row.type in ("WORKER", "MANAGER"):
            if worker is not None:
                yield worker, targets
            worker, targets = (row if row.type == "WORKER" else None), []
        elif row.type in ("DISK", "NETWORK"):
            targets.append(row)
    if worker is not None:
        yield worker, targets


def _of_worker(worker: Row, targets: Sequence[Row]) -> float | None:
    if worker.value("IOps") is None:
        return 0.0  # without an access specification it did nothing
    depth, disks = worker.value("Queue Depth"), worker.value("# Disks")
    if depth is not None:
        return product_of(depth, disks if disks is not None else float(len(targets)) or None)
    return sum_of([target.value("Queue Depth") for target in targets]) if targets else None


def sum_of(values: Sequence[float | None]) -> float | None:
    """The sum, or None when any part is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def product_of(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other
