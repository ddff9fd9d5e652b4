"""Devices that iostat lists side by side: a disk, the RAID on it and the volumes on that carry one load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.peers import grid_of, grids, peer_layers, rests_on
from storscope.diagnose.rules import heavy_hitter, noisy_neighbour
from storscope.domain.finding import Finding, NotEvaluated
from storscope.domain.recorder import Recorder
from tests.diagnose.days import MS, FloatArray, entity, quiet, record
from tests.support.cases import findings, judge, make_case

_COUNT = 360


def _host(
    ops: Mapping[str, FloatArray], latency: FloatArray | float = 5 * MS, *, links: tuple[tuple[str, str], ...] = ()
) -> Callable[[Recorder], None]:
    """Devices of the host 'lab' with these operations of 16 KiB, all as slow as one another."""

    def write(recorder: Recorder) -> None:
        rate = np.array(list(ops.values()))
        slow = np.broadcast_to(np.asarray(latency), rate.shape).copy()
        columns = {"ops_per_s": rate, "bytes_per_s": rate * 16_384, "latency_ns_mean": slow}
        record(recorder, columns, list(ops), kind="device", system="lab", step_s=10, on=None)
        for upper, lower in links:
            recorder.link(entity(upper, "device", "lab"), "lives_on", entity(lower, "device", "lab"))

    return write


def _loads(count: int) -> FloatArray:
    return quiet(np.random.default_rng(4), count, _COUNT) * np.linspace(1, 3, count)[:, None]


def _loud() -> np.ndarray:
    return (np.arange(_COUNT) // 30) % 4 == 2


def _lvm() -> tuple[dict[str, FloatArray], FloatArray]:
    """A victim and a hog, both volumes of one disk that waits eight times as long while the hog is loud."""
    victim, hog = _loads(2)
    hog = np.where(_loud(), 20 * hog, hog / 10)
    rng = np.random.default_rng(5)
    slow = np.where(_loud(), 40 * MS, 5 * MS) * rng.gamma(400, 1 / 400, _COUNT)
    return {"sda": victim + hog, "dm-0": victim, "dm-1": hog}, slow


def _layers(path: Path, write: Callable[[Recorder], None]) -> list[list[str]]:
    return [[one.entity.name for one in layer] for layer in peer_layers(make_case(path, write), "lab", "device")]


def test_a_disk_is_no_neighbour_of_its_own_volumes_and_the_hog_among_them_is_named(tmp_path: Path) -> None:
    case = make_case(tmp_path, _host(*_lvm()))
    [finding] = findings(noisy_neighbour.RULE, case)
    assert finding.title == "Device dm-1 slows down dm-0"
    assert "They share device sda." in finding.summary
    [heavy] = findings(heavy_hitter.RULE, case)
    assert heavy.entities[0].name == "dm-1"
    assert heavy.numbers["share_of_operations"] > 0.9, "of its own layer, in which each load is once"


def _without_rows(
    ops: Mapping[str, FloatArray], latency: FloatArray | float, absent: Mapping[str, np.ndarray]
) -> Callable[[Recorder], None]:
    """The host without the rows of some devices in some intervals."""

    def write(recorder: Recorder) -> None:
        for name, rate in ops.items():
            kept = ~absent.get(name, np.zeros(_COUNT, dtype=bool))
            slow = np.broadcast_to(np.asarray(latency), _COUNT)
            columns = {"ops_per_s": rate, "bytes_per_s": rate * 16_384, "latency_ns_mean": slow}
            for index in np.flatnonzero(kept):
                values = {column: float(cells[index]) for column, cells in columns.items()}
                recorder.observe(entity(name, "device", "lab"), int(index) * 10**10, 10**10, values)

    return write


@pytest.mark.parametrize("incomplete", ["sda", "dm-0", "dm-1"])
def test_a_row_that_is_missing_hides_no_shared_disk(incomplete: str, tmp_path: Path) -> None:
    one_row = np.arange(_COUNT) == 100
    case = make_case(tmp_path, _without_rows(*_lvm(), {incomplete: one_row}))
    [finding] = findings(noisy_neighbour.RULE, case)
    assert finding.title == "Device dm-1 slows down dm-0"
    assert "They share device sda." in finding.summary


def test_what_shares_a_disk_is_told_where_idle_devices_have_no_rows(tmp_path: Path) -> None:
    ops, slow = _lvm()
    hog = np.where(_loud(), ops["dm-1"], 0.0)
    ops = {"sda": ops["dm-0"] + hog, "dm-0": ops["dm-0"], "dm-1": hog}
    case = make_case(tmp_path, _without_rows(ops, slow, {"dm-1": hog == 0}))
    assert {one.name for one in rests_on(case, entity("dm-1", "device", "lab"))} == {"sda"}
    assert {one.name for one in rests_on(case, entity("dm-0", "device", "lab"))} == {"sda"}


def test_where_idle_devices_have_rows_one_without_them_was_not_measured(tmp_path: Path) -> None:
    one, other = _loads(2)
    quiet_half = np.arange(_COUNT) < _COUNT // 2
    ops = {"sda": np.where(quiet_half, 0.0, one + other), "dm-0": np.where(quiet_half, 0.0, one), "dm-1": other}
    case = make_case(tmp_path, _without_rows(ops, 5 * MS, {"dm-1": quiet_half}))
    assert not rests_on(case, entity("dm-0", "device", "lab"))


def test_a_row_that_is_missing_hides_no_volumes_on_luks(tmp_path: Path) -> None:
    ops, slow = _over_luks()
    case = make_case(tmp_path, _without_rows(ops, slow, {"dm-1": np.arange(_COUNT) == 50}))
    assert "dm-0" in {one.name for one in rests_on(case, entity("dm-1", "device", "lab"))}


def test_a_disk_and_the_volume_on_all_of_it_are_one_thing_and_not_judged_against_each_other(tmp_path: Path) -> None:
    load = _loads(1)[0] * np.where(_loud(), 5, 1)
    slow = np.where(_loud(), 30 * MS, 4 * MS)
    case = make_case(tmp_path, _host({"sda": load, "dm-0": load}, slow))
    for rule in (noisy_neighbour.RULE, heavy_hitter.RULE):
        outcomes = judge(rule, case)
        assert not any(isinstance(outcome, Finding) for outcome in outcomes)
        assert isinstance(outcomes[0], NotEvaluated)


def test_a_mirror_is_judged_apart_from_its_members(tmp_path: Path) -> None:
    reads, writes = _loads(2)
    member = reads / 2 + writes
    write = _host({"md0": reads + writes, "sda": member, "sdb": member})
    assert _layers(tmp_path / "a", write) == [["md0"], ["sda", "sdb"]]
    case = make_case(tmp_path / "b", write)
    grid = grid_of(case, "lab", "device")
    assert grid is not None
    assert [one.name for one in grid.entities] == ["sda", "sdb"], "a mirror writes twice; the disks have all of it"
    assert len(grids(case, ("device",))) == 2


@pytest.mark.parametrize("names", [("dm-0", "dm-1"), ("vg-root", "vg-home"), ("mpatha", "mpathb")])
def test_names_of_the_mapper_beside_disks_are_a_layer(names: tuple[str, str], tmp_path: Path) -> None:
    one, other = _loads(2)
    write = _host({"nvme0n1": one + other, names[0]: one, names[1]: other})
    assert _layers(tmp_path, write) == [["nvme0n1"], sorted(names)]


def test_what_is_no_name_of_a_kernel_is_one_layer(tmp_path: Path) -> None:
    loads = _loads(3)
    write = _host(dict(zip(("naa.1", "mpx.vmhba1", "0 C:"), loads, strict=True)))
    assert len(_layers(tmp_path, write)) == 1


def test_links_count_more_than_names(tmp_path: Path) -> None:
    one, other = _loads(2)
    write = _host({"sda": one, "sdb": other, "dm-0": one}, links=(("dm-0", "sda"),))
    assert _layers(tmp_path, write) == [["dm-0", "sdb"]]


def test_a_disk_with_load_of_its_own_stands_with_the_disks(tmp_path: Path) -> None:
    one, other = _loads(2)
    write = _host({"sda": one, "sdb": other, "dm-0": other})
    assert _layers(tmp_path, write) == [["dm-0"], ["sda", "sdb"]]


def test_what_rests_on_what_is_told_by_load_only_where_one_disk_fits(tmp_path: Path) -> None:
    first, second, third = _loads(3)

    def below(path: Path, ops: dict[str, FloatArray], name: str) -> set[str]:
        found = rests_on(make_case(path, _host(ops)), entity(name, "device", "lab"))
        return {one.name for one in found}

    two = {"sda": first + second, "sdb": third * 9, "dm-0": first, "dm-1": second, "dm-2": third * 9}
    assert below(tmp_path / "one", two, "dm-2") == {"sdb"}
    striped = {"sda": first / 2, "sdb": first / 2, "dm-0": first}
    assert below(tmp_path / "striped", striped, "dm-0") == set()
    mirrored = {"sda": first, "sdb": first, "md0": first}
    assert below(tmp_path / "mirrored", mirrored, "md0") == set()


def _with_small_volumes(path: Path, *, left_out: int = 0) -> dict[str, set[str]]:
    """What each of a large volume, two small ones and one on another disk rests on."""
    large, *small = _loads(4) * np.array([[50.0], [1.0], [0.5], [0.4]])
    ops = {"sda": large + sum(small[left_out:2]), "sdb": small[2] + 90, "dm-0": large}
    ops |= {f"dm-{number}": one for number, one in enumerate(small, 1)}
    case = make_case(path, _host(ops))
    return {f"dm-{n}": {one.name for one in rests_on(case, entity(f"dm-{n}", "device", "lab"))} for n in range(4)}


def test_small_volumes_are_seen_to_share_the_disk_with_a_large_one(tmp_path: Path) -> None:
    found = _with_small_volumes(tmp_path)
    assert found == {"dm-0": {"sda"}, "dm-1": {"sda"}, "dm-2": {"sda"}, "dm-3": set()}


def test_small_volumes_that_a_disk_does_not_carry_are_not_put_on_it(tmp_path: Path) -> None:
    found = _with_small_volumes(tmp_path, left_out=2)
    assert found == {"dm-0": {"sda"}, "dm-1": set(), "dm-2": set(), "dm-3": set()}


def test_a_load_of_a_disks_own_is_no_small_volume_of_another(tmp_path: Path) -> None:
    large, small, swap = _loads(3) * np.array([[50.0], [0.5], [1.0]])
    case = make_case(tmp_path, _host({"sda": large + swap, "sdb": small * 1.5, "dm-0": large, "dm-1": small}))
    assert {one.name for one in rests_on(case, entity("dm-0", "device", "lab"))} == {"sda"}
    assert not rests_on(case, entity("dm-1", "device", "lab"))


def test_a_tiny_volume_that_fits_into_what_is_left_by_chance_is_not_put_on_the_disk(tmp_path: Path) -> None:
    large, small, own, tiny = _loads(4) * np.array([[50.0], [1.0], [0.12], [0.04]])
    ops = {"sda": large + small + own, "sdb": tiny * 2, "dm-0": large, "dm-1": small, "dm-2": tiny}
    case = make_case(tmp_path, _host(ops))
    assert {one.name for one in rests_on(case, entity("dm-1", "device", "lab"))} == {"sda"}
    assert not rests_on(case, entity("dm-2", "device", "lab"))


def test_a_log_that_waits_for_a_large_neighbour_on_its_disk_has_it_named(tmp_path: Path) -> None:
    data, log = _loads(2)
    data = np.where(_loud(), 60 * data, 15 * data)
    slow = np.where(_loud(), 7 * MS, 0.1 * MS) * np.random.default_rng(5).gamma(400, 1 / 400, _COUNT)
    case = make_case(tmp_path, _host({"nvme0n1": data + log, "dm-0": data, "dm-1": log}, slow))
    [finding] = findings(noisy_neighbour.RULE, case)
    assert finding.title == "Device dm-0 slows down dm-1"
    assert "They share device nvme0n1." in finding.summary


def _over_luks() -> tuple[dict[str, FloatArray], FloatArray]:
    ops, slow = _lvm()
    return {"nvme0n1": ops["sda"], "dm-0": ops["sda"], "dm-1": ops["dm-0"], "dm-2": ops["dm-1"]}, slow


def _over_paths() -> tuple[dict[str, FloatArray], FloatArray]:
    ops, slow = _lvm()
    paths = dict.fromkeys(("sdb", "sdc", "sdd", "sde"), ops["sda"] / 4)
    return {"sda": np.full(_COUNT, 6.0), **paths, "mpatha": ops["sda"], "vg-a": ops["dm-0"], "vg-b": ops["dm-1"]}, slow


@pytest.mark.parametrize(
    ("stack", "hog", "victim"), [(_over_luks, "dm-2", "dm-1"), (_over_paths, "vg-b", "vg-a")], ids=["luks", "multipath"]
)
def test_what_carries_volumes_is_no_neighbour_of_them(
    stack: Callable[[], tuple[dict[str, FloatArray], FloatArray]], hog: str, victim: str, tmp_path: Path
) -> None:
    case = make_case(tmp_path, _host(*stack()))
    [finding] = findings(noisy_neighbour.RULE, case)
    assert finding.title == f"Device {hog} slows down {victim}"
    [heavy] = findings(heavy_hitter.RULE, case)
    assert heavy.entities[0].name == hog
    assert heavy.numbers["share_of_operations"] > 0.9


def test_the_volumes_of_a_thin_pool_are_the_peers(tmp_path: Path) -> None:
    one, two, three = _loads(3)
    total = one + two + three
    pool = {"nvme0n1": total * 1.002, "dm-0": total * 0.002, "dm-1": total, "dm-2": total}
    write = _host({**pool, "dm-3": one, "dm-4": two, "dm-5": three})
    volumes = _layers(tmp_path / "a", write)[-1]
    assert {"dm-3", "dm-4", "dm-5"} <= set(volumes) <= {"dm-0", "dm-3", "dm-4", "dm-5"}
    below = {one.name for one in rests_on(make_case(tmp_path / "b", write), entity("dm-4", "device", "lab"))}
    assert {"dm-1", "dm-2"} <= below


def test_one_volume_on_luks_is_one_load(tmp_path: Path) -> None:
    load, other = _loads(2)
    write = _host({"sda": load, "sdb": other, "dm-0": load, "dm-1": load})
    [volume] = next(layer for layer in _layers(tmp_path, write) if "sda" not in layer and "dm-0" not in layer)
    assert volume == "dm-1"


def test_two_volumes_with_one_load_on_two_disks_stay_peers(tmp_path: Path) -> None:
    [load] = _loads(1)
    write = _host({"sda": load, "sdb": load, "dm-0": load, "dm-1": load})
    assert ["dm-0", "dm-1"] in _layers(tmp_path, write)


def test_steady_loads_that_add_up_by_chance_are_no_stack(tmp_path: Path) -> None:
    loads = np.random.default_rng(6).normal(1, 0.01, (3, _COUNT)) * np.array([[1000.0], [600.0], [400.0]])
    write = _host({"sda": loads.sum(axis=0), **dict(zip(("dm-0", "dm-1", "dm-2"), loads, strict=True))})
    assert ["dm-0", "dm-1", "dm-2"] in _layers(tmp_path, write)


def test_a_multipath_device_stands_among_the_disks_for_its_paths(tmp_path: Path) -> None:
    load, local = _loads(2)
    failed = np.where(np.arange(_COUNT) < _COUNT // 2, 0.5, 1.0)
    write = _host({"sda": local, "sdb": load * failed, "sdc": load * (1 - failed), "dm-0": load})
    assert _layers(tmp_path, write) == [["dm-0", "sda"]]


def test_links_of_multipath_tell_paths_that_no_sum_tells(tmp_path: Path) -> None:
    first, second, load = _loads(3)

    def linked(recorder: Recorder) -> None:
        _host({"sdb": first, "sdc": second, "mpatha": load})(recorder)
        device = entity("dm-0", "device", "lab")
        recorder.entity(device, label="mpatha")
        for name in ("sdb", "sdc"):
            path = entity(f"1:0:0:{name}", "path", "lab")
            recorder.link(path, "leads_to", device)
            recorder.link(path, "same_as", entity(name, "device", "lab"))

    assert _layers(tmp_path, linked) == [["mpatha"]]


def test_members_of_a_stripe_of_md_stay_with_the_disks(tmp_path: Path) -> None:
    [load] = _loads(1)
    assert ["sda", "sdb"] in _layers(tmp_path, _host({"md0": load, "sda": load / 2, "sdb": load / 2}))
