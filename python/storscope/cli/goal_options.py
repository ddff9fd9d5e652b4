"""storscope bench: the options that say when a measurement ends, and the goal they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.options import DurationType, ShareType

if TYPE_CHECKING:
    from storscope.bench.goals import Goal
    from storscope.bench.samples import Figure
    from storscope.bench.workloads.definition import Sweep
    from storscope.domain.workload import Workload

_FIXED_DEFAULT_S = 10.0
"""Of an engine whose reports, one a second, take twenty seconds and more to tell how sure a figure is."""
_LEAST_ROUND_S = 10.0


def goal_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """When a measurement ends; they arrive as keywords, and `goal_of` knows them."""
    options = [
        click.option("--figure", metavar="NAME", help="What the measurement is for: iops, bandwidth, mean, p50, p99, "
                     "p99.9, ... of all I/Os, or read-p99, flush-p99, ...  [default: iops; mean in an open loop]"),
        click.option("--within", type=ShareType(above_0=True, below_1=True),
                     help="Measure until the 95 % interval of the figure is within this "
                     "share of it.  [default: 2%]"),
        click.option("--max-duration", "longest", type=DurationType(), help="Then end in any case.  [default: 1m]"),
        click.option("--steady-state", "steady", is_flag=True, help="Measure in rounds until the last five are steady "
                     "(SNIA: range 20 %, slope 10 %), at most 25."),
        click.option("--round", "round_length", type=DurationType(), help="Length of such a round.  [default: 1m]"),
        click.option("--precondition", is_flag=True, help="First write twice the capacity that is used, in sequence, "
                     "128 KiB at a time (SNIA)."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


_ENDS = ("within", "longest", "steady")


def sets_end(chosen: Mapping[str, Any]) -> bool:
    """Whether something else than a time is to end measurements."""
    return any(chosen[name] not in (None, False) for name in _ENDS)


def check_many(chosen: Mapping[str, Any]) -> None:
    """Raises UsageError for options that say nothing of a sweep or a time series."""
    from storscope.domain.errors import UsageError

    if chosen["series"] is not None and (sets_end(chosen) or chosen["round_length"] is not None):
        raise UsageError("a time series without --within, --max-duration, --steady-state and --round", "one of them",
                         hint="How long it measures is in --time-series EVERY/LENGTH.")  # fmt: skip
    if chosen["round_length"] is not None and not chosen["steady"]:
        raise UsageError("--round with --steady-state", "--round alone")
    if chosen["figure"] is not None and not sets_end(chosen):
        raise UsageError("--figure with --within, --max-duration or --steady-state", "--figure alone",
                         hint="It says which figure ends each measurement; tables have all of them.")  # fmt: skip


def goal_of(chosen: Mapping[str, Any], workload: Workload, asked: Sweep) -> Goal:
    """When the measurement of a workload ends, by the options, by its file, else by the default.

    Raises UsageError for options that contradict each other.
    """
    from storscope.bench.goals import FixedTime, Precision, default_figure, has_steps, steps_ns
    from storscope.bench.samples import Figure
    from storscope.domain.units import NS_PER_S

    _check(chosen)
    figure = default_figure(workload) if chosen["figure"] is None else Figure.from_name(chosen["figure"])
    check_direction("--figure", figure.direction, figure.name, figure.statistic, workload)
    if chosen["steady"]:
        _check_timed(chosen, figure, workload)
        return _steady_state(chosen, figure)
    ramp_ns = asked.ramp_up_ns or 0
    duration_ns = None if chosen["duration"] is None else round(chosen["duration"] * NS_PER_S)
    wants_precision = chosen["within"] is not None or chosen["longest"] is not None
    if duration_ns is None and not wants_precision:
        duration_ns = asked.duration_ns or steps_ns(workload) or None
        if duration_ns is None and chosen["engine"] != "storscope":
            duration_ns = round(_FIXED_DEFAULT_S * NS_PER_S)
    if duration_ns is not None:
        return FixedTime(duration_ns, figure, ramp_ns, settles=not has_steps(workload))
    _check_precision(chosen, figure, workload)
    given = {"within": chosen["within"]} if chosen["within"] is not None else {}
    longest = {"longest_ns": round(chosen["longest"] * NS_PER_S)} if chosen["longest"] is not None else {}
    return Precision(figure, **given, **longest, ramp_ns=ramp_ns)


def _check(chosen: Mapping[str, Any]) -> None:
    from storscope.domain.errors import UsageError

    fixed = chosen["duration"] is not None
    if fixed and (chosen["within"] is not None or chosen["longest"] is not None or chosen["steady"]):
        hint = "--duration measures exactly so long; the others end when they have what they are for."
        raise UsageError("--duration, or --within with --max-duration, or --steady-state", "several", hint=hint)
    if chosen["steady"] and (chosen["within"] is not None or chosen["longest"] is not None):
        hint = "Rounds end by the rules of steady state; set their length with --round."
        raise UsageError("--steady-state without --within and --max-duration", "both", hint=hint)
    if chosen["round_length"] is not None and not chosen["steady"]:
        raise UsageError("--round with --steady-state", "--round alone")


def check_direction(option: str, direction: str | None, given: str, instead: str, workload: Workload) -> None:
    """A figure of writes that nobody makes would be waited for in vain. `instead` is what could be given."""
    from storscope.bench.samples import FLUSH
    from storscope.domain.errors import UsageError

    if direction == FLUSH and not workload.flushes:
        raise UsageError(f"a figure of what {workload.name!r} does, which flushes nothing", given,
                         where=option, hint="A stream flushes by flush_every = 1.")  # fmt: skip
    reads = any(stream.access.reads for stream in workload.streams)
    if (direction == "read" and not reads) or (direction == "write" and not workload.writes):
        raise UsageError(f"a figure of what {workload.name!r} does, which only {'reads' if reads else 'writes'}",
                         given, where=option, hint=f"For example {option} {instead}.")  # fmt: skip


def _check_precision(chosen: Mapping[str, Any], figure: Figure, workload: Workload) -> None:
    from storscope.bench.goals import has_steps
    from storscope.domain.errors import UsageError

    if has_steps(workload):
        raise UsageError("a load that stays the same for --within and --max-duration", "rate steps",
                         hint="Leave them out, and the run takes as long as its steps.")  # fmt: skip
    _check_timed(chosen, figure, workload)


def _check_timed(chosen: Mapping[str, Any], figure: Figure, workload: Workload) -> None:
    """fio does not keep when an I/O should have started: in an open loop it has no latency that ends a run."""
    from storscope.domain.errors import UsageError

    is_open = any(stream.load.is_open for stream in workload.streams)
    if chosen["engine"] != "storscope" and is_open and not figure.is_rate:
        raise UsageError("--figure iops or bandwidth, as fio does not time what arrivals wait", figure.name,
                         hint="Or give the time with --duration.")  # fmt: skip


def _steady_state(chosen: Mapping[str, Any], figure: Figure) -> Goal:
    from storscope.bench.goals import SteadyState
    from storscope.domain.errors import UsageError
    from storscope.domain.units import NS_PER_S

    if chosen["round_length"] is None:
        return SteadyState(figure)
    if chosen["round_length"] % 1:
        raise UsageError("a round of whole seconds", f"{chosen['round_length']:g} s", where="--round")
    if chosen["engine"] != "storscope" and chosen["round_length"] < _LEAST_ROUND_S:
        raise UsageError(f"a round of at least {_LEAST_ROUND_S:g} s, as fio reports once a second",
                         f"{chosen['round_length']:g} s", where="--round")  # fmt: skip
    return SteadyState(figure, round(chosen["round_length"] * NS_PER_S))
