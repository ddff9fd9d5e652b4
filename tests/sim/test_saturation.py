"""What is used to the full in a simulated array is named by `diagnose`, from what the store keeps of each interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Open
from storscope.domain.units import NS_PER_S
from storscope.domain.verdict import Verdict
from storscope.domain.workload import Stream, Workload
from storscope.sim.bottleneck import bottleneck
from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation

_DESIGN = """\
name = "array"
{links}

[[group]]
name = "pool"
drive = "15k-sas"
count = 32
layout = "raid10"

[[volume]]
name = "v"
group = "pool"
size = "500 GiB"

[[controller]]
name = "A"
cost_per_op = "{cost}"

[[host]]
name = "h"
{host}
volumes = [{{ volume = "v"{lun} }}]
"""
_READS = Workload("reads", (Stream(Mix((AccessSpec(65536),)), Closed(48), name="reads"),))


def _kept(path: Path, workload: Workload = _READS, schedule: str = "", **keys: str) -> Store:
    text = _DESIGN.format(**{"links": "", "cost": "20 us", "host": "", "lun": "", **keys})
    design = read_design(text, "array.toml", read_schedule(schedule, "s.toml") if schedule else None)
    store = Store.open(path / "store", create=True)
    store_simulation(store, simulate(plan_of(design, workload, duration="20s"), started_ns=1_795_132_800_000_000_000))
    return store


def _titles(verdict: Verdict) -> list[str]:
    return [one.title for one in verdict.findings]


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        ({"cost": "2 ms"}, "Controller A is used to the full"),
        ({"links": "[links]\nfront_end = { bandwidth = '20 MB/s' }"}, "Front-end-link A out is used to the full"),
        ({"lun": ", queue_limit = 2"}, "Queue of 2 is full on 1 device of array"),
        ({"host": "queue_limit = 3"}, "Queue of 3 is full on 1 host of array"),
        ({"host": "adapter_queue_limit = 3"}, "Queue of 3 is full on 1 adapter of array"),
    ],
)
def test_what_bounds_the_array_is_named(keys: dict[str, str], title: str, tmp_path: Path) -> None:
    titles = _titles(diagnose(_kept(tmp_path, **keys)))
    assert title in titles
    assert not [one for one in titles if one != title and ("to the full" in one or "is full on" in one)]


def test_an_array_that_is_half_used_is_not(tmp_path: Path) -> None:
    half = Workload("half", (Stream(Mix((AccessSpec(8192),)), Open(1500.0), name="reads"),))
    titles = _titles(diagnose(_kept(tmp_path, half, lun=", queue_limit = 64")))
    assert not [one for one in titles if "full" in one]


def test_a_controller_that_a_hog_fills_for_a_while_is_named_with_the_time(tmp_path: Path) -> None:
    steady = Stream(Mix((AccessSpec(8192),)), Open(50.0), name="steady")
    hog = Stream(Mix((AccessSpec(8192),)), Closed(48), name="hog")
    schedule = '[[stream]]\nname = "hog"\nstart = "8s"\nend = "12s"\n'
    verdict = diagnose(_kept(tmp_path, Workload("two", (steady, hog)), schedule, cost="2 ms"))
    (finding,) = (one for one in verdict.findings if one.rule == "component-saturated")
    assert finding.title == "Controller A is used to the full at times"
    assert finding.start_ns is not None
    assert finding.start_ns - 1_795_132_800_000_000_000 == pytest.approx(8 * NS_PER_S, abs=0.3 * NS_PER_S)
    assert finding.numbers["time_share"] == pytest.approx(0.2, abs=0.03)


_FLASH = """\
name = "array"
cache = {{ write = {{ size = "64 MiB", destages = {destages} }} }}
group = [{{ name = "pool", drive = "sata-ssd", count = 8, layout = "raid5" }}]
volume = [{{ name = "v", group = "pool", size = "100 GiB" }}]
host = [{{ name = "h", volumes = [{{ volume = "v" }}] }}]
"""


def test_a_full_write_cache_is_told_where_more_outstanding_would_get_nothing_done() -> None:
    writes = Workload("writes", (Stream(Mix((AccessSpec(8192, read_share=0.0),)), Closed(64), name="writes"),))

    def simulated(destages: int, outstanding: int = 64) -> Simulated:
        streams = (replace(writes.streams[0], load=Closed(outstanding)),)
        design = read_design(_FLASH.format(destages=destages), "flash.toml", None)
        return simulate(plan_of(design, replace(writes, streams=streams), duration="5s"), started_ns=0)

    few, deeper, more = simulated(8), simulated(8, 128), simulated(40)
    assert few.bottleneck.kind == "cache"
    assert few.bottleneck.words.startswith("The write cache is full: I/Os wait ")
    assert "more outstanding" not in few.bottleneck.words
    rates = [one.judgement.estimates["iops"].value for one in (few, deeper, more)]
    assert rates[1] == pytest.approx(rates[0], rel=0.02)
    assert rates[2] > 2 * rates[0]


def test_waiting_for_what_is_read_ahead_is_no_want_of_room() -> None:
    window = {"components": [], "limits": []}
    assert bottleneck(window, {"cache_wait": 9.0, "front_end": 1.0}, {}, is_open=False).kind == "load"
    assert bottleneck(window, {"cache_wait": 9.0, "front_end": 1.0}, {}, is_open=False, room_ns=9.0).kind == "cache"
