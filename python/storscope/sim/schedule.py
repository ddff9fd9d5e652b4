"""Schedules: what changes during a run, for the array and for the streams of the workload.

The form is described in docs/simulate.md. The streams' part is read here; the array's part is read with the design, by
the core. Errors name the file, the line and the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storscope.domain.errors import ConfigError
from storscope.domain.near_names import Words, did_you_mean, joined, near_name
from storscope.domain.text_kinds import SCHEDULE, mistaken
from storscope.domain.toml_text import parsed_toml
from storscope.domain.units import ns_from_text
from storscope.sim.text_file import check_text, text_of

_HEAD = re.compile(r"\s*\[")
_STREAM = re.compile(r"\s*\[\[\s*stream\s*\]\]")
_CHANGE = re.compile(r"\s*\[\[\s*[\"']?at[\"']?\s*\]\]")
_KEYS = ("name", "start", "end")
_TEXT = "the schedule"
"""Where the mistakes of one are that is no file."""
_WORDS: Words = {
    "name": ("stream", "job", "workload"),
    "start": ("begin", "begins", "starts", "from", "since", "after", "at", "startdelay", "start_delay"),
    "end": ("stop", "stops", "ends", "until", "to"),
    "at": ("event", "events", "change", "changes", "when"),
    "stream": ("job", "jobs", "lifetime"),
}
"""Other words for keys and tables."""


@dataclass(frozen=True)
class Lifetime:
    """When a stream of the workload is active, in ns since the run's start; None is its end."""

    start_ns: int = 0
    end_ns: int | None = None
    where: str = field(default="", compare=False)
    """Where the schedule says it."""

    def overlaps(self, from_ns: int, to_ns: int) -> bool:
        """Whether it is active at any time between two instants."""
        return self.start_ns < to_ns and (self.end_ns is None or self.end_ns > from_ns)


@dataclass(frozen=True)
class Schedule:
    """What changes during a run: `[[at]]` tables for the array, `[[stream]]` tables for the workload's streams."""

    changes: str
    """The text with the array's part alone, every line in its place."""
    lifetimes: Mapping[str, Lifetime]
    where: str


def load_schedule(source: str | Path) -> Schedule:
    """The schedule in a file, or the text itself when it has several lines. Raises UsageError, ConfigError."""
    if isinstance(source, str) and "\n" in source:
        check_text(source, _TEXT)
        return read_schedule(source, _TEXT)
    return read_schedule(text_of(Path(source)), str(source))


def read_schedule(text: str, where: str) -> Schedule:
    """A schedule from its text; what it says of the array is checked with the design."""
    try:
        return _schedule(text, where)
    except ConfigError:
        if another := mistaken(text, where, SCHEDULE):
            raise another from None
        raise


def _schedule(text: str, where: str) -> Schedule:
    tables = parsed_toml(text, where)
    changes = tables.get("at", [])
    if not isinstance(changes, list) or ("at" in tables and not any(map(_CHANGE.match, text.split("\n")))):
        raise ConfigError(
            "tables [[at]]", "another form of it", where=_place(where, _line_of(text, "at")),
            hint="Each change has a table of its own, under a line [[at]].",
        )  # fmt: skip
    blocks = list(_blocks(text))
    for key in tables:
        if key not in ("at", "stream"):
            near = near_name(key, ("at", "stream"), _WORDS)
            hint = f"Did you mean [[{near}]]?" if near else ""
            place = _place(where, _line_of(text, key))
            raise ConfigError("tables [[at]] and [[stream]]", repr(key), where=place, hint=hint)
    streams = tables.get("stream", [])
    is_told = "stream" in tables
    if not isinstance(streams, list) or len(streams) != len(blocks) or is_told != bool(streams):
        raise ConfigError(
            "tables [[stream]]", "another form of it", where=_place(where, _line_of(text, "stream")),
            hint="Each stream has a table of its own, under a line [[stream]].",
        )  # fmt: skip
    if not changes and not streams:
        found = "comments alone" if text.strip() else "an empty file" if where != _TEXT else "an empty text"
        raise ConfigError(
            "tables [[at]] or [[stream]]", found, where=where,
            hint="Write what changes and when, or leave the schedule out: without a table nothing changes.",
        )  # fmt: skip
    lifetimes: dict[str, Lifetime] = {}
    for index, (stream, block) in enumerate(zip(streams, blocks, strict=True)):
        written = _Block(block, where, index)
        name, lifetime = _lifetime(stream, written)
        if name in lifetimes:
            raise written.error("name", "each stream once", f"{name!r} again")
        lifetimes[name] = lifetime
    _check_that_all_are_bounded(streams, blocks, where)
    return Schedule(_without_streams(text), lifetimes, where)


@dataclass(frozen=True)
class _Block:
    """A [[stream]] table as it is written, for errors."""

    lines: list[tuple[int, str]]
    """With their numbers; its head is the first."""
    where: str
    index: int

    def error(self, key: str, expected: str, found: str, hint: str = "") -> ConfigError:
        """Of a key."""
        return ConfigError(expected, found, where=self.place(key), hint=hint)

    def place(self, key: str) -> str:
        """Of a key; that of the table, if it is not there."""
        written = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
        number = next((number for number, line in self.lines if written.match(line)), self.lines[0][0])
        return f"{_place(self.where, number)}: stream[{self.index}].{key}"


def _lifetime(table: Mapping[str, Any], block: _Block) -> tuple[str, Lifetime]:
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        found = "a key that does not exist here"
        raise block.error(unknown[0], f"one of {', '.join(_KEYS)}", found, _hint_for_key(unknown[0]))
    if not isinstance(table.get("name"), str):
        found = repr(table["name"]) if "name" in table else "nothing"
        raise block.error("name", "the name of a stream of the workload", found)
    start_ns, end_ns = (_duration(table.get(key), key, block) for key in ("start", "end"))
    if end_ns is not None and end_ns <= (start_ns or 0):
        raise block.error("end", "an end after the start", str(table["end"]))
    return table["name"], Lifetime(start_ns or 0, end_ns, block.place("name"))


def _check_that_all_are_bounded(streams: list[dict[str, Any]], blocks: list[list[tuple[int, str]]], where: str) -> None:
    for index, (stream, block) in enumerate(zip(streams, blocks, strict=True)):
        if "start" not in stream and "end" not in stream:
            error = _Block(block, where, index).error
            raise error("name", "start, end or both beside it", "neither", "Without them a stream runs all the time.")


def _hint_for_key(written: str) -> str:
    if joined(written) in ("duration", "runtime", "length"):
        return "How long is said by when it ends: end counts from the start of the run, as start does."
    return did_you_mean(written, _KEYS, _WORDS)


def _duration(value: object, key: str, block: _Block) -> int | None:
    if value is None:
        return None
    try:
        return ns_from_text(str(value))
    except ValueError:
        raise block.error(key, "a duration with a unit, such as '5m' or '2m30s'", repr(value)) from None


def _place(where: str, line: int | None) -> str:
    return where if line is None else f"{where}:{line}"


def _line_of(text: str, key: str) -> int | None:
    """The first line that has a key, or a table of that name, at the top level."""
    written = re.compile(rf"\s*(\[\[?\s*)?[\"']?{re.escape(key)}\b")
    return next((number for number, line in enumerate(text.split("\n"), 1) if written.match(line)), None)


def _blocks(text: str) -> Iterator[list[tuple[int, str]]]:
    """The lines of each [[stream]] table."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if _HEAD.match(line) and block:
            yield block
            block = []
        if block or _STREAM.match(line):
            block.append((number, line))
    if block:
        yield block


def _without_streams(text: str) -> str:
    """The same lines, those of [[stream]] tables empty."""
    inside = {number for block in _blocks(text) for number, _ in block}
    return "".join("\n" if number in inside else f"{line}\n" for number, line in enumerate(text.split("\n"), 1))
