"""What a volume or a host is allowed: named as what bounds a run, kept in the store, told by `diagnose`."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.rules._known_limits import KNOWN_LIMITS
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Open
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.sim.rate_limits import allowed_words, limit_words, rate_limits
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation

_DESIGN = """\
name = "cloud"

[[group]]
name = "pool"
drive = "nvme-ssd"
count = 8
layout = "raid10"

[[volume]]
name = "data"
group = "pool"
size = "500 GiB"
{volume}

[[volume]]
name = "boot"
group = "pool"
size = "50 GiB"

[[host]]
name = "vm"
volumes = [{{ volume = "data" }}, {{ volume = "boot" }}]
{host}
"""
_READS = Workload("reads", (Stream(Mix((AccessSpec(8192),)), Closed(16), name="reads"),))
_BURST = 'limit = { iops = 500, burst_iops = 5000, burst_for = "5 s" }'


def _simulated(volume: str = "", host: str = "", duration: str = "20s") -> Simulated:
    design = read_design(_DESIGN.format(volume=volume, host=host), "cloud.toml", None)
    return simulate(plan_of(design, _READS, duration=duration), started_ns=1_795_132_800_000_000_000)


def _kept(path: Path, simulated: Simulated) -> Store:
    store = Store.open(path / "store", create=True)
    store_simulation(store, simulated)
    return store


def test_a_limit_that_holds_a_volume_bounds_the_run() -> None:
    told = _simulated("limit = { iops = 3000 }").bottleneck
    assert (told.kind, told.name) == ("rate_limit", "volume data")
    assert told.words.startswith("The rate limit of volume data (3,000 IOPS) is used to ")
    assert told.short.startswith("rate limit of volume data ")


def test_a_limit_that_holds_nobody_is_not_named() -> None:
    free = _simulated().bottleneck
    assert (
        _simulated('limit = { iops = 5_000_000, bandwidth = "50 GB/s" }').bottleneck.kind == free.kind != "rate_limit"
    )


def test_diagnose_names_the_limit_and_not_the_drives(tmp_path: Path) -> None:
    verdict = diagnose(_kept(tmp_path, _simulated(host="limit = { iops = 2000 }")))
    first, said = verdict.findings[0], "The rate limit of host vm (2,000 IOPS)"
    assert (first.rule, first.title) == ("component-saturated", f"{said} is used to the full")
    assert "Faster drives do not help." in first.remedy
    latency = next(one for one in verdict.findings if one.rule == "latency-above-tier")
    assert f"{said} is used to the full" in latency.remedy


def test_a_limit_that_changed_is_named_without_what_it_allowed_which_is_in_the_summary(tmp_path: Path) -> None:
    """All of it made a title of 181 characters."""
    limits = (f"{{ iops = {iops}, bandwidth = '99 MB/s' }}" for iops in (1500, 1000, 500))
    changes = (
        f"[[at]]\ntime = '{at} s'\nlimits_change = {{ host = 'vm', limit = {limit} }}\n"
        for at, limit in enumerate(limits, 1)
    )
    text = _DESIGN.format(volume="", host="limit = { iops = 2000 }") + "".join(changes)
    plan = plan_of(read_design(text, "cloud.toml", None), _READS, duration="4s")
    first = diagnose(_kept(tmp_path, simulate(plan, started_ns=0))).findings[0]
    assert first.title == "The rate limit of host vm is used to the full"
    assert "host vm (2,000 IOPS until 1.00 s, then 1,500 IOPS, 99.0 MB/s until 2.00 s" in first.summary


def test_the_store_says_whose_limit_it_is(tmp_path: Path) -> None:
    store = _kept(tmp_path, _simulated("write_limit = { iops = 3000 }", "limit = { iops = 9000 }"))
    rows = store.query("SELECT entity, target FROM links WHERE target_kind = 'rate_limit' ORDER BY ALL").to_pylist()
    found = [(row["entity"], row["target"]) for row in rows]
    assert found == [("boot", "host vm"), ("data", "host vm"), ("data", "volume data writes")]


def test_spent_credits_part_the_run(tmp_path: Path) -> None:
    simulated = _simulated(_BURST)
    (spent,) = simulated.happenings
    assert spent.words == "the credits of volume data for bursts are spent"
    assert spent.time_ns == pytest.approx(5 * NS_PER_S, rel=0.01)
    store = _kept(tmp_path, simulated)
    query = "SELECT text FROM events WHERE attributes['limit'] = 'volume data'"
    assert [row["text"] for row in store.query(query).to_pylist()] == [spent.words]


@pytest.mark.parametrize(
    ("most", "remedy"), [(1024, "widen what bounds the run: more in flight"), (1, "allow more outstanding I/Os")]
)
def test_what_waits_to_be_sent_once_credits_are_spent_would_wait_at_the_limit(most: int, remedy: str) -> None:
    """2,000 a second are let through until then, and 500 after it. One at a time does not do as many in either time."""
    arrivals = Workload("arrivals", (Stream(Mix((AccessSpec(8192),)), Open(15_000.0, max_outstanding=most)),))
    burst = 'limit = { iops = 500, burst_iops = 20_000, burst_for = "5 s" }'
    design = read_design(_DESIGN.format(volume=burst, host=""), "cloud.toml", None)
    simulated = simulate(plan_of(design, arrivals, duration="20s"), started_ns=0)
    (doubt,) = [one for one in simulated.doubts if "before they were sent" in one]
    assert remedy in doubt


def test_names_of_limits_are_those_of_the_array() -> None:
    design = read_design(
        _DESIGN.format(
            volume="limit = { iops = 1 }\nread_limit = { iops = 2 }",
            host='write_limit = { bandwidth = "1 MB/s" }\nlimit = { iops = 4 }',
        ), "cloud.toml", None,
    )  # fmt: skip
    simulated = simulate(plan_of(design, _READS, duration="1s"), started_ns=0)
    made = {one["name"] for one in simulated.window["components"] if one["kind"] == "rate_limit"}
    assert made == set(rate_limits(design.form))


def test_a_preset_has_figures_by_the_size_of_its_volume() -> None:
    design = read_design(_DESIGN.format(volume='limit = { preset = "ebs-gp2" }', host=""), "cloud.toml", None)
    limit = design.form["volumes"][0]["limit"]
    assert (limit["iops"], limit["burst_iops"], limit["burst_for_ns"]) == (1_500.0, 3_000.0, 3_600 * NS_PER_S)
    simulated = simulate(plan_of(design, _READS, duration="2s"), started_ns=0)
    (told,) = [one for one in simulated.window["components"] if one["kind"] == "rate_limit"]
    assert allowed_words(told["allows"]) == "1,500 IOPS, 262 MB/s, bursts of 3,000 IOPS"


@pytest.mark.parametrize("gib", [4, 64, 128, 256, 512, 1024, 2048, 8192, 16384, 32767])
def test_presets_and_the_limits_that_diagnose_knows_are_the_same(gib: int) -> None:
    text = _DESIGN.format(volume='limit = { preset = "azure-premium" }', host="").replace('"500 GiB"', f'"{gib} GiB"')
    limit = read_design(text.replace("count = 8", "count = 64"), "cloud.toml", None).form["volumes"][0]["limit"]
    known = {(one.measure, one.rate_per_s) for one in KNOWN_LIMITS if one.source.startswith("Azure")}
    assert {("ops", limit["iops"]), ("bytes", limit["bandwidth_bytes_per_s"])} <= known
    if limit["burst_iops"] is not None:
        assert {("ops", limit["burst_iops"]), ("bytes", limit["burst_bandwidth_bytes_per_s"])} <= known


def test_what_is_allowed_is_said_with_credits() -> None:
    design = read_design(_DESIGN.format(volume='limit = { preset = "ebs-gp2" }', host=""), "cloud.toml", None)
    assert limit_words(design.form["volumes"][0]["limit"]) == (
        "1,500 IOPS, 262 MB/s, bursts of 3,000 IOPS for 1 h 00 min (5,400,000 credits), I/Os up to 256 KiB count as "
        "one, sequential ones together"
    )


def test_a_run_that_lives_on_credits_is_doubted() -> None:
    limit = 'limit = { iops = 500, burst_iops = 5000, burst_for = "100 s" }'
    (doubt,) = (one for one in _simulated(limit).doubts if "credits" in one)
    assert "limit of volume data: 5,0" in doubt and "500 IOPS are allowed for good" in doubt
    assert "At this pace what was left lasts 80" in doubt and "--duration 150s" in doubt
    assert not [one for one in _simulated("limit = { iops = 5000 }").doubts if "credits" in one]
    assert not [one for one in _simulated(_BURST).doubts if "credits" in one], "they were spent, which is told"


def test_a_limit_that_lets_nothing_through_is_doubted() -> None:
    (doubt,) = (one for one in _simulated("limit = { iops = 0.001 }", "limit = { iops = 0.001 }").doubts)
    assert doubt.startswith("No I/O was answered in the time that counts. Most wait at rate limit host vm.")


@pytest.mark.parametrize(("outstanding", "most"), [((32, 4), "volume data"), ((4, 32), "host vm")])
def test_of_several_limits_that_is_told_first_which_holds_most_back(
    tmp_path: Path, outstanding: tuple[int, int], most: str
) -> None:
    """Both are used to the full all the time."""
    design = read_design(
        _DESIGN.format(volume="limit = { iops = 300 }", host="limit = { iops = 5000 }"), "cloud.toml", None
    )
    streams = [
        Stream(Mix((AccessSpec(8192),)), Closed(depth), name=f"on {target}", targets=(target,))
        for target, depth in enumerate(outstanding)
    ]
    simulated = simulate(
        plan_of(design, Workload("two", tuple(streams)), duration="20s"), started_ns=1_795_132_800_000_000_000
    )
    limits = [one for one in simulated.window["components"] if one["kind"] == "rate_limit"]
    assert all(one["busy_ratio"] > 0.99 for one in limits)
    first = diagnose(_kept(tmp_path, simulated)).findings[0]
    assert first.title.startswith(f"The rate limit of {most} (")
