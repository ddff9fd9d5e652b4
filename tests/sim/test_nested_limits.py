"""Queue limits behind one another: the last one that is always full binds, wherever most of the I/Os wait."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

_DESIGN = """\
name = "limits in a row"
drives = {{ c = {{ kind = "curve", size = "20 GiB", block = "8 KiB", reads = [{{ qd = 1, iops = 1000 }}] }} }}
group = [{{ name = "g", drive = "c", count = 16, layout = "raid0" }}]
volume = [{{ name = "v", group = "g", size = "160 GiB" }}, {{ name = "w", group = "g", size = "160 GiB" }}]
controller = [{{ name = "A", cost_per_op = "10 us"{port} }}]
host = [{{ name = "h"{host}, volumes = [{{ volume = "v"{lun} }}, {{ volume = "w" }}] }}]
"""
_READS = Mix((AccessSpec(8192),))


def _run(*outstanding: int, lun: int = 0, **limits: str) -> Simulated:
    """Closed loops on both volumes, with limits of the LUN of the first, the host and the ports."""
    text = _DESIGN.format(**{"port": "", "host": "", **limits}, lun=f", queue_limit = {lun}" if lun else "")
    streams = tuple(
        Stream(_READS, Closed(count), name=f"s{index}", targets=(index,)) for index, count in enumerate(outstanding)
    )
    plan = plan_of(read_design(text, "limits.toml"), Workload("reads", streams), duration="10s")
    return simulate(plan, started_ns=0)


def _rate(run: Simulated) -> float:
    return float(run.judgement.estimates["iops"].value)


def _limits(host: int, port: int) -> dict[str, str]:
    return {"host": f", queue_limit = {host}", "port": f", queue_limit = {port}"}


def test_ports_that_are_always_full_bind_though_most_ios_wait_before_them_in_the_host() -> None:
    """Of 60 outstanding 12 are below the ports, 2 wait there and 46 in the host."""
    run = _run(30, 30, **_limits(14, 12))
    assert _rate(_run(30, 30, **_limits(60, 12))) == pytest.approx(_rate(run), rel=0.01)
    assert _rate(_run(30, 30, **_limits(14, 60))) > 1.05 * _rate(run)
    found = run.bottleneck
    assert (found.kind, found.name) == ("limit", "port A")
    assert found.time_share == pytest.approx(48 / 60, abs=0.01)
    assert "96 % of that they wait before it, at the queue limit of host h (14): a greater one" in found.words


def test_ports_that_have_room_leave_the_limit_of_the_host_as_what_binds() -> None:
    found = _run(30, 30, **_limits(14, 15)).bottleneck
    assert (found.kind, found.name) == ("limit", "host h")
    assert "before it" not in found.words


def test_what_waits_for_one_limit_at_two_places_counts_together() -> None:
    """Of 20 outstanding 8 wait for the 12 places of the adapters: 3 of them at the LUN, which keeps them from there."""
    run = _run(12, 8, lun=9, host=", adapter_queue_limit = 12")
    found = run.bottleneck
    assert (found.kind, found.name) == ("limit", "adapter h")
    assert found.time_share == pytest.approx(8 / 20, abs=0.01)
    assert "the queue limit of LUN h/v (9): a greater one would only move the wait" in found.words


def test_drives_that_are_full_behind_limits_in_a_row_have_the_last_of_these_beside_them() -> None:
    found = _run(100, 100, **_limits(130, 120)).bottleneck
    assert found.kind == "drive"
    assert "Another 40 % they wait in the host: the queue limit of the ports of controller A (120) lets" in found.words


_APART = """\
name = "limits beside one another"
drives = { c = { kind = "curve", size = "20 GiB", block = "8 KiB", reads = [{ qd = 1, iops = 1000 }] } }
group = [{ name = "g", drive = "c", count = 16, layout = "raid0" }]
volume = [
    { name = "v", group = "g", size = "160 GiB", owner = "A" },
    { name = "w", group = "g", size = "160 GiB", owner = "B" },
]
controller = [{ name = "A", cost_per_op = "10 us", queue_limit = 6 }, { name = "B", cost_per_op = "10 us" }]
host = [{ name = "h", volumes = [{ volume = "v" }] }, { name = "i", queue_limit = 5, volumes = [{ volume = "w" }] }]
"""


def test_limits_of_unlike_kinds_that_bind_unlike_volumes_are_both_named() -> None:
    """Of 40 outstanding 14 wait for the ports and 15 in the other host."""
    streams = tuple(Stream(_READS, Closed(20), name=name, targets=(index,)) for index, name in enumerate("ab"))
    found = simulate(
        plan_of(read_design(_APART, "apart.toml"), Workload("reads", streams), duration="10s"), started_ns=0
    ).bottleneck
    assert (found.kind, found.name, found.alike) == ("limit", "host i", 2)
    assert found.time_share == pytest.approx(29 / 40, abs=0.01)
    assert found.words.startswith("The queue limits of host i (5) and the ports of controller A (6) bind: I/Os wait 7")
    assert found.short == "queue limit of host i and 1 more"
