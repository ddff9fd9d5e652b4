from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.rules import component_saturated
from storscope.diagnose.rules.host_queue_full import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from storscope.domain.verdict import ordered
from storscope.domain.vocabulary import SIMULATED_FACT
from tests.diagnose.evidence import Values, Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case

_DEVICE = EntityRef("esx", "device", "naa.1")


def _queue(depth: Values, queued: Values, *, davg_ms: float = 3.0, samples: int = 10) -> Writer:
    return lambda recorder: write_series(
        recorder, _DEVICE, samples, queue_depth_mean=depth, queued_mean=queued, queue_limit=32, ops_per_s=4000,
        device_latency_ns_mean=davg_ms * 1e6,
    )  # fmt: skip


def test_room_in_the_queue_is_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _queue(12, 0))))
    assert "the fullest held 12 of 32" in statement


def test_a_full_queue_with_more_waiting_is_found(tmp_path: Path) -> None:
    depth = [8, 8, 8, 32, 32, 32, 32, 8, 8, 8]
    queued = [0, 0, 0, 20, 25, 30, 25, 0, 0, 0]
    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(depth, queued))))
    assert finding.title == "Queue of 32 is full on 1 device of esx"
    assert finding.severity is Severity.WARNING
    assert finding.numbers["time_share"] == 0.4
    assert "25 more waiting on average" in finding.summary
    assert "the array has room" in finding.summary


def test_a_limit_that_the_host_lowered_is_the_one_that_was_full(tmp_path: Path) -> None:
    def lowered(recorder: Recorder) -> None:
        write_series(
            recorder, _DEVICE, 10, queue_depth_mean=[20, 20, 20, 20, *[32] * 6], queued_mean=[0, 0, 0, 0, *[40] * 6],
            queue_limit=[64, 64, 64, 64, *[32] * 6], ops_per_s=4000, device_latency_ns_mean=1.5e6,
        )  # fmt: skip

    finding = only_finding(judge(RULE, make_case(tmp_path, lowered)))
    assert finding.title == "Queue of 32 is full on 1 device of esx"
    assert "its 32 places taken for 6 intervals" in finding.summary
    assert "The limit was lowered: it had 64 places before." in finding.summary
    assert finding.remedy.startswith("Find out why the host lowered the limit")
    assert finding.evidence[0].total_rows == 6


def test_of_several_limits_that_were_full_one_that_was_in_force_is_told(tmp_path: Path) -> None:
    for (limit, later), told, is_lowered in (((64, 32), 32, True), ((32, 64), 32, False)):

        def changed(recorder: Recorder, limits: list[int] = [limit] * 5 + [later] * 5) -> None:
            write_series(
                recorder, _DEVICE, 10, queue_depth_mean=limits, queued_mean=40, queue_limit=limits, ops_per_s=4000,
                device_latency_ns_mean=1.5e6,
            )  # fmt: skip

        finding = only_finding(judge(RULE, make_case(tmp_path / f"{limit}", changed)))
        assert finding.title == f"Queue of {told} is full on 1 device of esx"
        assert ("The limit was lowered" in finding.summary) == is_lowered
        assert finding.evidence[0].total_rows == 10


def test_a_limit_that_stays_is_not_said_to_be_lowered(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(32, 40))))
    assert "lowered" not in finding.summary + finding.remedy


def test_an_array_that_gets_slower_with_the_full_queue_is_not_said_to_have_room(tmp_path: Path) -> None:
    """32 in flight took 13 ms where one took 1 ms: far from 25 ms, and still the array's limit."""
    quiet, loud = [1.2] * 10, [32.0] * 30
    waiting, below_ms = [0.0] * 10 + [7.4] * 30, np.array([1.0] * 10 + [13.0] * 30)

    def limit(recorder: Recorder) -> None:
        write_series(
            recorder, _DEVICE, 40, queue_depth_mean=quiet + loud, queued_mean=waiting, queue_limit=32,
            ops_per_s=[1200.0] * 10 + [2460.0] * 30, device_latency_ns_mean=below_ms * 1e6,
        )  # fmt: skip

    case = make_case(tmp_path, limit)
    finding = only_finding(judge(RULE, case))
    assert "took 13.0 ms (1.00 ms while the queue was not full): the array is slower then, too" in finding.summary
    assert "has room" not in finding.summary
    assert finding.remedy.startswith("Look for what makes the array slow")
    patient = only_finding(judge(RULE, case, latency_rise_max=20))
    assert "the array has room" in patient.summary


def test_of_a_queue_that_is_always_full_it_is_not_known_whether_the_array_has_room(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(32, 20))))
    assert "whether the array has room is not known" in finding.summary
    assert finding.remedy.startswith("Find out first whether the array has room")


def test_a_slow_array_behind_a_full_queue_changes_the_advice(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(32, 20, davg_ms=60))))
    assert finding.severity is Severity.CRITICAL
    assert "the array is slow" in finding.summary
    assert finding.remedy.startswith("Look for what makes the array slow")


@pytest.mark.parametrize(
    ("queued", "severity"),
    [(0.9, Severity.INFO), (4, Severity.WARNING), (10, Severity.WARNING), (20, Severity.CRITICAL)],
)
def test_a_full_queue_is_as_bad_as_the_time_that_is_spent_before_it(
    queued: float, severity: Severity, tmp_path: Path
) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(32, queued))))
    assert finding.severity is severity
    assert finding.numbers["waiting_share"] == pytest.approx(queued / (32 + queued))
    assert finding.remedy.startswith("Leave the limit") == (severity is Severity.INFO)


def test_what_costs_little_is_told_as_that(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(32, 0.9))))
    assert "with 0.9 more waiting on average, 3 % of an operation's time" in finding.summary


def test_where_nobody_counts_what_waits_the_time_alone_tells(tmp_path: Path) -> None:
    def uncounted(recorder: Recorder) -> None:
        write_series(recorder, _DEVICE, 10, queue_depth_mean=32, queue_limit=32)

    assert only_finding(judge(RULE, make_case(tmp_path, uncounted))).severity is Severity.CRITICAL


def test_a_full_queue_stands_behind_what_is_used_to_the_full_below_it(tmp_path: Path) -> None:
    """A limit that most of the time is spent at, and a processor behind it for which no volume is called slow."""
    processor, volume = EntityRef("esx", "controller", "A"), EntityRef("esx", "vdisk", "v")

    def behind(recorder: Recorder) -> None:
        recorder.link(_DEVICE, "lives_on", volume)
        recorder.link(volume, "owned_by", processor)
        write_series(recorder, processor, 10, cpu_busy_ratio=[1.0] * 10, queue_depth_mean=30)

    case = make_case(tmp_path, _queue(32, 60), behind)
    finding, cause = only_finding(judge(RULE, case)), only_finding(judge(component_saturated.RULE, case))
    assert only_finding(judge(RULE, make_case(tmp_path / "alone", _queue(32, 60)))).severity is Severity.CRITICAL
    assert "used to the full: controller A" in finding.summary
    assert cause.severity is Severity.WARNING
    assert ordered([finding, cause])[0] == [cause, finding]


def test_a_processor_that_is_full_now_and_then_is_not_the_cause_of_a_queue_that_always_is(tmp_path: Path) -> None:
    processor, volume = EntityRef("esx", "controller", "A"), EntityRef("esx", "vdisk", "v")

    def behind(recorder: Recorder) -> None:
        recorder.link(_DEVICE, "lives_on", volume)
        recorder.link(volume, "owned_by", processor)
        write_series(recorder, processor, 10, cpu_busy_ratio=[1.0] * 3 + [0.2] * 7, queue_depth_mean=30)

    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(32, 60), behind)))
    assert finding.severity is Severity.CRITICAL


def test_two_intervals_in_a_row_are_a_burst(tmp_path: Path) -> None:
    depth = [32, 32, 8, 32, 32, 8, 32, 32, 8, 8]
    assert not findings(RULE, make_case(tmp_path, _queue(depth, 5)))
    assert findings(RULE, make_case(tmp_path / "b", _queue(depth, 5)), samples_min=2)


def test_a_full_queue_with_nothing_waiting_is_just_used_well(tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _queue(32, 0)))


def test_devices_with_the_same_limit_are_one_finding(tmp_path: Path) -> None:
    def many(recorder: Recorder) -> None:
        for number in range(12):
            device = EntityRef("esx", "device", f"naa.{number:02d}")
            write_series(recorder, device, queue_depth_mean=32, queued_mean=4, queue_limit=32)

    assert len(only_finding(judge(RULE, make_case(tmp_path, many))).entities) == 12


def test_without_a_limit_nothing_is_said(tmp_path: Path) -> None:
    case = make_case(tmp_path, lambda recorder: write_series(recorder, _DEVICE, queue_depth_mean=500))
    assert needs(judge(RULE, case))


def test_a_configured_limit_serves_where_the_counter_has_none(tmp_path: Path) -> None:
    def configured(recorder: Recorder) -> None:
        recorder.fact(_DEVICE, "queue_limit", 64)
        write_series(recorder, _DEVICE, queue_depth_mean=70)

    assert findings(RULE, make_case(tmp_path, configured))


def test_each_limit_of_a_simulated_array_is_judged_by_itself(tmp_path: Path) -> None:
    def limits(recorder: Recorder) -> None:
        recorder.fact(EntityRef("array", "array", "array"), SIMULATED_FACT, 1000)
        for kind, limit, depth in (("device", 32, 20), ("host", 4, 4)):
            entity = EntityRef("array", kind, "h1")
            write_series(recorder, entity, 10, queue_depth_mean=depth, queued_mean=9, queue_limit=limit)
        write_series(recorder, EntityRef("array", "vdisk", "v"), 10, queue_depth_mean=50)

    finding = only_finding(judge(RULE, make_case(tmp_path, limits)))
    assert finding.title == "Queue of 4 is full on 1 host of array"
    assert "simulate again" in finding.check


def test_the_latency_below_a_limit_needs_no_operations(tmp_path: Path) -> None:
    def limited(recorder: Recorder) -> None:
        write_series(
            recorder, _DEVICE, 10, queue_depth_mean=32, queued_mean=9, queue_limit=32, device_latency_ns_mean=3e6
        )

    assert "Below the host an I/O then took 3.00 ms" in only_finding(judge(RULE, make_case(tmp_path, limited))).summary


def test_drives_that_are_full_behind_a_limit_are_named_however_quick_they_answer(tmp_path: Path) -> None:
    group, volume = EntityRef("esx", "disk_group", "pool"), EntityRef("esx", "vdisk", "v")

    def behind(recorder: Recorder) -> None:
        recorder.link(_DEVICE, "lives_on", volume)
        recorder.link(volume, "lives_on", group)
        write_series(recorder, group, 10, busy_ratio=0.97, queue_depth_mean=1.8)

    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(32, 10), behind)))
    assert "Below the host an I/O then took 3.00 ms: used to the full: the drives of pool, so a deeper queue" in (
        finding.summary
    )
    assert finding.remedy.startswith("Look for what makes the array slow")
    alone = only_finding(judge(RULE, make_case(tmp_path / "alone", _queue(32, 10))))
    assert finding.weight < alone.weight


@pytest.mark.parametrize(
    ("busy", "told"),
    [
        (0.29, "most of all the drives of pool, 29 %: the array has room."),
        (0.8, "most of all the drives of pool, 80 %."),
    ],
)
def test_how_busy_the_drives_are_tells_of_the_room_behind_a_queue_that_is_always_full(
    busy: float, told: str, tmp_path: Path
) -> None:
    group, volume = EntityRef("esx", "disk_group", "pool"), EntityRef("esx", "vdisk", "v")

    def behind(recorder: Recorder) -> None:
        recorder.link(_DEVICE, "lives_on", volume)
        recorder.link(volume, "lives_on", group)
        write_series(recorder, group, 10, busy_ratio=busy, queue_depth_mean=0.4)

    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(32, 10), behind)))
    assert finding.summary.endswith(told)
    assert finding.remedy.startswith("Spread the machines" if busy < 0.7 else "Find out first")


def test_a_group_with_one_drive_that_is_busy_all_the_time_has_no_room_for_sure(tmp_path: Path) -> None:
    group, volume = EntityRef("esx", "disk_group", "pool"), EntityRef("esx", "vdisk", "v")

    def behind(recorder: Recorder) -> None:
        recorder.link(_DEVICE, "lives_on", volume)
        recorder.link(volume, "lives_on", group)
        write_series(recorder, group, 10, busy_ratio=0.29, queue_depth_mean=0.4)
        for number, busy in enumerate((0.99, 0.05, 0.05, 0.05)):
            drive = EntityRef("esx", "disk", f"{number}")
            recorder.link(drive, "member_of", group)
            write_series(recorder, drive, 10, busy_ratio=busy)

    finding = only_finding(judge(RULE, make_case(tmp_path, _queue(32, 10), behind)))
    assert "whether the array has room is not known" in finding.summary


def _short_queue(latency_ms: float) -> Writer:
    """Two places that are taken most of the time, as a simulated LUN has them: by its means it is never full."""

    def write(recorder: Recorder) -> None:
        volume = EntityRef("esx", "vdisk", "v")
        recorder.link(_DEVICE, "lives_on", volume)
        write_series(recorder, _DEVICE, 10, queue_depth_mean=1.77, queued_mean=3.0, queue_limit=2)
        write_series(recorder, volume, 10, ops_per_s=300, latency_ns_mean=latency_ms * 1e6)

    return write


@pytest.mark.parametrize(
    ("latency_ms", "severity"), [(5, Severity.INFO), (16, Severity.WARNING), (30, Severity.CRITICAL)]
)
def test_a_short_queue_is_as_bad_as_its_waiting_and_the_latency_behind_it(
    latency_ms: float, severity: Severity, tmp_path: Path
) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _short_queue(latency_ms))))
    assert finding.title == "Queue of 2 is often full on 1 device of esx"
    assert "had 1.8 of its 2 places taken for 10 intervals" in finding.summary
    assert finding.numbers["waiting_share"] == pytest.approx(3 / 4.77)
    assert finding.severity is severity


def test_waiting_that_random_arrivals_at_so_much_use_would_not_do_is_not_the_limits(tmp_path: Path) -> None:
    """Of 32 places 20 in use: nobody would wait for one."""
    assert not findings(RULE, make_case(tmp_path, _queue(20, 9)))
    assert findings(RULE, make_case(tmp_path / "b", _queue(29.5, 9)))
