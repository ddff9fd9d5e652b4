from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.engine import evaluate
from storscope.diagnose.rules import drive_failed, rules
from storscope.diagnose.rules.heavy_hitter import RULE
from storscope.diagnose.thresholds import load_thresholds
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import MIB
from storscope.domain.verdict import ordered
from storscope.domain.vocabulary import SIMULATED_FACT
from tests.diagnose.apart import apart, at, during, steady
from tests.diagnose.days import MS, START_NS, FloatArray, day, entity, record
from tests.diagnose.evidence import only_finding, statements
from tests.support.cases import findings, judge, make_case


def hog(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
    """v03 brings 20 times its load from interval 300 to 400, and everyone waits."""
    ops[3, 300:400] *= 20
    moved[3, 300:400] *= 20
    latency[:, 300:400] *= 10


def test_the_hog_of_the_bad_window_is_named_with_its_shares(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, day(hog)))
    assert finding.entities[0] == entity("v03")
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["share_of_operations"] == pytest.approx(20 / 25, abs=0.02)
    assert finding.numbers["excess"] == pytest.approx(20, rel=0.1)
    assert finding.start_ns is not None
    assert finding.end_ns is not None
    assert (finding.end_ns - finding.start_ns) / 20e9 == pytest.approx(100, abs=1)
    assert finding.evidence[0].rows[0][0] == "v03"
    now, [usual] = finding.evidence[0].rows[0], finding.evidence[1].rows
    assert usual[0] == "v03"
    assert finding.evidence[1].columns[1:3] == ["ops_per_s", "bytes_per_s"]
    assert max(now[1] / usual[1], now[2] / usual[2]) == pytest.approx(finding.numbers["excess"], rel=0.01)


def test_a_simulated_hog_is_left_out_since_nobody_can_pause_it(tmp_path: Path) -> None:
    def simulated(recorder: Recorder) -> None:
        recorder.fact(EntityRef(entity("v03").system, "array", "a"), SIMULATED_FACT, 1000)

    [measured] = findings(RULE, make_case(tmp_path / "measured", day(hog)))
    [found] = findings(RULE, make_case(tmp_path / "simulated", day(hog), simulated))
    assert measured.check.startswith("Pause or slow v03")
    assert found.check.startswith("Simulate the same without the load of v03")


def test_an_even_load_is_healthy(tmp_path: Path) -> None:
    [healthy] = judge(RULE, make_case(tmp_path, day()))
    assert isinstance(healthy, Healthy)


def test_the_heaviest_of_a_good_day_is_a_fact_and_nothing_to_do(tmp_path: Path) -> None:
    """A healthy SQL Server was headed "File system D: takes 73 % of the queue time", with the advice to slow it."""

    def heavy(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1] *= 30

    [healthy] = judge(RULE, make_case(tmp_path, day(heavy)))
    assert isinstance(healthy, Healthy)
    assert healthy.statement.startswith(
        "Most of the load of array is that of volume v01, and nothing is slow: it takes"
    )


def test_of_loads_without_latency_it_is_not_said_that_nothing_is_slow(tmp_path: Path) -> None:
    def rates(recorder: Recorder) -> None:
        columns = {"ops_per_s": np.array([[1_200.0], [300.0], [300.0]]) * np.ones((3, 60))}
        record(recorder, columns, ["a", "b", "c"])

    [healthy] = judge(RULE, make_case(tmp_path, rates))
    assert isinstance(healthy, Healthy)
    assert "how long it waits is not told" in healthy.statement


def test_a_lun_of_a_hypervisor_has_no_queries_to_tune(tmp_path: Path) -> None:
    vm = entity("app01", "vm", "h")
    case = make_case(tmp_path, day(hog, kind="device", system="h", on=None), lambda recorder: recorder.entity(vm))
    finding = only_finding(judge(RULE, case))
    assert "the VMs on v03" in finding.check
    assert "queries" not in finding.remedy


def test_the_heaviest_is_told_beside_others_that_are_slow_all_the_time(tmp_path: Path) -> None:
    def always(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1] *= 300
        latency[[2, 3]] = 100 * MS

    [finding] = findings(RULE, make_case(tmp_path, day(always)))
    assert finding.severity is Severity.WARNING
    assert finding.entities[0] == entity("v01")
    assert finding.title.endswith("while others are too slow")
    assert "v02 (100 ms) and v03 (100 ms)" in finding.summary
    assert "no quiet time" in finding.summary
    assert "No time was worse" not in finding.why


def test_one_that_is_slow_now_and_then_is_no_reason_to_blame_the_heaviest(tmp_path: Path) -> None:
    def rarely(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1] *= 300
        latency[2, ::5] = 100 * MS

    [finding] = findings(RULE, make_case(tmp_path, day(rarely)))
    assert finding.severity is Severity.INFO


def test_the_innocent_always_heavy_database_is_no_suspect_for_a_slow_array(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1] *= 30
        latency[:, 300:400] *= 10

    [finding] = findings(RULE, make_case(tmp_path, day(slow)))
    assert finding.severity is Severity.INFO
    assert finding.numbers["excess"] == pytest.approx(1, abs=0.1)


def test_a_slow_entity_with_little_load_is_no_heavy_hitter(tmp_path: Path) -> None:
    def victim(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[2, 300:400] = 900 * MS

    [finding] = findings(RULE, make_case(tmp_path, day(victim)))
    assert finding.severity is Severity.INFO
    assert finding.title == "Volume v02 got slow without more load"
    assert list(finding.entities) == [entity("v02")]


def _all_get_slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
    latency[:, 300:400] *= 10


@pytest.mark.parametrize(("interval", "is_told"), [(300, True), (302, True), (310, False), (100, False)])
def test_what_a_log_says_of_the_moment_at_which_it_got_slow_is_told(
    interval: int, is_told: bool, tmp_path: Path
) -> None:
    """A cache that was lost, and is back by the end, leaves no state that another rule could name."""

    def logged(recorder: Recorder) -> None:
        controller = entity("A", "controller")
        for number, policy in ((interval, "write-through"), (600, "write-back")):
            at_ns = START_NS + number * 20_000_000_000
            recorder.event(controller, at_ns, "cache_policy_changed", f"A: {policy}", attributes={"policy": policy})

    [finding] = findings(RULE, make_case(tmp_path, day(_all_get_slow), logged))
    assert finding.severity is Severity.INFO
    assert ("When it began the log says: 'A: write-through' (2026-11-21 0" in finding.summary) is is_told
    assert "write-back" not in finding.summary
    assert finding.remedy.startswith("Find out whether what the log tells" if is_told else "None before")


def test_a_limit_that_was_changed_when_it_got_slow_is_told(tmp_path: Path) -> None:
    def logged(recorder: Recorder) -> None:
        limit = entity("array", "rate_limit")
        recorder.event(
            limit, START_NS + 300 * 20_000_000_000, "limit_changed", "500 IOPS", attributes={"allowed": "500 IOPS"}
        )

    [finding] = findings(RULE, make_case(tmp_path, day(_all_get_slow), logged))
    assert "When it began the log says: '500 IOPS' (" in finding.summary


def test_what_other_rules_found_at_the_time_is_named_where_it_got_slow_without_more_load(tmp_path: Path) -> None:
    def logged(recorder: Recorder) -> None:
        at_ns = START_NS + 300 * 20_000_000_000
        attributes = {"policy": "write-through"}
        recorder.event(entity("A", "controller"), at_ns, "cache_policy_changed", "A", attributes=attributes)

    found = evaluate(make_case(tmp_path, day(_all_get_slow), logged), rules(), load_thresholds(rules()))
    [finding] = [one for one in found if isinstance(one, Finding) and one.rule == RULE.name]
    assert finding.remedy == (
        "See the finding that may be its cause: '1 controller of array without write-back cache' (cache-policy-flood)."
    )


def test_who_brings_most_and_hardly_waits_is_not_blamed_for_who_got_slow_at_lower_load(tmp_path: Path) -> None:
    def stall(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[:] = 240 * rng.gamma(400, 1 / 400, ops.shape)
        ops[0, 300:330] /= 7
        moved[:] = ops * 16_384
        latency[0, 300:330] = 430 * MS

    [finding] = findings(RULE, make_case(tmp_path, day(stall, volumes=2, kind="device", system="lab", on=None)))
    assert finding.title == "Device v00 got slow at lower load"
    assert "430 ms instead of 4.0" in finding.summary
    assert "34.2 IOPS instead of 240 IOPS" in finding.summary
    assert finding.summary.endswith("look below the host.")
    assert "v01" not in finding.title + finding.check + finding.remedy
    assert finding.numbers["share_of_queue_time"] > 0.9


def test_where_somebody_brings_more_nobody_is_said_to_be_slow_without_more_load(tmp_path: Path) -> None:
    def risen(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[0, 300:400] *= 3
        moved[0, 300:400] *= 3
        latency[:, 300:400] *= 12

    [healthy] = judge(RULE, make_case(tmp_path, day(risen)))
    assert isinstance(healthy, Healthy)


def test_a_quick_one_that_brings_more_is_not_what_others_wait_for(tmp_path: Path) -> None:
    def beside(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1, 300:400] *= 3
        moved[1, 300:400] *= 3
        latency[0, 300:400] = 900 * MS

    [healthy] = judge(RULE, make_case(tmp_path, day(beside, volumes=2)))
    assert isinstance(healthy, Healthy)
    assert "too little of the queue time to be what others wait for" in healthy.statement


def test_of_two_heavy_ones_the_one_whose_load_rose_is_named(tmp_path: Path) -> None:
    def beside(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        moved[1] *= 20
        ops[2, 300:400] *= 12
        latency[:, 300:400] *= 10

    [finding] = findings(RULE, make_case(tmp_path, day(beside)))
    assert finding.entities[0] == entity("v02")
    assert finding.severity is Severity.CRITICAL


def test_a_vm_its_disk_and_the_device_below_are_one_finding(tmp_path: Path) -> None:
    def layers(recorder: Recorder) -> None:
        for kind in ("vm", "vm_disk", "device"):
            day(hog, kind=kind, system="h", on=None)(recorder)
        for number in range(6):
            disk = entity(f"v{number:02}", "vm_disk", "h")
            recorder.link(disk, "member_of", entity(f"v{number:02}", "vm", "h"))
            recorder.link(disk, "lives_on", entity(f"v{number:02}", "device", "h"))

    [finding] = findings(RULE, make_case(tmp_path, layers))
    assert [one.kind for one in finding.entities] == ["vm", "vm_disk", "device"]


def test_a_hog_by_bytes_is_found_though_its_operations_are_few(tmp_path: Path) -> None:
    def backup(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        moved[5, 300:400] = ops[5, 300:400] * 512 * 1024
        latency[:, 300:400] *= 10

    [finding] = findings(RULE, make_case(tmp_path, day(backup)))
    assert finding.entities[0] == entity("v05")
    assert "of the bytes" in finding.title


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, day(hog))
    assert findings(RULE, case, share_min=0.95) == []
    assert findings(RULE, case, excess_factor=50.0)[0].severity is Severity.INFO


def test_an_idle_machine_or_a_moment_has_no_heavy_hitter(tmp_path: Path) -> None:
    def heavy(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1:] *= 0.1
        moved[1:] *= 0.1

    def idle(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        heavy(rng, ops, moved, latency)
        ops *= 0.11
        moved *= 0.11

    short = make_case(tmp_path / "short", day(heavy, count=2, step_s=1))
    quiet = make_case(tmp_path / "quiet", day(idle))
    for case in (short, quiet):
        [outcome] = judge(RULE, case)
        assert isinstance(outcome, NotEvaluated)
        assert "the heaviest here has" in outcome.needs
    for case, least in (
        (short, {"seen_min_s": 1}),
        (quiet, {"load_min_ops_per_s": 5}),
        (quiet, {"load_min_bytes_per_s": 1e4}),
    ):
        assert len(statements(judge(RULE, case, **least))) == 1


def test_idle_entities_have_no_part_in_a_fair_share(tmp_path: Path) -> None:
    def two(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[2:] = 0
        moved[2:] = 0
        latency[1] *= 1.4

    [healthy] = judge(RULE, make_case(tmp_path / "two", day(two)))
    assert isinstance(healthy, Healthy)

    def uneven(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        two(rng, ops, moved, latency)
        ops[0] *= 9

    [healthy] = judge(RULE, make_case(tmp_path / "uneven", day(uneven)))
    assert isinstance(healthy, Healthy)
    assert healthy.statement.startswith("Most of the load of array is that of volume v00")


def test_of_the_only_entity_at_work_nothing_is_said(tmp_path: Path) -> None:
    def one(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1:] = 0
        moved[1:] = 0

    [outcome] = judge(RULE, make_case(tmp_path, day(one)))
    assert isinstance(outcome, NotEvaluated)


def test_a_failed_drive_stands_before_the_heaviest_that_is_always_so(tmp_path: Path) -> None:
    def heavy(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1] *= 30
        latency[2] *= 4.5

    def rebuild(recorder: Recorder) -> None:
        recorder.event(entity("d1", "disk"), START_NS, "disk_failed", "failed")
        recorder.event(entity("d1", "disk"), START_NS + 1, "rebuild_started", "rebuilding")

    case = make_case(tmp_path, day(heavy), rebuild)
    found = [*findings(RULE, case), *findings(drive_failed.RULE, case)]
    assert {one.severity for one in found} == {Severity.INFO}
    assert [one.rule for one in ordered(found)[0]] == ["drive-failed", "heavy-hitter"]


def test_what_is_slow_all_the_time_is_not_called_good(tmp_path: Path) -> None:
    def heavy(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1] *= 30
        latency[2] *= 4.5

    [finding] = findings(RULE, make_case(tmp_path, day(heavy)))
    assert finding.severity is Severity.INFO
    assert "No time was worse" not in finding.why
    assert "without a window worse than the rest" in finding.summary


def test_one_entity_alone_cannot_be_compared(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, day(volumes=1)))
    assert isinstance(outcome, NotEvaluated)


def test_among_equals_much_queue_time_accuses_nobody(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency *= 30
        latency[2] *= 4

    [healthy] = judge(RULE, make_case(tmp_path, day(slow, volumes=3)))
    assert isinstance(healthy, Healthy)
    assert healthy.statement.endswith("It brings no more than the others.")


def test_a_tie_of_two_that_bring_the_same_accuses_nobody(tmp_path: Path) -> None:
    def tie(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency *= 30
        ops[0] *= 1.05
        latency[0] *= 4

    [healthy] = judge(RULE, make_case(tmp_path, day(tie, volumes=2)))
    assert isinstance(healthy, Healthy)


def test_who_is_served_better_than_the_others_is_not_what_they_wait_for(tmp_path: Path) -> None:
    """Two share a controller, and the third has one of its own: in a closed loop it gets twice as much done."""

    def alone(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1] *= 2
        moved[1] *= 2
        latency *= 30
        latency[1] /= 2

    [healthy] = judge(RULE, make_case(tmp_path, day(alone, volumes=3)))
    assert isinstance(healthy, Healthy)
    assert healthy.statement.endswith("it is served more quickly than the others.")


def test_where_no_quiet_time_tells_of_its_load_the_heaviest_is_a_warning(tmp_path: Path) -> None:
    def always(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[1] *= 20
        latency *= 30

    [finding] = findings(RULE, make_case(tmp_path, day(always, volumes=3)))
    assert finding.severity is Severity.WARNING
    assert finding.confidence < 0.7


def test_who_reads_more_while_reads_wait_is_critical_though_cached_writes_hide_it(tmp_path: Path) -> None:
    """With 2,000 writes/s beside, six times the reads are 1.12 times the operations, and 2.3 ms in the mean."""
    reads = during(steady(50, volumes=3), 300)
    reads_ms = during(steady(4, volumes=3), 30, volumes=3)
    case = make_case(tmp_path, apart((reads, reads_ms), (steady(2_000, volumes=3), steady(0.3, volumes=3))))
    [finding] = findings(RULE, case)
    assert finding.severity is Severity.CRITICAL
    assert (finding.start_ns, finding.end_ns) == (at(100), at(160))
    assert finding.title == "Volume v00 takes 75 % of the reads in the bad window"
    first = dict(zip(finding.evidence[0].columns, finding.evidence[0].rows[0], strict=True))
    assert (first["read_ops_per_s"], first["read_latency_ns_mean"]) == (300, 30 * MS)
    assert "(reads 30.0 ms and writes 300 µs). That is 6.0 times its load at other times." in finding.summary


def test_whose_reads_got_slow_is_named_though_the_mean_of_all_did_not_rise_as_much(tmp_path: Path) -> None:
    """20 reads/s of 4 ms become 60 ms beside 480 writes/s of 2 ms: 2.1 ms become 4.3."""
    reads_ms = during(steady(4, volumes=2), 60)
    case = make_case(tmp_path, apart((steady(20, volumes=2), reads_ms), (steady(480, volumes=2), steady(2, volumes=2))))
    [finding] = findings(RULE, case)
    assert finding.title == "Reads of volume v00 got slow without more load"
    assert "a read of volume v00 took 60.0 ms instead of 4.00 ms" in finding.summary
    assert "with 20.0 IOPS instead of 20.0 IOPS; it has 94 % of the queue time of reads of 2 volumes" in finding.summary


def test_reads_that_are_always_slow_are_told_beside_the_heaviest(tmp_path: Path) -> None:
    reads, reads_ms, writes = steady(4_000, volumes=2), steady(5, volumes=2), steady(1, volumes=2)
    reads[1], reads_ms[1], writes[1] = 20, 40, 480
    [finding] = findings(RULE, make_case(tmp_path, apart((reads, reads_ms), (writes, steady(0.3, volumes=2)))))
    assert finding.severity is Severity.WARNING
    assert "Too slow most of the time: v01 (reads 40.0 ms)." in finding.summary


def test_large_blocks_are_not_always_slow(tmp_path: Path) -> None:
    """The same with blocks of 4 MiB, which take 34 ms at 125 MB/s."""
    reads, reads_ms, writes = steady(4_000, volumes=2), steady(5, volumes=2), steady(1, volumes=2)
    reads[1], reads_ms[1], writes[1] = 20, 40, 480
    write = apart((reads, reads_ms), (writes, steady(0.3, volumes=2)), size=4 * MIB)
    [healthy] = judge(RULE, make_case(tmp_path, write))
    assert isinstance(healthy, Healthy)


def test_who_writes_more_while_reads_wait_is_named_and_not_who_waits(tmp_path: Path) -> None:
    """The cache takes the writes at once, and destages them while the reads of others wait."""
    writes_ms = during(steady(0.3, volumes=3), 0.5)
    reads_ms = during(steady(4, volumes=3), 60, volumes=3)
    reads, writes = steady(20, volumes=3), during(steady(500, volumes=3), 2_500)
    [finding] = findings(RULE, make_case(tmp_path, apart((reads, reads_ms), (writes, writes_ms))))
    assert finding.entities[0] == entity("v00")
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["excess"] == pytest.approx(2_520 / 520)


def test_who_brings_no_more_than_another_is_not_called_slow_while_nothing_is(tmp_path: Path) -> None:
    def two(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[2:] /= 1000
        moved[2:] /= 1000
        ops[:2] *= 5
        ops[0] *= 1.1

    [healthy] = judge(RULE, make_case(tmp_path, day(two)))
    assert isinstance(healthy, Healthy)
    assert healthy.statement.endswith("It brings no more than the others.")
