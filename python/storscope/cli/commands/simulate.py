"""storscope simulate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.after_printing import after_printing
from storscope.cli.options import DurationType, store_option, typed
from storscope.cli.output_file import OutputFile, replace_option
from storscope.cli.simulate_sweep import (
    designs_and_axes,
    is_simulation_sweep,
    simulation_sweep_options,
    sweep_simulated,
)
from storscope.cli.store_for_work import store_for_work
from storscope.cli.suggestions import NamedOption

if TYPE_CHECKING:
    from storscope.bench.workloads.definition import Sweep
    from storscope.sim.assignment import Assignment
    from storscope.sim.design import Design
    from storscope.sim.replay import TraceSource
    from storscope.sim.simulation import SimulationPlan
    from storscope.store import Store
    from storscope.workbench.simulated import Simulated

_EPILOG = """\b
Examples:
  storscope simulate array.toml --workload oltp
  storscope simulate array.toml --workload 'vmfs*=vdi-steady' --workload dw=backup --duration 10m
  storscope simulate array.toml --workload oltp --animate --report array.html
  storscope simulate array.toml --trace vmfs1=db.blkparse --speed-up 2
  storscope simulate array.toml --sweep sizes=4k,64k modes=randread,randwrite,read jobs=1,2 depth=1,16 --report s.html
  storscope simulate array.toml vmfs1 --sweep modes=randread,randwrite depth=1,4,16 --size 10% --format fio-table
  storscope simulate --drives

array.toml is the design in docs/simulate.md, with the volumes vmfs1 and dw; complete ones are in examples/designs.
"""
_OF_A_RUN = ("speed_up", "closed_loop", "duration", "ios", "seed", "slice_s")
"""Parameters that say how a workload or a trace runs."""
_INTERRUPTED = 130
_FAILED = 2
"""Data was lost, or the run could not go on."""


class CountType(click.ParamType[int]):
    """A count like 5000000, 500k or 5M, in powers of ten."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The count."""
        from storscope.domain.units import count_from_text

        if isinstance(value, int):
            return value
        try:
            count = count_from_text(value)
        except ValueError:
            count = 0
        if not 1 <= count < 1e15:
            self.fail(f"expected a count from 1 on, like 500k or 5M, found {value!r}", param, ctx)
        return count


@click.command("simulate", epilog=_EPILOG, cls=NamedOption, further="--workload", many=("axes", "sweeps"))
@click.argument("design_path", metavar="DESIGN.toml", required=False)
@simulation_sweep_options
@click.option(
    "--workload", "sources", multiple=True, metavar="[VOLUME=]NAME|FILE",
    help="What runs, on all volumes or on those that fit VOLUME or HOST/VOLUME (with * and ?). May be repeated.",
)  # fmt: skip
@click.option(
    "--trace", "traces", multiple=True, metavar="[VOLUME=]FILE",
    help="Replay a block trace (drive trace, blkparse text, iolog of fio, CSV) instead of a workload. May be repeated.",
)  # fmt: skip
@click.option("--speed-up", type=float, help="How many times as fast the trace goes. [default: 1]")
@click.option(
    "--closed-loop", type=click.IntRange(1, 65536), metavar="OUTSTANDING",
    help="Replay in a closed loop: so many in flight, each answer lets the next go after the trace's think time.",
)  # fmt: skip
@click.option(
    "--duration",
    type=DurationType(),
    help="Simulated time, like 20s, 5m or 1h30m; a plain number is seconds. "
    "[default: what the workload's file says, its rate steps, else 60s; with --ios or --trace to their end]",
)
@click.option("--ios", type=CountType(), help="End after about so many I/Os of the hosts, e.g. 5M.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=1, show_default=True, help="All draws follow it.")
@click.option("--schedule", "schedule_path", metavar="FILE", help="TOML: what changes during the run.")
@click.option("--animate", is_flag=True, help="Show the queue of every drive over time.")
@click.option(
    "--slice",
    "slice_s",
    type=DurationType(),
    help="Resolution of the drives' queues; coarser of long runs. [default: 20ms or less]",
)
@click.option("--report", type=OutputFile(is_page=True), metavar="FILE", help="Diagnose the run; write a page.")
@replace_option("Replace the FILE of --report also if it is no earlier report of storscope.", of="report")
@click.option("--check", is_flag=True, help="Only read the design, and what else is given; say what it is.")
@click.option("--drives", is_flag=True, help="List the drives of the catalogue and where their numbers come from.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(design_path: str | None, sources: tuple[str, ...], **chosen: Any) -> int:
    """Predict what a storage design does under a workload, and why.

    The run is kept in the store like a measurement: diagnose and compare work on it. The same seed gives the same
    figures on any machine. Ctrl-C ends the run and keeps what was simulated.
    """
    from storscope.cli import show_design as show
    from storscope.domain.errors import UsageError
    from storscope.sim.design import load_design
    from storscope.sim.schedule import load_schedule

    if chosen["drives"]:
        _refuse_idle("--drives", _params_but("drives", "as_json"), "It lists the catalogue, and does nothing else.")
        show.print_drives(as_json=chosen["as_json"])
        return 0
    volumes: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    if is_sweep := is_simulation_sweep(chosen):
        design_path, volumes, axes = designs_and_axes([*([design_path] if design_path else []), *chosen["axes"]])
    if design_path is None:
        raise UsageError("a design", "none", hint="See docs/simulate.md, and examples/designs/.")
    schedule = None if chosen["schedule_path"] is None else load_schedule(chosen["schedule_path"])
    design = load_design(Path(design_path), schedule)
    if chosen["check"]:
        _refuse_idle("--check", ("report", "animate", "output"), "It runs nothing that could be shown.")
    if is_sweep:
        return sweep_simulated(design, sources, volumes, axes, chosen)
    if chosen["check"] and not sources and not chosen["traces"]:
        _refuse_idle("--check", _OF_A_RUN, "It reads the design alone, without --workload or --trace.")
        show.print_design(design, as_json=chosen["as_json"])
        return 0
    plan = _plan(design, sources, chosen)
    if chosen["check"]:
        plan.check()
        show.print_design(design, as_json=chosen["as_json"], workload=plan.workload)
        return 0
    with store_for_work(chosen["store_path"]) as store:
        return _keep_and_show(_simulated(plan), store, chosen)


def _params_but(*names: str) -> list[str]:
    """All parameters of the command except these."""
    every = [one.name for one in click.get_current_context().command.params]
    return [name for name in every if name is not None and name not in names]


def _refuse_idle(option: str, names: Sequence[str], reason: str) -> None:
    """Raises UsageError if any of these parameters was typed, which have no effect beside the option."""
    from storscope.domain.errors import UsageError

    if idle := typed(*names):
        raise UsageError(f"{option} without {', '.join(idle)}", "both", hint=reason)


def _plan(design: Design, sources: tuple[str, ...], chosen: dict[str, Any]) -> SimulationPlan:
    """What is asked of the design, a workload or a trace; both are read and placed."""
    from storscope.domain.errors import UsageError

    if chosen["traces"]:
        if sources or chosen["ios"]:
            raise UsageError("--trace without --workload and --ios", "both")
        return _trace_plan(design, chosen)
    if chosen["speed_up"] is not None or chosen["closed_loop"] is not None:
        raise UsageError("--speed-up and --closed-loop with --trace", "no --trace")
    if not sources:
        names = ", ".join(one.name for one in design.attachments[:8])
        raise UsageError(
            "--workload NAME or --trace FILE",
            "neither",
            hint=f"See: storscope workload list. The volumes are: {names}.",
        )
    return _workload_plan(design, [_assignment(source, design) for source in sources], chosen)


def _assignment(source: str, design: Design) -> tuple[Assignment, Sweep]:
    """VOLUME=WORKLOAD, or a workload for all, and its sweep; a file whose name has '=' is written ./name=1.toml."""
    from storscope.bench.workloads import load_workload
    from storscope.cli.show_workload import print_losses
    from storscope.sim.assignment import Assignment, sizes_of
    from storscope.workbench.own_length import not_repeated

    pattern, equals, name = source.partition("=")
    is_assigned = bool(equals) and not Path(source).exists()
    sizes = sizes_of([pattern] if is_assigned else [], design.attachments)
    definition = load_workload(name if is_assigned else source, sizes)
    workload = definition.sole(
        source,
        "Simulate each by itself with --sweep, or write one to a file of its own: storscope workload convert "
        "FILE --only NAME --to toml -o one.toml.",
    )
    print_losses([*definition.losses, *not_repeated(definition.sweep, name if is_assigned else source)])
    return Assignment(workload, pattern if is_assigned else None, definition.targets), definition.sweep


def _trace_plan(design: Design, chosen: dict[str, Any]) -> SimulationPlan:
    from storscope.cli.show_traces import print_traces
    from storscope.workbench.simulating_many import trace_plan_of

    sources = [_trace_source(source) for source in chosen["traces"]]
    print_traces(sources)
    return trace_plan_of(
        design, sources, outstanding=chosen["closed_loop"],
        speed_up=1.0 if chosen["speed_up"] is None else chosen["speed_up"], duration_ns=_in_ns(chosen["duration"]),
        seed=chosen["seed"], slice_ns=_in_ns(chosen["slice_s"]),
    )  # fmt: skip


def _in_ns(seconds: float | None) -> int | None:
    from storscope.domain.units import NS_PER_S

    return None if seconds is None else round(seconds * NS_PER_S)


def _trace_source(source: str) -> TraceSource:
    """VOLUME=FILE, or a file; a file whose name has '=' is written ./name=1.csv."""
    from storscope.sim.replay import TraceSource
    from storscope.sim.traces import read_trace

    pattern, equals, name = source.partition("=")
    is_placed = bool(equals) and not Path(source).exists()
    return TraceSource(read_trace(name if is_placed else source), pattern if is_placed else None)


def _workload_plan(
    design: Design, sources: list[tuple[Assignment, Sweep]], chosen: dict[str, Any]
) -> SimulationPlan:  # fmt: skip
    from storscope.sim.assignment import assigned
    from storscope.sim.simulation import SimulationPlan
    from storscope.workbench.own_length import own_length

    workload = assigned([assignment for assignment, _ in sources], design.attachments)
    duration_ns, ramp_ns = _in_ns(chosen["duration"]), 0
    if not duration_ns and not chosen["ios"]:
        own = own_length(workload, design.lifetimes, [sweep for _, sweep in sources])
        duration_ns, ramp_ns = own.duration_ns, own.ramp_ns
    return SimulationPlan(
        design, workload, chosen["seed"], duration_ns=duration_ns, ios=chosen["ios"],
        slice_ns=_in_ns(chosen["slice_s"]), ramp_ns=ramp_ns,
    )  # fmt: skip


def _simulated(plan: SimulationPlan) -> Simulated:
    from storscope.cli.interruption import Interruption
    from storscope.cli.show_simulation import SimulationLine
    from storscope.workbench.simulating import simulate

    with Interruption() as interruption, SimulationLine(plan.duration_ns) as line:
        return simulate(plan, watch=line.show, stop=interruption.is_wanted)


def _keep_and_show(simulated: Simulated, store: Store, chosen: dict[str, Any]) -> int:
    from storscope.cli.show_queues import animate
    from storscope.cli.show_simulation import print_simulated
    from storscope.cli.simulation_json import simulated_to_json
    from storscope.domain.errors import StoreError
    from storscope.workbench.simulation_store import store_simulation

    try:
        capture = store_simulation(store, simulated)
    except StoreError:
        if not chosen["as_json"]:
            print_simulated(simulated)  # what took its time is not lost with the store
        raise
    with after_printing(partial(_write_report, store, simulated, chosen["report"])):
        if chosen["as_json"]:
            click.echo(json.dumps(simulated_to_json(simulated, capture), indent=2, ensure_ascii=False))
        else:
            print_simulated(simulated)
        if chosen["animate"]:
            animate(simulated, err=chosen["as_json"])  # so that standard output stays JSON
        click.echo(f"In the store {store.path} as capture {capture}, run {simulated.about.run}.", err=True)
    if simulated.outcome.error is not None:
        return _FAILED
    return _INTERRUPTED if simulated.outcome.stopped else 0


def _write_report(store: Store, simulated: Simulated, path: Path | None) -> None:
    """Of this simulation alone, whatever else the store holds; its queries run on that store."""
    if path is None:
        return
    from storscope.report import write_report
    from storscope.workbench.diagnosing import diagnose

    write_report(diagnose(store, run=simulated.about.run), store, path)
    click.echo(f"report: {path}", err=True)
