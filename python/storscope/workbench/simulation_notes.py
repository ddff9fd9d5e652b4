"""What a run's record says of its changes and phases, for reports: JSON among the parameters of the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from storscope.sim.happenings import Happening
from storscope.sim.schedule import Lifetime
from storscope.workbench.phase_cells import CellByPhase, busiest
from storscope.workbench.simulation_figures import PhaseFigures

_MOST = 100
"""Happenings that are told in words; all that had an effect are events of the array."""
_MOST_CELLS = 400
"""Figures of streams on volumes in phases: more are no table for a page. The intervals of volumes are kept anyway."""


def notes_of(
    happened: Sequence[Happening], left_out: int, phases: Sequence[PhaseFigures], unfinished: Sequence[str] = ()
) -> dict[str, str]:
    """`happenings` (`time_ns` since the start, `kind`, `words`), `happenings_left_out`, `unfinished` and `phases`.

    Nothing of a run in which nothing happened. Lost data is told in any case.
    """
    if not happened:
        return {}
    kept = [*happened[:_MOST], *(one for one in happened[_MOST:] if one.kind == "data_lost")]
    told = [{"time_ns": one.time_ns, "kind": one.kind, "words": one.sentence} for one in kept]
    return {
        "happenings": json.dumps(told),
        "happenings_left_out": str(len(happened) - len(told) + left_out),
        "unfinished": json.dumps(list(unfinished)),
        "phases": json.dumps([_phase(one) for one in phases]),
    }


def cell_notes(cells: Sequence[CellByPhase], volumes: Sequence[str], streams: Sequence[str]) -> dict[str, str]:
    """`phase_cells`, the busiest, and `phase_cells_left_out`; `phases` of each are those of `notes_of`, or null.

    Nothing of a run without changes.
    """
    kept = busiest(cells, _MOST_CELLS)
    if not kept:
        return {}
    told = [
        {"volume": volumes[one.target], "stream": streams[one.stream], "direction": one.direction,
         "phases": [None if own is None else asdict(own) for own in one.phases]}
        for one in kept
    ]  # fmt: skip
    return {"phase_cells": json.dumps(told), "phase_cells_left_out": str(len(cells) - len(kept))}


def lifetime_notes(lifetimes: Mapping[str, Lifetime], targets: int) -> dict[str, str]:
    """`lifetimes`: when each scheduled stream begins and ends, ns since the start; `target_count`, which with the
    workload tells what some of its streams keep outstanding. Nothing of a run without scheduled streams."""
    if not lifetimes:
        return {}
    told = {name: (one.start_ns, one.end_ns) for name, one in lifetimes.items()}
    return {"lifetimes": json.dumps(told), "target_count": str(targets)}


def _phase(one: PhaseFigures) -> dict[str, float | str | None]:
    response = None if one.measured is None else one.measured.all.response
    return {
        "from_ns": one.phase.from_ns, "to_ns": one.phase.to_ns, "ops_per_s": one.rate_per_s,
        "latency_ns_mean": None if response is None else response.mean_ns,
        "latency_ns_p99": None if response is None else response.quantile_ns(0.99),
        "most_used": None if one.top is None else one.top.words,
        "used_ratio": None if one.top is None else one.top.ratio,
        "begins": one.phase.words,
    }  # fmt: skip
