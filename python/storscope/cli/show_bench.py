"""Shows a measurement: a live line on standard error, then the figures."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.show_judgement import judgement_to_json, print_judgement
from storscope.domain.units import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_ratio,
    format_span,
)

if TYPE_CHECKING:
    from storscope.bench.device_check import DeviceCheck
    from storscope.bench.figures import Direction, Interval, Latencies
    from storscope.bench.goals import Progress
    from storscope.cli.interruption import Interruption
    from storscope.workbench.benchmarking import Benched

_SHARES = (0.5, 0.9, 0.99, 0.999)
_BARS = "▁▂▃▄▅▆▇█"
_SPARKLINE_POINTS = 20


class LiveLine:
    """One line that is redrawn on a terminal; without one, only sentences are printed."""

    def __init__(self, planned_ns: int, interruption: Interruption) -> None:
        self._planned_ns = planned_ns
        self._interruption = interruption
        self._is_terminal = sys.stderr.isatty()
        self._rates: list[float] = []
        self._progress: Progress | None = None

    def __enter__(self) -> LiveLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rates and self._is_terminal:
            click.echo("\r\x1b[K", err=True, nl=False)

    def say(self, sentence: str) -> None:
        """What is being done."""
        click.echo(sentence, err=True)

    def follow(self, progress: Progress) -> None:
        """How far the measurement has got; called before `show`."""
        self._progress = progress

    def show(self, interval: Interval) -> None:
        """The latest interval: IOPS, latency, time to go."""
        whole = interval.all
        self._rates = [*self._rates, interval.per_s(whole.ios) or 0.0][-_SPARKLINE_POINTS:]
        if not self._is_terminal:
            return
        left_ns = max(0, self._planned_ns - interval.start_ns - interval.duration_ns)
        click.echo(
            f"\r\x1b[K{sparkline(self._rates)} {format_rate(self._rates[-1])}, "
            f"{format_duration(whole.shown.mean_ns)} mean, {format_duration(whole.shown.quantile_ns(0.99))} p99, "
            f"{self._left(left_ns)}",
            err=True,
            nl=False,
        )

    def _left(self, planned_ns: int) -> str:
        """The time to go: as expected of the goal, if there is one, else as planned."""
        if self._progress is None:
            return f"{format_span(planned_ns)} left"
        says = f", {self._progress.says}" if self._progress.says else ""
        return f"{format_span(self._progress.left_ns)} left{says}"


def sparkline(values: list[float]) -> str:
    """Bars from zero to the greatest value."""
    top = max(values, default=0.0) or 1.0
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in values)


def print_benched(benched: Benched, store: Path) -> None:
    """The figures, what they rest on, and every doubt."""
    about, outcome = benched.about, benched.outcome
    total = benched.measured
    through = "" if about.direct else ", through the page cache"
    click.secho(f"{about.workload.name} on {about.target} ({about.target_kind}{through})", bold=True)
    click.echo(f"{format_span(total.duration_ns)}, seed {about.seed}, {', '.join(outcome.engines)}\n")
    if benched.judgement is not None:
        print_judgement(benched.judgement, total.duration_ns)
    for name, words in (("reads", "reads"), ("writes", "writes")):
        _print_direction(total, total.direction(name), words)
    _print_whole(total)
    if outcome.device is not None:
        _print_device(outcome.device)
    _print_doubts(benched)
    click.echo(f"\nIn the store {store} as capture {benched.capture}, run {about.run}.", err=True)


def _print_direction(total: Interval, direction: Direction, words: str) -> None:
    if not direction.ios:
        return
    rate, bandwidth = total.per_s(direction.ios), total.per_s(direction.bytes)
    click.echo(f"{click.style(words, bold=True)}: {format_rate(rate)}, {format_bandwidth(bandwidth)}")
    for measure, meaning in (("response", "what a user waits"), ("service", "what the device takes")):
        if direction.of(measure).count:
            click.echo(f"  {measure:<9} {_latency_words(direction.of(measure))}   ({meaning})")


def _latency_words(latencies: Latencies) -> str:
    shares = ", ".join(f"p{share * 100:g} {format_duration(latencies.quantile_ns(share))}" for share in _SHARES)
    return f"mean {format_duration(latencies.mean_ns)}, {shares}, max {format_duration(latencies.max_ns)}"


def _print_whole(total: Interval) -> None:
    whole = total.all
    if not whole.ios:
        return
    if total.outstanding_mean is not None:
        late = format_duration(whole.lateness.quantile_ns(0.99))
        click.echo(f"in flight: {total.outstanding_mean:.2f} on average; generator late by {late} at p99")
    click.echo(
        f"own cost: {format_duration(total.cpu_ns / whole.ios)} of CPU per I/O, "
        f"{format_count(total.context_switches)} context switches; moved {format_bytes(whole.bytes)}"
    )


def _print_device(check: DeviceCheck) -> None:
    """What the devices below did meanwhile, beside what the generator did."""
    if check.moved is None:
        return
    parts = [
        f"{word} {format_bytes(check.moved[word].bytes)} in {format_count(check.moved[word].ios)} operations"
        f" ({format_ratio(ratio)} of the generator's bytes)"
        for word in check.moved
        if (ratio := check.ratio(word)) is not None
    ]
    click.echo(f"device {', '.join(check.devices)}: {'; '.join(parts) or 'nothing to compare'}: {check.answer.value}")


def _print_doubts(benched: Benched) -> None:
    if benched.doubts:
        click.echo()
    for doubt in benched.doubts:
        click.secho(f"doubt: {doubt}", fg="yellow")
    if not benched.outcome.is_valid:
        click.secho("INVALID: the latencies do not mean what they say, for the reasons above.", fg="red", bold=True)


def benched_to_json(benched: Benched) -> dict[str, Any]:
    """The result as plain JSON values."""
    about, outcome = benched.about, benched.outcome
    total = benched.measured
    return {
        "capture": benched.capture, "run": about.run, "status": benched.status, "valid": outcome.is_valid,
        "doubts": list(benched.doubts), "target": about.target, "target_kind": about.target_kind,
        "direct": about.direct, "workload": about.workload.to_json(), "seed": about.seed, "engines": outcome.engines,
        **({} if benched.judgement is None else judgement_to_json(benched.judgement)),
        "duration_ns": total.duration_ns, "outstanding_mean": total.outstanding_mean,
        "cpu_per_io_ns": total.cpu_ns / total.all.ios if total.all.ios else None,
        "context_switches": total.context_switches, "failed": outcome.result["ending"]["failed"],
        **{word: _direction_to_json(total, total.direction(name))
           for name, word in (("reads", "read"), ("writes", "write"))},
        "all": _direction_to_json(total, total.all),
        "device": None if outcome.device is None else outcome.device.to_json(),
        "prefill": None if about.prefill is None else about.prefill.to_json(),
    }  # fmt: skip


def _direction_to_json(total: Interval, direction: Direction) -> dict[str, Any]:
    return {
        "ios": direction.ios,
        "bytes": direction.bytes,
        "ops_per_s": total.per_s(direction.ios),
        "bytes_per_s": total.per_s(direction.bytes),
        **{name: _latencies_to_json(direction.of(name)) for name in ("response", "service", "lateness")},
    }


def _latencies_to_json(latencies: Latencies) -> dict[str, Any]:
    quantiles = {f"p{share * 100:g}_ns": latencies.quantile_ns(share) for share in _SHARES}
    return {"mean_ns": latencies.mean_ns, "max_ns": latencies.max_ns, **quantiles}
