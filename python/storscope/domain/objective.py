"""What latency is asked for: `p99<5ms`, `mean<2ms`, `flush-p99<10ms`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from storscope.domain.errors import UsageError
from storscope.domain.units import NS_PER_MS, NS_PER_S, NS_PER_US, format_duration

_FORM = re.compile(
    r"((?:(?:read|write|flush)-)?(?:mean|p\d{1,2}(?:\.\d{1,4})?))\s*<=?\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)"
)
_UNIT_NS = {"ns": 1, "us": NS_PER_US, "µs": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}


@dataclass(frozen=True)
class LatencyFigure:
    """The mean (`share` is None), or what that share of all requests does not exceed."""

    share: float | None = None
    direction: str | None = None
    """Of `read`, `write` or `flush` alone; None is of reads and writes, which flushes are not among."""

    @classmethod
    def from_name(cls, name: str) -> LatencyFigure:
        """What `name` gives."""
        direction, dash, statistic = name.rpartition("-")
        return cls(None if statistic == "mean" else float(statistic[1:]) / 100, direction if dash else None)

    @property
    def name(self) -> str:
        """As users write it: mean, p50, p99.9, flush-p99."""
        statistic = "mean" if self.share is None else f"p{100 * self.share:.6g}"
        return statistic if self.direction is None else f"{self.direction}-{statistic}"

    @property
    def requests_needed(self) -> int:
        """With fewer there are less than three beyond a percentile. Three give it, if latency is exponential, with a
        deviation of 13 % at p99; visits are many."""
        return 100 if self.share is None else max(100, math.ceil(round(3 / (1 - self.share), 6)))


MEAN = LatencyFigure()
P99 = LatencyFigure(0.99)


@dataclass(frozen=True)
class Objective:
    """A service level objective: a figure of the response time stays below a limit."""

    figure: LatencyFigure
    limit_ns: float

    @classmethod
    def parse(cls, text: str) -> Objective:
        """Reads `p99<5ms`. Raises UsageError for anything else."""
        found = _FORM.fullmatch(text.strip())
        figure = LatencyFigure() if found is None else LatencyFigure.from_name(found[1])
        limit_ns = 0.0 if found is None else float(found[2]) * _UNIT_NS[found[3]]
        if found is None or figure.share == 0 or limit_ns <= 0:
            raise UsageError(
                "a latency that must not be exceeded, like p99<5ms", repr(text),
                where="--slo", hint=_hint(text),
            )  # fmt: skip
        return cls(figure, limit_ns)

    def __str__(self) -> str:
        return f"{self.figure.name} < {format_duration(self.limit_ns)}"


def _hint(text: str) -> str:
    """What is wrong with it, as far as one can guess."""
    if "<" not in text and ">" not in text:
        return "Put it in quotes, --slo 'p99<5ms': a shell takes a bare < for itself."
    if ">" in text:
        return "It is what latency stays below, so with <."
    if re.search(r"\d\s*$", text):
        return "The limit needs its unit: us, ms or s."
    return (
        "The figure is mean or a percentile below 100 (p50, p99, p99.9), of reads, writes or flushes alone with read-, "
        "write- or flush- before it, the limit above 0 with us, ms or s."
    )
