"""Intervals of one capture that are there twice, or lie upon each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.verdict import NotePlace
from tests.diagnose.evidence import START_NS, Writer
from tests.support.cases import make_case

_DISK = EntityRef("vm", "device", "sda")
_SECOND = 1_000_000_000


def _observed(starts_s: list[int], *columns: str, length_s: int = 1) -> Writer:
    def write(recorder: Recorder) -> None:
        for number, start_s in enumerate(starts_s):
            names = columns or ("ops_per_s",)
            values = {names[number % len(names)]: 100.0 + start_s}
            recorder.observe(_DISK, START_NS + start_s * _SECOND, length_s * _SECOND, values)

    return write


def test_what_is_in_a_capture_twice_counts_once(tmp_path: Path) -> None:
    case = make_case(tmp_path, _observed([*range(20), *range(20)]))
    series = case.all_series[_DISK]
    assert np.diff(series.time_ns).tolist() == [_SECOND] * 19
    assert not case.notes


def test_two_rows_that_tell_different_columns_of_an_instant_both_stay(tmp_path: Path) -> None:
    case = make_case(tmp_path, _observed([0, 0, 1, 1, 2, 2], "ops_per_s", "latency_ns_mean"))
    assert len(case.all_series[_DISK]) == 6
    assert not case.notes


def test_a_clock_that_was_set_back_is_told(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        _observed(list(range(30)))(recorder)
        for start_s in range(20, 40):
            recorder.observe(_DISK, START_NS + start_s * _SECOND, _SECOND, {"ops_per_s": 7.0})

    case = make_case(tmp_path, write)
    assert len(case.all_series[_DISK]) == 50
    (note,) = case.notes
    assert note.place is NotePlace.LAST
    assert note.words.startswith(
        "clocks: times of vm overlap; 10 of 50 intervals of sda begin before the one before is over."
    )
