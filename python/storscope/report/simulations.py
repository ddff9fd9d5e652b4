"""Simulated runs: figures with their intervals, where the time of I/Os went, how busy components were, the design."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storscope.domain.units import format_duration, format_rate, format_ratio, format_span
from storscope.report.wording import kind_word
from storscope.store import Store

ENGINE = "storscope-sim"
_LEAST_SHARE = 0.005
Row = Mapping[str, Any]
Table = Sequence[Sequence[str]]


@dataclass(frozen=True)
class SimulationView:
    """One simulated run in words."""

    system: str
    name: str
    facts: Sequence[tuple[str, str]]
    parts: Table
    """Host's view of a volume, direction, mean, parts with their shares."""
    components: Table
    design: str


def simulation_views(store: Store) -> list[SimulationView]:
    """Every simulated run in the store."""
    runs: list[Row] = store.query(
        "SELECT capture, run, name, system, seed, duration_ns, parameters FROM runs WHERE engine = $1 "
        "ORDER BY capture, run", [ENGINE],
    ).to_pylist()  # fmt: skip
    return [_view(store, run) for run in runs]


def _view(store: Store, run: Row) -> SimulationView:
    said = dict(run["parameters"])
    return SimulationView(
        system=run["system"], name=run["name"], facts=_facts(store, run, said), parts=_parts(store, run),
        components=_components(store, run), design=said.get("design_text", ""),
    )  # fmt: skip


def _facts(store: Store, run: Row, said: Mapping[str, str]) -> list[tuple[str, str]]:
    rows = store.query(
        "SELECT kind, name, value, number FROM facts WHERE capture = $1 AND kind IN ('job', 'array')", [run["capture"]]
    ).to_pylist()
    numbers = {row["name"]: row["number"] for row in rows if row["kind"] == "job"}
    array = {row["name"]: row["value"] for row in rows if row["kind"] == "array"}
    found = [
        ("Counted", f"{format_span(run['duration_ns'])}. {said.get('warm_up', '')}"),
        ("Operations", _with_interval(numbers, "iops", format_rate)),
        ("Mean latency", _with_interval(numbers, "mean", format_duration)),
        ("99th percentile", _with_interval(numbers, "p99", format_duration)),
        ("What bounds it", array.get("what bounds it", "")),
        ("Most used", array.get("most used", "")),
        ("Seed", str(run["seed"] or "")),
    ]
    return [(name, words) for name, words in found if words]


def _with_interval(numbers: Mapping[str, float | None], name: str, words: Any) -> str:
    value, low, high = (numbers.get(key) for key in (name, f"{name} low", f"{name} high"))
    if value is None:
        return ""
    shown = str(words(value))
    return shown if low is None or high is None else f"{shown} (95 %: {words(low)} to {words(high)})"


def _parts(store: Store, run: Row) -> list[list[str]]:
    """Counters `HOST reads: part` of each volume, over the whole time."""
    rows = store.query(
        "SELECT entity, name, max(value) AS mean_ns FROM counters WHERE capture = $1 AND system = $2 "
        "AND kind = 'vdisk' AND run IS NULL AND unit = 'ns' AND (name LIKE '% reads: %' OR name LIKE '% writes: %') "
        "GROUP BY entity, name "
        "ORDER BY entity, name", [run["capture"], run["system"]],
    ).to_pylist()  # fmt: skip
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in rows:
        view, _, part = row["name"].partition(": ")
        host, _, direction = view.rpartition(" ")
        found[f"{host}/{row['entity']}", direction][part] = row["mean_ns"]
    lines = []
    for (volume, direction), parts in found.items():
        total = sum(parts.values())
        if total:
            shares = sorted(parts.items(), key=lambda part: -part[1])
            words = ", ".join(
                f"{part} {format_ratio(mean / total)}" for part, mean in shares if mean >= _LEAST_SHARE * total
            )
            lines.append([volume, direction, format_duration(total), words])
    return lines


def _components(store: Store, run: Row) -> list[list[str]]:
    """Groups of drives, controllers and links, over the whole time."""
    drives = store.query(
        "SELECT l.target AS name, count(*) AS members, avg(o.busy_ratio) AS busy, max(o.busy_ratio) AS busiest, "
        "sum(o.ops_per_s) AS per_s, arg_max(o.entity, o.busy_ratio) AS first FROM observations o "
        "JOIN links l ON l.capture = o.capture AND l.kind = 'disk' AND l.entity = o.entity AND l.system = o.system "
        "AND l.relation = 'member_of' AND l.target_kind = 'disk_group' "
        "WHERE o.capture = $1 AND o.system = $2 AND o.kind = 'disk' AND o.busy_ratio IS NOT NULL AND o.ops_per_s > 0 "
        "GROUP BY l.target ORDER BY l.target", [run["capture"], run["system"]],
    ).to_pylist()  # fmt: skip
    found = [
        [f"{row['members']} {kind_word('disk', row['members'])} of {row['name']}", format_ratio(row["busy"]),
         f"{format_ratio(row['busiest'])} ({row['first']})", format_rate(row["per_s"])]
        for row in drives
    ]  # fmt: skip
    controllers = store.query(
        "SELECT entity, cpu_busy_ratio AS busy, ops_per_s AS per_s FROM observations WHERE capture = $1 "
        "AND system = $2 AND kind = 'controller' AND cpu_busy_ratio IS NOT NULL ORDER BY entity",
        [run["capture"], run["system"]],
    ).to_pylist()  # fmt: skip
    found += [
        [f"controller {row['entity']}", format_ratio(row["busy"]), "", format_rate(row["per_s"])] for row in controllers
    ]
    others = store.query(
        "SELECT name, max(value) AS busy FROM counters WHERE capture = $1 AND system = $2 AND kind = 'array' "
        "AND run IS NULL AND name LIKE '% busy' GROUP BY name ORDER BY name", [run["capture"], run["system"]],
    ).to_pylist()  # fmt: skip
    return found + [
        [row["name"].removesuffix(" busy").replace("_", " "), format_ratio(row["busy"]), "", ""] for row in others
    ]
