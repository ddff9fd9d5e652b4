"""The page of one measurement: its figures, its course, how latencies are spread, and what to doubt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from storscope.domain.interval_words import lopsided_words
from storscope.domain.run_result import RunFigure, RunPart, RunResult, RunSide
from storscope.domain.units import (
    NS_PER_S,
    format_bandwidth,
    format_duration,
    format_instant,
    format_rate,
    format_ratio,
    format_span,
    format_time,
)
from storscope.report.assembly import write_page
from storscope.report.measured_page import Answer, render_measured
from storscope.report.pack import Packer
from storscope.report.wording import tight

_ANSWERS: Final = {
    "iops": ("Rate", "of reads and writes together"),
    "bandwidth": ("Throughput", "of both, in decimal units"),
    "mean": ("Mean latency", "of both"),
    "p99": ("p99", "99 of 100 are no slower"),
    "flush-iops": ("Flushes", "which are neither reads nor writes"),
    "flush-p99": ("p99 of flushes", "99 of 100 are no slower"),
}
_OF_ONE_KIND: Final = {"iops": "of {kind}, there were no others", "bandwidth": "in decimal units", "mean": ""}
"""What is said instead of `_ANSWERS` where there were only reads, or only writes."""
_PANELS: Final = {
    "ops_per_s": "Operations per second",
    "bytes_per_s": "Throughput",
    "latency_ns_mean": "Mean {latency}",
    "latency_ns_p99": "{latency}, 99th percentile",
}
_SPREADS: Final = {"response": "Response: what a user waits", "service": "Service: what the storage takes"}
_DIRECTIONS: Final = ("", "read-", "write-", "flush-")
_ROWS: Final = {"": "reads and writes", "read-": "reads", "write-": "writes", "flush-": "flushes"}
_STATISTICS: Final = ("iops", "bandwidth", "mean", "p50", "p99", "p99.9")
_HEADS: Final = ("", "Operations", "Throughput", "Mean", "p50", "p99", "p99.9")
_PART_HEADS: Final = ("Stream on target", "", "Operations", "Throughput", "Mean", "p50", "p99", "p99.9", "Greatest")
_LOG_FROM: Final = 30.0
"""The greatest value over the least at which a scale from zero hides the rest."""


@dataclass(frozen=True)
class Drawn:
    """A chart with its table."""

    chart: Mapping[str, object]
    aria: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def write_run_report(result: RunResult, path: Path, command: str = "") -> None:
    """Writes the page to `path`: whole, or not at all. `command` is what measures again.

    Raises UsageError when the file cannot be written there.
    """
    write_page(path, render_run(result, command))


def render_run(result: RunResult, command: str = "", made_at_ns: int | None = None) -> str:
    """The page as text."""
    packer = Packer()
    return render_measured(
        "run.html.j2", "js/sweep.js", packer, kind="measurement", title=f"{result.workload} on {result.target}",
        tone="info" if result.is_valid else "critical", facts=_facts(result), made_at_ns=made_at_ns, result=result,
        answers=list(_answers(result)), course=_course(result, packer), spread=_spread(result, packer),
        heads=_HEADS, rows=list(_rows(result)), part_heads=_PART_HEADS,
        parts=[_part(one) for one in result.parts] if len(result.parts) > len(result.sides) else [],
        counted=_counted(result), without_interval=_without_interval(result), command=command,
    )  # fmt: skip


# Figures --------------------------------------------------------------------------------------------------------------


def _answers(result: RunResult) -> Iterator[Answer]:
    chosen = () if result.chosen in _ANSWERS else (result.chosen,)
    kind = _only_kind(result)
    for name in (*_ANSWERS, *chosen):
        figure = result.figures.get(name)
        if figure is not None:
            question, words = _ANSWERS.get(name, (name, ""))
            if kind and name in _OF_ONE_KIND:
                words = _OF_ONE_KIND[name].format(kind=kind)
            number, _, unit = _value(figure, figure.value).partition(" ")
            mark = "what it was measured for" if name == result.chosen else words
            yield Answer(question, number, unit, _interval(figure), f"{mark[:1].upper()}{mark[1:]}." if mark else "")


def _only_kind(result: RunResult) -> str:
    """'reads' or 'writes' where there were no others; else nothing."""
    kinds = [side.name for side in result.sides if side.name != "flushes"]
    return kinds[0] if len(kinds) == 1 else ""


def _value(figure: RunFigure, value: float | None) -> str:
    if figure.unit == "1/s":
        return format_rate(value, "/s" if figure.name.startswith("flush-") else "IOPS")
    return format_bandwidth(value) if figure.unit == "B/s" else format_duration(value)


def _interval(figure: RunFigure) -> str:
    if (figure.low is None and figure.high is None) or _tells_nothing(figure):
        return "too little data for an interval"
    if figure.high is None:
        return f"95 %: at least {_value(figure, figure.low)}"
    return f"95 %: {_value(figure, figure.low)} to {_value(figure, figure.high)}"


def _tells_nothing(figure: RunFigure) -> bool:
    """As on the terminal: an interval from 0 to more than twice the figure."""
    return figure.relative is not None and figure.relative > 1.0 and not figure.low


def _rows(result: RunResult) -> Iterator[list[str]]:
    """Of all, then of each direction; what is all of one kind has one row, of its name."""
    kind = _only_kind(result)
    for direction in _DIRECTIONS:
        if kind and _ROWS[direction] == kind:
            continue
        figures = [result.figures.get(direction + name) for name in _STATISTICS]
        if any(figures):
            name = _ROWS[direction] if direction else kind or _ROWS[""]
            yield [name, *("–" if one is None else _with_interval(one) for one in figures)]


def _with_interval(figure: RunFigure) -> str:
    """As on the terminal: what is unsure by more than all of it is told by both ends, as '±' would tell nothing."""
    said = _value(figure, figure.value)
    if figure.low is None or figure.high is None:
        return tight(f"{said} (at least {_value(figure, figure.low)})" if figure.low else f"{said} (no interval)")
    if _tells_nothing(figure):
        return tight(f"{said} (no interval)")
    if figure.relative is None or figure.relative > 1.0:
        return tight(f"{said} ({_value(figure, figure.low)} to {_value(figure, figure.high)})")
    share = lopsided_words(figure.value, figure.low, figure.high) or f"± {format_ratio(figure.relative)}"
    return tight(f"{said} {share}")


def _without_interval(result: RunResult) -> str:
    """Why figures of the table have none; nothing where all have one."""
    shown = [figure for name in _DIRECTIONS for one in _STATISTICS if (figure := result.figures.get(name + one))]
    if all(figure.low is not None and figure.high is not None and not _tells_nothing(figure) for figure in shown):
        return ""
    return (
        "Where no interval is told, the run has too little data for one: too few samples, or a percentile that rests "
        "on slow operations which came fewer than ten times."
    )


def _part(one: RunPart) -> list[str]:
    rate = format_rate(one.ops_per_s, "/s" if one.direction == "flushes" else "IOPS")
    moved = "" if one.bytes_per_s is None else format_bandwidth(one.bytes_per_s)
    latencies = map(format_duration, (one.mean_ns, *one.quantiles_ns))
    mark = "" if one.is_valid else " (INVALID)"
    return [f"{one.stream} on {one.target}{mark}", one.direction, rate, moved, *latencies]


def _facts(result: RunResult) -> list[tuple[str, str]]:
    began, ended = format_time(result.started_ns), format_time(result.started_ns + result.duration_ns)
    kind = f"{result.target_kind}{'' if result.direct else ', through the page cache'}"
    return [
        ("Target", f"{result.target} on {result.host} ({kind})"),
        ("Load", " ".join(result.load_words)),
        ("Measured", f"{began} to {ended}, by the clock of that host. {result.start} {result.ended}"),
        ("Run", f"{result.id}, seed {result.seed}, by storscope {result.version} ({result.engines})"),
    ]


# Charts ---------------------------------------------------------------------------------------------------------------


def _course(result: RunResult, packer: Packer) -> Drawn | None:
    """Figures over the time since the start; None of a run with a single sample."""
    times_s, sides = result.times_s, result.sides
    if len(times_s) < 2 or not sides:
        return None
    title = {name: _panel(words, result.latency) for name, words in _PANELS.items()}
    known = [name for name in _PANELS if any(np.isfinite(side.columns[name]).any() for side in sides)]
    panels = [
        _lines(name, title[name], [side.columns[name].tolist() for side in sides], packer) for name in known
    ]  # fmt: skip
    axis = {"title": "Time since the start", "is_time": True, "values": [0.0, float(times_s[-1])], "labels": ["", ""]}
    rows = [
        [format_instant(round(time_s * NS_PER_S)), side.name, *_row(side, at, known)]
        for at, time_s in enumerate(times_s.tolist())
        for side in sides
    ]
    return Drawn(
        _chart(axis, sides, [times_s.tolist()] * len(sides), panels, packer),
        f"{', '.join(title[name] for name in known)} over the time since the start; {len(sides)} lines.",
        ["From", "", *(title[name] for name in known)], rows,
    )  # fmt: skip


def _panel(words: str, latency: str) -> str:
    said = words.format(latency=latency)
    return f"{said[:1].upper()}{said[1:]}"


def _row(side: RunSide, at: int, names: Sequence[str]) -> list[str]:
    unit = "/s" if side.name == "flushes" else "IOPS"
    words: Mapping[str, Callable[[float | None], str]] = {
        "ops_per_s": lambda value: format_rate(value, unit),
        "bytes_per_s": format_bandwidth,
    }
    return [words.get(name, format_duration)(float(side.columns[name][at])) for name in names]


def _spread(result: RunResult, packer: Packer) -> Drawn | None:
    """Latency against the share of operations that are no slower, over what counts of the run."""
    sides = [side for side in result.sides if any(side.spread.values())]
    shares = sorted({share for side in sides for told in side.spread.values() for share, _ in told})
    if len(shares) < 2:
        return None
    known = [name for name in _SPREADS if any(side.spread.get(name) for side in sides)]
    mark = "" if result.is_valid else " (INVALID)"
    titles = {name: f"{_SPREADS[name]}{mark}" for name in known}
    by_share = {(side.name, name): dict(side.spread.get(name, ())) for side in sides for name in known}
    panels = [
        _lines(
            f"{name}_ns", titles[name],
            [[by_share[side.name, name].get(share, math.nan) for share in shares] for side in sides], packer,
        )
        for name in known
    ]  # fmt: skip
    beyond = [1.0 / (1.0 - share) for share in shares]
    axis = {"title": "Percentile", "is_time": False, "values": beyond, "labels": [_percentile(one) for one in shares]}
    rows = [
        [_percentile(share), side.name, *(format_duration(by_share[side.name, name].get(share)) for name in known)]
        for share in shares
        for side in sides
    ]
    return Drawn(
        _chart(axis, sides, [beyond] * len(sides), panels, packer),
        f"{' and '.join(known)} time against the share of operations that are no slower; {len(sides)} lines.",
        ["Percentile", "", *titles.values()], rows,
    )  # fmt: skip


def _percentile(share: float) -> str:
    return f"p{100 * share:.6g}"


def _lines(name: str, title: str, lines: Sequence[Sequence[float]], packer: Packer) -> dict[str, object]:
    values = [value for line in lines for value in line if math.isfinite(value) and value > 0]
    is_log = bool(values) and max(values) > _LOG_FROM * min(values)
    return {"name": name, "title": title, "log": is_log, "lines": [[packer.add_values(line)] for line in lines]}


def _chart(
    axis: Mapping[str, object], sides: Sequence[RunSide], places: Sequence[Sequence[float]],
    panels: Sequence[Mapping[str, object]], packer: Packer,
) -> dict[str, object]:  # fmt: skip
    return {
        "kind": "sweep", "axis": axis, "labels": [side.name for side in sides],
        "x": [packer.add_values(each) for each in places],
        "invalid": [packer.add_counts([0] * len(each)) for each in places], "panels": panels,
    }  # fmt: skip


def _counted(result: RunResult) -> str:
    """Of what part of the run the figures are."""
    if result.counted_from_ns:
        return f"the {format_span(result.counted_ns)} after the first {format_span(result.counted_from_ns)}"
    return f"all {format_span(result.counted_ns)}"
