"""fio's human output: the old form to 2.16, the new one from 2.17 to 3.42.

Supports several jobs and groups, group_reporting, syncs, trims, unified reporting, the cumulative blocks of
--status-interval (differenced as in fio_json), progress lines in between, and the disk lines of both forms. A result
becomes a run with one observation.

Beware: IOPS and bandwidth are printed with three digits, so rates come from the counts of `issued` and the runtime.
The text shows neither rwmixread nor percentage_random: of a mix the share of reads is the one that ran, and a random
pattern counts as wholly random. Times are those of printing, in the host's own zone, to the second; groups behind a
stonewall are taken to have run one after the other. The JSON form has all of this exactly: prefer it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken, shortened
from storscope.sources.importers import _fio
from storscope.sources.importers._fio_text import (
    HEADING,
    LONGEST_LINE,
    Block,
    Definition,
    Disk,
    TextDirection,
    TextJob,
    TextReader,
    block_sizes,
)
from storscope.sources.importers._local_clock import LocalClock

_MOST_COMPLAINTS = 5


@dataclass
class _Run:
    """The states of one job, from the blocks in which it appears."""

    label: str
    states: list[TextJob]
    block: Block


def _recognise(head: Head) -> float:
    lines = (line.rsplit("\r", 1)[-1].rstrip() for line in head.lines)
    return 0.93 if any(HEADING.match(line) for line in lines if len(line) <= LONGEST_LINE) else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    reader = TextReader()
    reader.read(evidence.lines())
    blocks = [block for block in reader.blocks if block.jobs]
    if not blocks:
        raise _no_result(evidence, reader)
    _note(recorder, options, reader)
    ends_ms = _ends(recorder, options, blocks)
    names = _fio.Names()
    runs = _runs(blocks)
    for run in runs:
        _record_run(recorder, options, names, run, ends_ms[id(run.block)])
    _record_disks(recorder, options, runs, ends_ms)
    last = {id(run.block) for run in runs}
    recorder.omit("disk lines of earlier status blocks", sum(len(b.disks) for b in blocks if id(b) not in last))


def _no_result(evidence: Evidence, reader: TextReader) -> Exception:
    said = shortened(reader.complaints[0]) if reader.complaints else "no line like 'name: (groupid=0, jobs=1): err= 0'"
    hint = "fio ended before it printed a result. Correct what it complains of and run it again."
    return broken(evidence, "a result of fio", said, hint=hint if reader.complaints else "")


def _note(recorder: Recorder, options: ImportOptions, reader: TextReader) -> None:
    recorder.notes.tool, recorder.notes.tool_version = "fio", reader.version
    recorder.notes.system = _fio.system_of(options)
    for complaint in reader.complaints[:_MOST_COMPLAINTS]:
        recorder.warn(f"fio said: {complaint[:200]}")
    recorder.omit("complaints of fio beyond the first five", max(0, len(reader.complaints) - _MOST_COMPLAINTS))
    recorder.omit("lines of the group summary, which follow from the jobs", reader.summary_lines)
    recorder.omit("'All clients', the sum of the other results", reader.all_clients)
    recorder.omit("lines of text that are no result", reader.other_lines)


def _ends(recorder: Recorder, options: ImportOptions, blocks: list[Block]) -> dict[int, float]:
    """When each block was printed, in ms since 1970."""
    moments = [next((job.ended for job in block.jobs if job.ended), None) for block in blocks]
    if all(moment is not None for moment in moments):
        clock = LocalClock(options.zone(), jumbled=True)
        placed = [clock.instant(moment) for moment in moments if moment is not None]
        recorder.notes.clock = f"{options.zone_words()}; time of printing, to the second{clock.words}"
        return {id(block): at_ns / units.NS_PER_MS for block, at_ns in zip(blocks, placed, strict=True)}
    start = options.start or dt.datetime(1970, 1, 1)
    aware = start if start.tzinfo else start.replace(tzinfo=options.zone())
    at_ms = units.ns_from_datetime(aware) / units.NS_PER_MS
    recorder.notes.has_times = options.start is not None
    placed_by = "runs follow one another from --start" if options.start else "set --start to place them"
    recorder.notes.clock = f"no times in the source; {placed_by}"
    ends: dict[int, float] = {}
    for block in blocks:
        at_ms += sum(_longest(block).values())
        ends[id(block)] = at_ms
    return ends


def _longest(block: Block) -> dict[int, float]:
    longest: dict[int, float] = {}
    for job in block.jobs:
        longest[job.group] = max(longest.get(job.group, 0.0), _fio.runtime_ms(job.directions))
    return longest


def _runs(blocks: list[Block]) -> list[_Run]:
    """Results by the process they are of. Those of one process and name that only grew are states of one run."""
    runs: list[_Run] = []
    latest: dict[tuple[str, int, int], _Run] = {}
    for block in blocks:
        labels = _fio.clone_names(job.name for job in block.jobs)
        for job, label in zip(block.jobs, labels, strict=True):
            key = (job.name, job.group, job.pid)
            known = latest.get(key)
            if known and known.block is not block and _fio.grew(job.directions, known.states[-1].directions):
                known.states.append(job)
                known.block = block
            else:
                latest[key] = _Run(label, [job], block)
                runs.append(latest[key])
    return runs


# Writing ---------------------------------------------------------------------------------------------------------


def _record_run(recorder: Recorder, options: ImportOptions, names: _fio.Names, found: _Run, end_ms: float) -> None:
    job = found.states[-1]
    entity = EntityRef(_fio.system_of(options), "job", found.label)
    runtime = _fio.runtime_ms(job.directions)
    group_ends = _fio.phase_ends_ms(end_ms, list(_longest(found.block).items()), None)
    start_ns = _fio.instant_ns(group_ends[job.group] - runtime)
    duration_ns = round(runtime * units.NS_PER_MS)
    sections = _sections(job, found.block)
    depth = _depth(recorder, job, sections)
    pattern = sections[0].options["rw"] if len(sections) == 1 else None
    run = recorder.run(
        names.run(found.label), engine="fio", engine_version=job.version, name=found.label, system=entity.system,
        time_ns=start_ns, duration_ns=duration_ns, block_bytes=_block_bytes(job, sections),
        read_ratio=_read_ratio(job, pattern),
        random_ratio=None if pattern is None else float(pattern.startswith("rand")), workers=job.processes,
        outstanding=None if depth is None else depth * job.processes, status=_fio.status_words(job.error),
        parameters=sections[0].options if len(sections) == 1 else {},
    )  # fmt: skip
    if "sync" in job.directions and job.directions["sync"].ops is None:
        recorder.omit("rates of flushes with fdatasync, which fio's text times and does not count")
    little = _fio.little_done(found.label, job.directions.values(), runtime, {})
    if little and not job.error:
        recorder.warn(little)
    history = [state.directions for state in found.states]
    for _, begin_ns, length_ns, added in _fio.intervals(history, start_ns):
        _fio.observe_directions(recorder, entity, begin_ns, length_ns, added, run=run)
    if duration_ns:
        _record_counters(recorder, entity, job, (start_ns, duration_ns), run)


def _sections(job: TextJob, block: Block) -> list[Definition]:
    """The sections that the result sums over: its own, and those of its group that have no result of their own."""
    shown = {(other.name, other.group) for other in block.jobs}
    return [found for found in job.announced if found.name == job.name or (found.name, found.group) not in shown]


def _depth(recorder: Recorder, job: TextJob, sections: list[Definition]) -> float | None:
    """I/Os in flight a process; None when one result merges sections of different depths (group_reporting)."""
    depths = {_announced_depth(found.options) for found in sections}
    if len(depths) > 1:
        recorder.warn(
            f"{job.name}: the result sums over sections of different depths (group_reporting), "
            "so the I/Os in flight are unknown."
        )
        return None
    if not depths:
        return job.depth if _was_queued(job) else None  # the engine is not known, and a synchronous one ignores iodepth
    announced = depths.pop()
    return announced if announced == 1.0 else job.depth or announced


def _was_queued(job: TextJob) -> bool:
    levels = {name.removeprefix("iodepth_level."): share for name, _, share in job.counters if "depth_level" in name}
    return job.depth == 1 or any(share for level, share in levels.items() if level != "1")


def _announced_depth(options: dict[str, str]) -> float | None:
    return 1.0 if options.get("ioengine") in _fio.SYNCHRONOUS_ENGINES else _fio.number(options.get("iodepth"))


def _block_bytes(job: TextJob, sections: list[Definition]) -> float | None:
    """The announced size; with different ones for reads and writes their mean over the I/Os that ran."""
    if len(sections) != 1:
        return None
    sizes = block_sizes(sections[0])
    counts = {way: job.directions[way].ops or 0.0 for way in ("read", "write") if way in job.directions}
    used = {sizes.get(way) for way, count in counts.items() if count} or {sizes.get("mixed")}
    if len(used) == 1 or None in used:
        return None if None in used else used.pop()
    return sum(count * (sizes[way] or 0.0) for way, count in counts.items()) / sum(counts.values())


def _read_ratio(job: TextJob, pattern: str | None) -> float | None:
    """1 or 0 as announced; of a mix, whose share is not printed, the one that ran."""
    plain = (pattern or "").split(":")[0]
    if plain in ("read", "randread", "write", "randwrite"):
        return float(plain.endswith("read"))
    reads, writes = (job.directions.get(way, _fio.Direction()).ops for way in ("read", "write"))
    if plain not in ("", "rw", "readwrite", "randrw") or reads is None or writes is None or not reads + writes:
        return None
    return reads / (reads + writes)


def _record_counters(recorder: Recorder, entity: EntityRef, job: TextJob, when: tuple[int, int], run: str) -> None:
    for name, part in job.parts.items():
        _record_part(recorder, entity, name, part, when, run)
    for name, unit, value in job.counters:
        recorder.counter(entity, *when, name, unit, value, run=run)


def _record_part(
    recorder: Recorder, entity: EntityRef, name: str, part: TextDirection, when: tuple[int, int], run: str
) -> None:
    for measure, values in part.times_ns.items():
        for key, value in values.items():
            recorder.counter(entity, *when, f"{name}.{measure}.{key}", "ns", value, run=run)
    for measure, percentiles in part.percentiles_ns.items():
        for percent, value in percentiles:
            recorder.counter(entity, *when, f"{name}.{measure}.p{percent:g}", "ns", value, run=run)
    for key, unit, value in part.samples:
        recorder.counter(entity, *when, f"{name}.{key}", unit, value, run=run)


def _record_disks(recorder: Recorder, options: ImportOptions, runs: list[_Run], ends_ms: dict[int, float]) -> None:
    """Disk lines stand for all jobs of the block in which they are."""
    system = _fio.system_of(options)
    blocks = {id(run.block): run.block for run in runs}
    for key, block in blocks.items():
        duration_ns = round(sum(_longest(block).values()) * units.NS_PER_MS)
        start_ns = _fio.instant_ns(ends_ms[key]) - duration_ns
        for disk in block.disks:
            _fio.record_disk(recorder, _device(system, disk), start_ns, duration_ns, disk.totals)
        for run in (run for run in runs if run.block is block):
            devices = [_device(system, disk) for disk in block.disks]
            _fio.link_to_disks(recorder, EntityRef(system, "job", run.label), devices, None)


def _device(system: str, disk: Disk) -> EntityRef:
    return EntityRef(system, "device", disk.name)


IMPORTER = Importer(
    name="fio_text",
    title="fio human output",
    supports="fio 1.59 to 2.16 (aggrb=) and 2.17 to 3.42 (BW=); captured with 3.33",
    how_to_capture="fio --output=result.txt job.fio   (better: --output-format=json+)",
    recognise=_recognise,
    read=_read,
    carries=(
        "runs with outstanding, block size and pattern", "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s",
        "write_bytes_per_s", "read_latency_ns_mean", "write_latency_ns_mean", "latency_ns_max",
        "percentiles, CPU, depth shares and bandwidth samples as counters",
        "busy_ratio and latency of the block devices",
    ),
    not_yet={"rates of the disk lines": "fio does not print how long it watched; totals are kept as counters"},
    never={"histograms": "the text has percentiles and coarse shares only", "job options": "only those of the heading"},
)  # fmt: skip
