from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from storscope.diagnose.rules._drive_groups import drive_groups
from storscope.diagnose.rules._odd_drive import _medians_of_others
from storscope.diagnose.rules.uneven_drives import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from storscope.domain.vocabulary import SIMULATED_FACT
from tests.diagnose.evidence import START_NS, STEP_NS, Values, Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case


def _group(queues: Sequence[Values], *, ops: Sequence[Values] | None = None, busy: Sequence[float] | None = None,
           moved: float | None = None, column: str = "queue_depth_mean", linked: bool = True,
           samples: int = 30) -> Writer:  # fmt: skip
    def write(recorder: Recorder) -> None:
        for number, queue in enumerate(queues):
            drive = EntityRef("MSA", "disk", f"1.{number + 1}")
            if linked:
                recorder.link(drive, "member_of", EntityRef("MSA", "disk_group", "vd01"))
            columns: dict[str, Values] = {column: queue}
            if ops is not None:
                columns["ops_per_s"] = ops[number]
            if busy is not None:
                columns["busy_ratio"] = busy[number]
            if moved is not None:
                columns["bytes_per_s"] = moved
            write_series(recorder, drive, samples, **columns)

    return write


_EVEN = [1.2, 1.0, 1.1, 1.3, 0.9, 1.0]


def test_alike_drives_are_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _group(_EVEN))))
    assert statement == "6 drives in 1 group are loaded alike; the deepest mean queue of a group is 1.1."


def test_one_deep_queue_with_more_io_is_a_hot_spot(tmp_path: Path) -> None:
    case = make_case(tmp_path, _group([*_EVEN, 9.0], ops=[40] * 6 + [150]))
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.WARNING
    assert "a hot spot" in finding.summary
    assert finding.entities[0].name == "1.7"


def test_one_deep_queue_with_no_more_io_is_a_failing_drive(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _group([*_EVEN, 9.0], ops=[40] * 6 + [35]))))
    assert finding.severity is Severity.CRITICAL
    assert "a failing drive looks like this" in finding.summary


def test_a_deep_queue_alone_is_no_reason_to_replace_a_drive(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _group([*_EVEN, 9.0]))))
    assert finding.severity is Severity.WARNING
    assert "Whether it also gets more I/O is not in the evidence." in finding.summary
    assert finding.remedy.startswith("Find out how much I/O each drive gets")


def test_a_drive_that_is_busy_with_each_for_longer_is_failing(tmp_path: Path) -> None:
    case = make_case(tmp_path, _group([*_EVEN, 9.0], ops=[40] * 6 + [35], busy=[0.4] * 6 + [1.0]))
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.CRITICAL
    assert "is busy with each for longer (28.6 ms against 10.0 ms): a failing drive looks like this" in finding.summary
    assert finding.remedy.startswith("Take the drive out")


_TWO_OF_EIGHT = [*_EVEN, 9.0, 8.5]


def test_drives_that_do_the_same_as_the_others_in_the_same_time_are_not_at_fault(tmp_path: Path) -> None:
    """Both of a mirror have the queue of a load with many I/Os in flight; all eight are busy all the time."""
    finding = only_finding(judge(RULE, make_case(tmp_path, _group(_TWO_OF_EIGHT, ops=[40] * 8, busy=[1.0] * 8))))
    assert finding.title == "Requests gather at 1.7 and 1.8 of vd01"
    assert finding.severity is Severity.INFO
    assert "is busy with each for as long (25.0 ms against 25.0 ms)" in finding.summary
    assert finding.remedy.startswith("Leave the drives in")
    assert "both of a mirror" in finding.innocent


def test_several_with_the_same_rate_are_not_to_be_replaced_for_their_queues(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _group(_TWO_OF_EIGHT, ops=[40] * 8))))
    assert finding.title == "Requests gather at 1.7 and 1.8 of vd01"
    assert finding.severity is Severity.WARNING
    assert finding.remedy.startswith("Leave the drives in")


def test_flash_is_busy_with_many_at_once_which_says_nothing_of_its_service(tmp_path: Path) -> None:
    def media(recorder: Recorder) -> None:
        recorder.fact(EntityRef("MSA", "disk_group", "vd01"), "media", "ssd")

    case = make_case(tmp_path, _group([*_EVEN, 9.0], ops=[40] * 7, busy=[1.0] * 7), media)
    assert only_finding(judge(RULE, case)).remedy.startswith("Take the drive out")


def test_the_rate_of_the_whole_time_serves_where_slices_have_none(tmp_path: Path) -> None:
    """No drive stands out in the first intervals, where the row of the whole time begins."""

    late = _group([np.where(np.arange(30) < 5, 1.0, queue) for queue in _TWO_OF_EIGHT])

    def write(recorder: Recorder) -> None:
        for number in range(8):
            values = {"ops_per_s": 40.0, "busy_ratio": 1.0}
            recorder.observe(EntityRef("MSA", "disk", f"1.{number + 1}"), START_NS, 30 * STEP_NS, values)
        late(recorder)

    finding = only_finding(judge(RULE, make_case(tmp_path, write)))
    assert "no more I/O than the others (40.0 IOPS against 40.0 IOPS)" in finding.summary
    assert finding.severity is Severity.INFO


def test_latency_alone_shows_it_too(tmp_path: Path) -> None:
    case = make_case(tmp_path, _group([8e6, 9e6, 8e6, 7e6, 120e6], column="latency_ns_mean"))
    assert "far higher latency" in only_finding(judge(RULE, case)).title


def test_all_deep_queues_mean_the_group_is_at_its_limit(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _group([6.0, 5.5, 7.0, 6.2, 5.8]))))
    assert finding.title == "Every drive of vd01 has a deep queue"
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["queue_depth_mean"] == np.mean([6.0, 5.5, 7.0, 6.2, 5.8])


def test_a_short_backlog_only_informs(tmp_path: Path) -> None:
    queue = np.where(np.arange(100) < 5, 8.0, 0.5)
    finding = only_finding(judge(RULE, make_case(tmp_path, _group([queue] * 5, samples=100))))
    assert finding.severity is Severity.INFO
    assert finding.title == "Every drive of vd01 has a deep queue at times"


def test_the_rows_give_the_depth_that_is_told_and_how_often(tmp_path: Path) -> None:
    index = np.arange(90)
    # Two intervals on end are no stretch of it, and do not count.
    deep = ((index >= 20) & (index < 50)) | np.isin(index, (70, 71))
    queues = [np.where(deep, level, 0.2) for level in (6.0, 7.0, 8.0, 6.5)]
    finding = only_finding(judge(RULE, make_case(tmp_path, _group(queues, samples=90))))
    assert "6.9 operations each in their queues on average, in 33 % of the time" in finding.summary
    together, each = finding.evidence
    assert together.rows == [[90, 30, 6.875]]
    depth = each.columns.index("queue_depth_mean")
    rows = [(row[0], row[1], row[depth]) for row in each.rows]
    assert rows == [("1.3", 30, 8.0), ("1.2", 30, 7.0), ("1.4", 30, 6.5), ("1.1", 30, 6.0)]


def test_the_rows_give_a_drive_that_stands_out_beside_the_others(tmp_path: Path) -> None:
    works = np.arange(60) < 30
    often = np.arange(60) % 3 > 0
    queues = [*(np.where(works, level, 0.1) for level in _EVEN), np.where(works & often, 9.0, 0.3)]
    queues[0] = np.where(works, 2.5, 0.1)  # at which the group is seen to work all the while
    finding = only_finding(judge(RULE, make_case(tmp_path, _group(queues, ops=[40] * 7, busy=[0.4] * 7, samples=60))))
    assert "was 6.1 on average, the median of the other 6 drives 1.1, and it stood out in 67 %" in finding.summary
    assert (
        "(40.0 IOPS against 40.0 IOPS) and is busy with each for as long (10.0 ms against 10.0 ms)" in finding.summary
    )
    beside, each = finding.evidence
    assert beside.columns == ["drive", "intervals", "intervals_above", "queue_depth_mean", "ops_per_s", "service_ns"]
    assert beside.rows == [
        ["1.7", 30, 20, pytest.approx(6.1), 40, pytest.approx(10e6)],
        ["median of the others", 30, None, pytest.approx(1.05), 40, pytest.approx(10e6)],
    ]
    assert {row[1] for row in each.rows} == {30}


def test_many_times_next_to_nothing_is_no_hot_spot(tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _group([0.01, 0.01, 0.02, 0.9])))


def test_a_hot_spot_that_wanders_over_the_drives_blames_none(tmp_path: Path) -> None:
    """Each drive is deep in its turn: the load moves, no drive is at fault."""
    queues = [np.where(np.arange(60) % 6 == number, 9.0, 0.5) for number in range(6)]
    assert not findings(RULE, make_case(tmp_path, _group(queues, samples=60)))


def test_half_of_the_drives_are_no_exception(tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _group([1.0, 1.0, 1.0, 9.0, 9.0])))


def test_without_groups_all_drives_count_as_one_and_it_says_so(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _group([*_EVEN, 9.0], linked=False))))
    assert "all drives were taken as one" in finding.summary


def test_drives_that_are_told_one_after_another_are_not_called_alike(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        for number, queue in enumerate(_EVEN):
            drive = EntityRef("MSA", "disk", f"1.{number + 1}")
            recorder.link(drive, "member_of", EntityRef("MSA", "disk_group", "vd01"))
            for sample in range(30):
                begin = START_NS + sample * STEP_NS + number * 1_000_000
                recorder.observe(drive, begin, STEP_NS, {"queue_depth_mean": queue})

    assert "at the same instants" in needs(judge(RULE, make_case(tmp_path, write)))[0]


@pytest.mark.parametrize("whole_comes", ["first", "last"])
def test_a_row_of_the_whole_time_hides_no_slice_that_begins_with_it(tmp_path: Path, whole_comes: str) -> None:
    """A simulated drive has its rate in a row of the whole run and its queue in slices: both begin at its start."""
    slices = _group([5.0, 6.0, 7.0])

    def whole(recorder: Recorder) -> None:
        for number in range(3):
            recorder.observe(EntityRef("MSA", "disk", f"1.{number + 1}"), START_NS, 30 * STEP_NS, {"ops_per_s": 40.0})

    def write(recorder: Recorder) -> None:
        for part in (whole, slices) if whole_comes == "first" else (slices, whole):
            part(recorder)

    (group,) = drive_groups(make_case(tmp_path, write))
    assert np.isfinite(group.columns["queue_depth_mean"]).all()
    assert (group.columns["ops_per_s"][:, 0] == 40.0).all()


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, _group([*_EVEN, 9.0]))
    assert not findings(RULE, case, median_factor_max=12)
    assert not findings(RULE, case, queue_depth_min=10)
    assert needs(judge(RULE, case, drives_min_count=20))


def _state(number: int, state: str) -> Writer:
    return lambda recorder: recorder.fact(EntityRef("MSA", "disk", f"1.{number}"), "state", state)


def test_failed_drives_and_spares_that_do_nothing_are_left_out_and_named(tmp_path: Path) -> None:
    """With them among the drives, the others' median falls to 1.0 and 1.4 would stand out."""
    queues = [2.2, 2.1, 2.0, 5.0, 0.0, 0.0, 0.0]
    states = [_state(5, "Failed"), _state(6, "Hot spare"), _state(7, "spare")]
    (statement,) = statements(judge(RULE, make_case(tmp_path, _group(queues), *states)))
    assert statement == (
        "4 drives in 1 group are loaded alike; the deepest mean queue of a group is 2.8. "
        "Not compared where they did nothing: 1 failed drive (1.5) and 2 spares that wait (1.6 and 1.7)."
    )


def test_no_drive_is_to_be_taken_out_of_a_group_that_lacks_one(tmp_path: Path) -> None:
    queues = [*_EVEN, 9.0, 0.0]
    whole = only_finding(judge(RULE, make_case(tmp_path / "whole", _group(queues[:-1], ops=[40] * 6 + [35]))))
    assert whole.remedy.startswith("Take the drive out")
    for number, ops in enumerate((None, [40] * 6 + [150, 0], [40] * 6 + [35, 0])):
        case = make_case(tmp_path / str(number), _group(queues, ops=ops), _state(8, "failed"))
        degraded = only_finding(judge(RULE, case))
        assert degraded.entities[0].name == "1.7"
        assert degraded.remedy.startswith("Leave the drive in: with 1.8 failed")
        assert "mirror of a failed drive" in degraded.innocent


def test_a_drive_counts_until_it_fails(tmp_path: Path) -> None:
    """It was deep while it worked; from its failure on it does nothing, and the others are alike."""
    last = np.where(np.arange(30) < 10, 9.0, 0.0)

    def fails(recorder: Recorder) -> None:
        recorder.event(EntityRef("MSA", "disk", "1.7"), START_NS + 10 * STEP_NS, "disk_failed", "drive 1.7 failed")

    write = _group([*(np.where(np.arange(30) < 10, 1.0, 0.1) for _ in _EVEN), last], ops=[*[40] * 6, 4 * last])
    finding = only_finding(judge(RULE, make_case(tmp_path, write, fails)))
    assert finding.entities[0].name == "1.7"
    assert finding.numbers["queue_depth_mean"] == 9.0
    assert finding.remedy.startswith("Take the drive out")
    assert finding.summary.endswith("Not compared where they did nothing: 1 failed drive (1.7).")
    assert [row[:4] for row in finding.evidence[0].rows] == [
        ["1.7", 10, 10, 9.0],
        ["median of the others", 10, None, 1.0],
    ]


def test_flash_has_more_in_its_queues_before_it_is_at_its_limit(tmp_path: Path) -> None:
    def media(words: str) -> Writer:
        return lambda recorder: recorder.fact(EntityRef("MSA", "disk_group", "vd01"), "media", words)

    busy = _group([7.0, 7.5, 7.6, 7.4, 7.7])
    assert not findings(RULE, make_case(tmp_path / "flash", busy, media("ssd")))
    assert findings(RULE, make_case(tmp_path / "disks", busy, media("hdd")))
    full = make_case(tmp_path / "full", _group([60.0, 62.0, 58.0, 61.0, 60.0]), media("ssd"))
    finding = only_finding(judge(RULE, full))
    assert finding.title == "Every drive of vd01 has a deep queue"
    assert "above 32 a group has little more to give" in finding.summary
    assert not findings(RULE, full, group_queue_depth_max_flash=64)


def test_failed_drives_do_not_hide_that_the_rest_is_at_its_limit(tmp_path: Path) -> None:
    case = make_case(tmp_path, _group([6.0, 6.0, 6.0, 0.0, 0.0, 0.0]), *(_state(n, "failed") for n in (4, 5, 6)))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "Every drive of vd01 has a deep queue"
    assert finding.numbers["queue_depth_mean"] == 6.0
    assert "The 3 drives of vd01" in finding.summary


def test_a_drive_that_did_nothing_while_others_worked_is_idle_and_not_uneven(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _group([2.0, 5.5, 2.0, 0.0], ops=[40, 40, 40, 0]))))
    assert statement.startswith("3 drives in 1 group are loaded alike")
    assert statement.endswith(
        "Idle the whole time while the others worked, so not compared: 1.4 (a spare, or failed?)."
    )


def test_where_most_drives_do_nothing_the_work_is_badly_spread(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _group([9.0, 0.0, 0.0, 0.0]))))
    assert finding.entities[0].name == "1.1"


@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=9),
        elements=st.one_of(st.just(float("nan")), st.floats(0, 1e6)),
    )
)
def test_the_median_of_the_others_is_that_of_the_others(values: np.ndarray) -> None:
    found = _medians_of_others(values)
    for row, column in np.ndindex(*values.shape):
        others = np.delete(values[:, column], row)
        others = others[np.isfinite(others)]
        if np.isfinite(values[row, column]) and len(others):
            assert found[row, column] == np.median(others)


_STREAMS_MEET = [*[0.25] * 7, 3.3]


def _streams(*, busy: Sequence[float] | None = None, ops: float = 155) -> Writer:
    """Two sequential streams on eight drives, as simulated: each reads 155 times a second, one seeks for it."""
    return _group(_STREAMS_MEET, ops=[ops] * 8, busy=busy)


def _volume(latency_ms: float) -> Writer:
    def write(recorder: Recorder) -> None:
        volume = EntityRef("MSA", "vdisk", "v1")
        recorder.link(volume, "lives_on", EntityRef("MSA", "disk_group", "vd01"))
        write_series(recorder, volume, ops_per_s=1240, latency_ns_mean=latency_ms * 1e6)

    return write


def _simulated(recorder: Recorder) -> None:
    recorder.fact(EntityRef("MSA", "array", "MSA"), SIMULATED_FACT, 1000)


@pytest.mark.parametrize("busy", [None, [*[0.2] * 7, 1.0]])
def test_a_drive_at_which_streams_meet_is_not_to_be_replaced(busy: Sequence[float] | None, tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _streams(busy=busy))))
    assert finding.title == "Requests gather at 1.8 of vd01"
    assert finding.severity is Severity.WARNING
    assert "Sequential streams that meet at one drive look like this" in finding.summary
    assert finding.remedy.startswith("Leave the drive in")


def test_streams_that_meet_while_nobody_waits_long_are_information(tmp_path: Path) -> None:
    for latency_ms, severity in ((1.6, Severity.INFO), (20, Severity.WARNING)):
        case = make_case(tmp_path / str(latency_ms), _streams(busy=[*[0.2] * 7, 1.0]), _volume(latency_ms))
        assert only_finding(judge(RULE, case)).severity is severity


def test_a_drive_that_takes_longer_than_a_random_request_is_slow_whatever_the_others_do(tmp_path: Path) -> None:
    for number, busy in enumerate((None, [*[0.05] * 7, 1.0])):
        finding = only_finding(judge(RULE, make_case(tmp_path / str(number), _streams(busy=busy, ops=40))))
        assert finding.remedy.startswith("Take the drive out")
        assert finding.innocent.startswith("Sequential streams meet there")


def test_a_drive_that_takes_twice_as_long_for_the_same_random_requests_is_slow(tmp_path: Path) -> None:
    case = make_case(tmp_path, _group([*_EVEN, 9.0], ops=[80] * 7, busy=[0.48] * 6 + [0.96]))
    finding = only_finding(judge(RULE, case))
    assert "(12.0 ms against 6.00 ms): a failing drive looks like this" in finding.summary
    assert finding.severity is Severity.CRITICAL


def test_a_slow_drive_of_which_no_volume_suffers_is_a_warning(tmp_path: Path) -> None:
    slow = _group([*_EVEN, 9.0], ops=[40] * 6 + [35], busy=[0.4] * 6 + [1.0])
    for latency_ms, severity in ((5, Severity.WARNING), (16, Severity.CRITICAL)):
        finding = only_finding(judge(RULE, make_case(tmp_path / str(latency_ms), slow, _volume(latency_ms))))
        assert finding.severity is severity
        assert finding.remedy.startswith("Take the drive out")


def test_reads_count_by_themselves_as_harm_beside_cached_writes(tmp_path: Path) -> None:
    def volume(recorder: Recorder) -> None:
        entity = EntityRef("MSA", "vdisk", "v1")
        recorder.link(entity, "lives_on", EntityRef("MSA", "disk_group", "vd01"))
        write_series(
            recorder, entity, ops_per_s=1000, latency_ns_mean=6.3e6, read_ops_per_s=100, read_latency_ns_mean=60e6,
            write_ops_per_s=900, write_latency_ns_mean=3e5,
        )  # fmt: skip

    slow = _group([*_EVEN, 9.0], ops=[40] * 6 + [35], busy=[0.4] * 6 + [1.0])
    assert only_finding(judge(RULE, make_case(tmp_path, slow, volume))).severity is Severity.CRITICAL


@pytest.mark.parametrize("busy", [None, [*[0.4] * 6, 1.0]])
def test_no_drive_of_a_simulated_group_is_slow_as_all_are_of_one_model(
    busy: Sequence[float] | None, tmp_path: Path
) -> None:
    case = make_case(tmp_path, _group([*_EVEN, 9.0], ops=[40] * 6 + [35], busy=busy), _simulated)
    finding = only_finding(judge(RULE, case))
    assert finding.title == "Requests gather at 1.7 of vd01"
    assert finding.severity < Severity.CRITICAL
    assert finding.remedy.startswith("Leave the drive")


def test_the_same_bytes_in_more_requests_are_no_hot_spot(tmp_path: Path) -> None:
    """Where streams meet, what adjoins is no longer sent as one request."""

    queues, ops, busy = _STREAMS_MEET, [*[78.7] * 7, 157], [*[0.19] * 7, 1.0]
    finding = only_finding(judge(RULE, make_case(tmp_path, _group(queues, ops=ops, busy=busy, moved=10e6))))
    assert "moves no more bytes than the others, in more I/Os (157 IOPS against 78.7 IOPS)" in finding.summary
    assert finding.title == "Requests gather at 1.8 of vd01"


def test_deep_queues_while_nobody_is_slow_are_a_warning(tmp_path: Path) -> None:
    """Many streams in sequence keep all drives at work, and each is as quick as it should be."""
    deep = _group([18.0, 17.0, 19.0, 18.5])
    for latency_ms, severity in ((8, Severity.WARNING), (40, Severity.CRITICAL)):
        case = make_case(tmp_path / str(latency_ms), deep, _volume(latency_ms))
        assert only_finding(judge(RULE, case)).severity is severity
    half = _group([np.where(np.arange(30) < 9, 18.0, 0.5)] * 4)
    for latency_ms, severity in ((8, Severity.INFO), (40, Severity.WARNING)):
        case = make_case(tmp_path / f"{latency_ms} at times", half, _volume(latency_ms))
        assert only_finding(judge(RULE, case)).severity is severity


def test_deep_queues_beside_a_rebuild_are_told_as_its_doing(tmp_path: Path) -> None:
    def rebuild(recorder: Recorder) -> None:
        group = EntityRef("MSA", "disk_group", "vd01")
        recorder.event(group, START_NS, "rebuild_started", "rebuilding", attributes={"work": "rebuild"})

    finding = only_finding(judge(RULE, make_case(tmp_path, _group([6.0, 5.5, 7.0, 6.2]), _volume(40), rebuild)))
    assert finding.severity is Severity.WARNING
    assert finding.remedy.startswith("Let what the array does by itself end")


def test_drives_that_are_not_deep_are_not_said_to_be(tmp_path: Path) -> None:
    """Both of a mirror, as simulated: streams that read from four drives in sequence meet at one pair."""
    finding = only_finding(judge(RULE, make_case(tmp_path, _group([10.8, 12.5, 0.3, 0.3]), _volume(50))))
    assert finding.title == "2 of 4 drives of vd01 have deep queues"
    assert "Not all alike: 1.1 and 1.2 had 11.6, the others 0.3." in finding.summary
    assert finding.remedy.startswith("See first what gathers at these drives")
    most = only_finding(judge(RULE, make_case(tmp_path / "most", _group([7.0, 6.0, 8.0, 7.0, 1.0]), _volume(50))))
    assert most.title == "Most drives of vd01 have deep queues"


def test_a_backlog_of_a_moment_is_no_headline(tmp_path: Path) -> None:
    queue = np.where(np.arange(1000) < 3, 8.0, 0.5)
    finding = only_finding(judge(RULE, make_case(tmp_path, _group([queue] * 5, samples=1000))))
    assert finding.weight < 0.02


def test_a_spare_that_took_over_is_counted_once(tmp_path: Path) -> None:
    """Of five drives one failed before the queues got deep, and its spare works since."""
    late = np.where(np.arange(30) < 5, 0.5, 6.0)
    first, last = np.where(np.arange(30) < 5, 0.5, 0.0), np.where(np.arange(30) < 5, 0.0, 6.0)

    def fails(recorder: Recorder) -> None:
        recorder.event(EntityRef("MSA", "disk", "1.1"), START_NS + 5 * STEP_NS, "disk_failed", "drive 1.1 failed")

    finding = only_finding(judge(RULE, make_case(tmp_path, _group([first, *[late] * 4, last]), fails)))
    assert "The 5 drives of vd01" in finding.summary
