"""Synthetic sides: runs and counters whose difference is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from storscope.compare import compare_sides, parse_side
from storscope.domain.comparison import Comparison, MetricRow, PairResult, Settings
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.support.cases import make_store

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
Writer = Callable[[Recorder], None]

LOAD = {"block_bytes": 4096.0, "read_ratio": 1.0, "random_ratio": 1.0, "outstanding": 16.0}


def run(
    name: str,
    iops: Sequence[float] | float = 1000.0,
    *,
    id: str | None = None,  # noqa: A002
    start: float = 0.0,
    latency_ns: float | None = None,
    device_latency_ns: float | None = None,
    duration_s: float | None = None,
    parameters: dict[str, str] | None = None,
    status: str | None = None,
    engine: str = "fio",
    histogram: Sequence[Sequence[int]] = (),
    reads: float | None = None,
    told: dict[str, float] | None = None,
    **load: float | None,
) -> Writer:
    """A closed-loop run of intervals of a second (a number: one row), its latency by Little's law unless given.

    `reads` is the share of reads, where rates of both are told; `told` are counters in ns of the whole, as percentiles.
    """
    values = [iops] if isinstance(iops, int | float) else list(iops)
    configured = LOAD | load

    def write(recorder: Recorder) -> None:
        whole_s = duration_s or 60.0
        job = EntityRef("host", "job", name)
        recorder.run(
            id or name, engine=engine, name=name, system="host", time_ns=int(START + start * SECOND),
            duration_ns=int(whole_s * SECOND), parameters=parameters, status=status, **configured,
        )  # fmt: skip
        step = SECOND if len(values) > 1 else int(whole_s * SECOND)
        for index, rate in enumerate(values):
            at = int(START + start * SECOND) + index * step
            depth = configured["outstanding"] or 1.0
            figures = {
                "ops_per_s": rate,
                "bytes_per_s": rate * (configured["block_bytes"] or 4096),
                "latency_ns_mean": latency_ns or depth / rate * SECOND,
                "device_latency_ns_mean": device_latency_ns,
            }
            if reads is not None:
                figures |= {"read_ops_per_s": rate * reads, "write_ops_per_s": rate * (1 - reads)}
            recorder.observe(job, at, step, figures, run=id or name)
        for counter, value in (told or {}).items():
            recorder.counter(
                job, int(START + start * SECOND), int(whole_s * SECOND), counter, "ns", value, run=id or name
            )
        for index, counts in enumerate(histogram):
            buckets = [(2.0**k * 1e4, 2.0 ** (k + 1) * 1e4, count) for k, count in enumerate(counts)]
            at = int(START + start * SECOND) + index * SECOND
            recorder.histogram(job, at, SECOND, "read", "lat", buckets, run=id or name)

    return write


def undated(writer: Writer) -> Writer:
    """The same evidence, of whose times nothing is known but their order."""

    def write(recorder: Recorder) -> None:
        recorder.notes.has_times = False
        writer(recorder)

    return write


def saying(iops: float, half_width: float, independent: float | None = 20.0, *, name: str = "a") -> Writer:
    """A run of five seconds with its figure as a fact, as storscope bench records it."""

    def write(recorder: Recorder) -> None:
        run(name, [iops] * 5, engine="storscope", duration_s=5)(recorder)
        entity = EntityRef("host", "job", name)
        numbers = {"iops": iops, "iops low": iops - half_width, "iops high": iops + half_width}
        for fact, number in {**numbers, "iops independent": independent}.items():
            recorder.fact(entity, fact, number)

    return write


def device(name: str, rates: Sequence[float], latency_ns: Sequence[float], *, start: float = 0.0) -> Writer:
    """Counters of a device of a running system, a value a second."""

    def write(recorder: Recorder) -> None:
        entity = EntityRef("host", "device", name)
        for index, (rate, latency) in enumerate(zip(rates, latency_ns, strict=True)):
            at = int(START + (start + index) * SECOND)
            recorder.observe(entity, at, SECOND, {"ops_per_s": rate, "latency_ns_mean": latency})

    return write


def noisy(mean: float, n: int = 120, *, seed: int = 0, spread: float = 0.05, rho: float = 0.4) -> list[float]:
    """An AR(1) series around `mean`."""
    rng = np.random.default_rng(seed)
    values = np.empty(n)
    values[0] = rng.normal()
    for index in range(1, n):
        values[index] = rho * values[index - 1] + rng.normal() * np.sqrt(1 - rho**2)
    return list(mean * (1 + spread * values))


def compared(path: Path, before: Sequence[Writer], after: Sequence[Writer], **settings: object) -> Comparison:
    """Two stores compared. Every writer is a capture of its own; ids differ between the sides."""
    stores = []
    for number, (side, writers) in enumerate((("before", before), ("after", after))):
        fill = [_nothing] * (20 * number)
        stores.append(make_store(path / side, *fill, *writers))
    sides = [parse_side(str(store.path)) for store in stores]
    wanted = Settings(**settings)  # type: ignore[arg-type]
    return compare_sides((stores[0], sides[0]), (stores[1], sides[1]), wanted, version="test")


def _nothing(recorder: Recorder) -> None:
    recorder.warn("empty")


def only(comparison: Comparison) -> PairResult:
    assert len(comparison.pairs) == 1, [pair.name for pair in comparison.pairs]
    return comparison.pairs[0]


def row(pair: PairResult, metric: str) -> MetricRow:
    return next(row for row in pair.rows if row.metric == metric)
