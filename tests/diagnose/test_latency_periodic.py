from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.rules.latency_periodic import RULE
from storscope.domain.finding import Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import MIB, NS_PER_S
from tests.diagnose.days import MS, START_NS, FloatArray, day, entity
from tests.support.cases import findings, judge, make_case

STEP_S = 300
PER_DAY = 86_400 // STEP_S
HOUR_NS = 3_600 * NS_PER_S


def days(count: int, nights: tuple[int, ...], factor: float = 8.0, seed: int = 0) -> Callable[[Recorder], None]:
    """Days at 5 minutes, with the hours 1:00 to 3:00 bad on some of them."""

    def change(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for night in nights:
            hours = slice(night * PER_DAY + PER_DAY // 24, night * PER_DAY + 3 * PER_DAY // 24)
            latency[:, hours] *= factor
            moved[2, hours] *= 16

    return day(change, count=count * PER_DAY, step_s=STEP_S, seed=seed, volumes=3)


def test_a_nightly_backup_window_is_found_with_its_hours(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, days(7, (2, 3, 5, 6))))
    assert finding.severity is Severity.WARNING
    assert "01:00 to 03:00 UTC" in finding.title
    assert (finding.numbers["days_bad"], finding.numbers["days_looked_at"]) == (4, 5)
    assert finding.numbers["latency_ns_inside"] == pytest.approx(32 * MS * 4 / 7 + 4 * MS * 3 / 7, rel=0.1)
    assert "v02" in finding.summary
    assert finding.evidence[0].rows[0][0] in {1, 2}


def test_two_bad_nights_of_five_are_no_habit(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, days(7, (3, 6))))
    assert isinstance(outcome, Healthy)


def test_bad_hours_at_changing_times_are_no_habit(tmp_path: Path) -> None:
    def wandering(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for night, hour in enumerate((2, 20, 11, 7, 15, 23, 4)):
            start = night * PER_DAY + hour * PER_DAY // 24
            latency[:, start : start + PER_DAY // 12] *= 8

    [outcome] = judge(RULE, make_case(tmp_path, day(wandering, count=7 * PER_DAY, step_s=STEP_S)))
    assert isinstance(outcome, Healthy)
    assert "p =" in outcome.statement


def test_a_pattern_that_hurts_nobody_is_information(tmp_path: Path) -> None:
    found = findings(RULE, make_case(tmp_path, days(6, tuple(range(6)), factor=3.0)))
    assert [finding.severity for finding in found] == [Severity.INFO]


def test_a_bad_weekday_is_found_in_weeks(tmp_path: Path) -> None:
    def saturdays(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for week in range(5):  # the first day is a Saturday
            latency[:, week * 168 : week * 168 + 24] *= 4

    found = findings(RULE, make_case(tmp_path, day(saturdays, count=35 * 24, step_s=3_600, volumes=2)))
    assert any("every Saturday" in finding.title for finding in found)


def lines(starts: list[tuple[int, float]], value: float = 60 * MS) -> Callable[[Recorder], None]:
    def write(recorder: Recorder) -> None:
        for number, hour in starts:
            for minute in (3, 7, 21):
                time_ns = START_NS + number * 24 * HOUR_NS + round((hour + minute / 60) * HOUR_NS)
                recorder.event(entity("naa.1", "device", "esx"), time_ns, "latency_deteriorated", "line", value=value,
                               unit="ns")  # fmt: skip

    return write


def test_log_lines_alone_tell_the_hour(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, lines([(0, 2), (1, 2), (2, 2), (3, 2), (4, 14), (5, 2)])))
    assert "02:00 to 03:00 UTC" in finding.title
    assert finding.numbers["days_bad"] == 4
    assert finding.entities == [entity("naa.1", "device", "esx")]


def test_harmless_log_lines_are_no_habit(tmp_path: Path) -> None:
    nights = [(number, 2.0) for number in range(6)]
    [outcome] = judge(RULE, make_case(tmp_path, lines(nights, value=1 * MS)))
    assert isinstance(outcome, Healthy)


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, days(7, (2, 3, 5, 6)))
    assert findings(RULE, case, days_min_count=5) == []
    assert findings(RULE, case, slower_factor=20.0) == []
    assert findings(RULE, case, p_level_max=0.0001) == []


def test_one_day_is_not_enough(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, day()))
    assert isinstance(outcome, NotEvaluated)
    assert "three days" in outcome.needs


def test_nights_of_large_blocks_on_flash_are_no_bad_habit(tmp_path: Path) -> None:
    """1 MiB takes 8.4 ms at 125 MB/s: a backup in which it takes 5 ms is large, not slow."""

    def backup(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for night in range(6):
            hours = slice(night * PER_DAY + PER_DAY // 24, night * PER_DAY + 3 * PER_DAY // 24)
            latency[:, hours] = 5 * MS
            moved[:, hours] = ops[:, hours] * MIB

    def write(recorder: Recorder) -> None:
        day(backup, count=6 * PER_DAY, step_s=STEP_S, volumes=3, latency_ms=0.3)(recorder)
        recorder.fact(entity("shared", "disk_group"), "media", "ssd")

    [outcome] = judge(RULE, make_case(tmp_path, write))
    assert isinstance(outcome, Healthy)
