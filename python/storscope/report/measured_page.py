"""What pages of measurements share: a head with the answer, charts with their tables, and how it was measured.

A kind of page is a template that extends `measured.html.j2`, and one script for its chart.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

import storscope
from storscope.domain.units import format_time
from storscope.report.assembly import Charts, content_security_policy, environment, favicon, joined
from storscope.report.pack import Packer, island_json

_STYLES = ("uplot/uPlot.min.css", "css/report.css", "css/sweep.css", "css/print.css")
_BEFORE = (
    "uplot/uPlot.iife.min.js", "js/unpack.js", "js/units.js", "js/theme.js", "js/readout.js", "js/marks.js",
)  # fmt: skip
_AFTER = ("js/main.js",)


@dataclass(frozen=True)
class Answer:
    """A question, its number, and what the number means; without one `words` say why."""

    question: str
    number: str
    unit: str
    interval: str
    words: str
    tone: int | None = None
    """The colour that it has in the chart."""


def render_measured(
    template: str, script: str, packer: Packer, *, kind: str, title: str, facts: Sequence[tuple[str, str]],
    summary: Sequence[str] = (), made_at_ns: int | None = None, **content: object,
) -> str:  # fmt: skip
    """The page as text; `script` draws its charts, `content` is what its own template lays out."""
    charts, scripts = Charts(), (*_BEFORE, script, *_AFTER)
    return (
        environment()
        .get_template(template)
        .render(
            kind=kind,
            title=title,
            summary=summary,
            facts=facts,
            charts=charts,
            pack=packer,
            island=lambda: Markup(island_json({"columns": packer.columns, "charts": charts.charts})),
            style=Markup(joined(_STYLES)),
            script=Markup(joined(scripts)),
            policy=content_security_policy(_STYLES, scripts),
            favicon=favicon(),
            version=storscope.__version__,
            made_at=format_time(time.time_ns() if made_at_ns is None else made_at_ns),
            **content,
        )
    )
