"""Tables of benchmark results as people publish and keep them: one row a test, columns named with their unit.

The format is a convention, not a tool's: CSV with commas, semicolons or tabs; optional comment lines that begin with
'#'; one heading with a column that names the test (spec, device, system, job, ...) and at least a rate (iops, tps).
Names are compared in lower case with everything but letters and digits as '_', so 'Response time (ms)' is
response_time_ms. Each row becomes a run with one observation. What a comma between digits is, all numbers of the
measured columns tell together, whatever separates the cells (`_decimal_comma.py`).

The configured I/Os in flight come from a column `outstanding`, from iodepth or queue_depth times numjobs, or from a
comment that says 'N outstanding I/Os'; else they are unknown. Beware: such tables rarely say whether MB is 10^6 or
2^20 bytes. Where rate and block size are given the unit is the one that fits them, and the capture says which;
rows in which neither fits are warned about. Tables with a time a row (monitoring exports) are none of these.
"""

from __future__ import annotations

import csv
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.fio_buckets import NS_OF
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers import _fio
from storscope.sources.importers._decimal_comma import Commas, plain
from storscope.sources.importers._fio import Names
from storscope.sources.importers._table_heading import has_times, is_of_tests
from storscope.sources.importers._whole_lines import CUT_OFF, ends_with_newline

_DEFAULT_SYSTEM = "results-table"
_NAMES = ("spec", "access_specification", "test", "workload", "job", "jobname", "name", "device", "system")
"""Columns that name a test, the best first."""
_PLACES = ("system", "host", "array")
_PATTERNS = ("mode", "rw", "pattern")
_JOBS = ("numjobs", "workers", "threads")
_TIMES = {"time", "date", "datetime", "timestamp", "interval", "tod"}
_DEPTHS = ("iodepth", "queue_depth")
_FITS = 0.1
"""Largest share by which rate x block size and bandwidth may differ before a row is warned about."""
_LONGEST_LINE = 64 * 1024

_RATE = re.compile(r"(read_|write_|total_)?(?:iops|tps|ops_per_s|io_per_s)")
_BANDWIDTH = re.compile(
    r"(read_|write_|total_)?([kmg]?)(i?)b(?:ytes)?(?:_per_s|_s|(?<=[kmgi]b)ps)|(read_|write_)?bytes_per_s"
)
_LATENCY = re.compile(
    r"(?P<way>read_|write_)?(?:avg_|average_|mean_)?(?:latency|response_time|resp_time|resp)_(?P<unit>ns|us|ms|s)"
    r"(?P<kind>_mean|_avg|_max)?"
)
_MAX_LATENCY = re.compile(r"max(?:imum)?_(?:latency|response_time)_(?P<unit>ns|us|ms|s)")
_BLOCK = re.compile(r"(?:block|bs|block_size|io_size|xfersize)(?:_(?P<unit>bytes|b|kb|kib|k))?")
_OUTSTANDING = re.compile(r"\b(\d{1,6})\s+outstanding\s+(?:I/?Os?|requests|operations|commands)\b", re.IGNORECASE)
_WORKERS = re.compile(r"\b(\d{1,5})\s+workers?\b", re.IGNORECASE)
_SYNCHRONOUS = re.compile(r"\bsynchronous\s+jobs\b", re.IGNORECASE)
_ENGINES = ("iometer", "fio", "vdbench", "diskspd", "elbencho")


# Columns ---------------------------------------------------------------------------------------------------------


def normalised(name: str) -> str:
    """'Response time (ms)' -> 'response_time_ms', 'MB/s' -> 'mb_per_s'."""
    spelled = re.sub(r"\s*/\s*s(?:ec)?\b", "_per_s", name.strip().lower().replace("µ", "u").replace("%", " pct "))
    plain = re.sub(r"[^a-z0-9]+", "_", spelled).strip("_")
    return _SWEEP_SCRIPTS.get(plain, plain)


_SWEEP_SCRIPTS = {
    "readmb": "read_mb_per_s", "writemb": "write_mb_per_s", "readios": "read_iops", "writeios": "write_iops",
    "blocksize": "block_size", "readpct": "read_pct",
}  # fmt: skip
"""Headings of the semicolon tables that scripts around fio's sweeps make, and `storscope bench --format fio-table`."""


def _direction(match: re.Match[str]) -> str:
    """'read_', 'write_' or '' (a total) in front of a column's name."""
    prefix = next((part for part in match.groups() if part in ("read_", "write_")), "")
    return prefix or ""


def _bandwidth_bytes(match: re.Match[str]) -> tuple[float, bool]:
    """Bytes of the unit, and whether it may as well be the binary one (kb, mb, gb say neither)."""
    letter, i = match[2] or "", match[3] or ""
    power = " kmg".index(letter or " ")
    return (1024.0**power if i else 1000.0**power), bool(letter) and not i


# The table -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """Comments, heading and rows of a file."""

    comments: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    """Cells by normalised column."""
    overlong: int
    missing_cells: int
    repeated_headings: int
    is_cut: bool
    """The last line has neither all cells nor an end, so that its last cell may be half a number."""
    separator: str

    def number(self, cells: Mapping[str, str], column: str) -> float | None:
        """A cell as a number. Where the comma is a decimal one, points stand between thousands."""
        text = plain(cells.get(column, "").strip(), decimal_comma=self._has_decimal_comma)
        return _fio.number(text) if text else None

    @cached_property
    def commas(self) -> Commas:
        """What the measured columns tell about their commas; where they tell nothing, the columns that are unknown."""
        columns = [name for name in self.header if name not in _PARAMETERS or name in _SHARES]
        measured = self._commas_of([name for name in columns if _is_known(name)])
        return measured if measured.is_told else self._commas_of(columns)

    @cached_property
    def _has_decimal_comma(self) -> bool:
        return self.commas.are_decimal(self.separator)

    def _commas_of(self, columns: Sequence[str]) -> Commas:
        found = Commas()
        for cells in self.rows:
            for name in columns:
                found.learn(cells.get(name, ""))
        return found

    def first(self, cells: Mapping[str, str], columns: Iterable[str]) -> float | None:
        """The number of the first of `columns` that has one."""
        return next((found for found in (self.number(cells, name) for name in columns) if found is not None), None)

    @cached_property
    def comment(self) -> str:
        """All comments as one text."""
        return " ".join(self.comments)

    def block_bytes(self, cells: Mapping[str, str]) -> float | None:
        """The block size of a row, from block_bytes, block_kb or a size as '64k'."""
        for column in self.header:
            match = _BLOCK.fullmatch(column)
            if match is None or not cells.get(column, "").strip():
                continue
            value = self.number(cells, column)
            if value is None:
                return _fio.size_bytes(cells[column])
            return value * (units.KIB if (match["unit"] or "").startswith("k") else 1)
        return None


def _separator(line: str) -> str:
    return max(",;\t", key=line.count)


def _is_heading(line: str) -> bool:
    """A heading names a test and a rate, and has no time column."""
    cells = line.split(_separator(line))
    if has_times(cells) and not is_of_tests(cells):
        return False  # counters over time
    names = {normalised(name) for name in cells}
    has_rate = any(_RATE.fullmatch(name) for name in names)
    return len(names) >= 3 and has_rate and bool(names & set(_NAMES)) and not names & _TIMES


def _parse(evidence: Evidence, lines: Iterable[str]) -> _Table:
    comments: list[str] = []
    body: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#"):
            comments.append(line.strip().lstrip("#").strip())
        elif line.strip():
            body.append((number, line))
    if not body or not _is_heading(body[0][1]):
        raise broken(
            evidence, "a heading with a column that names the test and one of rates (iops, tps)",
            body[0][1] if body else "an empty file", line=body[0][0] if body else None,
            hint="For instance: spec,block_bytes,read_pct,random_pct,outstanding,iops,response_time_ms",
        )  # fmt: skip
    separator = _separator(body[0][1])
    try:
        cells = list(csv.reader((line for _, line in body), delimiter=separator))
    except csv.Error as error:
        raise broken(evidence, "comma-separated values", str(error)) from error
    header = tuple(normalised(name) for name in cells[0])
    is_cut = len(cells) > 1 and len(cells[-1]) < len(header) and not ends_with_newline(evidence)
    cells = cells[:-1] if is_cut else cells
    below = [row for row in cells[1:] if tuple(normalised(name) for name in row) != header]
    fitting = [row for row in below if len(row) <= len(header)]
    return _Table(
        tuple(comments), header, tuple(dict(zip(header, row, strict=False)) for row in fitting),
        overlong=len(below) - len(fitting), missing_cells=sum(len(header) - len(row) for row in fitting),
        repeated_headings=len(cells) - 1 - len(below), is_cut=is_cut, separator=separator,
    )  # fmt: skip


# Reading ---------------------------------------------------------------------------------------------------------


def _recognise(head: Head) -> float:
    first = next((line for line in head.lines if line.strip() and not line.lstrip().startswith("#")), "")
    return 0.55 if len(first) <= _LONGEST_LINE and _is_heading(first) else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    table = _parse(evidence, evidence.lines())
    recorder.omit(CUT_OFF, table.is_cut)
    if not table.rows:
        raise broken(evidence, "rows below the heading", "none")
    recorder.omit("rows with more cells than the heading", table.overlong)
    recorder.omit("cells missing at the end of rows", table.missing_cells)
    recorder.omit("headings repeated between rows", table.repeated_headings)
    if doubt := table.commas.doubt(table.separator):
        recorder.warn(doubt)
    writer = _Writer(table, recorder, options)
    for cells in table.rows:
        writer.row(cells)
    writer.finish()


class _Writer:
    """Turns rows into runs and observations."""

    def __init__(self, table: _Table, recorder: Recorder, options: ImportOptions) -> None:
        self._table = table
        self._recorder = recorder
        self._options = options
        self._names = Names()
        self._misfits: dict[str, list[tuple[str, float]]] = {}
        """Way -> the rows whose rate x block size is not their bandwidth, with how many times as much it is."""
        self._scales = {
            name: self._scale(name, match) for name in table.header if (match := _BANDWIDTH.fullmatch(name))
        }
        said = table.comment.lower()
        self._engine = next((engine for engine in _ENGINES if re.search(rf"\b{engine}\b", said)), "unknown")
        self._start_ns = self._started()
        recorder.notes.tool = None if self._engine == "unknown" else self._engine
        recorder.notes.system = options.system or _DEFAULT_SYSTEM

    def _started(self) -> int:
        start = self._options.start
        if start is None:
            self._recorder.notes.has_times = False
            self._recorder.notes.clock = "no times in the source; set --start to place them"
            return 0
        self._recorder.notes.clock = "no times in the source; placed by --start"
        return units.ns_from_datetime(start if start.tzinfo else start.replace(tzinfo=self._options.zone()))

    def row(self, cells: Mapping[str, str]) -> None:
        """One test."""
        label = self._label(cells)
        system = self._options.system or _text(cells, _PLACES) or _DEFAULT_SYSTEM
        job = EntityRef(system, "job", label)
        run = self._run(cells, label, system)
        values = self._canonical(cells)
        self._doubt(cells, label, values)
        _complete(values, self._reads(cells))
        self._recorder.observe(job, self._start_ns, None, values, run=run)
        for column in self._table.header:
            if not _is_known(column) and (value := self._table.number(cells, column)) is not None:
                self._recorder.counter(job, self._start_ns, None, column, "", value, run=run)
        device = cells.get("device", "").strip().removeprefix("/dev/")
        if device:
            self._recorder.link(job, "lives_on", EntityRef(system, "device", device))

    def _run(self, cells: Mapping[str, str], label: str, system: str) -> str:
        pattern, asked = self._asked(cells)
        is_fio = bool(_text(cells, ("mode", "rw"))) or pattern.startswith("rand")  # else 'read' may be random as well
        randoms = self._ratio(cells, "random")
        parameters = {name: text.strip() for name, text in cells.items() if text.strip()}
        if self._table.comments:
            parameters["comment"] = self._table.comment
        return self._recorder.run(
            self._names.run(label), engine=self._engine, name=label, system=system,
            time_ns=self._start_ns if self._options.start else None,
            block_bytes=self._table.block_bytes(cells), read_ratio=self._reads(cells),
            random_ratio=(asked.random_ratio if is_fio else None) if randoms is None else randoms,
            outstanding=self._outstanding(cells),
            workers=self._workers(cells), parameters=parameters,
        )  # fmt: skip

    def _asked(self, cells: Mapping[str, str]) -> tuple[str, _fio.Configured]:
        """The access pattern in fio's word, and what it asks for."""
        pattern = (_text(cells, _PATTERNS) or "").lower()
        return pattern, _fio.configured({"rw": pattern}) if pattern in _FIO_PATTERNS else _fio.Configured()

    def _reads(self, cells: Mapping[str, str]) -> float | None:
        """The share of reads that was asked for."""
        stated = self._ratio(cells, "read")
        return self._asked(cells)[1].read_ratio if stated is None else stated

    def _label(self, cells: Mapping[str, str]) -> str:
        """The test's name; where it is only a device or a system, with what tells the rows apart."""
        named = next((name for name in _NAMES if cells.get(name, "").strip()), None)
        if named is None:
            return "unnamed test"
        if named not in ("device", "system"):
            return cells[named].strip()
        parts = [cells[named].strip(), *(cells[name].strip() for name in ("raid", *_PATTERNS) if cells.get(name))]
        block = self._table.block_bytes(cells)
        parts += [units.format_bytes(block)] if block else []
        parts += [f"{name} {cells[name].strip()}" for name in (*_DEPTHS, *_JOBS) if cells.get(name, "").strip()]
        return ", ".join(parts)

    def _ratio(self, cells: Mapping[str, str], word: str) -> float | None:
        percent = self._table.first(cells, (f"{word}_pct", f"{word}_percent", f"pct_{word}", f"pct_{word}s"))
        return self._table.number(cells, f"{word}_ratio") if percent is None else units.ratio_from_percent(percent)

    # Outstanding -------------------------------------------------------------------------------------------------

    def _workers(self, cells: Mapping[str, str]) -> float | None:
        stated = self._table.first(cells, _JOBS)
        match = _WORKERS.search(self._table.comment)
        return float(match[1]) if stated is None and match else stated

    def _outstanding(self, cells: Mapping[str, str]) -> float | None:
        """I/Os in flight over all workers, where the row or a comment says so."""
        stated = self._table.number(cells, "outstanding")
        if stated is not None:
            return stated
        workers = self._workers(cells)
        depth = self._table.first(cells, _DEPTHS)
        if depth is not None:
            return depth * (workers or 1.0)
        comment = self._table.comment
        if match := _OUTSTANDING.search(comment):
            if workers and workers > 1:
                self._recorder.warn(
                    "The comment gives outstanding I/Os and several workers but not whether they are each worker's; "
                    "add a column `outstanding` with the total."
                )
                return None
            return float(match[1])
        return workers if _SYNCHRONOUS.search(comment) else None

    # Values ------------------------------------------------------------------------------------------------------

    def _canonical(self, cells: Mapping[str, str]) -> dict[str, float | None]:
        values: dict[str, float | None] = {}
        for column in self._table.header:
            value = self._table.number(cells, column)
            if value is None:
                self._omit_text(cells, column)
            elif match := _RATE.fullmatch(column):
                values[f"{_direction(match)}ops_per_s"] = value
            elif match := _BANDWIDTH.fullmatch(column):
                values[f"{_direction(match)}bytes_per_s"] = value * self._scales[column]
            elif match := (_MAX_LATENCY.fullmatch(column) or _LATENCY.fullmatch(column)):
                values[_latency_column(match)] = value * NS_OF[match["unit"]]
        for way in ("", "read_", "write_"):
            # A direction without an I/O has no latency, whatever the table prints.
            if values.get(f"{way}ops_per_s") == 0:
                values.pop(f"{way}latency_ns_mean", None)
        return values

    def _omit_text(self, cells: Mapping[str, str], column: str) -> None:
        is_measured = any(pattern.fullmatch(column) for pattern in (_RATE, _BANDWIDTH, _LATENCY, _MAX_LATENCY))
        if is_measured and cells.get(column, "").strip():
            self._recorder.omit("cells that are no number")

    def _scale(self, column: str, match: re.Match[str]) -> float:
        """Bytes of the column's unit: of the decimal and the binary one that which fits rate x block size."""
        size, may_be_binary = _bandwidth_bytes(match)
        if not may_be_binary:
            return size
        binary = 1024.0 ** round(math.log(size, 1000))
        rate = next((name for name in self._table.header if (found := _RATE.fullmatch(name))
                     and _direction(found) == _direction(match)), None)  # fmt: skip
        ratios = self._fits(column, rate)
        if not ratios:
            self._recorder.warn(f"{column}: taken as {size:,.0f} bytes; the table does not tell whether it is binary.")
            return size
        middle = statistics.median(ratios)
        chosen = min((size, binary), key=lambda unit: abs(math.log(middle / unit)))
        if chosen == binary:
            self._recorder.warn(f"{column}: taken as {binary:,.0f} bytes, which fits rate x block size best.")
        return chosen

    def _fits(self, column: str, rate: str | None) -> list[float]:
        """rate x block size / printed bandwidth, of the rows that have all three."""
        found = []
        for cells in self._table.rows:
            block, printed = self._table.block_bytes(cells), self._table.number(cells, column)
            per_s = self._table.number(cells, rate) if rate else None
            if block and printed and per_s and block > 0 and printed > 0 and per_s > 0:
                found.append(per_s * block / printed)
        return found

    def _doubt(self, cells: Mapping[str, str], label: str, values: Mapping[str, float | None]) -> None:
        """Takes note where rate x block size is not the bandwidth: split or merged I/Os, or an error in the table."""
        block = self._table.block_bytes(cells)
        for way in ("", "read_", "write_"):
            rate, moved = values.get(f"{way}ops_per_s"), values.get(f"{way}bytes_per_s")
            if block and rate and moved and abs(rate * block / moved - 1) > _FITS:
                self._misfits.setdefault(way, []).append((label, rate * block / moved))

    def finish(self) -> None:
        """After the last row: one doubt for all rows of a kind."""
        for way, misfits in self._misfits.items():
            ratios = [ratio for _, ratio in misfits]
            times = " to ".join(dict.fromkeys((f"{min(ratios):.2f}", f"{max(ratios):.2f}")))
            where, rows = misfits[0][0], "row is"
            if len(misfits) > 1:
                where, rows = f"{len(misfits):,} rows, the first {where}", "rows are"
            self._recorder.warn(
                f"{where}: {way}iops x block size is {times} times the bandwidth printed; "
                f"the I/Os were split or merged below the benchmark, or the {rows} wrong."
            )


_FIO_PATTERNS = frozenset({"read", "write", "randread", "randwrite", "trim", "randtrim"})
_SHARES = frozenset({
    "read_pct", "random_pct", "read_percent", "random_percent", "pct_read", "pct_random", "pct_reads", "read_ratio",
    "random_ratio",
})  # fmt: skip
_PARAMETERS = _SHARES.union(_NAMES, _PLACES, _PATTERNS, _JOBS, _DEPTHS, ("outstanding", "raid"))
"""Columns that configure a test; they are kept with the run and are no measurements."""


def _is_known(column: str) -> bool:
    patterns = (_RATE, _BANDWIDTH, _LATENCY, _MAX_LATENCY, _BLOCK)
    return column in _PARAMETERS or any(pattern.fullmatch(column) for pattern in patterns)


def _complete(values: dict[str, float | None], reads: float | None) -> None:
    """Where a test only reads, or only writes, that is all it does, though the table has no column of the sum."""
    only = {1.0: "read_", 0.0: "write_"}.get(-1.0 if reads is None else reads)
    if only:
        for name in ("ops_per_s", "bytes_per_s", "latency_ns_mean"):
            if values.get(only + name) is not None:
                values.setdefault(name, values[only + name])


def _latency_column(match: re.Match[str]) -> str:
    groups: dict[str, str | None] = match.groupdict()
    if match.re is _MAX_LATENCY or groups.get("kind") == "_max":
        return "latency_ns_max"
    return f"{groups.get('way') or ''}latency_ns_mean"


def _text(cells: Mapping[str, str], columns: Sequence[str]) -> str | None:
    return next((cells[name].strip() for name in columns if cells.get(name, "").strip()), None)


IMPORTER = Importer(
    name="results_table",
    title="table of benchmark results (CSV)",
    supports="commas, semicolons or tabs; columns named with their unit; comments with '#'",
    how_to_capture="a spreadsheet saved as CSV: spec,block_bytes,read_pct,random_pct,outstanding,iops,response_time_ms",
    recognise=_recognise,
    read=_read,
    version=2,
    carries=(
        "runs with outstanding, block size, read and random ratio", "ops_per_s", "bytes_per_s", "latency_ns_mean",
        "each by direction where given", "other numeric columns as counters",
    ),
    never={"time": "a table of results rarely says when; place it with --start"},
)  # fmt: skip
