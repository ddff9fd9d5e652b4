"""A run whose write cache was still filling says so: its drives have work before them that no figure shows."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Load, Open, RateStep, Steps
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Region, Stream, Workload
from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.workbench.cache_filling import doubts_of_cache, doubts_of_reads
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from tests.sim.designs import SMALL

_ALL = Region()
_CACHE = '[cache.write]\nsize = "{size}"\n'


def _simulated(size: str, load: Load, duration: str, schedule: str = "", region: Region = _ALL) -> Simulated:
    writes = Stream(Mix((AccessSpec(4096, read_share=0.0),)), load, name="writes", targets=(0,), region=region)
    workload = Workload("writes", (writes,))
    changes = read_schedule(schedule, "s.toml") if schedule else None
    two = SMALL.replace("[[host]]", '[[controller]]\nname = "B"\ncost_per_op = "20 us"\n\n[[host]]', 1)
    design = read_design(two + _CACHE.format(size=size), "small.toml", changes)
    return simulate(plan_of(design, workload, duration=duration), started_ns=0)


def _filling(simulated: Simulated) -> list[str]:
    return [one for one in simulated.doubts if "still filling:" in one]


def test_writes_that_a_large_cache_takes_for_a_minute_are_doubted_though_no_figure_moves() -> None:
    """The drives keep up with half of that rate: with a cache that is soon full, 1,450 a second are done."""
    minute = _simulated("64 GiB", Open(3000.0), "1m")
    (doubt,) = minute.doubts
    assert doubt == (
        "The write cache was still filling: 100 % of the pages that came to be written were still there at the end, "
        "when 4 % of it was dirty. So the drives had less to do than the load asks of them. "
        "Simulate longer, with --duration."
    )


def test_what_settles_below_its_limit_is_not_doubted() -> None:
    assert not _filling(_simulated("32 MiB", Open(60.0), "4m"))


@pytest.mark.parametrize(("written_bytes", "is_doubted"), [(16 << 20, False), (8 << 30, True)])
def test_places_that_are_all_in_the_cache_leave_it_as_it_is(written_bytes: int, is_doubted: bool) -> None:
    """1,024 pages that are overwritten all the time stay dirty for good, below the mark from which any is destaged."""
    simulated = _simulated("16 GiB", Closed(4), "20s", region=Region(0, written_bytes))
    assert bool(_filling(simulated)) is is_doubted
    assert (simulated.window["cache"]["dirty_pages"] == 1024) is not is_doubted


def test_a_full_cache_is_not_doubted() -> None:
    full = _simulated("32 MiB", Closed(16), "1m")
    assert full.window["cache"]["full_waits"]
    assert not _filling(full)


def test_where_the_array_changes_on_purpose_nothing_is_said() -> None:
    assert not _filling(_simulated("1 GiB", Open(300.0), "1m", '[[at]]\ntime = "30s"\ncache_lost = "A"\n'))


def _steps(*steps: tuple[float, int]) -> Steps:
    return Steps(tuple(RateStep(rate, seconds * NS_PER_S) for rate, seconds in steps))


def test_rate_steps_are_doubted_for_the_last_of_them_or_for_all() -> None:
    """The last step does not tell of what the one before it left in the cache."""
    rising = _simulated("1 GiB", _steps((100.0, 20), (300.0, 20)), "40s")
    burst = _simulated("64 GiB", _steps((3000.0, 30), (10.0, 10)), "40s")
    for simulated in (rising, burst):
        (doubt,) = _filling(simulated)
        assert doubt.endswith(" Let its rate steps last longer.")
    steady = _simulated("8 MiB", _steps((60.0, 120), (90.0, 120)), "4m")
    assert not _filling(steady)
    assert not [one for one in steady.doubts if "became full" in one]


def test_a_cache_that_became_full_in_the_last_step_is_not_still_filling() -> None:
    filled = _simulated("64 MiB", _steps((10.0, 10), (3000.0, 10)), "20s")
    assert not _filling(filled)
    assert sum(one.startswith("The write cache became full: ") for one in filled.doubts) == 1


@pytest.mark.parametrize("duration", ["1 ns", "100 us"])
def test_of_a_run_without_a_whole_interval_nothing_is_said(duration: str) -> None:
    """It was divided by the pages that came, which were none."""
    assert not _filling(_simulated("1 GiB", Closed(16), duration))


def test_a_cache_that_still_fills_in_the_last_phase_is_doubted() -> None:
    moved = '[[at]]\ntime = "30s"\nvolume_moves = { volume = "log", to = "B" }\n'
    assert not _filling(_simulated("64 GiB", Open(3000.0), "1m", '[[at]]\ntime = "30s"\ncache_lost = "A"\n'))
    assert len(_filling(_simulated("64 GiB", Open(3000.0), "1m", moved))) == 1


@pytest.mark.parametrize(
    ("written", "destaged", "said"),
    [(1000, 790, True), (1000, 810, False), (80, 0, True), (79, 0, False), (0, 0, False), (1000, 1200, False)],
)
def test_a_fifth_of_what_came_and_one_page_a_second_for_each_drive_are_the_least_that_is_told(
    written: int, destaged: int, said: bool
) -> None:
    """Pages written twice are one: the drives are spared the second write."""
    cache = {
        "written_pages": written + 500, "absorbed_pages": 500, "destaged_pages": destaged,
        "dirty_pages": 500, "dirty_limit_pages": 10_000,
    }  # fmt: skip
    components = [{"kind": "controller"}, *8 * [{"kind": "drive"}]]
    report = {"cache": cache, "components": components, "duration_ns": 10 * NS_PER_S}
    assert bool(doubts_of_cache(report)) is said


def _reading(place: str, region: str, duration: str, *, volume: str = "4 GiB", offsets: str = '"uniform"') -> list[str]:
    """Random reads of the first part of a volume through a cache of 1 GiB."""
    text = f'''name = "reads"
[[group]]
name = "g"
drive = "15k-sas"
count = 8
layout = "raid10"
[[volume]]
name = "v"
group = "g"
size = "{volume}"
[[controller]]
name = "A"
cost_per_op = "20 us"
{"[cache.read]" if place == "array" else "[unused]"}
size = "1 GiB"
[[host]]
name = "h"
volumes = [{{ volume = "v"{', flash_cache = { size = "1 GiB" }' if place == "flash" else ""} }}]
'''
    if place != "array":
        text = text.replace('[unused]\nsize = "1 GiB"\n', "")
    load = f'''name = "w"
[[stream]]
name = "s"
outstanding = 64
region = {{ length = "{region}" }}
offsets = {offsets}
line = [{{ size = "8k", read_share = 1, random_share = 1 }}]
'''
    return _filling(simulate(plan_of(text, load, duration=duration), started_ns=0))


@pytest.mark.parametrize(("place", "name"), [("flash", "The flash cache of h for v"), ("array", "The read cache")])
def test_a_read_cache_that_was_not_full_and_missed_is_doubted(place: str, name: str) -> None:
    (doubt,) = _reading(place, "3g", "10s")
    assert doubt.startswith(f"{name} was still filling: ")
    assert "of the reads missed it" in doubt
    assert not _reading(place, "16m", "30s"), "all of it is in the cache"
    assert _reading(place, "3g", "10s", volume="400 GiB"), "of which little is used"
    assert not _reading(place, "400g", "10s", volume="400 GiB"), "of which it holds next to nothing"


def test_flash_that_answers_many_reads_of_a_large_volume_is_doubted() -> None:
    """Of 8 TiB and 200 GiB of flash nothing was said, though after five hours it still answered more and more."""
    zipf = '{ kind = "zipf", exponent = 0.99 }'
    assert _reading("flash", "400g", "10s", volume="400 GiB", offsets=zipf)


@pytest.mark.parametrize(
    ("used", "hits", "blocks", "said"),
    [
        (50, 500, 100, True),
        (98, 500, 100, False),
        (50, 951, 100, False),
        (50, 949, 100, True),
        (2, 0, 4, False),
        (2, 49, 4, False),
        (2, 50, 4, True),
    ],
)
def test_what_a_full_cache_would_not_better_is_not_told(used: int, hits: int, blocks: int, said: bool) -> None:
    flash = {"reads": 1000, "hits": hits, "used_blocks": used, "blocks": blocks, "block_bytes": 4096}
    report = {"cache": None, "targets": [{"host": "h", "volume": "v", "flash": flash}]}
    assert bool(doubts_of_reads(report, [100 * 4096], keeps_reads=False)) is said


def test_caches_that_fill_alike_are_told_once() -> None:
    flash = {"reads": 1000, "hits": 500, "used_blocks": 50, "blocks": 100, "block_bytes": 4096}
    report = {"cache": None, "targets": [{"host": f"h{index}", "volume": "v", "flash": flash} for index in range(4)]}
    (doubt,) = doubts_of_reads(report, [100 * 4096] * 4, keeps_reads=False)
    assert doubt.startswith("The flash cache of h0 for v was still filling, and so were 3 more: 50 % of it was in use")


def test_without_a_write_cache_there_is_nothing_to_say() -> None:
    rest = {"components": [{"kind": "drive"}], "duration_ns": NS_PER_S}
    assert doubts_of_cache({"cache": None, **rest}) == ()
    assert doubts_of_cache({"cache": {"dirty_limit_pages": 0}, **rest}) == ()
