"""Reading a PDH-CSV: what esxtop's batch mode and Windows' performance counters share.

The Rust core finds and reads rows; a thread reads the next block while this one is written. Text in UTF-16 is
transcoded into a temporary file first. A file may hold several captures one after another, each with its header, also
where the first one broke off within a line.
Supported beyond the plain form: tabs or semicolons as separators, decimal commas [unverified: seen described, not
captured], messages of the tool after the data, copies that a spreadsheet saved again. A decimal comma is taken from the
first rows on that have one; integers and blanks, the counters of idle objects, say nothing of it.
"""

from __future__ import annotations

import codecs
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from storscope import _core
from storscope.domain.recorder import Recorder, SeriesKeys
from storscope.sources._core_errors import core_errors
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions, broken
from storscope.sources.importers._pdh_clock import Clock
from storscope.sources.importers._pdh_layout import Home, Layout, LayoutMaker, without_idle_latencies
from storscope.sources.importers._pdh_names import Place, decoded
from storscope.sources.importers._pdh_order import learnt_stamps
from storscope.sources.importers._stamps import Stamps

_VALUES_PER_BLOCK: Final = 1_300_000
"""10 MB. Three blocks are held at a time."""
_MAX_ROWS: Final = 16_384
_TILE_ROWS: Final = 8
"""The core stores eight rows at once."""
_THREADS: Final = min(4, os.cpu_count() or 1)
_CHUNK_BYTES: Final = 1024**2


@dataclass(frozen=True)
class Dialect:
    """What a tool means by its names."""

    tool: str
    home_of: Callable[[ImportOptions], Callable[[Place], Home]]
    """Given the options, says where the counters of a place go."""
    unit_of: Callable[[str], str]
    """Unit of a counter without a canonical column, from its name."""
    first_sample_is_data: bool
    """False where the first row has no interval of its own and may cover the time since boot (esxtop)."""
    describe: Callable[[Recorder, Layout], None]
    """Records labels and links, once a capture."""


_MARK: Final = re.compile(r'\s*"*\(PDH-[CT]SV \d')


def is_pdh(head: Head) -> bool:
    """A counter file of any tool. A blank line may come first (typeperf)."""
    return _MARK.match(head.text) is not None


def read_pdh(evidence: Evidence, recorder: Recorder, options: ImportOptions, dialect: Dialect) -> None:
    """Writes every capture in the file to the recorder."""
    recorder.notes.tool = dialect.tool
    with _as_utf8(evidence) as path, core_errors(evidence.name):
        reader = _core.WideCsv(path, 0)
        stamps = learnt_stamps(path, options)
        _Section(evidence, recorder, options, dialect, reader, stamps).read()
        while (offset := reader.section_end) is not None:
            reader = _core.WideCsv(path, offset)
            _Section(evidence, recorder, options, dialect, reader, stamps).read()


@dataclass
class _Parsed:
    """A block as the core read it."""

    values: npt.NDArray[np.float64]
    times: npt.NDArray[np.int64]
    tally: _core.WideCsvTally
    block: _core.WideCsvBlock


class _Section:
    """One capture: a header and its rows."""

    def __init__(
        self,
        evidence: Evidence,
        recorder: Recorder,
        options: ImportOptions,
        dialect: Dialect,
        reader: _core.WideCsv,
        stamps: Stamps,
    ) -> None:
        self._evidence = evidence
        self._recorder = recorder
        self._options = options
        self._dialect = dialect
        self._reader = reader
        self._names = decoded(reader.names)
        self._clock = Clock(self._names[0], options, stamps)
        self._layout = self._lay_out()
        self._plan = self._layout.plan
        self._short_rows = 0
        self._commas = 0
        self._is_first = not dialect.first_sample_is_data

    def read(self) -> None:
        """Reads, and writes block by block. Of a capture without a sample not even the objects are recorded."""
        keys: SeriesKeys | None = None
        with ThreadPoolExecutor(1, "storscope-read") as pool:
            parsed = self._next()
            while parsed is not None:
                following = pool.submit(self._next)
                keys = self._write(parsed, keys)
                self._evidence.report_progress(parsed.block.end)
                # The block's memory goes before the next one is waited for.
                parsed = None
                parsed = following.result()
        self._note()

    def _lay_out(self, *, decimal_comma: bool = False) -> Layout:
        maker = LayoutMaker(self._dialect.home_of(self._options), self._dialect.unit_of)
        layout = maker.make(self._names[1:], decimal_comma=decimal_comma)
        if layout.slot_count == 0:
            raise broken(
                self._evidence, r"columns called \\host\group(instance)\counter", f"{len(self._names) - 1:,} others",
                line=self._reader.header_line,
            )  # fmt: skip
        return layout

    def _begun(self) -> SeriesKeys:
        """Records what was sampled."""
        self._dialect.describe(self._recorder, self._layout)
        if self._recorder.notes.system is None:
            self._recorder.notes.system = next(iter(self._layout.places.values())).entity.system
        for reason, count in self._layout.omitted.items():
            self._recorder.omit(reason, count)
        layout = self._layout
        return self._recorder.series_keys(layout.series_entities, layout.series_names, layout.series_units)

    # Reading: on the other thread, except for the first block --------------------------------------------------------

    def _next(self) -> _Parsed | None:
        """The next block. From the first one on with more decimal commas than points, commas are decimal."""
        rows = min(_MAX_ROWS, max(_TILE_ROWS, _VALUES_PER_BLOCK // self._layout.slot_count // _TILE_ROWS * _TILE_ROWS))
        block = self._reader.next_block(rows)
        if block is None:
            return None
        parsed = self._parse(block)
        if parsed.tally.commas > 0 and parsed.tally.commas > block.points():
            self._plan = self._lay_out(decimal_comma=True).plan
            parsed = self._parse(block)
        return parsed

    def _parse(self, block: _core.WideCsvBlock) -> _Parsed:
        values = np.empty((self._layout.slot_count, block.rows))
        times = np.empty(block.rows, np.int64)
        tally = block.read(self._plan, values, times, threads=_THREADS)
        return _Parsed(values, times, tally, block)

    # Writing ---------------------------------------------------------------------------------------------------------

    def _write(self, parsed: _Parsed, keys: SeriesKeys | None) -> SeriesKeys | None:
        """Writes a block; returns the keys, which are made when the first sample is written."""
        self._count(parsed.tally)
        rows, starts, lengths = self._clock.intervals(parsed.times, parsed.tally.stamps)
        self._count_rows_without_time(parsed, len(rows))
        if self._is_first and len(rows):
            self._is_first = False
            rows, starts, lengths = rows[1:], starts[1:], lengths[1:]
            self._recorder.omit("first samples: they have no interval of their own and may cover the time since boot")
        if not lengths.all():
            has_length = lengths > 0
            self._recorder.omit("samples of unknown length", int(np.count_nonzero(~has_length)))
            self._recorder.warn("No step between two samples tells how long one is. Say it: --interval")
            rows, starts, lengths = rows[has_length], starts[has_length], lengths[has_length]
        if not len(rows):
            return keys
        keys = keys or self._begun()
        values = parsed.values if len(rows) == len(parsed.times) else parsed.values[:, rows]
        recorder, layout = self._recorder, self._layout
        if layout.series_count:
            recorder.series_chunk(recorder.timeline(starts, lengths), keys, values[: layout.series_count])
        for family in layout.families:
            columns = {name: values[first:end] for name, (first, end) in family.slots.items()}
            self._check(columns)
            recorder.observe_columns(family.entities, starts, lengths, columns)
        return keys

    def _check(self, columns: dict[str, npt.NDArray[np.float64]]) -> None:
        self._recorder.omit("latencies of intervals whose rate is 0.00", without_idle_latencies(columns))
        if "busy_ratio" in columns:
            idle_beyond_all = columns["busy_ratio"] < 0.0
            self._recorder.omit("idle shares above 100 %, taken as 100 %", int(np.count_nonzero(idle_beyond_all)))
            columns["busy_ratio"][idle_beyond_all] = 0.0

    def _count(self, tally: _core.WideCsvTally) -> None:
        omit = self._recorder.omit
        omit("blank cells (the first sample of a rate is one)", tally.blank)
        omit("cells that are no number", tally.unparsable)
        omit("impossible values: negative, or a counter that wrapped", tally.impossible)
        omit("cells missing at the end of rows", tally.missing)
        omit("cells beyond the last column of the header", tally.extra)
        self._short_rows += tally.short_rows + tally.long_rows
        self._commas += tally.commas

    def _count_rows_without_time(self, parsed: _Parsed, placed: int) -> None:
        messages = sum(not any(48 <= byte <= 57 for byte in stamp) for _, stamp in parsed.tally.stamps)
        unknown = len(parsed.times) - placed - messages
        self._recorder.omit("lines that are messages of the tool, or have no time stamp", messages)
        self._recorder.omit("rows whose time stamp has an unknown form", unknown)
        if unknown:
            row, stamp = next(item for item in parsed.tally.stamps if any(48 <= byte <= 57 for byte in item[1]))
            self._recorder.warn(
                f"From line {parsed.block.first_line + row:,}: time stamps like {stamp.decode('utf-8', 'replace')!r} "
                f"are not understood and their rows were left out.{self._clock.advice(stamp)}"
            )

    def _note(self) -> None:
        self._clock.note(self._recorder)
        self._recorder.omit("blank lines", self._reader.blank_lines)
        if self._commas:
            self._recorder.warn(
                f"{self._commas:,} cells have a decimal comma among more that have a point; they were left out. "
                "Perhaps captures of two languages were joined: import them one by one."
            )
        if self._short_rows:
            self._recorder.warn(
                f"{self._short_rows:,} rows are shorter or longer than the header: the capture was cut, or objects "
                "came and went while it ran. Cells were taken by their position."
            )


@contextmanager
def _as_utf8(evidence: Evidence) -> Iterator[Path]:
    """The file itself, or a copy in UTF-8 for as long as it is needed."""
    if evidence.head.encoding == "utf-8":
        yield evidence.path
        return
    with tempfile.TemporaryDirectory(prefix="storscope-") as directory:
        copy = Path(directory) / "utf-8.csv"
        decoder = codecs.getincrementaldecoder(evidence.head.encoding)("replace")
        with evidence.path.open("rb") as source, copy.open("wb") as target:
            while chunk := source.read(_CHUNK_BYTES):
                target.write(decoder.decode(chunk).encode("utf-8"))
            target.write(decoder.decode(b"", final=True).encode("utf-8"))
        yield copy
