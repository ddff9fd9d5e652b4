"""The text of fio job files: sections, options with the lines they stand on, sizes and times. No meaning.

Supports what fio 2 and 3 read: `[global]` sections that hold for the jobs below them, comments with ; and #, options
with and without a value, values for reads, writes and trims split by commas, ${NAME} for what the environment has
(names of files keep it, since a run has targets of its own). Refuses include files and options before
the first section. Checked against fio 3.33: with kb_base=1024, its default, 4k, 4kb and 4ki are 4096, 4kib is 4000.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from storscope.domain.errors import MalformedInput

ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "ba": "blockalign",
    "blocksize_range": "bsrange",
    "fileoffset": "offset",
    "io_limit": "io_size",
    "iodepth_batch_complete": "iodepth_batch_complete_min",
    "rwmixcycle": "rwmix_cycle",
    "sync_file": "sync",
    "minsize": "size",
    "timeout": "runtime",
    "nr_files": "nrfiles",
    "ratemin": "rate_min",
    "ratecycle": "rate_cycle",
    "fill_fs": "fill_device",
    "blocksize_unaligned": "bs_unaligned",
}
"""Other names of an option (fio's options.c, field `alias`)."""

_TIME_NS = {
    "us": 10**3, "usec": 10**3, "usecs": 10**3, "ms": 10**6, "msec": 10**6, "msecs": 10**6,
    "s": 10**9, "sec": 10**9, "secs": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "mins": 60 * 10**9,
    "h": 3600 * 10**9, "hr": 3600 * 10**9, "hrs": 3600 * 10**9, "d": 86400 * 10**9,
}  # fmt: skip
VARIABLE = re.compile(r"\$\{([^{}]+)\}")
_NAMES_OF_FILES = ("filename", "directory")
LONGEST_LINE_BYTES = 4094
"""What stands behind the buffer that fio reads lines into is a line of its own to it, and may be any option, such as
`exec_prerun`. 3.33 takes 8,190 bytes; its buffer once had half the size (OPT_LEN_MAX in fio's init.c)."""
LONGEST_NAME_BYTES = 240
"""Of a section; fio takes 254 (its format is `[%255[^\\n]]`), and `job ` may come before it."""
_MOST_SECTIONS = 1_000
_MOST_OPTIONS = 1_000


@dataclass(frozen=True)
class Option:
    """An option as written, and where. A flag without a value has the value '1'."""

    name: str
    value: str
    line: int
    section: str

    @property
    def where(self) -> str:
        """Section and line, for losses and errors."""
        return f"[{self.section}] line {self.line}"

    @property
    def text(self) -> str:
        """As it stands in the file."""
        return f"{self.name}={self.value[:80]}"


@dataclass
class Section:
    """A job with all options that hold for it: its own and those of the global sections above it."""

    name: str
    options: dict[str, Option] = field(default_factory=dict)


def parse_jobs(text: str, where: str, environment: Mapping[str, str]) -> list[Section]:
    """The jobs in their order. Raises MalformedInput with the line."""
    jobs: list[Section] = []
    common: dict[str, Option] = {}
    current: Section | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.split("[;#]", raw, maxsplit=1)[0].strip()
        header = re.fullmatch(r"\[(.*)\]", line)
        if header:
            is_global = header[1].strip().lower() == "global"
            current = Section(header[1].strip() or "unnamed", common if is_global else dict(common))
            if not is_global:
                jobs.append(current)
        elif line:
            _check_place(line, current, where, number, len(jobs))
            assert current is not None
            option = _option(line, number, current.name, environment)
            current.options[option.name] = option
    if not jobs:
        raise MalformedInput("a job section like [name]", "none", where=where)
    return jobs


def _check_place(line: str, current: Section | None, where: str, number: int, jobs: int) -> None:
    at = f"{where}, line {number}"
    if line.startswith("include "):
        raise MalformedInput(
            "options", f"{line[:60]!r}", where=at, hint="Put the included file's text here; fio reads it the same way."
        )
    if current is None or not re.match(r"[a-zA-Z_][\w-]*\s*(=|$)", line):
        raise MalformedInput("a section like [global], then options like bs=4k", repr(line[:60]), where=at)
    if jobs > _MOST_SECTIONS or len(current.options) > _MOST_OPTIONS:
        raise MalformedInput(f"at most {_MOST_SECTIONS} jobs of {_MOST_OPTIONS} options", "more", where=at)


def _option(line: str, number: int, section: str, environment: Mapping[str, str]) -> Option:
    name, equals, value = (part.strip() for part in line.partition("="))
    if name not in _NAMES_OF_FILES:
        value = VARIABLE.sub(lambda found: environment.get(found[1], found[0]), value)
    return Option(ALIASES.get(name, name), value if equals else "1", number, section)


def size_of(option: Option, text: str, where: str, kb_base: int = 1024) -> int:
    """Bytes. Raises MalformedInput for what is no size."""
    match = re.fullmatch(r"(0x[0-9a-f]{1,16}|\d{1,20}(?:\.\d{1,9})?)\s*([kmgtpe]?)(ib|i|b|)", text.strip().lower())
    if match is None:
        raise MalformedInput(f"a size for {option.name}", repr(text[:40]), where=f"{where}, {option.where}")
    other = {1024: 1000, 1000: 1024}.get(kb_base, 1024)
    factor = (other if match[3] == "ib" else kb_base) ** (" kmgtpe".index(match[2]) if match[2] else 0)
    count = int(match[1], 16) if match[1].startswith("0x") else float(match[1]) if "." in match[1] else int(match[1])
    size = int(count * factor)
    if size >= 2**63:
        raise MalformedInput(f"a size below 8 EiB for {option.name}", repr(text[:40]), where=f"{where}, {option.where}")
    return size


def time_of(option: Option, where: str, unit: str = "s") -> int:
    """Nanoseconds; a plain number is in `unit`."""
    match = re.fullmatch(r"(\d{1,15})\s*([a-z]*)", option.value.strip().lower())
    if match is None or (match[2] or unit) not in _TIME_NS:
        raise MalformedInput(f"a time for {option.name}", repr(option.value[:40]), where=f"{where}, {option.where}")
    return int(match[1]) * _TIME_NS[match[2] or unit]


def integer_of(option: Option, text: str, where: str, greatest: int = 2**31 - 1, *, kb_base: int = 1024) -> int:
    """A whole number, in thousands and so on as sizes are: fio 3.33 takes rate_iops=1k for 1,024."""
    match = re.fullmatch(r"(\d{1,10})\s*([kmg]?)", text.strip().lower())
    found = int(match[1]) * kb_base ** " kmg".index(match[2] or " ") if match else -1
    if not 0 <= found <= greatest:
        expected = f"a number from 0 to {greatest} for {option.name}"
        raise MalformedInput(expected, repr(text[:40]), where=f"{where}, {option.where}")
    return found


def time_text(seconds: float) -> str:
    """A time as options take it."""
    return f"{seconds:.0f}s" if seconds == round(seconds) else f"{round(seconds * 1e6)}us"


def is_plain_name(name: str) -> bool:
    """Whether fio takes a name as it is written, once its colons are escaped (fio 3.33).

    A backslash at the end would escape the colon that follows; fio expands $ before it looks for comments, so that no
    variable can hold the other names either.
    """
    marks = any(mark in name for mark in ";#$")
    return bool(name) and name == name.strip() and name.isprintable() and not marks and not name.endswith("\\")
