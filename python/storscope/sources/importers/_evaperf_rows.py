"""Rows of evaperf tables from lines of text or CSV: where a table begins, where its columns are, which object it is."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.importers._decimal_comma import Commas
from storscope.sources.importers._evaperf_columns import Column, columns_of, number, object_of
from storscope.sources.importers._evaperf_row import Row
from storscope.sources.importers._stamps import is_stamp

_COMMAND = re.compile(r"evaperf(?:\.exe)?\s+(vdg|vd|pdg|pd|as|cs)\b", re.IGNORECASE)
_TITLES: Final = (
    ("vdg", re.compile(r"virtual disk groups?\b[^,;]*", re.IGNORECASE)),
    ("pdg", re.compile(r"physical disk groups?\b[^,;]*", re.IGNORECASE)),
    ("vd", re.compile(r"virtual disks?( statistics| performance)?:?", re.IGNORECASE)),
    ("pd", re.compile(r"physical disks?( statistics| performance)?:?", re.IGNORECASE)),
    ("as", re.compile(r"(storage )?arrays?( statistics| status| performance):?", re.IGNORECASE)),
    ("cs", re.compile(r"(storage )?controllers?( statistics| status| performance):?", re.IGNORECASE)),
)
_STAMP_LABEL = re.compile(r"(?:sample|time ?stamp|date|time|at)\b[\s:=]*(?=\d)", re.IGNORECASE)
_VOCABULARY: Final = frozenset({
    "read", "write", "hit", "miss", "req/s", "mb/s", "kb/s", "latency", "(ms)", "(us)", "ms", "us", "ctlr",
    "controller", "online", "to", "mode", "wr", "mirr", "mirror", "flush", "prefetch", "lun", "id", "group", "grp",
    "node", "cpu", "%", "data", "rate", "total", "host", "drive", "queue", "depth", "enc", "bay", "name", "time",
    "date", "disk", "serial", "cpu%", "data%", "%cpu", "%data", "latency(ms)", "latency(us)", "req", "data(mb/s)",
})  # fmt: skip
_RULER: Final = frozenset(" =_+|-")
_LONGEST_LINE: Final = 20_000
_MOST_COLUMNS: Final = 200
"""A longer line or a wider table is not evaperf's; it is not searched, so that hostile input costs nothing."""
_HAS_NUMBER = re.compile(r"(?:^|\s)[0-9]+(?:[.,][0-9]+)?(?=\s|$)")
_PROJECTED_LINES: Final = 2_000
"""Lines that decide where the columns are; later ones are cut at the same places."""
_NOT_A_ROW = "lines that do not fit their heading"


def stamp_in(line: str) -> str | None:
    """The time in a line that holds nothing else, with or without a label; None for other lines."""
    text = _STAMP_LABEL.sub("", line.strip(), count=1)
    return text if len(text) > 8 and is_stamp(text) else None


def title_in(line: str) -> str | None:
    """The object that a title or an echoed command names."""
    if match := _COMMAND.search(line):
        return match[1].lower()
    text = line.strip(" -=*:\t")
    return next((name for name, pattern in _TITLES if pattern.fullmatch(text)), None)


def row_of(
    kind: str,
    columns: Sequence[Column],
    cells: Sequence[str],
    stamp: str | None,
    recorder: Recorder,
    *,
    decimal_comma: bool,
    separator: str = " ",
) -> Row | None:
    """One line under its heading; None (and counted) when the cells are not what the heading says."""
    numbers: dict[str, float | None] = {}
    words: dict[str, str] = {}
    printed: list[str] = []
    for column, raw in zip(columns, cells, strict=True):
        cell = raw.strip()
        if column.is_measure and column.key:
            try:
                value = number(cell, decimal_comma=decimal_comma)
            except ValueError:
                recorder.omit(_NOT_A_ROW)
                return None
            if value is not None and value < 0:
                recorder.omit("negative numbers: a counter was reset or wrapped")
                value = None
            numbers.setdefault(column.key, value)
            printed.append(cell)
        elif column.key:
            words.setdefault(column.key, cell)
        elif cell.startswith("\\") and "name" not in words:
            words["name"] = cell
        elif cell:
            recorder.omit("cells under a heading this importer does not know")
    if all(value is None for value in numbers.values()):
        recorder.omit(_NOT_A_ROW)
        return None
    return Row(kind, _time(words) or stamp, columns, numbers, words, printed, separator)


def _time(words: dict[str, str]) -> str | None:
    text = f"{words.get('date', '')} {words.get('time', '')}".strip()
    return text or None


# CSV -----------------------------------------------------------------------------------------------------------------


def csv_rows(lines: Iterable[str], recorder: Recorder, commas: Commas) -> Iterator[Row]:
    """The rows of every table in a CSV output; tables may follow each other, with titles and times between them."""
    columns: list[Column] = []
    kind: str | None = None
    title, delimiter, stamp = "", ",", None
    for line in lines:
        if not line.strip() or len(line) > _LONGEST_LINE:
            recorder.omit("lines longer than 20,000 characters", bool(line.strip()))
            continue
        if moment := stamp_in(line.strip(',; "')):
            stamp = moment
            continue
        if found := title_in(line.strip(',; "')):
            title = found
            continue
        delimiter = _delimiter(line) or delimiter
        cells = csv_cells(line, delimiter)
        if is_csv_heading(cells):
            columns = columns_of(cells)
            kind = object_of(columns, title)
        elif not columns:
            recorder.omit("lines before the first heading")
        elif kind is None:
            recorder.omit("rows of other objects (host ports, connections, tunnels)")
        elif len(cells) not in (len(columns), len(columns) + 1) or (len(cells) > len(columns) and cells[-1].strip()):
            recorder.omit(_NOT_A_ROW)
        elif row := row_of(
            kind, columns, cells[: len(columns)], stamp, recorder,
            decimal_comma=commas.are_decimal(delimiter), separator=delimiter,
        ):  # fmt: skip
            yield row


def csv_cells(line: str, delimiter: str) -> list[str]:
    """The cells of one line; a line that is no CSV (a cell over 128 KiB, as the csv module bounds it) is just split."""
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return line.split(delimiter)


def _delimiter(line: str) -> str | None:
    """The delimiter of a heading line; None for a line that is none."""
    for delimiter in (";", "\t", ","):
        if line.count(delimiter) >= 2 and is_csv_heading(line.split(delimiter)):
            return delimiter
    return None


def is_csv_heading(cells: Sequence[str]) -> bool:
    """True when no cell is a number and several are headings of evaperf."""
    plain = [cell.strip().strip('"') for cell in cells]
    if not 3 <= len(plain) <= _MOST_COLUMNS or any(re.fullmatch(r"[0-9]+([.,][0-9]+)?", cell) for cell in plain):
        return False
    columns = columns_of(plain)
    known = sum(column.key is not None for column in columns)
    return any(column.is_measure for column in columns) and known >= 3 and known >= len(plain) / 2


# Text ----------------------------------------------------------------------------------------------------------------


def text_rows(lines: Iterable[str], recorder: Recorder, commas: Commas) -> Iterator[Row]:
    """The rows of every table in a text output, whose headings may be split over several lines."""
    heading: list[str] = []
    body: list[tuple[str | None, str]] = []
    title, stamp = "", None
    next_title = ""
    after_blank = False
    for raw in lines:
        line = raw.expandtabs().rstrip()
        if not line or len(line) > _LONGEST_LINE or _RULER.issuperset(line):
            after_blank |= not line
            recorder.omit("lines longer than 20,000 characters", len(line) > _LONGEST_LINE)
            continue
        if moment := stamp_in(line):
            stamp = moment
        elif found := title_in(line):
            next_title = found
        elif _is_heading(line, continues=bool(heading) and not body):
            if body:
                yield from _table(heading, body, title, recorder, commas)
                heading, body = [], []
            title = next_title
            heading.append(line)
        elif heading and _HAS_NUMBER.search(line):
            body.append((stamp, line))
        else:
            if body and after_blank:
                # A title this importer does not know: the rows below it are not of this table.
                yield from _table(heading, body, title, recorder, commas)
                heading, body = [], []
            recorder.omit("lines outside the tables this importer knows")
        after_blank = False
    yield from _table(heading, body, title, recorder, commas)


def _is_heading(line: str, *, continues: bool) -> bool:
    words = line.lower().split()
    if (
        line.count(",") >= 2
        or line.count(";") >= 2
        or any(re.fullmatch(r"[0-9]+([.,][0-9]+)?", word) for word in words)
    ):
        return False
    known = sum(word in _VOCABULARY for word in words)
    return known >= (1 if continues else 2) and known >= len(words) / 2


def _table(
    heading: Sequence[str], body: Sequence[tuple[str | None, str]], title: str, recorder: Recorder, commas: Commas
) -> Iterator[Row]:
    if not heading or not body:
        return
    spans = _spans(heading, [line for _, line in body[:_PROJECTED_LINES]])
    columns = columns_of([" ".join(line[low:high].strip() for line in heading).strip() for low, high in spans])
    kind = object_of(columns, title)
    if kind is None:
        recorder.omit("rows of other objects (host ports, connections, tunnels)", len(body))
        return
    for stamp, line in body:
        ends = [high for _, high in spans[:-1]]
        cells = [line[low:high] for low, high in zip([0, *ends], [*ends, len(line) + 1], strict=True)]
        plain = [_unquoted(cell.strip()) for cell in cells]
        if row := row_of(kind, columns, plain, stamp, recorder, decimal_comma=commas.are_decimal(" ")):
            yield row


def _unquoted(cell: str) -> str:
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _spans(heading: Sequence[str], body: Sequence[str]) -> list[tuple[int, int]]:
    """Where the columns are: runs that are blank in no line, joined where a heading or a name has a blank inside."""
    width = max(len(line) for line in (*heading, *body))
    titled, filled = _ink(heading, width), _ink(body, width)
    runs = _runs([above or below for above, below in zip(titled, filled, strict=True)])
    spans: list[tuple[int, int, bool, bool]] = [
        (low, high, any(titled[low:high]), any(filled[low:high])) for low, high in runs
    ]
    merged = _join_names(spans)
    return [(low, high) for low, high in _join_headings(merged, heading)]


def _ink(lines: Sequence[str], width: int) -> list[bool]:
    found = [False] * width
    for line in lines:
        for place, character in enumerate(line):
            if character != " ":
                found[place] = True
    return found


def _runs(ink: Sequence[bool]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    start: int | None = None
    for place, there in enumerate([*ink, False]):
        if there and start is None:
            start = place
        elif not there and start is not None:
            runs.append((start, place))
            start = None
    return runs


def _join_names(spans: Sequence[tuple[int, int, bool, bool]]) -> list[tuple[int, int, bool]]:
    """A run without a heading above it is the rest of the name to its left."""
    joined: list[tuple[int, int, bool]] = []
    for low, high, titled, filled in spans:
        if joined and not titled:
            joined[-1] = (joined[-1][0], high, True)
        else:
            joined.append((low, high, filled))
    return joined


def _join_headings(spans: Sequence[tuple[int, int, bool]], heading: Sequence[str]) -> list[tuple[int, int]]:
    """A run without data is a word of the heading beside it: of the nearer one, else of the one it makes sense with."""
    open_spans = list(spans)
    place = 0
    while place < len(open_spans):
        low, high, filled = open_spans[place]
        left_gap = low - open_spans[place - 1][1] if place else 99
        right_gap = open_spans[place + 1][0] - high if place + 1 < len(open_spans) else 99
        if filled or min(left_gap, right_gap) > 1:
            place += 1
            continue
        to_left = left_gap < right_gap or (
            left_gap == right_gap and _makes_sense(heading, open_spans[place - 1][0], high)
        )
        first = place - 1 if to_left else place
        one, other = open_spans[first], open_spans[first + 1]
        open_spans[first : first + 2] = [(one[0], other[1], one[2] or other[2])]
        place = max(0, first)
    return [(low, high) for low, high, _ in open_spans]


def _makes_sense(heading: Sequence[str], low: int, high: int) -> bool:
    text = " ".join(line[low:high].strip() for line in heading).strip()
    return columns_of([text])[0].key is not None
