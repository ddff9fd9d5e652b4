from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.rules.noisy_neighbour import RULE
from storscope.domain.finding import Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
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
