from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.engine import evaluate
from storscope.diagnose.rules import _causes, rules
from storscope.diagnose.rules.latency_above_tier import RULE
from storscope.diagnose.thresholds import load_thresholds
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB, NS_PER_S
from storscope.domain.vocabulary import SIMULATED_FACT
from tests.diagnose.days import MS, START_NS, FloatArray, day, entity, record
from tests.diagnose.evidence import only_finding, write_series
from tests.support.cases import findings, judge, make_case

Change = Callable[[np.random.Generator, FloatArray, FloatArray, FloatArray], None]


def test_a_tenth_of_the_operations_above_the_limit_is_too_slow(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[[2, 4], :100] = 40 * MS

    [finding] = findings(RULE, make_case(tmp_path, day(slow)))
    assert finding.severity is Severity.CRITICAL
    assert {one.name for one in finding.entities} == {"v02", "v04"}
    assert 0.12 < finding.numbers["share_of_operations"] < 0.16
    assert "assumed" in finding.summary
    assert finding.evidence[0].rows[0][3] == 100


def test_between_the_limits_is_a_warning(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, day(latency_ms=20)))
    assert finding.severity is Severity.WARNING
    assert len(finding.entities) == 6


def test_the_title_counts_what_is_above_the_limit_that_it_names(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[[0, 1]] = 40 * MS
        latency[2] = 20 * MS

    [finding] = findings(RULE, make_case(tmp_path, day(slow)))
    assert finding.title.startswith("2 volumes above 25.0 ms")
    assert "Above a limit of their own: " in finding.summary
    assert {one.name for one in finding.entities} == {"v00", "v01", "v02"}


def test_nobody_is_asked_who_waits_in_a_simulation(tmp_path: Path) -> None:
    measured = day(latency_ms=20)

    def simulated(recorder: Recorder) -> None:
        measured(recorder)
        system = entity(0).system
        recorder.fact(EntityRef(system, "array", system), SIMULATED_FACT, 5)

    [finding] = findings(RULE, make_case(tmp_path / "simulated", simulated))
    assert "change that part of the design" in finding.check
    [finding] = findings(RULE, make_case(tmp_path / "measured", measured))
    assert "Ask who waits" in finding.check


def test_a_steady_good_day_is_healthy_with_its_number(tmp_path: Path) -> None:
    [healthy] = judge(RULE, make_case(tmp_path, day()))
    assert isinstance(healthy, Healthy)
    assert "4." in healthy.statement or "3." in healthy.statement
    assert "disk, assumed" in healthy.statement


def test_the_innocent_idle_disk_and_rare_spikes_are_healthy(tmp_path: Path) -> None:
    def idle(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[0] = 0.5
        latency[0] = 80 * MS
        latency[1, ::50] = 300 * MS

    assert findings(RULE, make_case(tmp_path, day(idle))) == []


def test_a_few_slow_seconds_are_information_at_most(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[0, 3] = 90 * MS
        ops[0, 3] *= 20

    case = make_case(tmp_path, day(slow, count=10, step_s=1, volumes=1))
    [finding] = findings(RULE, case)
    assert finding.severity is Severity.INFO
    assert "only 1.00 s" in finding.title
    assert "too little to judge" in finding.summary
    [judged] = findings(RULE, case, above_min_s=1)
    assert judged.severity is Severity.CRITICAL


def test_a_few_slow_operations_are_information_at_most(tmp_path: Path) -> None:
    def few(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[:] = 6
        latency[0, :1] = 90 * MS

    case = make_case(tmp_path, day(few, count=8, step_s=30, volumes=1))
    assert findings(RULE, case)[0].severity is Severity.INFO
    assert findings(RULE, case, above_min_operations=100)[0].severity is Severity.CRITICAL


def _coarse(intervals: slice, *, ops: float, latency_ms: float) -> Change:
    """Some intervals of all volumes: operations times `ops`, that long each."""

    def change(rng: np.random.Generator, operations: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        operations[:, intervals] *= ops
        moved[:, intervals] *= ops
        latency[:, intervals] = latency_ms * MS

    return change


@pytest.mark.parametrize(("count", "step_s", "volumes"), [(144, 600, 1), (288, 300, 6)])
def test_two_long_intervals_are_as_long_as_they_are(tmp_path: Path, count: int, step_s: float, volumes: int) -> None:
    """Monitoring at 5 or 10 minutes has no more of an incident; the mean of the day hides it."""
    slow = day(_coarse(slice(50, 52), ops=0.13, latency_ms=1_000), count=count, step_s=step_s, volumes=volumes)
    finding = only_finding(judge(RULE, make_case(tmp_path, slow)))
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["longest_s"] == 2 * step_s
    assert len(finding.entities) == volumes


def test_two_intervals_that_are_short_are_a_spike(tmp_path: Path) -> None:
    slow = day(_coarse(slice(50, 52), ops=0.13, latency_ms=1_000), count=288, step_s=20, volumes=1)
    assert findings(RULE, make_case(tmp_path, slow)) == []


def test_two_long_intervals_of_a_backup_are_no_fault(tmp_path: Path) -> None:
    backup = day(_coarse(slice(50, 52), ops=4, latency_ms=30), count=144, step_s=600, volumes=1)
    [healthy] = judge(RULE, make_case(tmp_path, backup))
    assert isinstance(healthy, Healthy)


@pytest.mark.parametrize(("ops", "latency_ms"), [(1, 70), (0.003, 4_000)])
def test_one_noisy_long_interval_is_no_fault(tmp_path: Path, ops: float, latency_ms: float) -> None:
    noisy = day(_coarse(slice(50, 51), ops=ops, latency_ms=latency_ms), count=144, step_s=600, volumes=1)
    assert findings(RULE, make_case(tmp_path, noisy)) == []


def test_hours_of_waiting_in_one_interval_are_told_with_their_doubt(tmp_path: Path) -> None:
    """A short flood of requests looks the same, so it is no alarm; but nobody calls it within its tier."""
    slow = day(_coarse(slice(50, 51), ops=0.2, latency_ms=1_000), count=288, step_s=300)
    finding = only_finding(judge(RULE, make_case(tmp_path, slow)))
    assert finding.severity is Severity.INFO
    assert len(finding.entities) == 6
    assert "capture at 10 s" in finding.summary
    assert "too little" not in finding.summary


def test_what_is_healthy_says_for_how_long_it_was_not(tmp_path: Path) -> None:
    noisy = day(_coarse(slice(50, 51), ops=1, latency_ms=70), count=144, step_s=600)
    [healthy] = judge(RULE, make_case(tmp_path, noisy))
    assert isinstance(healthy, Healthy)
    assert "is within its tier but for up to 10 min: the worst" in healthy.statement


def test_an_interval_over_a_hole_ends_where_it_ends(tmp_path: Path) -> None:
    """Counters read again after 13 minutes tell one long interval among short ones."""

    def holed(recorder: Recorder) -> None:
        day(count=60, step_s=10, volumes=1)(recorder)
        told = {"ops_per_s": 40.0, "latency_ns_mean": 90 * MS}
        recorder.observe(entity("v00"), START_NS + 600 * NS_PER_S, 780 * NS_PER_S, told)

    finding = only_finding(judge(RULE, make_case(tmp_path, holed)))
    assert (finding.start_ns, finding.end_ns) == (START_NS + 600 * NS_PER_S, START_NS + 1_380 * NS_PER_S)
    assert finding.numbers["longest_s"] == 780


def test_a_time_that_two_captures_saw_is_counted_once(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, day(latency_ms=50), day(latency_ms=50), day(latency_ms=50)))
    assert {row[2] for row in finding.evidence[0].rows} == {720}


def test_large_backup_reads_have_wider_limits(tmp_path: Path) -> None:
    large = make_case(tmp_path / "large", day(latency_ms=16, size_bytes=256 * 1024))
    small = make_case(tmp_path / "small", day(latency_ms=16))
    assert findings(RULE, large) == []
    assert len(findings(RULE, small)) == 1


def test_flash_has_its_own_limits(tmp_path: Path) -> None:
    def flash(recorder: Recorder) -> None:
        day()(recorder)
        recorder.fact(entity("shared", "disk_group"), "media", "ssd")

    [finding] = findings(RULE, make_case(tmp_path, flash))
    assert finding.severity is Severity.CRITICAL
    assert "flash" in finding.title


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, day())
    assert findings(RULE, case) == []
    assert len(findings(RULE, case, latency_ns_warning_disk=2 * MS)) == 1
    assert findings(RULE, case, latency_ns_critical_disk=2 * MS)[0].severity is Severity.CRITICAL
    assert isinstance(judge(RULE, case, idle_ops_per_s=1e6)[0], NotEvaluated)


def test_one_slow_thing_seen_at_several_heights_is_one_finding(tmp_path: Path) -> None:
    case = make_case(tmp_path, day(latency_ms=50, system="h", kind="device"), day(latency_ms=50, system="h", kind="vm"))
    [finding] = findings(RULE, case)
    assert {one.kind for one in finding.entities} == {"device"}
    assert "VMs" in finding.summary


def test_without_latency_it_names_what_it_needs(tmp_path: Path) -> None:
    def rates(recorder: Recorder) -> None:
        recorder.observe(entity("v00"), 0, 1, {"ops_per_s": 5.0})

    [outcome] = judge(RULE, make_case(tmp_path, rates))
    assert isinstance(outcome, NotEvaluated)
    assert outcome.needs.endswith("of 1 volume of array only operations are told, and not how long they take")


def _samples(count: int, step_s: float, ops: float, latency_ms: float) -> Callable[[Recorder], None]:
    columns = {"ops_per_s": np.full((1, count), ops), "latency_ns_mean": np.full((1, count), latency_ms * MS)}
    return lambda recorder: record(recorder, columns, ["sda"], kind="device", step_s=step_s, on=None)


@pytest.mark.parametrize("step_s", [60, 300])
def test_two_long_samples_are_enough(step_s: float, tmp_path: Path) -> None:
    """Ten minutes at 480 ms, as monitoring at 5 minutes has them, were "HEALTHY in what could be judged"."""
    [finding] = findings(RULE, make_case(tmp_path / "slow", _samples(2, step_s, 1_200, 480)))
    assert finding.severity is Severity.CRITICAL
    [outcome] = judge(RULE, make_case(tmp_path / "quick", _samples(2, step_s, 1_200, 4)))
    assert isinstance(outcome, Healthy)


def test_too_few_intervals_are_told_as_such(tmp_path: Path) -> None:
    """It asked for latency and operations of who had given both."""
    [outcome] = judge(RULE, make_case(tmp_path, _samples(2, 5, 1_200, 480)))
    assert isinstance(outcome, NotEvaluated)
    assert outcome.needs == (
        "3 intervals with 5.00 IOPS or more, or two of 2 min together: device sda has 2 intervals of them (10 s, with "
        "a mean of 480 ms)"
    )


def test_what_did_nothing_is_told_as_such(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, _samples(60, 5, 2, 4)))
    assert isinstance(outcome, NotEvaluated)
    assert outcome.needs.endswith("device sda, like all that was seen, did less")


def _apart(
    reads: tuple[float, float],
    writes: tuple[float, float],
    sizes_kib: tuple[float, float] = (8, 8),
    *,
    flash: bool = False,
) -> Callable[[Recorder], None]:
    """Twenty minutes of sda at 10 s: (rate per s, latency in ms) of each direction, with noise."""

    def write(recorder: Recorder) -> None:
        rng = np.random.default_rng(0)
        columns: dict[str, FloatArray] = {}
        for begin, (rate, latency_ms), size in zip(("read", "write"), (reads, writes), sizes_kib, strict=True):
            columns[f"{begin}_ops_per_s"] = rate * rng.gamma(40, 1 / 40, (1, 120))
            columns[f"{begin}_bytes_per_s"] = columns[f"{begin}_ops_per_s"] * size * KIB
            columns[f"{begin}_latency_ns_mean"] = latency_ms * MS * rng.gamma(400, 1 / 400, (1, 120))
        record(recorder, columns, ["sda"], kind="device", step_s=10, on=None)
        if flash:
            recorder.fact(entity("sda", "device"), "rotational", "0")

    return write


def test_slow_reads_beside_many_writes_that_a_cache_took_are_too_slow(tmp_path: Path) -> None:
    """The mean of all is 6 ms; PAL's limits are those of reads and of writes apart."""
    finding = only_finding(judge(RULE, make_case(tmp_path, _apart((50, 60), (450, 0.3)))))
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "Reads of device sda above 25.0 ms, too slow for disk"
    assert "100 % of the reads of device sda were done in intervals whose mean is more than 25.0 ms" in finding.summary
    assert "(writes 298 µs)" in finding.summary
    assert finding.evidence[0].rows[0][2:4] == [120, 120]
    assert 55 * MS < finding.numbers["latency_ns_mean"] < 65 * MS


def test_slow_writes_beside_many_reads_are_told_as_writes(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _apart((450, 4), (50, 19)))))
    assert finding.title == "Writes of device sda above 15.0 ms, too slow for disk"
    assert finding.severity is Severity.WARNING
    assert "nobody waits for it" in finding.innocent


def test_parts_of_a_mean_that_other_times_tell_are_said_to_be_such(tmp_path: Path) -> None:
    def later(recorder: Recorder) -> None:
        columns = {"ops_per_s": np.full((1, 60), 100.0), "latency_ns_mean": np.full((1, 60), 14 * MS)}
        times = START_NS + np.arange(60, dtype=np.int64) * 10 * NS_PER_S + 86_400 * NS_PER_S
        recorder.observe_columns([entity("sda", "device")], times, np.full(60, 10 * NS_PER_S), columns)

    [healthy] = judge(RULE, make_case(tmp_path, _apart((20, 2), (20, 0.3)), later))
    assert isinstance(healthy, Healthy)
    assert "(where they are told apart: reads 2.0" in healthy.statement


def test_a_direction_with_hardly_any_operations_does_not_decide(tmp_path: Path) -> None:
    assert findings(RULE, make_case(tmp_path / "idle", _apart((3, 60), (100, 0.3)))) == []
    few = make_case(tmp_path / "few", _apart((12, 60), (1_200, 0.3)))
    assert findings(RULE, few) == []
    assert len(findings(RULE, few, direction_share_min=0.005)) == 1


def test_what_is_healthy_says_what_its_mean_is_of(tmp_path: Path) -> None:
    [apart] = judge(RULE, make_case(tmp_path / "apart", _apart((100, 9), (400, 0.3))))
    assert isinstance(apart, Healthy)
    assert "the worst, reads of sda, have a mean of 9.03 ms" in apart.statement
    assert "(writes 298 µs), and no interval's mean is above 15.0 ms" in apart.statement
    [together] = judge(RULE, make_case(tmp_path / "together", day()))
    assert isinstance(together, Healthy)
    assert " ms over reads and writes together, and " in together.statement
    [reads] = judge(RULE, make_case(tmp_path / "reads", _apart((100, 9), (0, 0))))
    assert isinstance(reads, Healthy)
    assert "together" not in reads.statement


def test_large_blocks_are_no_fault(tmp_path: Path) -> None:
    """Simulated, idle but for 20 I/Os a second: SATA SSD behind FC4 takes 1.95 ms for 256 KiB, 7.0 ms for 1 MiB; disks
    take 37 ms for 4 MiB. 128 KiB take 1.9 ms over 1 Gbit/s. The same latencies of small I/O are faults."""
    for size_kib, latency_ms, flash in ((256, 1.95, True), (1024, 7.0, True), (128, 1.92, True), (4096, 37, False)):
        large = _apart((20, latency_ms), (20, latency_ms), (size_kib, size_kib), flash=flash)
        [healthy] = judge(RULE, make_case(tmp_path / f"large{size_kib}", large))
        assert isinstance(healthy, Healthy)
        assert "for I/O of its size" in healthy.statement
        small = _apart((20, latency_ms), (20, latency_ms), flash=flash)
        assert len(findings(RULE, make_case(tmp_path / f"small{size_kib}", small))) == 1


def test_large_blocks_that_take_longer_than_a_slow_link_are_a_fault(tmp_path: Path) -> None:
    slow = _apart((20, 30), (20, 30), (1024, 1024), flash=True)
    finding = only_finding(judge(RULE, make_case(tmp_path, slow)))
    assert finding.severity is Severity.CRITICAL
    assert "more than 2.00 ms, or 10.4 ms for I/O of its size (" in finding.summary
    assert finding.evidence[0].rows[0][3] == 120


def test_large_writes_widen_no_limit_of_reads(tmp_path: Path) -> None:
    case = make_case(tmp_path, _apart((100, 3), (100, 5), (8, 1024), flash=True))
    assert only_finding(judge(RULE, case)).title == "Reads of device sda above 2.00 ms, too slow for flash"
    assert findings(RULE, make_case(tmp_path / "good", _apart((100, 0.5), (100, 5), (8, 1024), flash=True))) == []


def test_the_remedy_names_the_causes_that_were_found(tmp_path: Path) -> None:
    def hog(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for start in (100, 260, 430, 600):
            ops[3, start : start + 30] *= 15
            latency[:, start : start + 30] *= 12

    found = evaluate(make_case(tmp_path, day(hog)), rules(), load_thresholds(rules()))
    [slow] = [one for one in found if isinstance(one, Finding) and one.rule == RULE.name]
    causes = [one for one in found if isinstance(one, Finding) and one.rule in ("noisy-neighbour", "heavy-hitter")]
    assert causes
    for cause in causes:
        assert f"'{cause.title}' ({cause.rule})" in slow.remedy
    assert "load-at-limit" not in slow.remedy


def test_where_no_cause_was_found_the_remedy_tells_how_to_look_for_it(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency *= 12

    found = evaluate(make_case(tmp_path, day(slow)), rules(), load_thresholds(rules()))
    [finding] = [one for one in found if isinstance(one, Finding) and one.rule == RULE.name]
    assert finding.remedy.startswith("None of the other findings names a cause. Find where the time goes")
    assert "neighbour" not in finding.remedy


def test_where_nothing_but_a_rebuild_is_found_it_is_named_as_what_may_be_the_cause(tmp_path: Path) -> None:
    """'None of the other findings names a cause', beside one that told to expect a slow-down."""

    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency *= 12

    group = EntityRef(entity("v03").system, "disk_group", "g")

    def rebuild(recorder: Recorder) -> None:
        for number in range(6):
            recorder.link(entity(f"v{number:02}"), "lives_on", group)
        recorder.event(group, START_NS, "rebuild_started", "a rebuild begins")

    found = evaluate(make_case(tmp_path, day(slow), rebuild), rules(), load_thresholds(rules()))
    [finding] = [one for one in found if isinstance(one, Finding) and one.rule == RULE.name]
    assert finding.remedy.startswith("See the finding that may be its cause: 'A rebuild is running on ")
    assert "Meanwhile a rebuild or restripe runs on g" in finding.summary
    assert "  " not in finding.summary


@pytest.mark.parametrize(
    ("kinds", "attributes", "word"),
    [
        (("array_event", "array_event"), {"work": "scrub"}, "scrub"),
        (("rebuild_started", "rebuild_finished"), {"work": "restripe"}, "restripe"),
        (("rebuild_started", "rebuild_finished"), {}, "rebuild or restripe"),
    ],
)
def test_work_that_ran_while_it_was_slow_and_has_ended_is_told(
    kinds: tuple[str, str], attributes: dict[str, str], word: str, tmp_path: Path
) -> None:
    """No finding tells of it any more, and 'none of the other findings names a cause' was all that was said."""

    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[:, :100] *= 12

    group = EntityRef(entity("v03").system, "disk_group", "g")

    def work(start: int, end: int) -> Callable[[Recorder], None]:
        def record_work(recorder: Recorder) -> None:
            for number in range(6):
                recorder.link(entity(f"v{number:02}"), "lives_on", group)
            for kind, state, number in zip(kinds, ("running", "ended"), (start, end), strict=True):
                told = attributes | {"state": state}
                recorder.event(group, START_NS + number * 20 * NS_PER_S, kind, "work", attributes=told)

        return record_work

    def said(name: str, start: int, end: int) -> Finding:
        case = make_case(tmp_path / name, day(slow), work(start, end))
        found = evaluate(case, rules(), load_thresholds(rules()))
        return next(one for one in found if isinstance(one, Finding) and one.rule == RULE.name)

    during, late, after = said("during", 10, 95), said("late", 40, 130), said("after", 120, 205)
    assert f" a {word} ran on g." in during.summary
    assert during.evidence[-1].caption == "Work that ran meanwhile and has ended"
    assert [row[1:4] for row in during.evidence[-1].rows] == [["disk_group", "g", kind] for kind in kinds]
    assert "slow before that" not in during.summary, "it began with the work, within a tenth"
    assert f" a {word} ran on g. It was slow before that already, from " in late.summary
    assert after.evidence[-1].caption != during.evidence[-1].caption
    assert "  " not in during.summary
    assert during.remedy.startswith(
        "None of the other findings names a cause, but the array worked on its drives meanwhile"
    )
    assert "ran on g" not in after.summary
    assert after.remedy.startswith("None of the other findings names a cause. Find")


def test_a_rebuild_is_named_beside_the_full_drives_that_it_fills(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency *= 12

    group = EntityRef(entity("v03").system, "disk_group", "g")

    def rebuild(recorder: Recorder) -> None:
        for number in range(6):
            recorder.link(entity(f"v{number:02}"), "lives_on", group)
            drive = EntityRef(group.system, "disk", f"{number}")
            recorder.link(drive, "member_of", group)
            write_series(recorder, drive, queue_depth_mean=9)
        recorder.event(group, START_NS, "rebuild_started", "a rebuild begins")

    found = evaluate(make_case(tmp_path, day(slow), rebuild), rules(), load_thresholds(rules()))
    [finding] = [one for one in found if isinstance(one, Finding) and one.rule == RULE.name]
    assert "'Every drive of g has a deep queue' (uneven-drives)" in finding.remedy
    assert ", beside what runs on its drives: 'A rebuild is running on " in finding.remedy


def test_rules_that_tell_causes_are_rules() -> None:
    assert rules().keys() >= _causes.CAUSES
