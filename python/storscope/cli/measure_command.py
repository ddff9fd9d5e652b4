"""storscope bench without --sweep and the like: one measurement, or what it would do."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.after_printing import after_printing
from storscope.cli.bench_settings import settings_of
from storscope.cli.goal_options import goal_of
from storscope.cli.store_for_work import check_store_for_work, store_for_work
from storscope.cli.text_table import harmless
from storscope.domain.errors import UsageError

if TYPE_CHECKING:
    from storscope.bench.workloads.definition import Definition
    from storscope.domain.workload import Workload
    from storscope.store import Store
    from storscope.workbench.benchmarking import Benched, BenchSettings

_INTERRUPTED = 130


def measure_command(targets: Sequence[str], chosen: Mapping[str, Any]) -> int:
    """Measures once, shows and stores it; returns the exit code."""
    from storscope.cli.show_workload import print_losses, print_not_repeated, print_unused_targets

    definition = _definition(chosen)
    print_losses(definition.losses)
    print_unused_targets(definition)
    print_not_repeated(definition.sweep)
    workload = definition.workloads[0]
    settings = _settings(chosen, workload, definition)
    task = Task(tuple(targets), workload, settings, chosen["precondition"])
    if chosen["dry_run"]:
        check_store_for_work(chosen["store_path"])
        return _dry_run(task)
    _check_memory(task)
    return _measure(task, chosen)


def _check_memory(task: Task) -> None:
    """Before a scratch file is filled. Raises ConfigError where memory has no room for what is in flight."""
    from storscope.bench.engine import buffer_bytes
    from storscope.bench.record import ENGINE

    if task.settings.engine == ENGINE:
        buffer_bytes(task.workload, len(task.targets))


@dataclass(frozen=True)
class Task:
    """What is to be measured, and how."""

    targets: tuple[str, ...]
    workload: Workload
    settings: BenchSettings
    preconditions: bool


def _definition(chosen: Mapping[str, Any]) -> Definition:
    from storscope.bench.targets import known_sizes
    from storscope.bench.workloads import load_workload

    if chosen["source"] is None:
        raise UsageError("--workload NAME or --sweep", "neither", hint="See: storscope workload list.")
    definition = load_workload(chosen["source"], known_sizes((chosen["target"], *chosen["axes"]), chosen["size"]))
    if chosen["only"] is not None:
        definition = definition.only(chosen["only"])
    definition.sole(chosen["source"], "Choose one with --only NAME, or measure all of them with --sweep.")
    return definition


def definition_of(chosen: Mapping[str, Any]) -> Definition:
    """The one workload that is asked for, with what its file says and cannot be kept, which is printed."""
    from storscope.cli.show_workload import print_losses, print_unused_targets

    definition = _definition(chosen)
    print_losses(definition.losses)
    print_unused_targets(definition)
    return definition


def _settings(chosen: Mapping[str, Any], workload: Workload, definition: Definition) -> BenchSettings:
    from storscope.workbench.measured_interval import measured_interval_ns

    goal = goal_of(chosen, workload, definition.sweep)
    interval_ns = measured_interval_ns(goal, workload)
    return settings_of(chosen, goal.longest_ns, interval_ns=interval_ns, goal=goal, losses=definition.losses)


def _dry_run(task: Task) -> int:
    from storscope.bench.workloads.describe import describe
    from storscope.cli.dry_run import print_memory, print_preparation, print_room
    from storscope.workbench.engines import check_engine, check_load
    from storscope.workbench.preconditioning import WORDS

    check_engine(task.settings.engine, task.settings.ioengine)
    check_load(task.settings.engine, task.workload, len(task.targets))
    allowed = allowed_on(task.targets, task.workload, task.settings, writes=task.preconditions)
    if task.preconditions:
        click.echo(f"First would be written: {WORDS}.")
    click.echo(harmless(f"Workload {task.workload.name}:"))
    for line in describe(task.workload):
        click.echo(f"  {line}")
    if task.settings.goal is not None:
        click.echo(f"Measured: {task.settings.goal.explain()}.")
        print_room(task.workload, len(task.targets), task.settings, task.settings.goal)
    print_memory(task.workload, len(task.targets), task.settings)
    fits = print_preparation(task.targets, task.workload, task.settings)
    return 0 if allowed and fits else 2


def allowed_on(targets: Sequence[str], workload: Workload, settings: BenchSettings, *, writes: bool = False) -> bool:
    """Whether a workload may run on all targets; says what would be done with each. `writes`: also if it only reads.

    Raises ConfigError, UsageError for one that does not fit.
    """
    from storscope.bench.target_set import check_sizes, uses_of, words_for

    uses = uses_of(workload, len(targets))
    _print_leftovers()
    words = words_for(targets, settings.permissions)
    allowed = [
        _dry_run_of(targets, index, workload, settings, writes=use.writes or writes, permission=words[index])
        for index, use in enumerate(uses)
    ]
    check_sizes(targets, workload, settings.size_bytes)
    return all(allowed)


def _print_leftovers() -> None:
    from storscope.bench.safety import Swept, sweep

    for left in sweep(pretend=True):
        if left.outcome is Swept.REMOVED:
            click.echo(harmless(f"First a scratch file of a run that was killed would be removed: {left.path}."))
        elif left.is_news:
            click.echo(harmless(f"There is a scratch file of another run, {left}."))


def _dry_run_of(
    targets: Sequence[str],
    index: int,
    workload: Workload,
    settings: BenchSettings,
    *,
    writes: bool,
    permission: str | None,
) -> bool:
    from storscope.bench.safety import Intent, plan
    from storscope.bench.targets import is_new, scratch_size

    target, size = targets[index], settings.size_bytes
    if is_new(target):
        size = scratch_size(size, workload, index)
    found = plan(target, Intent(writes, size, settings.keep, settings.direct), permission=permission)
    for line in found.lines():
        click.echo(line)
    return found.is_allowed


def _measure(task: Task, chosen: Mapping[str, Any]) -> int:
    from storscope.workbench.benchmarking import NotStored

    with store_for_work(chosen["store_path"]) as store:
        try:
            benched = _benched(store, task)
        except NotStored as error:
            _show(error.benched, store, chosen)
            raise
    if benched is None:
        return _INTERRUPTED
    _show(benched, store, chosen)
    if benched.outcome.error is not None:
        click.echo(f"error: the run ended early: {harmless(benched.outcome.error[1])}", err=True)
        return 2
    return _INTERRUPTED if benched.outcome.stopped else 0


def _show(benched: Benched, store: Store, chosen: Mapping[str, Any]) -> None:
    from storscope.cli.show_bench import benched_to_json, print_benched

    with after_printing(partial(_write_report, benched, chosen)):
        if chosen["as_json"]:
            click.echo(json.dumps(benched_to_json(benched), indent=2, ensure_ascii=False))
        else:
            print_benched(benched, store.path)


def _write_report(benched: Benched, chosen: Mapping[str, Any]) -> None:
    if chosen["report"] is None:
        return
    from storscope.report import write_run_report
    from storscope.workbench.run_result import run_result

    write_run_report(
        run_result(benched, (chosen["target"], *chosen["axes"])), chosen["report"], _again(benched, chosen)
    )
    click.echo(f"report: {chosen['report']}", err=True)


def _again(benched: Benched, chosen: Mapping[str, Any]) -> str:
    """The command that measures again with the same draws; a permission to overwrite is for one run only."""

    def seconds(name: str) -> str | None:
        return None if chosen[name] is None else f"{chosen[name]:g}s"

    words = ["storscope", "bench", chosen["target"], *chosen["axes"], "--workload", chosen["source"]]
    given = {
        "--only": chosen["only"], "--duration": seconds("duration"), "--size": chosen["size"],
        "--seed": benched.about.seed, "--engine": None if chosen["engine"] == "storscope" else chosen["engine"],
        "--ioengine": None if chosen["ioengine"] == "auto" else chosen["ioengine"],
        "--figure": chosen["figure"], "--within": chosen["within"], "--max-duration": seconds("longest"),
        "--round": seconds("round_length"),
    }  # fmt: skip
    for option, value in given.items():
        words += [] if value is None else [option, str(value)]
    flags = {"--buffered": "buffered", "--steady-state": "steady", "--precondition": "precondition"}
    return shlex.join([*words, *(option for option, name in flags.items() if chosen[name])])


def _benched(store: Store, task: Task) -> Benched | None:
    """The measurement; None when it was interrupted before there was one."""
    from storscope.cli.interruption import Interruption
    from storscope.cli.live_line import LiveLine
    from storscope.workbench.benchmarking import bench_session
    from storscope.workbench.preconditioning import precondition

    with Interruption() as interruption, LiveLine(task.settings.duration_ns) as live:
        try:
            with bench_session(
                store, task.targets, task.workload, task.settings, told=live.say, stop=interruption.is_wanted,
                filled=live.filled, writes=task.preconditions,
            ) as session:  # fmt: skip
                if task.preconditions and not precondition(session, task.workload, live):
                    return None
                return session.measure(task.workload, live.show, follow=live.follow)
        except KeyboardInterrupt:
            live.say(_interrupted(measuring=interruption.gentle))
            return None


def _interrupted(*, measuring: bool) -> str:
    """What is left of a run that was not allowed to end in good order."""
    if measuring:
        return "Interrupted; what was measured until then is stored by the next storscope bench."
    return "Interrupted before the measurement began: nothing was measured."
