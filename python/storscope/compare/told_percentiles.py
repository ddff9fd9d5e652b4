"""Percentiles that a source tells as numbers and not by a distribution: of fio's plain JSON, text and terse lines.

They are of a run as a whole, and of reads or writes. What reads and writes took together, or several processes that are
told apart, does not follow from them. One value tells nothing of how sure it is; those of repeated runs do.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from storscope.compare.metrics import METRICS, Metric
from storscope.compare.subjects import Measured
from storscope.store import Store

_NAME: Final = re.compile(r"(read|write|sync|mixed)\.(lat|clat)\.p(\d{1,2}(?:\.\d+)?)")
_TOGETHER: Final = "mixed"
"""What fio calls reads and writes in one, where it is told to report no other (unified_rw_reporting)."""


def read_told(store: Store, captures: Sequence[str]) -> dict[tuple[str, str], dict[tuple[str, str, float], float]]:
    """(capture, run) -> (operation, measure, per cent) -> ns, of runs whose job tells one value of each."""
    rows = store.query(
        f"""SELECT capture, run, name, max(value) AS value FROM counters
            WHERE run IS NOT NULL AND kind = 'job' AND value IS NOT NULL AND list_contains($captures, capture)
              AND regexp_full_match(name, '{_NAME.pattern}')
            GROUP BY capture, run, name HAVING count(*) = 1""",
        {"captures": list(captures)},
    ).to_pylist()
    told: dict[tuple[str, str], dict[tuple[str, str, float], float]] = defaultdict(dict)
    for row in rows:
        if match := _NAME.fullmatch(row["name"]):
            told[row["capture"], row["run"]][match[1], match[2], float(match[3])] = float(row["value"])
    return told


def told_of(measured: Measured, metric: Metric) -> dict[str, float]:
    """What was timed -> the percentile in ns; empty where it is not told."""
    operation = metric.operations[0] if metric.operations else _only_operation(measured)
    return {
        measure: value
        for (one, measure, percent), value in measured.told.items()
        if one == operation and _is(metric, percent)
    }


def tells_apart(measured: Measured, metric: Metric) -> bool:
    """Whether the percentile is told of reads and of writes, and not of both together."""
    told = {operation for operation, _, percent in measured.told if _is(metric, percent)}
    return not metric.operations and {"read", "write"} <= told and not told_of(measured, metric)


def _only_operation(measured: Measured) -> str | None:
    """Of which operations those of all are; None where there were reads and writes."""
    if any(operation == _TOGETHER for operation, _, _ in measured.told):
        return _TOGETHER
    made = [word for word in ("read", "write") if measured.value(METRICS[f"{word}_iops"])]
    return made[0] if len(made) == 1 else None


def _is(metric: Metric, percent: float) -> bool:
    return metric.share is not None and abs(100 * metric.share - percent) < 1e-6
