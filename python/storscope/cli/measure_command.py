"""storscope bench without --sweep and the like: one measurement, or what it would do."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.goal_options import goal_of
from storscope.cli.options import DEFAULT_STORE

if TYPE_CHECKING:
    from storscope.bench.workloads.definition import Definition
    from storscope.domain.workload import Workload
    from storscope.store import Store
    from storscope.workbench.benchmarking import Benched, BenchSettings

_INTERRUPTED = 130


def measure_command(targets: Sequence[str], chosen: Mapping[str, Any]) -> int:
    """Measures once, shows and stores it; returns the exit code."""
    from storscope.cli.show_workload import print_losses

    definition = _definition(chosen)
    print_losses(definition.losses)
    workload = definition.workloads[0]
    settings = _settings(chosen, workload, definition)
    if chosen["dry_run"]:
        return _dry_run(targets, workload, settings)
    return _measure(targets, workload, settings, chosen["store_path"] or Path(DEFAULT_STORE), chosen["as_json"])


def _definition(chosen: Mapping[str, Any]) -> Definition:
    from storscope.bench.workloads import load_workload
    from storscope.domain.errors import UsageError

    if chosen["source"] is None:
        raise UsageError("--workload NAME or --sweep", "neither", hint="See: storscope workload list.")
    definition = load_workload(chosen["source"])
    if chosen["only"] is not None:
        definition = definition.only(chosen["only"])
    if len(definition.workloads) != 1:
        names = ", ".join(repr(workload.name) for workload in definition.workloads)
        raise UsageError("one workload", f"{len(definition.workloads)}: {names}", hint="Choose one with --only NAME.")
    return definition


def _settings(chosen: Mapping[str, Any], workload: Workload, definition: Definition) -> BenchSettings:
    from storscope.workbench.benchmarking import BenchSettings

    goal = goal_of(chosen, workload, definition.sweep)
    return BenchSettings(
        duration_ns=goal.longest_ns,
        seed=secrets.randbits(32) if chosen["seed"] is None else chosen["seed"],
        size_bytes=chosen["size"],
        permission=chosen["permission"],
        direct=not chosen["buffered"],
        engine=chosen["engine"],
        goal=goal,
    )


def _dry_run(targets: Sequence[str], workload: Workload, settings: BenchSettings) -> int:
    from storscope.bench.workloads.describe import describe

    allowed = [_dry_run_of(target, workload, settings) for target in targets]
    click.echo(f"Workload {workload.name}:")
    for line in describe(workload):
        click.echo(f"  {line}")
    if settings.goal is not None:
        click.echo(f"Measured: {settings.goal.explain()}.")
    return 0 if all(allowed) else 2


def _dry_run_of(target: str, workload: Workload, settings: BenchSettings) -> bool:
    from storscope.bench.safety import DirectoryTarget, Intent, NewFileTarget, plan, resolve
    from storscope.bench.targets import check_fits, scratch_size

    workload.check(1)
    size = settings.size_bytes
    if isinstance(resolve(target), DirectoryTarget | NewFileTarget):
        size = scratch_size(size)
        check_fits(workload, size)
    found = plan(target, Intent(workload.writes, size, direct=settings.direct), permission=settings.permission)
    for line in found.lines():
        click.echo(line)
    return found.is_allowed


def _measure(targets: Sequence[str], workload: Workload, settings: BenchSettings, path: Path, as_json: bool) -> int:
    from storscope.cli.show_bench import benched_to_json, print_benched
    from storscope.store import Store

    is_new = not path.exists()
    store = Store.open(path, create=True)
    try:
        benched = _benched(store, targets, workload, settings)
    finally:
        if is_new and not any(path.glob("capture=*")) and not any(path.glob(".bench-*")):
            store.remove_if_empty()
    if benched is None:
        return _INTERRUPTED
    if as_json:
        click.echo(json.dumps(benched_to_json(benched), indent=2, ensure_ascii=False))
    else:
        print_benched(benched, store.path)
    if benched.outcome.error is not None:
        return 2
    return _INTERRUPTED if benched.outcome.stopped else 0


def _benched(store: Store, targets: Sequence[str], workload: Workload, settings: BenchSettings) -> Benched | None:
    """The measurement; None when it was interrupted before there was one."""
    from storscope.cli.interruption import Interruption
    from storscope.cli.show_bench import LiveLine
    from storscope.workbench.benchmarking import bench_session

    with Interruption() as interruption, LiveLine(settings.duration_ns, interruption) as live:
        try:
            with bench_session(
                store, targets[0], workload, settings, told=live.say, stop=interruption.is_wanted
            ) as session:
                return session.measure(workload, live.show, follow=live.follow)
        except KeyboardInterrupt:
            click.echo(_interrupted(measuring=interruption.gentle), err=True)
            return None


def _interrupted(*, measuring: bool) -> str:
    """What is left of a run that was not allowed to end in good order."""
    if measuring:
        return "Interrupted; what was measured until then is stored by the next storscope bench."
    return "Interrupted before the measurement began; nothing was measured, and the scratch file is removed."
