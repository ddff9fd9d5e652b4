"""What diskspd's XML and its text share: a result as values, and how it is written.

Each time span becomes a run. Threads and targets are counted from the rows of thread and target, which sum to the run.
`outstanding` is -o (a thread and target) over all of them, or -O (a thread) over the threads with -F. Percentiles are
edges of a histogram: diskspd prints the least latency that no less than the share of the I/Os did not exceed
(its `Histogram::GetPercentile`), to 1 µs; the histogram is over reads and writes together.

Beware: the start is that of the program, to the second, in UTC; the measurement begins behind the making of files, of
which nothing is said, and the warm-up, which is added here.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._fio import Names, bounded_ms, number

DEFAULT_SYSTEM: Final = "diskspd-host"
WAYS: Final = ("read", "write")
_ROUNDING_MS: Final = 0.001
_USUAL: Final = frozenset({"25", "50", "75", "90", "95", "99"})
_TAIL: Final = 0.99
_STARTED: Final = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2}) (\d{1,2}):(\d\d):(\d\d)(?: UTC)?")


@dataclass
class Target:
    """What was asked for of one target."""

    path: str = ""
    block_bytes: float | None = None
    random_ratio: float | None = None
    read_ratio: float | None = None
    requests: float | None = None
    """I/Os in flight a thread."""
    threads: float | None = None
    """Threads of its own; None where all threads go to all targets (-F)."""
    said: dict[str, str] = field(default_factory=dict)


@dataclass
class Asked:
    """The parameters of a time span."""

    warmup_s: float = 0.0
    duration_s: float | None = None
    cooldown_s: float = 0.0
    requests: float | None = None
    """I/Os in flight a thread over all targets (-O)."""
    targets: list[Target] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """What one thread did on one target."""

    thread: str
    target: str
    ios: Mapping[str, float]
    """By direction."""
    size_bytes: Mapping[str, float]
    latency_ms: Mapping[str, float]
    """Means; only of directions that were timed. "all" where they are of both together."""


@dataclass
class Span:
    """The results of one time span."""

    number: int = 0
    """Place of its parameters, from 0."""
    seconds: float = 0.0
    threads: float | None = None
    parts: list[Part] = field(default_factory=list)
    latency_ms: dict[str, float] = field(default_factory=dict)
    """Means over all: "read", "write", "all"."""
    percentiles_ms: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """(share from 0 to 1, latency) by direction, and of "all", in order."""
    cpu: list[tuple[str, str, float]] = field(default_factory=list)
    """(processor or "average", name, per cent)."""
    counters: list[tuple[str, str, float]] = field(default_factory=list)
    iops: list[tuple[float, str, float]] = field(default_factory=list)
    """(end of the interval in s, direction, I/Os per second)."""
    iops_step_s: float = 0.0


@dataclass
class Result:
    """One run of diskspd."""

    version: str | None = None
    computer: str | None = None
    started: str = ""
    command: str = ""
    asked: list[Asked] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    @property
    def moment(self) -> dt.datetime | None:
        """When the program started."""
        match = _STARTED.search(self.started)
        if match is None or not 1990 <= int(match[1]) < 2200:
            return None
        try:
            return dt.datetime(*(int(part) for part in match.groups()), tzinfo=dt.UTC)  # type: ignore[misc,arg-type]
        except ValueError:
            return None


# Writing ---------------------------------------------------------------------------------------------------------


class Writer:
    """Writes results one after the other."""

    def __init__(self, recorder: Recorder, options: ImportOptions) -> None:
        self._recorder = recorder
        self._options = options
        self._names = Names()
        start = options.start
        aware = start if start is None or start.tzinfo else start.replace(tzinfo=options.zone())
        self._next_ns = 0 if aware is None else units.ns_from_datetime(aware)

    def note(self, results: Sequence[Result]) -> None:
        """What the capture says of itself."""
        notes, first = self._recorder.notes, results[0]
        notes.tool, notes.tool_version, notes.system = "DiskSpd", first.version, self._system(first)
        if self._options.start is not None:
            notes.clock = "placed by --start; runs follow one another"
        elif all(result.moment for result in results):
            notes.clock = "UTC in the file: the program's start, to the second, and the warm-up"
        else:
            notes.has_times = False
            notes.clock = "no time in the source; set --start to place it"

    def result(self, result: Result) -> None:
        """Every span of a run, one after the other."""
        moment = result.moment
        at_ns = self._next_ns if moment is None or self._options.start else units.ns_from_datetime(moment)
        for span in result.spans:
            asked = result.asked[span.number] if span.number < len(result.asked) else Asked()
            at_ns += _length_ns(asked.warmup_s)
            length_ns = _length_ns(span.seconds)
            self._span(result, asked, span, (at_ns, length_ns))
            at_ns += length_ns + _length_ns(asked.cooldown_s)
        self._next_ns = at_ns

    def _system(self, result: Result) -> str:
        return self._options.system or result.computer or DEFAULT_SYSTEM

    def _span(self, result: Result, asked: Asked, span: Span, when: tuple[int, int]) -> None:
        system = self._system(result)
        outstanding, label = _outstanding(asked, span), _label(asked)
        workers = span.threads if span.threads is not None else _sum([target.threads for target in asked.targets])
        run = self._recorder.run(
            self._names.run(label), engine="diskspd", engine_version=result.version, name=label, system=system,
            time_ns=when[0] if self._recorder.notes.has_times else None, duration_ns=when[1],
            block_bytes=_common([target.block_bytes for target in asked.targets]),
            read_ratio=_common([target.read_ratio for target in asked.targets]),
            random_ratio=_common([target.random_ratio for target in asked.targets]), outstanding=outstanding,
            workers=workers, status="ok", parameters=_parameters(result, asked),
        )  # fmt: skip
        job, host = EntityRef(system, "job", label), EntityRef(system, "host", system)
        whole = _values(span.parts, span.seconds, span.latency_ms)
        whole["latency_ns_max"] = _greatest_ns(span)
        self._recorder.observe(job, *when, whole, run=run)
        self._percentiles(job, span, when, run)
        self._parts(span, (job, host), when, run)
        self._counters(span, (job, host), when, run)

    def _percentiles(self, job: EntityRef, span: Span, when: tuple[int, int], run: str) -> None:
        """A histogram over all I/Os, and those of the usual percentiles by direction.

        Reads and writes apart would not add up to the percentiles of all: their edges are too few.
        """
        ios = {way: sum(part.ios.get(way, 0.0) for part in span.parts) for way in WAYS}
        active = [way for way in WAYS if ios[way]]
        operation = active[0] if len(active) == 1 else "all"
        buckets = _buckets(span.percentiles_ms.get(operation, []), sum(ios.values()))
        self._recorder.omit("latencies of percentiles that are not in order", buckets is None)
        self._recorder.histogram(job, *when, operation, "lat", buckets or [], run=run)
        for way in active:
            for share, ms in span.percentiles_ms.get(way, []):
                percent = f"{100 * share:.9g}"
                if share == 1.0 or percent in _USUAL or share > _TAIL:
                    name = f"{way}.lat.{'max' if share == 1.0 else 'p' + percent}"
                    self._recorder.counter(job, *when, name, "ns", units.ns_from_ms(ms), run=run)

    def _parts(self, span: Span, above: tuple[EntityRef, EntityRef], when: tuple[int, int], run: str) -> None:
        """Threads and targets: what they did, and how they hang together."""
        job, host = above
        by_thread: dict[EntityRef, list[Part]] = {}
        by_target: dict[EntityRef, list[Part]] = {}
        for part in span.parts:
            thread = EntityRef(job.system, "process", f"thread {part.thread}")
            target = EntityRef(job.system, "device", part.target)
            by_thread.setdefault(thread, []).append(part)
            by_target.setdefault(target, []).append(part)
            self._recorder.link(thread, "member_of", host)
            self._recorder.link(thread, "uses", target)
            self._recorder.link(target, "member_of", host)
            self._recorder.link(job, "lives_on", target)
        for entity, parts in (by_thread | by_target).items():
            self._recorder.observe(entity, *when, _values(parts, span.seconds, {}), run=run)

    def _counters(self, span: Span, above: tuple[EntityRef, EntityRef], when: tuple[int, int], run: str) -> None:
        job, host = above
        for processor, name, percent in span.cpu:
            if (processor, name) == ("average", "Usage"):
                self._recorder.observe(host, *when, {"cpu_busy_ratio": units.ratio_from_percent(percent)}, run=run)
            else:
                self._recorder.counter(host, *when, f"CPU {processor}: {name}", "%", percent, run=run)
        for name, unit, value in span.counters:
            self._recorder.counter(job, *when, name, unit, value, run=run)
        step_ns = _length_ns(span.iops_step_s)
        for end_s, way, value in span.iops:
            begin_ns = when[0] + _length_ns(end_s) - step_ns
            self._recorder.counter(job, begin_ns, step_ns, f"{way}.iops", "1/s", value, run=run)


def _length_ns(seconds: float) -> int:
    return round((bounded_ms(seconds * 1000) or 0.0) * 1000) * units.NS_PER_US


def _values(parts: Sequence[Part], seconds: float, latency_ms: Mapping[str, float]) -> dict[str, float | None]:
    """Rates and mean latencies over all `parts`; `latency_ms` are means over all where they are printed."""
    values: dict[str, float | None] = {}
    if seconds <= 0:
        return values
    for way in WAYS:
        values |= _of_way(parts, way, seconds, latency_ms)
    ops = sum(sum(part.ios.values()) for part in parts)
    values["ops_per_s"] = ops / seconds
    values["bytes_per_s"] = sum(sum(part.size_bytes.values()) for part in parts) / seconds
    mean = latency_ms.get("all") or _mean_ms([(sum(p.ios.values()), _latency_of(p)) for p in parts])
    values["latency_ns_mean"] = units.ns_from_ms(mean) if mean and ops else None
    return values


def _of_way(
    parts: Sequence[Part], way: str, seconds: float, latency_ms: Mapping[str, float]
) -> dict[str, float | None]:
    """None of a direction that no part tells of."""
    if not any(way in part.ios for part in parts):
        return {}
    ios = sum(part.ios.get(way, 0.0) for part in parts)
    mean = latency_ms.get(way) or _mean_ms([(part.ios.get(way, 0.0), part.latency_ms.get(way)) for part in parts])
    return {
        f"{way}_ops_per_s": ios / seconds,
        f"{way}_bytes_per_s": sum(part.size_bytes.get(way, 0.0) for part in parts) / seconds,
        f"{way}_latency_ns_mean": units.ns_from_ms(mean) if mean and ios else None,
    }


def _latency_of(part: Part) -> float | None:
    return part.latency_ms.get("all") or _mean_ms([(part.ios.get(way, 0.0), part.latency_ms.get(way)) for way in WAYS])


def _mean_ms(weighted: Sequence[tuple[float, float | None]]) -> float | None:
    """The mean over all I/Os; None when some were not timed."""
    active = [(weight, value) for weight, value in weighted if weight]
    if not active or any(value is None for _, value in active):
        return None
    return sum(weight * (value or 0.0) for weight, value in active) / sum(weight for weight, _ in active)


def _greatest_ns(span: Span) -> float | None:
    found = [ms for listed in span.percentiles_ms.values() for share, ms in listed if share == 1.0]
    return units.ns_from_ms(max(found)) if found else None


def _buckets(percentiles: Sequence[tuple[float, float]], ios: float) -> list[tuple[float, float, int]] | None:
    """Between each two percentiles so many I/Os as their shares are apart; None when they are not in order.

    That many I/Os took no longer than a percentile, and the last of them just so long: it has a bucket of its own, so
    that the percentiles that are printed are found again, to 1 us.
    """
    if list(percentiles) != sorted(percentiles) or any(
        left > right for (_, left), (_, right) in itertools.pairwise(percentiles)
    ):
        return None
    buckets: list[tuple[float, float, int]] = []
    low_ns = units.ns_from_ms(max(0.0, percentiles[0][1] - _ROUNDING_MS)) if percentiles else 0.0
    done = 0
    for share, ms in percentiles:
        # The tolerance is for shares such as 0.07 that binary cannot hold.
        count = max(done, math.ceil(share * ios * (1 - 1e-12)))
        high_ns = units.ns_from_ms(ms)
        if buckets and high_ns == buckets[-1][1]:
            buckets[-1] = (buckets[-1][0], high_ns, buckets[-1][2] + count - done)
            done = count
        elif high_ns > low_ns and count > done:
            edge_ns = max(low_ns, high_ns - units.ns_from_ms(_ROUNDING_MS))
            one = 1 if edge_ns > low_ns else count - done
            buckets += [(low_ns, edge_ns, count - done - one), (edge_ns, high_ns, one)]
            low_ns, done = high_ns, count
    return [bucket for bucket in buckets if bucket[2]]


# What was asked for ----------------------------------------------------------------------------------------------


def _common(values: Sequence[float | None]) -> float | None:
    """What all targets have alike."""
    return values[0] if values and len(set(values)) == 1 else None


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _outstanding(asked: Asked, span: Span) -> float | None:
    """I/Os in flight over all threads and targets; None where the parameters do not tell."""
    if asked.requests and span.threads:
        return asked.requests * span.threads
    if any(target.threads is None for target in asked.targets):
        requests = _sum([target.requests for target in asked.targets])
        return None if requests is None or span.threads is None else requests * span.threads
    each = [t.requests * t.threads if t.requests and t.threads else None for t in asked.targets]
    return _sum(each)


def _label(asked: Asked) -> str:
    """A name from the load, as diskspd's runs have none: '8 KiB random, 70 % reads'. The depth stands beside it."""
    block, reads, random = (
        _common([getattr(target, name) for target in asked.targets])
        for name in ("block_bytes", "read_ratio", "random_ratio")
    )
    size = "" if block is None else units.format_bytes(block)
    pattern = _share_words(random, "sequential", "random", "random")
    mix = _share_words(reads, "writes", "reads", "reads")
    return ", ".join(part for part in (f"{size} {pattern}".strip(), mix) if part) or "diskspd"


def _share_words(share: float | None, none: str, whole: str, some: str) -> str:
    if share is None:
        return ""
    return {0.0: none, 1.0: whole}.get(share, f"{100 * share:.0f} % {some}")


def _parameters(result: Result, asked: Asked) -> dict[str, str]:
    said = {"command": result.command, **asked.said}
    for place, target in enumerate(asked.targets, 1):
        prefix = f"target {place}: " if len(asked.targets) > 1 else "target: "
        said |= {f"{prefix}{name}": text for name, text in target.said.items()}
    return {name: text for name, text in said.items() if text}


# Figures ---------------------------------------------------------------------------------------------------------


def figure(text: str | None, most: float = 2.0**62) -> float | None:
    """A number that is not negative; None for anything else ('N/A' too)."""
    found = number((text or "").strip().removesuffix("%").strip())
    return found if found is not None and 0 <= found <= most else None
