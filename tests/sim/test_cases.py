"""The field reports that examples/designs reproduces: what each of them says holds in a short simulated run.

Figures of whole runs, with intervals, are in docs/simulated-cases.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from storscope.bench.workloads import load_workload
from storscope.cli.commands.demo import examples_folder
from storscope.domain.units import NS_PER_S
from storscope.sim.assignment import Assignment, assigned
from storscope.sim.design import read_design
from storscope.sim.schedule import Schedule, load_schedule, read_schedule
from storscope.sim.simulation import SimulationPlan
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate

_FOLDER = examples_folder() / "designs"
_DESIGNS = sorted(path.name for path in _FOLDER.glob("*.toml") if path.name.count(".") == 1)


@dataclass(frozen=True)
class Run:
    """A run, without its first `skip_s`: caches have to fill before the drives set the pace."""

    simulated: Simulated
    skip_s: float

    def cells(self, *streams: str) -> tuple[list[Mapping[str, Any]], float]:
        """What was counted of some streams, or of all; and for how many seconds."""
        names = [stream.name for stream in self.simulated.plan.workload.streams]
        kept = [one for one in self.simulated.intervals if one.start_ns >= self.skip_s * NS_PER_S]
        chosen = [cell for one in kept for cell in one.form["cells"] if not streams or names[cell["stream"]] in streams]
        return chosen, sum(one.duration_ns for one in kept) / NS_PER_S

    def iops(self, *streams: str) -> float:
        cells, seconds = self.cells(*streams)
        return float(sum(cell["reads"]["ios"] + cell["writes"]["ios"] for cell in cells)) / seconds

    def mb_per_s(self, direction: str, *streams: str) -> float:
        cells, seconds = self.cells(*streams)
        return float(sum(cell[direction]["bytes"] for cell in cells)) / 1e6 / seconds

    def mean_ms(self, direction: str, *streams: str) -> float:
        tallies = [cell[direction] for cell in self.cells(*streams)[0] if cell[direction]["ios"]]
        total = sum(tally["service"]["mean_ns"] * tally["ios"] for tally in tallies)
        return float(total) / 1e6 / int(sum(tally["ios"] for tally in tallies))

    def components(self, kind: str) -> list[Mapping[str, Any]]:
        """Spares, which never have anything to do, are left out."""
        array = self.simulated.array["components"]
        return [one for one in array if one["kind"] == kind and (kind != "drive" or sum(one["operations"]))]

    def busy_ratio(self, kind: str) -> float:
        busy = [one["busy_ratio"] for one in self.components(kind)]
        return float(sum(busy) / len(busy))

    def share_of_the_longest_queue(self, drives: int) -> float:
        """Of all that is queued at any time, how much is at the pair of drives with the most."""
        queues: Sequence[Sequence[float]] = self.simulated.array["queue"]["mean"][:drives]
        slices = list(zip(*queues, strict=True))
        most = sum(max(one[pair] + one[pair + 1] for pair in range(0, drives, 2)) for one in slices)
        return float(most / sum(sum(one) for one in slices))


def _text(design: str, changes: Mapping[str, str]) -> str:
    text = (_FOLDER / f"{design}.toml").read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def _simulate(text: str, workload: str, seconds: float, schedule: Schedule | None = None, seed: int = 1) -> Simulated:
    design = read_design(text, "the example", schedule)
    definition = load_workload(_FOLDER / f"{workload}.workload.toml")
    assert not definition.losses
    merged = assigned([Assignment(definition.workloads[0], None, definition.targets)], design.attachments)
    duration_ns = round(seconds * NS_PER_S)
    return simulate(SimulationPlan(design, merged, seed, duration_ns, interval_ns=duration_ns // 100), started_ns=0)


@cache
def _run(design: str, workload: str, seconds: float, skip_s: float = 0.0) -> Run:
    return Run(_simulate(_text(design, {}), workload, seconds), skip_s)


@pytest.mark.parametrize("name", _DESIGNS)
def test_every_design_is_sound_and_says_where_it_comes_from(name: str) -> None:
    text = (_FOLDER / name).read_text()
    design = read_design(text, name)
    assert design.form["source"]
    assert f"storscope simulate {name} --workload" in text


def test_every_workload_fits_a_design() -> None:
    told = "".join((_FOLDER / name).read_text() for name in _DESIGNS)
    names = sorted(path.name.removesuffix(".workload.toml") for path in _FOLDER.glob("*.workload.toml"))
    assert len(names) > len(_DESIGNS)
    for name in names:
        assert load_workload(_FOLDER / f"{name}.workload.toml").workloads[0].source, name
        family = name.partition(".")[0]
        assert family in told or any(design.startswith(family) for design in _DESIGNS), name


def test_controllers_of_one_kind_of_array_cost_the_same_in_all_its_designs() -> None:
    for family in ("eva4400", "msa1500", "equallogic", "convoy", "flash-cache"):
        forms = [read_design(_text(name.removesuffix(".toml"), {}), name).form for name in _DESIGNS]
        chosen = [form for form, name in zip(forms, _DESIGNS, strict=True) if name.startswith(family)]
        costs = {tuple(sorted((key, one[key]) for key in one if "cost" in key)) for form in chosen
                 for one in form["controllers"]}  # fmt: skip
        assert len(chosen) > 1
        assert len(costs) == 1, family


# EVA 4400 -------------------------------------------------------------------------------------------------------------


def test_the_white_papers_point_is_met_for_both_levels() -> None:
    vraid5 = _run("eva4400-96x15k-vraid5", "eva4400-96x15k-vraid5", 40, 20).iops()
    vraid1 = _run("eva4400-96x15k-vraid1", "eva4400-96x15k-vraid1", 40, 20).iops()
    assert vraid5 == pytest.approx(11_000, rel=0.15)
    assert vraid1 == pytest.approx(17_500, rel=0.15)
    assert vraid1 / vraid5 == pytest.approx(17_500 / 11_000, rel=0.15)


def test_32_drives_of_10k_reach_their_limit_where_the_report_puts_it() -> None:
    oltp = _run("eva4400-32x10k-vraid5", "eva4400-32x10k-vraid5.oltp", 80, 50).iops()
    warehouse = _run("eva4400-32x10k-vraid5", "eva4400-32x10k-vraid5.warehouse", 40, 15).iops()
    assert oltp == pytest.approx(3_300, rel=0.15)
    assert warehouse == pytest.approx(2_844, rel=0.15)


def test_one_hog_multiplies_the_latency_of_volumes_that_do_almost_nothing() -> None:
    quiet = _run("eva4400-32x10k-vraid5", "eva4400-32x10k-vraid5.quiet", 30)
    hog = _run("eva4400-32x10k-vraid5", "eva4400-32x10k-vraid5.hog", 40, 15)
    name = "virtual machines"
    assert quiet.mean_ms("reads", name) < 15
    assert hog.mean_ms("reads", name) > 4 * quiet.mean_ms("reads", name)
    assert hog.mean_ms("reads", name) > 20
    assert hog.busy_ratio("drive") > 0.9
    assert hog.busy_ratio("controller") < 0.5


# FATA -----------------------------------------------------------------------------------------------------------------


def _fata(kind: str, seconds: float = 30, skip_s: float = 10) -> Run:
    return _run("eva4400-32xfata-vraid5", f"eva4400-32xfata-vraid5.{kind}", seconds, skip_s)


def test_random_reads_of_fata_drives_collapse_and_random_writes_do_not() -> None:
    sequential, random = _fata("sequential-read").mb_per_s("reads"), _fata("random-read").mb_per_s("reads")
    assert sequential > 10 * random
    assert 3 < random < 7.5
    assert _fata("random-write").mb_per_s("writes") == pytest.approx(46.4, rel=0.25)
    assert _fata("sequential-write").mb_per_s("writes") > 79


def test_two_streams_of_reads_gain_little_in_one_group_and_double_in_two() -> None:
    one = _fata("sequential-read").mb_per_s("reads")
    together = _fata("two-readers-two-volumes").mb_per_s("reads")
    apart = _run("eva4400-2x32xfata-vraid5", "eva4400-2x32xfata-vraid5.readers", 30, 10).mb_per_s("reads")
    assert together < 1.3 * one
    assert apart > 1.7 * one
    random, two_random = _fata("random-read").mb_per_s("reads"), _fata("two-random-readers").mb_per_s("reads")
    assert 1.2 * random < two_random < 2 * random


def test_levelling_takes_reads_and_leaves_writes() -> None:
    name = "eva4400-32xfata-vraid5"
    schedule = load_schedule(_FOLDER / f"{name}.restripe.schedule.toml")
    before, during = _fata("busy"), Run(_simulate(_text(name, {}), f"{name}.busy", 30, schedule), 10)
    assert during.mb_per_s("reads") / before.mb_per_s("reads") == pytest.approx(15 / 28, rel=0.3)
    assert during.mb_per_s("writes") / before.mb_per_s("writes") > 0.95


def _with_extents(design: str, kind: str, seconds: float, skip_s: float) -> Run:
    """An EVA hands out so much of a drive at a time: then volumes are spread over all that is used."""
    text = _text(design, {'segment = "128 KiB"': 'extent = "2 MiB"\nsegment = "128 KiB"'})
    return Run(_simulate(text, f"{design}.{kind}", seconds), skip_s)


def test_with_extents_volumes_beside_a_hog_and_random_fata_io_are_as_reported() -> None:
    """The rows that are nearer to the report with `extent` than without (docs/simulated-cases.md)."""
    assert 20 < _with_extents("eva4400-32x10k-vraid5", "hog", 40, 15).mean_ms("reads", "virtual machines") < 100
    fata = "eva4400-32xfata-vraid5"
    assert _with_extents(fata, "random-read", 30, 10).mb_per_s("reads") == pytest.approx(3.7, rel=0.5)
    assert _with_extents(fata, "random-write", 30, 10).mb_per_s("writes") == pytest.approx(46.4, rel=0.15)


def test_many_logs_on_one_drive_are_random() -> None:
    one, eight = (_run("logs-on-one-disk", f"logs-on-one-disk.{kind}", 20) for kind in ("one-reader", "eight-readers"))
    assert eight.mb_per_s("reads") < one.mb_per_s("reads") / 10
    writer, writers = (_run("logs-on-one-disk", f"logs-on-one-disk.{k}", 20) for k in ("one-writer", "eight-writers"))
    assert writers.mean_ms("writes") > 6 * writer.mean_ms("writes")


# MSA 1500 -------------------------------------------------------------------------------------------------------------


def test_parity_saturates_the_processor_and_mirrors_leave_the_limit_to_the_drives() -> None:
    parity = _run("msa1500-41-sata-raid5", "msa1500.two-streams", 60, 30)
    mirrors = _run("msa1500-2x20-sata-raid10", "msa1500.two-streams", 60, 30)
    assert parity.busy_ratio("controller") > 0.95 > parity.busy_ratio("drive")
    assert mirrors.busy_ratio("controller") < 0.8 < mirrors.busy_ratio("drive")
    streams = ("stream 1", "stream 2")
    assert sum(mirrors.mb_per_s(way, *streams) for way in ("reads", "writes")) == pytest.approx(100, rel=0.3)
    waits = next(part["mean_ns"] for part in parity.simulated.array["targets"][2]["writes"]["parts"]
                 if part["part"] == "controller_queue")  # fmt: skip
    assert 10e6 < waits < 40e6, "commands of others wait tens of milliseconds for the processor"


# The convoy -----------------------------------------------------------------------------------------------------------

_CACHE = {'# [cache.write]\n# size = "1 GiB"': '[cache.write]\nsize = "1 GiB"'}


def _clones(design: str, workload: str, count: int, changes: Mapping[str, str] | None = None) -> tuple[float, Run]:
    """MB/s of all clones together, over a minute: they take up to half of it to gather."""
    simulated = _simulate(_text(design, changes or {}), f"{design}.{workload}", 60)
    run = Run(simulated, 2)
    return run.mb_per_s("reads", *(f"clone {number + 1}" for number in range(count))), run


def test_ten_clones_gather_on_one_pair_and_are_slower_together_than_one_alone() -> None:
    one, _ = _clones("convoy-46x7200-raid10", "one-clone", 1)
    ten, run = _clones("convoy-46x7200-raid10", "ten-clones", 10)
    assert ten < one / 2
    assert run.busy_ratio("drive") < 0.4
    assert run.share_of_the_longest_queue(46) > 0.5


def test_fast_drives_in_four_groups_with_short_segments_end_the_convoy() -> None:
    cured = "convoy-cured-4x12x15k-raid10"
    one, _ = _clones(cured, "one-clone", 1)
    ten, run = _clones(cured, "ten-clones", 10)
    assert ten > 5 * one
    assert ten > 1.5 * _clones("convoy-46x7200-raid10", "ten-clones", 10)[0]
    assert run.share_of_the_longest_queue(48) < 0.3
    assert (
        _clones(cured, "ten-clones", 10, _CACHE)[0] > 3 * _clones("convoy-46x7200-raid10", "ten-clones", 10, _CACHE)[0]
    )


def test_writes_that_no_drive_holds_up_wait_in_the_queue_of_a_lun_full_of_a_convoy() -> None:
    """Under 3 ms before, tens to hundreds with ten clones, by the report."""
    name = "convoy-lun-queue-46x7200-raid10"
    alone, one = _clones(name, "one-clone", 1)
    together, ten = _clones(name, "ten-clones", 10)
    assert alone == pytest.approx(60, rel=0.15)
    assert together < 0.75 * alone
    assert one.mean_ms("writes", "desktops") < 3
    assert 20 < ten.mean_ms("writes", "desktops") < 300
    assert ten.mean_ms("reads", "desktops") > 3 * one.mean_ms("reads", "desktops")
    assert ten.busy_ratio("drive") < 0.4
    assert ten.share_of_the_longest_queue(46) > 0.5
    assert ten.simulated.bottleneck.kind == "limit"
    assert (
        "gathers at few drives at a time: at an average instant one drive of raid10" in ten.simulated.bottleneck.words
    )


def test_the_remedy_also_ends_the_wait_in_the_queues_of_luns() -> None:
    before, convoy = _clones("convoy-lun-queue-46x7200-raid10", "ten-clones", 10, _CACHE)
    after, cured = _clones("convoy-lun-queue-cured-4x12x15k-raid10", "ten-clones", 10)
    alone, _ = _clones("convoy-lun-queue-cured-4x12x15k-raid10", "one-clone", 1)
    assert after > 1.8 * before  # both with a write-back cache
    assert after > 3 * 60  # what one clone made before, by the report
    assert after > 1.5 * alone > 1.5 * 60
    assert cured.mean_ms("writes", "desktops") < 10 < convoy.mean_ms("writes", "desktops")
    assert cured.share_of_the_longest_queue(48) < 0.3


# RAID levels and a flash cache ----------------------------------------------------------------------------------------


def test_raid_50_reads_like_raid_10_and_writes_worse() -> None:
    reads = [_run(f"equallogic-15k-{level}", "equallogic-15k.read", 20).iops() for level in ("raid10", "raid50")]
    mixed = [
        _run(f"equallogic-15k-{level}", "equallogic-15k.read-write", 120, 100).iops() for level in ("raid10", "raid50")
    ]
    assert reads[1] == pytest.approx(reads[0], rel=0.1)
    assert mixed[1] < 0.75 * mixed[0]


def test_the_slow_nas_is_as_slow_as_reported() -> None:
    assert _run("flash-cache-none", "flash-cache.sequential", 20).mb_per_s("reads") == pytest.approx(50, rel=0.2)
    assert _run("flash-cache-none", "flash-cache.random", 20).iops() == pytest.approx(100, rel=0.4)


def test_a_flash_cache_helps_random_reads_by_its_share_of_the_disk() -> None:
    """A tenth of everything, so that the first pass takes a tenth of the time."""
    schedule = (_FOLDER / "flash-cache.schedule.toml").read_text().replace('"20m"', '"2m"')
    found = []
    for name, size in (("none", ""), ("5gb", '"5 GiB"'), ("25gb", '"25 GiB"')):
        changes = (
            {'"50 GiB"': '"5 GiB"'}
            if not size
            else {'"50 GiB"': '"5.0 GiB"', f"size = {size}, ": f'size = "{size[1:-5]}00 MiB", '}
        )
        text = _text(f"flash-cache-{name}", changes)
        run = Run(_simulate(text, "flash-cache.warm-up", 150, read_schedule(schedule, "the schedule")), 122)
        found.append(run.iops("random"))
    none, tenth, half = found
    assert tenth / none == pytest.approx(1 / 0.9, rel=0.05)
    assert half / none == pytest.approx(1 / 0.5, rel=0.15)
