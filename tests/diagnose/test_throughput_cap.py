from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.diagnose.case import Case
from storscope.diagnose.engine import evaluate
from storscope.diagnose.rules import rules
from storscope.diagnose.rules.throughput_cap import RULE
from storscope.diagnose.thresholds import load_thresholds
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Severity
from storscope.domain.load import RateStep, Steps
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB, MIB, NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.store import Store
from storscope.workbench.importing import import_paths
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.diagnose.days import MS, FloatArray, record
from tests.diagnose.evidence import needs, only_finding, statements
from tests.diagnose.limited_volume import (
    Limits,
    Load,
    Seen,
    iostat_json,
    serve,
    serve_together,
    steady,
    wandering_load,
)
from tests.model.queues import single_server, wandering
from tests.support.cases import findings, judge, make_case

CAPTURED = Path(__file__).parent / "throughput_cap" / "iostat_blk_throttle_500_iops.json"
_COUNT = 240


def case_of(folder: Path, **devices: Seen) -> Case:
    """The case of an iostat file, by way of its importer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "iostat.json").write_text(iostat_json(devices))
    return _imported(folder, folder / "iostat.json")


def _imported(folder: Path, file: Path) -> Case:
    store = Store.open(folder / "store", create=True)
    assert not import_paths(store, [file]).failures
    return Case(store)


def busy_day(seed: int = 1, low: float = 500, high: float = 6_000, most: float = 64) -> Load:
    return wandering_load(np.random.default_rng(seed), _COUNT, low, high, most)


def rng(seed: int = 2) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_limit_of_a_cloud_volume_is_found_whatever_its_sizes_and_mix(tmp_path: Path) -> None:
    case = case_of(tmp_path, nvme1n1=serve(busy_day(), Limits(ops_per_s=3_000), rng()))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "Device nvme1n1 is held at 3,000 IOPS"
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["limit_ops_per_s"] == pytest.approx(3_000, rel=0.005)
    assert "whatever its operations are like" in finding.summary
    assert "A hint and no proof: 3,000 IOPS is what EBS gp3 comes with" in finding.summary
    assert "VolumeIOPSExceededCheck" in finding.check
    assert "`limit = { iops = ... }` on its volume" in finding.remedy
    assert finding.entities == (EntityRef("db1", "device", "nvme1n1"),)


def test_intervals_of_a_tool_that_are_uneven_by_5_percent_hide_no_limit(tmp_path: Path) -> None:
    for seed in range(5):
        seen = serve(busy_day(seed), Limits(ops_per_s=2_000), rng(seed), jitter=0.05)
        finding = only_finding(judge(RULE, case_of(tmp_path / str(seed), sdb=seen)))
        assert finding.numbers["limit_ops_per_s"] == pytest.approx(2_000, rel=0.02)


def test_a_limit_of_bytes_is_told_in_both_units_and_not_as_one_of_operations(tmp_path: Path) -> None:
    seen = serve(busy_day(high=20_000), Limits(bytes_per_s=125 * MIB), rng())
    finding = only_finding(judge(RULE, case_of(tmp_path, xvdf=seen)))
    assert finding.title == "Device xvdf is held at 131 MB/s (125 MiB/s)"
    assert "EBS gp3" in finding.summary
    assert "limit_ops_per_s" not in finding.numbers
    assert "link" in finding.innocent


def test_a_volume_may_be_held_by_its_operations_and_at_other_times_by_its_bytes(tmp_path: Path) -> None:
    seen = serve(busy_day(), Limits(3_000, 125 * MIB), rng())
    finding = only_finding(judge(RULE, case_of(tmp_path, nvme1n1=seen)))
    assert finding.title == "Device nvme1n1 is held at 3,000 IOPS"
    assert "At other times it is held at 131 MB/s (125 MiB/s)." in finding.summary


def test_below_what_one_operation_at_a_time_gave_it_is_a_limit_though_nothing_else_changed(tmp_path: Path) -> None:
    load = steady(_COUNT, 50, reads=1.0)
    load.ops_per_s[60:] = 1_000
    seen = serve(load, Limits(ops_per_s=400), rng())
    finding = only_finding(judge(RULE, case_of(tmp_path, sdb=seen)))
    assert finding.numbers["alone_in_flight"] == pytest.approx(400 * 6e-4, rel=0.2)
    assert "one at a time" in finding.summary


def test_who_is_beyond_a_knee_that_a_limit_makes_is_not_told_to_buy_drives(tmp_path: Path) -> None:
    case = case_of(tmp_path, nvme1n1=serve(busy_day(), Limits(ops_per_s=3_000), rng()))
    found = [one for one in evaluate(case, rules(), load_thresholds(rules())) if isinstance(one, Finding)]
    [knee] = [one for one in found if one.rule == "load-at-limit"]
    assert knee.remedy.startswith("See first 'Device nvme1n1 is held at 3,000 IOPS' (throughput-cap)")
    assert "more drives" not in knee.remedy
    [cap] = [one for one in found if one.rule == RULE.name]
    assert cap.weight * cap.confidence > knee.weight * knee.confidence


def test_reads_alone_may_be_limited(tmp_path: Path) -> None:
    read = serve(busy_day(), Limits(ops_per_s=1_500), rng())
    wander = wandering(rng(3), _COUNT, 100, 4_000)

    def write(recorder: Recorder) -> None:
        columns = {
            "read_ops_per_s": read.ops_per_s, "read_bytes_per_s": read.bytes_per_s,
            "read_latency_ns_mean": read.latency_s * NS_PER_S, "write_ops_per_s": wander,
            "write_bytes_per_s": 16 * KIB * wander, "write_latency_ns_mean": np.full(_COUNT, 0.4 * MS),
        }  # fmt: skip
        record(recorder, {name: values[None, :] for name, values in columns.items()}, ["v1"], step_s=10)

    finding = only_finding(judge(RULE, make_case(tmp_path, write)))
    assert finding.title == "Reads of volume v1 are held at 1,500 IOPS"


def test_one_latency_of_reads_and_writes_is_enough(tmp_path: Path) -> None:
    """As sar tells it: operations and their latency together, bytes apart."""
    seen = serve(busy_day(), Limits(ops_per_s=2_000), rng(), jitter=0.03)
    read = seen.bytes_per_s * seen.read_share
    columns = {
        "ops_per_s": seen.ops_per_s, "bytes_per_s": seen.bytes_per_s, "read_bytes_per_s": read,
        "write_bytes_per_s": seen.bytes_per_s - read, "latency_ns_mean": seen.latency_s * NS_PER_S,
    }  # fmt: skip

    def write(recorder: Recorder) -> None:
        record(recorder, {name: values[None, :] for name, values in columns.items()}, ["sdb"], kind="device", step_s=10)

    finding = only_finding(judge(RULE, make_case(tmp_path, write)))
    assert finding.numbers["limit_ops_per_s"] == pytest.approx(2_000, rel=0.01)


def test_volumes_that_trade_what_their_machine_may_do_share_a_limit(tmp_path: Path) -> None:
    loads = [busy_day(seed, 300, 5_000, 48) for seed in (4, 5, 6)]
    one, two, three = serve_together(loads, Limits(ops_per_s=4_000), rng())
    finding = only_finding(judge(RULE, case_of(tmp_path, nvme1n1=one, nvme2n1=two, nvme3n1=three)))
    assert finding.title == "3 devices of db1 together are held at 4,000 IOPS"
    assert "share the limit" in finding.summary
    assert "on its host" in finding.remedy
    assert len(finding.entities) == 3


_TRADED = np.stack([0.5 + 0.35 * np.sin(np.arange(_COUNT) / 17), 0.25 + 0.15 * np.sin(np.arange(_COUNT) / 29)])


def _trading(limit: float, alone_s: float) -> list[Seen]:
    """Three devices, light at first, that then share a limit in parts that change; sizes and mix never do."""
    shares = np.stack([*_TRADED, 1 - _TRADED.sum(axis=0)])
    asked = np.where(np.arange(_COUNT) < 60, 0.1 * limit / 3, 3 * limit * np.maximum(shares, 0.05))
    return serve_together([_asking(ops, 40) for ops in asked], Limits(limit), rng(), alone_s=alone_s, jitter=0.003)


def _asking(ops_per_s: FloatArray, most: float) -> Load:
    load = steady(_COUNT, 1, most=most)
    load.ops_per_s[:] = ops_per_s
    return load


@pytest.mark.parametrize("alone_s", [5e-4, 1.5e-4])
def test_the_limit_of_a_machine_is_told_though_its_volumes_are_several_devices(alone_s: float, tmp_path: Path) -> None:
    """Held to what one device keeps in flight, 3,600 IOPS of three were none; nor were 70 % of reads enough."""
    one, two, three = _trading(3_600, alone_s)
    finding = only_finding(judge(RULE, case_of(tmp_path, nvme1n1=one, nvme2n1=two, nvme3n1=three)))
    assert re.fullmatch(r"3 devices of db1 together are held at 3,60\d IOPS", finding.title)
    assert ("on 3 of them" in finding.summary) == (alone_s > 3e-4)


def test_one_storage_behind_several_devices_is_doubted(tmp_path: Path) -> None:
    """As namespaces of one SSD that does what it can: its dies have far more than one in flight."""
    one, two, three = _trading(70_000, 1e-4)
    [needed] = needs(judge(RULE, case_of(tmp_path, nvme0n1=one, nvme0n2=two, nvme0n3=three)))
    assert "the limit of 3 devices of db1 together: they stand at " in needed


def test_disks_of_one_array_at_a_steady_sum_are_doubted_and_not_healthy(tmp_path: Path) -> None:
    one, two, three = _trading(300, 6e-3)
    [needed] = needs(judge(RULE, case_of(tmp_path, sdb=one, sdc=two, sdd=three)))
    assert "3 devices of db1 together" in needed


def test_a_rate_that_a_link_carries_is_told_as_such(tmp_path: Path) -> None:
    seen = serve(busy_day(high=20_000), Limits(bytes_per_s=118e6), rng())
    finding = only_finding(judge(RULE, case_of(tmp_path, sdb=seen)))
    assert "a link of 1 Gbit/s carries 100 MB/s to 125 MB/s" in finding.summary
    assert "a link of 1 Gbit/s" in finding.innocent
    other = serve(busy_day(high=20_000), Limits(bytes_per_s=140e6), rng())
    assert only_finding(judge(RULE, case_of(tmp_path / "other", sdb=other))).confidence > finding.confidence


def test_a_limit_of_the_kernel_is_found_in_what_iostat_told_of_it(tmp_path: Path) -> None:
    """Captured: a limit of 500 reads per second below loop0; the device below it shows no time of waiting."""
    finding = only_finding(judge(RULE, _imported(tmp_path, CAPTURED)))
    assert finding.entities == (EntityRef("vm", "device", "loop0"),)
    assert finding.numbers["limit_ops_per_s"] == pytest.approx(500, rel=0.005)
    assert finding.severity is Severity.CRITICAL


def _disks(recorder: Recorder, *others: EntityRef, name: str = "data1", kind: str = "disk") -> None:
    """Disks held at 3,000 IOPS, as a table names them, beside other things of the same system."""
    seen = serve(busy_day(), Limits(ops_per_s=3_000), rng())
    reads = seen.read_share
    columns = {
        "read_ops_per_s": reads * seen.ops_per_s, "write_ops_per_s": (1 - reads) * seen.ops_per_s,
        "read_bytes_per_s": reads * seen.bytes_per_s, "write_bytes_per_s": (1 - reads) * seen.bytes_per_s,
        "latency_ns_mean": seen.latency_s * NS_PER_S,
    }  # fmt: skip
    spread = {name: values[None, :] for name, values in columns.items()}
    record(recorder, spread, [name], kind=kind, step_s=10, on=None)
    for other in others:
        recorder.entity(other)


def test_a_disk_of_a_cloud_is_a_volume(tmp_path: Path) -> None:
    """Azure calls its volumes disks, and a table of them said to lack the operations and latency that it has."""
    finding = only_finding(judge(RULE, make_case(tmp_path, _disks)))
    assert finding.title == "Disk data1 is held at 3,000 IOPS"


@pytest.mark.parametrize("kind", ["vdisk", "disk_group", "controller", "array"])
def test_a_drive_of_an_array_has_no_limit_of_a_provider(kind: str, tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, lambda recorder: _disks(recorder, EntityRef("array", kind, "x"))))
    assert "not of an array's drives" in needs(outcomes)[0]


def test_a_disk_of_which_more_is_known_is_a_drive(tmp_path: Path) -> None:
    disk = EntityRef("array", "disk", "data1")
    known = make_case(tmp_path / "1", _disks, lambda recorder: recorder.fact(disk, "rpm", 10_000.0))
    assert findings(RULE, known) == []


def _slowed(
    tmp_path: Path, noise: float, *, asked: float = 80.0, then: float = 1.0, kind: str = "device", name: str = "sdd"
) -> Case:
    """A steady open load on storage that answers in 6 ms, and from the middle on in 110 ms: nobody holds it."""
    bad, made = np.arange(_COUNT) >= _COUNT // 2, rng(7)
    ops = asked * np.where(bad, then, 1.0) * made.normal(1, noise, _COUNT)
    latency = np.where(bad, 110, 6) * MS * made.normal(1, 0.15, _COUNT)
    reads = np.clip(made.normal(0.6, 0.02, _COUNT), 0, 1)
    columns = {
        "read_ops_per_s": reads * ops, "write_ops_per_s": (1 - reads) * ops, "read_bytes_per_s": reads * ops * 32 * KIB,
        "write_bytes_per_s": (1 - reads) * ops * 32 * KIB, "read_latency_ns_mean": latency,
        "write_latency_ns_mean": 0.7 * latency,
    }  # fmt: skip
    spread = {column: values[None, :] for column, values in columns.items()}
    return make_case(
        tmp_path, lambda recorder: record(recorder, spread, [name], kind=kind, step_s=10, system="db1", on=None)
    )


@pytest.mark.parametrize("noise", [0.03, 0.05, 0.1, 0.25])
@pytest.mark.parametrize("then", [1.0, 1.05])
def test_a_steady_load_on_storage_that_got_slow_is_held_by_nobody(noise: float, then: float, tmp_path: Path) -> None:
    """A failing disk at the 80 IOPS that it always had was "held at 80 IOPS", and that was the headline."""
    [statement] = statements(judge(RULE, _slowed(tmp_path, noise, then=then)))
    if noise <= 0.05:
        assert "and nothing was asked beyond it" in statement
        assert re.search(r"of device sdd [78]\d\.\d IOPS", statement)


@pytest.mark.parametrize("noise", [0.06, 0.1])
def test_the_busiest_moments_of_a_slow_time_are_no_limit(noise: float, tmp_path: Path) -> None:
    """With two in flight or so only the intervals with the most load have a queue, and these are alike."""
    assert findings(RULE, _slowed(tmp_path, noise, asked=19.0, kind="vm", name="app01")) == []


def test_a_load_that_stays_near_its_limit_is_still_held(tmp_path: Path) -> None:
    """Below 2,000 IOPS in most of the calm time, and never above: there the limit cuts off what is asked for."""
    load = steady(_COUNT, 1_900)
    load.ops_per_s[:] = np.where(np.arange(_COUNT) % 4 == 0, 3_000, rng().uniform(1_700, 1_950, _COUNT))
    load.size_bytes[:] = 4 * KIB * 16 ** rng(3).uniform(size=_COUNT)
    finding = only_finding(judge(RULE, case_of(tmp_path, sdb=serve(load, Limits(ops_per_s=2_000), rng()))))
    assert finding.numbers["limit_ops_per_s"] == pytest.approx(2_000, rel=0.01)


@pytest.mark.parametrize("name", ["naa.60002ac0000000000000002d00019a21", "mpatha"])
def test_what_providers_of_clouds_grant_is_no_hint_for_devices_of_a_san(name: str, tmp_path: Path) -> None:
    case = make_case(tmp_path, lambda recorder: _disks(recorder, name=name, kind="device"))
    finding = only_finding(judge(RULE, case))
    assert "hint" not in finding.summary
    assert "EBS" not in finding.check + finding.remedy
    assert "the QoS of the volume" in finding.check


# What is no limit --------------------------------------------------------------------------------------------------


def test_without_a_queue_no_plateau_is_a_limit(tmp_path: Path) -> None:
    """An application that paces itself just below the limit."""
    seen = serve(steady(_COUNT, 2_500), Limits(ops_per_s=3_000), rng())
    [healthy] = statements(judge(RULE, case_of(tmp_path, nvme1n1=seen)))
    assert healthy == "Operations on 1 device of db1 never wait behind each other for all of an interval."


def _device(**columns: FloatArray | float) -> Callable[[Recorder], None]:
    spread = {name: np.broadcast_to(np.asarray(values, dtype=float), (1, _COUNT)) for name, values in columns.items()}
    return lambda recorder: record(recorder, spread, ["nvme1n1"], kind="device", step_s=10, on=None)


def test_a_constant_number_in_flight_is_no_queue(tmp_path: Path) -> None:
    latency = 2.1 * MS * rng().gamma(900, 1 / 900, _COUNT)
    size = 4 * KIB * 8 ** rng(3).uniform(size=_COUNT)
    ops = 8e9 / latency
    case = make_case(tmp_path, _device(ops_per_s=ops, bytes_per_s=ops * size, latency_ns_mean=latency))
    assert findings(RULE, case) == []


def test_what_always_has_as_many_in_flight_is_not_called_free_of_waiting(tmp_path: Path) -> None:
    """A constant 32 in flight was "never wait behind each other", since latency never was twice that of any time."""
    seen = serve(steady(_COUNT, 9_000, most=32), Limits(ops_per_s=3_000), rng())
    outcomes = judge(RULE, case_of(tmp_path, sdc=seen))
    [needed] = needs(outcomes)
    assert needed.startswith("a time of light load of device sdc, which always has 34 or so in flight")
    assert "stands at 3,000 IOPS" in needed
    assert "EBS gp3" in needed
    assert len(outcomes) == 1


def test_those_with_a_light_time_are_judged_beside_one_that_has_none(tmp_path: Path) -> None:
    deep = serve(steady(_COUNT, 9_000, most=32), Limits(ops_per_s=3_000), rng())
    light = serve(steady(_COUNT, 1_000), Limits(ops_per_s=3_000), rng())
    outcomes = judge(RULE, case_of(tmp_path, sdb=light, sdc=deep))
    assert statements(outcomes) == [
        "Operations on 1 device of db1 never wait behind each other for all of an interval."
    ]
    assert "device sdc" in needs(outcomes)[0]


def test_storage_that_takes_as_many_at_once_as_are_asked_needs_no_light_time(tmp_path: Path) -> None:
    """Never fewer than four in flight, with a latency that hardly changes."""
    in_flight = 4 * 16 ** rng(3).uniform(size=_COUNT)
    latency = 0.3 * MS * rng().gamma(100, 1 / 100, _COUNT)
    ops = in_flight * 1e9 / latency
    case = make_case(tmp_path, _device(ops_per_s=ops, bytes_per_s=8 * KIB * ops, latency_ns_mean=latency))
    assert statements(judge(RULE, case))


def test_bursts_with_pauses_between_them_are_the_pace_of_an_application(tmp_path: Path) -> None:
    size = 4 * KIB * 8 ** rng(3).uniform(size=_COUNT)
    latency = np.where(np.arange(_COUNT) < 60, 0.3, 9.0) * MS
    ops = np.where(np.arange(_COUNT) < 60, 100, 1_000) * rng().normal(1, 0.005, _COUNT)
    busy = np.where(np.arange(_COUNT) < 60, 0.03, 0.6)
    columns = {"ops_per_s": ops, "bytes_per_s": ops * size, "latency_ns_mean": latency}
    assert findings(RULE, make_case(tmp_path / "paced", _device(**columns, busy_ratio=busy))) == []
    full = np.where(busy > 0.5, 1.0, busy)
    assert findings(RULE, make_case(tmp_path / "full", _device(**columns, busy_ratio=full)))


def test_an_hour_of_large_operations_of_one_stream_is_no_queue(tmp_path: Path) -> None:
    backup = np.arange(_COUNT) >= 120
    size = np.where(backup, 256 * KIB, 8 * KIB)
    latency = np.where(backup, 2.2, 0.5) * MS
    ops = np.where(backup, 1e9 / latency, 200)
    columns = {"ops_per_s": ops, "bytes_per_s": ops * size, "latency_ns_mean": latency}
    assert findings(RULE, make_case(tmp_path, _device(**columns))) == []


@settings(max_examples=12, deadline=None)
@given(exponent=st.floats(0.3, 1), widest=st.floats(1.1, 16), seed=st.integers(0, 99))
def test_storage_that_does_more_of_what_is_smaller_is_full_and_not_limited(
    tmp_path_factory: pytest.TempPathFactory, exponent: float, widest: float, seed: int
) -> None:
    """An SSD does as many operations as their sizes let it do; at its own rate of bytes with an exponent of 1."""
    size = 8 * KIB * widest ** rng(seed).uniform(size=_COUNT)
    ops = 60_000 * (size / 8 / KIB) ** -exponent * rng(seed).normal(1, 0.01, _COUNT)
    latency = np.where(np.arange(_COUNT) < 30, 0.2 * MS, 64e9 / ops)
    ops = np.where(np.arange(_COUNT) < 30, 500, ops)
    columns = {"ops_per_s": ops, "bytes_per_s": ops * size, "latency_ns_mean": latency}
    found = findings(RULE, make_case(tmp_path_factory.mktemp("ssd"), _device(**columns)))
    assert all("limit_bytes_per_s" in one.numbers for one in found)
    assert exponent > 0.85 or all(one.severity is Severity.INFO for one in found)


def test_a_disk_that_sorts_does_more_with_more_in_flight(tmp_path: Path) -> None:
    in_flight = 2 * 16 ** rng(3).uniform(size=_COUNT)
    ops = 120 * in_flight**0.25
    columns = {"ops_per_s": ops, "bytes_per_s": 8 * KIB * ops, "latency_ns_mean": in_flight / ops * 1e9}
    assert findings(RULE, make_case(tmp_path, _device(**columns))) == []


def test_a_single_server_with_random_arrivals_is_none(tmp_path: Path) -> None:
    use = wandering(rng(), _COUNT, 0.2, 1.3)
    for fixed in (False, True):
        ops, latency = single_server(rng(4), 2_000, 2_000 * use, 10, fixed)
        columns = {"ops_per_s": ops, "bytes_per_s": 8 * KIB * ops, "latency_ns_mean": latency}
        assert findings(RULE, make_case(tmp_path / str(fixed), _device(**columns))) == []


def test_a_limit_that_changed_is_not_called_none(tmp_path: Path) -> None:
    """Of 3,500 until the credits are spent and 2,300 then it said that no rate is the same."""
    burst = Limits(ops_per_s=2_300, burst_ops_per_s=3_500, credits=1_200.0 * 700)
    seen = serve(busy_day(low=4_000, high=9_000), burst, rng(), jitter=0.02)
    light = serve(steady(_COUNT, 300), burst, rng())
    early = np.arange(_COUNT) < 30
    together = Seen(*(np.where(early, getattr(light, name), getattr(seen, name)) for name in _SEEN))
    [needed] = needs(judge(RULE, case_of(tmp_path, sdc=together)))
    assert re.search(r"device sdc stands at 3,5\d\d IOPS and 2,3\d\d IOPS at different times", needed)
    assert "burst-credits-spent" in needed


_SEEN = ("ops_per_s", "bytes_per_s", "read_share", "latency_s", "in_flight", "busy_ratio")


def test_rates_of_full_storage_that_go_up_and_down_are_no_levels(tmp_path: Path) -> None:
    ops = np.where(np.arange(_COUNT) < 60, 200, wandering(rng(), _COUNT, 1_000, 4_000))
    latency = np.where(np.arange(_COUNT) < 60, 0.5 * MS, 24e9 / ops)
    case = make_case(tmp_path, _device(ops_per_s=ops, bytes_per_s=8 * KIB * ops, latency_ns_mean=latency))
    [statement] = statements(judge(RULE, case))
    assert statement == "No rate of 1 device of array is the same whenever operations wait."


def test_where_size_and_mix_never_changed_it_says_what_would_decide(tmp_path: Path) -> None:
    load = steady(_COUNT, 500)
    load.ops_per_s[60:] = 9_000
    [needed] = needs(judge(RULE, case_of(tmp_path, sdb=serve(load, Limits(ops_per_s=4_321), rng()))))
    assert "operations of other sizes" in needed
    assert "4,321 IOPS" in needed


def test_at_a_documented_rate_alone_it_is_information(tmp_path: Path) -> None:
    load = steady(_COUNT, 500)
    load.ops_per_s[60:] = 9_000
    finding = only_finding(judge(RULE, case_of(tmp_path, nvme1n1=serve(load, Limits(ops_per_s=3_000), rng()))))
    assert finding.title == "Device nvme1n1 is perhaps held at 3,000 IOPS"
    assert finding.severity is Severity.INFO
    assert "may be all that the storage can do" in finding.summary


def test_the_source_tells_the_thresholds_in_force(tmp_path: Path) -> None:
    case = case_of(tmp_path, nvme1n1=serve(busy_day(), Limits(ops_per_s=3_000), rng()))
    assert "within 12 % of one value" in only_finding(judge(RULE, case)).source
    wider = RULE.defaults() | {"width_ratio": 0.2}
    assert "within 20 % of one value" in only_finding(RULE.evaluate(case, wider)).source


def test_what_is_felt_of_a_limit_that_is_only_supposed_is_asked_for_first(tmp_path: Path) -> None:
    """It told that no other finding named a cause, beside the one that did."""
    load = steady(_COUNT, 500)
    load.ops_per_s[60:] = 9_000
    case = case_of(tmp_path, nvme1n1=serve(load, Limits(ops_per_s=3_000), rng()))
    found = [one for one in evaluate(case, rules(), load_thresholds(rules())) if isinstance(one, Finding)]
    [felt] = [one for one in found if one.rule == "latency-above-tier"]
    asked = "See first whether this is so: 'Device nvme1n1 is perhaps held at 3,000 IOPS' (throughput-cap). If not,"
    assert felt.remedy.startswith(asked)


def test_a_full_queue_of_the_host_is_what_holds_operations_back(tmp_path: Path) -> None:
    seen = serve(busy_day(), Limits(ops_per_s=3_000), rng())
    columns = {
        "ops_per_s": seen.ops_per_s, "bytes_per_s": seen.bytes_per_s, "latency_ns_mean": seen.latency_s * NS_PER_S,
        "queue_depth_mean": np.minimum(seen.in_flight, 8),
    }  # fmt: skip
    assert findings(RULE, make_case(tmp_path / "full", _device(**columns, queue_limit=8.0))) == []
    assert findings(RULE, make_case(tmp_path / "room", _device(**columns, queue_limit=256.0)))


_MIXES = {
    "random": Mix((AccessSpec(8192),)),
    "mixed": Mix((AccessSpec(4096, read_share=0.8), AccessSpec(65536, read_share=0.4, share=0.5))),
    "written": Mix((AccessSpec(8192, read_share=0.0),)),
    "sequential": Mix((AccessSpec(262_144, random_share=0.0),)),
}
_DESIGN = """\
name = "array"

[cache]
write = { size = "256 MiB" }

[[group]]
name = "pool"
drive = "10k-sas"
count = 8
layout = "raid10"

[[volume]]
name = "v1"
group = "pool"
size = "200 GiB"

[[host]]
name = "h"
volumes = [{ volume = "v1" }]
"""


@pytest.mark.parametrize("mix", _MIXES)
def test_a_saturated_simulated_array_is_not_limited(mix: str, tmp_path: Path) -> None:
    steps = Steps(tuple(RateStep(rate, 30 * NS_PER_S) for rate in (60.0, 600.0, 3_000.0, 5_000.0)), max_outstanding=128)
    workload = Workload("w", (Stream(_MIXES[mix], steps, name="a"),))
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(
        store, simulate(plan_of(read_design(_DESIGN, "array.toml"), workload, duration="120s"), started_ns=0)
    )
    outcomes = judge(RULE, Case(store))
    assert not [one for one in outcomes if isinstance(one, Finding)]
    assert [one for one in outcomes if isinstance(one, Healthy | NotEvaluated)]


# Laws --------------------------------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(
    limit=st.floats(300, 20_000),
    jitter=st.floats(0, 0.04),
    step_s=st.sampled_from([1.0, 10.0]),
    seed=st.integers(0, 99),
)
def test_any_limit_is_found_at_its_value(
    tmp_path_factory: pytest.TempPathFactory, limit: float, jitter: float, step_s: float, seed: int
) -> None:
    load = wandering_load(rng(seed), 120, 0.1 * limit, 0.7 * limit, max(64.0, 0.05 * limit))
    load.ops_per_s[60:] = 2 * limit
    load.size_bytes[60:] = 4 * KIB * 16 ** rng(seed).uniform(size=60)
    seen = serve(load, Limits(ops_per_s=limit), rng(seed), step_s=step_s, jitter=jitter, alone_s=3e-4)
    folder = tmp_path_factory.mktemp("law")
    (folder / "iostat.json").write_text(iostat_json({"sdb": seen}, step_s))
    finding = only_finding(judge(RULE, _imported(folder, folder / "iostat.json")))
    assert finding.numbers["limit_ops_per_s"] == pytest.approx(limit, rel=0.02)
