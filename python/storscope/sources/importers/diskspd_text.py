"""diskspd's text results (the default, -Rtext), 2.0.15 to 2.1.

Supports several results in one file, several time spans and targets, runs without -L and -D, text with a prompt or a
script's words around. Each time span becomes a run, with its threads, targets and processors. Columns and keys are
found by their names. Seen in captures of 2.0.21; the words for sizes of 2.1 ('4KiB') and -F are read as its
`ResultParser.cpp` is said to print them (unverified).

Beware: rates are printed in hundredths, from a time that is more exact than the one printed; the time is taken from
them. Latencies are printed to 1 us. 14 percentiles make wide buckets: one between them is known by its neighbours. The
text does not say which version wrote it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from storscope.domain import units
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._diskspd import Asked, Part, Result, Span, Target, Writer, figure

_HEADING = re.compile(
    r"^[ \t]*(?:Command Line: .*diskspd|Results for timespan \d+:[ \t]*$|timespan:[ \t]+\d+[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)
_TABLE = re.compile(r"(Total|Read|Write) IO$")
_KEY = re.compile(r"([^:|()]{1,60}):[ \t]*(.*)$")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)[ \t]*(B|bytes|[KMGT]iB|[KMGT]B?)?\b")
_FILE_SIZE = re.compile(r" \([\d.]+ ?[KMGT]?i?B\)$")
_RESULTS = re.compile(r"Results for timespan ([1-9]\d{0,5}):")
_SHARES = {"min": 0.0, "max": 1.0}
_SHARE = re.compile(r"(\d{1,2}(?:\.\d+)?)(?:st|nd|rd|th)$|(\d)-nines$")
_POWERS = {"": 1, "B": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_CPU = {"usage": "Usage", "user": "User", "kernel": "Kernel", "idle": "Idle"}
_ROUNDING_S = 0.006


def _recognise(head: Head) -> float:
    return 0.93 if _HEADING.search(head.text) else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    reader = _Reader()
    for line in evidence.lines():
        reader.take(line.strip())
    results = [result for result in reader.finished() if result.spans]
    if not results:
        raise broken(
            evidence, "results of diskspd: 'actual test time', and tables of 'Total IO', 'Read IO' and 'Write IO'",
            "none", hint="The run was stopped or failed, or only the beginning of its output was copied.",
        )  # fmt: skip
    recorder.omit("rows of tables that were cut or damaged", reader.damaged)
    recorder.omit("time spans without results (stopped, failed or cut)", reader.unfinished)
    if reader.unfinished:
        recorder.warn("A time span has no results: the run was stopped or failed, or the file was cut.")
    writer = Writer(recorder, options)
    writer.note(results)
    for result in results:
        writer.result(result)
    if any(not span.latency_ms for result in results for span in result.spans):
        recorder.warn("Latency was not measured in all runs: run diskspd with -L.")


@dataclass
class _Tables:
    """The rows of a time span, as they are printed."""

    span: Span = field(default_factory=Span)
    rows: dict[str, dict[tuple[str, str], dict[str, float]]] = field(default_factory=dict)
    """By table ('total', 'read', 'write'), thread and file."""
    totals: dict[str, dict[str, float]] = field(default_factory=dict)

    def finished(self) -> Span | None:
        """The span, when its tables are there."""
        span = self.span
        # With reads and writes apart, rows of both are needed; a file cut between them has half of the truth.
        if not span.seconds or not all(self._adds_up(way) for way in ("read", "write")):
            return None
        for key in dict.fromkeys([*self.rows.get("read", {}), *self.rows.get("write", {})]):
            found = {way: self.rows.get(way, {}).get(key, {}) for way in ("read", "write")}
            both = self.rows.get("total", {}).get(key, {})
            means = {way: row["avglat"] for way, row in {**found, "all": both}.items() if row.get("avglat")}
            span.parts.append(Part(
                key[0], key[1], {way: row.get("i/os", 0.0) for way, row in found.items()},
                {way: row.get("bytes", 0.0) for way, row in found.items()}, means,
            ))  # fmt: skip
        for table, row in self.totals.items():
            if row.get("avglat"):
                span.latency_ms["all" if table == "total" else table] = row["avglat"]
            for column, unit in (("iopsstddev", "1/s"), ("latstddev", "ms")):
                if column in row:
                    span.counters.append((f"{table}.{column}", unit, row[column]))
        span.seconds = self._exact_seconds()
        return span if span.parts else None

    def _adds_up(self, way: str) -> bool:
        """Whether the rows of a table are there, and sum to its total: none was cut or damaged."""
        total = self.totals.get(way)
        return total is not None and total["i/os"] == sum(row["i/os"] for row in self.rows.get(way, {}).values())

    def _exact_seconds(self) -> float:
        """The time that the rates were made with, where it is the printed one to its last digit."""
        total = self.totals.get("total", {})
        ios, rate = total.get("i/os"), total.get("i/o per s")
        exact = ios / rate if ios and rate else 0.0
        return exact if abs(exact - self.span.seconds) <= _ROUNDING_S else self.span.seconds


class _Reader:
    """Follows the sections of the text."""

    def __init__(self) -> None:
        self.damaged = 0
        self.unfinished = 0
        self._results: list[Result] = []
        self._result = Result()
        self._tables: _Tables | None = None
        self._section = ""
        self._columns: list[str] = []
        self._announced = 0
        """Time spans whose results were begun."""

    def finished(self) -> list[Result]:
        """All results; the last one ends with the text."""
        self._begin(Result())
        return self._results

    def take(self, line: str) -> None:
        """One line without blanks around."""
        if not line or set(line) <= set("-*="):
            return
        if line.startswith("Command Line:"):
            self._begin(Result(command=line.partition(":")[2].strip()))
        elif line == "Input parameters:":
            if self._result.asked or self._result.spans or self._tables:
                self._begin(Result())
            self._section = "input"
        elif line == "System information:":
            self._section = "system"
        elif match := _RESULTS.fullmatch(line):
            self._end_span()
            self._announced += 1
            self._tables, self._section = _Tables(Span(number=int(match[1]) - 1)), "results"
        elif self._section == "input":
            self._input(line)
        elif self._section == "system":
            self._system(line)
        elif self._tables is not None:
            self._measured(self._tables, line)

    def _begin(self, result: Result) -> None:
        self._end_span()
        self.unfinished += max(self._announced, len(self._result.asked)) - len(self._result.spans)
        self._results.append(self._result)
        self._result, self._section, self._announced = result, "", 0

    def _end_span(self) -> None:
        if self._tables is None:
            return
        if span := self._tables.finished():
            self._result.spans.append(span)
        self._tables = None

    # What was asked for ------------------------------------------------------------------------------------------

    def _input(self, line: str) -> None:
        match = _KEY.match(line)
        key, value = (match[1].strip(), match[2].strip()) if match else ("", "")
        if key == "timespan":
            self._result.asked.append(Asked())
        if not self._result.asked:
            return
        asked = self._result.asked[-1]
        if key == "path":
            asked.targets.append(Target(path=value.strip("'")))
        if asked.targets:
            _of_target(asked.targets[-1], line, key, value)
            return
        seconds = figure(value.removesuffix("s"))
        if key == "duration":
            asked.duration_s = seconds
        elif key == "warm up time":
            asked.warmup_s = seconds or 0.0
        elif key == "cool down time":
            asked.cooldown_s = seconds or 0.0
        if key != "timespan":
            asked.said[key or line] = value or "yes"

    def _system(self, line: str) -> None:
        key, _, value = line.partition(":")
        if key == "computer name":
            self._result.computer = value.strip() or None
        elif key == "start time":
            self._result.started = value.strip()

    # What was measured -------------------------------------------------------------------------------------------

    def _measured(self, tables: _Tables, line: str) -> None:
        if match := _TABLE.match(line):
            self._section = match[1].lower()
        elif line.startswith(("thread |", "CPU |", "Socket |", "Group |")) or "CPU |" in line.partition("Usage")[0]:
            self._columns = [cell.strip().lower() for cell in line.split("|")]
            self._section = self._section if line.startswith("thread") else "cpu"
        elif line.startswith("%-ile"):
            self._columns = [cell.strip().lower() for cell in line.split("|")]
            self._section = "percentiles"
        elif "|" in line:
            self._row(tables, [cell.strip() for cell in line.split("|")], line)
        elif self._section == "results":
            key, _, value = line.partition(":")
            if key == "actual test time":
                tables.span.seconds = figure(value.strip().removesuffix("s"), 3e8) or 0.0
            elif key == "thread count":
                tables.span.threads = figure(value)

    def _row(self, tables: _Tables, cells: list[str], line: str) -> None:
        if self._section == "cpu":
            self._cpu(tables.span, cells)
        elif self._section == "percentiles":
            self._percentile(tables.span, cells)
        elif self._section in ("total", "read", "write"):
            self._ios(tables, cells, line)

    def _cpu(self, span: Span, cells: list[str]) -> None:
        """Processors, and their average; newer versions have sockets and cores in front."""
        named = dict(zip(self._columns, cells, strict=False)) if not cells[0].startswith("avg") else {}
        at = self._columns.index("usage") if "usage" in self._columns else 1
        values = cells[at:] if named else cells[1:]
        processor = (named.get("cpu") or cells[0]) if named else "average"
        for name, cell in zip(self._columns[at:], values, strict=False):
            if name in _CPU and (percent := figure(cell)) is not None:
                span.cpu.append((processor, _CPU[name], percent))

    def _percentile(self, span: Span, cells: list[str]) -> None:
        match = _SHARE.match(cells[0])
        share = _SHARES.get(cells[0])
        if match:
            share = units.ratio_from_percent(float(match[1])) if match[1] else 1 - 10.0 ** -int(match[2])
        if share is None:
            self.damaged += 1
            return
        for column, cell in zip(self._columns[1:], cells[1:], strict=False):
            way = {"read (ms)": "read", "write (ms)": "write", "total (ms)": "all"}.get(column)
            if way and (ms := figure(cell)) is not None:
                span.percentiles_ms.setdefault(way, []).append((share, ms))

    def _ios(self, tables: _Tables, cells: list[str], line: str) -> None:
        total = line.startswith("total:")
        columns = self._columns
        cells = [cells[0].removeprefix("total:").strip(), *cells[1:]] if total else cells
        figures = columns[1:-1] if columns and columns[-1] == "file" else columns[1:]
        # The row of totals has its first figure behind 'total:', and no file.
        values = [figure(cell) for cell in (cells if total else cells[1 : 1 + len(figures)])]
        row = {name: value for name, value in zip(figures, values, strict=False) if value is not None}
        if not {"bytes", "i/os"} <= row.keys() or (not total and len(cells) != len(columns)):
            self.damaged += 1
        elif total:
            tables.totals[self._section] = row
        else:
            path = _FILE_SIZE.sub("", cells[-1]) or "unnamed"
            tables.rows.setdefault(self._section, {})[cells[0], path] = row


def _of_target(target: Target, line: str, key: str, value: str) -> None:
    """One line below a path. Lines are sentences as often as keys."""
    if key == "block size":
        target.block_bytes = _bytes(value)
    elif key.startswith("number of outstanding I/O operations"):
        target.requests = figure(value)
    elif key == "threads per file":
        target.threads = figure(value)
    elif match := re.match(r"performing mix test \(read/write ratio: (\d{1,3})/\d{1,3}\)", line):
        target.read_ratio = units.ratio_from_percent(float(match[1]))
    elif match := re.match(r"performing (read|write) test", line):
        target.read_ratio = float(match[1] == "read")
    elif match := re.search(r"\b(\d{1,3}) ?% random", line):
        target.random_ratio = units.ratio_from_percent(float(match[1]))
    elif match := re.match(r"using (random|sequential|interlocked sequential) I/O", line):
        target.random_ratio = float(match[1] == "random")
    if key != "path":
        target.said[key or line] = value or "yes"


def _bytes(text: str) -> float | None:
    """'65536', '64KiB'."""
    match = _SIZE.match(text)
    letter = (match[2] or "").removeprefix("bytes")[:1] if match else ""
    return float(match[1]) * _POWERS[letter] if match else None


IMPORTER = Importer(
    name="diskspd_text",
    title="diskspd text results",
    supports="2.0.15 to 2.1 (-Rtext), several results in a file; seen with 2.0.21",
    how_to_capture="diskspd -L -D -b8K -r -w30 -t4 -o32 -d60 -W30 -Suw X:\\test.dat > result.txt   (better: -Rxml)",
    recognise=_recognise,
    read=_read,
    carries=(
        "runs with outstanding, block size, read and random ratio, threads",
        "ops_per_s, bytes_per_s and mean latency by direction, of the run, its threads and its targets",
        "latency_ns_max and histograms from 14 percentiles (-L)", "cpu_busy_ratio",
        "deviations and processors as counters",
    ),
    never={
        "rates of intervals": "the text has their deviation only; -Rxml with -D prints them",
        "version": "the text does not say which wrote it",
        "the name of a test": "a run is called by its load",
        "when files were made": "the start is the program's; only the warm-up is known",
    },
)  # fmt: skip
