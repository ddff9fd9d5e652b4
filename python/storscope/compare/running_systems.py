"""Reading running systems out of a store: the entities whose counters it holds."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from storscope.compare.combining import Row
from storscope.compare.naming import SIMULATOR, place_of
from storscope.compare.reading import start_of_run_ns
from storscope.compare.run_figures import arrays
from storscope.compare.selection import Selector, Times
from storscope.compare.subjects import Measured, Subject
from storscope.domain.schema import CANONICAL
from storscope.store import Store
from storscope.store.views import DERIVED

_MEASURED: Final = ", ".join(
    f"CASE WHEN NOT {DERIVED} THEN {name} END AS {name}" if name == "latency_ns_mean" else name for name in CANONICAL
)
"""The same without a latency that follows from the queue: it tells no more of a side than its queue does, and is not
like a measured one of the other side."""


def read_entities(store: Store, selector: Selector, captures: Iterable[str]) -> list[Subject]:
    """The entities with counters that are meant, the busiest first; their series are read when they are needed.

    The time since the start is that of a simulated run; of a system that was measured nothing is meant then.
    """
    simulated = _simulated_captures(store)
    within = _within(selector, simulated)
    rows = store.query(
        f"""SELECT system, kind, entity, sum(coalesce(ops_per_s, 0) * coalesce(duration_ns, 0)) AS activity,
                   list(DISTINCT capture) AS captures
            FROM observations WHERE run IS NULL AND list_contains($captures, capture) AND {within}
            GROUP BY ALL ORDER BY activity DESC, system, kind, entity""",
        {"captures": list(captures)},
    ).to_pylist()
    return [
        Subject(
            capture=",".join(sorted(row["captures"])),
            key=f"{row['system']}/{row['kind']}/{row['entity']}",
            name=f"{row['kind']} {row['entity']}",
            is_run=False,
            measured=functools.cache(functools.partial(_measured_entity, store, within, row)),
            place=place_of(SIMULATOR, row["system"], None) if simulated.keys() >= set(row["captures"]) else "",
            is_simulated=simulated.keys() >= set(row["captures"]),
            activity=row["activity"] or 0.0,
        )
        for row in rows
        if selector.takes_entity(row["kind"], row["entity"]) and selector.takes_system(row["system"])
    ]


def _simulated_captures(store: Store) -> dict[str, int | None]:
    """When their runs started. Their counters are those of simulated arrays: each holds one run and nothing else."""
    rows = store.query(
        "SELECT capture, epoch_ns(time) AS time_ns, parameters FROM runs WHERE engine = $1", [SIMULATOR]
    ).to_pylist()
    return {row["capture"]: start_of_run_ns(row) for row in rows}


def _within(selector: Selector, simulated: Mapping[str, int | None]) -> str:
    """SQL for the times that are meant; integers and the ids of captures, so nothing needs quoting."""
    if not selector.counts_from_start:
        return _of_times(selector.times(None) or Times())
    ranges = {capture: selector.times(start_ns) for capture, start_ns in simulated.items()}
    known = [f"(capture = '{capture}' AND {_of_times(times)})" for capture, times in ranges.items() if times]
    return f"({' OR '.join(known)})" if known else "FALSE"


def _of_times(times: Times) -> str:
    conditions = ["TRUE"]
    if times.since_ns is not None:
        conditions.append(f"epoch_ns(time) >= {times.since_ns}")
    if times.until_ns is not None:
        conditions.append(f"epoch_ns(time) + coalesce(duration_ns, 0) <= {times.until_ns}")
    return " AND ".join(conditions)


def _measured_entity(store: Store, within: str, entity: Row) -> Measured:
    rows = store.query(
        f"""SELECT capture, epoch_ns(time) AS time_ns, duration_ns, {_MEASURED} FROM observations
            WHERE run IS NULL AND list_contains($captures, capture) AND system = $system AND kind = $kind
              AND entity = $entity AND {within} ORDER BY time""",
        {name: entity[name] for name in ("captures", "system", "kind", "entity")},
    ).to_pylist()
    return Measured(None, arrays(_once(rows)))


def _once(rows: Sequence[Row]) -> list[Row]:
    """Where captures overlap in time the fuller one is used, so that nothing is counted twice."""
    by_capture: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_capture[row["capture"]].append(row)
    kept: list[list[Row]] = []
    for own in sorted(by_capture.values(), key=len, reverse=True):
        if all(_is_apart(own, other) for other in kept):
            kept.append(own)
    return sorted((row for own in kept for row in own), key=lambda row: row["time_ns"] or 0)


def _is_apart(one: Sequence[Row], other: Sequence[Row]) -> bool:
    if one[0]["time_ns"] is None or other[0]["time_ns"] is None:
        return False
    return bool(one[-1]["time_ns"] < other[0]["time_ns"] or other[-1]["time_ns"] < one[0]["time_ns"])
