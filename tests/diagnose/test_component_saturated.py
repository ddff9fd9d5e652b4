from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.rules.component_saturated import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import START_NS, Values, Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case

_A, _B = (EntityRef("MSA", "controller", name) for name in "AB")
_LINK = EntityRef("MSA", "port", "front-end-link A out")
_GROUP = EntityRef("MSA", "disk_group", "sata")


def _controllers(a: Values, b: Values = 0.1, queue: Values = 38) -> Writer:
    def write(recorder: Recorder) -> None:
        write_series(recorder, _A, 10, cpu_busy_ratio=a, queue_depth_mean=queue)
        write_series(recorder, _B, 10, cpu_busy_ratio=b)

    return write


def _volume(latency_ms: float) -> Writer:
    volume = EntityRef("MSA", "vdisk", "backup")
    return lambda recorder: write_series(recorder, volume, 10, ops_per_s=1200, latency_ns_mean=latency_ms * 1e6)


def _group(busy: float, queue: float, drives: int = 2) -> Writer:
    def write(recorder: Recorder) -> None:
        for index in range(drives):
            recorder.link(EntityRef("MSA", "disk", f"sata/{index}"), "member_of", _GROUP)
        write_series(recorder, _GROUP, 10, busy_ratio=busy, queue_depth_mean=queue)

    return write


def test_a_saturated_processor_is_named_with_those_who_wait(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(1.0), _volume(35))))
    assert finding.title == "Controller A is used to the full"
    assert finding.severity is Severity.CRITICAL
    assert finding.entities == (_A,)
    assert "busy to 100 % in 100 % of the time, with 38.0 requests there on average" in finding.summary
    assert "Meanwhile operations took: backup 35.0 ms." in finding.summary
    assert finding.remedy.endswith("Drives do not help.")


def test_drives_that_are_flash_are_not_to_be_replaced_by_flash(tmp_path: Path) -> None:
    disks = only_finding(judge(RULE, make_case(tmp_path / "disks", _group(0.99, 6), _volume(35))))
    ssds = _group(0.99, 6), _volume(35), lambda recorder: recorder.fact(_GROUP, "media", "ssd")
    flash = only_finding(judge(RULE, make_case(tmp_path / "flash", *ssds)))
    assert "use flash" in disks.remedy
    assert "use flash" not in flash.remedy
    assert "depends on their size" in flash.remedy


def test_the_rows_give_how_busy_it_is_and_how_often(tmp_path: Path) -> None:
    # One interval alone is no stretch of it, and does not count.
    busy = [0.2, 0.94, 0.95, 0.96, 0.2, 0.2, 0.99, 0.2, 0.2, 0.2]
    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(busy, queue=[20, 38, 40, 42, *[20] * 6]))))
    assert "busy to 95 % in 30 % of the time, with 40.0 requests there on average" in finding.summary
    [rows] = finding.evidence
    [row] = rows.rows
    shown = dict(zip(rows.columns, row, strict=True))
    assert (shown["intervals"], shown["intervals_full"]) == (10, 3)
    assert shown["busy_ratio_full"] == pytest.approx(0.95)
    assert shown["queue_depth_full"] == pytest.approx(40)


def test_where_nobody_is_slow_it_is_a_warning(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(1.0), _volume(3))))
    assert finding.severity is Severity.WARNING
    assert "Meanwhile" not in finding.summary


def _directed(reads: tuple[float, float], writes: tuple[float, float], size_bytes: float = 8192) -> Writer:
    """A volume: (rate per s, latency in ms) of each direction."""
    volume = EntityRef("MSA", "vdisk", "mail")
    columns: dict[str, Values] = {}
    for begin, (rate, latency_ms) in (("read", reads), ("write", writes)):
        columns |= {f"{begin}_ops_per_s": rate, f"{begin}_latency_ns_mean": latency_ms * 1e6}
        columns[f"{begin}_bytes_per_s"] = rate * size_bytes
    return lambda recorder: write_series(recorder, volume, 10, **columns)


def test_reads_that_wait_beside_quick_writes_are_slow_operations(tmp_path: Path) -> None:
    """The mean of all is 2.3 ms."""
    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(1.0), _directed((40, 20.4), (360, 0.3)))))
    assert finding.severity is Severity.CRITICAL
    assert "Meanwhile operations took: reads of mail 20.4 ms." in finding.summary
    few = only_finding(judge(RULE, make_case(tmp_path / "few", _controllers(1.0), _directed((6, 20.4), (800, 0.3)))))
    assert few.severity is Severity.WARNING


def test_large_blocks_wait_for_nobody_as_long_as_they_take(tmp_path: Path) -> None:
    large = _directed((20, 30), (20, 30), 4 * 1024**2)
    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(1.0), large)))
    assert finding.severity is Severity.WARNING


def test_a_stretch_of_it_is_told_with_its_time(tmp_path: Path) -> None:
    busy = [0.3] * 4 + [0.95] * 3 + [0.3] * 3
    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(busy), _volume(35))))
    assert finding.title == "Controller A is used to the full at times"
    assert finding.severity is Severity.WARNING
    assert finding.start_ns == START_NS + 4 * 20_000_000_000
    assert finding.numbers["time_share"] == 0.3


def test_a_burst_or_a_busy_half_is_healthy(tmp_path: Path) -> None:
    burst = [0.3] * 4 + [0.95] * 2 + [0.3] * 4
    (statement,) = statements(judge(RULE, make_case(tmp_path, _controllers(burst))))
    assert statement == (
        "None of 2 components of MSA is used to the full: controller A is busy to 43 % on average, 95 % at most."
    )  # fmt: skip
    assert not findings(RULE, make_case(tmp_path / "half", _controllers(0.5)))
    assert findings(RULE, make_case(tmp_path / "half2", _controllers(0.5)), busy_ratio_max=0.4)


def test_a_stream_that_waits_for_nobody_fills_nothing(tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _controllers(1.0, queue=1.0)))
    assert not findings(RULE, make_case(tmp_path / "g", _group(1.0, 1.0)))


def test_where_requests_are_not_counted_the_processor_alone_tells(tmp_path: Path) -> None:
    case = make_case(tmp_path, lambda recorder: write_series(recorder, _A, 10, cpu_busy_ratio=0.97))
    finding = only_finding(judge(RULE, case))
    assert finding.confidence < 0.9
    assert "requests" not in finding.summary


def test_a_full_link_is_named(tmp_path: Path) -> None:
    case = make_case(tmp_path, lambda recorder: write_series(recorder, _LINK, 10, busy_ratio=0.99, queue_depth_mean=47))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "Front-end-link A out is used to the full"
    assert "faster links" in finding.remedy


def test_what_stands_at_a_link_to_drives_is_not_said_to_be_operations(tmp_path: Path) -> None:
    """As simulated: three quarters as many requests as operations in flight, which spend a third of their time there,
    and nearly half of it for the cache that the link fills."""

    def full(name: str) -> Finding:
        def write(recorder: Recorder) -> None:
            link, controller = EntityRef("MSA", "port", name), EntityRef("MSA", "controller", "A")
            recorder.link(link, "member_of", controller)
            recorder.link(EntityRef("MSA", "vdisk", "v1"), "owned_by", controller)
            write_series(recorder, link, 10, busy_ratio=0.99, queue_depth_mean=11.6)

        return only_finding(judge(RULE, make_case(tmp_path / name, write, _volume(35))))

    assert "of their time in the array there" in full("front-end-link A out").summary
    back = full("back-end-link A")
    assert "of their time" not in back.summary
    assert back.severity is Severity.CRITICAL


_LINK_REMEDIES = {
    "front-end-link A out": "Spread the hosts over more front-end ports, take faster links",
    "back-end-link B in": "Spread the drives over more back-end ports, take faster links",
    "mirror-link A-B": "Take a faster mirror link or more of them",
    "P7": "Take more or faster links of this kind",
}


@pytest.mark.parametrize(("name", "cure"), _LINK_REMEDIES.items())
def test_more_front_end_ports_are_no_remedy_for_other_links(name: str, cure: str, tmp_path: Path) -> None:
    """Simulated: a full back end with four times the front-end ports does as much as before, with four times its own
    ports four times as much; a full mirror link with a second one twice as much."""
    link = EntityRef("MSA", "port", name)
    case = make_case(tmp_path, lambda recorder: write_series(recorder, link, 10, busy_ratio=0.99, queue_depth_mean=47))
    remedy = only_finding(judge(RULE, case)).remedy
    assert remedy.startswith(cure)
    assert ("hosts" in remedy) is name.startswith("front")
    assert ("fewer mirrored writes" in remedy) is name.startswith("mirror")


@pytest.mark.parametrize(("forwarded", "cure"), [(1500, "the owner of backup,"), (100, "fewer mirrored writes")])
def test_a_mirror_link_that_is_full_of_forwarded_operations_is_not_cured_by_fewer_writes(
    forwarded: float, cure: str, tmp_path: Path
) -> None:
    """Simulated: 1,515 reads of 256 KiB a second that come through the other controller fill it, and 180 writes of
    8 KiB do not; sent to the owner, twice as many are read."""

    def write(recorder: Recorder) -> None:
        link, backup, db = (
            EntityRef("MSA", *one) for one in (("port", "mirror-link mirror"), ("vdisk", "backup"), ("vdisk", "db"))
        )
        write_series(recorder, link, 10, busy_ratio=0.99, queue_depth_mean=5.5)
        write_series(
            recorder, backup, 10, ops_per_s=1500, bytes_per_s=1500 * 2**18, write_bytes_per_s=0, latency_ns_mean=5.3e6,
            forwarded_per_s=forwarded,
        )  # fmt: skip
        write_series(
            recorder, db, 10, ops_per_s=9000, bytes_per_s=9000 * 2**13, write_bytes_per_s=9000 * 2**13,
            latency_ns_mean=2e6, forwarded_per_s=0,
        )  # fmt: skip

    assert cure in only_finding(judge(RULE, make_case(tmp_path, write))).remedy


@pytest.mark.parametrize(("drives", "title"), [(1, "The drive of sata is"), (20, "The drives of sata are")])
def test_busy_drives_are_named_before_their_queues_are_deep(drives: int, title: str, tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _group(0.91, 3.2, drives), _volume(21))))
    assert finding.title == f"{title} used to the full"
    assert finding.severity is Severity.CRITICAL


def test_drives_with_deep_queues_are_left_to_the_rule_that_tells_of_them(tmp_path: Path) -> None:
    def deep(recorder: Recorder) -> None:
        for index in range(4):
            drive = EntityRef("MSA", "disk", f"sata/{index}")
            recorder.link(drive, "member_of", _GROUP)
            write_series(recorder, drive, 10, queue_depth_mean=9)
        write_series(recorder, _GROUP, 10, busy_ratio=1.0, queue_depth_mean=9)

    assert not findings(RULE, make_case(tmp_path, deep))
    (need,) = needs(judge(RULE, make_case(tmp_path / "again", deep)))
    assert "uneven-drives" in need


def _drives(queue: Values) -> Writer:
    def write(recorder: Recorder) -> None:
        for index in range(4):
            drive = EntityRef("MSA", "disk", f"sata/{index}")
            recorder.link(drive, "member_of", _GROUP)
            write_series(recorder, drive, 10, queue_depth_mean=queue)
        write_series(recorder, _GROUP, 10, busy_ratio=0.96, queue_depth_mean=queue)

    return write


def test_drives_whose_queues_are_deep_now_and_then_are_told_as_full_all_the_time(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _drives([4.1] * 3 + [3.9] * 7), _volume(48))))
    assert finding.title == "The drives of sata are used to the full"
    assert finding.severity is Severity.CRITICAL


def test_drives_that_are_left_to_the_other_rule_are_named_among_the_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _drives(9), _volume(48), _controllers(0.5))))
    assert statement == (
        "None of 2 other components of MSA is used to the full: controller A is busy to 50 % on average, 50 % at most. "
        "Left out, as uneven-drives tells of them: the drives of sata."
    )


def test_what_is_busy_without_anybody_waiting_is_told_as_that(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _group(1.0, 1.0, 1))))
    assert statement == (
        "None of 1 component of MSA is used to the full with requests that wait: the drive of sata is busy to 100 % on "
        "average, 100 % at most, with 1.0 there."
    )


def test_a_processor_with_room_at_which_little_time_is_spent_does_not_decide(tmp_path: Path) -> None:
    """42 operations in flight, 5 of them at the processor."""
    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(0.88, queue=5), _volume(35))))
    assert finding.title == "Controller A is busy to 88 %"
    assert finding.severity is Severity.WARNING
    assert "operations spend up to 12 % of their time in the array there" in finding.summary
    assert "Drives do not help" not in finding.remedy
    full = only_finding(judge(RULE, make_case(tmp_path / "full", _controllers(0.99, queue=5), _volume(35))))
    assert full.severity is Severity.CRITICAL


def test_what_waits_at_a_limit_in_the_host_is_not_in_the_array(tmp_path: Path) -> None:
    def limit(recorder: Recorder) -> None:
        device = EntityRef("MSA", "device", "h/backup")
        write_series(recorder, device, 10, queue_depth_mean=10, queue_limit=10, queued_mean=32)

    case = make_case(tmp_path, _controllers(0.88, queue=5), _volume(35), limit)
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.CRITICAL
    assert "operations spend up to 50 % of their time in the array there" in finding.summary


def test_what_decides_is_named_before_what_is_as_busy(tmp_path: Path) -> None:
    case = make_case(tmp_path, _controllers(0.9, queue=5), _volume(35), _group(0.88, 3.2))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "The drives of sata are used to the full"
    assert finding.severity is Severity.CRITICAL
    assert "So is controller A" in finding.summary


def test_drives_that_are_about_as_busy_as_the_processor_are_named_and_may_help(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(0.99), _volume(35), _group(0.82, 3.2))))
    assert "About as busy: the drives of sata (82 %)" in finding.summary
    assert "Drives do not help" not in finding.remedy


def test_a_rebuild_that_fills_its_drives_is_named_and_no_more_than_a_warning(tmp_path: Path) -> None:
    def rebuild(recorder: Recorder) -> None:
        recorder.event(_GROUP, START_NS, "rebuild_started", "rebuilding", attributes={"work": "rebuild"})

    finding = only_finding(judge(RULE, make_case(tmp_path, _group(0.95, 3.2), _volume(35), rebuild)))
    assert finding.severity is Severity.WARNING
    assert finding.summary.endswith(
        "Meanwhile a rebuild or restripe runs on sata: a slow-down is expected until it ends."
    )


def test_a_scrub_that_fills_its_drives_is_named_with_what_helps(tmp_path: Path) -> None:
    def scrub(recorder: Recorder) -> None:
        recorder.event(_GROUP, START_NS, "array_event", "scrubbing", attributes={"work": "scrub", "state": "running"})

    finding = only_finding(judge(RULE, make_case(tmp_path, _group(0.95, 3.2), _volume(35), scrub)))
    assert finding.severity is Severity.WARNING
    assert finding.summary.endswith("Meanwhile a scrub runs on sata: throttle it, or give it another time.")


def test_without_evidence_it_says_what_it_needs(tmp_path: Path) -> None:
    assert needs(judge(RULE, make_case(tmp_path, _volume(35))))


def test_only_volumes_that_use_it_are_said_to_wait_for_it(tmp_path: Path) -> None:
    def volumes(recorder: Recorder) -> None:
        for name, owner in (("mine", _A), ("other", _B)):
            volume = EntityRef("MSA", "vdisk", name)
            recorder.link(volume, "owned_by", owner)
            write_series(recorder, volume, 10, ops_per_s=1200, latency_ns_mean=40e6)

    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(1.0), volumes)))
    assert "Meanwhile operations took: mine 40.0 ms." in finding.summary


def test_what_waits_at_other_times_is_not_counted(tmp_path: Path) -> None:
    busy = [1.0] * 3 + [0.2] * 4 + [1.0] * 3
    volume = EntityRef("MSA", "vdisk", "backup")
    latency = [30e6] * 3 + [900e6] * 4 + [30e6] * 3
    slow: Writer = lambda recorder: write_series(recorder, volume, 10, ops_per_s=100, latency_ns_mean=latency)  # noqa: E731
    finding = only_finding(judge(RULE, make_case(tmp_path, _controllers(busy), slow)))
    assert "Meanwhile operations took: backup 30.0 ms." in finding.summary


def test_a_full_queue_limit_is_left_to_its_rule(tmp_path: Path) -> None:
    port = EntityRef("MSA", "port", "ports of controller A")

    def limit(recorder: Recorder) -> None:
        write_series(recorder, port, 10, busy_ratio=1.0, queue_depth_mean=3, queue_limit=3, queued_mean=40)

    assert not findings(RULE, make_case(tmp_path, limit))


def test_a_few_seconds_of_it_inform_at_most(tmp_path: Path) -> None:
    def judged(name: str, long: int) -> list[Severity]:
        busy = [0.95] * 3 + [0.3] * (long - 3)
        writer: Writer = lambda recorder: write_series(recorder, _A, long, cpu_busy_ratio=busy)  # noqa: E731
        return [one.severity for one in findings(RULE, make_case(tmp_path / name, writer, _volume(35)))]

    assert judged("a tenth", 30) == [Severity.WARNING]
    assert judged("less", 60) == [Severity.INFO]
    assert judged("hardly", 400) == []
