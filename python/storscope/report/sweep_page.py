"""The page of a sweep or a time series: one file that asks the network for nothing, as the report of a verdict."""

from __future__ import annotations

import time
from pathlib import Path

from markupsafe import Markup

import storscope
from storscope.domain.sweep import FIGURES, Cell, SweepResult
from storscope.domain.units import format_bytes, format_span, format_time
from storscope.report.assembly import Charts, content_security_policy, environment, favicon, joined, write_page
from storscope.report.pack import Packer, island_json
from storscope.report.sweep_chart import figure_words, sweep_charts

_STYLES = ("uplot/uPlot.min.css", "css/report.css", "css/sweep.css", "css/print.css")
_SCRIPTS = (
    "uplot/uPlot.iife.min.js", "js/unpack.js", "js/units.js", "js/theme.js", "js/readout.js", "js/sweep.js",
    "js/main.js",
)  # fmt: skip


def write_sweep_report(result: SweepResult, path: Path) -> None:
    """Writes the page to `path`: whole, or not at all. Raises UsageError when the file cannot be written there."""
    write_page(path, render_sweep(result))


def render_sweep(result: SweepResult, made_at_ns: int | None = None) -> str:
    """The page as text."""
    packer, charts = Packer(), Charts()
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(
            result=result,
            title=_title(result),
            summary=_summary(result),
            facts=_facts(result),
            modes=sweep_charts(result, packer),
            doubted=[(cell.point.words, doubt) for cell in result.cells for doubt in cell.doubts],
            charts=charts,
            pack=packer,
            island=lambda: Markup(island_json({"columns": packer.columns, "charts": charts.charts})),
            style=Markup(joined(_STYLES)),
            script=Markup(joined(_SCRIPTS)),
            policy=content_security_policy(_STYLES, _SCRIPTS),
            favicon=favicon(),
            version=storscope.__version__,
            made_at=format_time(time.time_ns() if made_at_ns is None else made_at_ns),
        )
    )


def _title(result: SweepResult) -> str:
    modes = result.modes
    named = ", ".join(modes[:-1]) + f" and {modes[-1]}" if len(modes) > 1 else "".join(modes)
    return f"{named or 'Nothing'} on {result.target}" + (" over time" if result.is_series else "")


def _summary(result: SweepResult) -> list[str]:
    """The points that stand out."""
    sentences = []
    for name, what in (("ops_per_s", "Most operations"), ("bytes_per_s", "Most throughput")):
        best = _most(result.cells, name)
        if best is not None and not result.is_series:
            sentences.append(
                f"{what}: {figure_words(best, name)}, {best.point.words}, at "
                f"{figure_words(best, 'latency_ns_mean')} mean and {figure_words(best, 'latency_ns_p99')} p99."
            )
    if result.is_series:
        sentences += [_change(own) for own in _by_point(result.cells) if len(own) > 1]
    return sentences


def _most(cells: tuple[Cell, ...], name: str) -> Cell | None:
    measured = [cell for cell in cells if cell.get(name)]
    return max(measured, key=lambda cell: cell.figures[name].value, default=None)


def _by_point(cells: tuple[Cell, ...]) -> list[list[Cell]]:
    return [[cell for cell in cells if cell.point == point] for point in dict.fromkeys(cell.point for cell in cells)]


def _change(cells: list[Cell]) -> str:
    first, last = cells[0], cells[-1]
    return (
        f"{first.point.words}: from {figure_words(first, FIGURES[0])} and {figure_words(first, FIGURES[2])} to "
        f"{figure_words(last, FIGURES[0])} and {figure_words(last, FIGURES[2])} after {format_span(last.elapsed_ns)}."
    )


def _facts(result: SweepResult) -> list[tuple[str, str]]:
    measured = f"{result.done} of {result.planned} measurements{result.each_takes}"
    if result.repeats > 1 and not result.is_series:
        measured += f", {result.repeats} repetitions of each point"
    if result.interval_ns is not None:
        measured += f", one every {format_span(result.interval_ns)}"
    host = f" on {result.host}" if result.host else ""
    size = f", {format_bytes(result.size_bytes)} of it" if result.size_bytes else ""
    return [
        ("Target", f"{result.target}{host} ({result.target_kind}{size})"),
        ("Measured", f"{format_time(result.started_ns)} to {format_time(result.ended_ns)}; {measured}"),
        ("Page cache", "past it (O_DIRECT)" if result.direct else "I/Os go through it"),
        ("Sweep", f"{result.id}, seed {result.seed}"),
    ]
