"""One line on standard error, redrawn while a target is filled and measured; sentences when it is no terminal."""

from __future__ import annotations

import errno
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

import click

from storscope.cli.text_table import harmless
from storscope.domain.units import NS_PER_S, format_bandwidth, format_bytes, format_duration, format_rate, format_span

if TYPE_CHECKING:
    from storscope.bench.figures import Interval
    from storscope.bench.goals import Progress

_BARS = "▁▂▃▄▅▆▇█"
_SPARKLINE_POINTS = 20


class LiveLine:
    """Without a terminal only sentences are printed."""

    def __init__(self, planned_ns: int) -> None:
        self._planned_ns = planned_ns
        self._is_terminal = sys.stderr.isatty()
        self._rates: list[float] = []
        self._progress: Progress | None = None
        self._is_drawn = False
        self._filling_since: float | None = None

    def __enter__(self) -> LiveLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def say(self, sentence: str) -> None:
        """What is being done."""
        self._clear()
        self._rates, self._progress, self._filling_since = [], None, None
        _print(f"{harmless(sentence)}\n")

    def filled(self, done_bytes: int, total_bytes: int) -> None:
        """How much of a scratch file is written."""
        now = time.monotonic()
        if self._filling_since is None:
            # The first report is of a part that took as long to write as nobody knows: rates count from it.
            self._filling_since, self._filled_before = now, done_bytes
        elapsed_s = now - self._filling_since
        rate = (done_bytes - self._filled_before) / elapsed_s if elapsed_s > 0 else None
        self._draw(filling_words(done_bytes, total_bytes, rate))

    def follow(self, progress: Progress) -> None:
        """How far the measurement has got; called before `show`."""
        self._progress = progress

    def show(self, interval: Interval) -> None:
        """The latest interval: IOPS, latency, time to go."""
        whole = interval.all
        self._rates = [*self._rates, interval.per_s(whole.ios) or 0.0][-_SPARKLINE_POINTS:]
        seen = whole.shown
        self._draw(
            f"{sparkline(self._rates)} {format_rate(self._rates[-1])}, {format_duration(seen.mean_ns)} mean, "
            f"{format_duration(seen.quantile_ns(0.99))} p99, {self._left(interval)}"
        )

    def _left(self, interval: Interval) -> str:
        """The time to go: as expected of the goal, if there is one, else as planned."""
        if self._progress is None:
            left_ns = self._planned_ns - interval.start_ns - interval.duration_ns
            return f"{format_span(left_ns)} left" if left_ns > 0 else "ending"
        says = f", {self._progress.says}" if self._progress.says else ""
        return (f"{format_span(self._progress.left_ns)} left" if self._progress.left_ns > 0 else "ending") + says

    def _draw(self, line: str) -> None:
        if self._is_terminal:
            _print(f"\r\x1b[K{harmless(line)}")
            self._is_drawn = True

    def _clear(self) -> None:
        if self._is_drawn:
            _print("\r\x1b[K")
            self._is_drawn = False


def _print(text: str) -> None:
    """A terminal that is gone ends nothing: SIGHUP is on its way, which does that in good order."""
    try:
        click.echo(text, err=True, nl=False)
    except OSError as error:
        if error.errno != errno.EIO:
            raise


def filling_words(done_bytes: int, total_bytes: int, rate_bytes_per_s: float | None) -> str:
    """'filling: 42 % of 1 GiB, 812 MB/s, 3.10 s left'."""
    words = f"filling: {done_bytes / total_bytes:.0%} of {format_bytes(total_bytes)}"
    if not rate_bytes_per_s:
        return words
    left_ns = (total_bytes - done_bytes) / rate_bytes_per_s * NS_PER_S
    return f"{words}, {format_bandwidth(rate_bytes_per_s)}, {format_span(left_ns)} left"


def sparkline(values: list[float]) -> str:
    """Bars from zero to the greatest value."""
    top = max(values, default=0.0) or 1.0
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in values)
