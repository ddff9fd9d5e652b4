"""The lines of a file that a tool was still writing when it was copied."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence

CUT_OFF: Final = "last line, cut off (it has no line end)"


def whole_lines(evidence: Evidence, recorder: Recorder) -> Iterator[str]:
    """Every line but a last one without a line end: a number or a name cut in half is still one, and a wrong one."""
    if ends_with_newline(evidence):
        yield from evidence.lines()
        return
    yield from (line for line, _ in itertools.pairwise(evidence.lines()))
    recorder.omit(CUT_OFF)


def ends_with_newline(evidence: Evidence) -> bool:
    """True for an empty file too. The newline of UTF-16 is two bytes long."""
    if not evidence.size_bytes:
        return True
    with evidence.path.open("rb") as file:
        file.seek(max(0, evidence.size_bytes - 2))
        tail = file.read()
    end = b"\r" if evidence.head.ends_lines_with_returns else b"\n"
    return end in tail if evidence.head.encoding != "utf-8" else tail.endswith(end)
