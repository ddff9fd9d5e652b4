"""Load and latency over time, system by system, with the bad windows marked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.units import (
    format_bandwidth,
    format_duration,
    format_rate,
    format_ratio,
    format_span,
    format_time,
)
from storscope.report.downsample import Extremes, downsample
from storscope.report.layers import Layer, Total, detail_layers, main_layers, total, track_total
from storscope.report.pack import Packer
from storscope.report.reading import BYTES, COLUMNS, LATENCY, OPS, Track
from storscope.report.wording import counted, kind_word, listed, time_range

Windows = Sequence[tuple[int, int]]
Apart = Mapping[str, Mapping[EntityRef, Track]]
"""'reads' and 'writes' -> what entities did of them."""

TOTAL_BUCKETS = 1440
"""Buckets of a system's own line: more than a wide screen has pixels for, so zooming in gains a little."""
ENTITY_BUCKETS = 720
ENTITIES_DRAWN = 60
"""Entities over all systems that can be chosen in the charts; the page says how many are left out."""
SYSTEMS_DRAWN = 12
_TABLE_ROWS = 24

PANEL_FORMATS: Mapping[str, Callable[[float | None], str]] = {
    OPS: format_rate,
    BYTES: format_bandwidth,
    LATENCY: format_duration,
}
PANEL_WORDS = {OPS: "Operations", BYTES: "Throughput", LATENCY: "Latency"}


@dataclass(frozen=True)
class Timeline:
    """One system's charts: `chart` goes to the data island, the rest to the page."""

    system: str
    what: str
    """What is added up, in a sentence."""
    bad: Sequence[str]
    """The bad windows in words, longest first."""
    bad_total: str
    """How many and how long; without any, that there is none."""
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    """The same as a table of a few dozen rows."""
    chart: Mapping[str, object]
    aria: str


def timelines(
    layers: Sequence[Layer],
    bad_windows: Mapping[str, Windows],
    packer: Packer,
    zero_ns: int | None = None,
    *,
    slow: Collection[str] = (),
    apart: Callable[[str], Apart] = lambda _: {},
) -> tuple[list[Timeline], str]:
    """The timelines, systems with bad windows first, and a sentence on what was left out (or ''). Times in words are
    told since `zero_ns`. `slow` are the systems with volumes that are too slow, be it all the time;
    `apart` gives the reads and the writes of the entities of a kind, which are asked for where there are bad windows,
    since these may be bad by one of them alone."""
    mains = sorted(main_layers(layers), key=lambda layer: (-_length(bad_windows.get(layer.system, ())), layer.system))
    drawn = mains[:SYSTEMS_DRAWN]
    share = max(3, ENTITIES_DRAWN // max(1, len(drawn)))
    details = detail_layers(layers)
    found = [
        _timeline(
            layer,
            details.get(layer.system, layer),
            bad_windows.get(layer.system, ()),
            share,
            packer,
            zero_ns,
            apart=_layers_apart(layer, apart(layer.kind)) if bad_windows.get(layer.system) else {},
            is_slow=layer.system in slow,
        )
        for layer in drawn
    ]
    left = [layer.system for layer in mains[SYSTEMS_DRAWN:]]
    return found, f"Not drawn for brevity: {listed(left)}." if left else ""


def _timeline(
    layer: Layer, detail: Layer, bad: Windows, entities: int, packer: Packer, zero_ns: int | None, *,
    apart: Mapping[str, Layer], is_slow: bool,
) -> Timeline:  # fmt: skip
    whole = total(layer)
    choices = [_series(_whole_label(layer), whole, TOTAL_BUCKETS, packer)]
    choices += [_series(f"{_whole_label(layer)}: {of}", total(one), TOTAL_BUCKETS, packer) for of, one in apart.items()]
    choices += [
        _series(track.label, track_total(track), ENTITY_BUCKETS, packer)
        for track in (detail.tracks[:entities] if len(detail.tracks) > 1 else ())
    ]
    heads, rows = _table(whole, bad, zero_ns)
    return Timeline(
        system=layer.system,
        what=_what(layer, whole, detail, min(entities, len(detail.tracks))) + (_APART_WORDS if apart else ""),
        bad=[time_range(*window, zero_ns) for window in sorted(bad, key=lambda window: window[0] - window[1])[:12]],
        bad_total=_bad_total(bad, is_slow=is_slow),
        heads=heads,
        rows=rows,
        chart={
            "kind": "timeline",
            "bad": [[start / 1e9, end / 1e9] for start, end in bad],
            "choices": choices,
        },
        aria=_aria(layer, whole, _bad_total(bad, is_slow=is_slow), zero_ns),
    )


_APART_WORDS = " A window may be bad by reads or writes alone, behind the mean of both: they can be chosen."


def _layers_apart(layer: Layer, apart: Apart) -> dict[str, Layer]:
    """'reads' and 'writes' -> the layer with these alone; none where not all that is added up tells both apart."""
    found = {}
    for of, tracks in apart.items():
        own = [tracks[track.entity] for track in layer.summed if track.entity in tracks]
        if len(own) == len(layer.summed):
            found[of] = replace(layer, tracks=own, summed=own)
    return found if len(found) > 1 else {}


def _whole_label(layer: Layer) -> str:
    if len(layer.summed) == 1:
        return layer.summed[0].label
    return f"All {counted(len(layer.summed), kind_word(layer.kind), kind_word(layer.kind, 2))}"


def _series(label: str, whole: Total, buckets: int, packer: Packer) -> dict[str, object]:
    weights = {LATENCY: whole.columns[OPS]} if OPS in whole.columns else {}
    small = downsample(whole.time_ns, whole.end_ns, whole.columns, weights, buckets)
    return {
        "label": label,
        "t": packer.add_times(small.time_ns),
        "samples": small.samples_per_bucket,
        "panels": {name: _packed(small.columns[name], packer) for name in COLUMNS if name in small.columns},
    }


def _packed(extremes: Extremes, packer: Packer) -> list[int]:
    """Column numbers of mean, low, high; the mean alone when every bucket is one sample."""
    same = np.array_equal(extremes.low, extremes.high, equal_nan=True)
    parts = [extremes.mean] if same else [extremes.mean, extremes.low, extremes.high]
    return [packer.add_values(part) for part in parts]


def _what(layer: Layer, whole: Total, detail: Layer, drawn: int) -> str:
    words = kind_word(layer.kind, len(layer.summed))
    head = (
        f"{counted(len(layer.summed), words, words)} added up"
        if len(layer.summed) > 1
        else f"One {words}: {layer.summed[0].label}"
    )
    latency = (
        "; latency is the mean of all operations"
        if whole.weighted
        else "; latency is the plain mean, as no operations are counted"
    )
    parts = [head + (latency if LATENCY in whole.columns and len(layer.summed) > 1 else "") + "."]
    if layer.lies_on:
        names = listed([f"{entity.name} (on {lower})" for entity, lower in sorted(layer.lies_on.items())])
        parts.append(f"Not added, since their operations are counted below them: {names}.")
    if 1 < drawn < (known := len(detail.tracks)):
        of_all = f"The {drawn} {kind_word(detail.kind, drawn)} with the most queue time"
        parts.append(f"{of_all} can be chosen; {known - drawn} more cannot.")
    return " ".join(parts)


def _length(windows: Windows) -> int:
    return sum(end - start for start, end in windows)


def _bad_total(bad: Windows, *, is_slow: bool) -> str:
    """What is slow all the time makes no window, which is no reason to call the time good."""
    if not bad:
        return "No window worse than the rest; see the findings on what was too slow" if is_slow else "No bad window"
    return f"{counted(len(bad), 'bad window')}, {format_span(_length(bad))} in all"


def _aria(layer: Layer, whole: Total, bad_total: str, zero_ns: int | None) -> str:
    span = time_range(int(whole.time_ns[0]), int(whole.end_ns.max()), zero_ns)
    peaks = ", ".join(
        f"highest {PANEL_WORDS[name].lower()} {PANEL_FORMATS[name](float(np.nanmax(values)))}"
        for name, values in whole.columns.items()
    )
    said = f"{peaks}; {bad_total[:1].lower()}{bad_total[1:]}"
    return f"Load and latency of {layer.system}, {span}: {said}. Arrow keys move along the time."


def _table(whole: Total, bad: Windows, zero_ns: int | None) -> tuple[list[str], list[list[str]]]:
    """The chart in a few dozen equal slices of time: mean and greatest value of each column."""
    names = [name for name in COLUMNS if name in whole.columns]
    heads = [
        "From (UTC)" if zero_ns is None else "From",
        *(f"{PANEL_WORDS[name]}, {which}" for name in names for which in ("mean", "highest")),
        "In bad windows",
    ]
    start, end = int(whole.time_ns[0]), int(whole.end_ns.max())
    slices = min(_TABLE_ROWS, len(whole.time_ns))
    edges = start + np.arange(slices + 1, dtype=np.int64) * -(-(end - start) // slices)
    slot = np.clip(np.searchsorted(edges, whole.time_ns, side="right") - 1, 0, len(edges) - 2)
    rows = []
    for number in np.unique(slot):
        inside = slot == number
        row = [format_time(int(edges[number]), zero_ns)]
        for name in names:
            row += _slice_words(name, whole, inside)
        share = _overlap_share(int(edges[number]), int(edges[number + 1]), bad)
        rows.append([*row, format_ratio(share) if share else "–"])
    return heads, rows


def _slice_words(name: str, whole: Total, inside: BoolArray) -> list[str]:
    values = whole.columns[name][inside]
    known = np.isfinite(values)
    if not known.any():
        return ["–", "–"]
    weights = _weights(name, whole, inside)[known]
    mean = np.average(values[known], weights=weights) if weights.sum() > 0 else values[known].mean()
    return [PANEL_FORMATS[name](float(mean)), PANEL_FORMATS[name](float(values[known].max()))]


def _weights(name: str, whole: Total, inside: BoolArray) -> FloatArray:
    if name == LATENCY and OPS in whole.columns:
        return np.nan_to_num(whole.columns[OPS][inside])
    return np.asarray((whole.end_ns - whole.time_ns)[inside], dtype=np.float64)


def _overlap_share(start: int, end: int, windows: Windows) -> float:
    covered = sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in windows)
    return covered / (end - start) if end > start else 0.0
