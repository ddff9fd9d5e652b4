"""Stalls: what completes nothing, or next to nothing, while operations wait; and what only looks so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.rules.latency_above_tier import RULE
from storscope.diagnose.stalls import hidden_stalls, stalls_of
from storscope.diagnose.windows import bad_windows
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Healthy, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB, NS_PER_S
from tests.diagnose.days import MS, START_NS, FloatArray, entity, record
from tests.diagnose.evidence import only_finding
from tests.support.cases import findings, judge, make_case

_COUNT = 360
_STEP_S = 10
_SDA: EntityRef = entity("sda", "device")
_HANG = slice(150, 170)
"""200 s."""

Change = Callable[[dict[str, FloatArray]], None]


def hour(change: Change, *, ops: float = 240, latency_ms: float = 4) -> Callable[[Recorder], None]:
    """A writer of an hour of sda as iostat tells it: `change` edits operations and latency, the rest follows."""

    def write(recorder: Recorder) -> None:
        rng = np.random.default_rng(0)
        columns = {
            "ops_per_s": ops * rng.gamma(40, 1 / 40, (1, _COUNT)),
            "latency_ns_mean": latency_ms * MS * rng.gamma(40, 1 / 40, (1, _COUNT)),
            "size_bytes": np.full((1, _COUNT), 8.0 * KIB),
            "extra_in_flight": np.zeros((1, _COUNT)),
            "busy_at_least": np.zeros((1, _COUNT)),
        }
        change(columns)
        operations, latency = columns["ops_per_s"], columns["latency_ns_mean"]
        in_flight = np.where(operations > 0, operations * latency / NS_PER_S, 0.0)
        told = {
            "ops_per_s": operations,
            "bytes_per_s": operations * columns["size_bytes"],
            "latency_ns_mean": np.where(operations > 0, latency, np.nan),
            "queue_depth_mean": in_flight + columns["extra_in_flight"],
            "busy_ratio": np.maximum(1 - np.exp(-in_flight), columns["busy_at_least"]),
        }
        record(recorder, told, ["sda"], kind="device", step_s=_STEP_S, on=None)

    return write


def at(interval: int) -> int:
    return START_NS + interval * _STEP_S * NS_PER_S


def hang(columns: dict[str, FloatArray]) -> None:
    columns["ops_per_s"][:, _HANG] = 0
    columns["extra_in_flight"][:, _HANG] = 32
    columns["busy_at_least"][:, _HANG] = 1


def test_a_device_that_does_a_tenth_at_500_times_the_latency_is_too_slow(tmp_path: Path) -> None:
    def stall(columns: dict[str, FloatArray]) -> None:
        columns["ops_per_s"][:, 150:204] *= 18 / 240
        columns["latency_ns_mean"][:, 150:204] = 2_300 * MS

    [finding] = findings(RULE, make_case(tmp_path, hour(stall)))
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["share_of_operations"] < 0.02
    assert finding.numbers["share_of_time"] == pytest.approx(54 / 360)
    assert "completes little" in finding.summary


def test_stalls_again_and_again_are_too_slow_though_none_is_long(tmp_path: Path) -> None:
    def flap(columns: dict[str, FloatArray]) -> None:
        for first in range(0, _COUNT, 8):
            columns["ops_per_s"][:, first : first + 2] *= 18 / 240
            columns["latency_ns_mean"][:, first : first + 2] = 2_300 * MS

    [finding] = findings(RULE, make_case(tmp_path, hour(flap)))
    assert finding.severity is Severity.CRITICAL


def test_flash_at_thirty_times_its_latency_for_four_minutes_is_too_slow(tmp_path: Path) -> None:
    def slow(columns: dict[str, FloatArray]) -> None:
        columns["latency_ns_mean"][:, 150:174] *= 30

    def flash(recorder: Recorder) -> None:
        hour(slow, ops=5_000, latency_ms=0.2)(recorder)
        recorder.fact(_SDA, "media", "ssd")

    [finding] = findings(RULE, make_case(tmp_path, flash))
    assert finding.severity is Severity.CRITICAL


def test_a_hang_is_told_with_its_time_and_is_a_bad_window(tmp_path: Path) -> None:
    case = make_case(tmp_path, hour(hang))
    [stall] = stalls_of(case, _SDA)
    assert (stall.start_ns, stall.end_ns, stall.in_flight, stall.proven) == (at(150), at(170), 32, True)
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.CRITICAL
    assert "completed nothing for 3 min while operations waited" in finding.title
    assert finding.numbers["stalled_s"] == 200
    assert finding.evidence[1].rows[0][1:] == [0, 32, 1]
    assert bad_windows(case)["array"] == [(at(150), at(170))]


def test_a_hang_that_only_the_operations_after_it_tell_is_found(tmp_path: Path) -> None:
    def hidden(columns: dict[str, FloatArray]) -> None:
        columns["ops_per_s"][:, _HANG] = 0
        columns["ops_per_s"][:, 170] = 3.2
        columns["latency_ns_mean"][:, 170] = 150_000 * MS

    case = make_case(tmp_path, hour(hidden))
    [stall] = stalls_of(case, _SDA)
    assert (stall.start_ns, stall.end_ns, stall.proven) == (at(156), at(170), True)
    assert findings(RULE, case)[0].severity is Severity.CRITICAL


def minutes(ops: float, latency_ms: float) -> Callable[[Recorder], None]:
    """An hour of sda at 60 s, good but for one minute of these operations a second."""

    def write(recorder: Recorder) -> None:
        rng = np.random.default_rng(0)
        told = {
            "ops_per_s": 3_000 * rng.gamma(40, 1 / 40, (1, 60)),
            "latency_ns_mean": 4 * MS * rng.gamma(40, 1 / 40, (1, 60)),
        }
        told["ops_per_s"][:, 17], told["latency_ns_mean"][:, 17] = ops, latency_ms * MS
        record(recorder, told, ["sda"], kind="device", step_s=60, on=None)

    return write


@pytest.mark.parametrize(("ops", "seconds"), [(102, 32), (4, 16)])
def test_a_stall_inside_a_minute_is_told_by_the_mean_of_the_minute(tmp_path: Path, ops: float, seconds: float) -> None:
    """70 s of nothing, as 60 s sampling tells it: something completed in every minute."""
    case = make_case(tmp_path, minutes(ops, seconds * 1_000))
    assert stalls_of(case, _SDA) == []
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.CRITICAL
    assert finding.title == f"Device sda stalled: {seconds}.0 s an operation over 60 s"
    assert f"the {ops * 60:,} operations of device sda took {seconds}.0 s in the mean" in finding.summary
    assert "Find what failed, timed out" in finding.remedy


@pytest.mark.parametrize(
    ("ops", "latency_ms"),
    [(3, 40_000), (102, 14_000), (3.4, 17_000), (7_000, 16_000)],
    ids=["few operations", "no long wait", "little waiting", "more than usual"],
)
def test_a_bad_minute_is_no_alarm_where_it_need_not_be_a_stall(tmp_path: Path, ops: float, latency_ms: float) -> None:
    found = findings(RULE, make_case(tmp_path, minutes(ops, latency_ms)))
    assert {one.severity for one in found} <= {Severity.INFO}


def test_a_queue_that_a_job_was_told_to_keep_is_no_hidden_stall(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        told = {"ops_per_s": np.full((1, 1), 100.0), "latency_ns_mean": np.full((1, 1), 30_000 * MS)}
        record(recorder, told, ["big"], kind="job", step_s=60, on=None)

    [series] = make_case(tmp_path, write).series("job").values()
    assert not hidden_stalls(series, 200).any()


def _stuck(columns: dict[str, FloatArray]) -> None:
    """A counter that lost one operation, on a device that often has nothing to do."""
    columns["ops_per_s"][:, ::3] = 0
    columns["ops_per_s"][:, 100:140] = 0
    columns["latency_ns_mean"] *= 0.1
    columns["extra_in_flight"] += 1
    columns["busy_at_least"] += 1


def test_a_stuck_counter_is_information_at_most(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, hour(_stuck)))
    assert finding.severity is Severity.INFO
    assert "nothing seems to complete for 7 min" in finding.title
    assert "stuck" in finding.innocent


@pytest.mark.parametrize(("waiting", "severity"), [(1, Severity.INFO), (32, Severity.WARNING)])
def test_what_never_completed_anything_is_told_with_its_doubt(tmp_path: Path, waiting: int, severity: Severity) -> None:
    def never(columns: dict[str, FloatArray]) -> None:
        columns["ops_per_s"] *= 0
        columns["extra_in_flight"] += waiting

    finding = only_finding(judge(RULE, make_case(tmp_path, hour(never))))
    assert finding.severity is severity
    assert finding.confidence <= 0.5


def _healthy(case: Case) -> Healthy:
    [outcome] = judge(RULE, case)
    assert isinstance(outcome, Healthy), outcome
    return outcome


def test_a_long_discard_is_work_and_no_stall(tmp_path: Path) -> None:
    def trim(recorder: Recorder) -> None:
        hour(hang)(recorder)
        for index in range(150, 170):
            recorder.counter(_SDA, at(index), _STEP_S * NS_PER_S, "d/s", "1/s", 7.0)

    assert "within its tier" in _healthy(make_case(tmp_path, trim)).statement


def _spin_up(columns: dict[str, FloatArray]) -> None:
    columns["ops_per_s"][:, 60:] = 0
    columns["ops_per_s"][:, 90::30] = 0.1
    columns["latency_ns_mean"][:, 90::30] = 9_900 * MS


def _spikes(columns: dict[str, FloatArray]) -> None:
    columns["latency_ns_mean"][:, ::50] = 300 * MS


def _backup(columns: dict[str, FloatArray]) -> None:
    """Seven minutes of large reads, deep in flight, beside the operations of an hour."""
    columns["ops_per_s"][:, 100:142] = 100
    columns["size_bytes"][:, 100:142] = 1024 * KIB
    columns["latency_ns_mean"][:, 100:142] = 160 * MS


def _flush(columns: dict[str, FloatArray]) -> None:
    """Two minutes of write-back: more than usual, slow for each, and nobody waits."""
    columns["ops_per_s"][:, 100:112] = 2.6 * 240
    columns["latency_ns_mean"][:, 100:112] = 80 * MS


def _quiet_night(columns: dict[str, FloatArray]) -> None:
    """Half of the time so little is asked that hardly anything is cached."""
    columns["ops_per_s"][:, 180:] = 8
    columns["latency_ns_mean"][:, 180:] = 18 * MS
    columns["latency_ns_mean"][:, 180::6] = 10 * MS


@pytest.mark.parametrize(
    ("change", "ops"),
    [(_spin_up, 240), (_spikes, 30), (_spikes, 240), (_backup, 500), (_flush, 240), (_quiet_night, 240)],
)
def test_the_innocent_stay_healthy(tmp_path: Path, change: Change, ops: float) -> None:
    assert "within its tier" in _healthy(make_case(tmp_path, hour(change, ops=ops))).statement


def test_no_mean_above_its_limit_is_within_its_tier(tmp_path: Path) -> None:
    def once(columns: dict[str, FloatArray]) -> None:
        columns["latency_ns_mean"][:, 77] = 9_000 * MS

    [finding] = findings(RULE, make_case(tmp_path, hour(once)))
    assert finding.severity is Severity.INFO
    assert finding.numbers["latency_ns_mean"] > 15 * MS


def test_what_is_counted_is_said(tmp_path: Path) -> None:
    def nothing(columns: dict[str, FloatArray]) -> None:
        """As it is."""

    assert "no interval's mean is above 15.0 ms" in _healthy(make_case(tmp_path / "good", hour(nothing))).statement
    spiky = _healthy(make_case(tmp_path / "spiky", hour(_spikes))).statement
    assert "of its operations lie in intervals with a mean above 15.0 ms" in spiky
