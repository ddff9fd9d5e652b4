"""Shows what was read of traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from storscope.domain.units import format_count, format_span

if TYPE_CHECKING:
    from storscope.sim.replay import TraceSource


def print_traces(sources: Sequence[TraceSource]) -> None:
    """What was read, and what was left out."""
    for trace in (source.trace for source in sources):
        said = (
            f"{trace.where}: {trace.format}, {format_count(len(trace))} requests over {format_span(trace.duration_ns)}"
        )
        left_out = "".join(f"; left out: {format_count(count)} {what}" for what, count in trace.left_out.items())
        click.echo(said + left_out, err=True)
