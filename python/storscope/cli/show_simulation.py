"""Shows a simulation: a live line, the figures with their intervals, where the time went, and what was busiest."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.show_judgement import judgement_to_json, print_judgement
from storscope.domain.units import (
    NS_PER_MS,
    NS_PER_S,
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_ratio,
    format_span,
)

if TYPE_CHECKING:
    from storscope.bench.figures import Interval
    from storscope.bench.goals import Progress
    from storscope.sim.design import Design
    from storscope.workbench.simulating import Simulated

_SHADES = " ·▁▂▃▄▅▆▇█"
_FRAMES = 60
_WATCHED_S = 8.0
"""How long an animation takes on a terminal."""
_REDRAW_S = 0.1
_DIRECTIONS = ("reads", "writes")


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

    def show(self, progress: Progress, interval: Interval) -> None:
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
    """Figures, volumes, where the time went, components, doubts."""
    measured, array = simulated.measured, simulated.array
    whole_ns = array["duration_ns"]
    speed = f"{format_count(round(array['drive_ios'] / simulated.wall_s))} drive I/Os per second"
    click.secho(f"{simulated.about.workload.name} on {simulated.about.system} (simulated)", bold=True)
    click.echo(f"{format_span(whole_ns)} in {simulated.wall_s:.2f} s ({speed}), seed {simulated.plan.seed}\n")
    print_judgement(simulated.judgement, measured.duration_ns)
    _print_volumes(simulated)
    _print_parts(array)
    _print_components(array)
    _print_cache(array)
    for doubt in simulated.doubts:
        click.secho(f"doubt: {doubt}", fg="yellow")


def _print_volumes(simulated: Simulated) -> None:
    """Each stream on each volume, after the warm-up; latency from submission."""
    measured = simulated.measured
    names = [one.name for one in simulated.plan.design.attachments]
    streams = [stream.name for stream in simulated.plan.workload.streams]
    rows = []
    for cell in measured.cells:
        form = cell.form["cells"][0]
        where, what = names[form["target"]], streams[form["stream"]]
        for direction in _DIRECTIONS:
            one = cell.direction(direction)
            if one.ios:
                rows.append((
                    where, what, direction, format_rate(measured.per_s(one.ios)),
                    format_bandwidth(measured.per_s(one.bytes)), format_duration(one.shown.mean_ns),
                    *(format_duration(one.shown.quantile_ns(share)) for share in (0.5, 0.95, 0.99)),
                ))  # fmt: skip
    heads = ("volume", "stream", "", "rate", "throughput", "mean", "p50", "p95", "p99")
    _print_table("latency a host sees", heads, rows, left=3)


def _print_parts(array: Mapping[str, Any]) -> None:
    rows = []
    for target in array["targets"]:
        for direction in _DIRECTIONS:
            parts = target[direction]["parts"]
            total = sum(part["mean_ns"] for part in parts)
            if total:
                shares = sorted(parts, key=lambda part: -part["mean_ns"])
                words = ", ".join(
                    f"{_words(part['part'])} {format_ratio(part['mean_ns'] / total)}"
                    for part in shares
                    if part["mean_ns"] >= 0.005 * total
                )
                rows.append((f"{target['host']}/{target['volume']}", direction, format_duration(total), words))
    _print_table("where the time goes", ("volume", "", "mean", "share of it"), rows, left=2, last_left=True)


def _print_components(array: Mapping[str, Any]) -> None:
    """Drives by group, everything else by itself."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for component in array["components"]:
        label = component["group"] if component["kind"] == "drive" else component["name"]
        groups.setdefault(f"{_words(component['kind'])} {label}", []).append(component)
    rows = []
    for label, members in groups.items():
        count = f"{len(members)} drives of {members[0]['group']}" if members[0]["kind"] == "drive" else label
        busy = [member["busy_ratio"] for member in members]
        queue = [member["queue_mean"] for member in members]
        rows.append((
            count, format_ratio(sum(busy) / len(busy)), format_ratio(max(busy)), f"{sum(queue) / len(queue):.2f}",
            f"{max(queue):.2f}", format_count(max(member["queue_max"] for member in members)),
            format_rate(sum(member["throughput_per_s"] for member in members), "/s"),
        ))  # fmt: skip
    heads = ("component", "busy", "busiest", "in it", "fullest", "most", "operations")
    _print_table("components, means over the whole run", heads, rows)
    if array["bottleneck"] is None:
        click.echo("Nothing was busy: the load itself is the limit.\n")
        return
    busiest = array["components"][array["bottleneck"]]
    name = (
        busiest["name"]
        if busiest["name"].startswith(_words(busiest["kind"]))
        else f"{_words(busiest['kind'])} {busiest['name']}"
    )
    click.echo(f"The busiest is {name}: {format_ratio(busiest['busy_ratio'])} of the time.{_spread(array)}\n")


def _spread(array: Mapping[str, Any]) -> str:
    """What the means over time do not show: that requests stand at few drives at a time."""
    from storscope.workbench.convoys import convoys_of

    return "".join(
        f" But at an average instant one drive of {group} holds {format_ratio(measured.fullest_share)} of all requests "
        f"at drives (by chance: {format_ratio(measured.chance_share)}), and not always the same one: they follow each "
        f"other from drive to drive. See --animate."
        for group, measured in convoys_of(array).items()
    )


def queue_share(queues: Sequence[Sequence[float]]) -> tuple[float | None, float]:
    """The share of all requests at the fullest drive, averaged over slices, and what it would be evenly spread."""
    if not queues or not queues[0]:
        return None, 1.0
    shares = [max(slice_) / sum(slice_) for slice_ in zip(*queues, strict=True) if sum(slice_) > 1.0]
    return (sum(shares) / len(shares) if shares else None), 1 / len(queues)


def _print_cache(array: Mapping[str, Any]) -> None:
    cache = array["cache"]
    if cache is None:
        return
    hits = f"{format_ratio(cache['read_hit_ratio'])} of reads hit"
    absorbed = f"{format_ratio(cache['absorbed_ratio'])} of written pages were dirty already"
    dirty = f"{format_bytes(cache['dirty_pages'] * cache['page_bytes'])} dirty at the end"
    limit = format_bytes(cache["dirty_limit_pages"] * cache["page_bytes"])
    click.echo(f"cache: {hits}; {absorbed}; {dirty} (limit {limit})\n")


def _print_table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, last_left: bool = False
) -> None:
    if not rows:
        return
    click.secho(title, bold=True)
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    for number, row in enumerate((heads, *rows)):
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            is_left = column < left or (last_left and column == len(widths) - 1)
            cells.append(cell.ljust(width) if is_left else cell.rjust(width))
        click.secho("  " + "  ".join(cells).rstrip(), dim=number == 0)
    click.echo()


def _words(name: str) -> str:
    return name.replace("_", " ")


# Queues over time -----------------------------------------------------------------------------------------------------


def animate(simulated: Simulated) -> None:
    """The busiest stretch, a line for each slice of time and a column for each drive; in motion on a terminal."""
    queue = simulated.array["queue"]
    slices = list(zip(*queue["mean"], strict=True))
    if not slices:
        click.echo("The run is shorter than a slice: there is nothing to animate. See --slice.")
        return
    first = _busiest([sum(slice_) for slice_ in slices])
    shown = slices[first : first + _FRAMES]
    top = max(max(slice_) for slice_ in shown)
    step_ms = queue["slice_ns"] / NS_PER_MS
    click.secho("\nrequests at each drive over time", bold=True)
    click.echo(f"one column a drive, one line {step_ms:g} ms; ' ' is none, '█' is {top:.0f}")
    pause_s = _WATCHED_S / len(shown) if sys.stdout.isatty() else 0.0
    for number, slice_ in enumerate(shown):
        at_ns = queue["start_ns"] + (first + number) * queue["slice_ns"]
        bars = "".join(_shade(value, top) for value in slice_)
        click.echo(f"{at_ns / NS_PER_S:9.2f} s │{bars}│ {sum(slice_):.0f}")
        time.sleep(pause_s)


def _busiest(totals: Sequence[float]) -> int:
    """Where the stretch of frames with the most requests begins."""
    if len(totals) <= _FRAMES:
        return 0
    current = best = sum(totals[:_FRAMES])
    found = 0
    for start in range(1, len(totals) - _FRAMES + 1):
        current += totals[start + _FRAMES - 1] - totals[start - 1]
        if current > best * (1 + 1e-9):
            best, found = current, start
    return found


def _shade(value: float, top: float) -> str:
    if value <= 0.005 or top <= 0:
        return _SHADES[0]
    return _SHADES[max(1, round(value / top * (len(_SHADES) - 1)))]


# Designs, drives, JSON ------------------------------------------------------------------------------------------------


def print_design(design: Design) -> None:
    """What a design is, in short."""
    form = design.form
    click.secho(design.name, bold=True)
    for group in form["groups"]:
        spares = f" and {group['spares']} spares" if group["spares"] else ""
        segment = format_bytes(group["segment_bytes"])
        words = group["layout"] + (f" ({group['redundancy']})" if group["redundancy"] else "")
        click.echo(
            f"  group {group['name']}: {group['count']} x {group['drive']}{spares}, {words}, segments of {segment}"
        )
    for volume in form["volumes"]:
        owner = f", served by {volume['owner']}" if volume["owner"] else ""
        click.echo(f"  volume {volume['name']}: {format_bytes(volume['size_bytes'])} on {volume['group']}{owner}")
    click.echo(f"  controllers: {', '.join(one['name'] for one in form['controllers']) or 'none'}")
    click.echo(f"  for workloads: {', '.join(one.name for one in design.attachments)}")


def print_drives(*, as_json: bool) -> None:
    """The catalogue."""
    import json

    from storscope.sim.catalogue import catalogue

    entries = catalogue()
    if as_json:
        click.echo(json.dumps([entry.form for entry in entries], indent=2, ensure_ascii=False))
        return
    for entry in entries:
        click.echo(f"{click.style(entry.name, bold=True)}: {entry.title} ({format_bytes(entry.size_bytes)})")
        for source in entry.sources:
            click.echo(f"    {source}")


def simulated_to_json(simulated: Simulated, capture: str) -> dict[str, Any]:
    """The result as plain JSON values, units in the names."""
    about = simulated.about
    return {
        "capture": capture, "run": about.run, "design": about.target, "design_file": simulated.plan.design.where,
        "workload": about.workload.to_json(), "seed": about.seed, "version": about.version,
        "valid": simulated.outcome.is_valid, "doubts": list(simulated.doubts),
        "judgement": judgement_to_json(simulated.judgement), "simulated_ns": simulated.array["duration_ns"],
        "wall_s": simulated.wall_s, "array": _without_matrix(simulated.array),
    }  # fmt: skip


def _without_matrix(array: Mapping[str, Any]) -> dict[str, Any]:
    """The queues over time are in the store; here their summary."""
    share, even = queue_share(array["queue"]["mean"])
    return {**array, "queue": {"share_at_fullest_drive": share, "share_if_even": even}}
