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

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._iometer import (
    ROW_TYPES,
    Spec,
    header_of,
    moment,
    row_of,
    spec_line,
)
from storscope.sources.importers._iometer_sheet import HEADING, lines_as_written
from storscope.sources.importers._iometer_steps import Setup, Step, StepWriter

_HEADING = re.compile(r"(?:TimeStamp,)?'Target Type,Target Name,")


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
        self._writer = StepWriter(recorder, options)
        self._setup = Setup()
        self._section = ""
        self._spec: Spec | None = None
        self._header: list[str] = []
        self._step = Step()
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
            self._setup = Setup()
        self._section = key

    def _said(self, line: str) -> None:
        if self._section == "time stamp":
            at = moment(line)
            self._setup.started = self._setup.started or at
            self._end_step(at)
            self._writer.passed = at
        elif self._section == "version":
            self._setup.version = self._recorder.notes.tool_version = line.strip()
        elif self._section.startswith("test type"):
            self._setup.kind, _, self._setup.description = line.partition(",")
        elif self._section.startswith("access specification name"):
            name = line.split(",", maxsplit=1)[0].strip()
            self._spec = self._setup.specs[name] = Spec(name)
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
            self._writer.update(self._setup, row)
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
                self._writer.step(self._setup, self._step)
        self._step = Step()

    def _is_new(self, step: Step) -> bool:
        """False for what an earlier part of the file has to the last figure and the time: it was joined with itself."""
        known = (step.ended, *(tuple(row.fields.items()) for row in step.rows))
        if step.ended is None or known not in self._known:
            self._known.add(known)
            return True
        self._recorder.omit("steps that are in the file twice")
        return False


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
