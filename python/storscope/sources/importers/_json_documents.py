"""The JSON documents of one file: one, several that were appended, or a list of them.

A document begins with a brace or a bracket in column 0. A line `# NAME` before one says which file it was: so files
that belong together become one (`for f in *.json; do echo "# $f"; cat "$f"; done`), and what only a file's name told
stays. A document that is cut or damaged is counted, and the others are read; a file without a whole one is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence
from storscope.sources.importer import broken

_START: Final = re.compile(r"(?:\A\s*|^)(?=[{\[])", re.MULTILINE)
_NAME: Final = re.compile(r"^# ?(.{1,1000})$", re.MULTILINE)
_MOST_DAMAGED: Final = 1_000
"""Beginnings of documents that come to nothing: each is read until it breaks, so that more would take hours."""


@dataclass(frozen=True)
class Document:
    """One JSON object, and the name of the file that it was."""

    value: dict[str, Any]
    name: str


def documents_of(evidence: Evidence, recorder: Recorder, expected: str, hint: str) -> list[Document]:
    """Every whole document, each once. Raises MalformedInput when there is none."""
    return list(each_document(evidence, recorder, expected, hint))


def each_document(evidence: Evidence, recorder: Recorder, expected: str, hint: str) -> Iterator[Document]:
    """The same one by one, so that only the text is held. Raises MalformedInput after the last when there was none."""
    text = evidence.text()
    seen: set[bytes] = set()
    name, position = evidence.name, 0
    found = damaged = 0
    error: ValueError | RecursionError | None = None
    while match := _START.search(text, position):
        if names := _NAME.findall(text, position, match.end()):
            name = names[-1].strip()
        start = match.end()
        try:
            value, position = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError) as broke:
            error = error or broke
            following = _START.search(text, start + 1)
            position = following.start() if following else len(text)
            damaged += 1
            recorder.omit("documents that are cut or damaged")
            if damaged > _MOST_DAMAGED:
                break
            continue
        letters = blake2b(text[start:position].encode("utf-8", "surrogatepass")).digest()
        if letters in seen:
            recorder.omit("documents that repeat an earlier one to the letter")
            continue
        seen.add(letters)
        for one in _objects(value):
            found += 1
            yield Document(one, name)
    if damaged > _MOST_DAMAGED:
        raise broken(evidence, f"{expected}, with few documents that are cut", f"over {_MOST_DAMAGED:,}", hint=hint)
    if not found:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error or "no document")
        raise broken(evidence, expected, said, line=line, hint=hint)


def _objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))
