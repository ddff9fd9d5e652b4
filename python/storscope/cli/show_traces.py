"""Shows what was read of traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from storscope.cli.text_table import harmless
from storscope.domain.units import format_count, format_span

if TYPE_CHECKING:
    from storscope.sim.replay import TraceSource


def print_traces(sources: Sequence[TraceSource]) -> None:
    """What was read, and what was left out."""
    for trace in (source.trace for source in sources):
        count = len(trace)
        over = "1 request" if count == 1 else f"{format_count(count)} requests over {format_span(trace.duration_ns)}"
        said = f"{trace.where}: {trace.format}, {over}"
        left_out = "".join(f"; left out: {format_count(left)} {what}" for what, left in trace.left_out.items())
        click.echo(harmless(said + left_out), err=True)
