"""All tables of a simulation are of the same time, and the parts of the time add up to the latency beside them."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Load, Open, Process, RateStep, Steps
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.sim.volume_time import BEFORE_SENDING
from storscope.sim.window import window
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from tests.sim.designs import SMALL


def _simulated(load: Load, duration: str | None = "20s", design: str = SMALL, ios: int | None = None) -> Simulated:
    workload = Workload("reads", (Stream(Mix((AccessSpec(8192),)), load, name="reads", targets=(0,)),))
    return simulate(plan_of(read_design(design, "small.toml"), workload, duration=duration, ios=ios), started_ns=0)


def test_windows_that_follow_each_other_add_up_to_the_whole() -> None:
    array = _simulated(Closed(8)).array
    end_ns = array["marks"][-1]["time_ns"]
    parts = [window(array, 0, 5 * NS_PER_S), window(array, 5 * NS_PER_S, end_ns)]
    whole = window(array, 0, end_ns)
    for index, component in enumerate(whole["components"]):
        for name in ("busy_ratio", "used_ratio", "queue_mean", "throughput_per_s"):
            weighted = sum(part["components"][index][name] * part["duration_ns"] for part in parts)
            assert weighted == pytest.approx(component[name] * whole["duration_ns"], rel=1e-9), name
    assert whole["components"][0]["busy_ratio"] == pytest.approx(array["components"][0]["busy_ratio"], rel=1e-9)


def test_the_parts_of_the_time_add_up_to_the_latency_of_the_other_table() -> None:
    simulated = _simulated(Closed(8))
    (spent,) = simulated.time_spent
    assert sum(spent.parts_ns.values()) == pytest.approx(spent.mean_ns, rel=1e-6)
    assert spent.mean_ns == pytest.approx(simulated.measured.all.response.mean_ns, rel=1e-9)
    # Splitting by the array's own account changes hardly anything: what is in flight at the edges is little.
    own = sum(part["mean_ns"] for part in simulated.window["targets"][0]["reads"]["parts"])
    assert own == pytest.approx(spent.mean_ns, rel=0.01)


def test_the_wait_before_sending_is_a_part_of_its_own() -> None:
    simulated = _simulated(Open(3000.0, max_outstanding=64), "5s")
    (spent,) = simulated.time_spent
    whole = simulated.measured.all
    assert spent.parts_ns[BEFORE_SENDING] == pytest.approx(whole.lateness.mean_ns, rel=1e-9)
    assert spent.parts_ns[BEFORE_SENDING] > 0.5 * spent.mean_ns
    assert sum(spent.parts_ns.values()) == pytest.approx(spent.mean_ns, rel=1e-6)
    words = " ".join(simulated.doubts)
    assert "never sent" in words
    for bench_word in ("workers", "quieter machine", "--steady-state", " ns late"):
        assert bench_word not in words


def test_a_run_of_so_many_ios_says_how_long_it_took_and_has_enough_samples() -> None:
    simulated = _simulated(Closed(8), None, ios=20_000)
    took_ns = sum(one.duration_ns for one in simulated.intervals)
    assert took_ns > NS_PER_S
    assert f"It ran for {took_ns / NS_PER_S:.0f} s, until the 20,000 I/Os" in simulated.judgement.ended
    assert 20 <= len(simulated.intervals) <= 513
    assert "No warm-up was looked for" not in simulated.judgement.start


# What bounds it -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ('name = "esx1"\nvolumes = [{ volume = "data", queue_limit = 2 }, { volume = "log" }]', "lun esx1/data"),
        ('name = "esx1"\nqueue_limit = 2\nvolumes = [{ volume = "data" }, { volume = "log" }]', "host esx1"),
        (
            'name = "esx1"\nadapter_queue_limit = 2\nvolumes = [{ volume = "data" }, { volume = "log" }]',
            "adapter esx1",
        ),
    ],
)
def test_the_queue_limit_that_binds_is_named(host: str, name: str) -> None:
    design = SMALL.replace('name = "esx1"\nvolumes = [{ volume = "data" }, { volume = "log" }]', host)
    found = _simulated(Closed(32), design=design).bottleneck
    assert (found.kind, found.name) == ("limit", name)
    assert "(2) binds" in found.words
    assert found.time_share > 0.9


def test_queue_limits_that_bind_alike_are_named_together() -> None:
    """The one of `log` is never full, so that more places there would let nothing more through."""
    limited = 'volumes = [{ volume = "data", queue_limit = 4 }, { volume = "log", queue_limit = 64 }]'
    design = SMALL.replace('volumes = [{ volume = "data" }, { volume = "log" }]', limited)
    design = design.replace('volumes = [{ volume = "data" }]', 'volumes = [{ volume = "data", queue_limit = 2 }]')
    reads = Mix((AccessSpec(8192),))
    data, log = (
        Stream(reads, Closed(16), name="data", targets=(0, 2)),
        Stream(reads, Closed(1), name="log", targets=(1,)),
    )
    plan = plan_of(read_design(design, "small.toml"), Workload("reads", (data, log)), duration="10s")
    simulated = simulate(plan, started_ns=0)
    found, depths = simulated.bottleneck, {one["name"]: one["most"] for one in simulated.window["limits"]}
    assert depths == {"esx1/data": 4, "esx1/log": 64, "esx2/data": 2}
    assert (found.kind, found.name) == ("limit", "lun esx2/data")
    assert found.words.startswith("The queue limits of LUN esx2/data (2) and LUN esx1/data (4) bind: I/Os wait ")
    assert "for a place, and all are taken 100 % of the time. Behind them, " in found.words


def test_the_queue_limit_that_binds_is_named_though_most_of_the_time_goes_before_sending() -> None:
    """More in flight would wait at the limit: 1,500 reads a second come, and two at a time are let through."""
    limited = 'volumes = [{ volume = "data", queue_limit = 2 }, { volume = "log" }]'
    design = SMALL.replace('volumes = [{ volume = "data" }, { volume = "log" }]', limited)
    few, more = (_simulated(Open(1500.0, max_outstanding=most), "5s", design) for most in (64, 32_768))
    for simulated in (few, more):
        found = simulated.bottleneck
        assert (found.kind, found.name) == ("limit", "lun esx1/data")
        assert found.time_share is not None and found.time_share > 0.9
        assert "allow more outstanding" not in " ".join(simulated.doubts)
    assert few.time_spent[0].parts_ns[BEFORE_SENDING] > 0.8 * few.time_spent[0].mean_ns
    assert "of their time, once sent, for a place" in few.bottleneck.words
    assert few.bottleneck.words.endswith("% of all their time, they wait to be sent.")
    rates = [one.judgement.estimates["iops"].value for one in (few, more)]
    assert rates[1] == pytest.approx(rates[0], rel=0.05)


def test_the_queue_limit_of_the_ports_is_told_apart() -> None:
    found = _simulated(Closed(32), design=SMALL.replace('name = "A"', 'name = "A"\nqueue_limit = 2')).bottleneck
    assert (found.kind, found.name) == ("limit", "port A")


def test_drives_that_are_used_to_the_full_are_named_as_a_group_and_spares_do_not_count() -> None:
    simulated = _simulated(Closed(256), design=SMALL.replace("count = 8", "count = 8\nspares = 2"))
    found = simulated.bottleneck
    assert (found.kind, found.name) == ("drive", "g")
    assert found.words.startswith("The 8 drives of g are used to")
    assert found.used_ratio is not None
    assert found.used_ratio > 0.95


def test_a_limit_before_drives_that_are_full_is_no_bottleneck() -> None:
    limited = 'volumes = [{ volume = "data", queue_limit = 128 }, { volume = "log" }]'
    design = SMALL.replace('volumes = [{ volume = "data" }, { volume = "log" }]', limited)
    found = _simulated(Closed(512), design=design).bottleneck
    assert found.kind == "drive"
    assert "the queue limit of LUN esx1/data (128) lets no more through" in found.words


_FLASH = """\
name = "flash"

[[group]]
name = "g"
drive = "nvme-ssd"
count = 1
layout = "raid0"

[[volume]]
name = "v"
group = "g"
size = "100 GiB"

[[host]]
name = "h"
volumes = [{ volume = "v" }]
"""


def test_flash_is_used_as_far_as_its_parallelism_is() -> None:
    single, deep = (_simulated(Closed(depth), "200ms", _FLASH) for depth in (1, 256))
    one, many = (simulated.window["components"][0] for simulated in (single, deep))
    assert one["busy_ratio"] > 0.9  # it was hardly ever idle ...
    # ... but its link, which works longest in it, takes 8 KiB at 3.2 GB/s of each read.
    assert one["used_ratio"] == pytest.approx(one["throughput_per_s"] * 8192 / 3.2e9, rel=0.001)
    assert one["used_ratio"] < 1.5 / one["parallel"]
    assert many["used_ratio"] > 0.95
    assert single.bottleneck.kind == "load"
    assert deep.bottleneck.kind == "drive"
    parts = {part["part"]: part["mean_ns"] for part in single.window["targets"][0]["reads"]["parts"]}
    assert parts["drive_service"] > 0.99 * sum(parts.values())


def test_a_run_shorter_than_an_interval_is_a_run() -> None:
    simulated = _simulated(Closed(8), None, ios=20)
    assert simulated.outcome.result["ending"]["completed"] == 20
    assert simulated.array["duration_ns"] < 200 * NS_PER_S // 1000


@pytest.mark.parametrize("duration", ["1 ns", "100 us"])
def test_of_no_time_nothing_is_said(duration: str) -> None:
    """Neither that components were idle, nor what bounds the run; no interval is complete, and no I/O was answered."""
    simulated = _simulated(Closed(8), duration)
    assert simulated.window["duration_ns"] == 0
    for component in simulated.window["components"]:
        for name in ("busy_ratio", "used_ratio", "queue_mean", "throughput_per_s", "response_ns_mean"):
            assert component[name] is None, name
    assert (simulated.bottleneck.kind, simulated.bottleneck.used_ratio, simulated.bottleneck.time_share) == (
        "unknown", None, None,
    )  # fmt: skip
    assert simulated.tables()["runs"].num_rows == 1


def test_a_run_whose_streams_end_before_is_not_said_to_have_done_what_was_asked() -> None:
    steps = Steps((RateStep(20.0, NS_PER_S), RateStep(100.0, NS_PER_S)), Process.FIXED)
    assert _simulated(steps, "5s").judgement.ended == (
        "It ran for 2.00 s, until its streams had ended: 5.00 s were asked for."
    )  # fmt: skip
    assert "streams had ended: 120 of the 1,000 I/Os" in _simulated(steps, None, ios=1000).judgement.ended
    assert "until the 100 I/Os" in _simulated(steps, "5s", ios=100).judgement.ended
    assert _simulated(Open(1.0), "5s", ios=100).judgement.ended == "It ran for the 5.00 s that were asked for."


def test_one_of_a_thing_is_counted_as_one() -> None:
    ended = _simulated(Open(1.0), "5s", ios=1).judgement.ended
    assert ended.endswith("until the I/O that was asked for was made.")
