"""Things that runs of several tools tell alike: their names, and how each is compared and said."""

from __future__ import annotations

from typing import Final

from storscope.compare.asked import Thing
from storscope.domain.units import format_bytes, format_count, format_ratio, format_span
from storscope.domain.workload import Flush, Process

ACTIVITY: Final = "activity"
RATE: Final = "rate"
ARRIVALS: Final = "arrivals"
THINK_TIME: Final = "think time"
OFFSETS: Final = "distribution of random offsets"
START: Final = "start of the part of the target"
SIZE: Final = "part of the target"
PATH: Final = "I/O"
FLUSHES: Final = "flushes"

NO_RATE: Final = Thing(None, "none", is_usual=True)
NO_PAUSE: Final = Thing(None, "none", is_usual=True)
NO_FLUSHES: Final = Thing(None, "none", is_usual=True)
UNIFORM: Final = Thing("uniform", "uniform", is_usual=True)
DIRECT: Final = Thing("direct", "direct", is_usual=True)
BUFFERED: Final = Thing("buffered", "through the page cache")


def per_s(rate_per_s: float) -> str:
    """'100/s'."""
    return f"{format_count(rate_per_s)}/s"


def activity_thing(share: float) -> Thing:
    """For which share of the time a stream ran."""
    words = "all of the time" if share == 1 else f"{format_ratio(share)} of the time"
    return Thing(share, words, is_usual=share == 1)


def rate_thing(rate_per_s: float) -> Thing:
    """Arrivals of a stream or of a job, all its workers together."""
    return Thing(rate_per_s, per_s(rate_per_s))


def arrivals_thing(process: Process) -> Thing:
    """How they are spaced."""
    words = {Process.FIXED: "at equal intervals", Process.POISSON: "at random (Poisson)"}
    return Thing(process.value, words[process], is_usual=True)


def pause_thing(pause_ns: float) -> Thing:
    """A think time, a delay: of 0 it is none."""
    return Thing(float(pause_ns), format_span(pause_ns)) if pause_ns else NO_PAUSE


def flush_thing(flush: Flush) -> Thing:
    """Which follow how many writes."""
    writes = "each write" if flush.every == 1 else f"every {format_count(flush.every)} writes"
    return Thing((flush.kind.value, float(flush.every)), f"{flush.kind} after {writes}")


def zipf_thing(exponent: float) -> Thing:
    """Offsets of which few are popular."""
    return Thing(("zipf", exponent), f"Zipf {exponent:g}")


def start_thing(start_bytes: float, of_target: str = "") -> Thing:
    """Where the used part begins; of a simulated volume that lies anywhere on its drives, within this volume alone."""
    return Thing(float(start_bytes), format_bytes(start_bytes), is_usual=not start_bytes, of_target=of_target)


def size_thing(size_bytes: float) -> Thing:
    """How much of the target is used."""
    return Thing(float(size_bytes), format_bytes(size_bytes))
