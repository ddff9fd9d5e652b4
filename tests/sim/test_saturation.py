"""What is used to the full in a simulated array is named by `diagnose`, from what the store keeps of each interval."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Open
from storscope.domain.units import NS_PER_S, format_bandwidth, format_duration, format_ratio
from storscope.domain.verdict import Verdict
from storscope.domain.workload import Stream, Workload
from storscope.sim.bottleneck import bottleneck
from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.sim.volume_time import BEFORE_SENDING
from storscope.sim.window import window
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


@pytest.mark.parametrize(
    "keys", [{"lun": ", queue_limit = 2"}, {"host": "queue_limit = 3"}, {"host": "adapter_queue_limit = 3"}]
)
def test_what_an_io_takes_below_a_limit_in_the_host_is_told_with_the_room_of_the_drives(
    keys: dict[str, str], tmp_path: Path
) -> None:
    (finding,) = (one for one in diagnose(_kept(tmp_path, **keys)).findings if one.rule == "host-queue-full")
    assert "Below the host an I/O then took " in finding.summary
    assert finding.summary.endswith(" %: the array has room.")


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


@pytest.mark.parametrize("max_outstanding", [64, 4096])
def test_a_full_write_cache_is_told_in_an_open_loop_too(max_outstanding: int) -> None:
    """How many I/Os may be in flight decides how many wait before they are sent, and not what they wait for."""
    load = Open(20_000.0, max_outstanding=max_outstanding)
    writes = Workload("writes", (Stream(Mix((AccessSpec(8192, read_share=0.0),)), load, name="writes"),))
    design = read_design(_FLASH.format(destages=8), "flash.toml", None)
    found = simulate(plan_of(design, writes, duration="5s"), started_ns=0)
    assert found.bottleneck.kind == "cache"
    assert found.bottleneck.words.startswith("The write cache is full: I/Os wait ")
    assert found.bottleneck.time_share is not None and found.bottleneck.time_share > 0.9
    waits = BEFORE_SENDING in found.time_spent[0].parts_ns
    assert ("of all their time, they wait to be sent." in found.bottleneck.words) == waits
    assert "allow more outstanding" not in " ".join(found.doubts)


_TWO = """\
name = "array"
cache = {{ write = {{ size = "64 MiB", destages = 8 }} }}
group = [{{ name = "pool", drive = "sata-ssd", count = 8, layout = "raid5" }}]
volume = [{{ name = "v", group = "pool", size = "100 GiB" }}, {{ name = "w", group = "pool", size = "100 GiB" }}]
host = [{{ name = "h", volumes = [{{ volume = "v"{lun} }}] }}, {{ name = "i", volumes = [{{ volume = "w" }}] }}]
"""


def _beside_readers(outstanding: int, read_share: float, lun: str = "", drive: str = "sata-ssd") -> Simulated:
    """A closed loop on one volume beside readers on another that spend most of all the time."""
    first = Stream(Mix((AccessSpec(8192, read_share=read_share),)), Closed(outstanding), targets=(0,), name="first")
    readers = Stream(Mix((AccessSpec(8192),)), Open(100_000.0), targets=(1,), name="readers")
    text = _TWO.format(lun=lun).replace("sata-ssd", drive)
    plan = plan_of(read_design(text, "two.toml", None), Workload("two", (first, readers)), duration="5s")
    return simulate(plan, started_ns=0)


def _done_on_first(run: Simulated) -> int:
    return sum(one.ios for one in run.time_spent if one.target == 0)


def test_a_full_write_cache_is_told_where_others_spend_more_time() -> None:
    few, deeper = _beside_readers(8, 0.0), _beside_readers(16, 0.0)
    assert _done_on_first(deeper) == pytest.approx(_done_on_first(few), rel=0.03)
    assert few.bottleneck.kind == "cache"
    assert few.bottleneck.time_share is not None and few.bottleneck.time_share < 0.3
    assert few.bottleneck.words.startswith("The write cache is full: I/Os of h/v wait ")
    assert few.bottleneck.words.endswith(" For other volumes the load is the limit.")


def test_a_queue_limit_is_told_where_others_spend_more_time() -> None:
    few, deeper = (_beside_readers(depth, 1.0, ", queue_limit = 2") for depth in (4, 8))
    assert _done_on_first(deeper) == pytest.approx(_done_on_first(few), rel=0.03)
    assert few.bottleneck.kind == "limit"
    assert few.bottleneck.time_share is not None and few.bottleneck.time_share < 0.3
    assert few.bottleneck.words.startswith("The queue limit of LUN h/v (2) binds: I/Os of h/v wait ")
    assert few.bottleneck.words.endswith(" For other volumes the load is the limit.")


def test_what_reads_wait_for_at_flash_that_is_used_little_is_told() -> None:
    """Dies that move pages in bursts hold reads up although most dies have nothing to do."""
    run = _beside_readers(8, 0.0)
    drives = [one for one in run.window["components"] if one["kind"] == "drive"]
    reads = next(one for one in run.time_spent if one.direction == "reads")
    assert max(one["used_ratio"] for one in drives) < 0.3
    assert reads.parts_ns["drive_queue"] > 0.7 * reads.mean_ns
    waited, for_writes = (sum(one[name] for one in drives) for name in ("read_wait_ns", "read_wait_for_writes_ns"))
    assert for_writes > 0.9 * waited
    mean = format_duration(for_writes / sum(one["operations"][0] for one in drives))
    assert (
        f"Reads wait at the 8 drives of pool for dies that program or move pages for writes, "
        f"{format_ratio(for_writes / waited)} of their wait there, {mean} each on average"
    ) in run.bottleneck.words
    stops_for_reads = _beside_readers(8, 0.0, drive="nvme-ssd")
    assert "for dies that program" not in stops_for_reads.bottleneck.words
    assert next(one for one in stops_for_reads.time_spent if one.direction == "reads").mean_ns < 0.3 * reads.mean_ns


def test_a_rebuild_beside_hosts_is_told_with_what_bounds_them() -> None:
    """It takes what hosts leave of the drives: these are used to the full whatever is asked of them."""
    work = '[[background]]\nname = "repair"\nkind = "rebuild"\ngroup = "pool"\n'
    fails = '[[at]]\ntime = "10s"\ndrive_fails = { group = "pool", index = 3 }\n'
    text = _DESIGN.format(links="", cost="20 us", host="", lun="").replace("count = 32", "count = 4\nspares = 1")
    design = read_design(text + work, "array.toml", read_schedule(fails, "s.toml"))
    few = Workload("few", (Stream(Mix((AccessSpec(8192),)), Open(100.0), name="few"),))
    run = simulate(plan_of(design, few, duration="30s"), started_ns=0)
    before, during = (bound.words for _, bound in run.bounds)
    assert "Meanwhile" not in before
    part = window(run.array, 10 * NS_PER_S, 30 * NS_PER_S)
    rate = format_bandwidth(part["background"][0]["bytes"] / part["duration_ns"] * NS_PER_S)
    assert f"Meanwhile rebuild 'repair' (drives of pool, {rate}) runs, which hosts wait behind, too." in during
    assert "Without a `rate` it takes what they leave" in during
    slow = read_design(text + work + 'rate = "20 MB/s"\n', "array.toml", read_schedule(fails, "s.toml"))
    limited = simulate(plan_of(slow, few, duration="30s"), started_ns=0).bounds[-1][1].words
    assert "(drives of pool, 20.0 MB/s of the 20.0 MB/s that its `rate` allows)" in limited
    assert "Without a `rate`" not in limited


def test_work_behind_the_wait_for_a_place_or_the_cache_is_told_and_only_while_it_runs() -> None:
    """Hosts wait before their limit, or for room, because of drives that a scrub has, too. What it began ends later."""
    text = _DESIGN.format(links="", cost="20 us", host="", lun=", queue_limit = 4").replace("count = 32", "count = 4")
    work = '[[background]]\nname = "check"\nkind = "scrub"\ngroup = "pool"\nstart = "10s"\noutstanding = 4\n'
    stops = '[[at]]\ntime = "20s"\nbackground_stops = "check"\n'
    reads = Workload("reads", (Stream(Mix((AccessSpec(8192),)), Closed(64), name="reads"),))
    writes = Workload("writes", (Stream(Mix((AccessSpec(8192, read_share=0.0),)), Closed(64), name="writes"),))
    cached = text.replace(", queue_limit = 4", "") + '[cache]\nwrite = { size = "4 MiB" }\n'
    for design, load in ((text, reads), (cached, writes)):
        plan = plan_of(read_design(design + work, "a.toml", read_schedule(stops, "s.toml")), load, duration="30s")
        told = [bound.background for _, bound in simulate(plan, started_ns=0).bounds]
        assert told == [None, "scrub 'check'", None]


def test_a_closed_loop_is_said_to_leave_more_to_work_without_a_rate() -> None:
    """Work takes its turn at drives as hosts do, so that these do less beside it: it has more than what they left."""
    text = _DESIGN.format(links="", cost="20 us", host="", lun="").replace("count = 32", "count = 4")
    work = '[[background]]\nname = "check"\nkind = "scrub"\ngroup = "pool"\nstart = "0s"\noutstanding = 4\n'
    of_closed, of_open, alone = (
        simulate(
            plan_of(read_design(text + beside, "array.toml"), Workload("w", (stream,)), duration="20s"), started_ns=0
        )
        for beside, stream in (
            (work, Stream(Mix((AccessSpec(8192),)), Closed(4), name="c")),
            (work, Stream(Mix((AccessSpec(8192),)), Open(100.0), name="o")),
            ("", Stream(Mix((AccessSpec(8192),)), Closed(4), name="c")),
        )
    )
    done = [run.judgement.estimates["iops"].value for run in (of_closed, alone)]
    assert done[0] < 0.7 * done[1]
    assert "Without a `rate`" in of_closed.bottleneck.words
    assert of_closed.bottleneck.words.endswith(
        " In a closed loop they ask for less the longer they wait, and so leave it more."
    )
    assert "Without a `rate`" in of_open.bottleneck.words
    assert "closed loop" not in of_open.bottleneck.words


def test_work_of_few_steps_at_a_time_is_not_said_to_take_all_that_hosts_leave() -> None:
    """One step of a restripe after another leaves the drives idle for most of the time; more at a time move more."""
    text = _DESIGN.format(links="", cost="20 us", host="", lun="").replace("count = 32", "count = 8")
    work = '[[background]]\nname = "level"\nkind = "restripe"\ngroup = "pool"\nstart = "0s"\n'
    few = Workload("few", (Stream(Mix((AccessSpec(8192),)), Open(200.0), name="few"),))
    one, eight = (
        simulate(plan_of(read_design(text + work + steps, "array.toml"), few, duration="30s"), started_ns=0)
        for steps in ("", "outstanding = 8\n")
    )
    moved = [window(run.array, 0, 30 * NS_PER_S)["background"][0]["bytes"] for run in (one, eight)]
    assert moved[1] > 3 * moved[0]
    assert "Meanwhile restripe 'level' (drives of pool, " in one.bottleneck.words
    assert one.bottleneck.words.endswith(
        " Without a `rate` it takes what they leave of the drives, as far as what it has under way at a time "
        "(`outstanding`) can use it: they are not used to the full."
    )


_LOG = """\
name = "log"
cache.write = {{ size = "64 MiB", placement = "log"{destages} }}
group = [{{ name = "g", drive = "10k-sas", count = 9, layout = "raid5" }}]
volume = [{{ name = "v", group = "g", size = "100 GiB" }}]
controller = [{{ name = "A", servers = 4, cost_per_op = "20 us" }}]
host = [{{ name = "h", volumes = [{{ volume = "v" }}] }}]
"""


def test_drives_with_pauses_are_said_to_empty_the_cache_no_faster_only_without_more_destages() -> None:
    """36 destages are four and a half stripes of eight segments: drives used to nine tenths do far more with 144."""
    writes = Workload("writes", (Stream(Mix((AccessSpec(16384, read_share=0.0),)), Closed(32), name="writes"),))
    usual, more = (
        simulate(plan_of(read_design(_LOG.format(destages=own), "a.toml"), writes, duration="20s"), started_ns=0)
        for own in ("", ", destages = 144")
    )
    assert _done_on_first(more) > 1.5 * _done_on_first(usual)
    assert usual.bottleneck.used_ratio is not None and 0.8 < usual.bottleneck.used_ratio < 0.95
    assert (
        " and cannot empty the write cache faster, unless more destages under way at a time (`destages`) fill the "
        "pauses that they have: I/Os wait for room in it "
    ) in usual.bottleneck.words
    assert " and cannot empty the write cache faster: I/Os wait for room in it " in more.bottleneck.words


def test_drives_that_can_just_empty_the_cache_are_told_with_the_wait_for_room() -> None:
    part = {"components": [_component("drive", "g/0", 1.0, "g")], "limits": []}
    found = bottleneck(part, {"cache_wait": 1.0, "front_end": 9.0}, {}, is_open=False, room_ns=1.0)
    assert found.words == (
        "Drive g/0 is used to 100 %; I/Os spend 0 % of their time there. Another 10 % they wait for room in the write "
        "cache, which it empties."
    )


def test_several_components_fill_or_empty_the_cache_in_the_plural() -> None:
    two = [_component("back_end_link", f"{name} in", 1.0) for name in "AB"]
    assert _words(two, {"cache_wait": 8.0, "front_end": 2.0}).endswith("for the cache, which these fill or empty.")
    assert _words(two[:1], {"cache_wait": 8.0, "front_end": 2.0}).endswith("for the cache, which it fills or empties.")
    found = bottleneck(
        {"components": _drives("g", 1.0, 1.0), "limits": []}, {"cache_wait": 1.0, "front_end": 9.0}, {},
        is_open=False, room_ns=1.0,
    )  # fmt: skip
    assert found.words.endswith("they wait for room in the write cache, which these empty.")


def test_waiting_for_what_is_read_ahead_is_no_want_of_room() -> None:
    part = {"components": [], "limits": []}
    assert bottleneck(part, {"cache_wait": 9.0, "front_end": 1.0}, {}, is_open=False).kind == "load"
    assert bottleneck(part, {"cache_wait": 9.0, "front_end": 1.0}, {}, is_open=False, room_ns=9.0).kind == "cache"


def _component(kind: str, name: str, used: float, group: str | None = None) -> dict[str, object]:
    return {
        "kind": kind, "name": name, "group": group, "used_ratio": used, "busy_ratio": used, "is_spare": False,
        "is_failed": False, "throughput_per_s": 1.0, "allows": None,
    }  # fmt: skip


def _drives(group: str, *used: float) -> list[dict[str, object]]:
    return [_component("drive", f"{group}/{number}", ratio, group) for number, ratio in enumerate(used)]


def _words(components: list[dict[str, object]], parts: dict[str, float]) -> str:
    return bottleneck({"components": components, "limits": []}, parts, {}, is_open=False).words


def test_what_reads_of_flash_wait_for_is_of_all_drives_of_a_group() -> None:
    waits = {"read_wait_ns": 8_000_000, "read_wait_for_writes_ns": 6_000_000, "operations": [40, 40]}
    drives = [{**one, **waits} for one in _drives("g", 0.5, 0.1, 0.1)]
    said = _words(drives, {"drive_queue": 9.0, "drive_service": 1.0})
    assert "Reads wait at the 3 drives of g for dies that program or move pages for writes, 75 % of their wait" in said
    assert "150 µs each on average" in said
    for one in drives:
        one["read_wait_for_writes_ns"] = 3_000_000
    assert "Reads wait at" not in _words(drives, {"drive_queue": 9.0, "drive_service": 1.0}), "for each other mostly"
    full = [{**one, **waits} for one in _drives("g", 0.9, 0.9)]
    assert "Reads wait at" not in _words(full, {"drive_queue": 9.0, "drive_service": 1.0}), (
        "the drives are used to 90 %"
    )


def test_components_of_a_kind_that_are_used_alike_are_named_together() -> None:
    at_drives = {"drive_queue": 9.0, "front_end": 1.0}
    alike = [*_drives("a", 0.913, 0.913), *_drives("b", 0.911, 0.911), *_drives("c", 0.88, 0.88)]
    spent = "I/Os spend 90 % of their time there."
    assert _words(alike, at_drives) == f"The 2 drives of a and the 2 drives of b are used to 91 %; {spent}"
    nearly = [*_drives("a", 0.9, 0.9), *_drives("b", 0.915, 0.915)]
    assert _words(nearly, at_drives).startswith(
        "The 2 drives of a and the 2 drives of b are used to between 90 % and 92 %"
    )
    far = [*_drives("a", 0.94, 0.94), *_drives("b", 0.9, 0.9)]
    assert _words(far, at_drives) == f"The 2 drives of a are used to 94 %; {spent}"
    lone = [*_drives("a", 0.97, 0.1, 0.1), *_drives("b", 0.96, 0.1, 0.1)]
    assert _words(lone, at_drives) == (
        f"Drive a/0 and drive b/0 are used to between 96 % and 97 %; {spent} The 3 drives of a are used to 39 % on "
        "average. The 3 drives of b are used to 39 % on average."
    )
    controllers = [_component("controller", name, 0.99) for name in "ABCDEF"]
    assert _words(controllers, {"controller_queue": 1.0}).startswith(
        "Controller A, controller B, controller C and 3 more are used to 99 %"
    )


def test_drives_of_a_group_that_are_used_most_alike_are_named_together() -> None:
    """A volume on the first pair of three loads both of its drives, which is told of neither of them alone."""
    text = _DESIGN.format(links="", cost="20 us", host="", lun="").replace("raid10", "raid1").replace("32", "6")
    small = read_design(text.replace("500 GiB", "100 GiB"), "array.toml", None)
    found = simulate(plan_of(small, _READS, duration="20s"), started_ns=0).bottleneck
    assert found.kind == "drive"
    assert found.words.startswith("Drives pool/0 and pool/1 are used to > 99.9 %; I/Os spend ")
    assert found.words.endswith(" The 6 drives of pool are used to 33 % on average.")
    idle = _words(_drives("g", 0.001, 0.015, 0.001, 0.001), {"drive_service": 1.0})
    assert "The most used: drive g/1, to 2 %." in idle, "two points are no likeness of what is hardly used"


_TWO_CONTROLLERS = """\
name = "array"
group = [{ name = "pool", drive = "nvme-ssd", count = 4, layout = "raid0" }]
volume = [
    { name = "a", group = "pool", size = "100 GiB", owner = "A" },
    { name = "b", group = "pool", size = "100 GiB", owner = "B" },
]
controller = [{ name = "A", cost_per_op = "1 ms" }, { name = "B", cost_per_op = "1 ms" }]
host = [{ name = "h", volumes = [{ volume = "a" }, { volume = "b" }] }]
"""


def test_time_at_a_kind_of_components_is_not_told_of_those_named_alone() -> None:
    """Four I/Os stay at A but for their reads of 0.1 ms; at B, of 700 a second, M/D/1 holds 0.7 + 0.49 / 0.6 = 1.52."""
    full = Stream(Mix((AccessSpec(8192),)), Closed(4), name="full", targets=(0,))
    beside = Stream(Mix((AccessSpec(8192),)), Open(700.0), name="beside", targets=(1,))
    design = read_design(_TWO_CONTROLLERS, "two.toml", None)
    run = simulate(plan_of(design, Workload("two", (full, beside)), duration="20s"), started_ns=0)
    said = re.fullmatch(
        r"Controller A is used to (?:100|> 99.9) %; I/Os spend (\d+) % of their time at controllers, where (\d+) % of "
        r"the requests are at the one named\.",
        run.bottleneck.words,
    )
    assert said, run.bottleneck.words
    assert int(said[1]) == pytest.approx(100 * (3.9 + 1.52) / (4 + 1.52 + 0.07), abs=2)
    assert int(said[2]) == pytest.approx(100 * 3.9 / (3.9 + 1.52), abs=3)
    alone = simulate(plan_of(design, Workload("one", (full,)), duration="5s"), started_ns=0).bottleneck.words
    assert alone.endswith("of their time there.")


def test_which_of_those_that_are_used_alike_is_ahead_makes_no_other_bottleneck() -> None:
    def bound(*used: float) -> tuple[str | None, float | None]:
        components = [one for group, ratio in zip("ab", used, strict=True) for one in _drives(group, ratio, ratio)]
        found = bottleneck({"components": components, "limits": []}, {"drive_queue": 1.0}, {}, is_open=False)
        return found.name, found.used_ratio

    assert bound(0.9, 0.91) == ("a", 0.9)
    assert bound(0.91, 0.9) == ("a", 0.91)
    assert bound(0.8, 0.91) == ("b", 0.91)


def test_where_the_time_goes_is_named_if_it_is_not_at_what_is_used_most() -> None:
    elsewhere = {"controller_queue": 1.0, "drive_service": 9.0}
    drives = _drives("g", 0.32, 0.32)
    some = _words([_component("controller", "A", 0.87), *drives], elsewhere)
    assert some.endswith(
        "10 % of their time there. They spend 90 % of it at the 2 drives of g, which are used to 32 %: both count."
    )
    two = _words([_component("controller", "A", 0.87), *drives, *_drives("h", 0.4, 0.4)], elsewhere)
    assert "90 % of it at drives, of which the 2 drives of h are used to 40 %: both count." in two
    full = _words([_component("controller", "A", 0.96), *drives], elsewhere)
    there = _words([_component("controller", "A", 0.87), *drives], {"controller_queue": 4.0, "drive_service": 6.0})
    assert "both count" not in full + there


def test_what_is_full_for_other_ios_than_those_of_the_most_used_is_named_too() -> None:
    """A controller is used to the full by one host, and the limit of another one holds nearly all I/Os."""
    limit = _component("rate_limit", "host b", 0.999) | {"allowed": "1,000 IOPS"}
    words = _words([_component("controller", "A", 1.0), limit], {"controller_queue": 7.0, "rate_limit": 93.0})
    assert words.endswith(
        "7 % of their time there. They spend 93 % of it at the rate limit of host b (1,000 IOPS), which is used to "
        "99.9 %: both count."
    )


def test_flash_behind_a_controller_gains_little_from_a_faster_one() -> None:
    work = Workload("w", (Stream(Mix((AccessSpec(8192, read_share=0.7),)), Closed(64), name="w"),))

    def simulated(cost: str) -> Simulated:
        text = _FLASH.format(destages=8).replace('cache = { write = { size = "64 MiB", destages = 8 } }\n', "")
        text += f'controller = [{{ name = "A", cost_per_op = "{cost}" }}]\n'
        return simulate(plan_of(read_design(text, "flash.toml", None), work, duration="2s"), started_ns=0)

    one, fast = simulated("20 us"), simulated("10 us")
    assert one.bottleneck.kind == "controller"
    assert "at the 8 drives of pool" in one.bottleneck.words
    assert fast.judgement.estimates["iops"].value < 1.1 * one.judgement.estimates["iops"].value


def test_the_wait_for_the_last_of_several_drives_is_told_in_words() -> None:
    part = {"components": [], "limits": []}
    found = bottleneck(part, {"join": 6.0, "drive_service": 4.0}, {}, is_open=True)
    assert found.part == "join", "as in JSON"
    assert found.words.endswith(" 60 % of an I/O's time is wait for the slowest drive.")


def test_a_table_names_one_of_several_that_bound_a_run_alike_and_counts_the_others() -> None:
    two = [_component("controller", name, 0.99) for name in "AB"]
    found = bottleneck({"components": two, "limits": []}, {"controller_queue": 1.0}, {}, is_open=False)
    assert (found.name, found.alike, found.short) == ("A", 2, "controller A and 1 more 99 %")
    found = bottleneck({"components": two[:1], "limits": []}, {"controller_queue": 1.0}, {}, is_open=False)
    assert (found.alike, found.short) == (1, "controller A 99 %")
    assert replace(found, is_at_times=True).short == "controller A 99 % at times"
    limit = {"kind": "lun", "most": 8, "waited": 9, "waiting_mean": 9.0, "used_mean": 8.0, "full_ratio": 1.0}
    limits = [{**limit, "name": f"h/v{number}"} for number in range(3)]
    found = bottleneck({"components": [], "limits": limits}, {"lun_queue": 1.0}, {}, is_open=False)
    assert (found.kind, found.alike, found.short) == ("limit", 3, "queue limit of lun h/v0 and 2 more")
