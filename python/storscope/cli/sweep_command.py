"""storscope bench --sweep and --time-series: options, and what they do."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.options import DEFAULT_STORE, DurationType

if TYPE_CHECKING:
    from storscope.bench.sweep import Planned
    from storscope.bench.workloads.definition import Sweep
    from storscope.domain.sweep import SweepResult
    from storscope.workbench.sweeping import SweepPlan

_FORMATS = ("table", "fio-table", "csv", "json")
_DEFAULT_DURATION_S = 10.0
_INTERRUPTED = 130
_ONLY_HERE = ("repeats", "continues", "shows", "total", "output", "report")


def sweep_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What `bench` takes for many measurements; they arrive as keywords, and `sweep_command` knows them."""
    page = click.Path(path_type=Path, dir_okay=False)
    options = [
        click.argument("axes", nargs=-1, metavar="[TARGET|AXIS=VALUES]..."),
        click.option("--sweep", "sweeps", is_flag=True, help="Measure a matrix: sizes=4k,64k modes=randread,write "
                     "jobs=1,8 depth=1,16 mix=70; or the workloads of --workload with jobs and depth."),
        click.option("--time-series", "series", metavar="EVERY/LENGTH",
                     help="Measure for LENGTH again every EVERY, as 10m/30s."),
        click.option("--for", "total", type=DurationType(), help="How long a time series goes on."),
        click.option("--repeat", "repeats", type=click.IntRange(1, 10_000),
                     help="Repetitions of each point of a sweep, or measurements of a time series."),
        click.option("--resume/--fresh", "continues", default=None,
                     help="Continue the sweep in the store, or start anew. [default: continue one that is incomplete]"),
        click.option("--show", "shows", is_flag=True, help="Show what the store has of the sweep; measure nothing."),
        click.option("--format", "output", type=click.Choice(_FORMATS), help="Of a sweep or series. [default: table]"),
        click.option("--report", type=page, help="Draw a sweep or time series in a self-contained HTML page."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def is_sweep(chosen: Mapping[str, Any]) -> bool:
    """Whether many measurements are asked for. Raises UsageError for options that then mean nothing."""
    from storscope.domain.errors import UsageError

    if chosen["sweeps"] or chosen["series"]:
        return True
    axes = [word for word in chosen["axes"] if "=" in word and not Path(word).exists()]
    if axes:
        raise UsageError("targets", f"also {' '.join(axes)!r}", hint="Axes need --sweep before them.")
    given = [name for name in _ONLY_HERE if chosen[name] not in (None, False)]
    if given:
        raise UsageError("--sweep or --time-series", "options that only they have",
                         hint="--repeat, --for, --resume, --fresh, --show, --format and --report.")  # fmt: skip
    return False


def sweep_command(target: str, chosen: Mapping[str, Any]) -> int:
    """Measures, or shows, a matrix or a time series; returns the exit code."""
    from storscope.store import Store
    from storscope.workbench.series import check_schedule
    from storscope.workbench.sweeping import show_sweep

    plan = _plan(target, chosen)
    if plan.interval_ns is not None:
        check_schedule(plan)
    if chosen["dry_run"]:
        return _dry_run(plan)
    path = chosen["store_path"] or Path(DEFAULT_STORE)
    if chosen["shows"]:
        result = show_sweep(Store.open(path), plan)
        _show(result, chosen)
        return 0
    result, is_interrupted, is_failed = _run(plan, path, chosen)
    _show(result, chosen)
    click.echo(f"\nIn the store {path} as {result.id}; --show shows it again.", err=True)
    if is_interrupted:
        return _INTERRUPTED
    return 2 if is_failed else 0


# What is asked --------------------------------------------------------------------------------------------------------


def _plan(target: str, chosen: Mapping[str, Any]) -> SweepPlan:
    from storscope.bench.sweep import is_axis
    from storscope.domain.errors import UsageError
    from storscope.domain.units import NS_PER_S
    from storscope.workbench.benchmarking import BenchSettings
    from storscope.workbench.sweeping import SweepPlan

    words = [target, *chosen["axes"]]
    targets = [word for word in words if not is_axis(word)]
    if len(targets) != 1:
        found = " ".join(targets) or "none"
        raise UsageError(
            "one target and axes like sizes=4k,64k", found, hint="The axes are sizes, modes, jobs, depth, mix."
        )
    planned, asked = _planned([word for word in words if is_axis(word)], chosen)
    every_s, length_s = _schedule(chosen)
    length_s = length_s or chosen["duration"]
    duration_ns = round(length_s * NS_PER_S) if length_s else asked.duration_ns or round(_DEFAULT_DURATION_S * NS_PER_S)
    settings = BenchSettings(
        duration_ns=duration_ns,
        seed=secrets.randbits(32) if chosen["seed"] is None else chosen["seed"],
        size_bytes=chosen["size"],
        permission=chosen["permission"],
        direct=not chosen["buffered"],
        interval_ns=min(NS_PER_S, duration_ns),
        engine=chosen["engine"],
    )
    plan = SweepPlan(targets[0], tuple(planned), settings, chosen["repeats"] or 1, ramp_ns=asked.ramp_up_ns or 0)
    if every_s is None:
        return plan
    slots = chosen["repeats"] or max(1, int(chosen["total"] // every_s))
    return replace(plan, repeats=slots, interval_ns=round(every_s * NS_PER_S))


def _planned(axes: Sequence[str], chosen: Mapping[str, Any]) -> tuple[list[Planned], Sweep]:
    """The matrix, and how its file wants each measurement to be made."""
    from storscope.bench.sweep import axes_of, matrix, matrix_of
    from storscope.bench.workloads import load_workload
    from storscope.bench.workloads.definition import Sweep
    from storscope.cli.show_workload import print_losses
    from storscope.domain.errors import UsageError

    if chosen["source"] is None:
        if not chosen["sweeps"]:
            raise UsageError("--workload NAME or --sweep with axes", "neither", hint="See: storscope workload list.")
        return matrix(axes_of(axes)), Sweep()
    definition = load_workload(chosen["source"])
    if chosen["only"] is not None:
        definition = definition.only(chosen["only"])
    print_losses(definition.losses)
    if len(definition.workloads) != 1 and not chosen["sweeps"]:
        raise UsageError("one workload", f"{len(definition.workloads)}", hint="Choose one with --only, or add --sweep.")
    if definition.sweep.targets:
        click.echo("not swept: the file's own numbers of targets; there is one target here", err=True)
    return matrix_of(definition, axes_of(axes)), definition.sweep


def _schedule(chosen: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Seconds from slot to slot and of each measurement; None without a time series."""
    from storscope.domain.errors import UsageError

    if chosen["series"] is None:
        if chosen["total"] is not None:
            raise UsageError("--time-series with --for", "--for alone", hint="--duration is of one measurement.")
        return None, None
    every, slash, length = chosen["series"].partition("/")
    if not slash:
        raise UsageError("a time series like 10m/30s: every 10 minutes, 30 seconds long", repr(chosen["series"]))
    if (chosen["total"] is None) == (chosen["repeats"] is None):
        raise UsageError("how long the time series goes on", "both" if chosen["total"] else "nothing",
                         hint="Either --for 2h or --repeat 12.")  # fmt: skip
    if chosen["duration"] is not None or chosen["continues"] is not None:
        raise UsageError("a time series without --duration, --resume and --fresh", "one of them",
                         hint="Its length is in --time-series EVERY/LENGTH, and it starts anew each time.")  # fmt: skip
    kind = DurationType()
    return kind.convert(every, None, None), kind.convert(length, None, None)


def _dry_run(plan: SweepPlan) -> int:
    from storscope.bench.safety import DirectoryTarget, Intent, NewFileTarget, resolve
    from storscope.bench.safety import plan as safety_plan
    from storscope.bench.sweep import demanding
    from storscope.bench.sweep_order import balanced_order
    from storscope.bench.targets import scratch_size
    from storscope.domain.units import format_span

    settings, needed = plan.settings, demanding(plan.planned)
    size = settings.size_bytes
    if isinstance(resolve(plan.target), DirectoryTarget | NewFileTarget):
        size = scratch_size(size, needed)
    found = safety_plan(
        plan.target, Intent(needed.writes, size, direct=settings.direct), permission=settings.permission
    )
    for line in found.lines():
        click.echo(line)
    length = plan.total * settings.duration_ns if plan.interval_ns is None else plan.repeats * plan.interval_ns
    click.echo(f"{plan.total} measurements of {format_span(settings.duration_ns)}, about {format_span(length)} in all:")
    order = balanced_order(plan.points, plan.repeats, settings.seed)
    for number, index in enumerate((index for block in order for index in block), 1):
        click.echo(f"  {number}. {plan.planned[index].point.words}")
    return 0 if found.is_allowed else 2


# Running and showing --------------------------------------------------------------------------------------------------


def _run(plan: SweepPlan, path: Path, chosen: Mapping[str, Any]) -> tuple[SweepResult, bool, bool]:
    from storscope.cli.interruption import Interruption
    from storscope.cli.show_sweep import SweepLine
    from storscope.store import Store
    from storscope.workbench.series import run_series
    from storscope.workbench.sweeping import run_sweep

    is_new = not path.exists()
    store = Store.open(path, create=True)
    fresh = None if chosen["continues"] is None else not chosen["continues"]
    try:
        with Interruption() as interruption, SweepLine(plan.total, plan.settings.duration_ns) as line:
            if plan.interval_ns is None:
                result = run_sweep(store, plan, line, interruption.is_wanted, fresh=fresh)
            else:
                result = run_series(store, plan, line, interruption.is_wanted)
            is_interrupted = interruption.is_wanted()
    finally:
        if is_new and not any(path.glob("capture=*")) and not any(path.glob(".bench-*")):
            store.remove_if_empty()
    return result, is_interrupted and not result.is_complete, bool(result.failures)


def _show(result: SweepResult, chosen: Mapping[str, Any]) -> None:
    from storscope.cli.show_sweep import print_sweep
    from storscope.cli.sweep_tables import fio_table, sweep_csv, sweep_json

    output = chosen["output"] or ("json" if chosen["as_json"] else "table")
    printers: dict[str, Callable[[SweepResult], str]] = {"fio-table": fio_table, "csv": sweep_csv, "json": sweep_json}
    if output == "table":
        print_sweep(result)
    else:
        click.echo(printers[output](result), nl=False)
        for doubt in result.doubts:
            click.echo(f"doubt: {doubt}", err=True)
    if chosen["report"] is not None:
        from storscope.report import write_sweep_report

        write_sweep_report(result, chosen["report"])
        click.echo(f"report: {chosen['report']}", err=True)
