"""What is drawn is what was judged: the same time, by the same clocks, out of the same captures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.domain.verdict import Verdict
from storscope.report.heatmap import event_map
from storscope.report.layers import layers_of
from storscope.report.pack import Packer
from storscope.report.page import render
from storscope.report.queues import queue_maps
from storscope.report.reading import BYTES, LATENCY, OPS, Judged, Track, judged_of, read_evidence
from storscope.store import Store
from storscope.store.time_frame import TimeFrame
from storscope.workbench.diagnosing import diagnose
from tests.diagnose.days import record
from tests.report.evidence import START_NS, S
from tests.report.test_queues import drives_with_queues
from tests.support.cases import make_store

HOUR_NS = 3_600 * S
COUNT, STEP_S, BAD = 600, 10, slice(300, 330)


def host_and_array(late_s: int) -> tuple[Callable[[Recorder], None], Callable[[Recorder], None]]:
    """One load seen by an array and by a host whose clock is late; both are slow for five minutes."""
    level = np.repeat(np.random.default_rng(1).gamma(1.0, 300.0, COUNT // 5), 5)
    latency_ns = np.full(COUNT, 2.0 * NS_PER_MS)
    latency_ns[BAD] = 80.0 * NS_PER_MS

    def source(system: str, kind: str, start_ns: int, clock: str) -> Callable[[Recorder], None]:
        def write(recorder: Recorder) -> None:
            columns = {"ops_per_s": level[None] * [[0.7], [0.3]], "latency_ns_mean": np.tile(latency_ns, (2, 1))}
            record(recorder, columns, ["a", "b"], kind=kind, system=system, step_s=STEP_S, start_ns=start_ns)
            recorder.event(EntityRef(system, kind, "a"), start_ns, "first", text="begins")
            recorder.event(EntityRef(system, kind, "a"), start_ns + BAD.start * STEP_S * NS_PER_S, "slow", text="slow")
            recorder.notes.clock = clock

        return write

    return (
        source("array", "vdisk", START_NS, "zone in the file"),
        source("host", "device", START_NS - late_s * S, "--timezone UTC"),
    )


def drawn(store: Store, verdict: Verdict) -> dict[EntityRef, Track]:
    return {track.entity: track for track in read_evidence(judged_of(verdict, store)).tracks}


def test_the_bad_windows_of_a_clock_that_was_moved_lie_on_what_is_drawn(tmp_path: Path) -> None:
    store = make_store(tmp_path, *host_and_array(late_s=3_600))
    verdict = diagnose(store)
    assert list(verdict.clock_offsets_ns) == ["0" * 15 + "1"]
    [(start_ns, end_ns)] = verdict.bad_windows["host"]
    track = drawn(store, verdict)[EntityRef("host", "device", "a")]
    slow = track[LATENCY] > 10 * NS_PER_MS
    assert (track.time_ns[slow].min(), track.end_ns[slow].max()) == (start_ns, end_ns)
    assert verdict.start_ns is not None
    assert verdict.end_ns is not None
    assert verdict.end_ns - verdict.start_ns == pytest.approx(COUNT * STEP_S * S, abs=10 * S)
    assert "--timezone UTC, taken as 60 min later" in render(verdict, store)


def test_events_are_drawn_by_the_clocks_that_were_brought_together(tmp_path: Path) -> None:
    store = make_store(tmp_path, *host_and_array(late_s=-3_600))
    told = event_map(judged_of(diagnose(store), store), Packer())
    assert told is not None
    columns = cast("dict[str, float]", told.chart["columns"])
    assert columns["width"] * columns["count"] == pytest.approx(BAD.start * STEP_S, abs=40), "without the hour"


def test_events_have_the_time_axis_of_the_charts_above_them(tmp_path: Path) -> None:
    """The last event is half way through what was measured, where the axis ended."""
    store = make_store(tmp_path, *host_and_array(late_s=0))
    judged = judged_of(diagnose(store), store)
    told = event_map(judged, Packer(), layers_of(read_evidence(judged)))
    assert told is not None
    columns = cast("dict[str, float]", told.chart["columns"])
    assert columns["start"] == START_NS / NS_PER_S
    assert columns["width"] * columns["count"] == pytest.approx(COUNT * STEP_S, abs=50)


def test_what_two_logs_tell_alike_is_drawn_once(tmp_path: Path) -> None:
    def log(recorder: Recorder) -> None:
        for second in (0, 60):
            recorder.event(EntityRef("esx", "device", "naa.1"), START_NS + second * S, "command_aborted", "aborted")

    told = event_map(Judged(make_store(tmp_path, log, log)), Packer())
    assert told is not None
    assert told.rows == [["command aborted", "2"]]


def observed(entity: EntityRef, step_s: int, columns: dict[str, float], count: int) -> Callable[[Recorder], None]:
    def write(recorder: Recorder) -> None:
        for number in range(count):
            recorder.observe(entity, START_NS + number * step_s * S, step_s * S, dict(columns))

    return write


def test_of_two_captures_of_one_time_the_one_that_was_judged_is_drawn(tmp_path: Path) -> None:
    sda = EntityRef("host", "device", "sda")
    rich = {OPS: 100.0, BYTES: 4e5, LATENCY: 1e6, "queue_depth_mean": 2.0, "busy_ratio": 0.5}
    poor = {OPS: 900.0, BYTES: 4e6, LATENCY: 9e6}
    store = make_store(tmp_path, observed(sda, 60, rich, 12), observed(sda, 10, poor, 72))
    verdict = diagnose(store)
    assert verdict.set_aside == {sda: {"0" * 15 + "1"}}
    track = drawn(store, verdict)[sda]
    assert track.captures == ("0" * 16,)
    assert set(track[OPS]) == {100.0}
    told = [note.words for note in verdict.provenance.notes if "set aside" in note.words]
    assert [note.split()[0] for note in told] == ["synthetic-1"]
    assert told[0] in render(verdict, store)


def test_queues_are_drawn_of_the_captures_that_were_judged(tmp_path: Path) -> None:
    store = make_store(tmp_path, drives_with_queues(np.full((4, 50), 1.0)), drives_with_queues(np.full((4, 40), 9.0)))
    (map_,) = queue_maps(judged_of(diagnose(store), store), Packer())
    assert [row[1:] for row in map_.rows] == [["1.00", "1"]] * 4


def test_queues_are_drawn_by_the_clocks_that_were_brought_together(tmp_path: Path) -> None:
    store = make_store(tmp_path, drives_with_queues(np.full((4, 50), 1.0)))
    frame = TimeFrame(clock_offsets_ns={"0" * 16: HOUR_NS})
    (map_,) = queue_maps(Judged(store, frame), Packer())
    assert cast("dict[str, float]", map_.chart["columns"])["start"] == (START_NS + HOUR_NS) / 1e9


@pytest.mark.parametrize(("since", "until", "expected"), [(None, None, 3), (10, None, 2), (10, 20, 1)])
def test_only_the_time_that_was_judged_is_drawn(
    tmp_path: Path, since: int | None, until: int | None, expected: int
) -> None:
    sda = EntityRef("host", "device", "sda")
    store = make_store(tmp_path, observed(sda, 10, {OPS: 1.0}, 3))
    bounds = [None if second is None else START_NS + second * S for second in (since, until)]
    verdict = diagnose(store, since=bounds[0], until=bounds[1])
    assert len(drawn(store, verdict)[sda]) == expected
