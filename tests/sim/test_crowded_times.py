"""Bursts within a phase: what is used to the full then is named, though it has little to do on average."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Open, Process, RateStep, Steps
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.sim.replay import TraceSource
from storscope.sim.traces.read import trace_from_text
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of, trace_plan_of

_DESIGN = """\
name = "bursts"
drives = {{ c = {{ kind = "curve", size = "20 GiB", block = "8 KiB", reads = [{{ qd = 1, iops = 200 }}], cv = {cv} }} }}
group = [{{ name = "g", drive = "c", count = {drives}, layout = "{layout}" }}]
volume = [{{ name = "v", group = "g", size = "10 GiB" }}]
{cache}
host = [{{ name = "h", volumes = [{{ volume = "v" }}] }}]
"""


def _text(**keys: object) -> str:
    return _DESIGN.format(**{"cv": 1, "drives": 8, "layout": "raid10", "cache": "", **keys})


def _run(workload: Workload, duration: str | None = None, seed: int = 1, **keys: object) -> Simulated:
    design = read_design(_text(**keys), "bursts.toml")
    return simulate(plan_of(design, workload, duration=duration, seed=seed), started_ns=0)


def _bursts_of_writes(destages: int = 32, drives: int = 8) -> Simulated:
    """10,000 writes at a time into a cache of 4 MiB, a minute apart."""
    line = AccessSpec(8192, read_share=0.0, delay_ns=60 * NS_PER_S, burst=10_000)
    writes = Workload("bursts", (Stream(Mix((line,)), Closed(64), name="bursts"),))
    cache = f'cache = {{ write = {{ size = "4 MiB", destages = {destages} }} }}'
    return _run(writes, "10m", cache=cache, drives=drives)


def _write_ns(run: Simulated) -> float:
    return next(one.mean_ns for one in run.time_spent if one.direction == "writes")


def test_drives_that_cannot_empty_a_cache_which_bursts_fill_are_named() -> None:
    """More destages at a time do little for a burst, and more drives a lot: it is the drives, though idle between."""
    run = _bursts_of_writes()
    assert _write_ns(_bursts_of_writes(destages=128)) > 0.85 * _write_ns(run)
    assert _write_ns(_bursts_of_writes(drives=16)) < 0.65 * _write_ns(run)
    assert all(one["used_ratio"] < 0.4 for one in run.window["components"])
    found = run.bottleneck
    assert (found.kind, found.name) == ("drive", "g")
    assert found.used_ratio is not None and found.used_ratio > 0.85
    assert found.words.startswith("For ") and " of 10 min, in which I/Os spend 8" in found.words
    assert "the 8 drives of g are used to" in found.words and "cannot empty the write cache faster" in found.words


def test_few_destages_at_a_time_still_bound_bursts_where_they_do() -> None:
    few = _bursts_of_writes(destages=4)
    assert _write_ns(_bursts_of_writes()) < 0.55 * _write_ns(few)
    assert few.bottleneck.kind == "cache"


def test_drives_that_do_what_a_step_left_undone_are_named_for_the_next_step() -> None:
    """What is left of 600 a second is done in half of the next step, in which 50 come."""
    load = Steps((RateStep(600.0, 60 * NS_PER_S), RateStep(50.0, 120 * NS_PER_S)), Process.FIXED)
    run = _run(Workload("steps", (Stream(Mix((AccessSpec(8192, read_share=0.0),)), load, name="w"),)), drives=4)
    (_, last) = run.bounds[-1]
    assert (last.kind, last.name) == ("drive", "g")
    assert last.words.startswith("For ") and " of 2 min, in which I/Os spend " in last.words
    assert last.words.endswith("Its first I/Os are those that the step before left undone.")


@pytest.mark.parametrize(("share", "length"), [(0.5, "20s"), (0.75, "60s"), (0.79, "2m")])
def test_even_arrivals_are_never_told_as_bursts(share: float, length: str) -> None:
    load = Stream(Mix((AccessSpec(8192),)), Open(200 * share), name="even")
    for seed in range(1, 6):
        run = _run(Workload("even", (load,)), length, drives=1, layout="raid0", seed=seed)
        assert not run.bottleneck.words.startswith("For ")


def test_a_busy_third_of_a_trace_is_told() -> None:
    """1,400 of 1,600 a second that the drives can read for 20 s, then 100 for 40 s."""
    times = [index / 1_400 for index in range(28_000)] + [20 + index / 100 for index in range(4_000)]
    rows = [f"{time:.6f},R,{index * 7_919 % 100_000 * 8192},8192" for index, time in enumerate(times)]
    trace = trace_from_text("\n".join(["time_s,op,offset_bytes,length_bytes", *rows]), "t.csv")
    plan = trace_plan_of(read_design(_text(layout="raid0", cv=0), "bursts.toml"), [TraceSource(trace, None)])
    found = simulate(plan, started_ns=0).bottleneck
    assert (found.kind, found.name) == ("drive", "g")
    assert found.words.startswith("For 20 s of 60 s, in which I/Os spend ")
    assert found.used_ratio == pytest.approx(1_400 / 1_600, abs=0.02)
