"""A simulation as JSON; docs/simulate-json.md describes every field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from storscope.cli.show_judgement import judgement_to_json
from storscope.cli.show_rate_steps import rate_steps_to_json
from storscope.sim.used import works
from storscope.workbench.convoys import gathering

if TYPE_CHECKING:
    from storscope.bench.figures import Direction, Interval, Latencies
    from storscope.sim.happenings import Happening
    from storscope.workbench.simulated import Simulated
    from storscope.workbench.simulation_figures import PhaseFigures, TimeSpent

FORMAT = 1
_SHARES = {"p50_ns": 0.5, "p90_ns": 0.9, "p95_ns": 0.95, "p99_ns": 0.99, "p99.9_ns": 0.999}
_WORDS = {"reads": "read", "writes": "write", "flushes": "flush"}


def simulated_to_json(simulated: Simulated, capture: str) -> dict[str, Any]:
    """The result as plain JSON values, units in the names."""
    about, part = simulated.about, simulated.window
    return {
        "format": FORMAT, "capture": capture, "run": about.run, "status": simulated.status,
        "valid": simulated.outcome.is_valid, "latency_bound": simulated.outcome.latency_bound,
        "doubts": list(simulated.doubts),
        "design": about.system, "design_file": simulated.plan.design.where,
        "design_sha256": about.labels["design_sha256"], "workload": about.workload.to_json(),
        "seed": str(about.seed), "version": about.version, "simulated_ns": simulated.array["duration_ns"],
        "interval_ns": simulated.intervals[0].duration_ns if simulated.intervals else None,
        "wall_s": simulated.wall_s, **judgement_to_json(simulated.judgement),
        "from_ns": part["start_ns"], "duration_ns": part["duration_ns"],
        "cells": _cells(simulated, simulated.measured), "time": [_time(simulated, one) for one in simulated.time_spent],
        "rate_steps": rate_steps_to_json(simulated.rate_steps),
        "bottleneck": asdict(simulated.bottleneck),
        "bounds": [
            {"from_ns": one.from_ns, "to_ns": one.to_ns, "bottleneck": asdict(bound)} for one, bound in simulated.bounds
        ],
        "components": part["components"], "limits": part["limits"], "cache": part["cache"],
        "targets": [_target(one) for one in part["targets"]], "volumes": simulated.array["volumes"],
        "background": simulated.array["background"],
        "happenings": [_happening(one) for one in simulated.happenings],
        "happenings_left_out": simulated.array["happenings_left_out"],
        "phases": [_phase(simulated, one) for one in simulated.phase_figures],
        "queue": _queue(simulated),
    }  # fmt: skip


def _cells(simulated: Simulated, measured: Interval) -> list[dict[str, Any]]:
    """Each stream on each volume, as its host sees it."""
    attachments = simulated.plan.design.attachments
    found = []
    for cell in measured.cells:
        form = cell.form["cells"][0]
        where = attachments[form["target"]]
        sides: dict[str, Any] = {word: _direction(measured, cell.direction(name)) for name, word in _WORDS.items()}
        if not cell.flushes.ios:
            sides["flush"] = None
        found.append({
            "host": where.host, "volume": where.volume,
            "stream": simulated.plan.workload.streams[form["stream"]].name, **sides,
        })  # fmt: skip
    return found


def _direction(measured: Interval, one: Direction) -> dict[str, Any]:
    per_s = measured.per_s
    return {
        "ios": one.ios, "ops_per_s": per_s(one.ios), "bytes_per_s": per_s(one.bytes),
        "response": _latencies(one.response), "service": _latencies(one.service),
    }  # fmt: skip


def _latencies(one: Latencies) -> dict[str, Any]:
    return {
        "mean_ns": one.mean_ns,
        "max_ns": one.max_ns,
        **{name: one.quantile_ns(share) for name, share in _SHARES.items()},
    }


def _time(simulated: Simulated, one: TimeSpent) -> dict[str, Any]:
    where = simulated.plan.design.attachments[one.target]
    return {
        "host": where.host, "volume": where.volume, "direction": _WORDS[one.direction], "ios": one.ios,
        "mean_ns": one.mean_ns, "parts_ns": dict(one.parts_ns),
    }  # fmt: skip


def _target(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if name not in _WORDS}


def _happening(one: Happening) -> dict[str, Any]:
    return {
        "time_ns": one.time_ns, "kind": one.kind, "words": one.words, "no_effect": one.no_effect,
        "details": None if one.form is None else {k: v for k, v in one.form.items() if k not in ("time_ns", "kind")},
    }  # fmt: skip


def _phase(simulated: Simulated, one: PhaseFigures) -> dict[str, Any]:
    return {
        "from_ns": one.phase.from_ns, "to_ns": one.phase.to_ns, "begins": [begin.words for begin in one.phase.begins],
        "changes_within": one.phase.changes_within, "ops_per_s": one.rate_per_s, "proxied_share": one.proxied_share,
        "response": None if one.measured is None else _latencies(one.measured.all.response),
        "flushes_per_s": one.flushes_per_s, "flush_response": _flush_response(one),
        "most_used": None if one.top is None else {"words": one.top.words, "used_ratio": one.top.ratio},
        "bottleneck": asdict(one.bounds), "cells": [] if one.measured is None else _cells(simulated, one.measured),
    }  # fmt: skip


def _flush_response(one: PhaseFigures) -> dict[str, Any] | None:
    if one.measured is None or one.flushes_per_s is None:
        return None
    return _latencies(one.measured.flushes.response)


def _queue(simulated: Simulated) -> dict[str, Any]:
    """The queues over time are in the store; here their summary."""
    queue, found = simulated.array["queue"], gathering(simulated.array)
    drives = sum(one["kind"] == "drive" and works(one) for one in simulated.window["components"])
    return {
        "slice_ns": queue["slice_ns"], "share_at_fullest_drive": None if found is None else found.fullest_share,
        "share_by_chance": None if found is None else found.chance_share,
        "share_if_even": 1 / drives if drives else None,
    }  # fmt: skip
