"""Shows a fitted drive: how well it predicts, its numbers and how well each is known, what to know."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.text_table import harmless, table_lines
from storscope.domain.units import NS_PER_US, format_bandwidth, format_bytes, format_duration, format_rate
from storscope.sim.drive_toml import plain

if TYPE_CHECKING:
    from storscope.workbench.fitting import FitReport


_LEAST_SHOWN = 0.001


@contextmanager
def waiting() -> Iterator[None]:
    """Says on a terminal that it takes a while."""
    is_terminal = sys.stderr.isatty()
    if is_terminal:
        click.echo("fitting; this may take a minute or two, Ctrl-C ends it", err=True, nl=False)
    try:
        yield
    finally:
        if is_terminal:
            click.echo("\r\x1b[K", err=True, nl=False)


def print_report(report: FitReport, *, err: bool) -> None:
    """All of it in words, to standard output or, with `err`, to standard error."""
    for line in report_lines(report):
        click.echo(harmless(line), err=err)


def report_lines(report: FitReport) -> list[str]:
    """The summary."""
    lines = [f"{report.name}: fitted to {', '.join(report.evidence)}", ""]
    lines += _trace_lines(report.fitted.judgement) if "on_itself" in report.fitted.judgement else _grid_lines(report)
    lines += _number_lines(report.fitted.numbers)
    lines += [f"note: {note}" for note in report.notes]
    return lines


# How well it predicts -------------------------------------------------------------------------------------------------


def _trace_lines(judgement: Mapping[str, Any]) -> list[str]:
    rows = [_judged("fitted to", judgement["on_itself"])]
    if judgement["on_rest"] is not None:
        rows.append(_judged("held back", judgement["on_rest"]))
    heads = ("", "requests", "measured mean", "predicted", "off by", "distance")
    lines = [
        *table_lines(heads, rows),
        "",
        "distance: of the distributions of service times, root mean square, over the mean",
    ]
    if judgement["table_on_rest"] is not None:
        table = _percent(judgement["table_on_rest"]["ratio"])
        lines.append(f"the first part's times, replayed as they stand, are {table} from those held back")
    return [*lines, f"parameters: {judgement['parameters']}, the drive's habits counted as one", ""]


def _judged(label: str, one: Mapping[str, Any]) -> tuple[str, str, str, str, str, str]:
    measured, predicted = (one[f"{which}_us_mean"] * NS_PER_US for which in ("measured", "predicted"))
    off = predicted / measured - 1
    return (
        label, f"{one['requests']:,}", format_duration(measured), format_duration(predicted), f"{100 * off:+.1f} %",
        _percent(one["demerit"]["ratio"]),
    )  # fmt: skip


def _grid_lines(report: FitReport) -> list[str]:
    lines = []
    for direction in ("reads", "writes"):
        points = report.fitted.judgement[direction]
        if not points:
            continue
        heads = (direction, "measured", "fitted", "off by", "left out", "off by")
        lines += [*table_lines(heads, [_point(point) for point in points]), ""]
        off = [_off(point, "left_out_per_s") for point in points if point["left_out_per_s"] is not None]
        if off:
            mean, worst = sum(map(abs, off)) / len(off), max(off, key=abs)
            said = f"off by {_percent(mean)} on average, {100 * worst:+.1f} % at worst"
            lines += [f"{direction} at a depth left out of the fit: {said}", ""]
    return lines


def _point(point: Mapping[str, Any]) -> tuple[str, ...]:
    cells = [f"depth {point['qd']}", format_rate(point["measured_per_s"], "/s")]
    for key in ("fitted_per_s", "left_out_per_s"):
        if point[key] is None:
            cells += ["–", "–"]
        else:
            cells += [format_rate(point[key], "/s"), f"{100 * _off(point, key):+.1f} %"]
    return tuple(cells)


def _off(point: Mapping[str, Any], key: str) -> float:
    return float(point[key] / point["measured_per_s"] - 1)


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"


# The numbers ----------------------------------------------------------------------------------------------------------


def _number_lines(numbers: Sequence[Mapping[str, Any]]) -> list[str]:
    if not numbers:
        return []
    rows = [(plain(one["key"]), shown(one["key"], one["value"]), _error(one), _verdict(one)) for one in numbers]
    lines = table_lines(("fitted", "value", "standard error", ""), rows, left=(0, 3))
    hidden = [plain(one["key"]) for one in numbers if not one["is_known"]]
    told = f"The data do not determine: {', '.join(hidden)}." if hidden else "The data determine all of them."
    if any(one["key"] == "write_cache.window" for one in numbers):
        told += " In which order the window is written back they do not show."
    return [*lines, "", told, ""]


def _error(one: Mapping[str, Any]) -> str:
    ratio = one["error_ratio"]
    if ratio is None:
        return "–"
    if ratio > 1:
        return "> 100 %"
    return "< 0.1 %" if ratio < _LEAST_SHOWN else f"± {_percent(ratio)}"


def _verdict(one: Mapping[str, Any]) -> str:
    if one["error_ratio"] is None:
        return "not shown by the data"
    partner = one["goes_with"]
    words = "" if one["is_known"] else "hardly known"
    together = "" if partner is None else f"better known together with {plain(partner)}"
    return ", ".join(part for part in (words, together) if part)


def shown(key: str, value: float) -> str:
    """A value with the unit that its key says."""
    if key.endswith("_bytes_per_s"):
        return format_bandwidth(value)
    if key.endswith("_bytes"):
        return format_bytes(value)
    return format_duration(value) if key.endswith("_ns") else f"{value:,.6g}"


# JSON -----------------------------------------------------------------------------------------------------------------


def report_to_json(report: FitReport) -> dict[str, Any]:
    """Plain values with units in their names; docs/fit.md describes them."""
    return {
        "name": report.name,
        "evidence": list(report.evidence),
        "like": report.like,
        "design": dict(report.fitted.design),
        "numbers": [dict(one) for one in report.fitted.numbers],
        **report.fitted.judgement,
        "notes": list(report.notes),
        "toml": report.toml,
    }
