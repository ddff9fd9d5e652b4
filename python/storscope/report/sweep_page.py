"""The page of a sweep or a time series: one file that asks the network for nothing, as the report of a verdict."""

from __future__ import annotations

from pathlib import Path

from storscope.domain.sweep import FIGURES, Cell, SweepResult
from storscope.domain.units import format_bytes, format_span, format_time
from storscope.report.assembly import write_page
from storscope.report.measured_page import render_measured
from storscope.report.pack import Packer
from storscope.report.sweep_chart import figure_words, sweep_charts


def write_sweep_report(result: SweepResult, path: Path) -> None:
    """Writes the page to `path`: whole, or not at all. Raises UsageError when the file cannot be written there."""
    write_page(path, render_sweep(result))


def render_sweep(result: SweepResult, made_at_ns: int | None = None) -> str:
    """The page as text."""
    packer = Packer()
    return render_measured(
        "sweep.html.j2", "js/sweep.js", packer, kind="time series" if result.is_series else "sweep",
        title=_title(result), summary=_summary(result), facts=_facts(result), made_at_ns=made_at_ns, result=result,
        modes=sweep_charts(result, packer),
        doubted=[(cell.words, doubt) for cell in result.cells for doubt in cell.doubts],
    )  # fmt: skip


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
        f"{figure_words(last, FIGURES[0])} and {figure_words(last, FIGURES[2])} after {last.after}."
    )


def _facts(result: SweepResult) -> list[tuple[str, str]]:
    measured = f"{result.done} of {result.counted(result.planned)}{result.each_takes}"
    if result.is_simulated:
        return _facts_simulated(result, measured)
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


def _facts_simulated(result: SweepResult, simulated: str) -> list[tuple[str, str]]:
    size = f", up to {format_bytes(result.size_bytes)} of each volume" if result.size_bytes else ""
    return [
        ("Design", f"{result.target}{size}"),
        ("Simulated", f"{format_time(result.started_ns)}; {simulated}, each on a fresh array"),
        ("Sweep", f"{result.id}, seed {result.seed}"),
    ]
