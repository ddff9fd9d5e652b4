"""A sweep or a series for programs: the table that fio's scripts make, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from storscope.domain.sweep import DIRECTED, FIGURES, OF_FLUSHES, Cell, Estimate, SweepResult
from storscope.domain.units import GIB, KIB, MIB, NS_PER_S


def fio_table(result: SweepResult) -> str:
    """The table that scripts around fio's sweeps make: semicolons, one row a point.

    READMB and WRITEMB are in 2^20 bytes per second, as fio counted them then; SIZE and BLOCKSIZE are as in a job file.
    Where depth or mix varies, or a series has several rows of a point, a column more tells the rows apart.
    """
    heads: list[tuple[str, Callable[[Cell], str]]] = [
        ("DEVICE", lambda _: result.target),
        ("SIZE", lambda _: fio_size(result.size_bytes) if result.size_bytes else ""),
        ("MODE", lambda cell: cell.point.mode),
        ("BLOCKSIZE", lambda cell: fio_size(cell.point.block_bytes) if cell.point.block_bytes else ""),
        ("NUMJOBS", lambda cell: str(cell.point.jobs or "")),
        ("READMB", lambda cell: _number(cell, "read_bytes_per_s", MIB, 3)),
        ("WRITEMB", lambda cell: _number(cell, "write_bytes_per_s", MIB, 3)),
        ("READIOS", lambda cell: _number(cell, "read_ops_per_s", 1, 2)),
        ("WRITEIOS", lambda cell: _number(cell, "write_ops_per_s", 1, 2)),
    ]
    if len({cell.point.depth for cell in result.cells}) > 1:
        heads.append(("IODEPTH", lambda cell: str(cell.point.depth or "")))
    if len({cell.point.read_share for cell in result.cells if cell.point.read_share is not None}) > 1:
        heads.append(("READPCT", lambda cell: _percent(cell.point.read_share)))
    if result.is_series:
        heads.append(("SECONDS", lambda cell: _seconds(cell.elapsed_ns)))
    return _rows(heads, result.cells, ";")


def fio_size(size: int) -> str:
    """A size as fio writes it: '512', '4k', '16M', '49G'."""
    for factor, letter in ((GIB, "G"), (MIB, "M"), (KIB, "k")):
        if size % factor == 0:
            return f"{size // factor}{letter}"
    return str(size)


def sweep_csv(result: SweepResult) -> str:
    """Every figure with its interval, units in the names: what a spreadsheet or a program takes."""
    heads: list[tuple[str, Callable[[Cell], str]]] = [
        ("target", lambda _: result.target),
        ("mode", lambda cell: cell.point.mode),
        ("read_share", lambda cell: _plain(cell.point.read_share)),
        ("block_bytes", lambda cell: _plain(cell.point.block_bytes)),
        ("jobs", lambda cell: _plain(cell.point.jobs)),
        ("depth", lambda cell: _plain(cell.point.depth)),
        *([("elapsed_s", lambda cell: _seconds(cell.elapsed_ns))] if result.is_series else []),
        ("runs", lambda cell: str(cell.runs)),
        ("invalid_runs", lambda cell: str(cell.invalid_runs)),
    ]
    flushes = [name for name in OF_FLUSHES if any(cell.get(name) for cell in result.cells)]
    for name in (*FIGURES, *DIRECTED, *flushes):
        heads += [(name + end, _part(name, part)) for end, part in (("", "value"), ("_low", "low"), ("_high", "high"))]
    if result.is_simulated:
        heads.append(("bounds", lambda cell: cell.bounds))
    return _rows(heads, result.cells, ",")


def sweep_json(result: SweepResult) -> str:
    """Everything, as JSON: docs/bench-json.md."""
    form: dict[str, Any] = {"format": 1} | {
        name: value for name, value in result.__dict__.items() if name not in ("cells", "doubts", "notes", "failures")
    }
    form |= {"complete": result.is_complete, "doubts": list(result.doubts), "notes": list(result.notes)}
    form["failures"] = list(result.failures)
    form["cells"] = [
        {
            **cell.point.__dict__, "words": cell.point.words, "slot": cell.slot, "elapsed_ns": cell.elapsed_ns,
            "runs": cell.runs, "invalid_runs": cell.invalid_runs, "doubts": list(cell.doubts),
            "figures": {name: found.__dict__ for name, found in cell.figures.items()},
            **({"bounds": cell.bounds} if result.is_simulated else {}),
        }
        for cell in result.cells
    ]  # fmt: skip
    return json.dumps(form, indent=2, ensure_ascii=False) + "\n"


def _rows(heads: Sequence[tuple[str, Callable[[Cell], str]]], cells: Sequence[Cell], separator: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow([head for head, _ in heads])
    writer.writerows([words(cell) for _, words in heads] for cell in cells)
    return text.getvalue()


def _part(name: str, part: str) -> Callable[[Cell], str]:
    def words(cell: Cell) -> str:
        found: Estimate | None = cell.get(name)
        return "" if found is None else _plain(getattr(found, part))

    return words


def _number(cell: Cell, name: str, unit: float, digits: int) -> str:
    """Zero without a fraction: no I/O of that direction."""
    found = cell.get(name)
    if found is None:
        return ""
    return f"{found.value / unit:.{digits}f}" if found.value else "0"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:g}"


def _seconds(ns: int | None) -> str:
    return "" if ns is None else f"{ns / NS_PER_S:.3f}"
