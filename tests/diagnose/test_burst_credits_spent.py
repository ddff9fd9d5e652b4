from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.diagnose.case import Case
from storscope.diagnose.rules._asked_words import rate_words
from storscope.diagnose.rules.burst_credits_spent import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB, MIB, NS_PER_S
from storscope.store import Store
from storscope.workbench.importing import import_paths
from tests.diagnose.days import MS, record
from tests.diagnose.evidence import needs, only_finding, statements
from tests.diagnose.limited_volume import Limits, Load, Seen, iostat_json, serve, serve_together, steady, wandering_load
from tests.support.cases import findings, judge, make_case

CAPTURED = Path(__file__).parent / "throughput_cap" / "iostat_blk_throttle_1500_then_200_iops.json"
_COUNT = 480
_GP2 = Limits(ops_per_s=300, burst_ops_per_s=3_000, credits=2e6)


def case_of(folder: Path, step_s: float = 10, **devices: Seen) -> Case:
    """The case of an iostat file, by way of its importer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "iostat.json").write_text(iostat_json(devices, step_s))
    return _imported(folder, folder / "iostat.json")


def _imported(folder: Path, file: Path) -> Case:
    store = Store.open(folder / "store", create=True)
    assert not import_paths(store, [file]).failures
    return Case(store)


def rng(seed: int = 2) -> np.random.Generator:
    return np.random.default_rng(seed)


def begun(count: int, at: int, ops_per_s: float, **load: float) -> Load:
    """A light load that becomes a heavy one."""
    found = steady(count, 50, **load)
    found.ops_per_s[at:] = ops_per_s
    return found


def test_the_end_of_the_credits_of_a_volume_is_told_with_what_they_were(tmp_path: Path) -> None:
    case = case_of(tmp_path, xvdf=serve(steady(_COUNT, 4_000, 16 * KIB, most=32), _GP2, rng()))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "Device xvdf spent credits: 3,000 to 300 IOPS"
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["ops_per_s_before"] == pytest.approx(3_000, rel=0.01)
    assert finding.numbers["ops_per_s_after"] == pytest.approx(300, rel=0.01)
    assert finding.numbers["credits_count"] == pytest.approx(2e6, rel=0.03)
    assert finding.numbers["before_s"] == pytest.approx(2e6 / 2_700, abs=20)
    assert finding.numbers["refill_s"] == pytest.approx(2e6 / 300, rel=0.03)
    assert "5.4 million credits" in finding.summary
    assert "base of 100 GiB" in finding.summary
    assert "BurstBalance" in finding.check
    assert [row[0] for row in finding.evidence[0].rows] == ["before", "after"]


def test_a_rate_below_the_burst_that_falls_is_told_too(tmp_path: Path) -> None:
    load = begun(_COUNT, 60, 2_000, most=32)
    finding = only_finding(judge(RULE, case_of(tmp_path, sdb=serve(load, _GP2, rng(), jitter=0.03))))
    assert finding.title.startswith("Device sdb fell to a limit: ")
    assert "with 32 in flight instead of 1.2" in finding.summary
    assert "somebody set a limit" in finding.innocent


def test_changing_sizes_and_mixes_hide_no_fall_to_a_limit(tmp_path: Path) -> None:
    load = wandering_load(rng(1), _COUNT, 900, 3_500)
    load.ops_per_s[:60] = 100
    load.ops_per_s[60:] = np.maximum(load.ops_per_s[60:], 1_500)
    finding = only_finding(judge(RULE, case_of(tmp_path, xvdf=serve(load, _GP2, rng(), jitter=0.03))))
    assert finding.entities == (EntityRef("db1", "device", "xvdf"),)
    assert finding.numbers["ops_per_s_after"] == pytest.approx(300, rel=0.02)


def test_throughput_of_large_operations_is_told_in_bytes(tmp_path: Path) -> None:
    """EBS st1 of 2 TiB: a base of 80 MiB/s, a burst of 500."""
    limits = Limits(ops_per_s=320, burst_ops_per_s=2_000, credits=1e6)
    seen = serve(steady(_COUNT, 3_000, 256 * KIB, most=32, reads=0.9), limits, rng(), alone_s=0.004)
    finding = only_finding(judge(RULE, case_of(tmp_path, xvdg=seen)))
    assert finding.title == "Device xvdg spent credits: 524 MB/s to 83.9 MB/s"
    assert "that of 2.0 TiB" in finding.summary
    assert finding.numbers["credits_bytes"] == pytest.approx(1e6 * 256 * KIB, rel=0.03)


def test_credits_of_a_machine_are_those_of_all_its_volumes(tmp_path: Path) -> None:
    loads = [dataclasses.replace(steady(_COUNT, 1_500, most=32)) for _ in range(2)]
    for one, load in enumerate(loads):
        load.ops_per_s[:] = 500 + 2_000 * ((np.arange(_COUNT) // 7 + one) % 2)
    one, two = serve_together(loads, dataclasses.replace(_GP2, ops_per_s=900), rng())
    finding = only_finding(judge(RULE, case_of(tmp_path, nvme1n1=one, nvme2n1=two)))
    assert finding.title.startswith("2 devices of db1 together ")
    assert finding.numbers["ops_per_s_after"] == pytest.approx(900, rel=0.02)


def test_a_night_of_bursts_counts_its_falls(tmp_path: Path) -> None:
    load = steady(900, 20, most=32)
    for start in (100, 500):
        load.ops_per_s[start : start + 150] = 2_500
    limits = Limits(ops_per_s=400, burst_ops_per_s=3_000, credits=1.2e6)
    finding = only_finding(judge(RULE, case_of(tmp_path, sdb=serve(load, limits, rng()))))
    assert finding.numbers["falls"] == 2
    assert "It fell so 2 times" in finding.summary


def test_a_fall_of_writes_alone_is_a_full_cache_first(tmp_path: Path) -> None:
    limits = Limits(ops_per_s=1_510, burst_ops_per_s=7_000, credits=5e6)
    seen = serve(steady(_COUNT, 8_000, 64 * KIB, reads=0.0, most=32), limits, rng(), alone_s=5e-5)
    finding = only_finding(judge(RULE, case_of(tmp_path, nvme0n1=seen)))
    assert finding.severity is Severity.INFO
    assert finding.title.startswith("Device nvme0n1 fell: ")
    assert "SLC cache" in finding.innocent
    assert "write cache" in finding.check


def test_a_limit_of_the_kernel_that_was_lowered_is_found_in_what_iostat_told_of_it(tmp_path: Path) -> None:
    """Captured: 1,500 reads a second may pass below loop0, then 200."""
    finding = only_finding(judge(RULE, _imported(tmp_path, CAPTURED)))
    assert finding.title == "Device loop0 fell to a limit: 1,500 to 200 IOPS"
    assert finding.confidence < 0.8


_P20 = Limits(ops_per_s=2_300, burst_ops_per_s=3_500, credits=1_200.0 * 2_000)
"""An Azure P20, with credits for 2,000 s above its base."""


def test_credits_of_a_volume_that_is_never_without_a_queue_are_told_by_two_even_rates(tmp_path: Path) -> None:
    """It was called healthy: latency rose 1.5-fold, and no time showed how long an operation takes alone."""
    for jitter in (0.0, 0.01):
        seen = serve(steady(_COUNT, 9_000, most=32), _P20, rng(), jitter=jitter)
        finding = only_finding(judge(RULE, case_of(tmp_path / str(jitter), sdc=seen)))
        assert finding.title.startswith("Device sdc spent credits: 3,5")
        assert finding.numbers["ops_per_s_after"] == pytest.approx(2_300, rel=0.01)
        assert finding.numbers["before_s"] == pytest.approx(2_000, abs=20)
        assert "Never were so few in flight" in finding.summary
        assert finding.severity <= Severity.WARNING
        assert finding.confidence == 0.5


def test_more_in_flight_after_the_fall_is_as_much_asked(tmp_path: Path) -> None:
    load = steady(_COUNT, 9_000, most=32)
    load.most_in_flight[200:] = 44
    assert only_finding(judge(RULE, case_of(tmp_path, sdc=serve(load, _P20, rng())))).numbers["falls"] == 1


def test_undocumented_rates_without_a_light_time_are_information(tmp_path: Path) -> None:
    """A rebuild or another load may do the same, however even."""
    limits = dataclasses.replace(_P20, ops_per_s=1_700, burst_ops_per_s=2_700)
    finding = only_finding(judge(RULE, case_of(tmp_path, sdc=serve(steady(_COUNT, 9_000, most=32), limits, rng()))))
    assert finding.title.startswith("Device sdc fell: 2,7")
    assert finding.severity is Severity.INFO
    assert "rebuild" in finding.innocent


def test_a_device_that_gets_slower_with_as_much_in_flight_is_doubted_and_neither_a_fall_nor_healthy(
    tmp_path: Path,
) -> None:
    """What works for itself is uneven: here by 4 %, as an array under several loads."""
    ops = np.where(np.arange(_COUNT) < 200, 3_500, 2_300) * rng().normal(1, 0.04, _COUNT)
    in_flight, reads, full = np.full(_COUNT, 32.0), np.full(_COUNT, 0.7), np.ones(_COUNT)
    outcomes = judge(RULE, case_of(tmp_path, sdc=Seen(ops, 8 * KIB * ops, reads, in_flight / ops, in_flight, full)))
    [needed] = needs(outcomes)
    assert "a time of light load of device sdc, which always has 32 or so in flight" in needed
    assert len(outcomes) == 1


def test_storage_that_takes_more_at_once_has_not_fallen_where_less_is_asked(tmp_path: Path) -> None:
    """Never fewer than four in flight, and nobody waits: the rate goes with what is asked."""
    in_flight = np.where(np.arange(_COUNT) < 200, 32.0, 4.0) * rng().normal(1, 0.01, _COUNT)
    ops = in_flight / 0.001
    full = np.ones(_COUNT)
    seen = Seen(ops, 8 * KIB * ops, full, np.full(_COUNT, 0.001), in_flight, full)
    assert statements(judge(RULE, case_of(tmp_path, sdc=seen)))


def test_a_rate_that_never_changed_did_not_fall_though_there_is_always_a_queue(tmp_path: Path) -> None:
    seen = serve(steady(_COUNT, 9_000, most=32), Limits(ops_per_s=3_000), rng())
    assert statements(judge(RULE, case_of(tmp_path, sdc=seen)))


# What is no fall ---------------------------------------------------------------------------------------------------


def test_a_load_that_ends_is_no_fall(tmp_path: Path) -> None:
    load = steady(_COUNT, 2_500)
    load.ops_per_s[200:] = 250
    [statement] = statements(judge(RULE, case_of(tmp_path, sdb=serve(load, Limits(ops_per_s=3_000), rng()))))
    assert statement == "No rate of 1 device of db1 fell while as much was asked."


def test_a_load_that_ends_is_no_fall_though_others_go_on_waiting(tmp_path: Path) -> None:
    """As simulated: one volume's writes end that a cache took at once, and drives that empty it keep others waiting."""
    phase = np.repeat([0, 1, 2, 0], [60, 40, 35, 65])
    scatter = rng().normal(1.0, 0.01, (2, len(phase)))
    ops = scatter * np.array([np.where(phase == 1, 3_000.0, 200.0), np.full(len(phase), 300.0)])
    latency = np.array([np.full(len(phase), 0.084 * MS), np.where(phase > 0, 12 * MS, 4 * MS)])
    reads = ops * np.array([[0.0], [1.0]])
    columns = {
        "ops_per_s": ops, "bytes_per_s": ops * 8192, "latency_ns_mean": latency,
        "read_ops_per_s": reads, "write_ops_per_s": ops - reads,
    }  # fmt: skip
    outcomes = judge(RULE, make_case(tmp_path, lambda recorder: record(recorder, columns, ["db", "mail"])))
    assert statements(outcomes) == ["No rate of 2 volumes of array fell while as much was asked."]


def test_fewer_and_larger_operations_are_no_fall(tmp_path: Path) -> None:
    """Held by bytes: eight times the size is an eighth of the operations, and as many bytes."""
    load = begun(_COUNT, 60, 30_000, most=32)
    load.size_bytes[240:] = 64 * KIB
    found = findings(RULE, case_of(tmp_path, sdb=serve(load, Limits(bytes_per_s=100 * MIB), rng())))
    assert found == []


def test_reads_that_are_fewer_as_writes_are_more_have_not_fallen(tmp_path: Path) -> None:
    """It said that reads fell, of a volume that did 3,000 all the time, while the mix went from 90 to 40 % of reads."""
    load = begun(_COUNT, 60, 9_000, most=32)
    load.read_share[:] = np.where(np.arange(_COUNT) < 240, 0.9, 0.4)
    load.most_in_flight[240:] = 72
    [statement] = statements(judge(RULE, case_of(tmp_path, sdb=serve(load, Limits(ops_per_s=3_000), rng()))))
    assert statement.startswith("No rate of 1 device")


def test_reads_that_fall_beside_writes_that_go_on_are_told(tmp_path: Path) -> None:
    """A limit of reads alone: their part of all changes since they fell."""
    reads = serve(steady(_COUNT, 9_000, most=32), dataclasses.replace(_GP2, ops_per_s=900), rng())
    writes = 800 * rng().normal(1, 0.02, _COUNT)

    def write(recorder: Recorder) -> None:
        columns = {
            "read_ops_per_s": reads.ops_per_s, "read_bytes_per_s": reads.bytes_per_s,
            "read_latency_ns_mean": reads.latency_s * NS_PER_S, "write_ops_per_s": writes,
            "write_bytes_per_s": 8 * KIB * writes, "write_latency_ns_mean": np.full(_COUNT, 0.4 * MS),
        }  # fmt: skip
        record(recorder, {name: values[None, :] for name, values in columns.items()}, ["v1"], step_s=10)

    finding = only_finding(judge(RULE, make_case(tmp_path, write)))
    assert finding.title.startswith("Reads of volume v1 spent credits: 3,0")


def test_other_operations_of_the_same_size_are_information_at_most(tmp_path: Path) -> None:
    """Reads in sequence, then at random: a disk does less of these, as evenly as its sample lets it."""
    ops = np.where(np.arange(_COUNT) < 200, 9_000, 210) * rng().normal(1, 0.02, _COUNT)
    in_flight, full = np.full(_COUNT, 16.0), np.ones(_COUNT)
    seen = Seen(ops, 4 * KIB * ops, full, in_flight / ops, in_flight, full)
    assert all(one.severity is Severity.INFO for one in findings(RULE, case_of(tmp_path, sdb=seen)))


def test_after_the_fall_alone_none_is_told(tmp_path: Path) -> None:
    case = case_of(tmp_path, sdb=serve(begun(_COUNT, 10, 4_000, most=32), _GP2, rng()))
    fell_ns = only_finding(judge(RULE, case)).start_ns
    assert fell_ns is not None
    assert findings(RULE, Case(case.store, since_ns=fell_ns + 1_200 * NS_PER_S)) == []


@settings(max_examples=10, deadline=None)
@given(base=st.floats(150, 1_000), factor=st.floats(2, 10), lasts_s=st.floats(300, 1_200), seed=st.integers(0, 99))
def test_credits_are_the_area_above_the_base(
    tmp_path_factory: pytest.TempPathFactory, base: float, factor: float, lasts_s: float, seed: int
) -> None:
    limits = Limits(ops_per_s=base, burst_ops_per_s=factor * base, credits=(factor - 1) * base * lasts_s)
    seen = serve(begun(240, 30, 2 * factor * base, most=32), limits, rng(seed), alone_s=3e-4)
    finding = only_finding(judge(RULE, case_of(tmp_path_factory.mktemp("law"), sdb=seen)))
    assert finding.numbers["before_s"] == pytest.approx(lasts_s, abs=30)
    assert finding.numbers["credits_count"] == pytest.approx(limits.credits, rel=0.1)


def test_bytes_above_a_thousand_mib_a_second_have_no_exponent() -> None:
    assert rate_words("bytes", 1.15e9) == "1.15 GB/s (1,100 MiB/s)"
    assert rate_words("bytes", 131.072e6) == "131 MB/s (125 MiB/s)"
