"""What an importer is, and what it may be told.

An importer is one module in `importers/` that ends in one value: `IMPORTER = Importer(...)`. It is registered by one
line in `importers/__init__.py`. Help, catalogue and docs are made from what it says here.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from storscope.domain.errors import MalformedInput
from storscope.domain.recorder import Recorder
from storscope.domain.visible import visible
from storscope.sources.evidence import Evidence, Head


@dataclass(frozen=True)
class ImportOptions:
    """What the user says about the evidence because the evidence does not."""

    timezone: zoneinfo.ZoneInfo | None = None
    """Zone of times that carry none. None: UTC is assumed, and the capture says so."""
    start: dt.datetime | None = None
    """Instant of the first sample, for sources without times; naive values are in `timezone`."""
    interval_s: float | None = None
    """Sampling interval for sources that do not state it."""
    system: str | None = None
    """Name of the host or array, for sources that do not state it."""
    year: int | None = None
    """Year of log lines that carry none (ESX 3 and 4). None: the year that puts the last line before now."""
    day_first: bool | None = None
    """Whether dates like 03/04/2026 mean the 3rd of April. None: as the file tells, else as is usual."""
    keep_first: bool = False
    """The first report of iostat is data: it was run with -y."""

    def zone(self) -> dt.tzinfo:
        """The zone to place naive times in."""
        return self.timezone or dt.UTC

    def zone_words(self) -> str:
        """How naive times were placed, for the capture's `clock`."""
        if self.timezone is None:
            return "no zone in the source; taken as UTC (set --timezone)"
        return f"no zone in the source; placed by --timezone {self.timezone.key}"

    def as_text(self) -> dict[str, str]:
        """The options that were set, as they are recorded with the capture."""
        values = {
            "timezone": self.timezone.key if self.timezone else None,
            "start": self.start.isoformat() if self.start else None,
            "interval_s": self.interval_s,
            "system": self.system,
            "year": self.year,
            "day_first": self.day_first,
            "keep_first": self.keep_first or None,
        }
        return {name: str(value) for name, value in values.items() if value is not None}


def start_in(start: dt.datetime | None, timezone: zoneinfo.ZoneInfo | None) -> dt.datetime | None:
    """An instant that a user names, in UTC; without a zone it is in `timezone`, or else in UTC."""
    if start is None:
        return None
    return (start if start.tzinfo else start.replace(tzinfo=timezone or dt.UTC)).astimezone(dt.UTC)


@dataclass(frozen=True)
class Importer:
    """One format: how it is recognised, how it is read, and what it carries."""

    name: str
    """As given to --as: 'iostat_json'."""
    title: str
    """As a person would say it: 'Linux iostat -x, JSON'."""
    supports: str
    """Versions and variants that were seen or read in the tool's source."""
    how_to_capture: str
    """The command that makes such a file."""
    recognise: Callable[[Head], float]
    """How sure it is that this is its format, 0 to 1. Looks at content, never at the name. Must not raise."""
    read: Callable[[Evidence, Recorder, ImportOptions], None]
    """Writes everything to the recorder. Raises MalformedInput where the format is contradicted."""
    is_part: Callable[[Head], bool] | None = None
    """Whether a file is one of several of its folder that are one capture; they are read as one (see `parts.py` of the
    workbench), each behind a line `# NAME`. Asked of what `recognise` is sure of. Must not raise."""
    beside: Callable[[Evidence], Callable[[str], bool] | None] | None = None
    """Which parts of another format tell more of what a file has: whether one of a name, from the file's folder, does;
    None if it has none. They are put behind it, and read with it. Must not raise."""
    version: int = 1
    """Raised when the same file would yield other rows."""
    carries: tuple[str, ...] = ()
    """Canonical columns and other things it delivers."""
    not_yet: Mapping[str, str] = field(default_factory=dict)
    """What the source has and we do not read, with the reason."""
    never: Mapping[str, str] = field(default_factory=dict)
    """What the source does not have, with the reason."""


def broken(evidence: Evidence, expected: str, found: str, *, line: int | None = None, hint: str = "") -> MalformedInput:
    """The error for a contradiction in `evidence`, at a line when it is known."""
    where = evidence.name if line is None else f"{evidence.name}, line {line:,}"
    return MalformedInput(expected, shortened(found), where=where, hint=hint)


def shortened(text: str, limit: int = 120) -> str:
    """A piece of foreign text for an error: control characters made visible, cut to `limit`."""
    shown = visible(text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
