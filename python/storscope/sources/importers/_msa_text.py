"""Cuts what the CLI of an MSA prints into answers, and answers into objects: XML, JSON and the tables of the console.

XML: RESPONSE with OBJECT (basetype) and PROPERTY (name); JSON: {"controller-statistics": [{...}], "status": [...]},
with whatever a session of SSH prints before it. Both come on one line or on many. Property names are those of a dump of
2015 (an MSA 2040). UNVERIFIED, no capture was seen: the layouts, and the objects inside pools.

Beware: the console rounds sizes to a few digits ("50.6TB"), so no bytes are taken from it.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.recorder import Recorder

_MOST_CHARACTERS: Final = 64 * 1024**2
"""Of one answer."""
_LONGEST_STATUS: Final = 1000
_DEEPEST: Final = 4
_CUT: Final = "answers of the array that were cut or damaged"
_COMMAND: Final = re.compile(r"\bshow\s+([a-z]+(?:-[a-z]+)*-statistics)\b")
_DONE: Final = re.compile(r"^\s*(?:Success|Info|Warning|Error): .*?(?:\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\))?\s*$")
_RULE: Final = re.compile(r"^-{8,}\s*$")
_HEADINGS: Final = {
    "Durable ID": "durable-id", "Name": "name", "Pool": "pool", "Serial Number": "serial-number",
    "Location": "location", "CPU Load": "cpu-load", "Power On Time (Secs)": "power-on-time",
    "Write Cache Used": "write-cache-used", "Bytes per second": "bytes-per-second", "IOPS": "iops",
    "Number of Reads": "number-of-reads", "Number of Writes": "number-of-writes", "Data Read": "data-read",
    "Data Written": "data-written", "Num Forwarded Cmds": "num-forwarded-cmds", "Queue Depth": "queue-depth",
    "Read Cache Hits": "read-cache-hits", "Read Cache Misses": "read-cache-misses",
    "Write Cache Hits": "write-cache-hits", "Write Cache Misses": "write-cache-misses",
    "Small Destages": "small-destages", "Full Stripe Write Destages": "full-stripe-write-destages",
    "Read-Ahead Operations": "read-ahead-operations", "Write Cache Percent": "write-cache-percent",
    "Avg RSP Time": "avg-rsp-time", "Avg Read RSP Time": "avg-read-rsp-time",
    "Avg Write RSP Time": "avg-write-rsp-time", "Reset Time": "reset-time", "Start Sample Time": "start-sample-time",
    "Stop Sample Time": "stop-sample-time", "Total Power On Hours": "total-power-on-hours",
}  # fmt: skip
_HEADING: Final = re.compile(
    r"(?<!\S)(?:" + "|".join(re.escape(name) for name in sorted(_HEADINGS, key=len, reverse=True)) + r")(?!\S)"
)
_PARENTS: Final = ("pool-statistics", "tier-statistics")
_COUNTERS_OF_PARENT: Final = "resettable-statistics"


@dataclass(frozen=True)
class Thing:
    """One object of an answer: its type and properties as printed."""

    type: str
    properties: dict[str, str]


@dataclass
class Answer:
    """What one command printed."""

    things: list[Thing] = field(default_factory=list)
    time: str | None = None
    """What its status says of the time: seconds since 1970, or a local time."""

    def add(self, type: str, properties: dict[str, str]) -> None:  # noqa: A002
        """The next object; counters of a pool belong to the pool before them."""
        if type == "status":
            self.time = properties.get("time-stamp-numeric") or properties.get("time-stamp") or self.time
        elif type == _COUNTERS_OF_PARENT and self.things and self.things[-1].type in _PARENTS:
            for name, value in properties.items():
                self.things[-1].properties.setdefault(name, value)
        else:
            self.things.append(Thing(type, properties))


def _of_xml(text: str) -> Answer | None:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return None
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError):
        return None
    answer = Answer()
    for thing in root.iter("OBJECT"):
        properties = {one.get("name", ""): (one.text or "").strip() for one in thing.findall("PROPERTY")}
        answer.add(thing.get("basetype") or thing.get("name") or "", properties)
    return answer


def _of_json(text: str) -> Answer | None:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return None
    answer = Answer()
    if isinstance(whole, dict):
        _gather(whole, answer, _DEEPEST)
    return answer


def _gather(node: dict[str, object], answer: Answer, depth: int) -> None:
    """Every object and those inside it, an object's own counters first."""
    for type_, things in sorted(node.items(), key=lambda item: item[0] != _COUNTERS_OF_PARENT) if depth else ():
        for thing in things if isinstance(things, list) else ():
            if not isinstance(thing, dict):
                continue
            plain = {name: str(value) for name, value in thing.items() if isinstance(value, str | int | float)}
            answer.add(type_, plain)
            _gather({name: value for name, value in thing.items() if isinstance(value, list)}, answer, depth - 1)


@dataclass
class _Table:
    """A table of the console: headings on one or more lines, a rule, and as many lines for each row."""

    type: str
    columns: list[list[tuple[int, str]]]
    rows: list[str] = field(default_factory=list)
    is_closed: bool = False
    """The rule under it was seen."""

    def things(self) -> Iterator[Thing]:
        """A thing for each whole row."""
        each = len(self.columns)
        for first in range(0, len(self.rows) - each + 1, each):
            properties: dict[str, str] = {}
            for columns, line in zip(self.columns, self.rows[first : first + each], strict=True):
                ends = [start for start, _ in columns[1:]] + [len(line)]
                for (start, name), end in zip(columns, ends, strict=True):
                    properties[name] = line[start:end].strip()
            yield Thing(self.type, properties)


def _columns(line: str) -> list[tuple[int, str]]:
    """Where each heading begins, and the property it stands for; unknown ones keep their words."""
    found: list[tuple[int, str]] = []
    end = 0
    for match in _HEADING.finditer(line):
        between = line[end : match.start()]
        if between.strip():
            found.append((end + len(between) - len(between.lstrip()), between.strip()))
        found.append((match.start(), _HEADINGS[match[0]]))
        end = match.end()
    if line[end:].strip():
        found.append((end + len(line[end:]) - len(line[end:].lstrip()), line[end:].strip()))
    return found


@dataclass
class Cutter:
    """Takes lines and yields answers when they are whole."""

    recorder: Recorder
    _markup: list[str] = field(default_factory=list)
    _size: int = 0
    _depth: int = 0
    _command: str | None = None
    _headings: list[str] = field(default_factory=list)
    _table: _Table | None = None

    def line(self, line: str) -> Iterator[Answer]:
        """Any line that is no time line."""
        if self._markup and (line.lstrip().startswith("<?xml") or (self._is_json and line.startswith("{"))):
            yield from self.cut()
        if self._markup:
            yield from self._more(line)
        elif "<RESPONSE" in line:
            yield from self._more(line[line.index("<RESPONSE") :])
        elif line.lstrip().startswith("{") or (line.startswith("# {")):
            yield from self._more(line[line.index("{") :])
        else:
            yield from self._console(line)

    def cut(self) -> Iterator[Answer]:
        """What comes now is something else: an answer or a table that has not ended is none."""
        if self._markup:
            self.recorder.omit(_CUT)
        self._markup, self._size, self._depth = [], 0, 0
        yield from self._end_of_table(None)

    @property
    def _is_json(self) -> bool:
        return self._markup[0].startswith("{")

    def _more(self, line: str) -> Iterator[Answer]:
        self._markup.append(line)
        self._size += len(line)
        if self._is_json:
            self._depth += line.count("{") - line.count("}")
            is_whole, rest = self._depth <= 0, ""
        else:
            before, end, rest = line.partition("</RESPONSE>")
            self._markup[-1], is_whole = before + end, bool(end)
        if is_whole:
            text = "\n".join(self._markup)
            answer = _of_json(text) if self._is_json else _of_xml(text)
            self._markup, self._size, self._depth = [], 0, 0
            self.recorder.omit(_CUT, int(answer is None))
            if answer is not None:
                yield answer
            if "<RESPONSE" in rest:
                yield from self.line(rest)
        elif self._size > _MOST_CHARACTERS:
            yield from self.cut()

    def _console(self, line: str) -> Iterator[Answer]:
        if match := _COMMAND.search(line):
            yield from self._end_of_table(None)
            self._command, self._headings = match[1], []
        elif _RULE.match(line):
            if self._table is None and self._command and self._headings:
                self._table = _Table(self._command, [_columns(one) for one in self._headings])
            elif self._table is not None:
                self._table.is_closed = True
            self._headings = []
        elif len(line) < _LONGEST_STATUS and (match := _DONE.match(line)):
            yield from self._end_of_table(match[1])
        elif self._table is not None:
            if line.strip() and not self._table.is_closed:
                self._table.rows.append(line)
        elif _HEADING.search(line):
            self._headings.append(line)
        elif line.strip():
            self._headings = []

    def _end_of_table(self, time: str | None) -> Iterator[Answer]:
        table, self._table = self._table, None
        if table is None:
            return
        if not table.is_closed and time is None:
            self.recorder.omit(_CUT)
        elif table.rows:
            self.recorder.omit("rows of a table that were cut", int(len(table.rows) % len(table.columns) > 0))
            yield Answer(list(table.things()), time)
