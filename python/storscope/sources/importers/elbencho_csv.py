"""elbencho's results as CSV (--csvfile), 2.1.

Columns are found by their names. Each phase that moved data becomes a run with one observation, each that worked on
files and directories a run with counters; phases that did neither (SYNC) are counted. Amounts and times are those of
the last thread to end ('[last]'), so that rate x time is what was moved; those of the first ('[first]') are counters.
The date is when the phase ended, as its steps show. Seen in a capture of 2.1; a mix of reads and writes (--rwmixpct),
whose own columns are taken as writes beside those of reads, was not (unverified).

Beware: rates and amounts are whole numbers. Where all I/Os have the block size, the one of IOPS and MiB with more
digits makes both. Latencies are whole us. Quotes in the command are no CSV quotes, and its commas were made blanks.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._fio import Names, bounded_ms, number
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._whole_lines import whole_lines

_DEFAULT_SYSTEM = "elbencho-host"
_HEADING = re.compile(r"(?:\A|\n)ISO date,label,path type,")
_NEEDED = ("ISO date", "operation", "time ms [last]", "IOPS [last]", "MiB [last]")
_ASKED = (
    "label", "path type", "paths", "hosts", "threads", "dirs", "files", "file size", "block size", "direct IO",
    "random", "random aligned", "IO depth", "shared paths", "truncate", "operation", "command",
)  # fmt: skip
_MIX = re.compile(r"RWMIX(\d{1,3})?")
_MIXED = "rwmix read "
_UNITS = {"time ms": "ms", "MiB/s": "MiB/s", "CPU%": "%", "MiB": "MiB", "IOPS": "1/s", "entries/s": "1/s"}
_GREATEST = 2.0**62


@dataclass(frozen=True)
class _Phase:
    """One line by column."""

    cells: Mapping[str, str]

    def value(self, column: str) -> float | None:
        """A figure; None for an empty cell and what is negative."""
        found = number(self.cells.get(column, ""))
        return found if found is not None and 0 <= found <= _GREATEST else None

    @property
    def operation(self) -> str:
        return self.cells["operation"].strip()

    @property
    def seconds(self) -> float:
        """How long it took, to 1 ms, until the last thread had ended."""
        return (bounded_ms(self.cells["time ms [last]"]) or 0.0) / 1000

    @property
    def ended(self) -> dt.datetime | None:
        """Its date; with an offset from UTC."""
        try:
            found = dt.datetime.fromisoformat(self.cells["ISO date"].strip())
        except ValueError:
            return None
        return found if 1990 <= found.year < 2200 else None

    @property
    def has_entries(self) -> bool:
        """Whether it worked on files or directories."""
        return bool(self.value("entries [last]"))

    def moved(self, prefix: str = "") -> tuple[float, float] | None:
        """I/Os per second and bytes per second of its own columns, or of those of the mix's reads."""
        iops, mib = self.value(f"{prefix}IOPS [last]"), self.value(f"{prefix}MiB [last]")
        if iops is None or mib is None or not self.seconds:
            return None
        size_per_s, block = units.bytes_from_mib(mib) / self.seconds, self.value("block size")
        if not block:
            return iops, size_per_s
        # Both numbers are cut: the rate is up to 1/s greater, the amount up to 1 MiB.
        is_of_blocks = iops * block <= size_per_s + units.MIB / self.seconds and size_per_s <= (iops + 1) * block
        if not is_of_blocks:
            return iops, size_per_s
        return (size_per_s / block, size_per_s) if mib > iops else (iops, iops * block)


# Reading ---------------------------------------------------------------------------------------------------------


def _recognise(head: Head) -> float:
    return 0.97 if _HEADING.search(head.text) else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    phases = _phases(evidence, recorder)
    writer = _Writer(recorder, options, phases)
    for phase in phases:
        writer.phase(phase)


def _phases(evidence: Evidence, recorder: Recorder) -> list[_Phase]:
    columns: list[str] = []
    found: list[_Phase] = []
    for place, line in enumerate(whole_lines(evidence, recorder), 1):
        cells = line.split(",")
        if cells[0] == "ISO date":
            columns = [cell.strip() for cell in cells]
            if missing := [name for name in _NEEDED if name not in columns]:
                raise broken(evidence, f"the column {missing[0]!r} in elbencho's heading", line, line=place)
        elif not line.strip():
            continue
        elif not columns or len(cells) != len(columns):
            recorder.omit("lines that do not fit the heading")
        else:
            phase = _Phase(dict(zip(columns, cells, strict=True)))
            if phase.ended is None:
                recorder.omit("lines without a date")
            else:
                found.append(phase)
    if not found:
        raise broken(
            evidence, "lines of phases below 'ISO date,label,path type,...'", "none",
            hint="elbencho writes a line when a phase has ended; the file was cut, or the run was stopped.",
        )  # fmt: skip
    return found


# Writing ---------------------------------------------------------------------------------------------------------


class _Writer:
    """Turns phases into rows of the tables."""

    def __init__(self, recorder: Recorder, options: ImportOptions, phases: Sequence[_Phase]) -> None:
        self._recorder = recorder
        self._names = Names()
        self._system = options.system or _DEFAULT_SYSTEM
        self._clock = LocalClock(options.zone(), jumbled=True)
        versions = {phase.cells.get("version", "").strip() for phase in phases} - {""}
        notes = recorder.notes
        notes.tool, notes.tool_version, notes.system = "elbencho", "/".join(sorted(versions)) or None, self._system
        has_offsets = all(phase.ended is not None and phase.ended.tzinfo is not None for phase in phases)
        placed = "offset from UTC in the file" if has_offsets else options.zone_words()
        notes.clock = f"{placed}; the end of each phase, to the second"

    def phase(self, phase: _Phase) -> None:
        """A run, with its observation and counters."""
        moved, ended = phase.moved(), phase.ended
        if ended is None or not phase.seconds or not (moved or phase.has_entries):
            self._recorder.omit("phases that moved no data and made no entries (SYNC and the like)")
            return
        length_ns = round(phase.seconds * 1000) * units.NS_PER_MS
        when = (self._clock.instant(ended) - length_ns, length_ns)
        label = _label(phase)
        run = self._run(phase, label, when)
        job = EntityRef(self._system, "job", label)
        if moved:
            self._recorder.observe(job, *when, _values(phase, moved), run=run)
        for column in phase.cells:
            value = None if column in _ASKED or column in ("ISO date", "version") else phase.value(column)
            self._recorder.counter(job, *when, column, _unit(column), value, run=run)

    def _run(self, phase: _Phase, label: str, when: tuple[int, int]) -> str:
        hosts, threads, depth = (phase.value(name) for name in ("hosts", "threads", "IO depth"))
        workers = None if threads is None else threads * max(1.0, hosts or 1.0)
        random = phase.value("random")
        said = {name: phase.cells[name].strip() for name in _ASKED if phase.cells.get(name, "").strip()}
        return self._recorder.run(
            self._names.run(label), engine="elbencho", engine_version=phase.cells.get("version", "").strip() or None,
            name=label, system=self._system, time_ns=when[0], duration_ns=when[1],
            block_bytes=(phase.value("block size") or None) if phase.moved() else None, read_ratio=_read_ratio(phase),
            random_ratio=float(bool(random)) if random is not None and phase.moved() else None,
            outstanding=None if workers is None or not depth or not phase.moved() else workers * depth,
            workers=workers, status="ok", parameters=said,
        )  # fmt: skip


def _label(phase: _Phase) -> str:
    """The label that was given, and the load: 'nightly: WRITE 1 MiB sequential'."""
    words = [phase.operation or "unnamed phase"]
    block, random = phase.value("block size"), phase.value("random")
    if phase.moved() and block:
        words += [units.format_bytes(block), "random" if random else "sequential"]
    given = phase.cells.get("label", "").strip()
    return (f"{given}: " if given else "") + " ".join(words)


def _read_ratio(phase: _Phase) -> float | None:
    if match := _MIX.fullmatch(phase.operation):
        percent = float(match[1]) if match[1] else None
        return None if percent is None or percent > 100 else units.ratio_from_percent(percent)
    reads = {"READ": 1.0, "WRITE": 0.0}.get(phase.operation)
    return None if phase.moved(_MIXED) else reads


def _values(phase: _Phase, moved: tuple[float, float]) -> dict[str, float | None]:
    """Rates, sizes and latencies. The reads of a mix have columns of their own."""
    reads = phase.moved(_MIXED)
    own = "write" if reads or phase.operation != "READ" else "read"
    if not reads and phase.operation not in ("READ", "WRITE"):
        own = ""
    values = _of(own, moved, _latency_ns(phase, "avg"))
    values["latency_ns_max"] = max(
        (ns for prefix in ("", _MIXED) if (ns := _latency_ns(phase, "max", prefix))), default=None
    )
    if reads:
        values |= _of("read", reads, _latency_ns(phase, "avg", _MIXED))
        both = [(moved[0], _latency_ns(phase, "avg")), (reads[0], _latency_ns(phase, "avg", _MIXED))]
        ops = moved[0] + reads[0]
        timed = all(ns is not None for rate, ns in both if rate)
        mean = sum(rate * (ns or 0.0) for rate, ns in both) / ops if ops and timed else None
        values |= _of("", (ops, moved[1] + reads[1]), mean)
    elif own:
        other = {"read": "write", "write": "read"}[own]
        values |= _of("", moved, _latency_ns(phase, "avg")) | _of(other, (0.0, 0.0), None)
    return values


def _of(way: str, moved: tuple[float, float], latency_ns: float | None) -> dict[str, float | None]:
    prefix = f"{way}_" if way else ""
    return {
        f"{prefix}ops_per_s": moved[0], f"{prefix}bytes_per_s": moved[1],
        f"{prefix}latency_ns_mean": latency_ns if moved[0] else None,
    }  # fmt: skip


def _latency_ns(phase: _Phase, which: str, prefix: str = "") -> float | None:
    """Of an I/O; None for 0, which stands where nothing was timed."""
    us = phase.value(f"{prefix}IO lat us [{which}]")
    return units.ns_from_us(us) if us else None


def _unit(column: str) -> str:
    name = column.removeprefix(_MIXED).partition(" [")[0]
    return "us" if " lat us" in column else _UNITS.get(name, "")


IMPORTER = Importer(
    name="elbencho_csv",
    title="elbencho CSV results",
    supports="2.1 (--csvfile); --rwmixpct is unverified",
    how_to_capture="elbencho -w -r -b 1m -s 10g -t 8 --direct --lat --csvfile result.csv PATH",
    recognise=_recognise,
    read=_read,
    carries=(
        "runs with outstanding, block size, read and random ratio, threads",
        "ops_per_s, bytes_per_s and mean latency by direction", "latency_ns_max",
        "entries, CPU and the figures of the first thread to end as counters",
    ),
    not_yet={
        "the live CSV (--livecsv)": "amounts over time; its phases are in the result",
        "JSON (--jsonfile)": "no capture was at hand",
    },
    never={"percentiles": "the CSV has least, mean and greatest latencies", "host names": "only in the command"},
)  # fmt: skip
