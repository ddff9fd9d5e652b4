"""Queue maps: how many requests wait at each drive over time.

A drive that everybody waits for while the others idle is one bright line, and a convoy that moves from drive to drive
a staircase: means over all drives show neither. Drives keep the order of their names, in which layouts count them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.units import NS_PER_MS, NS_PER_S, format_count, format_ratio, format_span
from storscope.report.heatmap import Columns, HeatMap
from storscope.report.pack import Packer
from storscope.report.reading import Judged, read_series
from storscope.report.wording import counted, kind_word, natural
from storscope.store import Store
from storscope.store.series import Series

LEAST_DRIVES = 4
ROWS_MAX = 256
COLUMNS_MAX = 400
_KIND, _DEPTH = "disk", "queue_depth_mean"
_NOTHING = 0.05
"""A mean below is drawn as none: on a scale from there to tens, hundredths would have most of the colours. The scale
begins there whatever is drawn, so that colours mean the same on every page and queues that are alike look alike."""
_OUT = r"(?i)\b(spare|fail\w*)\b"
"""States of drives that take no part, unless requests are there nevertheless: a rebuild's, or before it failed."""


def queue_maps(judged: Judged, packer: Packer) -> list[HeatMap]:
    """One map for each system with the queues of at least four drives."""
    out = _out(judged.store)
    queues = {
        entity: series.where(np.isfinite(series[_DEPTH]))
        for entity, series in read_series(judged, _DEPTH, kind=_KIND).items()
        if series.has(_DEPTH)
    }
    found = []
    for system, own in itertools.groupby(queues, key=lambda entity: entity.system):
        drives = {entity.name: queues[entity] for entity in own}
        if len(drives) >= LEAST_DRIVES:
            found.append(_map(system, dict(sorted(drives.items(), key=lambda item: natural(item[0]))), out, packer))
    return found


def _out(store: Store) -> set[tuple[str, str]]:
    """System and name of spares and failed drives."""
    rows = store.query(
        f"SELECT DISTINCT system, entity FROM facts WHERE kind = '{_KIND}' AND name = 'state' "
        "AND regexp_matches(value, $1)", [_OUT],
    ).to_pylist()  # fmt: skip
    return {(row["system"], row["entity"]) for row in rows}


def _map(system: str, drives: Mapping[str, Series], out: set[tuple[str, str]], packer: Packer) -> HeatMap:
    every = list(drives.values())
    times, lengths = (np.concatenate(part) for part in ([s.time_ns for s in every], [s.duration_ns for s in every]))
    depths = np.concatenate([series[_DEPTH] for series in every])
    columns = _slices(times, lengths, depths)
    seen = (times >= columns.start_ns) & (times < columns.start_ns + columns.count * columns.width_ns)
    shown = list(drives)[:ROWS_MAX]
    rows = np.repeat(np.arange(len(every)), [len(series) for series in every])
    whole = np.full((len(drives), columns.count), np.nan)
    np.fmax.at(whole, (rows[seen], columns.of(times[seen])), np.where(depths[seen] < _NOTHING, 0.0, depths[seen]))
    cells = whole[: len(shown)]
    words = kind_word(_KIND, 2)
    stretch = _stretch(columns, times)
    takes_part = np.array([(system, name) not in out for name in drives]) | (np.nan_to_num(whole) > 0).any(axis=1)
    more = len(drives) - len(shown)
    left = f" {more} more {words} count for this and are not drawn{_busiest(list(drives), whole)}." if more else ""
    return HeatMap(
        title=f"At which {kind_word(_KIND)} did requests wait, and when?",
        system=system,
        note=f"Stronger colour means more requests at the {kind_word(_KIND)}, waiting or in service: the greatest "
        f"interval mean in each {format_span(columns.width_ns) if columns.width_ns >= NS_PER_S else _ms(columns)}. "
        f"The colours begin at {_NOTHING:g}; less is left blank. "
        f"{stretch}{_spread(whole[takes_part], 'On average over them' if stretch else 'On average')}{left}",
        legend="requests",
        heads=[kind_word(_KIND).capitalize(), "Mean", "Highest"],
        rows=[[name, *_mean_and_peak(cells[row])] for row, name in enumerate(shown)],
        chart={
            "kind": "matrix", **columns.chart(), "names": shown, "rows": len(shown),
            "cells": packer.add_values(cells.ravel()), "unit": "requests", "scale": "log",
            "low": _NOTHING,
        },
        aria=f"Heat map of {system}: requests at {counted(len(shown), kind_word(_KIND), words)} over time.",
    )  # fmt: skip


def _busiest(names: Sequence[str], whole: FloatArray) -> str:
    """That the drive with the most requests is among those that are not drawn."""
    totals = np.nansum(whole, axis=1)
    top = int(np.argmax(totals))
    return f", among them {names[top]}, which has the most requests" if top >= ROWS_MAX and totals[top] > 0 else ""


def _ms(columns: Columns) -> str:
    return f"{columns.width_ns / NS_PER_MS:g} ms"


def _slices(times: IntArray, lengths: IntArray, depths: FloatArray) -> Columns:
    """All of the time where that is fine enough; of fine slices the stretch with the most requests, unblurred.

    A convoy stays a tenth of a second at a drive: in wider slices every drive would look busy.
    """
    start, end, interval = int(times.min()), int((times + lengths).max()), max(1, int(np.median(lengths)))
    count = max(1, math.ceil((end - start) / interval))
    if count <= COLUMNS_MAX:
        return Columns(start, interval, count)
    if interval < NS_PER_S:
        totals = np.bincount((times - start) // interval, weights=depths, minlength=count)
        stretch = np.convolve(totals, np.ones(COLUMNS_MAX), mode="valid")
        first = int(np.argmax(stretch > stretch.max() * (1 - 1e-9)))
        return Columns(start + first * interval, interval, COLUMNS_MAX)
    width = math.ceil(count / COLUMNS_MAX) * interval
    return Columns(start, width, math.ceil((end - start) / width))


def _stretch(columns: Columns, times: IntArray) -> str:
    """That only a part of the time is drawn."""
    shown_ns = columns.count * columns.width_ns
    if int(times.max()) - int(times.min()) <= shown_ns + columns.width_ns:
        return ""
    return f"Drawn are the {format_span(shown_ns)} with the most requests. "


def _spread(cells: FloatArray, over: str) -> str:
    """How unevenly the waiting is spread at an instant: what a mean over time hides.

    As the rule `convoy` counts it (model/concentration.py): by requests, in instants that have all drives.
    """
    is_there = np.isfinite(cells)
    present = cells[is_there.any(axis=1)]
    whole = present[:, np.isfinite(present).all(axis=0)]
    if not whole.size:
        return f"No instant has the queues of all {kind_word(_KIND, 2)}, so how they spread is not known."
    if not whole.any():
        return "Nothing waits."
    share = float(whole.max(axis=0).sum() / whole.sum())
    return (
        f"{over} the busiest one of an instant holds {format_ratio(share)} of all requests; evenly spread it would "
        f"hold {format_ratio(1 / len(whole))}."
    )


def _mean_and_peak(values: FloatArray) -> list[str]:
    if not np.isfinite(values).any():
        return ["–", "–"]
    return [f"{float(np.nanmean(values)):.2f}", format_count(round(float(np.nanmax(values)), 1))]
