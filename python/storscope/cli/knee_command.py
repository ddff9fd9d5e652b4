"""storscope bench --knee: options, and what they do."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.bench_settings import settings_of
from storscope.cli.goal_options import check_direction
from storscope.cli.options import DEFAULT_STORE
from storscope.cli.store_for_work import check_store_for_work, store_for_work
from storscope.cli.text_table import harmless

if TYPE_CHECKING:
    from storscope.domain.knee_result import KneeResult
    from storscope.workbench.knee_search import KneeTask

_INTERRUPTED = 130
_DEFAULT_LONGEST_S = 75.0
_SHORTEST_S = 10.0
_NOT_HERE = {
    "duration": "--duration", "figure": "--figure", "within": "--within", "steady": "--steady-state",
    "round_length": "--round", "precondition": "--precondition", "sweeps": "--sweep", "series": "--time-series",
    "total": "--for", "repeats": "--repeat", "continues": "--resume", "output": "--format",
}  # fmt: skip


def knee_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """They arrive as keywords, and `knee_command` knows them."""
    options = [
        click.option("--knee", is_flag=True, help="Find the load where latency leaves the flat part (mean twice that "
                     "at light load), in open loop, within --max-duration, and draw it with --report.  [default of "
                     "--max-duration here: 75s]"),
        click.option("--slo", metavar="FIGURE<LIMIT", help="With --knee: also the greatest load that meets it, as "
                     "'p99<5ms', 'mean<2ms' (in quotes); with read-, write- or flush- before it of these alone, as "
                     "'flush-p99<20ms'."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def is_knee(chosen: Mapping[str, Any]) -> bool:
    """Whether the knee is asked for. Raises UsageError for options that contradict that."""
    from storscope.domain.errors import UsageError

    if not chosen["knee"]:
        if chosen["slo"] is not None:
            raise UsageError("--knee with --slo", "--slo alone")
        return False
    given = [word for name, word in _NOT_HERE.items() if chosen[name] not in (None, False)]
    if given:
        raise UsageError("--knee without options of other measurements", ", ".join(given),
                         hint="A search chooses its visits itself; bound it with --max-duration.")  # fmt: skip
    if chosen["engine"] != "storscope":
        raise UsageError("--knee with storscope's own engine", chosen["engine"],
                         hint="Response times in open loop are what fio does not tell.")  # fmt: skip
    return True


def knee_command(targets: Sequence[str], chosen: Mapping[str, Any]) -> int:
    """Searches, shows and stores it, or shows the latest search that asked the same; returns the exit code."""
    task = _task(targets, chosen)
    if chosen["dry_run"]:
        check_store_for_work(chosen["store_path"])
        return _dry_run(task)
    if chosen["shows"]:
        return _show_latest(task, chosen["store_path"] or Path(DEFAULT_STORE), chosen)
    return _search(task, chosen)


def _task(targets: Sequence[str], chosen: Mapping[str, Any]) -> KneeTask:
    from storscope.cli.measure_command import definition_of
    from storscope.domain.errors import UsageError
    from storscope.domain.objective import Objective
    from storscope.domain.units import NS_PER_S
    from storscope.workbench.knee_search import KneeTask

    objective = None if chosen["slo"] is None else Objective.parse(chosen["slo"])
    longest_s = _DEFAULT_LONGEST_S if chosen["longest"] is None else chosen["longest"]
    if longest_s < _SHORTEST_S:
        raise UsageError(f"at least {_SHORTEST_S:g} s for a search", f"{longest_s:g} s", where="--max-duration")
    definition = definition_of(chosen)
    if objective is not None:
        instead = replace(objective, figure=replace(objective.figure, direction=None))
        check_direction("--slo", objective.figure.direction, str(objective), f"'{instead}'", definition.workloads[0])
    budget_ns = round(longest_s * NS_PER_S)
    settings = settings_of(chosen, budget_ns, losses=definition.losses)
    return KneeTask(tuple(targets), definition.workloads[0], settings, budget_ns, objective)


def _dry_run(task: KneeTask) -> int:
    from storscope.bench.open_loop import known_rates, open_loop
    from storscope.bench.workloads.describe import describe
    from storscope.cli.dry_run import print_memory, print_preparation
    from storscope.cli.measure_command import allowed_on
    from storscope.domain.units import format_span

    allowed = allowed_on(task.targets, task.workload, task.settings)
    click.echo(harmless(f"Workload {task.workload.name}:"))
    for line in describe(task.workload):
        click.echo(f"  {line}")
    rates = known_rates(task.workload)
    click.echo(f"Searched for the knee{f' and {task.objective}' if task.objective else ''}, "
               f"at most {format_span(task.budget_ns)}:")  # fmt: skip
    if rates is None and len(task.workload.streams) > 1:
        click.echo("  First the workload runs as it is, for the proportions of its streams.")
    else:
        for line in open_loop(task.workload, rates or (1.0,), len(task.targets)).explain():
            click.echo(harmless(f"  {line}"))
    print_memory(task.at_any_rate, len(task.targets), task.settings)
    fits = print_preparation(task.targets, task.workload, task.settings)
    return 0 if allowed and fits else 2


def _show_latest(task: KneeTask, path: Path, chosen: Mapping[str, Any]) -> int:
    from storscope.store import Store
    from storscope.workbench.knee_reading import unfinished
    from storscope.workbench.knee_search import show_knee

    store = Store.open(path)
    found = show_knee(store, task, chosen["seed"])
    for begun in unfinished(store, task.digests, found.started_ns or 0):
        click.echo(f"note: {begun} began later and was not brought to its end; this is the one before.", err=True)
    _show(found, store.path, chosen)
    return 0 if found.is_answered else 2


def _search(task: KneeTask, chosen: Mapping[str, Any]) -> int:
    with store_for_work(chosen["store_path"]) as store:
        found, is_interrupted = _found(store, task)
    if found is None:
        return _INTERRUPTED
    _show(found, store.path, chosen)
    if is_interrupted:
        return _INTERRUPTED
    return 0 if found.is_answered else 2


def _show(found: KneeResult, store: Path, chosen: Mapping[str, Any]) -> None:
    from storscope.cli.show_knee import knee_to_json, print_knee

    if chosen["as_json"]:
        click.echo(json.dumps(knee_to_json(found), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_knee(found, store)
    if chosen["report"] is not None:
        from storscope.report import write_knee_report

        write_knee_report(found, chosen["report"], _again(found, chosen))
        click.echo(f"report: {chosen['report']}", err=True)


def _again(found: KneeResult, chosen: Mapping[str, Any]) -> str:
    """The command that searches again with the same draws; a permission to overwrite is for one run only."""
    from storscope.domain.units import NS_PER_S

    words = ["storscope", "bench", chosen["target"], *chosen["axes"], "--knee"]
    given = {
        "--workload": chosen["source"], "--only": chosen["only"], "--slo": chosen["slo"], "--size": chosen["size"],
        "--max-duration": None if found.budget_ns is None else f"{found.budget_ns / NS_PER_S:g}s",
        "--seed": found.seed,
    }  # fmt: skip
    for option, value in given.items():
        words += [] if value is None else [option, str(value)]
    return shlex.join([*words, *(["--buffered"] if chosen["buffered"] else [])])


def _found(store: Any, task: KneeTask) -> tuple[KneeResult | None, bool]:
    """The search, None when it was interrupted before its first visit ended; and whether it was interrupted."""
    from storscope.cli.interruption import Interruption
    from storscope.cli.show_knee import KneeLine
    from storscope.workbench.knee_search import find_knee

    with Interruption() as interruption, KneeLine(task.budget_ns) as line:
        try:
            found = find_knee(store, task, line, interruption.is_wanted)
        except KeyboardInterrupt:
            line.say("Interrupted before anything was found; visits that were complete are in the store.")
            return None, True
        return found, interruption.is_wanted()
