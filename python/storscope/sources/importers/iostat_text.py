"""Linux `iostat` as text: extended (-x, both generations), short (-xs) and plain.

Layouts as in `iostat.c` of sysstat 7 to 12.6. A table is read by its heading, so columns may come and go: rsec/s of
old kernels, d/s and f/s of new ones, kB, MB (-m) or sectors (POSIXLY_CORRECT), the device first or last (--pretty),
four tables a report (-x --pretty), numbers with a decimal comma, numbers with a unit (--human).

Beware: the first report after each header covers the time since boot unless -y was given, which the text does not
say for -x; so it is left out unless --keep-first says otherwise (a plain table tells by its amounts). Without -t the
reports carry no time; give --start and --interval. --human leaves two or three digits. A file filtered by grep is read
as long as the headings are in it. A copy of a capture that still ran ends anywhere in a line, which is left out then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from storscope.domain import units
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._colours import without_colours
from storscope.sources.importers._iostat import FIELDS, Report, ReportWriter
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM
from storscope.sources.importers._stamps import Stamps, is_stamp, may_be_stamp
from storscope.sources.importers._whole_lines import whole_lines

_HEADER = re.compile(r"Linux \S+ \((?P<host>.*?)\)\s+(?P<date>\S.*?)(?:\s+_\S+_)?(?:\s+\(\d+ CPU\))?\s*")
_NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?")
_PLAIN = re.compile(r"(?:-?[0-9]+(?:\.[0-9]+)?(?: |$))+")
"""A row of numbers that `float` reads as they are meant."""
_HUMAN = re.compile(r"(-?[0-9]+(?:[.,][0-9]+)?)([sBkMGTP%])")
_SUFFIX_BYTES = {"s": 512.0, "B": 1.0, "k": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4, "P": 1024.0**5}
"""sysstat common.c, `cprintf_unit`: each step is 1,024."""

_WORD_BEFORE_TIME = re.compile(r"[^\W\d]+: +\d\d?\D")
"""Of sysstat before 9, in the words of the locale: 'Time: 10:00:00 PM'."""
_CUT = "lines that do not fit their heading (cut or damaged)"


def _recognise(head: Head) -> float:
    headings = [heading for line in head.lines if (heading := _heading(without_colours(line)))]
    if not headings:
        return 0.0
    return 0.95 if any(line.lstrip().startswith(("Linux ", "avg-cpu:")) for line in head.lines) else 0.75


@dataclass(frozen=True)
class _Heading:
    """The columns of a device table; `name_last` when --pretty puts the device behind its numbers."""

    fields: tuple[str, ...]
    name_last: bool
    even_decimals: bool
    """All columns are printed with as many decimals, so a number cut in half shows (plain tables end in totals)."""
    indent: int
    """Blanks before it, and so before each of its rows; a row with more of them is a group's (-g)."""


def _heading(line: str) -> _Heading | None:
    """The heading in `line`; None for any other line."""
    if "Device" not in line:
        return None
    words = line.split()
    if words[0].rstrip(":") == "Device":
        fields, name_last = words[1:], False
    elif words[-1] == "Device":
        fields, name_last = words[:-1], True
    else:
        return None
    known = sum(word in FIELDS for word in fields)
    if known < 2 or known < len(fields) / 2:
        return None
    indent = 0 if name_last else len(line) - len(line.lstrip())
    return _Heading(tuple(fields), name_last, "tps" not in fields or "await" in fields, indent)


def _is_stamp(text: str) -> bool:
    return (text[:1].isdigit() or _WORD_BEFORE_TIME.match(text) is not None) and is_stamp(text)


def _header(line: str) -> re.Match[str] | None:
    """The line that names kernel, host and date; 1,000 characters are more than a host name and a date have."""
    return _HEADER.fullmatch(line) if line.startswith("Linux ") and len(line) < 1_000 else None


def _joined(line: str) -> str | None:
    """The header at the end of a line that another capture had not finished; None for any other line."""
    start = line.find("Linux ", 1)
    return line[start:] if start > 0 and _header(line[start:]) else None


@dataclass
class _Reader:
    """Goes through the lines and hands complete reports to the writer."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    writer: ReportWriter
    _heading: _Heading | None = None
    _cpu_heading: tuple[str, ...] | None = None
    _stamp: str | None = None
    _devices: dict[str, dict[str, float]] = field(default_factory=dict)
    _cpu: dict[str, float] = field(default_factory=dict)
    _loose: str | None = None
    """The last line that belonged to nothing."""
    _warned: bool = False
    _begun: bool = False
    _filesystems: bool = False
    found_heading: bool = False

    def line(self, line: str) -> None:
        """Any line of the file; blanks before and behind it came with the copying."""
        text = line.strip()
        if header := _joined(text):
            self.recorder.omit(_CUT)
            text = header
        if not text:
            self._filesystems = False
        elif match := _header(text):
            self._flush()
            self._begin(match["host"], match["date"])
        elif _is_stamp(text):
            self._flush()
            self._stamp = text
        elif text.startswith("avg-cpu:"):
            self._wonder()
            self._flush_unless(not self._cpu and not self._devices)
            self._cpu_heading = tuple(word.strip("%") for word in text.split()[1:])
        elif heading := _heading(line):
            self._table(heading)
        elif text.startswith("Filesystem"):
            self._filesystems = True
        else:
            self._row(line.rstrip())

    def finish(self) -> None:
        """After the last line."""
        self._flush()
        self.writer.finish()

    def _wonder(self) -> None:
        """A table begins: what did not fit before it may be a time stamp in a form that is not known."""
        if self._loose and self._stamp is None and not self._warned and may_be_stamp(self._loose):
            self._warned = True
            self.recorder.warn(
                f"Time stamps like {self._loose!r} are not understood; the reports have no times. Capture with "
                "LC_ALL=C iostat -t, or with S_TIME_FORMAT=ISO."
            )
        self._loose = None

    def _table(self, heading: _Heading) -> None:
        self._wonder()
        self.found_heading = True
        new = set(heading.fields)
        self._flush_unless(all(new.isdisjoint(fields) for fields in self._devices.values()))
        self._heading = heading

    def _row(self, line: str) -> None:
        if "LINUX RESTART" in line:
            self._flush()
            self._begin(None, None)
        elif self._filesystems:
            self.recorder.omit("file system lines (iostat -n)")
        elif self._cpu_heading is not None:
            self._cpu_row(line, self._cpu_heading)
        elif self._heading is None:
            self._loose = line.strip()
            self.recorder.omit("lines before the first table")
        else:
            self._device_row(line, self._heading)

    def _cpu_row(self, line: str, names: tuple[str, ...]) -> None:
        self._cpu_heading = None
        words = line.split()
        try:
            found = {name: _number(word, name) for name, word in zip(names, words, strict=True)}
        except ValueError:
            self.recorder.omit(_CUT)
            return
        if found and _is_cut(words):
            self.recorder.omit(_CUT)
            return
        self._cpu = found

    def _device_row(self, line: str, heading: _Heading) -> None:
        count = len(heading.fields)
        if line[: heading.indent].isspace():
            line = line[heading.indent :]
        parts = line.split(None, count) if heading.name_last else line.rsplit(None, count)
        if len(parts) != count + 1:
            self._loose = line.strip()
            self.recorder.omit(_CUT)
            return
        name, words = (parts[-1], parts[:-1]) if heading.name_last else (parts[0], parts[1:])
        is_plain = _PLAIN.fullmatch(" ".join(words)) is not None
        try:
            numbers = map(float, words) if is_plain else map(_number, words, heading.fields)
            values = dict(zip(heading.fields, numbers, strict=True))
        except ValueError:
            self.recorder.omit(_CUT)
            return
        if heading.even_decimals and _is_cut(words):
            self.recorder.omit(_CUT)
            return
        if not is_plain and not self.recorder.notes.warnings and any(word[-1] in _SUFFIX_BYTES for word in words):
            self.recorder.warn("Captured with --human or -h: sizes have two or three digits. Capture without it.")
        self._keep(name, values)

    def _keep(self, name: str, values: dict[str, float]) -> None:
        """A device that comes again with other numbers begins a report whose heading was filtered out."""
        fields = self._devices.get(name)
        if fields is None:
            self._devices[name] = values
        elif fields.keys().isdisjoint(values):
            fields |= values
        elif fields != values:
            self._flush()
            self._devices[name] = values

    def _begin(self, host: str | None, date: str | None) -> None:
        system = self.options.system or host or self.recorder.notes.system or DEFAULT_LINUX_SYSTEM
        self.recorder.notes.system = self.recorder.notes.system or system
        self.writer.begin(system, date)
        self._begun = True

    def _flush_unless(self, nothing_new: bool) -> None:
        if not nothing_new:
            self._flush()

    def _flush(self) -> None:
        if self._devices or self._cpu:
            if not self._begun:
                self._begin(None, None)
            self.writer.add(Report(self._stamp, self._devices, self._cpu))
        self._devices, self._cpu, self._stamp, self._cpu_heading = {}, {}, None, None


def _number(word: str, column: str) -> float:
    """A printed number in the unit of its column; raises ValueError for anything else."""
    if _NUMBER.fullmatch(word):
        return float(word.replace(",", "."))
    match = _HUMAN.fullmatch(word)
    if match is None:
        raise ValueError(word)
    value = float(match[1].replace(",", "."))
    return value if match[2] == "%" else value * _SUFFIX_BYTES[match[2]] / _column_bytes(column)


def _column_bytes(column: str) -> float:
    if "MB" in column:
        return float(units.MIB)
    if "sec/s" in column or "Blk" in column:
        return float(units.SECTOR_BYTES)
    return float(units.KIB)


def _is_cut(words: list[str]) -> bool:
    """True when the last number of a line has fewer decimals than the first, as all have the same when complete."""
    first, last = (word.replace(",", ".") for word in (words[0], words[-1]))
    return last[-1:].isdigit() and len(last.partition(".")[2]) < len(first.partition(".")[2])


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "iostat"
    stamps = _learn(evidence, options)
    reader = _Reader(evidence, recorder, options, ReportWriter(recorder, options, stamps))
    for line in whole_lines(evidence, recorder):
        reader.line(without_colours(line))
    reader.finish()
    if not reader.found_heading:
        raise broken(
            evidence, "a line that begins with 'Device' and names iostat's columns", "none",
            hint="Capture with: iostat -x -y -t 10",
        )  # fmt: skip


def _learn(evidence: Evidence, options: ImportOptions) -> Stamps:
    """One pass over the stamps and dates alone: their order is only known at the end."""
    stamps = Stamps(options)
    for line in Evidence(evidence.path, evidence.name).lines():
        text = without_colours(line).strip()
        text = _joined(text) or text
        if _is_stamp(text):
            stamps.learn(text)
        elif match := _header(text):
            stamps.pause()
            stamps.learn(match["date"])
    return stamps


IMPORTER = Importer(
    name="iostat_text",
    title="Linux iostat, text",
    supports=(
        "sysstat 7 to 12.7, -x of both generations, -xs and plain, -t in the common locales and ISO, -k, -m, -p, -g, "
        "-N, -z, --dec, --pretty, --human; several captures in one file; seen 12.6.1"
    ),
    how_to_capture="S_TIME_FORMAT=ISO iostat -x -y -t 10 > iostat.txt",
    recognise=_recognise,
    read=_read,
    version=3,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
        "write_latency_ns_mean", "queue_depth_mean", "busy_ratio", "cpu_busy_ratio", "-xs and plain: ops_per_s",
        "-xs and old -x: latency_ns_mean", "merges, discards, flushes and processor states as counters",
    ),
    not_yet={"NFS lines of iostat -n": "removed from sysstat in 2013; nfsiostat is another format"},
    never={
        "latency percentiles": "the kernel's disk statistics keep sums only",
        "latency in plain tables": "iostat without -x does not print it",
    },
)  # fmt: skip
