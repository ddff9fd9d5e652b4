"""What the engine measured, as values: latencies of an interval or a run, and what follows from them.

Read from the JSON of crates/storscope-load (tally.rs, result.rs) and crates/storscope-stats (histogram.rs). The buckets
of a histogram are lists there; of intervals that are kept in great number they are arrays (compact.py).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from storscope.bench.compact import plain_numbers
from storscope.bench.device_check import DeviceCheck
from storscope.domain.units import NS_PER_S

MEASURES = ("response", "service", "lateness")
"""Intended to complete, submit to complete, intended to submit."""
PARTS_OF_SERVICE = ("slat", "clat")
"""What fio splits it into: until the kernel has taken the I/O, and from then on. Absent from other engines."""
DIRECTIONS = {"reads": "read", "writes": "write"}
"""The engine's word and the tables' for each direction."""
FLUSHES = "flushes"
"""The engine's word for what is no I/O; absent, or None, of streams and engines without it."""


@dataclass
class Latencies:
    """A distribution in buckets of (low, high), both included, in ns; at most 0.8 % wide."""

    counts: Counter[tuple[int, int]] = field(default_factory=Counter)
    sum_ns: float = 0.0
    max_ns: int | None = None

    @classmethod
    def merged(cls, forms: Iterable[Mapping[str, Any]]) -> Latencies:
        """The sum of histograms as the engine writes them."""
        whole = cls()
        for form in forms:
            whole._add(form)
        return whole

    def _add(self, form: Mapping[str, Any]) -> None:
        if not form["count"]:
            return
        low, high, counts = (plain_numbers(form[f"bucket_{name}"]) for name in ("low_ns", "high_ns", "count"))
        for bucket, count in zip(zip(low, high, strict=True), counts, strict=True):
            self.counts[bucket] += count
        self.sum_ns += form["mean_ns"] * form["count"]
        self.max_ns = max(form["max_ns"], self.max_ns or 0)

    @property
    def count(self) -> int:
        """How many."""
        return self.counts.total()

    @property
    def mean_ns(self) -> float | None:
        """From the exact sum; None of none."""
        return self.sum_ns / self.count if self.count else None

    def quantile_ns(self, share: float) -> int | None:
        """What a share of them does not exceed: at most 0.8 % above the true one and never below. None of none."""
        if self.max_ns is None:
            return None
        wanted = max(1, math.ceil(share * self.count))
        seen = 0
        for (_, high), count in sorted(self.counts.items()):
            seen += count
            if seen >= wanted:
                return min(high, self.max_ns)
        return self.max_ns

    def share_above(self, limit_ns: float) -> float | None:
        """What share of them took longer, of the bucket around the limit what lies above it. None of none."""
        above = sum(
            count * min(1.0, max(0.0, (high - limit_ns) / max(high - low + 1, 1)))
            for (low, high), count in self.counts.items()
        )
        return above / self.count if self.count else None

    def buckets(self) -> list[tuple[float, float, int]]:
        """As the tables have them: low < latency <= high, where ours include both ends."""
        return [(low - 1, high, count) for (low, high), count in sorted(self.counts.items())]


@dataclass(frozen=True)
class Direction:
    """The I/Os of one direction, or of both, or the flushes, over all streams and targets."""

    ios: int
    bytes: int
    response: Latencies
    service: Latencies
    lateness: Latencies

    @property
    def shown(self) -> Latencies:
        """For a line while it lasts: the response, or the service from an engine that does not time it (fio)."""
        return self.response if self.response.count else self.service

    def of(self, measure: str) -> Latencies:
        """The latencies that `measure` (one of MEASURES) timed."""
        return {"response": self.response, "service": self.service, "lateness": self.lateness}[measure]


class Interval:
    """What happened in an interval, or in all of them."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.form = form

    @property
    def index(self) -> int:
        """Counts from 0."""
        return int(self.form["index"])

    @property
    def start_ns(self) -> int:
        """Since the run's start."""
        return int(self.form["start_ns"])

    @property
    def duration_ns(self) -> int:
        """Its length."""
        return int(self.form["duration_ns"])

    @property
    def outstanding_mean(self) -> float | None:
        """Mean number of I/Os and flushes in flight, as the engine counted them; None from one that does not (fio)."""
        counted = self.form["outstanding_mean"]
        return None if counted is None else float(counted)

    @property
    def offered_per_s(self) -> float | None:
        """Arrivals asked for; None in a closed loop."""
        offered = self.form["offered_per_s"]
        return None if offered is None else float(offered)

    @property
    def failed(self) -> int:
        """I/Os and flushes that failed; they are in no latency."""
        return sum(item["count"] for item in self.form["failures"])

    @property
    def cpu_ns(self) -> int:
        """CPU time of the workers, user and system."""
        return int(self.form["usage"]["user_ns"] + self.form["usage"]["system_ns"])

    @property
    def context_switches(self) -> int:
        """Of the workers, voluntary or not."""
        return int(self.form["usage"]["voluntary_switches"] + self.form["usage"]["involuntary_switches"])

    def direction(self, *names: str) -> Direction:
        """`reads`, `writes` or both together, or `flushes`, over all streams and targets."""
        tallies = [tally for cell in self.form["cells"] for name in names if (tally := cell.get(name)) is not None]
        response, service, lateness = (Latencies.merged(tally[measure] for tally in tallies) for measure in MEASURES)
        ios, size = (sum(tally[name] for tally in tallies) for name in ("ios", "bytes"))
        return Direction(ios, size, response, service, lateness)

    @property
    def cells(self) -> list[Interval]:
        """The same interval for each stream and target alone, in their order and not in that in which workers began.

        What is only counted in sum is not known of them.
        """
        return [
            Interval({**self.form, "cells": [cell], "outstanding_mean": None, "offered_per_s": None})
            for cell in sorted(self.form["cells"], key=lambda cell: (cell["stream"], cell["target"]))
        ]

    @property
    def all(self) -> Direction:
        """Both directions."""
        return self.direction(*DIRECTIONS)

    @property
    def flushes(self) -> Direction:
        """What is neither read nor written, and not among `all`."""
        return self.direction(FLUSHES)

    def per_s(self, count: float) -> float | None:
        """A rate over the interval; None of an empty one."""
        return count / self.duration_ns * NS_PER_S if self.duration_ns else None


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    result: Mapping[str, Any]
    doubts: tuple[str, ...]
    error: tuple[str, str] | None
    """Kind and message of what ended it early."""
    stopped: bool = False
    """Whether it was asked to end early."""
    device: DeviceCheck | None = None
    """What the devices below did meanwhile; None if nobody looked."""

    @property
    def total(self) -> Interval:
        """All intervals together, without what was drained after the end."""
        return Interval(self.result["total"])

    @property
    def is_valid(self) -> bool:
        """Whether the latencies mean what they say."""
        return bool(self.result["valid"]) and self.error is None

    def is_valid_of(self, stream: int) -> bool:
        """Whether the latencies of one stream mean what they say: our engine judges each by its own I/Os."""
        invalid = self.result.get("invalid_streams")
        return self.is_valid if self.error is not None or invalid is None else stream not in invalid

    @property
    def latency_bound(self) -> str | None:
        """Of latencies that do not mean what they say: 'upper' where the truth is at most that, 'lower' where it is at
        least that, 'limited' where they count the wait for a place among those that the workload allows in flight; None
        of valid ones, and where nothing is sure."""
        return None if self.error else self.result.get("latency_bound")

    @property
    def engines(self) -> list[str]:
        """How the I/Os were made, with the reason where it is another engine than asked for."""
        used = [item["engine"] + (f" ({item['reason']})" if item["reason"] else "") for item in self.result["engines"]]
        return list(dict.fromkeys(used))

    @property
    def made_by(self) -> list[str]:
        """How the I/Os were made, in a word each: io_uring, threads, ..."""
        return list(dict.fromkeys(item["engine"] for item in self.result["engines"]))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` reads them again."""
        return {
            "result": self.result, "doubts": self.doubts, "error": self.error, "stopped": self.stopped,
            "device": None if self.device is None else self.device.to_json(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Outcome:
        """What `to_json` wrote."""
        error, device = form["error"], form.get("device")
        return cls(
            form["result"], tuple(form["doubts"]), None if error is None else tuple(error), form["stopped"],
            None if device is None else DeviceCheck.from_json(device),
        )  # fmt: skip
