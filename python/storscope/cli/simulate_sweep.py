"""storscope simulate --sweep: options, and what they do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.live_line import LiveLine
from storscope.cli.options import DEFAULT_STORE, typed
from storscope.cli.store_for_work import store_for_work
from storscope.cli.sweep_command import FORMATS, show_result

if TYPE_CHECKING:
    from storscope.domain.sweep import Cell, SweepResult
    from storscope.sim.design import Design
    from storscope.store import Store
    from storscope.workbench.simulating_sweep import SimulatedPoint
    from storscope.workbench.simulation_sweep import SimulationLengths, SimulationSweep

_INTERRUPTED = 130
_FAILED = 2
_OF_ONE_RUN = ("traces", "speed_up", "closed_loop", "animate", "slice_s")
"""Parameters of what shows or replays a single run."""
_OF_A_SWEEP = ("size", "output")


def simulation_sweep_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What `simulate` takes for many points; they arrive as keywords, and `sweep_simulated` knows them."""
    options: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
        click.argument("axes", nargs=-1, metavar="[VOLUME|AXIS=VALUES]..."),
        click.option("--sweep", "sweeps", is_flag=True, help="Simulate a matrix, each point on a fresh array: "
                     "sizes=4k,64k modes=randread,write jobs=1,8 depth=1,16 mix=70 starts=apart; or the workloads of "
                     "--workload with jobs and depth. On all volumes, or on those named."),
        click.option("--size", metavar="SIZE|SHARE", help="Of a sweep: use the first part of each volume, as 100G or "
                     "10% (short stroke)."),
        click.option("--format", "output", type=click.Choice(FORMATS), help="Of a sweep. [default: table]"),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def is_simulation_sweep(chosen: Mapping[str, Any]) -> bool:
    """Whether many points are asked for. Raises UsageError for options that then, or else, mean nothing."""
    from storscope.domain.errors import UsageError

    if not chosen["sweeps"]:
        if given := typed(*_OF_A_SWEEP):
            raise UsageError(f"--sweep, which alone has {', '.join(given)}", "none")
        return False
    if given := typed(*_OF_ONE_RUN):
        raise UsageError(f"--sweep without {', '.join(given)}", "both", hint="They are of a single run.")
    if chosen["as_json"] and chosen["output"] not in (None, "json"):
        raise UsageError("--json or --format, which say the same thing", f"--json and --format {chosen['output']}")
    return True


def designs_and_axes(words: Sequence[str]) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """The design, the volumes and the axes, in whatever order axes stand."""
    from storscope.bench.sweep import is_axis
    from storscope.cli.sweep_plan import parts_of

    every = [part for word in words for part in parts_of(word)]
    others = [word for word in every if not is_axis(word)]
    return others[0] if others else None, tuple(others[1:]), tuple(filter(is_axis, every))


def sweep_simulated(
    design: Design, sources: Sequence[str], volumes: Sequence[str], axes: Sequence[str], chosen: Mapping[str, Any]
) -> int:  # fmt: skip
    """Simulates a matrix and prints its table; returns the exit code."""
    sweep = _sweep(design, sources, volumes, axes, chosen)
    if chosen["check"]:
        return _check(sweep, chosen)
    with store_for_work(chosen["store_path"]) as store:
        result = _run(sweep, store, chosen)
    show_result(result, chosen)
    path = chosen["store_path"] or DEFAULT_STORE
    click.echo(f"\nIn the store {path} as {result.id}, a run for each point.", err=True)
    if result.done + len(result.failures) < result.planned:
        return _INTERRUPTED
    return _FAILED if result.failures else 0


def _sweep(
    design: Design, sources: Sequence[str], volumes: Sequence[str], axes: Sequence[str], chosen: Mapping[str, Any]
) -> SimulationSweep:  # fmt: skip
    from storscope.bench.sweep import axes_of
    from storscope.domain.errors import UsageError
    from storscope.workbench.simulation_sweep import sweep_of_axes

    for word in volumes:
        if "=" in word and not any(one.matches(word) for one in design.attachments):
            axes_of([word])  # which says that it is no axis
    if not sources:
        return sweep_of_axes(design, axes, volumes=volumes, size=chosen["size"], lengths=_lengths(chosen))
    if len(sources) > 1:
        raise UsageError("one --workload with --sweep", f"{len(sources)}", hint="Write them into one file, as streams.")
    return _sweep_of_file(design, sources[0], volumes, axes, chosen)


def _sweep_of_file(
    design: Design, source: str, volumes: Sequence[str], axes: Sequence[str], chosen: Mapping[str, Any]
) -> SimulationSweep:  # fmt: skip
    from storscope.bench.workloads import load_workload
    from storscope.cli.show_workload import print_losses
    from storscope.sim.assignment import sizes_of
    from storscope.workbench.simulation_sweep import sweep_of_file

    pattern, equals, name = source.partition("=")
    is_assigned = bool(equals) and not Path(source).exists()
    patterns = [*volumes, *([pattern] if is_assigned else [])]
    definition = load_workload(name if is_assigned else source, sizes_of(patterns, design.attachments))
    print_losses(definition.losses)
    if definition.sweep.targets:
        click.echo("not swept: the file's own numbers of targets; each workload runs on all that it names", err=True)
    return sweep_of_file(
        design, definition, axes, volumes=patterns, size=chosen["size"], lengths=_lengths(chosen)
    )  # fmt: skip


def _lengths(chosen: Mapping[str, Any]) -> SimulationLengths:
    from storscope.domain.units import NS_PER_S
    from storscope.workbench.simulation_sweep import SimulationLengths

    duration_ns = None if chosen["duration"] is None else round(chosen["duration"] * NS_PER_S)
    return SimulationLengths(chosen["seed"], duration_ns, chosen["ios"])


def _check(sweep: SimulationSweep, chosen: Mapping[str, Any]) -> int:
    """Says what the design is and which points would be simulated."""
    from storscope.cli.show_design import print_design

    sweep.check()
    print_design(sweep.design, as_json=chosen["as_json"], points=sweep.points)
    return 0


def _run(sweep: SimulationSweep, store: Store, chosen: Mapping[str, Any]) -> SweepResult:
    """What a store does not take is shown all the same."""
    from storscope.domain.errors import StoreError
    from storscope.domain.units import NS_PER_US
    from storscope.workbench.simulating_sweep import sweep_result

    begin_ns = time.time_ns() // NS_PER_US * NS_PER_US
    cells: dict[int, Cell] = {}
    failures: dict[int, str] = {}
    try:
        _simulate_into(store, sweep, begin_ns, cells, failures)
    except StoreError:
        show_result(sweep_result(sweep, begin_ns, cells, failures), chosen)
        raise
    return sweep_result(sweep, begin_ns, cells, failures)


def _simulate_into(
    store: Store, sweep: SimulationSweep, begin_ns: int, cells: dict[int, Cell], failures: dict[int, str]
) -> None:  # fmt: skip
    """Fills `cells` and `failures`; each point is in the store as soon as it is simulated, and Ctrl-C keeps those."""
    from storscope.cli.interruption import Interruption
    from storscope.workbench.simulating_sweep import Failure, cell_of, simulated_points
    from storscope.workbench.simulation_store import store_simulation

    with Interruption() as interruption, _PointsLine(len(sweep.points)) as line:
        points = simulated_points(sweep, started_ns=begin_ns, stop=interruption.is_wanted)
        with closing(points):  # so that those under way end with the first error
            for number, found in points:
                cell = None if isinstance(found, Failure) else cell_of(found)
                if isinstance(found, Failure):
                    failures[number] = found.words
                elif cell is None:
                    failures[number] = f"{found.point.words}: {_why(found)}"
                else:
                    cells[number] = cell
                    line.end(len(cells), cell)
                if not isinstance(found, Failure):
                    store_simulation(store, found.simulated)


def _why(found: SimulatedPoint) -> str:
    error = found.simulated.outcome.error
    return found.simulated.status if error is None else error[1]


class _PointsLine(LiveLine):
    """The live line of a matrix: how many points are simulated, and the latest."""

    def __init__(self, total: int) -> None:
        super().__init__(0)
        self._total = total

    def __enter__(self) -> _PointsLine:
        return self

    def end(self, done: int, cell: Cell) -> None:
        """A point is in the store."""
        from storscope.domain.units import format_rate

        found = cell.get("ops_per_s")
        rate = "no I/O" if found is None else format_rate(found.value)
        self._draw(f"{done}/{self._total} simulated; {cell.point.words}: {rate}")
