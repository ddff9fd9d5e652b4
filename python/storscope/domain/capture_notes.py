"""What a source says of itself, beside the rows it writes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class CaptureNotes:
    """What a source says of itself and of what it left out; ends in the `captures` table."""

    tool: str | None = None
    tool_version: str | None = None
    system: str | None = None
    clock: str | None = None
    """How times were placed: 'UTC in the file', '--timezone Europe/Berlin', 'rebuilt from row order, 20 s steps'."""
    has_times: bool = True
    """False when the source has no times at all: what orders its rows is a placeholder and leaves as null."""
    omitted: Counter[str] = field(default_factory=Counter)
    """Reason -> how many values, rows or lines were left out for it."""
    warnings: list[str] = field(default_factory=list)
    """Doubts about the evidence, each a sentence with a remedy where there is one."""
