"""Queue maps: how many requests wait at each drive over time.

A drive that everybody waits for while the others idle is one bright line, and a convoy that moves from drive to drive
a staircase: means over all drives show neither. Drives keep the order of their names, in which layouts count them.
"""

from __future__ import annotations

import math

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.units import NS_PER_MS, NS_PER_S, format_count, format_ratio, format_span
from storscope.report.heatmap import Columns, HeatMap
from storscope.report.pack import Packer
from storscope.report.reading import time_condition
from storscope.report.wording import counted, kind_word, natural
from storscope.store import Store

LEAST_DRIVES = 4
ROWS_MAX = 256
COLUMNS_MAX = 400
_KIND = "disk"
_NOTHING = 0.05
"""A mean below is drawn as none: on a scale from there to tens, hundredths would have most of the colours. The scale
begins there whatever is drawn, so that colours mean the same on every page and queues that are alike look alike."""
_OUT = r"(?i)\b(spare|fail\w*)\b"
"""States of drives that take no part, unless requests are there nevertheless: a rebuild's, or before it failed."""


def queue_maps(store: Store, span: tuple[int | None, int | None], packer: Packer) -> list[HeatMap]:
    """One map for each system with the queues of at least four drives."""
    table = store.query(
        "SELECT system, entity, epoch_ns(time) AS time_ns, duration_ns, queue_depth_mean AS depth FROM observations "
        f"WHERE kind = '{_KIND}' AND queue_depth_mean IS NOT NULL AND time IS NOT NULL AND {time_condition(*span)} "
        "ORDER BY system, time"
    )
    systems = table.column("system").to_numpy(zero_copy_only=False).astype(str)
    out = _out(store)
    found = []
    for system in np.unique(systems):
        part = table.filter(systems == system)
        names = part.column("entity").to_numpy(zero_copy_only=False).astype(str)
        times, lengths = (part.column(name).to_numpy().astype(np.int64) for name in ("time_ns", "duration_ns"))
        drives = sorted(set(names.tolist()), key=natural)
        if len(drives) >= LEAST_DRIVES:
            depths = part.column("depth").to_numpy().astype(np.float64)
            found.append(_map(str(system), drives, out, names, times, lengths, depths, packer))
    return found


def _out(store: Store) -> set[tuple[str, str]]:
    """System and name of spares and failed drives."""
    rows = store.query(
        f"SELECT DISTINCT system, entity FROM facts WHERE kind = '{_KIND}' AND name = 'state' "
        "AND regexp_matches(value, $1)", [_OUT],
    ).to_pylist()  # fmt: skip
    return {(row["system"], row["entity"]) for row in rows}


def _map(
    system: str, drives: list[str], out: set[tuple[str, str]], names: np.typing.NDArray[np.str_], times: IntArray,
    lengths: IntArray, depths: FloatArray, packer: Packer,
) -> HeatMap:  # fmt: skip
    columns = _slices(times, lengths, depths)
    seen = (times >= columns.start_ns) & (times < columns.start_ns + columns.count * columns.width_ns)
    row_of = {name: row for row, name in enumerate(drives[:ROWS_MAX])}
    rows = np.array([row_of.get(name, -1) for name in names])
    kept = (rows >= 0) & seen
    cells = np.full((len(row_of), columns.count), np.nan)
    np.fmax.at(cells, (rows[kept], columns.of(times[kept])), np.where(depths[kept] < _NOTHING, 0.0, depths[kept]))
    words = kind_word(_KIND, 2)
    stretch = _stretch(columns, times)
    takes_part = np.array([(system, name) not in out for name in row_of]) | (np.nan_to_num(cells) > 0).any(axis=1)
    left = f" {len(drives) - len(row_of)} more {words} are left out." if len(drives) > len(row_of) else ""
    return HeatMap(
        title=f"At which {kind_word(_KIND)} did requests wait, and when?",
        system=system,
        note=f"Stronger colour means more requests at the {kind_word(_KIND)}, waiting or in service: the greatest "
        f"interval mean in each {format_span(columns.width_ns) if columns.width_ns >= NS_PER_S else _ms(columns)}. "
        f"The colours begin at {_NOTHING:g}; less is left blank. "
        f"{stretch}{_spread(cells[takes_part], 'On average over them' if stretch else 'On average')}{left}",
        legend="requests",
        heads=[kind_word(_KIND).capitalize(), "Mean", "Highest"],
        rows=[[name, *_mean_and_peak(cells[row])] for name, row in row_of.items()],
        chart={
            "kind": "matrix", **columns.chart(), "names": list(row_of), "rows": len(row_of),
            "cells": packer.add_values(cells.ravel()), "unit": "requests", "scale": "log",
            "low": _NOTHING,
        },
        aria=f"Heat map of {system}: requests at {counted(len(row_of), kind_word(_KIND), words)} over time.",
    )  # fmt: skip


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
