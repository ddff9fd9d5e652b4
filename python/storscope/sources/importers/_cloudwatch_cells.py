"""Cells of CloudWatch's CSV, whichever form it has: numbers, lengths of periods, and the rows below a heading."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence
from storscope.sources.importer import broken
from storscope.sources.importers._decimal_comma import plain
from storscope.sources.importers._whole_lines import CUT_OFF, ends_with_newline

_PERIOD: Final = re.compile(r"([1-9]\d{0,5}) ?(second|minute|hour|day)?s?")
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


def rows_below(
    evidence: Evidence, recorder: Recorder, lines: Sequence[str], separator: str, width: int
) -> list[list[str]]:
    """The rows that have all cells of the heading and no more; others are counted. Raises MalformedInput for none."""
    try:
        rows = list(csv.reader((line for line in lines if line.strip()), delimiter=separator))
    except csv.Error as error:
        raise broken(evidence, "cells between separators", str(error)) from error
    if rows and len(rows[-1]) < width and not ends_with_newline(evidence):
        recorder.omit(CUT_OFF)
        rows = rows[:-1]
    kept = [row for row in rows if len(row) >= width and not any(cell.strip() for cell in row[width:])]
    recorder.omit("rows with more or fewer cells than the heading", len(rows) - len(kept))
    if not kept:
        raise broken(evidence, "rows below the heading", "none")
    return kept


def number_of(cell: str, *, decimal_comma: bool) -> float:
    """A finite number, perhaps with a sign of per cent; NaN for anything else."""
    try:
        number = float(plain(cell.removesuffix("%"), decimal_comma=decimal_comma))
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def period_s(cells: Sequence[str]) -> float | None:
    """Seconds: '60', or '1 minute' as the console shows it; of the first cell that tells it."""
    matches = (_PERIOD.fullmatch(cell.lower()) for cell in cells)
    return next((float(match[1]) * _SECONDS[match[2] or "second"] for match in matches if match), None)
