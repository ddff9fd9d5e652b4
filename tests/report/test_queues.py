"""The queues of drives over time: a convoy is seen, an even load too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.report.pack import Packer
from storscope.report.queues import queue_maps
from storscope.report.reading import Judged
from tests.report.evidence import START_NS
from tests.support.cases import make_store

_SLICE_NS = 20_000_000
_DRIVES, _SLICES = 46, 250


def drives_with_queues(depths: np.ndarray) -> Callable[[Recorder], None]:
    """Drives 1 to 46 of an array, one row each."""

    def write(recorder: Recorder) -> None:
        entities = [EntityRef("array-a", "disk", f"disk {number}") for number in range(1, len(depths) + 1)]
        times = START_NS + np.arange(depths.shape[1], dtype=np.int64) * _SLICE_NS
        durations = np.full(depths.shape[1], _SLICE_NS, dtype=np.int64)
        recorder.observe_columns(entities, times, durations, {"queue_depth_mean": depths})
        recorder.notes.system = "array-a"

    return write


def convoy() -> np.ndarray:
    """Forty requests that move on by a pair in every fifth slice, and nearly nothing elsewhere."""
    depths = np.full((_DRIVES, _SLICES), 0.2)
    for slice_ in range(_SLICES):
        pair = (slice_ // 5) % (_DRIVES // 2)
        depths[2 * pair : 2 * pair + 2, slice_] = 20.0
    return depths


def test_a_convoy_is_a_staircase_and_its_note_says_how_uneven_it_is(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", drives_with_queues(convoy()))
    packer = Packer()
    (map_,) = queue_maps(Judged(store), packer)
    assert map_.chart["names"] == [f"disk {number}" for number in range(1, _DRIVES + 1)]
    assert "20 ms" in map_.note
    assert "holds 41 % of all requests; evenly spread it would hold 2 %" in map_.note
    assert map_.rows[9] == ["disk 10", "0.99", "20"]  # two visits of five slices


def test_of_a_long_run_the_spread_is_that_of_the_stretch_that_is_drawn_and_says_so(tmp_path: Path) -> None:
    depths = np.full((8, 1000), 0.1)
    depths[0, 500:900] = 20.0
    (map_,) = queue_maps(Judged(make_store(tmp_path / "store", drives_with_queues(depths))), Packer())
    assert (
        "Drawn are the 8.00 s with the most requests. On average over them the busiest one of an instant holds 97 %"
        in map_.note
    )


def test_of_very_many_drives_all_count_for_the_spread_and_a_busy_one_that_is_not_drawn_is_named(tmp_path: Path) -> None:
    """Of 300 drives the share was that of the first 256, 'of all requests', whatever waited at the others."""
    depths = np.full((300, 50), 1.0)
    (even,) = queue_maps(Judged(make_store(tmp_path / "even", drives_with_queues(depths))), Packer())
    assert "holds 0.33 % of all requests; evenly spread it would hold 0.33 %." in even.note
    assert even.note.endswith("44 more disks count for this and are not drawn.")
    depths[298] = 299.0
    (map_,) = queue_maps(Judged(make_store(tmp_path / "hot", drives_with_queues(depths))), Packer())
    assert "holds 50 % of all requests; evenly spread it would hold 0.33 %." in map_.note
    assert map_.note.endswith("not drawn, among them disk 299, which has the most requests.")
    assert len(map_.chart["names"]) == 256


def test_drives_that_share_the_load_hold_equal_parts(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", drives_with_queues(np.full((8, 50), 3.0)))
    (map_,) = queue_maps(Judged(store), Packer())
    assert "holds 12 % of all requests; evenly spread it would hold 12 %" in map_.note


def test_fewer_than_four_drives_make_no_map(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", drives_with_queues(np.full((3, 50), 3.0)))
    assert queue_maps(Judged(store), Packer()) == []


def test_of_a_long_record_in_fine_slices_the_fullest_stretch_is_drawn_as_fine(tmp_path: Path) -> None:
    depths = np.full((8, 3000), 1.0)
    depths[2, 2000:2300] = 9.0
    store = make_store(tmp_path / "store", drives_with_queues(depths))
    (map_,) = queue_maps(Judged(store), Packer())
    columns = map_.chart["columns"]
    assert isinstance(columns, dict)
    assert (columns["width"], columns["count"]) == (0.02, 400)
    start = columns["start"] - START_NS / 1e9
    assert 1900 * 0.02 <= start <= 2000 * 0.02
    assert "Drawn are the 8.00 s with the most requests" in map_.note


def test_drives_with_instants_of_their_own_do_not_look_like_a_convoy(tmp_path: Path) -> None:
    depths = np.full((8, 80), np.nan)
    depths[np.arange(80) % 8, np.arange(80)] = 3.0
    store = make_store(tmp_path / "store", drives_with_queues(depths))
    (map_,) = queue_maps(Judged(store), Packer())
    assert "No instant has the queues of all disks" in map_.note


def test_an_instant_with_many_requests_counts_more_than_one_with_few(tmp_path: Path) -> None:
    depths = np.full((8, 100), 10.0)
    depths[:, 50:] = 0.0
    depths[0, 50:] = 0.5
    store = make_store(tmp_path / "store", drives_with_queues(depths))
    (map_,) = queue_maps(Judged(store), Packer())
    assert "holds 13 % of all requests" in map_.note


def _with_states(depths: np.ndarray, states: dict[int, str]) -> Callable[[Recorder], None]:
    def write(recorder: Recorder) -> None:
        drives_with_queues(depths)(recorder)
        for number, state in states.items():
            recorder.fact(EntityRef("array-a", "disk", f"disk {number}"), "state", state)

    return write


def test_spares_that_wait_and_failed_drives_would_hold_nothing_of_an_even_spread(tmp_path: Path) -> None:
    depths = np.full((10, 50), 3.0)
    depths[8:] = 0.0
    for states, share in (
        ({9: "spare", 10: "failed"}, "12 %"),
        ({9: "Hot Spare", 10: "normal"}, "11 %"),
        ({1: "failed", 2: "spare"}, "10 %"),  # in use all the time that is drawn
    ):
        store = make_store(tmp_path / share[:2], _with_states(depths, states))
        (map_,) = queue_maps(Judged(store), Packer())
        assert f"evenly spread it would hold {share}" in map_.note


def test_the_colours_of_queues_begin_at_the_same_depth_whatever_is_drawn(tmp_path: Path) -> None:
    for name, least in (("alike", 31.0), ("unlike", 0.06)):
        depths = np.full((8, 50), 32.0)
        depths[1] = least
        (map_,) = queue_maps(Judged(make_store(tmp_path / name, drives_with_queues(depths))), Packer())
        assert map_.chart["low"] == 0.05
        assert "The colours begin at 0.05; less is left blank." in map_.note
