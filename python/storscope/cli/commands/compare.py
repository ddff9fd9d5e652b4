"""storscope compare."""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from storscope.cli.after_printing import after_printing
from storscope.cli.evidence_of import reading
from storscope.cli.options import (
    DEFAULT_STORE,
    DurationType,
    ShareType,
    import_options,
    refuse_import_options,
    store_option,
)
from storscope.cli.output_file import OutputFile, replace_option

_EPILOG = """\b
What BEFORE and AFTER may be:
  FILE, FOLDER or ARCHIVE      read for this comparison only
  STORE                        everything in a store
  STORE#key=value,...          part of a store (or of evidence)
  key=value,...                part of the store in use (--store)
Keys: run (name, id or pattern, also the id of a sweep; several joined with |),
stream (name or pattern, of runs that storscope made), capture (id or file
name), entity (name or kind/name), system, since, until (ISO 8601; without an
offset UTC: 2026-11-20T09:00 is 2026-11-20T10:00+01:00; --timezone is of
evidence alone; of a run also the time since its start, its warm-up included:
12m30s, 0:12:30).

\b
Examples:
  storscope compare before.csv after.csv
  storscope compare fio_old/ fio_new/ --metric p99 --metric iops
  storscope compare 'lab#run=base-*' 'lab#run=tuned-*' --threshold 3%
  storscope compare --store prod \\
      since=2026-11-20T22:00,until=2026-11-21T02:00,entity=vmhba* \\
      since=2026-11-21T22:00,until=2026-11-22T02:00,entity=vmhba*
  storscope compare --store lab \\
      run=simulation-5d0c8f1e-18a3b4c5d6e7f809,until=2m \\
      run=simulation-5d0c8f1e-18a3b4c5d6e7f809,since=2m
  storscope compare --store lab 'run=ten clones,stream=clone*' \\
      'run=ten clones, four groups,stream=clone*'
  storscope compare base.json new.json --json --fail-on worse
  storscope compare before.csv after.csv --report change.html
"""
_NOT_OF_A_PAGE: Final = {"as_json", "fail_on", "form", "report", "verbose"}
"""Parameters that say what becomes of a comparison, not what is compared."""


@click.command("compare", epilog=_EPILOG)
@click.argument("before")
@click.argument("after")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Compare this: latency, p99, iops, bandwidth, "
              "read_latency, write_p99.9, flush_p99, ... (docs/compare.md). May be given more than once.")  # fmt: skip
@click.option(
    "--threshold", type=ShareType(below_1=True), default="5%", show_default=True, help="Smallest change that matters."
)
@click.option("--level", type=ShareType(below_1=True), default="95%", show_default=True, help="Level of the intervals.")
@click.option("--fail-on", type=click.Choice(["worse", "cannot-tell"]), help="Exit with 1 when something is worse; "
              "with cannot-tell also when something cannot be told.")  # fmt: skip
@click.option(
    "--allow-different-load",
    is_flag=True,
    help="Judge also runs that were configured differently, and counters at another load.",
)
@click.option("--allow-failed", is_flag=True, help="Judge also runs that failed or lost data, and the latencies of "
              "invalid runs.")  # fmt: skip
@click.option("--entities", "entities_max", type=click.IntRange(1), default=10, show_default=True,
              help="Compare so many entities of running systems, the busiest first.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), default=0, show_default=True,
              help="Seed of the bootstrap intervals.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON (docs/compare-json.md).")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "csv", "json"]), default="table",
              show_default=True, help="markdown and csv: the figures as a table for elsewhere.")  # fmt: skip
@click.option("--report", type=OutputFile(is_page=True), metavar="FILE",
              help="Also write a self-contained HTML page: verdict, figures, changes with intervals, both sides over "
              "time, what was compared.")  # fmt: skip
@replace_option("Replace the FILE of --report also if it is no earlier report of storscope.", of="report")
@click.option("-v", "--verbose", is_flag=True, help="Every note, and how each interval came about.")
@store_option
@import_options
def command(before: str, after: str, store_path: Path | None, **chosen: Any) -> int:
    """Say whether AFTER differs from BEFORE, by how much, and whether that can be chance.

    Each is a benchmark result (fio, Iometer, a table of results, our own), a group of repeated runs, or the counters
    of a running system over a time. Simulated runs compare with each other like measured ones, and so do the counters
    of simulated arrays; one beside what was measured is a prediction, which is not judged. Runs are paired by access
    specification. Exit code 1: see --fail-on.
    """
    from storscope.cli.store_for_reading import complete
    from storscope.domain.comparison import Settings
    from storscope.store import Store
    from storscope.workbench.comparing import are_stored, compare, paths_of

    if chosen["as_json"] and chosen["form"] not in ("table", "json"):
        raise click.UsageError(f"--json: expected it or --format {chosen['form']}, found both.")
    refuse_report(chosen["report"], paths_of(before, after))
    if are_stored(before, after):
        refuse_import_options("parts of stores")
    kept = store_path or Path(DEFAULT_STORE)
    if Store.is_store(kept):
        complete(Store.open(kept))
    settings = Settings(
        metrics=chosen["metrics"],
        threshold=chosen["threshold"],
        level=_level(chosen["level"]),
        seed=chosen["seed"],
        allow_different_load=chosen["allow_different_load"],
        allow_failed=chosen["allow_failed"],
        entities_max=chosen["entities_max"],
    )
    with reading(chosen, verbose=chosen["verbose"]) as how:
        comparison = compare(before, after, settings, store_path=kept, reading=how)
    with after_printing(partial(_write_report, comparison, chosen["report"])):
        _show(comparison, form="json" if chosen["as_json"] else chosen["form"], verbose=chosen["verbose"])
    return exit_code(comparison, chosen["fail_on"], chosen["metrics"])


def refuse_report(report: Path | None, compared: Sequence[Path]) -> None:
    """Raises UsageError for a report that would go to what is compared; --replace is not for that.

    Of a folder that is compared these are its files but for earlier reports; of a store all of it.
    """
    from storscope.cli.output_file import refuse_targets
    from storscope.domain.errors import UsageError
    from storscope.store import Store

    if report is None:
        return
    refuse_targets(report, [str(path) for path in compared])
    for path in (path for path in compared if path.is_dir()):
        is_inside = report.resolve().is_relative_to(path.resolve())
        if is_inside and (Store.is_store(path) or _would_be_lost(report)):
            raise UsageError("a report beside what is compared", f"--report {report}, which is in it",
                             where=str(path), hint="Name another file.")  # fmt: skip


def _would_be_lost(report: Path) -> bool:
    """Whether a file that is no earlier report has its place."""
    from storscope.domain.errors import UsageError
    from storscope.store.whole_file import check_place

    try:
        check_place(report, is_page=True)
    except UsageError:
        return True
    return False


def _write_report(comparison: Any, path: Path | None) -> None:
    if path is not None:
        from storscope.report import write_comparison_report

        write_comparison_report(comparison, path, _again(click.get_current_context()))
        click.echo(f"report: {path}", err=True)


def _again(ctx: click.Context) -> str:
    """The command that compares again: what was given to this one, without what becomes of the comparison."""
    words = ["storscope", "compare"]
    given = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if ctx.get_parameter_source(name) not in given or name in _NOT_OF_A_PAGE or name not in ctx.params:
            continue
        value = ctx.params[name]
        words += [str(value)] if isinstance(parameter, click.Argument) else _option_again(parameter, value)
    return shlex.join(words)


def _option_again(option: click.Parameter, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [option.opts[-1] if value else option.secondary_opts[-1]]
    many = value if isinstance(value, (tuple, list)) else [value]
    return [word for one in many for word in (option.opts[-1], _typed(option, one))]


def _typed(option: click.Parameter, value: Any) -> str:
    """As it would be typed: shares as per cent, lengths of time in seconds."""
    if isinstance(option.type, ShareType):
        return f"{100 * value:.10g}%"
    if isinstance(option.type, DurationType):
        return f"{value:.10g}s"
    return value.isoformat() if isinstance(value, dt.datetime) else str(value)


def exit_code(comparison: Any, fail_on: str | None, metrics: Sequence[str] = ()) -> int:
    """1 when the comparison holds what `fail_on` names; `metrics` are those that were asked for."""
    from storscope.domain.comparison import Outcome

    if fail_on == "cannot-tell" and _tells_too_little(comparison, metrics):
        return 1
    failing = {None: [], "worse": [Outcome.WORSE], "cannot-tell": [Outcome.WORSE, Outcome.UNDECIDED]}[fail_on]
    is_agreed = Outcome.WORSE in failing and any(one.outcome is Outcome.WORSE for one in comparison.agreements)
    return int(is_agreed or any(comparison.count(outcome) for outcome in failing))


def _tells_too_little(comparison: Any, metrics: Sequence[str]) -> bool:
    """Whether no row says anything, or a pair has no row of a metric that was asked for."""
    if not any(row.outcome or row.off_by is not None for row in comparison.rows()):
        return True
    return any(set(metrics) - {row.metric for row in pair.rows} for pair in comparison.pairs)


def _level(level: float) -> float:
    if not 0.5 <= level <= 0.9999:
        raise click.UsageError(f"--level: expected 50% to 99.99%, found {100 * level:g}%.")
    return level


def _show(comparison: Any, *, form: str, verbose: bool) -> None:
    if form in ("markdown", "csv"):
        from storscope.cli.comparison_tables import comparison_to_csv, comparison_to_markdown

        click.echo({"markdown": comparison_to_markdown, "csv": comparison_to_csv}[form](comparison), nl=False)
        if form == "csv" and comparison.unmatched:
            click.echo(f"note: {len(comparison.unmatched)} without a partner, which the table names.", err=True)
        return
    if form == "json":
        import json

        from storscope.domain.comparison_json import comparison_to_json

        click.echo(json.dumps(comparison_to_json(comparison), indent=2, ensure_ascii=False))
        return
    from storscope.cli.show_comparison import print_comparison

    print_comparison(comparison, verbose=verbose)
