from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.rules import littles_law, units_suspected
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from tests.diagnose.evidence import Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case

RULE, UNITS = littles_law.RULE, units_suspected.RULE
_SAMPLES = 120


def _loads(factor: float = 1.0, *, noise: float = 0.1, name: str = "sda", seed: int = 1, **more: float) -> Writer:
    """Varying load whose counted queue is operations x latency / factor, with noise."""
    rng = np.random.default_rng(seed)
    ops = rng.uniform(500, 3000, _SAMPLES)
    latency = rng.uniform(2e6, 8e6, _SAMPLES)
    depth = ops * latency / 1e9 / factor * np.exp(rng.normal(0, noise, _SAMPLES))
    return lambda recorder: write_series(
        recorder, EntityRef("db1", "device", name), _SAMPLES, ops_per_s=ops, latency_ns_mean=latency,
        queue_depth_mean=depth, **more,
    )  # fmt: skip


def test_counters_that_agree_are_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _loads())))
    assert "on 1 entity" in statement


def test_noise_of_snapshots_alone_is_no_finding(tmp_path: Path) -> None:
    """A queue counted at the moment of the sample scatters widely but is right on average."""
    rng = np.random.default_rng(7)
    ops = np.full(400, 1000.0)
    depth = rng.poisson(5.0, 400)

    def snapshots(recorder: Recorder) -> None:
        write_series(
            recorder, EntityRef("esx", "device", "naa.1"), 400, ops_per_s=ops, device_latency_ns_mean=5e6,
            queue_depth_mean=depth,
        )  # fmt: skip

    assert len(statements(judge(RULE, make_case(tmp_path, snapshots)))) == 1


@pytest.mark.parametrize(("seconds", "is_judged"), [(1, False), (20, True)])
def test_a_queue_that_only_grows_is_not_judged(seconds: int, is_judged: bool, tmp_path: Path) -> None:
    """2,000 come a second and 1,000 leave: those that left waited half as long as those that are there."""
    waited_s = np.arange(_SAMPLES) * (0.5 if seconds == 1 else 0.001)

    def growing(recorder: Recorder) -> None:
        write_series(
            recorder, EntityRef("array", "controller", "A"), _SAMPLES, step_ns=seconds * NS_PER_S, ops_per_s=1000.0,
            latency_ns_mean=waited_s * 1e9, queue_depth_mean=2 * 1000 * waited_s,
        )  # fmt: skip

    (outcome,) = judge(RULE, make_case(tmp_path, growing))
    assert isinstance(outcome, Finding) == is_judged


@pytest.mark.parametrize("factor", [1.6, 0.5])
def test_a_lasting_difference_is_found(factor: float, tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _loads(factor))))
    assert finding.numbers["ratio"] == pytest.approx(factor, rel=0.05)


@pytest.mark.parametrize(("factor", "says"), [(0.4, True), (1.6, False)])
def test_flushes_are_what_a_disks_queue_may_hold_beside_its_operations(
    factor: float, says: bool, tmp_path: Path
) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _loads(factor))))
    assert ("flushes" in finding.remedy, "flushes" in finding.innocent) == (says, says)


def test_entities_with_the_same_difference_are_one_finding(tmp_path: Path) -> None:
    case = make_case(tmp_path, *[_loads(1.6, name=f"sd{letter}", seed=ord(letter)) for letter in "abcdef"])
    assert len(only_finding(judge(RULE, case)).entities) == 6


def test_what_waits_above_the_queue_counts_in_the_guests_latency(tmp_path: Path) -> None:
    """ESX: GAVG covers active and queued commands; DAVG the active ones alone."""

    def esx(recorder: Recorder) -> None:
        write_series(
            recorder, EntityRef("esx", "device", "naa.1"), 60, ops_per_s=4000, latency_ns_mean=20e6,
            device_latency_ns_mean=8e6, queue_depth_mean=32, queued_mean=48,
        )  # fmt: skip

    assert len(statements(judge(RULE, make_case(tmp_path, esx)))) == 1


def test_few_intervals_or_no_load_say_nothing(tmp_path: Path) -> None:
    case = make_case(tmp_path, _loads(1.6))
    assert needs(judge(RULE, case, samples_min=1000))
    assert needs(judge(RULE, case, queue_depth_min=1000))
    assert not findings(RULE, case, mismatch_ratio_max=0.9)


@pytest.mark.parametrize(("factor", "words"), [(1000.0, "off by 1,000"), (1e-3, "off by 1/1,000"), (1e6, "1,000,000")])
def test_a_factor_of_units_is_told_by_the_units_rule_alone(factor: float, words: str, tmp_path: Path) -> None:
    case = make_case(tmp_path, _loads(factor))
    assert not findings(RULE, case)
    assert words in only_finding(judge(UNITS, case)).title


def test_a_factor_that_is_no_unit_is_not_told_by_the_units_rule(tmp_path: Path) -> None:
    assert not findings(UNITS, make_case(tmp_path, _loads(30.0)))


def _sizes(size_bytes: float, kind: str = "device", ops: float = 2000) -> Writer:
    return lambda recorder: write_series(
        recorder, EntityRef("db1", kind, "sda"), read_ops_per_s=ops, read_bytes_per_s=ops * size_bytes
    )  # fmt: skip


def test_kib_taken_for_bytes_are_found(tmp_path: Path) -> None:
    finding = only_finding(judge(UNITS, make_case(tmp_path, _sizes(8.0))))
    assert "perhaps KiB were taken for bytes" in finding.summary


def test_bytes_taken_for_kib_are_found(tmp_path: Path) -> None:
    finding = only_finding(judge(UNITS, make_case(tmp_path, _sizes(256.0 * 1024**2))))
    assert "a unit too many" in finding.summary


def test_plausible_sizes_are_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(UNITS, make_case(tmp_path, _sizes(8192.0))))
    assert statement == "Units look right: I/Os of 8 KiB on average."


def test_sizes_that_differ_are_told_from_the_smallest_to_the_largest(tmp_path: Path) -> None:
    vdisks = _sizes(65_536.0, kind="vdisk")
    (statement,) = statements(judge(UNITS, make_case(tmp_path, _sizes(8192.0), vdisks)))
    assert statement == "Units look right: I/O sizes between 8 KiB and 64 KiB."


def test_small_operations_of_a_file_service_are_not_doubted(tmp_path: Path) -> None:
    """NFS counts operations without data among its own."""
    assert needs(judge(UNITS, make_case(tmp_path, _sizes(60.0, kind="datastore"))))


def test_little_load_rounds_to_nothing_and_is_not_doubted(tmp_path: Path) -> None:
    assert needs(judge(UNITS, make_case(tmp_path, _sizes(100.0, ops=12))))
