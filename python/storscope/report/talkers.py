"""Top talkers: who takes the operations, the bytes and the queue time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.domain.arrays import FloatArray
from storscope.domain.units import NS_PER_S, format_bytes, format_count, format_duration, format_ratio, format_span
from storscope.report.layers import Layer
from storscope.report.reading import BYTES, LATENCY, OPS, Track
from storscope.report.wording import counted, kind_word

ROWS_MAX = 10
LAYERS_MAX = 8


@dataclass(frozen=True)
class Measure:
    """One amount of one entity: in words, and as a share of all."""

    words: str
    share: float | None
    share_words: str


@dataclass(frozen=True)
class Talker:
    """One row."""

    name: str
    note: str
    measures: Sequence[Measure]
    latency: str


@dataclass(frozen=True)
class TalkerTable:
    """The entities of one layer, the one with the most queue time first."""

    system: str
    kind: str
    heads: Sequence[str]
    talkers: Sequence[Talker]
    note: str


@dataclass(frozen=True)
class _Amounts:
    operations: float
    bytes: float
    queue_seconds: float
    bad_queue_seconds: float


def talker_tables(layers: Sequence[Layer], bad_windows: Mapping[str, Sequence[tuple[int, int]]]) -> list[TalkerTable]:
    """A table for each layer of two or more entities with a load; the main layer of a system comes first."""
    busy = [
        layer
        for layer in layers
        if len(layer.tracks) > 1 and any(track.has(OPS) or track.has(BYTES) for track in layer.tracks)
    ]
    return [_table(layer, bad_windows.get(layer.system, ())) for layer in busy[:LAYERS_MAX]]


def _table(layer: Layer, bad: Sequence[tuple[int, int]]) -> TalkerTable:
    amounts = {track.entity: _amounts(track, bad) for track in layer.tracks}
    summed = [amounts[track.entity] for track in layer.summed]
    whole = _Amounts(*(_sum([getattr(one, name) for one in summed]) for name in _Amounts.__dataclass_fields__))
    shown = [name for name in _HEADS if getattr(whole, name) > 0]
    key = (
        "bad_queue_seconds"
        if "bad_queue_seconds" in shown
        else "queue_seconds"
        if "queue_seconds" in shown
        else shown[0]
        if shown
        else "operations"
    )
    ordered = sorted(
        layer.tracks, key=lambda track: (-np.nan_to_num(getattr(amounts[track.entity], key)), track.entity)
    )
    talkers = [_talker(track, amounts[track.entity], whole, shown, layer) for track in ordered[:ROWS_MAX]]
    rest = [amounts[track.entity] for track in ordered[ROWS_MAX:] if track.entity not in layer.lies_on]
    if len(ordered) > ROWS_MAX:
        others = _Amounts(*(_sum([getattr(one, name) for one in rest]) for name in _Amounts.__dataclass_fields__))
        label = f"{len(ordered) - ROWS_MAX} others"
        talkers.append(Talker(label, "", [_measure(others, whole, name) for name in shown], _mean_latency(others)))
    return TalkerTable(layer.system, layer.kind, [_HEADS[name] for name in shown], talkers, _note(layer, key, bad))


_HEADS = {
    "operations": "Operations",
    "bytes": "Bytes",
    "queue_seconds": "Queue time",
    "bad_queue_seconds": "In bad windows",
}


def _amounts(track: Track, bad: Sequence[tuple[int, int]]) -> _Amounts:
    waiting = track.operations * track[LATENCY] / NS_PER_S
    inside = np.zeros(len(track), dtype=bool)
    for start, end in bad:
        inside |= (track.time_ns < end) & (track.end_ns > start)
    in_bad = _sum(waiting[inside]) if _tells_windows(track, bad) else float("nan")
    return _Amounts(_sum(track.operations), _sum(track[BYTES] * track.seconds), _sum(waiting), in_bad)


def _tells_windows(track: Track, bad: Sequence[tuple[int, int]]) -> bool:
    """Whether what happened in bad windows can be told from the rest; not by one figure that reaches beyond them."""
    known = np.flatnonzero(np.isfinite(track.operations * track[LATENCY]))
    if len(known) != 1:
        return True
    first, last = int(track.time_ns[known[0]]), int(track.end_ns[known[0]])
    return sum(max(0, min(end, last) - max(start, first)) for start, end in bad) >= last - first


def _sum(values: Sequence[float] | FloatArray) -> float:
    """The sum of what is known; NaN when nothing is."""
    array = np.asarray(values, dtype=np.float64)
    return float(np.nansum(array)) if np.isfinite(array).any() else float("nan")


def _talker(track: Track, amounts: _Amounts, whole: _Amounts, shown: Sequence[str], layer: Layer) -> Talker:
    lower = layer.lies_on.get(track.entity)
    name_note = track.entity.name if track.label != track.entity.name else ""
    note = ", ".join(part for part in (name_note, f"lies on {lower}" if lower else "") if part)
    return Talker(track.label, note, [_measure(amounts, whole, name) for name in shown], _mean_latency(amounts))


def _measure(amounts: _Amounts, whole: _Amounts, name: str) -> Measure:
    value, all_of_it = getattr(amounts, name), getattr(whole, name)
    if not np.isfinite(value):
        return Measure("–", None, "")
    words = {"operations": lambda: format_count(round(value)), "bytes": lambda: format_bytes(value)}.get(
        name, lambda: format_span(value * NS_PER_S)
    )()
    return Measure(words, min(1.0, value / all_of_it), format_ratio(value / all_of_it))


def _mean_latency(amounts: _Amounts) -> str:
    if not amounts.operations > 0 or not np.isfinite(amounts.queue_seconds):
        return "–"
    return format_duration(amounts.queue_seconds / amounts.operations * NS_PER_S)


def _note(layer: Layer, key: str, bad: Sequence[tuple[int, int]]) -> str:
    by = {"bad_queue_seconds": "queue time in the bad windows", "queue_seconds": "queue time"}.get(
        key, _HEADS[key].lower()
    )
    parts = [f"{counted(len(layer.tracks), kind_word(layer.kind), kind_word(layer.kind, 2))}, ordered by {by}."]
    if "queue" in key:
        parts.append("Queue time is operations × latency: the time operations spent waiting, added up.")
    if bad and not any(_tells_windows(track, bad) for track in layer.tracks):
        parts.append("Their figures are of the whole time only, so their part in the bad windows is not known.")
    if layer.lies_on:
        parts.append(
            "Shares are of the entities that lie on no other, so an entity and what it lies on both show theirs."
        )
    return " ".join(parts)
