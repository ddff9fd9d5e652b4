"""Simulated runs: figures with their intervals, what happened, phases, where the time of I/Os went, how far components
were used, the design.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storscope.domain.units import (
    format_bandwidth,
    format_duration,
    format_instant,
    format_rate,
    format_ratio,
)
from storscope.store import Store

ENGINE = "storscope-sim"
_LEAST_SHARE = 0.005
_MOST_PARTS = 40
"""Rows on where the time went: of more, those with the longest mean are shown."""
Row = Mapping[str, Any]
Table = Sequence[Sequence[str]]


@dataclass(frozen=True)
class SimulationView:
    """One simulated run in words."""

    system: str
    name: str
    facts: Sequence[tuple[str, str]]
    lost: str
    """What data was lost; empty if none was."""
    doubts: str
    happenings: Table
    """When, and what."""
    happenings_left_out: int
    phases: Table
    """From when, how long, rate, mean, p99, the most used component, what begins it. Empty of a run without changes."""
    cells: Table
    """Volume, stream, direction, from when, rate, mean, p99; none where the table of phases says it all."""
    cells_left_out: int
    parts: Table
    """Host's view of a volume, direction, mean, parts with their shares; of many those with the longest mean."""
    parts_left_out: int
    components: Table
    design: str


def simulation_views(store: Store) -> list[SimulationView]:
    """Every simulated run in the store."""
    runs: list[Row] = store.query(
        "SELECT capture, run, name, system, seed, duration_ns, parameters FROM runs WHERE engine = $1 "
        "ORDER BY capture, run", [ENGINE],
    ).to_pylist()  # fmt: skip
    return [_view(store, run) for run in runs]


def simulated_captures(store: Store) -> set[str]:
    """The captures of simulated runs."""
    return set(store.query("SELECT DISTINCT capture FROM runs WHERE engine = $1", [ENGINE]).column(0).to_pylist())


def _view(store: Store, run: Row) -> SimulationView:
    said = dict(run["parameters"])
    happened = json.loads(said.get("happenings", "[]"))
    parts, parts_left_out = _parts(store, run)
    is_lost, doubts = any(one["kind"] == "data_lost" for one in happened), said.get("doubts", "")
    return SimulationView(
        system=run["system"], name=run["name"], facts=_facts(store, run, said), lost=doubts if is_lost else "",
        doubts="" if is_lost else doubts,
        happenings=[
            *([format_instant(one["time_ns"]), one["words"]] for one in happened),
            *(["at the end", words] for words in json.loads(said.get("unfinished", "[]"))),
        ],
        happenings_left_out=int(said.get("happenings_left_out", 0)),
        phases=[_phase(one) for one in json.loads(said.get("phases", "[]"))], cells=_cells(said),
        cells_left_out=int(said.get("phase_cells_left_out", 0)), parts=parts,
        parts_left_out=parts_left_out, components=_components(store, run), design=said.get("design_text", ""),
    )  # fmt: skip


def _facts(store: Store, run: Row, said: Mapping[str, str]) -> list[tuple[str, str]]:
    rows = store.query(
        "SELECT kind, name, value, number FROM facts WHERE capture = $1 AND kind IN ('job', 'array')", [run["capture"]]
    ).to_pylist()
    numbers = {row["name"]: row["number"] for row in rows if row["kind"] == "job"}
    array = {row["name"]: row["value"] for row in rows if row["kind"] == "array"}
    found = [
        ("Counted", f"{format_instant(run['duration_ns'])}. {said.get('warm_up', '')} {said.get('ended', '')}"),
        ("Operations", _with_interval(numbers, "iops", format_rate)),
        ("Throughput", _with_interval(numbers, "bandwidth", format_bandwidth)),
        ("Mean latency", _with_interval(numbers, "mean", format_duration)),
        ("99th percentile", _with_interval(numbers, "p99", format_duration)),
        ("Flushes", _with_interval(numbers, "flush-iops", lambda rate: format_rate(rate, "/s"))),
        ("Mean of flushes", _with_interval(numbers, "flush-mean", format_duration)),
        ("99th percentile of flushes", _with_interval(numbers, "flush-p99", format_duration)),
        ("What bounds it", array.get("what bounds it", "")),
        ("Seed", str(run["seed"] or "")),
    ]
    return [(name, words) for name, words in found if words]


def _phase(one: Row) -> list[str]:
    used = "–" if one["most_used"] is None else f"{one['most_used']}, {format_ratio(one['used_ratio'])}"
    return [
        format_instant(one["from_ns"]), format_instant(one["to_ns"] - one["from_ns"]), format_rate(one["ops_per_s"]),
        format_duration(one["latency_ns_mean"]), format_duration(one["latency_ns_p99"]), used, one["begins"],
    ]  # fmt: skip


def _cells(said: Mapping[str, str]) -> list[list[str]]:
    """Each stream on each volume in each phase."""
    starts = [format_instant(one["from_ns"]) for one in json.loads(said.get("phases", "[]"))]
    cells = json.loads(said.get("phase_cells", "[]"))
    return [
        [cell["volume"], cell["stream"], cell["direction"], start, *_cell(own)]
        for cell in (cells if len(cells) > 1 else [])
        for start, own in zip(starts, cell["phases"], strict=True)
    ]


def _cell(own: Row | None) -> list[str]:
    if own is None:
        return ["–"] * 3
    return [format_rate(own["rate_per_s"]), format_duration(own["mean_ns"]), format_duration(own["p99_ns"])]


def _with_interval(numbers: Mapping[str, float | None], name: str, words: Any) -> str:
    value, low, high = (numbers.get(key) for key in (name, f"{name} low", f"{name} high"))
    if value is None:
        return ""
    shown = str(words(value))
    if high is None:
        return f"{shown} (95 %: at least {words(low)})" if low else shown
    if not low and high > 2 * value:  # as on the terminal: it tells nothing
        return f"{shown} (too little data for an interval)"
    return shown if low is None else f"{shown} (95 %: {words(low)} to {words(high)})"


def _parts(store: Store, run: Row) -> tuple[Table, int]:
    """Counters `HOST reads: part` of each volume, over the whole time, and how many are left out."""
    rows = store.query(
        "SELECT entity, name, max(value) AS mean_ns FROM counters WHERE capture = $1 AND system = $2 "
        "AND kind = 'vdisk' AND run IS NULL AND unit = 'ns' AND regexp_matches(name, ' (reads|writes|flushes): ') "
        "GROUP BY entity, name "
        "ORDER BY entity, name", [run["capture"], run["system"]],
    ).to_pylist()  # fmt: skip
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in rows:
        view, _, part = row["name"].partition(": ")
        host, _, direction = view.rpartition(" ")
        found[f"{host}/{row['entity']}", direction][part] = row["mean_ns"]
    totals = {view: total for view, parts in found.items() if (total := sum(parts.values()))}
    longest = set(sorted(totals, key=lambda view: -totals[view])[:_MOST_PARTS])
    lines = []
    for (volume, direction), total in totals.items():
        if (volume, direction) in longest:
            parts = found[volume, direction]
            shares = sorted(parts.items(), key=lambda part: -part[1])
            words = ", ".join(
                f"{part} {format_ratio(mean / total)}" for part, mean in shares if mean >= _LEAST_SHARE * total
            )
            lines.append([volume, direction, format_duration(total), words])
    return lines, len(totals) - len(lines)


def _components(store: Store, run: Row) -> list[list[str]]:
    """Groups of drives, controllers and links, over the time that counts; the most used first."""
    rows: list[Row] = store.query(_COMPONENTS, [run["capture"], run["system"]]).to_pylist()
    return [
        [
            _name(row), format_ratio(row["used"]),
            f"{format_ratio(row['most'])} ({row['most_name']})" if row["members"] > 1 else "",
            "–" if row["queue"] is None else f"{row['queue']:.2f}", format_rate(row["per_s"], "/s"),
        ]
        for row in rows
    ]  # fmt: skip


def _name(row: Row) -> str:
    if row["kind"] != "disk":
        words = f"{row['kind']} {row['name']}".strip()
        is_limit = words.startswith("rate_limit ")
        return f"rate limit of {words.removeprefix('rate_limit ')}" if is_limit else words.replace("_", "-")
    return f"{row['members']} {'drive' if row['members'] == 1 else 'drives'} of {row['name']}"


_COMPONENTS = """
WITH counted AS (
    SELECT kind, entity, name, max(value) AS value FROM counters
    WHERE capture = $1 AND system = $2 AND run IS NULL GROUP BY kind, entity, name
), whole AS (
    SELECT entity, ops_per_s FROM observations
    WHERE capture = $1 AND system = $2 AND kind = 'disk' AND busy_ratio IS NOT NULL
)
SELECT 'disk' AS kind, l.target AS name, count(*) AS members, avg(u.value) AS used, max(u.value) AS most,
       arg_max(u.entity, u.value) AS most_name, avg(q.value) AS queue, sum(w.ops_per_s) AS per_s
FROM counted u
JOIN counted q ON q.kind = 'disk' AND q.entity = u.entity AND q.name = 'queue'
JOIN whole w ON w.entity = u.entity
JOIN links l ON l.capture = $1 AND l.system = $2 AND l.kind = 'disk' AND l.entity = u.entity
    AND l.relation = 'member_of' AND l.target_kind = 'disk_group'
WHERE u.kind = 'disk' AND u.name = 'used' GROUP BY l.target
UNION ALL
SELECT 'controller', entity, 1, sum(cpu_busy_ratio * duration_ns) / sum(duration_ns) AS used, used, entity,
       sum(queue_depth_mean * duration_ns) / sum(duration_ns), sum(ops_per_s * duration_ns) / sum(duration_ns)
FROM observations
WHERE capture = $1 AND system = $2 AND kind = 'controller' AND cpu_busy_ratio IS NOT NULL GROUP BY entity
UNION ALL
SELECT '', b.name[:-6], 1, b.value, b.value, '', q.value, r.value
FROM counted b LEFT JOIN counted q ON q.kind = 'array' AND q.name = b.name[:-6] || ' queue'
LEFT JOIN counted r ON r.kind = 'array' AND r.name = b.name[:-6] || ' rate'
WHERE b.kind = 'array' AND b.name LIKE '% busy'
ORDER BY used DESC, name
"""
