"""What logs said, read from a store: every event once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storscope.domain.entity import EntityRef
from storscope.store.directory import Store
from storscope.store.time_frame import TimeFrame


@dataclass(frozen=True, slots=True)
class Event:
    """A row of `events`."""

    capture: str
    entity: EntityRef
    time_ns: int | None
    type: str
    value: float | None
    baseline: float | None
    unit: str | None
    attributes: Mapping[str, str]
    text: str


def read_events(store: Store, frame: TimeFrame) -> list[Event]:
    """Every event of a time frame in time order; those without a time come last."""
    table = store.query(
        f"SELECT capture, system, kind, entity, {frame.instant()} AS time_ns, type, value, baseline, unit, "
        f"attributes, text FROM events WHERE (time IS NULL OR {frame.condition()}) "
        "ORDER BY time_ns NULLS LAST, capture"
    )
    found = [
        Event(
            row["capture"], EntityRef(row["system"], row["kind"], row["entity"]), row["time_ns"], row["type"],
            row["value"], row["baseline"], row["unit"], dict(row["attributes"] or ()), row["text"],
        )
        for row in table.to_pylist()
    ]  # fmt: skip
    return _without_echoes(found)


def _without_echoes(events: list[Event]) -> list[Event]:
    """Events that several captures tell alike, once: vmkernel.log and vmkwarning.log carry the same warnings.

    What one capture tells several times stays; of several captures the one that tells it most often is taken.
    """
    told: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    keys = [(event.entity, event.time_ns, event.type, event.value, event.baseline) for event in events]
    for key, event in zip(keys, events, strict=True):
        told[key][event.capture] += 1
    return [
        event
        for key, event in zip(keys, events, strict=True)
        if event.time_ns is None or event.capture == told[key].most_common(1)[0][0]
    ]
