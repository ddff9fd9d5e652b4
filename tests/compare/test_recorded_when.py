"""Counters of one entity at two times: which of the sides is the earlier one."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.compare import compare_sides, parse_side
from storscope.domain.comparison import Comparison, Settings
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.compare.evidence import SECOND, Writer, compared, device, noisy
from tests.support.cases import make_store

MS = 1e6
_DAY_S = 86_400.0
_EARLIER = (
    "The side after is the earlier one: it ends 2027-01-15 08:02:00Z, the side before begins 2027-01-16 08:00:00Z. "
    "If they changed places, so did better and worse."
)


def _hour(latency_ms: float, *, start: float, name: str = "sda", seed: int = 0) -> Writer:
    return device(name, noisy(1000, seed=seed), noisy(latency_ms * MS, seed=seed + 1), start=start)


def _of_one_store(path: Path, before: str, after: str) -> Comparison:
    store = make_store(path / "lab", _hour(2, start=0), _hour(1, start=_DAY_S, seed=5))
    sides = [parse_side(f"{store.path}#{times}") for times in (before, after)]
    return compare_sides((store, sides[0]), (store, sides[1]), Settings(), version="test")


def test_sides_that_changed_places_are_told(tmp_path: Path) -> None:
    found = compared(tmp_path, [_hour(1, start=_DAY_S)], [_hour(2, start=0, seed=5)])
    assert found.notes == [_EARLIER]


def test_so_are_two_ranges_of_one_capture(tmp_path: Path) -> None:
    late, early = "since=2027-01-16T08:00", "until=2027-01-15T08:02"
    assert _of_one_store(tmp_path / "turned", late, early).notes == [_EARLIER]
    assert _of_one_store(tmp_path / "in order", early, late).notes == []


def test_the_time_that_is_in_both_captures_is_told(tmp_path: Path) -> None:
    names = ("sda", "sdb")
    before = [_hour(2, start=0, name=name) for name in names]
    after = [_hour(1, start=60, name=name, seed=5) for name in names]
    when = "from 2027-01-15 08:01:00Z to 2027-01-15 08:02:00Z"
    assert compared(tmp_path, before, after).notes == [
        f"2 entities are in captures of both sides {when}: what is in both makes them alike, or a clock is wrong."
    ]


def test_a_capture_that_is_among_several_of_the_other_side_is_told(tmp_path: Path) -> None:
    """A folder beside one file of it."""
    days = [_hour(2, start=0), _hour(2, start=_DAY_S, seed=3)]
    store = make_store(tmp_path / "lab", *days)
    sides = [parse_side(text) for text in (str(store.path), f"{store.path}#since=2027-01-16")]
    found = compare_sides((store, sides[0]), (store, sides[1]), Settings(), version="test")
    assert found.notes[0].startswith("1 entity is in captures of both sides from 2027-01-16 08:00:00Z")


def test_a_day_between_two_others_shares_no_time_with_them(tmp_path: Path) -> None:
    around = [_hour(2, start=0), _hour(2, start=2 * _DAY_S, seed=3)]
    assert compared(tmp_path, around, [_hour(1, start=_DAY_S, seed=5)]).notes == []


def test_times_in_order_need_no_word(tmp_path: Path) -> None:
    assert compared(tmp_path, [_hour(2, start=0)], [_hour(1, start=120, seed=5)]).notes == []


@pytest.mark.parametrize("what", ["another device", "no times in the source"])
def test_nothing_is_said_of_what_has_no_common_clock(what: str, tmp_path: Path) -> None:
    """Old array and new one are often compared while both run; without times in it a source begins in 1970."""
    if what == "another device":
        after = _hour(1, start=0, name="sdb", seed=5)
    else:

        def after(recorder: Recorder) -> None:
            for index, latency in enumerate(noisy(1 * MS, seed=5)):
                figures = {"ops_per_s": 1000.0, "latency_ns_mean": latency}
                recorder.observe(EntityRef("host", "device", "sda"), index * SECOND, SECOND, figures)

    found = compared(tmp_path, [_hour(2, start=_DAY_S)], [after])
    assert found.pairs and found.notes == []
