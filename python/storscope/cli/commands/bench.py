"""storscope bench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from storscope.cli.goal_options import goal_options
from storscope.cli.knee_command import is_knee, knee_command, knee_options
from storscope.cli.measure_command import measure_command
from storscope.cli.options import DurationType, SizeType, store_option
from storscope.cli.output_file import refuse_targets
from storscope.cli.sweep_command import is_sweep, sweep_command, sweep_options
from storscope.domain.errors import UsageError

_EPILOG = """\b
Examples:
  storscope bench /mnt/array --workload oltp --report run.html
  storscope bench /mnt/array --workload job.fio --duration 5m --size 20G
  storscope bench /mnt/array --workload oltp --figure p99 --within 3% --max-duration 5m
  storscope bench /mnt/array --workload commits --figure flush-p99
  storscope bench /dev/sdb --workload random-8k-70-read --steady-state --precondition
  storscope bench /mnt/old /mnt/new --workload copy.toml
  storscope bench /mnt/array --workload oltp --knee --slo 'p99<5ms' --report knee.html
  storscope bench /dev/sdb --workload oltp --dry-run
  storscope bench /dev/sdb --sweep sizes=4k,16k,64k modes=randread,randwrite,read jobs=1,2,4,8 --report sweep.html
  storscope bench /dev/sdb --sweep sizes=4k,128k modes=randwrite,write --precondition --within 2%
  storscope bench /mnt/nas/file --sweep sizes=8k modes=randread jobs=8 --time-series 10m/30s --for 4h
"""


@click.command("bench", epilog=_EPILOG)
@click.argument("target", metavar="DIR|FILE|DEVICE")
@click.option("--workload", "source", metavar="NAME|FILE", help="See: storscope workload list.")
@click.option("--only", metavar="NAME", help="Of a file with several workloads, this one.")
@click.option(
    "--duration",
    type=DurationType(),
    help="Measure exactly so long, like 20s, 5m or 1h30m; a plain number is seconds.  "
    "[default: what the workload's file says, else until the figure is sure: --within; "
    "each point of a sweep: 10s]",
)
@click.option(
    "--size",
    type=SizeType(),
    help="Of the scratch file [default: 1G, or what the workload asks for], or of the part of TARGET to use.",
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Repeats the draws of a run. [default: a new one]")
@click.option(
    "--engine",
    type=click.Choice(["storscope", "fio"]),
    default="storscope",
    show_default=True,
    help="What makes the I/Os; fio must be installed, and measures 10 s unless --duration, --within and the like say "
    "otherwise; it takes 20 s and more to be sure, as it reports once a second.",
)
@click.option(
    "--ioengine",
    type=click.Choice(["auto", "io_uring", "threads"]),
    default="auto",
    show_default=True,
    help="How storscope's own engine makes them; auto tries both before a run where the kernel hands a ring's I/Os to "
    "threads of its own. Fix it for runs that are to be compared.",
)
@click.option("--buffered", is_flag=True, help="Through the page cache, instead of past it (O_DIRECT).")
@click.option(
    "--overwrite",
    "permissions",
    metavar="WORD",
    multiple=True,
    help="What identifies a target with content; see --dry-run. Again for each further one.",
)
@click.option("--keep", is_flag=True, help="Leave the scratch file; a run that names it may use it again.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, check all of it, and write nothing.")
@goal_options
@knee_options
@sweep_options
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(**_: Any) -> int:
    """Measure what a directory, file or block device does under a workload.

    In a directory a scratch file is made, filled, and removed at the end. A target is opened read-only if the workload
    only reads; what is in use or holds data is not written to. The warm-up is found and left out, and every figure has
    its 95 % interval. A workload whose streams name targets by number takes as many. Ctrl-C ends the run and keeps what
    was measured.
    """
    chosen = click.get_current_context().params
    _refuse_a_plan_for_programs(chosen)
    refuse_targets(chosen["report"], (chosen["target"], *chosen["axes"]))
    if is_knee(chosen):
        return knee_command((chosen["target"], *chosen["axes"]), chosen)
    if is_sweep(chosen):
        return sweep_command(chosen["target"], chosen)
    return measure_command((chosen["target"], *chosen["axes"]), chosen)


def _refuse_a_plan_for_programs(chosen: Mapping[str, Any]) -> None:

    given = "--json" if chosen["as_json"] else f"--format {chosen['output']}"
    if chosen["dry_run"] and (chosen["as_json"] or chosen["output"] not in (None, "table")):
        raise UsageError("--dry-run alone, which is told in words", f"also {given}", hint="Its exit code says as much.")
