"""Shows what a run did at each of its rate steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from storscope.cli.text_table import print_table
from storscope.domain.units import format_bandwidth, format_duration, format_instant, format_rate

if TYPE_CHECKING:
    from storscope.bench.rate_steps import RateStepFigures


FLUSH_HEADS = ("flushes", "their mean", "their p99")
"""Columns of a table whose latency is that of I/Os."""


def print_rate_steps(steps: Sequence[RateStepFigures]) -> None:
    """A line each, none without steps. Latency is what the figures above them are of."""
    flushes = any(one.flushes_per_s is not None for one in steps)
    heads = ("from", "to", "asked", "done", "throughput", "mean", "p50", "p99", *(FLUSH_HEADS if flushes else ()))
    rows = [
        (
            format_instant(one.start_ns), format_instant(one.end_ns), format_rate(one.asked_per_s),
            format_rate(one.ops_per_s), format_bandwidth(one.bytes_per_s),
            *map(format_duration, (one.mean_ns, one.p50_ns, one.p99_ns)), *(_of_flushes(one) if flushes else ()),
        )
        for one in steps
    ]  # fmt: skip
    print_table("by rate step", heads, rows, left=())


def _of_flushes(one: RateStepFigures) -> tuple[str, str, str]:
    return format_rate(one.flushes_per_s, "/s"), format_duration(one.flush_mean_ns), format_duration(one.flush_p99_ns)


def rate_steps_to_json(steps: Sequence[RateStepFigures]) -> list[dict[str, Any]]:
    """As docs/bench-json.md and docs/simulate-json.md describe them."""
    return [asdict(one) for one in steps]
