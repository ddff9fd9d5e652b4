"""Shows a simulation: figures with their intervals, what changed, where the time went, and what bounds it.

All tables are of the same time: the run without its warm-up. Only what happened, and the phases, are of the whole run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from storscope.cli.show_judgement import other_doubts, print_judgement, print_own_doubts
from storscope.cli.show_rate_steps import FLUSH_HEADS, print_rate_steps
from storscope.cli.text_table import harmless, print_sentences, print_table
from storscope.domain.units import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_instant,
    format_rate,
    format_ratio,
    format_span,
)

if TYPE_CHECKING:
    from storscope.bench.figures import Direction, Interval
    from storscope.bench.goals import Progress
    from storscope.sim.used import Used
    from storscope.workbench.phase_cells import CellFigures
    from storscope.workbench.simulated import Simulated
    from storscope.workbench.simulation_figures import PhaseFigures, TimeSpent

_REDRAW_S = 0.1
_MOST_HAPPENINGS = 30
_MOST_CELLS = 60
"""Rows of streams on volumes by phase."""
_MOST_VOLUMES = 20
"""Of more, those with most I/Os are shown."""
_MOST_LINES = 40
"""Of queue limits that were reached, and of volumes with something to say."""
_WORTH_NAMING = 0.005
"""Parts of the time that are less than this share of it are not named."""
_FLUSHES = "flushes"
_ASKED = ("reads", "writes", _FLUSHES)
_One = TypeVar("_One")
_FIGURES = {"iops": "IOPS", "bandwidth": "throughput", "mean": "mean"}


class SimulationLine:
    """One line on standard error while a simulation runs on a terminal."""

    def __init__(self, duration_ns: int | None) -> None:
        self._duration_ns = duration_ns
        self._is_terminal = sys.stderr.isatty()
        self._drawn_at = 0.0

    def __enter__(self) -> SimulationLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_terminal:
            click.echo("\r\x1b[K", err=True, nl=False)

    def show(self, _progress: Progress, interval: Interval) -> None:
        """The latest interval."""
        now = time.monotonic()
        if not self._is_terminal or now - self._drawn_at < _REDRAW_S:
            return
        self._drawn_at = now
        end_ns = interval.start_ns + interval.duration_ns
        share = "" if self._duration_ns is None else f" ({end_ns / self._duration_ns:.0%})"
        rate = format_rate(interval.per_s(interval.all.ios))
        click.echo(f"\r\x1b[Ksimulated {format_span(end_ns)}{share}: {rate}", err=True, nl=False)


# The result -----------------------------------------------------------------------------------------------------------


def print_simulated(simulated: Simulated) -> None:
    """What was lost first, then figures and their doubts, changes, volumes, time, components, bounds, other doubts."""
    measured, whole_ns = simulated.measured, simulated.judgement.to_ns
    speed = f"{format_count(round(simulated.array['drive_ios'] / simulated.wall_s))} drive I/Os per second"
    click.secho(harmless(f"{simulated.about.workload.name} on {simulated.about.system} (simulated)"), bold=True)
    click.echo(f"{format_instant(whole_ns)} in {simulated.wall_s:.2f} s ({speed}), seed {simulated.plan.seed}\n")
    if simulated.lost and simulated.outcome.error is not None:
        click.secho(harmless(f"DATA LOST: {simulated.outcome.error[1]}") + "\n", fg="red", bold=True)
    if len(simulated.phases) > 1 or simulated.rate_steps:
        _print_mixed(simulated)
    else:
        print_judgement(simulated.judgement, measured.duration_ns, marks=False)
    print_rate_steps(simulated.rate_steps)
    _print_happenings(simulated)
    _print_phases(simulated.phase_figures)
    _print_cells_by_phase(simulated)
    _print_volumes(simulated)
    _print_time(simulated)
    _print_components(simulated)
    click.secho("what bounds it", bold=True)
    bounds = simulated.bottleneck
    kinds = {bounds.kind, *(one.kind for _, one in simulated.bounds)}
    print_sentences(bounds.words + (" See --animate." if "few_drives" in kinds else ""), "  ")
    click.echo()
    for line in _lines(simulated):
        print_sentences(line)
    for doubt in other_doubts(simulated.doubts, simulated.judgement):
        print_sentences(f"doubt: {doubt}", colour="yellow")


def _print_mixed(simulated: Simulated) -> None:
    """The figures of all phases, or rate steps, together; intervals would mean nothing."""
    from storscope.bench.judgement import shown_value
    from storscope.bench.samples import Figure

    judgement = simulated.judgement
    parts = "phases" if len(simulated.phases) > 1 else "rate steps"
    click.secho(f"figures of all {parts} together", bold=True)
    for name, estimate in judgement.estimates.items():
        figure = Figure.from_name(name)
        if figure.direction is None:
            click.echo(f"  {name if figure.share else _FIGURES[name]:<11} {shown_value(figure, estimate.value)}")
    print_sentences(f"over {format_instant(simulated.measured.duration_ns)}. {judgement.start} {judgement.ended}", "  ")
    print_own_doubts(judgement)
    click.echo()


def _print_happenings(simulated: Simulated) -> None:
    shown = simulated.happenings[:_MOST_HAPPENINGS]
    rows = [(format_instant(one.time_ns), one.sentence) for one in shown]
    rows += [("", f"(running at the end) {words}") for words in simulated.unfinished]
    left_out = len(simulated.happenings) - len(shown) + simulated.array["happenings_left_out"]
    if left_out:
        rows.append(("", f"and {format_count(left_out)} more: see --json"))
    print_table("what happened", ("at", ""), rows, left=(-1,))


def _print_phases(phases: Sequence[PhaseFigures]) -> None:
    flushes = any(one.flushes_per_s is not None for one in phases)
    rows = [
        (
            format_instant(one.phase.from_ns), format_instant(one.phase.duration_ns), format_rate(one.rate_per_s),
            *_mean_and_p99(None if one.measured is None else one.measured.all),
            *((format_rate(one.flushes_per_s, "/s"),
               *_mean_and_p99(None if one.measured is None else one.measured.flushes)) if flushes else ()),
            "–" if one.top is None else f"{one.top.words} {format_ratio(one.top.ratio)}", one.phase.words,
        )
        for one in phases
    ]  # fmt: skip
    of_flushes = FLUSH_HEADS if flushes else ()
    heads = ("from", "length", "rate", "mean", "p99", *of_flushes, "most used", "begins with")
    print_table("phases", heads, rows, left=(-1,))


def _mean_and_p99(direction: Direction | None) -> tuple[str, str]:
    if direction is None:
        return "–", "–"
    return format_duration(direction.response.mean_ns), format_duration(direction.response.quantile_ns(0.99))


def _print_cells_by_phase(simulated: Simulated) -> None:
    """What a host sees of each volume in each phase; a single one is in the table of phases already."""
    from storscope.workbench.phase_cells import busiest

    cells = simulated.cells_by_phase
    if len(cells) < 2:
        return
    names = [one.name for one in simulated.plan.design.attachments]
    streams = [stream.name for stream in simulated.plan.workload.streams]
    shown = busiest(cells, _MOST_CELLS)
    rows = [
        (
            names[cell.target], streams[cell.stream], cell.direction, format_instant(phase.phase.from_ns),
            *(("–", "–", "–") if own is None else _cell_figures(cell.direction, own)),
        )
        for cell in shown
        for phase, own in zip(simulated.phase_figures, cell.phases, strict=True)
    ]  # fmt: skip
    left_out = len(cells) - len(shown)
    below = f"and {format_count(left_out)} with fewer I/Os: see --json" if left_out else ""
    heads = ("volume", "stream", "", "from", "rate", "mean", "p99")
    print_table("latency a host sees, by phase", heads, rows, left=(0, 1, 2), below=below)


def _cell_figures(direction: str, own: CellFigures) -> tuple[str, str, str]:
    return _rate(direction, own.rate_per_s), format_duration(own.mean_ns), format_duration(own.p99_ns)


def _print_volumes(simulated: Simulated) -> None:
    """Each stream on each volume; latency from when the I/O was due."""
    measured = simulated.measured
    names = [one.name for one in simulated.plan.design.attachments]
    streams = [stream.name for stream in simulated.plan.workload.streams]
    rows = []
    cells = [(cell, [cell.direction(name) for name in _ASKED]) for cell in measured.cells]
    shown, below = _busiest(cells, lambda one: sum(direction.ios for direction in one[1]))
    for cell, directions in shown:
        form = cell.form["cells"][0]
        for direction, one in zip(_ASKED, directions, strict=True):
            if one.ios:
                bandwidth = "" if direction == _FLUSHES else format_bandwidth(measured.per_s(one.bytes))
                rows.append((
                    names[form["target"]], streams[form["stream"]], direction,
                    _rate(direction, measured.per_s(one.ios)), bandwidth, format_duration(one.shown.mean_ns),
                    *(format_duration(one.shown.quantile_ns(share)) for share in (0.5, 0.95, 0.99)),
                ))  # fmt: skip
    heads = ("volume", "stream", "", "rate", "throughput", "mean", "p50", "p95", "p99")
    print_table("latency a host sees", heads, rows, left=(0, 1, 2), below=below)


def _rate(direction: str, per_s: float | None) -> str:
    """Flushes are no I/Os."""
    return format_rate(per_s, "/s") if direction == _FLUSHES else format_rate(per_s)


def _busiest(every: Sequence[_One], ios: Callable[[_One], int]) -> tuple[list[_One], str]:
    """Those with most I/Os, in their order, and a sentence on the others."""
    order = sorted(range(len(every)), key=lambda number: -ios(every[number]))
    left_out = len(every) - _MOST_VOLUMES
    below = f"and {format_count(left_out)} with fewer I/Os: see --json" if left_out > 0 else ""
    return [every[number] for number in sorted(order[:_MOST_VOLUMES])], below


def _print_time(simulated: Simulated) -> None:
    from storscope.sim.time_parts import part_words

    names = [one.name for one in simulated.plan.design.attachments]
    rows: list[tuple[str, ...]] = []
    targets: dict[int, list[TimeSpent]] = {}
    for one in simulated.time_spent:
        targets.setdefault(one.target, []).append(one)
    shown, below = _busiest(list(targets.values()), lambda own: sum(one.ios for one in own))
    for one in chain.from_iterable(shown):
        shares = {part: mean_ns / one.mean_ns for part, mean_ns in one.parts_ns.items() if one.mean_ns}
        words = ", ".join(
            f"{part_words(part)} {format_ratio(share)}"
            for part, share in sorted(shares.items(), key=lambda item: -item[1])
            if share >= _WORTH_NAMING
        )
        rows.append((names[one.target], one.direction, format_duration(one.mean_ns), words))
    print_table("where the time goes", ("volume", "", "mean", "share of it"), rows, left=(0, 1, -1), below=below)


def _print_components(simulated: Simulated) -> None:
    """Drives by group, everything else by itself, the most used first; what was not used at all is only named."""
    from storscope.sim.used import used_components

    components = simulated.window["components"]
    rows, idle = [], []
    for used in used_components(components):
        name = f"{used.count} drives of {used.name}" if used.kind == "drive" and used.count > 1 else used.words
        name = name.removeprefix("the ")
        if not used.most_ratio:
            idle.append(name)
            continue
        members = [one for one in components if _belongs(one, used)]
        queue = [one["queue_mean"] for one in members]
        rows.append((
            name, format_ratio(used.mean_ratio), format_ratio(used.most_ratio), f"{sum(queue) / len(queue):,.2f}",
            f"{max(queue):,.2f}", format_rate(sum(one["throughput_per_s"] for one in members), "/s"),
        ))  # fmt: skip
    heads = ("component", "used", "most used", "requests", "at the fullest", "operations")
    left_out = len(rows) - _MOST_LINES
    said = [f"and {format_count(left_out)} that are used less: see --json"] if left_out > 0 else []
    if idle:
        others = f" and {format_count(len(idle) - _MOST_LINES)} more" if len(idle) > _MOST_LINES else ""
        said.append(f"not used: {', '.join(idle[:_MOST_LINES])}{others}")
    print_table("components", heads, rows[:_MOST_LINES], below="; ".join(said))


def _belongs(component: Mapping[str, Any], used: Used) -> bool:
    from storscope.sim.used import works

    name = component["group"] or component["name"]
    return works(component) and (component["kind"], name) == (used.kind, used.name)


def _lines(simulated: Simulated) -> list[str]:
    """What concerns the cache, limits and proxied I/Os, where there are any; then an empty line."""
    from storscope.sim.queue_limits import limit_words

    shown = simulated.window
    cache = shown["cache"]
    found = [] if cache is None else _cache_lines(cache)
    limits = [
        f"{limit_words(limit)}: {limit['used_mean']:.1f} places taken on average, all of them "
        f"{format_ratio(limit['full_ratio'])} of the time; {limit['waiting_mean']:.1f} I/Os wait on average"
        for limit in shown["limits"]
        if limit["waited"]
    ]
    targets = []
    for target in shown["targets"]:
        name = f"{target['host']}/{target['volume']}"
        if target["proxied_share"]:
            targets.append(f"{name}: {format_ratio(target['proxied_share'])} of I/Os came through the other controller")
        if target["flash"] and target["flash"]["reads"]:
            hits = format_ratio(target["flash"]["hits"] / target["flash"]["reads"])
            targets.append(f"{name}: the host's flash answered {hits} of reads")
    for lines, what in ((limits, "queue limits"), (targets, "lines on volumes")):
        found += lines[:_MOST_LINES]
        if len(lines) > _MOST_LINES:
            found.append(f"and {format_count(len(lines) - _MOST_LINES)} more {what}: see --json")
    return [*found, ""] if found else []


def _cache_lines(cache: Mapping[str, Any]) -> list[str]:
    words = []
    if cache["reads"]:
        waits = format_ratio(cache["read_ahead_waits"] / cache["reads"])
        waited = f" ({waits} once their read-ahead had come)" if cache["read_ahead_waits"] else ""
        words.append(f"{format_ratio(cache['read_hit_ratio'])} of reads hit{waited}")
    if cache["written_pages"]:
        words.append(f"{format_ratio(cache['absorbed_ratio'])} of written pages were dirty already")
    if cache["writes_through"]:
        words.append(f"{format_count(cache['writes_through'])} writes went through")
    if cache["dirty_limit_pages"]:
        dirty, limit = (
            format_bytes(cache[name] * cache["page_bytes"]) for name in ("dirty_pages", "dirty_limit_pages")
        )
        words.append(f"{dirty} dirty at the end (limit {limit})")
    return [f"cache: {'; '.join(words)}"] if words else []
