"""Steps of Iometer's results, and updates between them, as rows of the tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._fio import Names
from storscope.sources.importers._iometer import AMBIGUOUS, BIN_EDGES_NS, Row, Spec
from storscope.sources.importers._iometer_values import RATES, canonical, outstanding_of, product_of, sum_of, together
from storscope.sources.importers._local_clock import LocalClock

_DEFAULT_SYSTEM = "iometer-host"
_CPU = ("% CPU Utilization", "% User Time", "% Privileged Time", "% DPC Time", "% Interrupt Time",
        "Interrupts per Second")  # fmt: skip
_NO_COUNTER = {
    "TimeStamp", "Target Type", "Target Name", "Access Specification Name", "IOps", "Read IOps", "Write IOps",
    "Average Response Time", "Average Read Response Time", "Average Write Response Time", "Maximum Response Time",
    "Processor Speed", *(column for _, columns in RATES for column in columns), *BIN_EDGES_NS,
}  # fmt: skip
"""Columns that are canonical, names, or histograms."""


@dataclass
class Step:
    """One results block, or the part of an instantaneous file up to its ALL line."""

    rows: list[Row] = field(default_factory=list)
    ended: dt.datetime | None = None


@dataclass
class Setup:
    """What is said before the results."""

    version: str | None = None
    kind: str = ""
    description: str = ""
    started: dt.datetime | None = None
    specs: dict[str, Spec] = field(default_factory=dict)


class StepWriter:
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

    def update(self, setup: Setup, row: Row) -> None:
        """One line of an instantaneous file: what a worker did since the line before."""
        if self._live_run is None:
            only = next(iter(setup.specs)) if len(setup.specs) == 1 else "live results"
            self._live_run = self._names.run(only)
        at, seconds = row.moment, row.run_time_s
        if at is None or seconds is None:
            self._recorder.omit("live updates without a time or without an I/O")
            return
        self._live_outstanding[row.name] = product_of(row.value("Queue Depth"), row.value("# Disks"))
        length_ns = _length_ns(seconds)
        process = EntityRef(self._system([]), "process", row.name)
        when = (self.clock.instant(at) - length_ns, length_ns)
        self._recorder.observe(process, *when, canonical(row), run=self._live_run)
        self._recorder.histogram(process, *when, "all", "lat", row.buckets(), run=self._live_run)
        self._recorder.omit("further columns of live updates (per line)")

    def step(self, setup: Setup, step: Step) -> None:
        """A finished step: its run, and an observation for each row."""
        rows = step.rows
        is_live = self._live_run is not None
        total = next((row for row in rows if row.type == "ALL"), None)
        whole = total or next((row for row in rows if row.type in ("MANAGER", "WORKER")), Row({}))
        spec_name = whole.spec or "mixed specifications"
        run = self._live_run or self._names.run(spec_name)
        when = self._when(setup, step, whole)
        system = self._system([row.name for row in rows if row.type == "MANAGER"])
        self._recorder.notes.system = self._recorder.notes.system or system
        outstanding = outstanding_of(rows)
        if outstanding is None and is_live:
            outstanding = sum_of(list(self._live_outstanding.values()))
        self._run(setup, run, spec_name, system, when, outstanding, whole)
        job = EntityRef(system, "job", spec_name)
        if total is not None:
            self._record(job, total, when, run)
        self._parts(rows, system, job, when, run, is_live=is_live)
        self._live_run, self._live_outstanding = None, {}

    def _run(
        self,
        setup: Setup,
        run: str,
        spec_name: str,
        system: str,
        when: tuple[int, int],
        outstanding: float | None,
        whole: Row,
    ) -> None:
        spec = setup.specs.get(spec_name) or Spec(spec_name)
        errors = whole.value("Errors")
        said = {"test_type": setup.kind, "description": setup.description, "access_specification": spec_name}
        said |= {f"line {place}": line.words() for place, line in enumerate(spec.lines, 1)}
        said |= {name: whole.fields.get(name, "") for name in ("# Managers", "# Workers", "# Disks", "Queue Depth")}
        self._recorder.run(
            run, engine="iometer", engine_version=setup.version, name=spec_name, system=system, time_ns=when[0],
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
        values = canonical(row)
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
        self._recorder.observe(device, *when, together([canonical(row) for row in parts]), run=run)
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

    def _when(self, setup: Setup, step: Step, whole: Row) -> tuple[int, int]:
        """Start and length. Without an end stamp the step is placed behind the last stamp seen."""
        seconds = whole.run_time_s
        began = self.passed or setup.started
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
