"""storscope bench --sweep and --time-series: what the options ask for, as a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.bench_settings import settings_of
from storscope.cli.goal_options import check_many, goal_of, sets_end
from storscope.cli.options import DurationType

if TYPE_CHECKING:
    from storscope.bench.goals import Goal
    from storscope.bench.sweep import Planned
    from storscope.bench.workloads.definition import Sweep
    from storscope.bench.workloads.loss import Loss
    from storscope.workbench.sweeping import SweepPlan

_DEFAULT_DURATION_S = 10.0


def plan_of(target: str, chosen: Mapping[str, Any]) -> SweepPlan:
    """What is measured where, how and how often. Raises UsageError for options that contradict each other."""
    from storscope.bench.sweep import is_axis
    from storscope.domain.units import NS_PER_S
    from storscope.workbench.sweeping import SweepPlan

    words = [part for word in (target, *chosen["axes"]) for part in parts_of(word)]
    targets = [word for word in words if not is_axis(word)]
    _check_targets(targets)
    planned, asked, losses = _planned([word for word in words if is_axis(word)], targets, chosen)
    every_s, length_s = _schedule(chosen)
    length_s = length_s or chosen["duration"]
    duration_ns = round(length_s * NS_PER_S) if length_s else asked.duration_ns or round(_DEFAULT_DURATION_S * NS_PER_S)
    goals = _goals(planned, asked, chosen)
    duration_ns = max((goal.longest_ns for goal in goals), default=duration_ns)
    settings = settings_of(chosen, duration_ns, interval_ns=min(NS_PER_S, duration_ns), losses=losses)
    plan = SweepPlan(
        tuple(targets), tuple(planned), settings, chosen["repeats"] or 1, ramp_ns=asked.ramp_up_ns or 0, goals=goals,
        preconditions=chosen["precondition"],
    )  # fmt: skip
    if every_s is None:
        return plan
    slots = chosen["repeats"] or max(1, int(chosen["total"] // every_s))
    return replace(plan, repeats=slots, interval_ns=round(every_s * NS_PER_S))


def parts_of(word: str) -> list[str]:
    """Axes that stand in quotes as one word, each by itself; anything else as it is, since paths may have blanks."""
    from storscope.bench.sweep import is_axis

    parts = word.split()
    return parts if parts and all(map(is_axis, parts)) else [word]


def _check_targets(targets: Sequence[str]) -> None:
    """Several must exist: a misspelt axis must not become the name of a new scratch file. Raises UsageError."""
    from storscope.domain.errors import UsageError

    missing = [target for target in targets if not Path(target).exists()]
    if not targets or (missing and len(targets) > 1):
        raise UsageError(
            "one target, or several that exist, and axes like sizes=4k,64k", " ".join(missing) or "no target",
            hint=_axes_hint(missing),
        )  # fmt: skip


def _axes_hint(missing: Sequence[str]) -> str:
    """For words that are neither targets nor axes."""
    from storscope.bench.sweep import axis_meant

    meant = " ".join(axis for word in missing if (axis := axis_meant(word)) is not None)
    near = f"Did you mean {meant}? " if meant else ""
    return f"{near}The axes are sizes, modes, jobs, depth, mix, starts."


def _goals(planned: Sequence[Planned], asked: Sweep, chosen: Mapping[str, Any]) -> tuple[Goal, ...]:
    """When each point's measurement ends; none where all take the same time."""
    check_many(chosen)
    return tuple(goal_of(chosen, item.workload, asked) for item in planned) if sets_end(chosen) else ()


def _planned(
    axes: Sequence[str], targets: Sequence[str], chosen: Mapping[str, Any]
) -> tuple[list[Planned], Sweep, Sequence[Loss]]:
    """The matrix, how its file wants each measurement to be made, and what cannot be kept of the file."""
    from storscope.bench.sweep import axes_of, matrix, matrix_of
    from storscope.bench.targets import known_sizes
    from storscope.bench.workloads import load_workload
    from storscope.bench.workloads.definition import Sweep
    from storscope.cli.show_workload import print_losses, print_unused_targets
    from storscope.domain.errors import UsageError

    if chosen["source"] is None:
        if not chosen["sweeps"]:
            raise UsageError("--workload NAME or --sweep with axes", "neither", hint="See: storscope workload list.")
        return matrix(axes_of(axes)), Sweep(), ()
    definition = load_workload(chosen["source"], known_sizes(targets, chosen["size"]))
    if chosen["only"] is not None:
        definition = definition.only(chosen["only"])
    print_losses(definition.losses)
    print_unused_targets(definition)
    if len(definition.workloads) != 1 and not chosen["sweeps"]:
        raise UsageError("one workload", f"{len(definition.workloads)}", hint="Choose one with --only, or add --sweep.")
    if definition.sweep.targets:
        click.echo("not swept: the file's own numbers of targets; all that are named here are used", err=True)
    return matrix_of(definition, axes_of(axes)), definition.sweep, definition.losses


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
    if chosen["duration"] is not None:
        raise UsageError("a time series without --duration", "both",
                         hint="How long it measures is in --time-series EVERY/LENGTH.")  # fmt: skip
    kind = DurationType()
    return kind.convert(every, None, None), kind.convert(length, None, None)
