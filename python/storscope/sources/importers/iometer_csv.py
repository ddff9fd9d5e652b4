"""Iometer's results (results.csv) and instantaneous results (inst*.csv), 2001 to 1.1.0.

Each step of a test becomes a run: the ALL row is the observation of the job (named by its access specification), and
MANAGER, WORKER and DISK rows are those of hosts, processes and devices beneath it; a device that several workers use
is summed over them. Of the PROCESSOR rows only the CPU's shares are kept. `outstanding` is the queue depth over all
workers and their targets. The time stamp after a step is its end; ramp-up lies before its start.

Beware: 'MBps' of the old columns is MiB/s. DISK rows repeat the raw times and bins of their worker, which are left
out. Bin headings are not the edges that Dynamo compares with (see _iometer.BIN_EDGES_NS). In an instantaneous file
the lines without a specification are updates of the last second or so, and are kept as the workers' observations;
the workers' lines at the end repeat the whole test and are left out, the ALL line is the job's.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._fio import Names
from storscope.sources.importers._iometer import (
    AMBIGUOUS,
    BIN_EDGES_NS,
    ROW_TYPES,
    Row,
    Spec,
    header_of,
    moment,
    row_of,
    spec_line,
)
from storscope.sources.importers._iometer_sheet import HEADING, lines_as_written
from storscope.sources.importers._local_clock import LocalClock

_DEFAULT_SYSTEM = "iometer-host"
_HEADING = re.compile(r"(?:TimeStamp,)?'Target Type,Target Name,")
_RATES = (
    ("", ("MiBps (Binary)", "MBps (Binary)", "MBps")),
    ("read_", ("Read MiBps (Binary)", "Read MBps (Binary)", "Read MBps")),
    ("write_", ("Write MiBps (Binary)", "Write MBps (Binary)", "Write MBps")),
)
_CPU = ("% CPU Utilization", "% User Time", "% Privileged Time", "% DPC Time", "% Interrupt Time",
        "Interrupts per Second")  # fmt: skip
_NO_COUNTER = {
    "TimeStamp", "Target Type", "Target Name", "Access Specification Name", "IOps", "Read IOps", "Write IOps",
    "Average Response Time", "Average Read Response Time", "Average Write Response Time", "Maximum Response Time",
    "Processor Speed", *(column for _, columns in _RATES for column in columns), *BIN_EDGES_NS,
}  # fmt: skip
"""Columns that are canonical, names, or histograms."""


@dataclass
class _Step:
    """One results block, or the part of an instantaneous file up to its ALL line."""

    rows: list[Row] = field(default_factory=list)
    ended: dt.datetime | None = None


@dataclass
class _Test:
    """What is said before the results."""

    version: str | None = None
    kind: str = ""
    description: str = ""
    started: dt.datetime | None = None
    specs: dict[str, Spec] = field(default_factory=dict)


# Reading ---------------------------------------------------------------------------------------------------------


def _recognise(head: Head) -> float:
    return 0.97 if HEADING.search(head.text) else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool, recorder.notes.clock = "Iometer", options.zone_words()
    reader = _Reader(recorder, options)
    for number, line in enumerate(lines_as_written(evidence, recorder), 1):
        if problem := reader.take(line.strip("\x00 \t")):
            raise broken(evidence, problem, line, line=number)
    reader.finish()
    recorder.notes.clock += reader.clock_words
    if not reader.steps:
        raise broken(
            evidence, "rows of results under 'Target Type,Target Name,...", "none",
            hint="The test was stopped before its first step ended, or the file was cut.",
        )  # fmt: skip


class _Reader:
    """Follows the sections of the file and hands each finished step to the writer."""

    def __init__(self, recorder: Recorder, options: ImportOptions) -> None:
        self.steps = 0
        self._recorder = recorder
        self._writer = _Writer(recorder, options)
        self._test = _Test()
        self._section = ""
        self._spec: Spec | None = None
        self._header: list[str] = []
        self._step = _Step()
        self._known: set[tuple[object, ...]] = set()

    @property
    def clock_words(self) -> str:
        """What to add to the words about the clock."""
        return self._writer.clock.words

    def take(self, line: str) -> str:
        """One line; returns what was expected instead when it contradicts the format.

        A spreadsheet that saved the file again has made all lines as long as the longest, by commas.
        """
        if self._section != "results" or (line.startswith("'") and not _HEADING.match(line)):
            line = line.rstrip(",")
        if line.startswith(("'", "TimeStamp,'")):
            self._enter(line)
        elif self._section == "results" and line:
            return self._result(line)
        elif line:
            self._said(line)
        return ""

    def finish(self) -> None:
        """The last step lacks its time stamp when Iometer or a copy was stopped; its last row may be cut."""
        rows = self._step.rows
        if rows and rows[-1].missing > min((row.missing for row in rows[:-1] if row.type == rows[-1].type), default=0):
            rows.pop()
            self._recorder.omit("unfinished last row")
        if rows or self._writer.has_updates:
            self._recorder.warn("The last step has no time stamp after it: the test was stopped or the file was cut.")
        self._end_step(None)

    def _enter(self, line: str) -> None:
        """A heading. Results end where any other heading begins; their end time follows under 'Time Stamp."""
        key = line.lstrip("'").strip().lower()
        if _HEADING.match(line):
            self._section, self._header = "results", header_of(line)
            return
        if key == "results" or key.startswith("test type"):
            self._end_step(None)
        if key.startswith("test type"):
            self._test = _Test()
        self._section = key

    def _said(self, line: str) -> None:
        if self._section == "time stamp":
            at = moment(line)
            self._test.started = self._test.started or at
            self._end_step(at)
            self._writer.passed = at
        elif self._section == "version":
            self._test.version = self._recorder.notes.tool_version = line.strip()
        elif self._section.startswith("test type"):
            self._test.kind, _, self._test.description = line.partition(",")
        elif self._section.startswith("access specification name"):
            name = line.split(",", maxsplit=1)[0].strip()
            self._spec = self._test.specs[name] = Spec(name)
        elif self._section.startswith("size,"):
            self._spec_line(line)
        else:
            self._recorder.omit("lines outside every known section")

    def _spec_line(self, line: str) -> None:
        found = spec_line(line)
        if found is None or self._spec is None:
            self._recorder.omit("lines of access specifications that could not be read")
        else:
            self._spec.lines.append(found)

    def _result(self, line: str) -> str:
        row = row_of(self._header, line)
        if row is None or row.type not in ROW_TYPES:
            if not self.steps and not self._step.rows:
                return f"a row of {len(self._header)} columns that begins with one of {', '.join(sorted(ROW_TYPES))}"
            self._recorder.omit("rows that do not fit their heading")
        elif "TimeStamp" in row.fields and row.missing:
            self._recorder.omit("unfinished last row")
        elif "TimeStamp" in row.fields and row.type == "WORKER" and not row.spec:
            self._writer.update(self._test, row)
        else:
            if row.type == "ALL" and any(other.type == "ALL" for other in self._step.rows):
                self._recorder.warn("A step has no time stamp after it: the next row of ALL begins another.")
                self._end_step(None)
            self._step.rows.append(row)
        return ""

    def _end_step(self, at: dt.datetime | None) -> None:
        if self._step.rows or self._writer.has_updates:
            self._step.ended = at
            self.steps += 1
            if self._is_new(self._step):
                self._writer.step(self._test, self._step)
        self._step = _Step()

    def _is_new(self, step: _Step) -> bool:
        """False for what an earlier part of the file has to the last figure and the time: it was joined with itself."""
        known = (step.ended, *(tuple(row.fields.items()) for row in step.rows))
        if step.ended is None or known not in self._known:
            self._known.add(known)
            return True
        self._recorder.omit("steps that are in the file twice")
        return False


# Writing ---------------------------------------------------------------------------------------------------------


class _Writer:
    """Turns steps and updates into rows of the tables."""

    def __init__(self, recorder: Recorder, options: ImportOptions) -> None:
        self._recorder = recorder
        self._options = options
        self._names = Names()
        self._live_run: str | None = None
        self._live_outstanding: dict[str, float | None] = {}
        self.clock = LocalClock(options.zone(), jumbled=True)
        self.passed: dt.datetime | None = None
        """The last time stamp seen."""

    @property
    def has_updates(self) -> bool:
        """Whether updates of a step that has not ended are waiting for it."""
        return self._live_run is not None

    def update(self, test: _Test, row: Row) -> None:
        """One line of an instantaneous file: what a worker did since the line before."""
        if self._live_run is None:
            only = next(iter(test.specs)) if len(test.specs) == 1 else "live results"
            self._live_run = self._names.run(only)
        at, seconds = row.moment, row.run_time_s
        if at is None or seconds is None:
            self._recorder.omit("live updates without a time or without an I/O")
            return
        self._live_outstanding[row.name] = _product(row.value("Queue Depth"), row.value("# Disks"))
        length_ns = _length_ns(seconds)
        process = EntityRef(self._system([]), "process", row.name)
        when = (self.clock.instant(at) - length_ns, length_ns)
        self._recorder.observe(process, *when, _canonical(row), run=self._live_run)
        self._recorder.histogram(process, *when, "all", "lat", row.buckets(), run=self._live_run)
        self._recorder.omit("further columns of live updates (per line)")

    def step(self, test: _Test, step: _Step) -> None:
        """A finished step: its run, and an observation for each row."""
        rows = step.rows
        is_live = self._live_run is not None
        total = next((row for row in rows if row.type == "ALL"), None)
        whole = total or next((row for row in rows if row.type in ("MANAGER", "WORKER")), Row({}))
        spec_name = whole.spec or "mixed specifications"
        run = self._live_run or self._names.run(spec_name)
        when = self._when(test, step, whole)
        system = self._system([row.name for row in rows if row.type == "MANAGER"])
        self._recorder.notes.system = self._recorder.notes.system or system
        outstanding = _outstanding(rows)
        if outstanding is None and is_live:
            outstanding = _sum(list(self._live_outstanding.values()))
        self._run(test, run, spec_name, system, when, outstanding, whole)
        job = EntityRef(system, "job", spec_name)
        if total is not None:
            self._record(job, total, when, run)
        self._parts(rows, system, job, when, run, is_live=is_live)
        self._live_run, self._live_outstanding = None, {}

    def _run(
        self,
        test: _Test,
        run: str,
        spec_name: str,
        system: str,
        when: tuple[int, int],
        outstanding: float | None,
        whole: Row,
    ) -> None:
        spec = test.specs.get(spec_name) or Spec(spec_name)
        errors = whole.value("Errors")
        said = {"test_type": test.kind, "description": test.description, "access_specification": spec_name}
        said |= {f"line {place}": line.words() for place, line in enumerate(spec.lines, 1)}
        said |= {name: whole.fields.get(name, "") for name in ("# Managers", "# Workers", "# Disks", "Queue Depth")}
        self._recorder.run(
            run, engine="iometer", engine_version=test.version, name=spec_name, system=system, time_ns=when[0],
            duration_ns=when[1], block_bytes=spec.block_bytes, read_ratio=spec.read_ratio,
            random_ratio=spec.random_ratio, outstanding=outstanding, workers=whole.value("# Workers"),
            status=f"{errors:.0f} I/O errors" if errors else "ok",
            parameters={name: text for name, text in said.items() if text},
        )  # fmt: skip

    def _parts(
        self, rows: Sequence[Row], system: str, job: EntityRef, when: tuple[int, int], run: str, *, is_live: bool
    ) -> None:
        """Hosts, processes and devices beneath the job. Rows stand below the manager and worker they belong to."""
        host = EntityRef(system, "host", system)
        several = len({row.name for row in rows if row.type == "MANAGER"}) > 1
        worker: EntityRef | None = None
        disks: dict[EntityRef, list[Row]] = {}
        for row in rows:
            if row.type == "MANAGER":
                name = system if system != _DEFAULT_SYSTEM and not several else row.name
                host, worker = EntityRef(name, "host", name), None
                self._record(host, row, when, run)
            elif row.type == "PROCESSOR":
                self._processor(host, row, when, run)
            elif row.type == "WORKER" and is_live:
                self._recorder.omit("whole-test rows of workers whose updates are kept")
            elif row.type == "WORKER":
                worker = EntityRef(host.system, "process", row.name)
                self._record(worker, row, when, run)
                self._recorder.link(worker, "member_of", host)
            elif row.type in ("DISK", "NETWORK"):
                kind = "device" if row.type == "DISK" else "nic"
                target = EntityRef(host.system, kind, row.name)
                disks.setdefault(target, []).append(row)
                self._link(target, host, worker, job)
        for target, parts in disks.items():
            self._device(target, parts, when, run)

    def _link(self, target: EntityRef, host: EntityRef, worker: EntityRef | None, job: EntityRef) -> None:
        self._recorder.link(target, "member_of", host)
        if worker is not None:
            self._recorder.link(worker, "uses", target)
        if target.kind == "device" and target.system == job.system:
            self._recorder.link(job, "lives_on", target)

    def _record(self, entity: EntityRef, row: Row, when: tuple[int, int], run: str) -> None:
        """Canonical values, histogram and the remaining columns of one row."""
        values = _canonical(row)
        cpu = row.value("% CPU Utilization")
        if entity.kind == "host" and cpu is not None:
            values["cpu_busy_ratio"] = units.ratio_from_percent(cpu)
        self._recorder.observe(entity, *when, values, run=run)
        self._recorder.histogram(entity, *when, "all", "lat", row.buckets(), run=run)
        self._counters(entity, row, when, run, (name for name in row.fields if name not in _NO_COUNTER))

    def _counters(self, entity: EntityRef, row: Row, when: tuple[int, int], run: str, columns: Iterable[str]) -> None:
        for column in columns:
            if "(Decimal)" in column:
                continue  # the same rate in another unit
            value = row.value(column)
            if value is None and column in AMBIGUOUS and row.fields[column].strip():
                self._recorder.omit("values given as -1, which means different ones (ambiguous)")
            self._recorder.counter(entity, *when, column, _unit(column), value, run=run)

    def _processor(self, host: EntityRef, row: Row, when: tuple[int, int], run: str) -> None:
        for column in _CPU:
            name = f"{row.name}: {column}"
            self._recorder.counter(host, *when, name, _unit(column), row.value(column), run=run)

    def _device(self, device: EntityRef, parts: Sequence[Row], when: tuple[int, int], run: str) -> None:
        """A target over all workers that use it. Raw times and bins are the workers', so they are left out."""
        self._recorder.observe(device, *when, _together([_canonical(row) for row in parts]), run=run)
        raw = [name for row in parts for name in row.fields if " Raw " in name or name in BIN_EDGES_NS]
        self._recorder.omit("raw times and bins of DISK rows, which are those of their worker", len(raw))
        if len(parts) == 1:
            columns = [name for name in parts[0].fields if name not in _NO_COUNTER and " Raw " not in name]
            self._counters(device, parts[0], when, run, columns)
        else:
            self._recorder.omit("further columns of targets that several workers share", len(parts))

    # Times and names ---------------------------------------------------------------------------------------------

    def _system(self, managers: Sequence[str]) -> str:
        """The host: as the user says, the only manager, or a placeholder."""
        return self._options.system or (managers[0] if len(set(managers)) == 1 else _DEFAULT_SYSTEM)

    def _when(self, test: _Test, step: _Step, whole: Row) -> tuple[int, int]:
        """Start and length. Without an end stamp the step is placed behind the last stamp seen."""
        seconds = whole.run_time_s
        began = self.passed or test.started
        if seconds is None and step.ended and began:
            seconds = (step.ended - began).total_seconds()
        length_ns = _length_ns(seconds or 0.0)
        if step.ended is not None:
            return self.clock.instant(step.ended) - length_ns, length_ns
        written = whole.moment
        if written is not None:
            return self.clock.instant(written) - length_ns, length_ns
        start = began or self._options.start
        if start is None:
            self._recorder.notes.has_times = False
            self._recorder.notes.clock = "no time stamp in the source; set --start to place them"
            start = dt.datetime(1970, 1, 1)
        placed = start if start.tzinfo else start.replace(tzinfo=self._options.zone())
        return units.ns_from_datetime(placed), length_ns


def _length_ns(seconds: float) -> int:
    """A run time, to the microsecond; what no test lasts (a damaged number) is cut at ten years."""
    return round(min(max(seconds, 0.0), 3.2e8) * units.NS_PER_S / units.NS_PER_US) * units.NS_PER_US


def _canonical(row: Row) -> dict[str, float | None]:
    """Rates, sizes and latencies of a row. Where nothing was done in a direction, it has no latency."""
    values: dict[str, float | None] = {
        "ops_per_s": row.value("IOps"),
        "read_ops_per_s": row.value("Read IOps"),
        "write_ops_per_s": row.value("Write IOps"),
    }
    for prefix, columns in _RATES:
        rate = row.first(*columns)
        values[f"{prefix}bytes_per_s"] = None if rate is None else units.bytes_from_mib(rate)
    for prefix, word in (("", ""), ("read_", "Read "), ("write_", "Write ")):
        mean = row.value(f"Average {word}Response Time")
        was_busy = bool(values[f"{prefix}ops_per_s"])
        values[f"{prefix}latency_ns_mean"] = units.ns_from_ms(mean) if mean is not None and was_busy else None
    greatest = row.value("Maximum Response Time")
    values["latency_ns_max"] = units.ns_from_ms(greatest) if greatest and values["ops_per_s"] else None
    return values


def _together(parts: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """Rates added, mean latencies weighted by their rates, the greatest of the maxima."""
    if len(parts) == 1:
        return parts[0]
    values: dict[str, float | None] = {}
    for column in parts[0]:
        found = [(part[column], part) for part in parts]
        if column.endswith("_per_s"):
            values[column] = _sum([value for value, _ in found])
        elif column == "latency_ns_max":
            values[column] = max((value for value, _ in found if value is not None), default=None)
        else:
            rate = column.replace("latency_ns_mean", "ops_per_s")
            weighted = [(value, part[rate] or 0.0) for value, part in found if value is not None]
            total = sum(weight for _, weight in weighted)
            values[column] = sum(value * weight for value, weight in weighted) / total if total else None
    return values


def _outstanding(rows: Sequence[Row]) -> float | None:
    """Configured I/Os in flight: depth x targets, over the workers; by single targets where a worker's differ."""
    workers = list(_workers(rows))
    if workers:
        return _sum([_of_worker(worker, targets) for worker, targets in workers])
    total = next((row for row in rows if row.type in ("ALL", "MANAGER")), None)
    return None if total is None else _product(total.value("Queue Depth"), total.value("# Disks"))


def _workers(rows: Sequence[Row]) -> Iterator[tuple[Row, list[Row]]]:
    """Every worker with the targets listed below it."""
    worker: Row | None = None
    targets: list[Row] = []
    for row in rows:
        if row.type in ("WORKER", "MANAGER"):
            if worker is not None:
                yield worker, targets
            worker, targets = (row if row.type == "WORKER" else None), []
        elif row.type in ("DISK", "NETWORK"):
            targets.append(row)
    if worker is not None:
        yield worker, targets


def _of_worker(worker: Row, targets: Sequence[Row]) -> float | None:
    if worker.value("IOps") is None:
        return 0.0  # without an access specification it did nothing
    depth, disks = worker.value("Queue Depth"), worker.value("# Disks")
    if depth is not None:
        return _product(depth, disks if disks is not None else float(len(targets)) or None)
    return _sum([target.value("Queue Depth") for target in targets]) if targets else None


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum, or None when any part is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _product(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other


def _unit(column: str) -> str:
    """The unit of a column that has no canonical one."""
    if " Raw " in column:
        return "ticks"
    if "Time" in column and "%" not in column:
        return "ms"
    if column.startswith("% "):
        return "%"
    if column.startswith("Bytes "):
        return "B"
    if column in ("Starting Sector", "Maximum Size"):
        return "sectors"
    return "1/s" if "Second" in column else ""


IMPORTER = Importer(
    name="iometer_csv",
    title="Iometer results",
    supports=(
        "56, 59 and 80 columns (2001 to 1.1.0), results.csv and inst*.csv; copies that a spreadsheet saved again, with "
        "semicolons and decimal commas too"
    ),
    how_to_capture="IOmeter /c test.icf /r results.csv",
    recognise=_recognise,
    read=_read,
    carries=(
        "runs with outstanding, block size, read and random ratio",
        "ops_per_s, bytes_per_s and mean latency by direction",
        "latency_ns_max", "histograms (1.1.0)", "cpu_busy_ratio of hosts", "everything else as counters",
    ),
    never={"percentiles": "Iometer keeps sums and 21 bins", "time zone": "time stamps are local to the machine"},
)  # fmt: skip
