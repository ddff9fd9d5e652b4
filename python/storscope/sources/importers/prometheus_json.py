"""Answers of a Prometheus server's query API: node_exporter's counters of the disks of many hosts, as they were stored.

Expected shape: the JSON of /api/v1/query for a range of samples, so that what happened last night needs no capture:

    curl -sG http://PROMETHEUS:9090/api/v1/query -d time=2026-11-20T04:00:00Z \\
        --data-urlencode 'query={__name__=~"node_disk_.*|node_uname_info"}[4h]' > prometheus.json

All samples of one scrape of an exporter have one time, so that scrapes are got back as pages (`_node_pages.py`).
Several documents may stand in one file. Captured from Prometheus 2.42 and node_exporter 1.5.0.

Beware: /api/v1/query_range is read, too, and tells the last sample before each of its steps: with steps shorter than
the scrapes it says that nothing happened, and then too much. What a function made (rate) is no counter, has no name,
and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken, shortened
from storscope.sources.importers._json_documents import each_document
from storscope.sources.importers._node_pages import Pages, Sample
from storscope.sources.importers._snapshot_clock import SnapshotClock

_CAPTURE: Final = (
    "curl -sG http://PROMETHEUS:9090/api/v1/query -d time=2026-11-20T04:00:00Z "
    """--data-urlencode 'query={__name__=~"node_disk_.*|node_uname_info"}[4h]' > prometheus.json"""
)
_HINT: Final = f"Ask for the counters themselves: {_CAPTURE}"
_ANSWER: Final = re.compile(r'"status"\s*:\s*"(?:success"\s*,\s*"data"|error"\s*,\s*"errorType")')
_MS_END: Final = 2.0**53
_AT_ONCE: Final = 65_536
"""Samples that are Python's own numbers at a time."""


def _recognise(head: Head) -> float:
    if head.text.lstrip()[:1] != "{" or not _ANSWER.search(head.text):
        return 0.0
    return 0.96 if '"node_disk_' in head.text else 0.7  # an answer about something else, which is said


_Labels = frozenset[tuple[str, str]]
_Points = list[tuple[int, float]]
"""Time (ms since 1970) and value."""


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "Prometheus"
    known: dict[_Labels, int] = {}
    numbers, times, values = [], [], []
    for document in each_document(evidence, recorder, "an answer of Prometheus' query API", _HINT):
        for named, points in _series(document.value, evidence, recorder):
            numbers.append(np.full(len(points), known.setdefault(named, len(known))))
            times.append(np.array([time for time, _ in points], dtype=np.int64))
            values.append(np.array([value for _, value in points], dtype=np.float64))
        del document  # of many times the size of its text
    labels = [dict(named) for named in known]
    if not any("__name__" in named for named in labels):
        found = "results without a name, which a function as rate() takes" if labels else "no result"
        raise broken(evidence, "samples of node_disk_*", found, hint=_HINT)
    clock = SnapshotClock(evidence, recorder, options, "node_exporter", "curl -s localhost:9100/metrics")
    pages = Pages(recorder, options, clock)
    before: int | None = None
    for number, time_ms, value in _by_time(np.concatenate(numbers), np.concatenate(times), np.concatenate(values)):
        if time_ms != before:
            pages.complete()
        before = time_ms
        of = labels[number]
        pages.take(Sample(of.get("__name__", ""), of, value, time_ms))
    pages.finish()
    if not pages.scrapes:
        raise broken(evidence, "metrics node_disk_* of a Linux host", "other metrics only", hint=_HINT)
    clock.finish(sum(pages.scrapes))
    if all(count == 1 for count in pages.scrapes):
        recorder.warn(f"Only one scrape: rates need two, so a range. {_HINT}")


def _by_time(numbers: IntArray, times: IntArray, values: FloatArray) -> Iterator[tuple[int, int, float]]:
    """Which series, time and value, of each sample once: answers may overlap."""
    order = np.lexsort((numbers, times))
    is_again = (np.diff(numbers[order]) == 0) & (np.diff(times[order]) == 0)
    order = order[np.concatenate(([True], ~is_again))[: len(order)]]
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        yield from zip(numbers[some].tolist(), times[some].tolist(), values[some].tolist(), strict=True)


def _series(answer: Mapping[str, Any], evidence: Evidence, recorder: Recorder) -> Iterator[tuple[_Labels, _Points]]:
    """Labels and samples of each result."""
    if answer.get("status") == "error":
        said = f"{answer.get('errorType')}: {answer.get('error')}"
        raise broken(evidence, "an answer of Prometheus with data", shortened(said), hint=_HINT)
    for warning in _list(answer, "warnings"):
        recorder.warn(f"Prometheus says: {shortened(str(warning))}")
    data = answer.get("data")
    for result in _list(data, "result") if isinstance(data, dict) else ():
        metric = result.get("metric") if isinstance(result, dict) else None
        if not isinstance(metric, dict):
            recorder.omit("results without labels")
            continue
        pairs = _list(result, "values") or [result.get("value")]
        points = [point for pair in pairs if (point := _point(pair)) is not None]
        recorder.omit("samples without a time or a number", len(pairs) - len(points))
        yield frozenset((str(name), str(value)) for name, value in metric.items()), points


def _list(of: Mapping[str, Any], key: str) -> list[Any]:
    value = of.get(key)
    return value if isinstance(value, list) else []


def _point(pair: object) -> tuple[int, float] | None:
    """A sample: [seconds, "value"]."""
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    try:
        time_ms, value = float(pair[0]) * 1000.0, float(pair[1])
    except (TypeError, ValueError, OverflowError):
        return None
    return (round(time_ms), value) if 0 < time_ms < _MS_END else None


IMPORTER = Importer(
    name="prometheus_json",
    title="Prometheus query API: disks of hosts with node_exporter, JSON",
    supports="/api/v1/query with a range, /api/v1/query_range without a function; seen: Prometheus 2.42",
    how_to_capture=_CAPTURE,
    recognise=_recognise,
    read=_read,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
        "write_latency_ns_mean", "queue_depth_mean", "busy_ratio, of each host by its name",
        "merges, discards, flushes and operations in flight as counters",
    ),
    not_yet={"metrics other than node_disk_*": "processors, network, filesystems: bring sar or iostat of the host"},
    never={"latency percentiles": "the kernel's disk statistics keep sums only"},
)  # fmt: skip
