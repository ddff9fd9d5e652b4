"""Runs a workload on a simulated array, in virtual time, and hands out its intervals as plain JSON values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from storscope import _core
from storscope.domain.errors import ConfigError, StorscopeError, UsageError
from storscope.domain.units import NS_PER_S, format_span
from storscope.domain.workload import Workload
from storscope.sim.design import Design
from storscope.sim.load_changes import load_changes_ns
from storscope.sim.schedule import Lifetime
from storscope.sim.window import compact

LONGEST_SLICE_NS = NS_PER_S // 50
"""Unless the run is so long that there would be too many."""
_PATIENCE_S = 0.1
"""How soon a request to stop is noticed."""
LONGEST_NS = 36_500 * 86_400 * NS_PER_S
"""Of a run that ends by its I/Os: a hundred years."""


@dataclass(frozen=True)
class SimulationPlan:
    """What is simulated. Draws of the generator and of the array depend on `seed` alone.

    It ends after `duration_ns` of simulated time, or when all streams together have made `ios`, whichever is first; one
    is needed.
    `slice_ns` is the least length of the slices in which the queues of the drives are kept; `slices` is how many.
    Lengths that are None are chosen to fit the run (workbench.simulating.fitted).
    """

    design: Design
    workload: Workload
    """Its targets are the design's attachments."""
    seed: int
    duration_ns: int | None = None
    ios: int | None = None
    interval_ns: int | None = None
    slice_ns: int | None = None
    slices: int = 2048
    ramp_ns: int = 0
    """At the start of the run, for which the workload's own file wants no figures."""

    @property
    def outstanding_in_all(self) -> int | None:
        """What is kept in flight on all targets together; None where the workload says it, for each target."""
        return None

    @property
    def load_changes_ns(self) -> tuple[int, ...]:
        """When what is asked changes: streams that begin or end, and rate steps."""
        return load_changes_ns(self.workload, self.design.lifetimes, self.duration_ns or LONGEST_NS)

    def plan_json(self) -> dict[str, Any]:
        """As crates/storscope-load/src/plan.rs reads it."""
        return {
            "workload": self.workload.to_json(),
            "targets": [{"kind": "null", "size_bytes": one.size_bytes} for one in self.design.attachments],
            "duration_ns": self.duration_ns or LONGEST_NS,
            "max_ios_per_worker": self.ios if self._has_one_worker else None,
            "seed": self.seed,
            "interval_ns": self.interval_ns or NS_PER_S,
        }

    def options_json(self, started_ns: int) -> dict[str, Any]:
        """What the simulator takes beside design and plan."""
        lifetimes = [self._lifetime(stream.name) for stream in self.workload.streams]
        marked = {"marked_ns": self.load_changes_ns} if self.load_changes_ns else {}
        return {
            "started_unix_ns": started_ns,
            "lifetimes_ns": [(one.start_ns, one.end_ns) for one in lifetimes],
            "max_ios": None if self._has_one_worker else self.ios,
            "slice_ns": self.slice_ns or LONGEST_SLICE_NS,
            "slices": self.slices,
            "mark_ns": self.interval_ns or NS_PER_S,
            **marked,
        }

    @property
    def _has_one_worker(self) -> bool:
        """A worker alone sends just so many, and its last is counted."""
        return sum(stream.workers for stream in self.workload.streams) == 1

    def _lifetime(self, stream: str) -> Lifetime:
        return self.design.lifetimes.get(stream, Lifetime())

    def start(self, started_ns: int) -> _core.SimulationRun:
        """Starts it."""
        plan, options = json.dumps(self.plan_json()), json.dumps(self.options_json(started_ns))
        return _core.SimulationRun(json.dumps(self.design.form), plan, options)

    def check(self) -> None:
        """Raises UsageError or ConfigError for what cannot be simulated."""
        check_seed(self.seed)
        if self.duration_ns is None and self.ios is None:
            raise UsageError("a duration or a number of I/Os", "neither")
        check_length(self.duration_ns, self.ios)
        self.workload.check(len(self.design.attachments))
        names = [stream.name for stream in self.workload.streams]
        for name, lifetime in self.design.lifetimes.items():
            if name not in names:
                known = ", ".join(repr(one) for one in names)
                raise ConfigError(f"the name of a stream of the workload ({known})", repr(name), where=lifetime.where)


def check_seed(seed: int) -> None:
    """Raises UsageError for what the generator cannot start from."""
    if not 0 <= seed < 2**64:
        raise UsageError("a seed from 0 to 2^64 - 1", str(seed))


def check_length(duration_ns: int | None, ios: int | None = None) -> None:
    """Raises UsageError for a run without any length. The core would take 0 ns for a run without an end."""
    if duration_ns is not None and duration_ns < 1:
        raise UsageError("a duration of at least 1 ns", f"{duration_ns} ns")
    if ios is not None and ios < 1:
        raise UsageError("a number of I/Os of at least 1", str(ios))


class SimulationRun:
    """A simulation under way: iterate over its intervals, then ask for its result."""

    def __init__(self, plan: SimulationPlan, started_ns: int) -> None:
        """Starts it. Raises ConfigError for what cannot be simulated."""
        plan.check()
        self._design = plan.design
        with _core_errors(self._design):
            self._run = plan.start(started_ns)
        self.started_ns = started_ns

    def intervals(self, stop: Callable[[], bool] = lambda: False) -> Iterator[dict[str, Any]]:
        """Each interval as soon as it is complete (crates/storscope-load/src/tally.rs), with what did any I/O in it."""
        while (news := self._run.next(_PATIENCE_S)) is not None:
            form = json.loads(news)
            if form:
                yield form
            if stop():
                self._run.stop()

    def finish(self) -> Mapping[str, Any]:
        """Waits for the end: `result`, `doubts_in_words`, `error`, and `array`, what its components did."""
        with _core_errors(self._design):
            found: Mapping[str, Any] = json.loads(self._run.finish(), object_hook=compact)
        return found

    def stop(self) -> None:
        """Ends it soon."""
        self._run.stop()


_DEFECTS: Final = ("simulator", "panicked", "device")
_OF_WORKLOAD: Final = re.compile(r"plan: workload\.(?P<key>\S+): expected (?P<expected>.+), found (?P<found>.+?)\.?")
"""What the core says of a stream that does not fit what it is sent to."""


@contextmanager
def _core_errors(design: Design) -> Iterator[None]:
    try:
        yield
    except _core.RunError as error:
        kind, message = error.args
        if kind == "too_long":
            longest, wanted = (format_span(int(word)) for word in message.split())
            raise UsageError(f"at most {longest} of simulated time with so many drives and links", wanted) from None
        if kind in _DEFECTS:
            hint = "This is a defect of storscope; please report it with the design and the workload."
            raise StorscopeError("a simulator whose books balance", message, hint=hint) from None
        if said := _OF_WORKLOAD.fullmatch(message):
            found = re.sub(r"\btarget (\d+)", lambda target: design.attachments[int(target[1])].name, said["found"])
            raise ConfigError(said["expected"], found, where=f"workload: {said['key']}") from None
        raise ConfigError("a simulation that can be run", message, where=design.where) from None
