"""storscope bench."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import click

from storscope.cli.options import DEFAULT_STORE, DurationType, store_option
from storscope.cli.sweep_command import is_sweep, sweep_command, sweep_options

_EPILOG = """\b
Examples:
  storscope bench /mnt/array --workload oltp
  storscope bench /mnt/array --workload job.fio --duration 5m --size 20G
  storscope bench /dev/sdb --workload backup --dry-run
  storscope bench /dev/sdb --sweep sizes=4k,16k,64k modes=randread,randwrite,read jobs=1,2,4,8 --report sweep.html
  storscope bench /mnt/nas/file --workload random-8k --time-series 10m/30s --for 4h
"""
_DEFAULT_DURATION_S = 10.0
_INTERRUPTED = 130


class SizeType(click.ParamType[int]):
    """A size like 64M or 1G, in binary units. Converted to bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes."""
        from storscope.domain.units import bytes_from_text

        if isinstance(value, int):
            return value
        try:
            return bytes_from_text(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command("bench", epilog=_EPILOG)
@click.argument("target", metavar="DIR|FILE|DEVICE")
@click.option("--workload", "source", metavar="NAME|FILE", help="See: storscope workload list.")
@click.option("--only", metavar="NAME", help="Of a file with several workloads, this one.")
@click.option("--duration", type=DurationType(), help="[default: 10s, or what the workload's file says]")
@click.option("--size", type=SizeType(), help="Of the scratch file [default: 1G], or of the part of TARGET to use.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Repeats the draws of a run. [default: a new one]")
@click.option("--engine", type=click.Choice(["storscope", "fio"]), default="storscope", show_default=True,
              help="What makes the I/Os; fio must be installed.")
@click.option("--buffered", is_flag=True, help="Through the page cache, instead of past it (O_DIRECT).")
@click.option("--overwrite", "permission", metavar="WORD", help="What identifies a target with content; see --dry-run.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, check all of it, and write nothing.")
@sweep_options
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    target: str, source: str | None, only: str | None, duration: float | None, size: int | None, seed: int | None,
    engine: str, buffered: bool, permission: str | None, dry_run: bool, store_path: Path | None, as_json: bool,
    **_: Any,
) -> int:  # fmt: skip
    """Measure what a directory, file or block device does under a workload.

    In a directory a scratch file is made, filled, and removed at the end. A target is opened read-only if the workload
    only reads; what is in use or holds data is not written to. Ctrl-C ends the run and keeps what was measured.
    """
    from storscope.bench.workloads import load_workload
    from storscope.cli.show_workload import print_losses
    from storscope.domain.errors import UsageError
    from storscope.domain.units import NS_PER_S

    chosen = click.get_current_context().params
    if is_sweep(chosen):
        return sweep_command(target, chosen)
    if source is None:
        raise UsageError("--workload NAME or --sweep", "neither", hint="See: storscope workload list.")
    definition = load_workload(source)
    if only is not None:
        definition = definition.only(only)
    if len(definition.workloads) != 1:
        names = ", ".join(repr(workload.name) for workload in definition.workloads)
        raise UsageError("one workload", f"{len(definition.workloads)}: {names}", hint="Choose one with --only NAME.")
    print_losses(definition.losses)
    workload = definition.workloads[0]
    if dry_run:
        return _dry_run(target, workload, size, permission, not buffered)
    wanted_ns = definition.sweep.duration_ns if duration is None else round(duration * NS_PER_S)
    from storscope.workbench.benchmarking import BenchSettings

    settings = BenchSettings(
        duration_ns=wanted_ns or round(_DEFAULT_DURATION_S * NS_PER_S),
        seed=secrets.randbits(32) if seed is None else seed,
        size_bytes=size,
        permission=permission,
        direct=not buffered,
        engine=engine,
    )
    return _measure(target, workload, settings, store_path or Path(DEFAULT_STORE), as_json)


def _dry_run(target: str, workload: Any, size: int | None, permission: str | None, direct: bool) -> int:
    from storscope.bench.safety import DirectoryTarget, Intent, NewFileTarget, plan, resolve
    from storscope.bench.targets import check_fits, scratch_size
    from storscope.bench.workloads.describe import describe

    workload.check(1)
    if isinstance(resolve(target), DirectoryTarget | NewFileTarget):
        size = scratch_size(size)
        check_fits(workload, size)
    found = plan(target, Intent(workload.writes, size, direct=direct), permission=permission)
    for line in found.lines():
        click.echo(line)
    click.echo(f"Workload {workload.name}:")
    for line in describe(workload):
        click.echo(f"  {line}")
    return 0 if found.is_allowed else 2


def _measure(target: str, workload: Any, settings: Any, path: Path, as_json: bool) -> int:
    from storscope.cli.interruption import Interruption
    from storscope.cli.show_bench import LiveLine, benched_to_json, print_benched
    from storscope.store import Store
    from storscope.workbench.benchmarking import bench

    is_new = not path.exists()
    store = Store.open(path, create=True)
    try:
        with Interruption() as interruption, LiveLine(settings.duration_ns, interruption) as live:
            benched = bench(
                store, target, workload, settings, told=live.say, watch=live.show, stop=interruption.is_wanted
            )
    finally:
        if is_new and not any(path.glob("capture=*")) and not any(path.glob(".bench-*")):
            store.remove_if_empty()
    if as_json:
        click.echo(json.dumps(benched_to_json(benched), indent=2, ensure_ascii=False))
    else:
        print_benched(benched, store.path)
    if benched.outcome.error is not None:
        return 2
    return _INTERRUPTED if benched.outcome.stopped else 0
