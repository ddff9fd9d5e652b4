"""Finding the JSON documents that iostat wrote into one file.

A shell's `>>` or cat appends whole documents. A document starts with a brace in column 0; nested braces are indented.
An interrupted iostat leaves its document unfinished, at the end or before the next one: it is repaired by dropping its
last, incomplete report, and dropped where that leaves nothing. Refuses a file without one whole report.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from storscope.sources.evidence import Evidence
from storscope.sources.importer import broken

_START: Final = re.compile(r"(?:\A\s*|^)\{", re.MULTILINE)
_BETWEEN_REPORTS: Final = "]}]}}"
_IN_A_REPORT: Final = ("}]}]}}", "]}]}]}}", "}]}]}]}}")
"""What an interrupted document lacks: between two reports, and in one, up to a cut inside its list of disks."""
_MOST_CUT: Final = 100_000
"""Characters; a report with a thousand devices has 300,000, and most of them are whole."""


@dataclass
class Documents:
    """What was found in one file."""

    values: list[Any] = field(default_factory=list)
    repaired: int = 0
    """Unfinished documents whose whole reports are among the values."""
    dropped: int = 0
    """Unfinished documents without a whole report."""
    repeated: int = 0
    other_lines: int = 0


def find_documents(evidence: Evidence) -> Documents:
    """Every document of the file, each once. Raises MalformedInput when there is none."""
    text = evidence.text()
    found, seen = Documents(), set[str]()
    first_error: json.JSONDecodeError | None = None
    position = 0
    while match := _START.search(text, position):
        found.other_lines += _lines(text[position : match.start()])
        start = match.end() - 1
        try:
            value, position = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError):
                first_error = first_error or error
            following = _START.search(text, start + 1)
            position = following.start() if following else len(text)
            value = _repaired(text[start:position])
            found.repaired, found.dropped = found.repaired + (value is not None), found.dropped + (value is None)
        if value is None or text[start:position].strip() in seen:
            found.repeated += value is not None
            continue
        seen.add(text[start:position].strip())
        found.values.append(value)
    found.other_lines += _lines(text[position:])
    if not found.values:
        raise broken(
            evidence, "JSON as iostat writes it", first_error.msg if first_error else "no document",
            line=first_error.lineno if first_error else None,
            hint="If the file was cut, import the complete one, or the text form of iostat.",
        )  # fmt: skip
    return found


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def _repaired(text: str) -> Any | None:
    """The document up to its last whole report; None where there is none."""
    cut = text.rstrip()
    while (end := cut.rfind("}")) > 0:
        cut = cut[: end + 1]
        for ending in (_BETWEEN_REPORTS, *_IN_A_REPORT):
            try:
                value = json.loads(cut + ending)
            except (ValueError, RecursionError):
                continue
            return value if ending == _BETWEEN_REPORTS else _without_last_report(value)
        cut = cut[:-1]
        if len(text) - len(cut) > _MOST_CUT:
            break
    return None


def _without_last_report(value: Any) -> Any | None:
    """The document without the report that was cut: a device that it lacks was not idle. None where none is left."""
    try:
        statistics = value["sysstat"]["hosts"][-1]["statistics"]
        del statistics[-1]
    except (LookupError, TypeError):
        return None
    return value if statistics else None
