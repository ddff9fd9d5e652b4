"""The text of Iometer's configuration files (.icf): sections, keys and numbers, without their meaning.

Supports what Iometer 1998 to 1.1.0 writes: CR LF or LF, a tab or nothing before values, access specifications with
and without names (before 1998.05.21), one or two keys for the workers to spawn, target settings with and without seed
and data pattern. Sections may be missing. Refuses numbers that are none, percentages that do not add up to 100, and a
section that breaks off. Layout from Iometer's own reader (Pages and ManagerList of the GUI, 1.1.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from storscope.bench.workloads.loss import LossList
from storscope.domain.errors import MalformedInput
from storscope.domain.units import bytes_from_text

TEST_TYPES = (
    "NORMAL",
    "CYCLE_TARGETS",
    "CYCLE_WORKERS",
    "INCREMENT_TARGETS_PARALLEL",
    "INCREMENT_TARGETS_SERIAL",
    "CYCLE_WORKERS_AND_TARGETS",
    "CYCLE_OUTSTANDING_IOS",
    "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
)
"""In the order of their numbers, 0 to 7, which older files write."""
STEP_TYPES = ("LINEAR", "EXPONENTIAL")
ASSIGNMENTS = ("NONE", "ALL", "DISK", "NET")
MOST_LINES = 100
"""Lines of an access specification: a slot for each per cent."""
_MOST_WORKERS = 1024
_MOST_TARGETS = 1024
_GREATEST = 2**63 - 1


@dataclass(frozen=True)
class IcfLine:
    """A line of an access specification in Iometer's units: bytes, per cent, milliseconds."""

    size: int
    share: int
    reads: int
    random: int
    delay_ms: int
    burst: int
    align: int = 0
    reply: int = 0


@dataclass(frozen=True)
class IcfSpec:
    """A named access specification; `assignment` says which new workers get it."""

    name: str
    assignment: str
    lines: tuple[IcfLine, ...]


@dataclass(frozen=True)
class Cycling:
    """From `start` on, plus or times `step`; `end` is None where the number of workers or targets ends it."""

    start: int
    end: int | None
    step: int
    step_type: str


@dataclass(frozen=True)
class Setup:
    """The section TEST SETUP, as far as it concerns what is asked of the storage."""

    description: str = ""
    run_time_s: int = 0
    ramp_up_s: int = 0
    disk_workers: str = "NUMBER_OF_CPUS"
    test_type: str = "NORMAL"
    worker_cycling: Cycling | None = None
    disk_cycling: Cycling | None = None
    queue_cycling: Cycling | None = None


@dataclass(frozen=True)
class IcfWorker:
    """A worker with its target settings; sectors are of 512 bytes, `pattern` is None where the file has none."""

    name: str
    manager: str = ""
    type: str = "DISK"
    outstanding: int = 1
    max_sectors: int = 0
    start_sector: int = 0
    pattern: int | None = None
    specs: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass
class IcfFile:
    """The whole file."""

    setup: Setup = field(default_factory=Setup)
    specs: list[IcfSpec] = field(default_factory=list)
    workers: list[IcfWorker] = field(default_factory=list)


@dataclass
class _Entry:
    """A key with the data lines below it."""

    key: str
    line: int
    data: list[tuple[int, str]] = field(default_factory=list)

    @property
    def value(self) -> str:
        return self.data[0][1] if self.data else ""

    @property
    def value_line(self) -> int:
        return self.data[0][0] if self.data else self.line


_SECTIONS = ("test setup", "results display", "access specifications", "manager list")
_KEYS = (
    "test description", "run time", "ramp up time", "default disk workers", "default network workers",
    "default workers", "record results", "worker cycling", "disk cycling", "queue depth cycling", "test type",
    "access specification name", "size", "manager id", "manager network address", "worker type", "worker",
    "default target settings", "number of outstanding", "disk maximum size", "local network interface",
    "vi outstanding", "assigned access specs", "target assignments", "target type", "target manager id", "target",
    "end",
)  # fmt: skip
"""Beginnings of the lines that are keys; other lines with an apostrophe are headings of columns."""


def parse_icf(text: str, where: str, losses: LossList) -> IcfFile:
    """The content of an .icf. Raises MalformedInput with the line for what contradicts the format."""
    return _Reader(text, where, losses).read()


class _Reader:
    def __init__(self, text: str, where: str, losses: LossList) -> None:
        self.lines = [line.strip() for line in text.splitlines()]
        self.where = where
        self.losses = losses

    def read(self) -> IcfFile:
        if not re.match(r"version\s+\d", self.lines[0] if self.lines else "", re.IGNORECASE):
            self.fail(1, "the line 'Version x.y.z'", repr((self.lines or [""])[0][:40]))
        tail = next((line for line in reversed(self.lines) if line), "")
        if not re.match(r"version\s+\d", tail, re.IGNORECASE) or len(self.lines) == 1:
            self.losses.approximated("last line", repr(tail[:40]), "not the line 'Version': the file may be cut off")
        found = IcfFile()
        found.setup = self.setup(list(self.section("test setup")))
        if any(_is_header(line, "results display") for line in self.lines):
            self.losses.elsewhere("RESULTS DISPLAY", "bar charts and update interval", "what Iometer's window shows")
        found.specs = self.specs(list(self.section("access specifications")))
        found.workers = list(self.workers(list(self.section("manager list"))))
        return found

    def fail(self, line: int, expected: str, found: str, hint: str = "") -> None:
        raise MalformedInput(expected, found, where=f"{self.where}, line {line}", hint=hint)

    # Structure ------------------------------------------------------------------------------------------------------

    def section(self, name: str) -> Iterator[_Entry]:
        """The entries of a section; none if the file lacks it."""
        start = next((at for at, line in enumerate(self.lines) if _is_header(line, name)), None)
        if start is None:
            return
        end = next((at for at in range(start + 1, len(self.lines)) if self.ends(at, name)), None)
        if end is None:
            self.fail(len(self.lines), f"the line 'END {name}", "the end of the file", "The file was cut off.")
        yield from self.entries(start + 1, end or start)

    def ends(self, at: int, name: str) -> bool:
        line = self.lines[at].lower()
        ended = line.startswith(f"'end {name}") or any(_is_header(line, other) for other in _SECTIONS)
        # Files before 1999.02.17 may lack the end of the first section.
        return ended or (name == "test setup" and line.startswith("version "))

    def entries(self, start: int, end: int) -> Iterator[_Entry]:
        entry = _Entry("", start)
        for at in range(start, end):
            line = self.lines[at]
            if not line.startswith("'"):
                entry.data.append((at + 1, line))
                continue
            key = line[1:].strip().lower()
            if key.startswith(_KEYS):
                yield entry
                entry = _Entry(key, at + 1)
            elif any(value for _, value in entry.data):
                self.losses.lost(f"line {at + 1}", line[:60], "a key that storscope does not know")
        yield entry

    # Values ---------------------------------------------------------------------------------------------------------

    def integer(self, text: str, line: int, greatest: int = _GREATEST) -> int:
        """The number a text begins with, as atoi reads it."""
        match = re.match(r"\s*(\d{1,25})(?!\d)", text)
        if match is None or int(match[1]) > greatest:
            self.fail(line, f"a number from 0 to {greatest}", repr(text[:40]))
        return int(match[1]) if match else 0

    def bytes(self, text: str, line: int) -> int:
        """A size; '4K' as its author meant it, not as Iometer does."""
        count = self.integer(text, line, 2**40)
        if re.fullmatch(r"\s*\d+\s*", text):
            return count
        try:
            size = bytes_from_text(text)
        except ValueError:
            size = 0
        if size == 0:
            self.fail(line, "a size in bytes", repr(text[:40]))
        self.losses.approximated(
            f"line {line}", repr(text), f"taken as {size} bytes; Iometer stops at the letter and reads {count}"
        )
        return size

    def choice(self, text: str, line: int, known: Sequence[str]) -> str:
        """A word, or its number in older files."""
        word = text.strip().upper()
        if word.isascii() and word.isdigit() and len(word) < 3 and int(word) < len(known):
            return known[int(word)]
        if word not in known:
            self.fail(line, " or ".join(known), repr(text[:40]))
        return word

    # Sections -------------------------------------------------------------------------------------------------------

    def setup(self, entries: Sequence[_Entry]) -> Setup:
        setup = Setup()
        for entry in entries:
            setup = self.setup_entry(setup, entry)
        return setup

    def setup_entry(self, setup: Setup, entry: _Entry) -> Setup:
        key, value, line = entry.key, entry.value, entry.value_line
        if key.startswith("test description"):
            return replace(setup, description=value)
        if key.startswith("run time"):
            parts = [self.integer(part, line, 10**6) for part in (value.split() + ["0"] * 3)[:3]]
            return replace(setup, run_time_s=parts[0] * 3600 + parts[1] * 60 + parts[2])
        if key.startswith("ramp up time"):
            return replace(setup, ramp_up_s=self.integer(value, line, 10**9))
        if key.startswith(("default disk workers", "default workers")):
            return replace(setup, disk_workers="NUMBER_OF_CPUS" if value.strip() in {"", "0"} else value.upper())
        return self.setup_kind(setup, entry)

    def setup_kind(self, setup: Setup, entry: _Entry) -> Setup:
        key, value, line = entry.key, entry.value, entry.value_line
        if key.startswith("test type"):
            return replace(setup, test_type=self.choice(value, line, TEST_TYPES))
        if key.startswith("worker cycling"):
            return replace(setup, worker_cycling=self.cycling(entry, has_end=False))
        if key.startswith("disk cycling"):
            return replace(setup, disk_cycling=self.cycling(entry, has_end=False))
        if key.startswith("queue depth cycling"):
            return replace(setup, queue_cycling=self.cycling(entry, has_end=True))
        if key.startswith("record results") and value.upper() not in {"ALL", "0"}:
            self.losses.elsewhere(f"line {line}", f"Record Results {value[:40]}", "what Iometer writes down")
        return setup

    def cycling(self, entry: _Entry, *, has_end: bool) -> Cycling:
        parts, line = entry.value.split(), entry.value_line
        if len(parts) != 3 + has_end:
            self.fail(line, f"{3 + has_end} values", repr(entry.value[:40]))
        numbers = [self.integer(part, line, 10**6) for part in parts[:-1]]
        end = numbers[1] if has_end else None
        return Cycling(numbers[0], end, numbers[-1], self.choice(parts[-1], line, STEP_TYPES))

    def specs(self, entries: Sequence[_Entry]) -> list[IcfSpec]:
        if not any(entry.key.startswith("access specification name") for entry in entries):
            return self.unnamed_specs([row for entry in entries for row in entry.data if row[1]])
        specs: list[IcfSpec] = []
        name, assignment, line = "", "NONE", 0
        for entry in entries:
            if entry.key.startswith("access specification name"):
                name, _, word = entry.value.partition(",")
                line = entry.value_line
                assignment = self.choice(word or "NONE", line, ASSIGNMENTS)
            elif entry.key.startswith("size"):
                rows = [self.line(text.split(","), at, 8) for at, text in entry.data if text]
                self.check_shares(rows, line, name)
                specs.append(IcfSpec(name.strip(), assignment, tuple(rows)))
        return specs

    def unnamed_specs(self, rows: Sequence[tuple[int, str]]) -> list[IcfSpec]:
        """Before 1998.05.21: lines of six numbers without names; a specification ends when it reaches 100 %."""
        specs: list[IcfSpec] = []
        lines: list[IcfLine] = []
        for at, text in rows:
            lines.append(self.line(re.split(r"[\s,]+", text.strip()), at, 6))
            if sum(line.share for line in lines) >= 100:
                self.check_shares(lines, at, f"specification {len(specs) + 1}")
                specs.append(IcfSpec(_own_name(lines, len(specs) + 1), "NONE", tuple(lines)))
                lines = []
        if lines:
            self.check_shares(lines, rows[-1][0], f"specification {len(specs) + 1}")
        return specs

    def line(self, parts: Sequence[str], at: int, columns: int) -> IcfLine:
        if len(parts) < columns or any(part.strip() for part in parts[columns:]):
            self.fail(at, f"{columns} numbers", repr(",".join(parts)[:60]))
        percents = [self.integer(part, at, 100) for part in parts[1:4]]
        delay, burst = self.integer(parts[4], at, 10**9), self.integer(parts[5], at, 10**9)
        sizes = [self.bytes(part, at) for part in (parts[0], *parts[6:columns])]
        if burst == 0 or sizes[0] == 0:
            self.fail(at, "a size and a burst of at least 1", repr(",".join(parts)[:60]))
        share, reads, random = percents
        align, reply = (*sizes[1:], 0, 0)[:2]
        return IcfLine(sizes[0], share, reads, random, delay, burst, align, reply)

    def check_shares(self, lines: Sequence[IcfLine], at: int, name: str) -> None:
        total = sum(line.share for line in lines)
        if total != 100 or len(lines) > MOST_LINES:
            found = f"{total} in {len(lines)} lines"
            self.fail(at, f"shares of {name!r} that add up to 100", found, "Iometer refuses such a specification.")

    def workers(self, entries: Sequence[_Entry]) -> Iterator[IcfWorker]:
        manager, worker, count = "", None, 0
        for entry in entries:
            if entry.key.startswith("manager id"):
                manager = entry.value.partition(",")[2].strip()
            elif entry.key == "worker":
                worker = IcfWorker(entry.value, manager)
            elif entry.key.startswith("end worker") and worker is not None:
                count += 1
                if count > _MOST_WORKERS:
                    self.fail(entry.line, f"at most {_MOST_WORKERS} workers", "more")
                yield worker
                worker = None
            elif worker is not None:
                worker = self.worker_entry(worker, entry)
        if worker is not None:
            self.fail(entries[-1].line, "the line 'End worker", "the end of the section")

    def worker_entry(self, worker: IcfWorker, entry: _Entry) -> IcfWorker:
        key, parts, line = entry.key, entry.value.split(","), entry.value_line
        if key.startswith("worker type"):
            return replace(worker, type=parts[0].strip().upper())
        if key.startswith("number of outstanding"):
            self.note_connections(parts, line)
            return replace(worker, outstanding=max(1, self.integer(parts[0], line, 32_768)))
        if key.startswith("disk maximum size"):
            sectors = [self.integer(part, line, 2**54) for part in (*parts[:2], "0")[:2]]
            pattern = self.integer(parts[2], line, 2) if len(parts) > 2 else None
            return replace(worker, max_sectors=sectors[0], start_sector=sectors[1], pattern=pattern)
        if key.startswith("assigned access specs"):
            return replace(worker, specs=tuple(text for _, text in entry.data if text))
        if key == "target":
            if len(worker.targets) >= _MOST_TARGETS:
                self.fail(line, f"at most {_MOST_TARGETS} targets of a worker", "more")
            return replace(worker, targets=(*worker.targets, entry.value))
        return worker

    def note_connections(self, parts: Sequence[str], line: int) -> None:
        if len(parts) > 1 and parts[1].strip().upper() in {"ENABLED", "1"}:
            what = f"test connection rate, {(parts[2] if len(parts) > 2 else '?')[:20]} transactions per connection"
            self.losses.lost(f"line {line}", what, "a workload does not open and close its targets")
        if len(parts) > 3 and parts[3].strip().upper() in {"ENABLED", "1"}:
            self.losses.elsewhere(f"line {line}", f"fixed seed {parts[-1].strip()[:20]}", "the seed is of the run")


def _is_header(line: str, name: str) -> bool:
    return line[:1] == "'" and line[1:].strip().lower().startswith(f"{name} =")


def _own_name(lines: Sequence[IcfLine], number: int) -> str:
    """A name for a specification of a file that has no names."""
    if len(lines) > 1:
        return f"Specification {number}"
    line = lines[0]
    return f"{line.size} B; {line.reads}% Read; {line.random}% random"
