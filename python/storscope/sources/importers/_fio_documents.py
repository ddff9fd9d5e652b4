"""Finding the JSON documents in what fio wrote: text may stand before, between and after them.

fio prints errors and notes to the same stream as its JSON (issues #731 and #1685 of fio), --status-interval appends a
whole document each time (#672), and a shell's `>>` does so too. A document starts with a brace in column 0; nested
braces are indented. Programs that write it anew may sort its keys, or put the documents into a list (`jq -s`). A
document that breaks off is passed over when another is whole.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence
from storscope.sources.importer import broken, shortened

_START = re.compile(r"^\{|\A\s*\[(?=\s*\{)|\{(?=\s*\"fio version\")", re.MULTILINE)
"""A document, a list of them, or one at the end of a line that broke off."""
_NOT_JSON = re.compile(r"(?<=[:,\[])(\s*)-?(?:nan|inf)\b")
"""Averages over nothing: C prints them as nan, which JSON does not know."""
COMPLAINT = re.compile(r"^(?:<[^>]*> )?(?:fio: .*|.*\bverify(?: failed|: bad).*|.*\berr=\s*[1-9].*)$", re.MULTILINE)
"""A line by which fio says that something failed; clients prefix '<host> '."""


@dataclass
class Documents:
    """What was found in one file."""

    values: list[dict[str, Any]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    other_lines: int = 0
    not_numbers: int = 0
    cut: int = 0
    """Documents that break off."""

    def add_text(self, text: str) -> None:
        """Text beside the documents: fio's complaints are kept, other lines counted."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        complaints = [line for line in lines if COMPLAINT.match(line)]
        self.complaints.extend(complaints)
        self.other_lines += len(lines) - len(complaints)


def find_documents(evidence: Evidence, text: str) -> Documents:
    """Every whole document of a file's text: what was killed and begun again leaves an unfinished one before another.

    Raises MalformedInput when none is whole.
    """
    found = Documents()
    position = 0
    first_error: MalformedInput | None = None
    while match := _START.search(text, position):
        found.add_text(text[position : match.start()])
        try:
            value, position = json.JSONDecoder().raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError) as error:  # a ValueError of a number too long for Python, too
            rest, count = _NOT_JSON.subn(r"\1null", text[match.start() :])
            if not count or found.not_numbers:
                first_error = first_error or _broken_off(evidence, text, match.start(), error)
                found.cut += 1
                following = _START.search(text, match.start() + 1)
                position = following.start() if following else len(text)
                continue
            text, position, found.not_numbers = rest, 0, count
            continue
        found.values.extend(one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict))
    found.add_text(text[position:])
    if not found.values:
        raise first_error or _no_document(evidence, found)
    return found


def _broken_off(evidence: Evidence, text: str, start: int, error: Exception) -> MalformedInput:
    is_unfinished = isinstance(error, json.JSONDecodeError) and error.pos >= len(text.rstrip()) - 1
    line = text.count("\n", 0, getattr(error, "pos", start)) + 1
    hint = "fio was interrupted or is still writing; import the complete file." if is_unfinished else ""
    message = error.msg if isinstance(error, json.JSONDecodeError) else "braces too deep or a number too long"
    return broken(evidence, "JSON as fio writes it", message, line=line, hint=hint)


def _no_document(evidence: Evidence, found: Documents) -> Exception:
    said = found.complaints[0] if found.complaints else "text without a brace in column 0"
    hint = "fio ended before it wrote a result. Correct what it complains of and run it again."
    return broken(evidence, "a JSON document by fio", shortened(said), hint=hint if found.complaints else "")
