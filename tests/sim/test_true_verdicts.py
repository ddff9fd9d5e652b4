"""What `diagnose` says of simulated arrays, against what is true of them by their design."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.finding import Finding, Severity
from storscope.domain.load import Closed, Open, RateStep, Steps
from storscope.domain.units import NS_PER_S
from storscope.domain.verdict import Verdict
from storscope.domain.workload import Starts, Stream, Workload
from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation

_DESIGN = """\
name = "array"

[cache]
write = { size = "1 GiB", mirrored = true }
prefetch = { depth = "1 MiB" }

[links]
front_end = { preset = "fc4", ports = 2 }
back_end = { preset = "fc4", ports = 2 }
mirror = { preset = "fc4" }

[[group]]
name = "pool"
drive = "fata"
count = 8
layout = "raid5"

[[volume]]
name = "v1"
group = "pool"
size = "400 GiB"
owner = "A"

[[volume]]
name = "v2"
group = "pool"
size = "400 GiB"
owner = "B"

[[controller]]
name = "A"
servers = 2
cost_per_op = "50 us"
cost_per_kib = "1 us"
parity_cost_per_kib = "1 us"

[[controller]]
name = "B"
servers = 2
cost_per_op = "50 us"
cost_per_kib = "1 us"
parity_cost_per_kib = "1 us"

[[host]]
name = "h"
volumes = [{ volume = "v1" }, { volume = "v2" }]
"""


def _verdict(
    path: Path, streams: Sequence[Stream], design: str = _DESIGN, duration: str = "20s", schedule: str = ""
) -> Verdict:
    changes = read_schedule(schedule, "s.toml") if schedule else None
    plan = plan_of(read_design(design, "array.toml", changes), Workload("w", tuple(streams)), duration=duration)
    store = Store.open(path / "store", create=True)
    store_simulation(store, simulate(plan, started_ns=1_795_132_800_000_000_000))
    return diagnose(store)


def _of(verdict: Verdict, rule: str) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.rule == rule]


def test_two_sequential_readers_on_equal_drives_make_no_drive_a_failing_one(tmp_path: Path) -> None:
    """They meet at one drive, which seeks for each request; on two groups of four they do three times as much."""
    line = Mix((AccessSpec(65536, random_share=0),))
    verdict = _verdict(tmp_path, [Stream(line, Closed(1), name="a", targets=(0, 1), starts=Starts.APART)])
    (finding,) = _of(verdict, "uneven-drives")
    assert finding.severity is Severity.INFO
    assert finding.title.startswith("Requests gather at pool/")
    assert "Sequential streams that meet" in finding.summary
    assert finding.remedy.startswith("Leave the drive in")
    assert verdict.worst is None or verdict.worst is Severity.INFO


def test_a_short_queue_at_which_operations_spend_most_of_their_time_is_named(tmp_path: Path) -> None:
    """Random reads of one volume, which come 390 times a second and take 4 ms or so each."""
    design = _DESIGN.replace("count = 8", "count = 24").replace("fata", "10k-sas").replace("raid5", "raid10")
    design = design.replace('{ volume = "v1" }, { volume = "v2" }', '{ volume = "v1", queue_limit = 2 }')
    verdict = _verdict(tmp_path, [Stream(Mix((AccessSpec(8192),)), Open(390.0), name="a")], design, "60s")
    (finding,) = _of(verdict, "host-queue-full")
    assert finding.title == "Queue of 2 is often full on 1 device of array"
    assert finding.numbers["waiting_share"] > 0.5
    assert finding.severity >= Severity.WARNING


def test_a_queue_that_is_full_because_of_one_behind_it_is_told_as_its_effect(tmp_path: Path) -> None:
    """Of 60 outstanding 12 are below the ports, 2 wait there and 46 in the host: more places there move the wait."""
    design = _DESIGN.replace("count = 8", "count = 24").replace("fata", "15k-sas").replace("raid5", "raid10")
    design = design.replace('owner = "B"', 'owner = "A"').replace('name = "A"\n', 'name = "A"\nqueue_limit = 12\n', 1)
    design = design.replace('name = "h"', 'name = "h"\nqueue_limit = 14')
    port, host = _of(
        _verdict(tmp_path, [Stream(Mix((AccessSpec(8192),)), Closed(30), name="a")], design), "host-queue-full"
    )
    assert (port.title, host.title) == (
        "Queue of 12 is full on 1 port of array",
        "Queue of 14 is full on 1 host of array",
    )
    assert "with 2 more waiting on average and 46 for it before the queue of h, 80 % of" in port.summary
    assert port.summary.endswith(": the array has room.")
    assert "used to the full: the 12 places of ports of controller A, so a deeper queue would only move" in host.summary
    assert host.remedy.startswith("Raise the limit behind this one first")
    assert host.weight < port.weight


def test_full_ports_of_one_controller_say_nothing_of_what_goes_to_the_other(tmp_path: Path) -> None:
    """More places in the host bring a third more: reads of w go past the ports that are full."""
    design = _TWO_CONTROLLERS.replace("count = 8", "count = 32").replace("raid10", "raid0")
    design = design.replace('"A", cost_per_op = "400 us"', '"A", queue_limit = 6')
    design = design.replace('"B", cost_per_op = "400 us"', '"B", queue_limit = 24')
    design = design.replace('name = "h"', 'name = "h", queue_limit = 20')
    verdict = _verdict(tmp_path, [Stream(Mix((AccessSpec(8192),)), Closed(16), name="a")], design)
    host = next(one for one in _of(verdict, "host-queue-full") if "on 1 host" in one.title)
    assert "only move the waiting" not in host.summary
    assert host.summary.endswith("Full meanwhile are the 6 places of ports of controller A, too: what goes there would "
                                 "only wait there.")  # fmt: skip
    assert host.remedy.startswith("Spread the load")


_TWO_CONTROLLERS = """\
name = "array"
drives.c = { kind = "curve", size = "20 GiB", block = "8 KiB", reads = [{ qd = 1, iops = 1000 }] }
group = [{ name = "g", drive = "c", count = 8, layout = "raid10" }]
volume = [{ name = "v", group = "g", size = "40 GiB" }, { name = "w", group = "g", size = "40 GiB", owner = "B" }]
controller = [{ name = "A", cost_per_op = "400 us" }, { name = "B", cost_per_op = "400 us" }]
host = [{ name = "h", volumes = [{ volume = "v" }, { volume = "w" }] }]
"""


def test_a_failed_controller_is_no_knee_of_the_load_that_both_have_room_for(tmp_path: Path) -> None:
    """2,300 reads a second of the 5,000 that two controllers can do: the one that is left is used to 92 %."""
    schedule = """
        [[at]]
        time = "1m"
        controller_fails = { controller = "B", takeover = "8 s" }
        [[at]]
        time = "3m"
        controller_returns = "B"
    """
    reads = [
        Stream(Mix((AccessSpec(8192),)), Open(rate), targets=(target,), name=str(target))
        for target, rate in ((0, 1_200.0), (1, 1_100.0))
    ]
    verdict = _verdict(tmp_path, reads, _TWO_CONTROLLERS, "5m", schedule)
    assert not _of(verdict, "load-at-limit")
    (missing,) = (one for one in verdict.not_evaluated if one.rule == "load-at-limit")
    assert missing.needs.endswith("2 min in which a rebuild ran or a controller had failed")


def test_what_had_waited_for_a_controller_is_no_burst_of_load(tmp_path: Path) -> None:
    """What is left over from 30 s on one controller comes as fast as both can when the other one returns. It was told
    as a burst of load beyond a knee of 1,267 IOPS, where 1,667 is right."""
    schedule = """
        [[at]]
        time = "2m"
        controller_fails = { controller = "B", takeover = "8 s" }
        [[at]]
        time = "150s"
        controller_returns = "B"
    """
    levels = (1_600, 900, 1_900, 1_200, 2_100, 1_400)
    reads = [
        Stream(
            Mix((AccessSpec(8192),)),
            Steps(
                tuple(RateStep(levels[(first + place) % 6], 10 * NS_PER_S) for place in range(30)),
                max_outstanding=32768,
            ),
            targets=(target,),
            name=str(target),
        )
        for target, first in ((0, 0), (1, 2))
    ]
    verdict = _verdict(tmp_path, reads, _TWO_CONTROLLERS, "5m", schedule)
    (finding,) = _of(verdict, "load-at-limit")
    assert "a controller had failed, or what had waited for that was done" in finding.summary
    # M/D/1: latency is twice the service at a use of 2/3, of 2,500/s.
    assert finding.numbers["knee_ops_per_s"] == pytest.approx(2_500 * 2 / 3, rel=0.1)
    assert finding.numbers["share_beyond_knee"] < 0.1


_CACHED = """\
name = "array"
cache.write = { size = "256 MiB" }
drives.c = { kind = "curve", size = "20 GiB", block = "8 KiB", reads = [{ qd = 1, iops = 200 }] }
group = [{ name = "g", drive = "c", count = 8, layout = "raid5" }]
volume = [{ name = "v", group = "g", size = "70 GiB" }, { name = "w", group = "g", size = "70 GiB", owner = "B" }]
controller = [{ name = "A", cost_per_op = "50 us" }, { name = "B", cost_per_op = "50 us" }]
host = [{ name = "h", volumes = [{ volume = "v" }, { volume = "w" }] }]
"""


def test_a_drive_that_fails_later_is_no_cause_of_what_a_lost_cache_made_slow(tmp_path: Path) -> None:
    schedule = """
        [[at]]
        time = "2m"
        cache_lost = "A"
        [[at]]
        time = "4m"
        cache_restored = "A"
        [[at]]
        time = "6m"
        drive_fails = { group = "g", index = 1 }
    """
    line = Mix((AccessSpec(8192, read_share=0.5),))
    loads = [Stream(line, Open(rate), targets=(target,), name=str(target)) for target, rate in ((0, 200.0), (1, 50.0))]
    verdict = _verdict(tmp_path, loads, _CACHED, "8m", schedule)
    assert _of(verdict, "drive-failed")
    (slow,) = _of(verdict, "latency-above-tier")
    (slowed,) = _of(verdict, "heavy-hitter")
    assert "drive" not in slow.remedy
    assert "When it began the log says: 'controller A loses its write cache" in slowed.summary
    assert slow.remedy.startswith(f"See when it began, and what a log says of that: '{slowed.title}' (heavy-hitter).")


_FLASH = """\
name = "flash"
group = [{ name = "g", drive = "15k-sas", count = 8, layout = "raid10" }]
volume = [{ name = "v", group = "g", size = "64 MiB" }, { name = "w", group = "g", size = "1 GiB" }]
host = [{ name = "h", volumes = [
    { volume = "v", flash_cache = { size = "1 GiB", read = "20 ms", parallel = %d } }, { volume = "w" }] }]
"""


def test_flash_of_a_host_that_is_used_to_the_full_is_found_with_who_waits_there(tmp_path: Path) -> None:
    """Reads of 20 ms, one after another: eight in flight take 160 ms, whatever the drives could do."""
    reads = (Stream(Mix((AccessSpec(8192),)), Closed(8), targets=(0,)),)
    said = {}
    for parallel in (1, 32):
        verdict = _verdict(tmp_path / str(parallel), reads, _FLASH % parallel, duration="20m")
        said[parallel] = _of(verdict, "component-saturated")
    (finding,) = said[1]
    assert finding.title == "The flash cache of h/v is used to the full"
    assert finding.severity is Severity.CRITICAL
    assert [one.name for one in finding.entities] == ["h/v"]
    assert "operations spend 100 % of their time there" in finding.summary
    assert "Meanwhile operations took: v 1" in finding.summary
    assert finding.remedy.startswith("Take faster flash for the host")
    assert not said[32]
