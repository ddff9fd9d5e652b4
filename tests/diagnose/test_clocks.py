from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.clocks import apply_offsets, capture_clocks, estimate_offsets
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from storscope.domain.verdict import NotePlace
from tests.diagnose.days import MS, START_NS, record
from tests.support.cases import make_case

COUNT = 1_500


def source(
    ahead_s: float, *, system: str = "host", kind: str = "device", step_s: int = 20, clock: str = "zone in the file",
    seed: int = 1,
) -> Callable[[Recorder], None]:  # fmt: skip
    """A source that saw the one true load (made from `seed`) by a clock that is ahead by so many seconds."""

    def write(recorder: Recorder) -> None:
        level = np.repeat(np.random.default_rng(seed).gamma(1.0, 300.0, 1 + COUNT * 20 // 50), 50)[: COUNT * 20]
        rate = level.reshape(-1, step_s).mean(axis=1)[None] * [[0.7], [0.3]]
        start_ns = START_NS + round(ahead_s * NS_PER_S)
        columns = {"ops_per_s": rate, "latency_ns_mean": np.full_like(rate, 5 * MS)}
        record(recorder, columns, ["a", "b"], kind=kind, system=system, step_s=step_s, start_ns=start_ns)
        recorder.notes.clock = clock

    return write


def test_a_host_in_another_zone_is_brought_to_the_array(tmp_path: Path) -> None:
    late = source(-3_600, clock="--timezone UTC", step_s=10)
    case = make_case(tmp_path, source(0, system="array", kind="vdisk"), late)
    clock = capture_clocks(case)[0]
    assert (clock.capture, clock.reference) == ("0" * 15 + "1", "0" * 16)
    assert clock.whole_quarter_hours == 4
    assert clock.offset_ns.covers(3_600 * NS_PER_S)
    apply_offsets(case)
    assert case.clock_offsets_ns[clock.capture] == pytest.approx(3_600 * NS_PER_S, abs=5 * NS_PER_S)
    starts = {entity.system: int(series.time_ns[0]) for entity, series in case.all_series.items()}
    assert starts["host"] == pytest.approx(starts["array"], abs=5 * NS_PER_S)
    assert "synthetic-1 is 60 min behind" in case.notes[0].words
    assert "time zone" in case.notes[0].words
    assert case.notes[0].place is NotePlace.LAST


def test_clocks_that_agree_are_left_alone(tmp_path: Path) -> None:
    case = make_case(tmp_path, source(0, system="array", kind="vdisk"), source(2, step_s=10))
    apply_offsets(case)
    assert capture_clocks(case)
    assert estimate_offsets(case) == {}
    assert (dict(case.clock_offsets_ns), case.notes) == ({}, [])


def test_unrelated_loads_are_not_tied_together(tmp_path: Path) -> None:
    case = make_case(tmp_path, source(0, system="array"), source(600, seed=2))
    assert capture_clocks(case) == []


def test_the_same_jobs_run_again_later_are_no_clock_error(tmp_path: Path) -> None:
    case = make_case(tmp_path, source(0), source(40_123))
    apply_offsets(case)
    assert dict(case.clock_offsets_ns) == {}


def test_pieces_of_one_capture_have_one_clock(tmp_path: Path) -> None:
    """The load repeats, so the second piece looks like the first one, seen by a clock that is off."""
    assert capture_clocks(make_case(tmp_path / "adjoin", source(0), source(COUNT * 20 + 20))) == []
    assert capture_clocks(make_case(tmp_path / "apart", source(0), source(COUNT * 20 + 7_000)))


def test_three_sources_meet_at_the_best_known_clock(tmp_path: Path) -> None:
    case = make_case(
        tmp_path,
        source(300, system="h1", clock="--timezone UTC"),
        source(0, system="array", kind="vdisk"),
        source(-120, system="h2", clock="--timezone UTC", step_s=10),
    )
    offsets = [round(ns / NS_PER_S) for _, ns in sorted(estimate_offsets(case).items())]
    assert offsets == pytest.approx([-300, 120], abs=4)
    assert {clock.reference for clock in capture_clocks(case)} == {"0" * 15 + "1"}


def test_of_clocks_known_as_well_the_one_that_others_go_with_stays(tmp_path: Path) -> None:
    def log(recorder: Recorder) -> None:
        recorder.event(EntityRef("host", "device", "a"), START_NS + 600 * NS_PER_S, "slow", "slow")
        recorder.notes.system, recorder.notes.clock = "host", "zone in the file"

    def host(recorder: Recorder) -> None:
        source(0)(recorder)
        recorder.notes.system = "host"

    late = source(-3_600, system="array", kind="vdisk", step_s=10)
    alone = make_case(tmp_path / "alone", host, late)
    assert list(estimate_offsets(alone)) == ["0" * 16], "of two that stand alone the finer one stays"
    case = make_case(tmp_path / "company", host, late, log)
    assert list(estimate_offsets(case)) == ["0" * 15 + "1"], "the log would stay behind"


def test_one_capture_has_no_offset(tmp_path: Path) -> None:
    assert capture_clocks(make_case(tmp_path, source(0))) == []


GUESS = "no times in the source; rebuilt from row order, the date in the header, midnight, 20 s steps"


def test_times_that_were_a_guess_are_moved_to_where_the_same_load_was_seen(tmp_path: Path) -> None:
    case = make_case(tmp_path, source(0), source(-38_165, clock=GUESS))
    apply_offsets(case)
    [(capture, moved_ns)] = case.clock_offsets_ns.items()
    assert capture == "0" * 15 + "1"
    assert moved_ns / NS_PER_S == pytest.approx(38_165, abs=5)
    [note] = case.notes
    assert "the times of synthetic-1 are a guess, as it has none" in note.words
    assert "its times were moved" in note.words
    assert note.place is NotePlace.LAST


def test_the_start_that_somebody_said_is_no_guess(tmp_path: Path) -> None:
    said = GUESS.replace("the date in the header, midnight", "--start")
    case = make_case(tmp_path, source(0), source(-38_165, clock=said))
    apply_offsets(case)
    assert (dict(case.clock_offsets_ns), case.notes) == ({}, [])


def test_a_guess_that_nothing_supports_is_told_beside_other_sources_only(tmp_path: Path) -> None:
    case = make_case(tmp_path / "two", source(0), source(-38_165, clock=GUESS, seed=2))
    apply_offsets(case)
    [note] = case.notes
    assert note.words.startswith("the times of synthetic-1 are a guess")
    assert "--start and --interval" in note.words
    alone = make_case(tmp_path / "alone", source(0, clock=GUESS))
    apply_offsets(alone)
    assert alone.notes == []
