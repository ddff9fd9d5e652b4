"""What is written column by column is what one interval after another says."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.bench import record_intervals
from storscope.bench.compact import compact, is_compact
from storscope.bench.figures import DIRECTIONS, FLUSHES, MEASURES, Interval, Latencies
from storscope.bench.histograms import Histograms
from storscope.bench.joining import joined
from storscope.bench.record_intervals import Cell, IntervalWriter
from storscope.domain import flush
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S

_JOB = EntityRef("host", "job", "run")
_START_NS = 1_700_000_000 * NS_PER_S
_LATENCIES = st.lists(st.integers(0, 5_000_000), max_size=12)


def _form(latencies: list[int]) -> dict[str, Any]:
    """As histogram.rs writes it: seven bits after the leading one."""
    buckets: dict[tuple[int, int], int] = {}
    for value in latencies:
        shift = max(0, value.bit_length() - 8)
        low = value >> shift << shift
        buckets[low, low + (1 << shift) - 1] = buckets.get((low, low + (1 << shift) - 1), 0) + 1
    return {
        "count": len(latencies),
        "mean_ns": sum(latencies) / len(latencies) if latencies else None,
        "min_ns": min(latencies, default=None),
        "max_ns": max(latencies, default=None),
        "bucket_low_ns": [low for low, _ in sorted(buckets)],
        "bucket_high_ns": [high for _, high in sorted(buckets)],
        "bucket_count": [buckets[bucket] for bucket in sorted(buckets)],
    }


@st.composite
def _tallies(draw: st.DrawFn) -> dict[str, Any]:
    response = draw(_LATENCIES)
    service = draw(st.permutations(response))
    return {
        "ios": len(response), "bytes": 4096 * len(response), "response": _form(response), "service": _form(service),
        "lateness": _form([value // 7 for value in response]),
    }  # fmt: skip


@st.composite
def _intervals(draw: st.DrawFn) -> list[Interval]:
    cells = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=4, unique=True))
    intervals = []
    flushing = draw(st.integers(0, 5))
    for index in range(draw(st.integers(1, 5))):
        present = [cell for cell in cells if draw(st.booleans())]
        intervals.append(Interval({
            "index": index, "start_ns": index * NS_PER_S, "duration_ns": NS_PER_S // draw(st.integers(1, 3)),
            "cells": [
                {"stream": stream, "target": target, **{name: draw(_tallies()) for name in DIRECTIONS},
                 FLUSHES: draw(_tallies()) if stream == flushing else None}
                for stream, target in present
            ],
            "outstanding_mean": draw(st.none() | st.floats(0, 9)), "offered_per_s": draw(st.none() | st.floats(0, 9)),
            "drain": False, "submitted": index, "in_flight_at_end": index, "failures": [], "usage": dict.fromkeys(
                ("user_ns", "system_ns", "voluntary_switches", "involuntary_switches"), 5
            ),
        }))  # fmt: skip
    return intervals


def _cells(intervals: list[Interval]) -> list[Cell]:
    return list(dict.fromkeys((cell["stream"], cell["target"]) for one in intervals for cell in one.form["cells"]))


def _part(cell: Cell) -> EntityRef:
    return EntityRef("host", "process", f"run: stream {cell[0]} on {cell[1]}")


def _written(intervals: list[Interval]) -> dict[str, list[dict[str, Any]]]:
    batches: dict[str, list[pa.RecordBatch]] = {}
    recorder = Recorder(lambda name, batch: batches.setdefault(name, []).append(batch))
    writer = IntervalWriter(recorder, _JOB, _START_NS, "response", _part, _cells(intervals))
    assert writer.write(iter(intervals), "run") == sum(interval.duration_ns for interval in intervals)
    recorder.finish()
    return {name: pa.Table.from_batches(found).to_pylist() for name, found in batches.items()}


def _said(intervals: list[Interval]) -> Iterator[tuple[EntityRef, Interval]]:
    """The job, and each of its parts if the run has several, also where one is alone or none is there."""
    cells = _cells(intervals)
    for interval in intervals:
        yield _JOB, interval
        for cell in cells if len(cells) > 1 else ():
            own = [form for form in interval.form["cells"] if (form["stream"], form["target"]) == cell]
            yield _part(cell), Interval({**interval.form, "cells": own})


@pytest.mark.parametrize("at_once", [1, 5, 4096], ids=lambda size: f"blocks of {size}")
@settings(max_examples=60)
@given(intervals=_intervals())
def test_columns_say_what_rows_would_say(at_once: int, intervals: list[Interval]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(record_intervals, "_TALLIES_AT_ONCE", at_once)
        tables = _written(intervals)
    observed = {(row["entity"], _ns(row["time"])): row for row in tables["observations"]}
    drawn = {
        (row["entity"], _ns(row["time"]), row["operation"], row["measure"]): row for row in tables.get("histograms", [])
    }
    said = list(_said(intervals))
    assert len(observed) == len(said)
    for entity, interval in said:
        key = (entity.name, _START_NS + interval.start_ns)
        _check_observation(observed[key], interval, is_job=entity == _JOB)
        for name, word in {**DIRECTIONS, FLUSHES: flush.OPERATION}.items():
            for measure in MEASURES:
                buckets = interval.direction(name).of(measure).buckets()
                row = drawn.pop((*key, word, measure), None)
                assert ([] if row is None else _buckets(row)) == buckets
    assert not drawn
    _check_flushes(tables, said)


@settings(max_examples=60)
@given(intervals=_intervals())
def test_the_parts_of_a_run_add_up_to_the_whole(intervals: list[Interval]) -> None:
    """Also where streams begin late or end early, so that one is alone."""
    if len(_cells(intervals)) < 2:
        return
    tables = _written(intervals)
    for column in ("ops_per_s", "read_ops_per_s", "write_ops_per_s", "bytes_per_s"):
        of_job, of_parts = Counter[datetime](), Counter[datetime]()
        for row in tables["observations"]:
            (of_job if row["entity"] == _JOB.name else of_parts)[row["time"]] += row[column]
        assert of_parts == pytest.approx(of_job)


@settings(max_examples=60)
@given(intervals=_intervals())
def test_intervals_with_arrays_say_what_those_with_lists_say(intervals: list[Interval]) -> None:
    small = [Interval(compact(copy.deepcopy(interval.form))) for interval in intervals]
    assert all(is_compact(cell["reads"]["response"]) for one in small for cell in one.form["cells"])
    assert _written(small) == _written(intervals)
    whole, expected = joined(small), joined(intervals)
    assert whole is not None
    assert expected is not None
    assert _plain(whole.form) == expected.form
    assert whole.all == expected.all


def _plain(value: Any) -> Any:
    """With lists for arrays."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def test_service_that_is_response_is_held_once() -> None:
    form = _form([5, 3_000, 70_000])
    tally = {"ios": 3, "bytes": 12_288, "response": form, "service": {**form}, "lateness": _form([0, 0, 0])}
    late = {**tally, "service": _form([5, 3_000, 60_000]), "lateness": _form([0, 0, 10_000])}
    (cell,) = compact({"cells": [{"stream": 0, "target": 0, "reads": tally, "writes": late}]})["cells"]
    assert cell["reads"]["service"] is cell["reads"]["response"]
    assert cell["writes"]["service"] is not cell["writes"]["response"]
    assert cell["writes"]["service"]["bucket_low_ns"].tolist() == _form([5, 3_000, 60_000])["bucket_low_ns"]


def _ns(time: datetime) -> int:
    return round((time - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1)) * 1000


def _buckets(row: dict[str, Any]) -> list[tuple[float, float, int]]:
    return list(zip(row["bucket_low_ns"], row["bucket_high_ns"], row["counts"], strict=True))


def _check_observation(row: dict[str, Any], interval: Interval, *, is_job: bool) -> None:
    whole = interval.direction(*DIRECTIONS, FLUSHES)
    assert row["duration_ns"] == interval.duration_ns
    assert row["ops_per_s"] == pytest.approx(interval.per_s(whole.ios))
    assert row["bytes_per_s"] == pytest.approx(interval.per_s(whole.bytes))
    assert row["latency_ns_mean"] == pytest.approx(whole.response.mean_ns)
    assert row["device_latency_ns_mean"] == pytest.approx(whole.service.mean_ns)
    assert row["latency_ns_max"] == whole.response.max_ns
    assert row["queue_depth_mean"] == (interval.outstanding_mean if is_job else None)
    for name, word in DIRECTIONS.items():
        direction = interval.direction(name)
        assert row[f"{word}_ops_per_s"] == pytest.approx(interval.per_s(direction.ios))
        assert row[f"{word}_latency_ns_mean"] == pytest.approx(direction.response.mean_ns)


def _check_flushes(tables: dict[str, list[dict[str, Any]]], said: list[tuple[EntityRef, Interval]]) -> None:
    """Counters of a block of intervals that have any; without one in an interval there is no latency."""
    counted = {
        (row["entity"], _ns(time), row["name"]): value
        for row in tables.get("series", [])
        if row["name"] in {flush.RATE, flush.LATENCY}
        for time, value in zip(_times(tables, row), row["values"], strict=True)
        if value is not None
    }
    for entity, interval in said:
        flushes, key = interval.flushes, (entity.name, _START_NS + interval.start_ns)
        assert counted.get((*key, flush.RATE), 0.0) == pytest.approx(interval.per_s(flushes.ios))
        assert counted.get((*key, flush.LATENCY)) == (
            None if flushes.response.mean_ns is None else pytest.approx(flushes.response.mean_ns)
        )


def _times(tables: dict[str, list[dict[str, Any]]], series: dict[str, Any]) -> list[datetime]:
    (line,) = (line for line in tables["timelines"] if line["timeline"] == series["timeline"])
    found: list[datetime] = line["times"]
    return found


@given(
    parts=st.lists(_LATENCIES, min_size=1, max_size=6), share=st.floats(0, 1), data=st.data(),
)  # fmt: skip
def test_histograms_added_up_by_group_are_those_of_the_latencies(
    parts: list[list[int]], share: float, data: st.DataObject
) -> None:
    groups = 3
    group_of = [data.draw(st.integers(0, groups - 1)) for _ in parts]
    summed = Histograms.from_forms([_form(part) for part in parts]).summed(np.asarray(group_of), groups)
    quantiles, means, forms = summed.quantiles_ns(share), summed.means_ns, summed.to_forms()
    for group in range(groups):
        chosen = [_form(part) for part, its in zip(parts, group_of, strict=True) if its == group]
        expected = Latencies.merged(chosen)
        assert summed.totals[group] == expected.count
        assert Latencies.merged([forms[group]]).buckets() == expected.buckets()
        if expected.count:
            assert quantiles[group] == expected.quantile_ns(share)
            assert means[group] == pytest.approx(expected.mean_ns)
            assert forms[group]["min_ns"] == min(form["min_ns"] for form in chosen if form["count"])
        else:
            assert np.isnan(quantiles[group])
            assert np.isnan(means[group])
