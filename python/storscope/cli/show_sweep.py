"""Shows a sweep or a series: a live line while it runs, then a table with bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from storscope.cli.live_line import LiveLine, sparkline
from storscope.cli.text_table import harmless, print_sentences, table_lines, terminal_width
from storscope.domain.sweep import OF_FLUSHES, Cell, Estimate, Point, SweepResult
from storscope.domain.units import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_span,
    format_time,
)

if TYPE_CHECKING:
    from storscope.bench.figures import Interval
    from storscope.workbench.benchmarking import Benched

_BAR_WIDTH = 18
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_MOST_DOUBTS = 6
_SPARKLINE_POINTS = 12


class SweepLine(LiveLine):
    """The live line of a matrix: which measurement it is, what it gives, and when all will be done."""

    def __init__(self, total: int, duration_ns: int) -> None:
        super().__init__(duration_ns)
        self._total, self._left_ns, self._head = total, 0, ""

    def __enter__(self) -> SweepLine:
        return self

    def begin(self, number: int, point: Point, left_ns: int) -> None:
        """A measurement starts."""
        self._rates, self._left_ns = [], left_ns
        self._head = f"{number}/{self._total} {point.words}"
        self._draw(f"{self._head} …")

    def show(self, interval: Interval) -> None:
        """The latest interval."""
        whole = interval.all
        self._rates.append(interval.per_s(whole.ios) or 0.0)
        rate = f"{sparkline(self._rates[-_SPARKLINE_POINTS:])} {format_rate(self._rates[-1])}"
        left_ns = max(0, self._left_ns - interval.start_ns - interval.duration_ns)
        if not self._head:  # what comes before the first measurement
            super().show(interval)
            return
        latency = f"{format_duration(whole.shown.mean_ns)} mean, {format_duration(whole.shown.quantile_ns(0.99))} p99"
        says = f", {self._progress.says}" if self._progress is not None and self._progress.says else ""
        self._draw(f"{self._head}: {rate}, {latency}{says}; all done in {format_span(left_ns)}")

    def end(self, number: int, point: Point, benched: Benched, left_ns: int) -> None:
        """A measurement is in the store."""
        measured = benched.measured
        whole = measured.all
        self.say(
            f"{number}/{self._total} {point.words}: {format_rate(measured.per_s(whole.ios))}, "
            f"{format_bandwidth(measured.per_s(whole.bytes))}, {format_duration(whole.shown.mean_ns)} mean, "
            f"{format_duration(whole.shown.quantile_ns(0.99))} p99"
            f"{'' if benched.status == 'ok' else f' ({benched.status})'}"
            f"{f'; {format_span(left_ns)} left' if number < self._total and left_ns else ''}"
        )

    def wait(self, left_ns: int) -> None:
        """Until the next slot."""
        self._draw(f"waiting for the next slot: {format_span(left_ns)}")


# The table on a terminal ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    head: str
    words: Callable[[Cell], str]
    is_text: bool = False


def print_sweep(result: SweepResult) -> None:
    """The table by mode with bars, then doubts and what is missing."""
    click.secho(harmless(headline(result)), bold=True)
    print_sentences(scope(result))
    is_narrow = False
    for mode in result.modes:
        cells = [cell for cell in result.cells if cell.point.title == mode]
        click.echo()
        click.secho(harmless(mode), bold=True)
        is_narrow |= _print_cells(result, cells)
    _print_notes(result, is_narrow=is_narrow)


def headline(result: SweepResult) -> str:
    """'Sweep of /mnt/array (scratch file): 36 of 36 measurements of 10 s'."""
    kind = "Series" if result.is_series else "Sweep"
    repeats = f", {result.repeats} repetitions of each" if result.repeats > 1 and not result.is_series else ""
    return (
        f"{kind} on {result.target} ({result.target_kind}): {result.done} of {result.counted(result.planned)}"
        f"{result.each_takes}{repeats}"
    )


def counted(measurements: int) -> str:
    """'1 measurement', '36 measurements'."""
    return f"{measurements} measurement{'' if measurements == 1 else 's'}"


def scope(result: SweepResult) -> str:
    """When, how large, how; of a simulation, how large and with which seed."""
    if result.is_simulated:
        size = f"up to {format_bytes(result.size_bytes)} of each volume, " if result.size_bytes else ""
        return f"{size}a fresh array at each point, seed {result.seed}"
    parts = [f"{format_time(result.started_ns)} to {format_time(result.ended_ns)}"]
    parts += [format_bytes(result.size_bytes)] if result.size_bytes else []
    parts += [f"every {format_span(result.interval_ns)}"] if result.interval_ns else []
    parts += ["past the page cache (O_DIRECT)" if result.direct else "through the page cache", f"seed {result.seed}"]
    return ", ".join(parts)


def _columns(result: SweepResult, cells: Sequence[Cell], *, is_narrow: bool) -> list[_Column]:
    def varies(of: Callable[[Cell], object]) -> bool:
        return len({of(cell) for cell in cells}) > 1

    columns = []
    if result.is_series:
        columns.append(_Column("after", lambda cell: cell.after))
    if any(cell.point.block_bytes for cell in cells):
        columns.append(_Column("size", lambda cell: format_bytes(cell.point.block_bytes)))
    if any(cell.point.jobs for cell in cells):
        columns.append(_Column("jobs", lambda cell: format_count(cell.point.jobs)))
    if varies(lambda cell: cell.point.depth) or any((cell.point.depth or 1) > 1 for cell in cells):
        columns.append(_Column("depth", lambda cell: format_count(cell.point.depth)))
    columns += [
        _Column("IOPS", lambda cell: _estimated(cell, "ops_per_s", lambda value: format_rate(value, "").strip())),
        _Column("", _bar_of(cells), is_text=True),
        _Column("bandwidth", lambda cell: _estimated(cell, "bytes_per_s", format_bandwidth, bare=is_narrow)),
        _Column("mean latency", lambda cell: _estimated(cell, "latency_ns_mean", format_duration, bare=is_narrow)),
        _Column("p99", lambda cell: _estimated(cell, "latency_ns_p99", format_duration, bare=is_narrow)),
    ]
    if any(cell.get(name) for cell in cells for name in OF_FLUSHES):
        columns += [
            _Column("flush mean", lambda cell: _estimated(cell, OF_FLUSHES[1], format_duration, bare=is_narrow)),
            _Column("flush p99", lambda cell: _estimated(cell, OF_FLUSHES[2], format_duration, bare=is_narrow)),
        ]
    if any(cell.bounds for cell in cells):
        columns.append(_Column("bound by", lambda cell: cell.bounds, is_text=True))
    if any(cell.invalid_runs or cell.doubts for cell in cells):
        columns.append(_Column("", _mark, is_text=True))
    return columns


def _estimated(cell: Cell, name: str, words: Callable[[float | None], str], *, bare: bool = False) -> str:
    """With its interval, unless it is to be bare."""
    found = cell.get(name)
    if found is None:
        return "–"
    return words(found.value) if bare else found.shown.words(words)


def _bar_of(cells: Sequence[Cell]) -> Callable[[Cell], str]:
    """Bars from zero to the greatest IOPS of the mode."""
    top = max((found.value for cell in cells if (found := cell.get("ops_per_s"))), default=0.0) or 1.0

    def bar(cell: Cell) -> str:
        found = cell.get("ops_per_s")
        eighths = round((found.value if found else 0.0) / top * _BAR_WIDTH * 8)
        return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip().ljust(_BAR_WIDTH)

    return bar


def _mark(cell: Cell) -> str:
    if cell.invalid_runs:
        return "INVALID"
    return "doubt" if cell.doubts else ""


def _print_cells(result: SweepResult, cells: Sequence[Cell]) -> bool:
    """Whether intervals were left out, but that of IOPS, since there is no room for them."""
    lines = _lines(cells, _columns(result, cells, is_narrow=False))
    is_narrow = max(map(len, lines)) > terminal_width()
    head, *others = _lines(cells, _columns(result, cells, is_narrow=True)) if is_narrow else lines
    click.secho(head, dim=True)
    for line in others:
        click.echo(line)
    return is_narrow


def _lines(cells: Sequence[Cell], columns: Sequence[_Column]) -> list[str]:
    rows = [[column.words(cell) for column in columns] for cell in cells]
    left = [number for number, column in enumerate(columns) if column.is_text]
    return table_lines([column.head for column in columns], rows, left)


def _figures_of(cell: Cell) -> list[Estimate]:
    """Those that a table tells with their intervals."""
    names = ("ops_per_s", "bytes_per_s", "latency_ns_mean", "latency_ns_p99", *OF_FLUSHES[1:])
    return [one for name in names if (one := cell.get(name)) is not None]


def _stands_alone(cell: Cell) -> bool:
    """Whether a figure is shown without an interval, of a measurement that has any."""
    found = _figures_of(cell)
    return any(one.shown.half_width is None for one in found) and any(one.half_width is not None for one in found)


def _print_notes(result: SweepResult, *, is_narrow: bool) -> None:
    if any(cell.get("ops_per_s") and cell.figures["ops_per_s"].low is not None for cell in result.cells):
        over = "of the mean over repetitions" if result.repeats > 1 and not result.is_series else "within the one run"
        click.echo()
        if any(one.shown.half_width is not None for cell in result.cells for one in _figures_of(cell)):
            print_sentences(f"± is half of the 95 % interval {over}; both ends are shown where it is lopsided or wide.")
        if not is_narrow and any(_stands_alone(cell) for cell in result.cells):
            print_sentences(
                "A figure that stands alone has too little data for an interval, as a p99 of few slow I/Os; "
                "measured for longer it has one."
            )
        if is_narrow:
            print_sentences("The terminal is too narrow for the intervals of bandwidth and latency; see --format csv.")
    doubted = [(cell.words, doubt) for cell in result.cells for doubt in cell.doubts]
    if result.failures or result.notes or result.doubts or doubted:
        click.echo()
    for failure in result.failures:
        not_made = "not simulated" if result.is_simulated else "not measured"
        click.secho(harmless(f"{not_made}: {failure}"), fg="red")
    for note in result.notes:
        print_sentences(f"note: {note}", colour="yellow")
    for doubt in result.doubts:
        print_sentences(f"doubt: {doubt}", colour="yellow")
    for words, doubt in doubted[:_MOST_DOUBTS]:
        print_sentences(f"doubt: {words}: {doubt}", colour="yellow")
    if len(doubted) > _MOST_DOUBTS:
        left_out = len(doubted) - _MOST_DOUBTS
        word = "doubt" if left_out == 1 else "doubts"
        click.secho(f"… and {left_out} more {word}; --format json has all.", fg="yellow")
    if result.is_series:
        _print_to_come(result)
    elif not result.is_complete:
        missing = result.planned - result.done
        verb = "is" if missing == 1 else "are"
        more = "" if result.is_simulated else "; the same command continues with what is missing"
        click.secho(f"{result.counted(missing)} {verb} missing{more}.", fg="yellow")


def _print_to_come(result: SweepResult) -> None:
    """Of a series that was interrupted: its schedule goes on, whether or not somebody measures."""
    if result.started_ns is None or result.ended_ns is None or result.interval_ns is None:
        return
    first = 2 + max((cell.slot for cell in result.cells if cell.slot is not None), default=-1)
    last = result.repeats
    last_ns = result.started_ns + (last - 1) * result.interval_ns
    if first <= last and result.ended_ns < last_ns:
        which = f"slots {first} to {last} of {last} are" if first < last else f"slot {last} of {last} is"
        print_sentences(
            f"Of the schedule {which} not measured yet: the same command goes on with the next one, until the last "
            f"begins, {format_time(last_ns)}.",
            colour="yellow",
        )
