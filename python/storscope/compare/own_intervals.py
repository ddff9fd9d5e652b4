"""Figures of which a run says itself how sure they are: what `storscope bench` records as facts of its job.

Beside a fact `iops` in its unit stand `iops low`, `iops high` (the bounds of the 95 % interval) and `iops independent`
(about how many independent samples it rests on). A figure that lacks one of them is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from storscope.model.compare import Known
from storscope.store import Store

_NAMES: Final = {"mean": "latency", "iops": "iops", "bandwidth": "bandwidth"}
_DIRECTIONS: Final = ("read", "write", "flush")
_PARTS: Final = ("low", "high", "independent")


def read_own(store: Store, captures: Sequence[str]) -> dict[tuple[str, str], dict[str, Known]]:
    """(capture, run) -> metric -> what is known of it."""
    facts: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    rows = store.query(
        """SELECT f.capture, f.entity, f.name, f.number FROM facts f JOIN runs r ON f.capture = r.capture
           AND f.entity = r.run WHERE f.number IS NOT NULL AND list_contains($captures, f.capture)""",
        {"captures": list(captures)},
    ).to_pylist()
    for row in rows:
        facts[row["capture"], row["entity"]][row["name"]] = float(row["number"])
    return {key: known for key, own in facts.items() if (known := _known(own))}


def _known(facts: Mapping[str, float]) -> dict[str, Known]:
    found = {}
    for name, value in facts.items():
        parts = [facts[f"{name} {part}"] for part in _PARTS if f"{name} {part}" in facts]
        if len(parts) == len(_PARTS):
            low, high, independent = parts
            # A percentile's interval may be lopsided: its wider half counts.
            found[_metric(name)] = Known(value, max(value - low, high - value), independent)
    return found


def _metric(figure: str) -> str:
    """'read-mean' is 'read_latency' here, 'write-p99' is 'write_p99', and 'flush-iops' is 'flush_rate'."""
    if figure == "flush-iops":
        return "flush_rate"
    direction, dash, statistic = figure.partition("-")
    if not dash or direction not in _DIRECTIONS:
        return _NAMES.get(figure, figure)
    return f"{direction}_{_NAMES.get(statistic, statistic)}"
