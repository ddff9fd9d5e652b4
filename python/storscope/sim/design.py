"""Designs: read from TOML by the core, strictly; a schedule adds what changes during a run.

The form is described in docs/simulate.md. Errors name the file, the line and the key.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storscope import _core
from storscope.domain.errors import ConfigError, UsageError
from storscope.domain.units import ns_from_text
from storscope.sim.assignment import Attachment

MOST_BYTES = 4 * 1024**2
"""Larger than any design made by hand."""


@dataclass(frozen=True)
class Lifetime:
    """When a stream of the workload is active, in ns since the run's start; None is its end."""

    start_ns: int = 0
    end_ns: int | None = None


@dataclass(frozen=True)
class Design:
    """A design that was read and checked."""

    form: Mapping[str, Any]
    """As crates/storscope-types/src/design has it, in JSON."""
    attachments: tuple[Attachment, ...]
    text: str
    """As it was written, for the record."""
    where: str
    lifetimes: Mapping[str, Lifetime] = field(default_factory=dict)
    """By the streams' names, from the schedule."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.form["name"])


@dataclass(frozen=True)
class Schedule:
    """What changes during a run: `[[at]]` tables for the array, `[[stream]]` tables for the workload's streams."""

    changes: str
    """The text with the array's part alone, every line in its place."""
    lifetimes: Mapping[str, Lifetime]
    where: str


def read_design(text: str, where: str, schedule: Schedule | None = None) -> Design:
    """A design from its text. Raises ConfigError with line and key."""
    body = text if text.endswith("\n") else text + "\n"
    whole = body + (schedule.changes if schedule else "")
    try:
        found = json.loads(_core.read_design(whole))
    except _core.DesignError as error:
        raise _config_error(error.args, body.count("\n"), where, schedule) from None
    attachments = tuple(Attachment(**attachment) for attachment in found["attachments"])
    return Design(found["design"], attachments, text, where, schedule.lifetimes if schedule else {})


def load_design(source: str | Path, schedule: Schedule | None = None) -> Design:
    """The design in a file, or the text itself when it has several lines.

    Raises UsageError for a file that is not there, ConfigError for content that makes no sense.
    """
    if isinstance(source, str) and "\n" in source:
        return read_design(source, "the text", schedule)
    return read_design(_text_of(Path(source)), str(source), schedule)


def load_schedule(path: str | Path) -> Schedule:
    """A schedule from its file. Raises UsageError, ConfigError."""
    return read_schedule(_text_of(Path(path)), str(path))


def read_schedule(text: str, where: str) -> Schedule:
    """A schedule from its text; what it says of the array is checked with the design."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("TOML", str(error), where=where) from None
    unknown = sorted(set(tables) - {"at", "stream"})
    if unknown:
        raise ConfigError("tables [[at]] and [[stream]]", repr(unknown[0]), where=where)
    streams = tables.get("stream", [])
    if not isinstance(streams, list):
        raise ConfigError("tables [[stream]]", "a single [stream]", where=where)
    lifetimes = dict(_lifetime(stream, f"{where}: stream[{index}]") for index, stream in enumerate(streams))
    return Schedule(_without_streams(text), lifetimes, where)


def _lifetime(table: Mapping[str, Any], where: str) -> tuple[str, Lifetime]:
    unknown = sorted(set(table) - {"name", "start", "end"})
    if unknown:
        raise ConfigError("one of name, start, end", f"the key {unknown[0]}", where=where)
    if not isinstance(table.get("name"), str):
        raise ConfigError("the name of a stream of the workload", repr(table.get("name")), where=f"{where}.name")
    start_ns, end_ns = (_duration(table.get(key), f"{where}.{key}") for key in ("start", "end"))
    if end_ns is not None and end_ns <= (start_ns or 0):
        raise ConfigError("an end after the start", str(table["end"]), where=f"{where}.end")
    return table["name"], Lifetime(start_ns or 0, end_ns)


def _duration(value: object, where: str) -> int | None:
    if value is None:
        return None
    try:
        return ns_from_text(str(value))
    except ValueError as error:
        raise ConfigError("a duration with a unit, such as '5m'", repr(value), where=where) from error


def _without_streams(text: str) -> str:
    """The same lines, those of [[stream]] tables empty."""
    kept, in_stream = [], False
    for line in text.splitlines():
        if re.match(r"\s*\[", line):
            in_stream = bool(re.match(r"\s*\[\[\s*stream\s*\]\]", line))
        kept.append("" if in_stream else line)
    return "\n".join(kept) + "\n"


def _config_error(
    said: tuple[int | None, int | None, str, str, str, str | None], lines: int, where: str, schedule: Schedule | None
) -> ConfigError:
    line, column, key, expected, found, hint = said
    if schedule is not None and line is not None and line > lines:
        where, line = schedule.where, line - lines
    place = where if line is None else f"{where}:{line}:{column}"
    return ConfigError(expected, found, where=f"{place}: {key}" if key else place, hint=_sentence(hint))


def _sentence(hint: str | None) -> str:
    return "" if not hint else hint[0].upper() + hint[1:]


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError("a file that can be read", error.strerror or str(error), where=str(path)) from None
    if len(content) > MOST_BYTES:
        raise UsageError("a file of at most 4 MiB", "a larger one", where=str(path))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError("text in UTF-8", f"byte {content[error.start]:#04x}", where=str(path)) from None
