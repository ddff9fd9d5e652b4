from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.rules.noisy_neighbour import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB
from storscope.domain.vocabulary import SIMULATED_FACT
from tests.diagnose.apart import apart
from tests.diagnose.days import MS, FloatArray, day, entity
from tests.diagnose.evidence import write_series
from tests.support.cases import findings, judge, make_case


def hog(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
    """v03 is loud in four stretches, a tenth of the time; all wait eight times as long."""
    for start in (100, 260, 430, 600):
        ops[3, start : start + 18] *= 15
        moved[3, start : start + 18] *= 15
        latency[:, start : start + 18] *= 8


def test_the_hog_is_named_with_its_victims_and_what_they_share(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, day(hog)))
    assert finding.entities[0] == entity("v03")
    assert {one.name for one in finding.entities[1:6]} == {"v00", "v01", "v02", "v04", "v05"}
    assert "disk group shared" in finding.summary or "shared" in finding.summary
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["slower_factor_low"] < 8 < finding.numbers["slower_factor_high"] * 1.15
    assert finding.numbers["slower_factor"] == pytest.approx(8, rel=0.2)
    assert finding.numbers["latency_ns_quiet"] == pytest.approx(4 * MS, rel=0.1)
    assert finding.numbers["latency_ns_loud"] == pytest.approx(32 * MS, rel=0.15)
    assert finding.numbers["r_low"] > 0.6
    assert finding.evidence[0].rows[0][0] == "v03"


def test_a_simulated_neighbour_is_left_out_since_nobody_can_pause_it(tmp_path: Path) -> None:
    def simulated(recorder: Recorder) -> None:
        recorder.fact(EntityRef(entity("v03").system, "array", "a"), SIMULATED_FACT, 1000)

    [measured] = findings(RULE, make_case(tmp_path / "measured", day(hog)))
    [found] = findings(RULE, make_case(tmp_path / "simulated", day(hog), simulated))
    assert measured.check.startswith("Pause or throttle v03")
    assert found.check.startswith("Simulate the same without the load of v03")


def _slowed(read_ms: float, size_bytes: float) -> Callable[[Recorder], None]:
    """v03 is loud as above; six volumes of which a cache takes nine tenths, writes, and reads wait for it."""
    loud = np.zeros(720, dtype=bool)
    for start in (100, 260, 430, 600):
        loud[start : start + 18] = True
    noise = np.random.default_rng(7).gamma(3_000, 1 / 3_000, (6, 720))
    reads, writes = np.full((6, 720), 20.0) * noise, np.full((6, 720), 180.0) * noise
    writes[3, loud] *= 40
    return apart((reads, np.where(loud, read_ms, 2.0) * noise), (writes, 0.3 * noise), size=size_bytes)


def test_reads_that_wait_beside_cached_writes_are_harm(tmp_path: Path) -> None:
    [few] = findings(RULE, make_case(tmp_path / "few", _slowed(12.0, 8 * KIB)))
    [finding] = findings(RULE, make_case(tmp_path / "many", _slowed(40.0, 8 * KIB)))
    assert finding.numbers["latency_ns_loud"] < 5 * MS
    assert (few.severity, finding.severity) == (Severity.WARNING, Severity.CRITICAL)
    assert "reads 40.0 ms and writes 300 µs" in finding.summary
    apart_rows = finding.evidence[1]
    read_ns = [row[apart_rows.columns.index("read_latency_ns_mean")] for row in apart_rows.rows]
    assert [row[0] for row in apart_rows.rows] == ["v00", "v01", "v02", "v04", "v05"]
    assert read_ns == pytest.approx([40 * MS] * 5, rel=0.01)


def _hidden(read_ms: float, *, hog: bool = True, seed: int = 5) -> Callable[[Recorder], None]:
    """As above, but one operation in forty is a read and writes take 0.1 to 3 ms by chance, so that the mean of all
    hardly goes with the load. Without a hog the loud times slow the reads all the same, at other hours."""
    loud, slow = np.zeros(720, dtype=bool), np.zeros(720, dtype=bool)
    for start in (100, 260, 430, 600):
        loud[start : start + 18] = True
        slow[start + (0 if hog else 60) :][:18] = True
    rng = np.random.default_rng(seed)
    reads, writes = (ops * rng.gamma(50, 1 / 50, (6, 720)) for ops in (5.0, 195.0))
    writes[3, loud] *= 40
    read_latency = np.where(slow, read_ms, 2.0) * rng.gamma(30, 1 / 30, (6, 720))
    return apart((reads, read_latency), (writes, np.exp(rng.uniform(np.log(0.1), np.log(3.0), (6, 720)))))


def test_reads_that_go_with_a_load_are_seen_where_the_mean_of_all_hides_them(tmp_path: Path) -> None:
    case = make_case(tmp_path, _hidden(45.0))
    [finding] = findings(RULE, case)
    assert finding.entities[0] == entity("v03")
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "Volume v03 slows down reads of 5 other volumes"
    assert re.search(r"take 4[45]\.\d ms a read instead of [12]\.\d\d? ms", finding.summary)
    assert "latency of reads is" in finding.summary
    assert list(finding.evidence[0].columns[1:3]) == ["read_latency_ns_quiet", "read_latency_ns_loud"]
    loud_ns = [row[2] for row in finding.evidence[0].rows if row[0] != "v03"]
    assert loud_ns == pytest.approx([45 * MS] * 5, rel=0.1)


def test_reads_that_go_with_a_load_and_stay_quick_are_no_harm(tmp_path: Path) -> None:
    assert findings(RULE, make_case(tmp_path, _hidden(6.0))) == []


@pytest.mark.parametrize("seed", range(6))
def test_reads_that_are_slow_at_other_times_accuse_nobody(tmp_path: Path, seed: int) -> None:
    assert findings(RULE, make_case(tmp_path, _hidden(45.0, hog=False, seed=seed))) == []


def test_large_operations_may_take_longer_before_it_is_harm(tmp_path: Path) -> None:
    def large(size: float) -> Callable[[np.random.Generator, FloatArray, FloatArray, FloatArray], None]:
        def change(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
            hog(rng, ops, moved, latency)
            moved[:] = ops * size

        return change

    [small] = findings(RULE, make_case(tmp_path / "small", day(large(8 * KIB))))
    [finding] = findings(RULE, make_case(tmp_path / "large", day(large(4096 * KIB))))
    assert small.numbers["latency_ns_loud"] == pytest.approx(finding.numbers["latency_ns_loud"])
    assert (small.severity, finding.severity) == (Severity.CRITICAL, Severity.WARNING)


def _rarely(count: int) -> Callable[[Recorder], None]:
    """A day in intervals of 20 s, in which v03 is loud once, for so many."""

    def change(_: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for values, factor in ((ops[3], 15), (moved[3], 15), (latency.T, 8)):
            values[2_000 : 2_000 + count] *= factor

    return day(change, count=4_320)


@pytest.mark.parametrize("count", [10, 30])
def test_a_hog_of_minutes_in_a_day_is_found(tmp_path: Path, count: int) -> None:
    [finding] = findings(RULE, make_case(tmp_path, _rarely(count)))
    assert finding.entities[0] == entity("v03")
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["slower_factor"] == pytest.approx(8, rel=0.2)
    assert "volume v03 and the latency of" not in finding.summary, "what the first look refused it for"


def test_a_bad_time_of_a_few_intervals_is_not_called_healthy(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, _rarely(6)))
    assert isinstance(outcome, NotEvaluated)
    assert "latency was bad in 6 intervals only" in outcome.needs


@pytest.mark.parametrize("seed", range(6))
def test_a_burst_at_another_time_than_the_bad_one_accuses_nobody(tmp_path: Path, seed: int) -> None:
    def change(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        burst = int(rng.integers(0, 2_000))
        for values in (ops[3], moved[3]):
            values[burst : burst + 20] *= 15
        latency[:, 2_100:2_130] *= 8

    assert findings(RULE, make_case(tmp_path, day(change, count=4_320, seed=seed))) == []


def test_without_a_shared_component_it_is_a_correlation_and_never_a_cause(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, day(hog, on=None)))
    assert finding.severity is Severity.INFO
    assert "correlates" in finding.title
    for text in (finding.title, finding.summary):
        assert "slows" not in text
        assert "because" not in text


def test_sharing_only_a_host_is_no_shared_storage(tmp_path: Path) -> None:
    def on_host(recorder: Recorder) -> None:
        day(hog, kind="device", system="h", on=None)(recorder)
        for number in range(6):
            recorder.link(entity(f"v{number:02}", "device", "h"), "member_of", entity("h", "host", "h"))

    [finding] = findings(RULE, make_case(tmp_path, on_host))
    assert finding.severity is Severity.INFO


def test_what_spoke_against_a_high_correlation_is_said(tmp_path: Path) -> None:
    def mild(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[:] = 4 * MS * rng.gamma(3_000, 1 / 3_000, latency.shape)
        for start in (100, 260, 430, 600):
            ops[3, start : start + 18] *= 15
            latency[:, start : start + 18] *= 1.3

    [healthy] = judge(RULE, make_case(tmp_path, day(mild)))
    assert isinstance(healthy, Healthy)
    assert "less than 1.5 times" in healthy.statement
    assert "volume v03" in healthy.statement


def test_a_steady_day_is_healthy_with_the_greatest_correlation(tmp_path: Path) -> None:
    [healthy] = judge(RULE, make_case(tmp_path, day(volumes=4)))
    assert isinstance(healthy, Healthy)
    assert "partial correlation" in healthy.statement or "none goes" in healthy.statement


@pytest.mark.parametrize("seed", range(8))
def test_the_innocent_victim_that_slows_itself_accuses_nobody(tmp_path: Path, seed: int) -> None:
    def own_load(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        wave = 1 + np.repeat(rng.gamma(1.0, 2.0, 36), 20)
        ops *= wave
        moved *= wave
        ops[1] *= 3
        latency *= ops / ops.mean(axis=1, keepdims=True)

    assert findings(RULE, make_case(tmp_path, day(own_load, seed=seed))) == []


def test_a_timetable_that_all_follow_accuses_none_of_many(tmp_path: Path) -> None:
    def working_day(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        wave = 1 + 4 * np.sin(np.linspace(0, np.pi, ops.shape[1])) ** 2
        ops *= wave
        moved *= wave
        latency *= wave

    assert findings(RULE, make_case(tmp_path, day(working_day, volumes=12))) == []


def test_of_two_that_rise_together_the_one_with_more_queue_time_is_named_once(tmp_path: Path) -> None:
    def pair(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        hog(rng, ops, moved, latency)
        for start in (100, 260, 430, 600):
            ops[4, start : start + 18] *= 9
            moved[4, start : start + 18] *= 9

    [finding] = findings(RULE, make_case(tmp_path, day(pair)))
    assert finding.entities[0] == entity("v03")
    assert "v04 moves with it" in finding.summary or "load of v04" in finding.summary
    assert finding.confidence < 0.7


def test_two_hogs_at_different_times_are_two_findings(tmp_path: Path) -> None:
    def two(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for column, starts in ((3, (100, 430)), (1, (260, 600))):
            for start in starts:
                ops[column, start : start + 40] *= 15
                moved[column, start : start + 40] *= 15
                latency[:, start : start + 40] *= 8

    found = findings(RULE, make_case(tmp_path, day(two)), r_level_min=0.5)
    assert {finding.entities[0].name for finding in found} == {"v01", "v03"}


def test_a_second_suspect_that_is_not_proven_is_told_with_the_first(tmp_path: Path) -> None:
    def loud_and_milder(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for column, start, slower in ((3, 100, 8), (1, 260, 4), (3, 430, 8), (1, 600, 4)):
            ops[column, start : start + 40] *= 15
            moved[column, start : start + 40] *= 15
            latency[:, start : start + 40] *= slower

    (finding,) = findings(RULE, make_case(tmp_path, day(loud_and_milder)), r_level_min=0.5, slower_factor=6)
    assert finding.entities[0].name == "v03"
    assert "Seen too, not proven: volume v01 and the latency of v00" in finding.summary
    assert "but nobody was hurt noticeably" in finding.summary


@pytest.mark.parametrize("apart", [0.0, 1e-9, 1e-3])
def test_loads_that_cannot_be_told_apart_accuse_nobody(apart: float, tmp_path: Path) -> None:
    def mirror(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for start in (100, 260, 430, 600):
            ops[0, start : start + 18] *= 15
            latency[0, start : start + 18] *= 8
        ops[1], latency[1] = ops[0] * (1 + apart * rng.normal(size=ops[0].shape)), latency[0]
        moved[:] = ops * 8192

    [healthy] = judge(RULE, make_case(tmp_path, day(mirror, volumes=2)))
    assert isinstance(healthy, Healthy)
    assert "cannot be told apart" in healthy.statement


def test_a_factor_that_no_interval_bounds_is_not_printed(tmp_path: Path) -> None:
    """The suspect's load barely differs from the victim's, and latency follows neither of them closely."""

    def close(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        hog(rng, ops, moved, latency)
        ops[0] = ops[3] * rng.gamma(100, 1 / 100, ops[3].shape)
        moved[:] = ops * 8192

    found = findings(RULE, make_case(tmp_path, day(close, volumes=4)), r_level_min=0.1)
    assert found
    for finding in found:
        assert finding.numbers["slower_factor_high"] <= 1e3 * finding.numbers["slower_factor_low"]


def test_a_hog_by_bytes_one_interval_ahead_is_found(tmp_path: Path) -> None:
    def copy(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for start in (100, 260, 430, 600):
            moved[5, start : start + 30] *= 40
            latency[:, start + 1 : start + 31] *= 6

    [finding] = findings(RULE, make_case(tmp_path, day(copy)))
    assert finding.entities[0] == entity("v05")
    assert "of the bytes" in finding.summary


def test_victims_that_get_fewer_operations_done_are_victims_still(tmp_path: Path) -> None:
    def stretch(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        loud = slice(300, 380)
        for values in (ops, moved):
            values[:, loud] /= 2
            values[3, loud] *= 60
        latency[:, loud] *= 40

    [finding] = findings(RULE, make_case(tmp_path, day(stretch)))
    assert finding.entities[0] == entity("v03")
    assert "loud once" in finding.summary


def test_a_single_common_spike_is_chance(tmp_path: Path) -> None:
    def once(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[2, 300:303] *= 40
        latency[:, 300:303] *= 30

    assert findings(RULE, make_case(tmp_path, day(once))) == []


def test_a_vm_and_its_disk_are_one_suspect(tmp_path: Path) -> None:
    def layers(recorder: Recorder) -> None:
        for kind in ("vm", "vm_disk"):
            day(hog, kind=kind, system="h", on=None)(recorder)
        for number in range(6):
            disk = entity(f"v{number:02}", "vm_disk", "h")
            recorder.link(disk, "member_of", entity(f"v{number:02}", "vm", "h"))
            recorder.link(disk, "lives_on", entity("ds", "datastore", "h"))

    [finding] = findings(RULE, make_case(tmp_path, layers))
    assert finding.entities[0] == entity("v03", "vm", "h")
    assert "The same is seen at" in finding.summary


def test_vms_share_what_their_disks_rest_on(tmp_path: Path) -> None:
    def machines(recorder: Recorder) -> None:
        day(hog, kind="vm", system="h", on=None)(recorder)
        for number in range(6):
            disk = entity(f"d{number:02}", "vm_disk", "h")
            recorder.link(disk, "member_of", entity(f"v{number:02}", "vm", "h"))
            recorder.link(disk, "lives_on", entity("ds", "datastore", "h"))

    [finding] = findings(RULE, make_case(tmp_path, machines))
    assert finding.severity is Severity.CRITICAL
    assert entity("ds", "datastore", "h") in finding.entities


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, day(hog))
    assert findings(RULE, case, r_level_min=0.999) == []
    assert findings(RULE, case, slower_factor=20.0) == []
    assert findings(RULE, case, suspect_share_min=0.95) == []


def test_a_short_capture_is_not_judged(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, day(count=20)))
    assert isinstance(outcome, NotEvaluated)


def test_a_hog_that_never_pauses_is_no_health_for_those_who_are_slow_beside_it(tmp_path: Path) -> None:
    def steady(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[3] = 2_000 * rng.gamma(400, 1 / 400, ops[3].shape)
        latency *= 12

    outcomes = judge(RULE, make_case(tmp_path, day(steady)))
    (outcome,) = outcomes
    assert isinstance(outcome, NotEvaluated)
    assert outcome.needs.startswith("a time in which volume v03 pauses: it brings ")

    def with_gaps(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        steady(rng, ops, moved, latency)
        ops[3, 5::9] = np.nan

    (outcome,) = judge(RULE, make_case(tmp_path / "gaps", day(with_gaps)))
    assert isinstance(outcome, NotEvaluated), "an interval without a figure is no pause"

    def quick(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[3] = 2_000 * rng.gamma(400, 1 / 400, ops[3].shape)

    (outcome,) = judge(RULE, make_case(tmp_path / "quick", day(quick)))
    assert isinstance(outcome, Healthy)


def test_where_a_link_is_full_drives_of_its_own_are_no_remedy(tmp_path: Path) -> None:
    def with_link(busy: float) -> Case:
        def write(recorder: Recorder) -> None:
            day(hog)(recorder)
            link = entity("front-end-link A out", "port", "array")
            write_series(recorder, link, 720, step_ns=20 * 10**9, busy_ratio=busy, queue_depth_mean=40.0)

        (tmp_path / str(busy)).mkdir()
        return make_case(tmp_path / str(busy), write)

    [finding] = findings(RULE, with_link(0.99))
    assert "Drives of its own would not help: what is used to the full is front-end-link A out" in finding.remedy
    [finding] = findings(RULE, with_link(0.2))
    assert finding.remedy.startswith("Move v03 to drives of its own")


@pytest.mark.parametrize("quiet", [60, 140, 560])
def test_quiet_time_that_is_added_does_not_clear_the_culprit(tmp_path: Path, quiet: int) -> None:
    """One loud stretch of 15 intervals in which all wait twelve times as long, and ever more quiet ones before it."""

    def once(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[3, quiet : quiet + 15] *= 15
        moved[3, quiet : quiet + 15] *= 15
        drift = np.zeros(quiet + 20)
        for at in range(1, quiet + 20):
            drift[at] = 0.8 * drift[at - 1] + 0.15 * rng.normal()
        latency *= np.exp(drift)
        latency[:, quiet : quiet + 15] *= 12

    [finding] = findings(RULE, make_case(tmp_path, day(once, count=quiet + 20)))
    assert finding.severity is Severity.CRITICAL
    assert finding.entities[0] == entity("v03")
    assert finding.numbers["r_low"] > 0.6
    assert finding.confidence == 0.8, "it was loud once"


@pytest.mark.parametrize("stretches", [1, 4])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_latency_that_drifts_on_its_own_accuses_nobody(tmp_path: Path, share: float, stretches: int) -> None:
    for seed in range(4):

        def apart(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
            count = ops.shape[1]
            drift = np.zeros(count)
            for at in range(1, count):
                drift[at] = 0.9 * drift[at - 1] + 0.3 * rng.normal()
            latency *= np.exp(drift)
            length, part = round(count * share / stretches), count // stretches
            for number in range(stretches):
                start = number * part + int(rng.integers(0, part - length + 1))
                ops[3, start : start + length] *= 15
                moved[3, start : start + length] *= 15

        (tmp_path / str(seed)).mkdir()
        assert findings(RULE, make_case(tmp_path / str(seed), day(apart, count=200, seed=seed))) == []


def test_what_chance_could_do_is_not_called_healthy(tmp_path: Path) -> None:
    """Latency is high from the middle on, and the suspect is loud from the middle on: a level that shifted once."""

    def shifted(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        drift = np.cumsum(rng.normal(size=60)) * 0.15
        latency *= np.exp(drift + np.where(np.arange(60) >= 30, 2.0, 0))
        ops[3, 30:] *= 15
        moved[3, 30:] *= 15

    [outcome] = judge(RULE, make_case(tmp_path, day(shifted, count=60)))
    assert isinstance(outcome, NotEvaluated)
    assert outcome.needs.startswith("a longer capture in which volume v03 is loud again, or five minutes in which")
    assert "chance could do it (95 % interval" in outcome.needs


def test_of_two_equals_on_a_full_link_none_is_the_culprit(tmp_path: Path) -> None:
    """Poisson arrivals of two volumes with one rate, and the queue of the link they share: M/D/1 by Lindley."""

    def link(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        service = 0.95 / 860
        arrivals = np.sort(rng.uniform(0, 200, rng.poisson(860 * 200)))
        whose, waited = rng.integers(0, 2, arrivals.size), np.zeros(arrivals.size)
        for at in range(1, arrivals.size):
            waited[at] = max(waited[at - 1] + service - (arrivals[at] - arrivals[at - 1]), 0.0)
        second = arrivals.astype(int)
        for volume in (0, 1):
            mine = whose == volume
            ops[volume] = np.bincount(second[mine], minlength=200)
            latency[volume] = 1e9 * (np.bincount(second[mine], waited[mine], 200) / ops[volume] + service)
        ops[2] = 430
        moved[:] = ops * 131_072

    told = 0
    for seed in range(3):
        (tmp_path / str(seed)).mkdir()
        found = findings(
            RULE, make_case(tmp_path / str(seed), day(link, volumes=3, count=200, step_s=1, seed=seed)), r_level_min=0.5
        )
        assert [one.severity for one in found] in ([], [Severity.INFO])
        for finding in found:
            assert finding.title in {f"Volumes {pair} slow each other down" for pair in ("v00 and v01", "v01 and v00")}
            assert "none of them is the culprit" in finding.summary
            told += 1
    assert told


def test_who_shares_no_drives_with_its_victims_is_not_advised_drives_of_its_own(tmp_path: Path) -> None:
    def groups(recorder: Recorder) -> None:
        day(hog, on="array")(recorder)
        for number in range(6):
            group = entity("own" if number == 3 else "pool", "disk_group")
            recorder.link(entity(f"v{number:02}"), "lives_on", group)

    [finding] = findings(RULE, make_case(tmp_path, groups))
    assert "drives of its own or" not in finding.remedy
    assert "It shares no drives with them, so that drives of its own would not help" in finding.remedy
