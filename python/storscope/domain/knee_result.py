"""What a search for the knee found and how it was made: what is printed, put into JSON and drawn on its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storscope.domain.load_curve import LoadCurve


@dataclass(frozen=True)
class KneeResult:
    """A search that is in the store: each visit a run, the answer as `capture`."""

    id: str
    capture: str
    curve: LoadCurve
    workload: Mapping[str, Any]
    """As it is, in closed loop perhaps; plain JSON values."""
    target: str
    """As it was named; several are joined."""
    target_kind: str
    direct: bool
    seed: int
    """Of the order of visits and of all draws."""
    duration_ns: int
    stream_shares: tuple[float, ...]
    """Of each stream in the arrivals."""
    max_outstanding: tuple[int, ...]
    """I/Os in flight of each worker of each stream, at most."""
    load_words: tuple[str, ...]
    """How the workload was turned into an open loop, in sentences."""
    doubts: tuple[str, ...]
    """Of the search and of the target."""
    paths: str
    """Of the targets, whole, since who reads a page is elsewhere."""
    host: str | None = None
    """That measured it."""
    started_ns: int | None = None
    budget_ns: int | None = None
    """How long it might have taken."""
    size_bytes: int | None = None
    """Of the target, where it is known."""
    engines: str = ""
    """How the I/Os were made."""
    version: str = ""
    """Of the storscope that measured it."""

    @property
    def name(self) -> str:
        """Of the workload."""
        return str(self.workload["name"])

    @property
    def is_answered(self) -> bool:
        """Whether anything that was asked for was found."""
        within = self.curve.within_objective
        return self.curve.knee.load_per_s is not None or (within is not None and within.load_per_s is not None)
