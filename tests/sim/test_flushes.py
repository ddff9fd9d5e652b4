"""Flushes of a simulated volume: what hosts see of them, what the store keeps, what `diagnose` and `compare` say."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.bench.workloads.builtin import builtin
from storscope.bench.workloads.toml_form import read_toml
from storscope.cli.show_simulation import print_simulated
from storscope.cli.simulation_json import simulated_to_json
from storscope.domain.units import NS_PER_S
from storscope.sim.design import read_design
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation

_DESIGN = """\
name = "mirror"
{cache}

[[group]]
name = "g"
drive = "7200-sata"
count = 2
layout = "raid1"

[[volume]]
name = "log"
group = "g"
size = "100 GiB"

[[controller]]
name = "A"
cost_per_op = "50 us"

[[host]]
name = "db"
volumes = [{{ volume = "log" }}]
"""
_FAILS = """
[[at]]
time = "15s"
drive_fails = { group = "g", index = 1 }
"""
_STEPPED = """
[[workload]]
name = "log"

[[workload.stream]]
flush_every = 2
process = "fixed"
steps = [{ rate_per_s = 20, duration = "20s" }, { rate_per_s = 60, duration = "20s" }]
line = [{ size = "4k", read_share = "0%" }]
"""
_BATTERY = 'cache = { write = { size = "1 GiB" } }'
_TURN_NS = 60 * NS_PER_S / 7200


def _simulated(cache: str = "") -> Simulated:
    design = read_design(_DESIGN.format(cache=cache), "mirror.toml", None)
    commits = builtin("commits").workloads[0]
    return simulate(plan_of(design, commits, duration="60s"), started_ns=1_795_132_800_000_000_000)


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return _simulated()


def test_commits_in_sequence_take_a_turn_of_the_platters(simulated: Simulated) -> None:
    (cell,) = simulated_to_json(simulated, "capture")["cells"]
    write, flush = cell["write"], cell["flush"]
    assert write["response"]["mean_ns"] + flush["response"]["mean_ns"] == pytest.approx(_TURN_NS, rel=0.02)
    assert flush["ops_per_s"] == pytest.approx(7200 / 60, rel=0.02)
    assert cell["read"]["ios"] == flush["bytes_per_s"] == 0


def test_their_time_is_spent_at_drives(simulated: Simulated) -> None:
    flushes = next(one for one in simulated.time_spent if one.direction == "flushes")
    assert sum(flushes.parts_ns.values()) == pytest.approx(flushes.mean_ns)
    assert flushes.parts_ns["drive_service"] + flushes.parts_ns["join"] > 0.99 * flushes.mean_ns
    assert simulated.bottleneck.kind == "drive"


def test_a_battery_takes_the_wait_away() -> None:
    (cell,) = simulated_to_json(_simulated(_BATTERY), "capture")["cells"]
    assert cell["flush"]["response"]["mean_ns"] == pytest.approx(50_000, rel=1e-3)


def test_reads_have_no_flushes() -> None:
    design = read_design(_DESIGN.format(cache=""), "mirror.toml", None)
    of_reads = simulate(plan_of(design, builtin("oltp").workloads[0], duration="5s"), started_ns=0)
    cells = simulated_to_json(of_reads, "capture")["cells"]
    assert cells and all(cell["flush"] is None for cell in cells)
    assert all(target["flushed"] == 0 for target in of_reads.window["targets"])


def test_the_store_keeps_them_and_diagnose_says_that_they_take_the_time(tmp_path: Path, simulated: Simulated) -> None:
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, simulated)
    finding = next(one for one in diagnose(store).findings if one.rule == "flush-bound")
    assert finding.title.startswith("Volume log: flushes take 9")
    assert finding.numbers["flush_latency_ns"] == pytest.approx(_TURN_NS, rel=0.02)
    rows = store.query("SELECT DISTINCT name FROM counters WHERE kind = 'vdisk' AND name LIKE '%flush%'").to_pylist()
    assert {row["name"] for row in rows} >= {"db flushes: drive service"}
    (row,) = store.query(
        "SELECT sum(list_sum(counts))::DOUBLE AS flushes FROM histograms WHERE kind = 'vdisk' AND operation = 'sync'"
    ).to_pylist()
    assert row["flushes"] == pytest.approx(60 * 7200 / 60, rel=0.02)


def test_phases_and_rate_steps_tell_them(capsys: pytest.CaptureFixture[str]) -> None:
    """An open loop of 20, then 60 writes a second with a flush after every other; a drive fails at 15 s."""
    workload = read_toml(_STEPPED).workloads[0]
    design = read_design(_DESIGN.format(cache="") + _FAILS, "mirror.toml", None)
    stepped = simulate(plan_of(design, workload), started_ns=0)
    form = simulated_to_json(stepped, "capture")
    assert [one["flushes_per_s"] for one in form["rate_steps"]] == [pytest.approx(rate, abs=0.2) for rate in (10, 30)]
    before, after = form["phases"]
    assert [before["flushes_per_s"], after["flushes_per_s"]] == [pytest.approx(10, abs=0.2), pytest.approx(26, abs=0.3)]
    assert 0.3 * _TURN_NS < after["flush_response"]["mean_ns"] < before["flush_response"]["mean_ns"] < 2 * _TURN_NS
    print_simulated(stepped)
    said = capsys.readouterr().out
    heads = [line.split() for line in said.splitlines() if "their p99" in line]
    assert len(heads) == 2
    assert [line.split()[5:7] for line in said.splitlines() if "flushes  15 s" in line] == [["26.0", "/s"]]


def test_a_workload_without_flushes_tells_none_of_its_phases() -> None:
    design = read_design(_DESIGN.format(cache="") + _FAILS, "mirror.toml", None)
    reads = simulate(plan_of(design, builtin("oltp").workloads[0], duration="20s"), started_ns=0)
    form = simulated_to_json(reads, "capture")
    assert [(one["flushes_per_s"], one["flush_response"]) for one in form["phases"]] == [(None, None)] * 2


def test_flushes_are_none_of_the_ios_that_were_asked_for() -> None:
    """595 writes and as many flushes in 5 s: no 1,000 I/Os."""
    design = read_design(_DESIGN.format(cache=""), "mirror.toml", None)
    plan = plan_of(design, builtin("commits").workloads[0], duration="5s", ios=1000)
    ended = simulate(plan, started_ns=0).judgement.ended
    assert ended == "It ran for the 5.00 s that were asked for."


def test_a_short_run_is_not_called_healthy(tmp_path: Path) -> None:
    design = read_design(_DESIGN.format(cache=""), "mirror.toml", None)
    short = simulate(plan_of(design, builtin("commits").workloads[0], duration="10s"), started_ns=0)
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, short)
    verdict = diagnose(store)
    assert not [one for one in (*verdict.findings, *verdict.healthy) if one.rule == "flush-bound"]
    (lacks,) = (one.needs for one in verdict.not_evaluated if one.rule == "flush-bound")
    assert lacks.startswith("flushes of log over a longer time: they took the time for ")


def test_where_the_load_waits_for_flushes_that_is_what_bounds_it() -> None:
    text = _DESIGN.format(cache="").replace("7200-sata", "crucial-250gb")
    design = read_design(text, "flash.toml", None)
    told = simulate(plan_of(design, builtin("commits").workloads[0], duration="5s"), started_ns=0).bottleneck
    assert told.kind == "load"
    assert "the load is the limit, and waits for its flushes 8" in told.words
    assert "More writers at a time, or fewer flushes, would get more done." in told.words


def test_a_healthy_array_is_told_to_be_so(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, _simulated(_BATTERY))
    verdict = diagnose(store)
    assert not [one for one in verdict.findings if one.rule == "flush-bound"]
    assert any(one.rule == "flush-bound" for one in verdict.healthy)
