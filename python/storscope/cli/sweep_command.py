"""storscope bench --sweep and --time-series: options, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.measure_command import allowed_on
from storscope.cli.options import DEFAULT_STORE, DurationType
from storscope.cli.output_file import OutputFile, replace_option
from storscope.cli.store_for_work import check_store_for_work, store_for_work
from storscope.cli.sweep_plan import plan_of
from storscope.cli.text_table import harmless

if TYPE_CHECKING:
    from storscope.domain.sweep import SweepResult
    from storscope.workbench.sweeping import SweepPlan

FORMATS = ("table", "fio-table", "csv", "json")
_INTERRUPTED = 130
_ONLY_HERE = {
    "repeats": "--repeat", "continues": "--resume or --fresh", "shows": "--show", "total": "--for",
    "output": "--format",
}  # fmt: skip
_ALSO_OF_A_KNEE = {"shows"}


def sweep_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What `bench` takes for many measurements; they arrive as keywords, and `sweep_command` knows them."""
    options: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
        click.argument("axes", nargs=-1, metavar="[TARGET|AXIS=VALUES]..."),
        click.option("--sweep", "sweeps", is_flag=True, help="Measure a matrix: sizes=4k,64k modes=randread,write "
                     "jobs=1,8 depth=1,16 mix=70 starts=apart; or the workloads of --workload with jobs and depth."),
        click.option("--time-series", "series", metavar="EVERY/LENGTH",
                     help="Measure for LENGTH again every EVERY, as 10m/30s."),
        click.option("--for", "total", type=DurationType(), help="How long a time series goes on."),
        click.option("--repeat", "repeats", type=click.IntRange(1, 10_000),
                     help="Repetitions of each point of a sweep, or measurements of a time series."),
        click.option("--resume/--fresh", "continues", default=None,
                     help="Continue what the store has of it, or start anew. [default: continue if incomplete]"),
        click.option("--show", "shows", is_flag=True, help="Show what the store has of the sweep, or the latest "
                     "search for the knee that asked the same; measure nothing."),
        click.option("--format", "output", type=click.Choice(FORMATS), help="Of a sweep or series. [default: table]"),
        click.option("--report", type=OutputFile(is_page=True), metavar="FILE",
                     help="Draw what was measured in a self-contained HTML page."),
        replace_option("Replace the FILE of --report also if it is no earlier report of storscope.", of="report"),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _is_given(value: Any, name: str) -> bool:
    """Whether an option was typed; --fresh is one whose value is False."""
    return value is not None and (value is not False or name == "continues")


def is_sweep(chosen: Mapping[str, Any]) -> bool:
    """Whether many measurements are asked for. Raises UsageError for options that then mean nothing."""
    from storscope.domain.errors import UsageError

    if chosen["sweeps"] or chosen["series"]:
        if chosen["as_json"] and chosen["output"] not in (None, "json"):
            raise UsageError("--json or --format, which say the same thing", f"--json and --format {chosen['output']}")
        return True
    axes = [word for word in chosen["axes"] if "=" in word and not Path(word).exists()]
    if axes:
        raise UsageError("targets", f"also {' '.join(axes)!r}", hint="Axes need --sweep before them.")
    given = {name: option for name, option in _ONLY_HERE.items() if _is_given(chosen[name], name)}
    if given:
        those = "--sweep, --time-series or --knee" if given.keys() <= _ALSO_OF_A_KNEE else "--sweep or --time-series"
        raise UsageError(f"{those}, which alone have {', '.join(given.values())}", "neither")
    return False


def sweep_command(target: str, chosen: Mapping[str, Any]) -> int:
    """Measures, or shows, a matrix or a time series; returns the exit code."""
    from storscope.store import Store
    from storscope.workbench.series import check_schedule
    from storscope.workbench.sweeping import show_sweep

    plan = plan_of(target, chosen)
    if plan.interval_ns is not None:
        check_schedule(plan)
    if chosen["dry_run"]:
        check_store_for_work(chosen["store_path"])
        return _dry_run(plan)
    if chosen["shows"]:
        path = chosen["store_path"] or Path(DEFAULT_STORE)
        result = show_sweep(Store.open(path), plan, chosen["seed"])
        show_result(result, chosen)
        click.echo(f"\nIn the store {path} as {result.id}.", err=True)
        return 0
    result, is_interrupted, is_failed = _run(plan, chosen)
    show_result(result, chosen)
    click.echo(
        f"\nIn the store {chosen['store_path'] or DEFAULT_STORE} as {result.id}; --show shows it again.", err=True
    )
    if is_interrupted:
        return _INTERRUPTED
    return 2 if is_failed else 0


# Trying ---------------------------------------------------------------------------------------------------------------


def _dry_run(plan: SweepPlan) -> int:
    from storscope.bench.sweep import demanding
    from storscope.bench.sweep_order import balanced_order
    from storscope.cli.dry_run import block_of, filling_words, impossible_words, misfit_words, print_blocks
    from storscope.cli.show_sweep import counted
    from storscope.domain.units import format_span
    from storscope.workbench.engines import check_engine
    from storscope.workbench.preconditioning import WORDS

    settings, whole = plan.settings, demanding(plan.planned)
    check_engine(settings.engine, settings.ioengine)
    allowed = allowed_on(plan.targets, whole, settings, writes=plan.preconditions)
    if plan.preconditions:
        click.echo(f"First would be written: {WORDS}.")
    click.echo(f"{counted(plan.total)}{_lengths(plan)}:")
    if plan.interval_ns is not None:
        slots = (
            f"each of {plan.repeats} slots, every {format_span(plan.interval_ns)}" if plan.repeats > 1 else "one slot"
        )
        click.echo(f"  in {slots}:")
    order = balanced_order(plan.points, plan.repeats, settings.seed)
    shown = order if plan.interval_ns is None else [list(range(len(plan.planned)))]
    block = block_of(plan.targets, settings)
    impossible = [impossible_words(item.workload, len(plan.targets), settings) for item in plan.planned]
    for number, index in enumerate((index for places in shown for index in places), 1):
        item = plan.planned[index]
        wrong = misfit_words(block, item.workload) or impossible[index]
        click.echo(harmless(f"  {number}. {item.point.words}{f' ({wrong})' if wrong else ''}"))
    filling = filling_words(plan.targets, whole, settings)
    if filling:
        click.echo(filling)
    fits = print_blocks(block, [item.workload for item in plan.planned])
    return 0 if allowed and fits and not any(impossible) else 2


def _lengths(plan: SweepPlan) -> str:
    from storscope.domain.units import format_span

    each = format_span(plan.settings.duration_ns)
    if plan.interval_ns is not None:
        return f" of {each}, {format_span(plan.repeats * plan.interval_ns)} in all"
    if plan.goals:
        longest_ns = plan.repeats * sum(goal.longest_ns for goal in plan.goals)
        return f", each until {plan.ends}; at most {format_span(longest_ns)} in all"
    return f" of {each}, about {format_span(plan.total * (plan.settings.duration_ns + plan.ramp_ns))} in all"


# Running and showing --------------------------------------------------------------------------------------------------


def _run(plan: SweepPlan, chosen: Mapping[str, Any]) -> tuple[SweepResult, bool, bool]:
    from storscope.cli.interruption import Interruption
    from storscope.cli.show_sweep import SweepLine
    from storscope.workbench.series import run_series
    from storscope.workbench.sweeping import run_sweep

    fresh = None if chosen["continues"] is None else not chosen["continues"]
    run = run_sweep if plan.interval_ns is None else run_series
    line = SweepLine(plan.total, plan.settings.duration_ns)
    with store_for_work(chosen["store_path"]) as store, Interruption() as interruption, line:
        result = run(store, plan, line, interruption.is_wanted, fresh=fresh)
        is_interrupted = interruption.is_wanted()
    return result, is_interrupted and not result.is_complete, bool(result.failures)


def show_result(result: SweepResult, chosen: Mapping[str, Any]) -> None:
    """Prints a sweep in the form that was asked for, and writes its page."""
    from storscope.cli.show_sweep import print_sweep
    from storscope.cli.sweep_tables import fio_table, sweep_csv, sweep_json

    output = chosen["output"] or ("json" if chosen["as_json"] else "table")
    printers: dict[str, Callable[[SweepResult], str]] = {"fio-table": fio_table, "csv": sweep_csv, "json": sweep_json}
    if output == "table":
        print_sweep(result)
    else:
        click.echo(printers[output](result), nl=False)
        for note in result.notes:
            click.echo(harmless(f"note: {note}"), err=True)
        for doubt in result.doubts:
            click.echo(harmless(f"doubt: {doubt}"), err=True)
    if chosen["report"] is not None:
        from storscope.report import write_sweep_report

        write_sweep_report(result, chosen["report"])
        click.echo(f"report: {chosen['report']}", err=True)
