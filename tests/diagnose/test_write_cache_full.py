from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.rules.write_cache_full import RULE
from storscope.domain import write_cache
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Outcome, Severity
from storscope.domain.recorder import Recorder
from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.diagnose.evidence import needs, only_finding, statements
from tests.support.cases import judge, make_case

_COUNT = 60
_STEP_NS = 10 * 10**9
_START_NS = 1_700_000_000 * 10**9
_MS = 1e6
_CONTROLLER = EntityRef("msa", "controller", "A")
_FULL = slice(30, 45)


def at(usual: float, when_full: float) -> FloatArray:
    """A value in each interval: another one while the cache is full."""
    values = np.full(_COUNT, usual, dtype=np.float64)
    values[_FULL] = when_full
    return values


def cache(used: FloatArray, entity: EntityRef = _CONTROLLER) -> Callable[[Recorder], None]:
    def write(recorder: Recorder) -> None:
        for number, value in enumerate(used):
            recorder.counter(
                recorder.entity(entity),
                _START_NS + number * _STEP_NS,
                _STEP_NS,
                write_cache.USED,
                write_cache.UNIT,
                value,
            )

    return write


def volume(
    name: str, write_ms: FloatArray, writes_per_s: FloatArray, owner: EntityRef | None = None
) -> Callable[[Recorder], None]:
    def write(recorder: Recorder) -> None:
        entity = recorder.entity(EntityRef("msa", "vdisk", name))
        if owner is not None:
            recorder.link(entity, "owned_by", owner)
        for number in range(_COUNT):
            recorder.observe(entity, _START_NS + number * _STEP_NS, _STEP_NS, {
                "write_ops_per_s": writes_per_s[number], "write_bytes_per_s": 8192 * writes_per_s[number],
                "write_latency_ns_mean": write_ms[number] * _MS,
            })  # fmt: skip

    return write


def judged(tmp_path: Path, *writers: Callable[[Recorder], None], **thresholds: float) -> list[Outcome]:
    return judge(RULE, make_case(tmp_path, *writers), **thresholds)


def test_a_full_cache_in_which_writes_wait_is_found_with_who_fills_it(tmp_path: Path) -> None:
    oltp, load = volume("oltp", at(0.3, 12), at(200, 200)), volume("load", at(0.3, 20), at(1, 1_800))
    finding = only_finding(judged(tmp_path, cache(at(0.2, 1.0)), oltp, load))
    assert finding.severity is Severity.WARNING
    assert finding.title == "Controller A: write cache full 25 % of the time"
    assert finding.entities == (_CONTROLLER, EntityRef("msa", "vdisk", "load"))
    assert "takes 19.2 ms instead of 300 µs" in finding.summary, "the mean of all writes, not of volumes"
    assert "volume load (90 % of the bytes)" in finding.summary
    assert "16.4 MB/s (mean): about what the drives take" in finding.summary
    rows = {row[0]: row[1:] for row in finding.evidence[0].rows}
    assert tuple(rows["load"]) == (15, 20e6, 0.3e6, 8192 * 1_800, 8192), "what it rests on, once more from the tables"
    assert tuple(rows["oltp"]) == (15, 12e6, 0.3e6, 8192 * 200, 8192 * 200)
    assert finding.numbers["time_share"] == pytest.approx(0.25)
    assert finding.start_ns == _START_NS + 30 * _STEP_NS
    assert finding.end_ns == _START_NS + 45 * _STEP_NS


def test_a_full_cache_that_still_takes_writes_at_once_is_told_as_healthy(tmp_path: Path) -> None:
    [statement] = statements(judged(tmp_path, cache(at(0.8, 1.0)), volume("oltp", at(0.3, 0.35), at(200, 400))))
    assert "full for 25 % of the time, and a write takes 350 µs then, 300 µs at other times" in statement


def test_a_cache_with_room_is_told_with_its_greatest_fill(tmp_path: Path) -> None:
    [statement] = statements(judged(tmp_path, cache(at(0.2, 0.44)), volume("oltp", at(0.3, 12), at(200, 200))))
    assert statement == "The write cache of controller A is at most 44 % full."


def test_a_moment_is_no_full_cache(tmp_path: Path) -> None:
    used = np.full(_COUNT, 0.2)
    used[20] = 1.0
    assert statements(judged(tmp_path, cache(used), volume("oltp", at(0.3, 0.3), at(200, 200))))


def test_a_cache_that_is_always_full_is_told_by_what_writes_take(tmp_path: Path) -> None:
    always = np.ones(_COUNT)
    finding = only_finding(judged(tmp_path / "slow", cache(always), volume("oltp", at(20, 20), at(200, 200))))
    assert finding.confidence < 0.8
    assert "a write takes 20.0 ms (median)" in finding.summary
    assert "write_latency_ns_usual" not in finding.numbers
    [statement] = statements(judged(tmp_path / "quick", cache(always), volume("oltp", at(0.3, 0.3), at(200, 200))))
    assert "100 % of the time, and a write takes 300 µs then." in statement


def test_writes_of_an_interval_in_which_a_full_cache_empties_do_not_stand_for_those_with_room(tmp_path: Path) -> None:
    """Bursts that fill it at once, and whose last writes come in an interval at whose end it has room again."""
    place = np.arange(_COUNT) % 12
    writes = np.where(place < 4, 1_000.0, 0.0)
    latency = np.where(place < 4, 178.0, np.nan)
    bursts = judged(tmp_path, cache(np.where(place < 3, 1.0, 0.1)), volume("load", latency, writes))
    finding = only_finding(bursts)
    assert "a write takes 178 ms (median)" in finding.summary
    assert "write_latency_ns_usual" not in finding.numbers


def test_what_fills_the_cache_is_not_what_the_drives_take(tmp_path: Path) -> None:
    """30,000 writes fill it within the first full interval; then 500 a second go on, and those the drives take."""
    writes = at(200, 500)
    writes[_FULL.start] += 3_000
    finding = only_finding(judged(tmp_path, cache(at(0.2, 1.0)), volume("v", at(0.3, 12), writes)))
    assert "Writes go on at 4.10 MB/s (mean): about what the drives take." in finding.summary


def test_a_volume_that_a_limit_slows_at_other_times_does_not_hide_what_another_ones_writes_wait_for(
    tmp_path: Path,
) -> None:
    """While the rate of `bulk` is limited its writes wait for that, and most writes are its."""
    bulk, oltp = volume("bulk", at(32, 3.6), at(500, 4_500)), volume("oltp", at(0.05, 9.3), at(90, 90))
    finding = only_finding(judged(tmp_path, cache(at(0.2, 1.0)), bulk, oltp))
    assert "a write of volume oltp takes 9.30 ms instead of 50.0 µs (medians), all together" in finding.summary
    rare = np.where(np.arange(_COUNT) % 4 == 0, at(0.05, 9.3), np.nan)
    [statement] = statements(judged(tmp_path / "rare", cache(at(0.2, 1.0)), bulk, volume("rare", rare, at(1, 1))))
    assert "at other times" in statement


def test_writes_that_a_source_rounds_to_no_time_are_quick(tmp_path: Path) -> None:
    bulk, oltp = volume("bulk", at(32, 3.6), at(500, 4_500)), volume("oltp", at(0.0, 9.3), at(90, 90))
    finding = only_finding(judged(tmp_path, cache(at(0.2, 1.0)), bulk, oltp))
    assert "a write of volume oltp takes 9.30 ms instead of 0" in finding.summary


def test_only_volumes_of_the_controller_are_looked_at(tmp_path: Path) -> None:
    other = EntityRef("msa", "controller", "B")
    mine = volume("mine", at(0.3, 12), at(200, 200), _CONTROLLER)
    others = volume("others", at(0.3, 0.3), at(200, 9_000), other)
    finding = only_finding(judged(tmp_path, cache(at(0.2, 1.0)), mine, others))
    assert finding.entities == (_CONTROLLER, EntityRef("msa", "vdisk", "mine"))
    assert "takes 12.0 ms instead" in finding.summary


def test_a_controller_whose_volumes_tell_no_latency_is_judged_by_its_own(tmp_path: Path) -> None:
    def own(recorder: Recorder) -> None:
        latency = at(0.4, 30)
        for number in range(_COUNT):
            values = {"write_latency_ns_mean": latency[number] * _MS}
            recorder.observe(_CONTROLLER, _START_NS + number * _STEP_NS, _STEP_NS, values)

    finding = only_finding(judged(tmp_path, cache(at(0.2, 1.0)), own))
    assert "takes 30.0 ms instead of 400 µs" in finding.summary
    assert finding.entities == (_CONTROLLER,)


def test_intervals_that_nobody_tells_are_no_writes_of_zero(tmp_path: Path) -> None:
    """Counters of the cache go on where those of volumes have a hole: the pace is that of the rest."""
    writes = at(200, 1_000)
    writes[32:40] = np.nan
    finding = only_finding(judged(tmp_path, cache(at(0.2, 1.0)), volume("v", at(0.3, 12), writes)))
    assert "8.19 MB/s (mean)" in finding.summary


def test_a_counter_without_a_value_is_no_cache(tmp_path: Path) -> None:
    assert needs(judged(tmp_path, cache(np.full(_COUNT, np.nan)), volume("v", at(1, 1), at(1, 1))))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    assert "show controller-statistics" in needs(judged(tmp_path / "no", volume("v", at(1, 1), at(1, 1))))[0]
    assert "latency of writes of controller A" in needs(judged(tmp_path / "none", cache(at(0.2, 1.0))))[0]


_DESIGN = """\
name = "small cache"
[cache]
page = "16 KiB"
write = { size = "64 MiB" }
[[controller]]
name = "A"
cost_per_op = "20 us"
[[group]]
name = "g"
drive = "10k-sas"
count = 6
layout = "raid5"
segment = "64 KiB"
[[volume]]
name = "oltp"
group = "g"
size = "100 GiB"
[[volume]]
name = "load"
group = "g"
size = "100 GiB"
[[host]]
name = "h"
volumes = [{ volume = "oltp" }, { volume = "load" }]
"""
_OLTP = 'name = "oltp"\n[[stream]]\nrate_per_s = 60\nline = [{ size = "8k", read_share = "50%" }]\n'
_LOAD = 'name = "load"\n[[stream]]\nname = "load"\nrate_per_s = 600\nline = [{ size = "8k", read_share = "0%" }]\n'
_SCHEDULE = '[[stream]]\nname = "load"\nstart = "2m"\nend = "3m"\n'


def _of_simulated(folder: Path, *, size: str) -> list[Finding]:
    """A bulk load of a minute beside a steady one, with a write cache of a size."""
    for name, text in (("oltp", _OLTP), ("load", _LOAD)):
        (folder / f"{name}.toml").write_text(text)
    design = read_design(_DESIGN.replace("64 MiB", size), "d.toml", read_schedule(_SCHEDULE, "s.toml"))
    loads = {name: str(folder / f"{name}.toml") for name in ("oltp", "load")}
    store = Store.open(folder / size.replace(" ", ""), create=True)
    store_simulation(store, simulate(plan_of(design, loads, duration="5m"), started_ns=_START_NS))
    return [one for one in diagnose(store).findings if one.rule == RULE.name]


def test_a_simulated_burst_fills_a_small_cache_and_none_that_is_large_enough(tmp_path: Path) -> None:
    """Writes of a minute at 600 a second, in pages of 16 KiB, fit into 2 GiB and not into 64 MiB."""
    (finding,) = _of_simulated(tmp_path, size="64 MiB")
    assert finding.entities[0].kind == "array"
    assert finding.entities[1].name == "load"
    assert finding.numbers["time_share"] == pytest.approx(0.25, abs=0.1), "a minute of four, and what it takes to empty"
    assert _of_simulated(tmp_path, size="2 GiB") == []
