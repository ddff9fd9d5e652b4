"""fio's terse output (--minimal, --output-format=terse), versions 3, 4 and 5 of it, fio 2.2 to 3.42.

Each line is a job (or a group of jobs, with group_reporting) and becomes a run with one observation. The cumulative
lines of --status-interval are differenced as in fio_json. Lines that several runs of fio appended to one file are told
apart by their disks' totals, which all lines of one print share.

Beware: rates are cut to whole I/Os per second. Where that leaves but one plain size of an I/O (nearly always) the count
is bytes over size, and exact; else rates are too low by less than one a second, and those of an interval may be off by
as many I/Os as seconds have passed, which is said. A line does not say when or how it ran: not the time, pattern,
depth, engine or file. Percentiles are of `clat` unless fio was told lat_percentiles=1, and the line does not say which.
Version 3 does not print trims, and none prints flushes (fio 3.33 with fdatasync=1 in versions 2 to 5). Prefer the JSON
form: it has all of this.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers import _fio
from storscope.sources.importers._fio_terse import CPU, DISK, HEADING, SHARES, Line, Part, Unreadable, line_of

_MOST_COMPLAINTS = 5
_KNOWN_WITHIN = 0.01
"""A mean size is kept where the cut rate leaves it known so well."""


@dataclass
class _Process:
    """What one run of fio printed: the states of each of its jobs, the first to print first."""

    histories: list[list[Line]] = field(default_factory=list)
    _printed: set[int] = field(default_factory=set)
    """Histories that have a line of the present print."""

    @property
    def lines(self) -> list[Line]:
        """The last state of every job."""
        return [states[-1] for states in self.histories]

    def take(self, line: Line) -> bool:
        """Whether the line is of this process; then it is added.

        A print has one line a job. The next one begins with a later state of the first job.
        """
        lines = self.lines
        if lines and len(self._printed) == len(lines) and line.continues(lines[0]):
            self._printed.clear()
        later = next((n for n, known in enumerate(lines) if n not in self._printed and line.continues(known)), None)
        if later is not None:
            self.histories[later].append(line)
            self._printed.add(later)
            return True
        last = lines[-1] if lines else line
        is_same_print = last.disks == line.disks and last.fio_version == line.fio_version and last.group <= line.group
        if is_same_print:
            self._printed.add(len(self.histories))
            self.histories.append([line])
        return is_same_print


def _recognise(head: Head) -> float:
    return 0.92 if any(HEADING.match(line) for line in head.lines) else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    lines = list(_lines(evidence, recorder))
    recorder.notes.tool, recorder.notes.tool_version = "fio", lines[0].fio_version.removeprefix("fio-")
    recorder.notes.system = _fio.system_of(options)
    processes = [_Process()]
    for line in lines:
        if not processes[-1].take(line):
            processes.append(_Process())
            processes[-1].take(line)
    names = _fio.Names()
    at_ms = _first_ms(recorder, options)
    for process in processes:
        at_ms = _record_process(recorder, options, names, process, at_ms)


def _lines(evidence: Evidence, recorder: Recorder) -> Iterable[Line]:
    found: list[Line] = []
    problem, at, said = "", 0, ""
    complaints = 0
    for place, text in enumerate(evidence.lines(), 1):
        if HEADING.match(text) is None:
            if text.startswith("fio:"):
                complaints += 1
                recorder.warn(f"fio said: {text[:200]}") if complaints <= _MOST_COMPLAINTS else None
            recorder.omit("lines of text that are no result", bool(text.strip()))
            continue
        try:
            found.append(line_of(text))
        except Unreadable as error:
            problem, at, said = str(error), place, text
            recorder.omit("lines that are damaged or cut")
    recorder.omit("complaints of fio beyond the first five", max(0, complaints - _MOST_COMPLAINTS))
    if not found:
        raise broken(
            evidence, "a whole line of fio's terse output, version 3, 4 or 5",
            f"{said[:60]} ({problem})" if problem else "none", line=at or None,
            hint="Run fio with --output-format=json+ --output=result.json, and import that.",
        )  # fmt: skip
    if problem:
        recorder.warn("A line of the file is damaged or cut, and left out: import the file as fio wrote it.")
    return found


def _first_ms(recorder: Recorder, options: ImportOptions) -> float:
    """When the first job began, in ms since 1970: only the user knows."""
    start = options.start or dt.datetime(1970, 1, 1)
    aware = start if start.tzinfo else start.replace(tzinfo=options.zone())
    recorder.notes.has_times = options.start is not None
    placed = "runs follow one another from --start" if options.start else "set --start to place them"
    recorder.notes.clock = f"no times in the source; {placed}"
    return units.ns_from_datetime(aware) / units.NS_PER_MS


# Writing ---------------------------------------------------------------------------------------------------------


def _record_process(
    recorder: Recorder, options: ImportOptions, names: _fio.Names, process: _Process, begin_ms: float
) -> float:
    """Its runs; groups follow one another. Returns when it ended."""
    longest: dict[int, float] = {}
    for line in process.lines:
        longest[line.group] = max(longest.get(line.group, 0.0), line.runtime_ms)
    end_ms = begin_ms + sum(longest.values())
    ends = _fio.phase_ends_ms(end_ms, list(longest.items()), None)
    labels = _fio.clone_names(line.name for line in process.lines)
    _warn_of_clones(recorder, process)
    for label, states in zip(labels, process.histories, strict=True):
        start_ms = ends[states[-1].group] - longest[states[-1].group]
        _record_run(recorder, options, names, (label, states), _fio.instant_ns(start_ms))
    _record_disks(recorder, options, process, labels, (begin_ms, end_ms))
    return end_ms


def _warn_of_clones(recorder: Recorder, process: _Process) -> None:
    named = [line.name for line in process.lines if not line.disks]
    if len(set(named)) < len(named):
        recorder.warn(
            "Lines of one name and without disks are taken as processes of one job (numjobs); if they are "
            "repetitions, import each from a file of its own."
        )


def _record_run(
    recorder: Recorder, options: ImportOptions, names: _fio.Names, found: tuple[str, Sequence[Line]], start_ns: int
) -> None:
    label, states = found
    line = states[-1]
    entity = EntityRef(_fio.system_of(options), "job", label)
    duration_ns = round(line.runtime_ms * units.NS_PER_MS)
    said = {"terse_version": str(line.version), "description": line.description}
    run = recorder.run(
        names.run(label), engine="fio", engine_version=line.fio_version.removeprefix("fio-"), name=label,
        system=entity.system, time_ns=start_ns if options.start else None, duration_ns=duration_ns,
        block_bytes=_block_bytes(line), read_ratio=_read_ratio(line), status=_fio.status_words(line.error),
        parameters={name: text for name, text in said.items() if text},
    )  # fmt: skip
    if not duration_ns:
        trims = " Trims are in versions 4 and 5 only (--terse-version=5)." if line.version == 3 else ""
        recorder.warn(f"{label}: no read and no write was done.{trims}")
        return
    little = _fio.little_done(label, line.directions.values(), line.runtime_ms, {})
    if little and not line.error:
        recorder.warn(little)
    for _, begin_ns, length_ns, added in _fio.intervals([state.state_of(line) for state in states], start_ns):
        _fio.observe_directions(recorder, entity, begin_ns, length_ns, added, run=run)
    if len(states) > 1 and not all(part.plain_block_bytes for part in line.parts.values() if part.was_active):
        recorder.warn(
            f"{label}: sizes of I/Os differ, so counts are known to one for each second since the start only; "
            "the rates of short intervals late in a run may be off. The JSON form has them exactly."
        )
    for name, part in line.parts.items():
        if name in line.directions and part.was_active:
            _record_part(recorder, entity, name, part, (start_ns, duration_ns), run)
    _record_counters(recorder, entity, line, (start_ns, duration_ns), run)


def _block_bytes(line: Line) -> float | None:
    """The size of every I/O, or their mean where the rate tells it within 1 %."""
    active = [part for part in line.parts.values() if part.was_active]
    plain = {part.plain_block_bytes for part in active}
    if len(plain) == 1 and None not in plain:
        return plain.pop()
    counts = [part.ops(part.plain_block_bytes) for part in active]
    ops = sum(count or 0.0 for count in counts)
    is_known = all(part.plain_block_bytes or part.iops * _KNOWN_WITHIN >= 1 for part in active)
    return units.bytes_from_kib(sum(part.kib for part in active)) / ops if is_known and ops else None


def _read_ratio(line: Line) -> float | None:
    """The share that ran: the line does not say which was asked for. None where there were trims, or all are mixed."""
    ops = {name: direction.ops for name, direction in line.directions.items()}
    reads, writes = ops.get("read"), ops.get("write")
    if reads is None or writes is None or not reads + writes or ops.get("trim"):
        return None
    return reads / (reads + writes)


def _record_part(recorder: Recorder, entity: EntityRef, name: str, part: Part, when: tuple[int, int], run: str) -> None:
    """Statistics, percentiles and samples, under the names that they have from the JSON."""
    for measure, values in part.times_us.items():
        if values["mean"]:
            for key, value in values.items():
                recorder.counter(entity, *when, f"{name}.{measure}.{key}", "ns", units.ns_from_us(value), run=run)
    used = [(percent, value) for percent, value in part.percentiles_us if percent]
    recorder.omit("unused places in the list of percentiles", len(part.percentiles_us) - len(used))
    if part.times_us["clat"]["mean"] or part.times_us["lat"]["mean"]:
        for percent, value in used:
            recorder.counter(entity, *when, f"{name}.clat.p{percent:g}", "ns", units.ns_from_us(value), run=run)
    sampled = {key.split("_")[0] for key, _, value in part.samples if key in ("bw_max", "iops_max") and value}
    for key, unit, value in part.samples:
        if key.split("_")[0] in sampled:
            recorder.counter(entity, *when, f"{name}.{key}", unit, value, run=run)


def _record_counters(recorder: Recorder, entity: EntityRef, line: Line, when: tuple[int, int], run: str) -> None:
    for (name, unit), value in zip(CPU.items(), line.cpu, strict=True):
        recorder.counter(entity, *when, name, unit, value, run=run)
    for name, value in zip(SHARES, line.shares, strict=True):
        recorder.counter(entity, *when, name, "%", value, run=run)
    recorder.counter(entity, *when, "total_err", "", line.total_errors, run=run)


def _record_disks(
    recorder: Recorder, options: ImportOptions, process: _Process, labels: Sequence[str], span_ms: tuple[float, float]
) -> None:
    """Every line repeats the disks, as they stood when it was printed; the last line counts."""
    system = _fio.system_of(options)
    begin_ns = _fio.instant_ns(span_ms[0])
    duration_ns = _fio.instant_ns(span_ms[1]) - begin_ns
    disks = process.lines[-1].disks
    devices = [EntityRef(system, "device", disk.name) for disk in disks]
    for device, disk in zip(devices, disks, strict=True):
        totals: dict[str, float | None] = dict(zip(DISK, disk.totals, strict=True))
        totals |= {f"aggr_{name}": value for name, value in zip(DISK, disk.beneath, strict=False)}
        _fio.record_disk(recorder, device, begin_ns, duration_ns, totals)
    for label in labels:
        _fio.link_to_disks(recorder, EntityRef(system, "job", label), devices, None)
    lines = [line for states in process.histories for line in states]
    recorder.omit("disks repeated in other lines", sum(len(line.disks) for line in lines) - len(disks))


IMPORTER = Importer(
    name="fio_terse",
    title="fio terse output",
    supports="versions 3, 4 and 5, fio 2.2 to 3.42 (captured), --status-interval and unified reporting",
    how_to_capture="fio --minimal --terse-version=5 --output=result.terse job.fio   (better: --output-format=json+)",
    recognise=_recognise,
    read=_read,
    carries=(
        "runs with block size (where the rate tells it) and share of reads", "read_ops_per_s", "write_ops_per_s",
        "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean", "write_latency_ns_mean", "latency_ns_max",
        "percentiles, CPU, depth shares and bandwidth samples as counters",
        "busy_ratio and latency of the block devices",
    ),
    not_yet={
        "terse version 2": "its lines do not name fio; ask for --terse-version=5",
        "rates of the disks": "fio does not print how long it watched; totals are kept as counters",
    },
    never={
        "time": "a line does not say when; place it with --start",
        "outstanding, random share, workers, job options": "a line has results only",
        "histograms": "20 percentiles and coarse shares only",
        "trims of version 3": "versions 4 and 5 print them",
    },
)  # fmt: skip
