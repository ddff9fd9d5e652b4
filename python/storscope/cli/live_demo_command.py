"""storscope demo --live: tells the live demonstration on the terminal while it happens."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from storscope.cli.standard_streams import is_terminal
from storscope.domain.comparison_words import change
from storscope.domain.units import format_bandwidth, format_duration, format_rate

if TYPE_CHECKING:
    from storscope.domain.verdict import Verdict
    from storscope.workbench.live_client import Seen
    from storscope.workbench.live_demo import LiveResult
    from storscope.workbench.live_lateness import Served

_REDRAW_S = 0.5
_INTERRUPTED = 130


class Terminal:
    """Steps and sentences with the seconds since the start; below them, on a terminal, one line that is redrawn."""

    def __init__(self, *, verbose: bool) -> None:
        self._start = time.monotonic()
        self._is_terminal = is_terminal(sys.stdout)
        self._verbose = verbose
        self._steps = 0
        self._drawn = 0.0

    def step(self, title: str) -> None:
        """A new part."""
        self._steps += 1
        self._clear()
        click.echo()
        click.secho(f"{self._steps}. {title}", bold=True)

    def say(self, sentence: str) -> None:
        """What happens."""
        self._clear()
        click.echo(f"  {time.monotonic() - self._start:5.1f} s  {sentence}")

    def show(self, victim: Seen | None, hog: Seen | None) -> None:
        """The line that is redrawn."""
        if not self._is_terminal or time.monotonic() - self._drawn < _REDRAW_S:
            return
        self._drawn = time.monotonic()
        hog_words = f"hog {format_bandwidth(hog.bytes_per_s)}" if hog else "no hog"
        victim_words = "no victim"
        if victim:
            victim_words = f"victim {format_rate(victim.ops_per_s)}, {format_duration(victim.latency_ns_mean)} mean"
        click.echo(f"\r\x1b[K  {self._drawn - self._start:5.1f} s  {victim_words}; {hog_words}", nl=False)

    def found(self, verdict: Verdict) -> None:
        """The diagnosis as `storscope diagnose` prints it, without what is only for information."""
        from storscope.cli.show_verdict import print_finding
        from storscope.domain.finding import Severity

        self._clear()
        worth = [finding for finding in verdict.findings if finding.severity > Severity.INFO]
        for number, finding in enumerate(worth, 1):
            print_finding(number, finding, verbose=self._verbose)
        if not worth:
            click.echo("  It finds nothing wrong.")

    def _clear(self) -> None:
        if self._is_terminal:
            click.echo("\r\x1b[K", nl=False)


def play(directory: Path | None, report: Path | None, keep: Path | None, *, verbose: bool) -> int:
    """Plays it; returns the exit code: 0 also where the storage is too quick for a hog to hurt."""
    from storscope.cli.interruption import Interruption
    from storscope.workbench.live_demo import LiveSettings, live_demo

    if keep is not None:
        _check_keep(keep)
    try:
        with Interruption(once=True):
            result = live_demo(LiveSettings(directory, report, keep), Terminal(verbose=verbose))
    except KeyboardInterrupt:
        click.echo("\nInterrupted; everything has been taken down.", err=True)
        return _INTERRUPTED
    _conclude(result)
    _say_what_stays(result, report, keep)
    return 2 if result.not_kept else 0


def _check_keep(keep: Path) -> None:
    """Raises what would keep a store from being made there, before a minute has gone."""
    from storscope.domain.errors import StoreError, UsageError
    from storscope.store import Store

    if keep.exists():
        raise UsageError("a new directory for the store", f"{keep}, which exists")
    try:
        Store.check_place(keep)
    except StoreError as error:
        raise UsageError(
            error.expected, error.found, where=error.where, hint="Name another one with --keep."
        ) from error


def _conclude(result: LiveResult) -> None:
    from storscope.cli.show_comparison import print_comparison

    if result.pressure is None:
        click.secho("\nThis storage is too quick: no hog that was tried made the victim wait noticeably.", bold=True)
        click.echo("There is nothing to diagnose then. Try it on slower storage: storscope demo --live DIR")
        return
    if result.comparison is not None:
        print_comparison(result.comparison, verbose=False)
    if result.proof is not None and (words := late_words(*result.proof)):
        click.echo(f"\n{words}")
    named = "The diagnosis named the hog" if result.is_named else "THE DIAGNOSIS DID NOT NAME THE HOG FIRST"
    click.secho(f"\n{named}. {_improvement_words(result)}", bold=True)


def late_words(before: Served, after: Served) -> str:
    """Why runs are marked invalid, and what remains of the difference without that; empty when none is."""
    late, runs = before.late + after.late, before.runs + after.runs
    if not late:
        return ""
    return (
        f"{late} of the {runs} runs are marked invalid: this machine was busy and the victim's own process came late"
        f" with its I/Os.\nWhat the storage alone took (service, submission to completion) is"
        f" {format_duration(after.service_ns)} instead of {format_duration(before.service_ns)}."
    )


def _improvement_words(result: LiveResult) -> str:
    row = result.improvement
    if row is None:
        return "The victim's latency could not be compared."
    what = "the victim's mean latency is" if row.metric == "latency" else "the storage takes for an I/O of the victim"
    words = f"With the hog limited {what} {format_duration(row.after)} instead of {format_duration(row.before)}"
    if row.change is None or row.change_low is None or row.change_high is None:
        return f"{words}, without an interval."
    return f"{words}: {change(row.change)} ({change(row.change_low)} to {change(row.change_high)})."


def _say_what_stays(result: LiveResult, report: Path | None, keep: Path | None) -> None:
    from storscope.workbench.live_demo import PROOF_METRICS

    if report is not None and result.verdict is not None:
        click.echo(f"report: {report}")
    if keep is not None and result.not_kept:
        click.echo(f"error: {keep}: expected room for what was collected, found {result.not_kept}.", err=True)
    elif keep is not None and result.verdict is not None:
        click.echo(f"store: {keep} (storscope diagnose --store {shlex.quote(str(keep))})")
        if result.sides is not None:
            again = ["storscope", "compare", "--store", str(keep), *result.sides]
            again += [word for metric in PROOF_METRICS for word in ("--metric", metric)]
            click.echo(f"the proof again: {shlex.join(again)}")
    if result.verdict is None and (report is not None or keep is not None):
        click.echo("Nothing is left behind: without an incident there is nothing to keep.")
    if report is None and keep is None:
        click.echo("Nothing is left behind. --report FILE keeps the report, --keep DIR what was collected.")
