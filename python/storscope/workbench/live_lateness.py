"""What the victim's own process added to its latency: on a busy machine it comes late, and its runs are marked invalid.

A response is the lateness and the service; both are in the store. The service is free of what the machine did to the
process, so it tells whether the remedy helped although runs are marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storscope.store import Store


@dataclass(frozen=True)
class Served:
    """The runs of one side of the proof."""

    runs: int
    late: int
    """Of them, marked invalid as I/Os left too late."""
    service_ns: float | None
    """Mean from submission to completion, weighted by operations."""


def served(store: Store, runs: Sequence[str]) -> Served:
    """What the victim's runs of one side had."""
    (row,) = store.query(
        """SELECT sum(device_latency_ns_mean * ops_per_s * duration_ns) / nullif(sum(ops_per_s * duration_ns), 0) AS ns
           FROM observations WHERE kind = 'job' AND device_latency_ns_mean IS NOT NULL
           AND list_contains($runs, run)""",
        {"runs": list(runs)},
    ).to_pylist()
    (counted,) = store.query(
        """SELECT count(*) FILTER (status = 'invalid' AND parameters['latency_bound'] = 'upper') AS late
           FROM runs WHERE list_contains($runs, run)""",
        {"runs": list(runs)},
    ).to_pylist()
    return Served(len(runs), int(counted["late"]), row["ns"])
