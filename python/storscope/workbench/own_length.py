"""How long a workload is simulated if nobody says: as long as its own file does, or its rate steps last; else 60 s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from storscope.bench.workloads.definition import Sweep
from storscope.bench.workloads.loss import Loss, LossKind
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Workload
from storscope.sim.load_changes import steps_end_ns
from storscope.sim.schedule import Lifetime

DEFAULT_NS = 60 * NS_PER_S


@dataclass(frozen=True)
class OwnLength:
    """Of a run; its first `ramp_ns` count for nothing."""

    duration_ns: int
    ramp_ns: int = 0


def own_length(workload: Workload, lifetimes: Mapping[str, Lifetime], sweeps: Sequence[Sweep]) -> OwnLength:
    """The longest of what files ask for and of the rate steps; ramps come on top, as in a measurement."""
    ramp_ns = max((sweep.ramp_up_ns or 0 for sweep in sweeps), default=0)
    asked = [sweep.duration_ns + ramp_ns for sweep in sweeps if sweep.duration_ns is not None]
    steps_ns = steps_end_ns(workload, lifetimes)
    if steps_ns is not None:
        return OwnLength(max(steps_ns, *asked) if asked else steps_ns)
    return OwnLength(max(asked, default=DEFAULT_NS + ramp_ns), ramp_ns)


def not_repeated(sweep: Sweep, where: str) -> Iterator[Loss]:
    """What of a file's repetitions is not simulated without --sweep: a simulation is one run."""
    varied = {"outstanding": sweep.outstanding, "workers": sweep.workers, "targets": sweep.targets}
    for name, values in varied.items():
        if values:
            shown = f"{name} {', '.join(map(str, values))}"
            others = "change it there for the others" if name == "targets" else "--sweep simulates each of them"
            reason = f"the workload is simulated once, as it is written; {others}"
            yield Loss(LossKind.ELSEWHERE, f"{where}: repeated with", shown, reason)
