from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from storscope.compare import compare_sides, parse_side
from storscope.domain.comparison import Settings
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.workload import AccessSpec, Closed, Mix, Stream, Workload
from storscope.store import Store
from tests.compare.evidence import SECOND, START, Writer, compared, device, only, row, run


def test_runs_are_paired_by_name_before_anything_else(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        [run("8k  Random"), run("seq", block_bytes=65536.0)],
        [run("seq", block_bytes=65536.0), run("8K random")],
    )
    assert [pair.name for pair in found.pairs] == ["8k  Random", "seq"]
    assert not found.unmatched


def test_jobs_that_begin_together_stay_in_the_order_of_their_file(tmp_path: Path) -> None:
    """fio's jobs of one process were listed by the milliseconds between their beginnings: #2, #3, #1."""

    def one_file(recorder: Recorder) -> None:
        for number, start in enumerate((0.002, 0.0, 0.001), 1):
            run(f"oltp #{number}", id=str(number), start=start)(recorder)

    found = compared(tmp_path, [one_file], [one_file])
    assert [pair.name for pair in found.pairs] == ["oltp #1", "oltp #2", "oltp #3"]


def test_without_a_common_name_the_load_pairs_them(tmp_path: Path) -> None:
    found = compared(
        tmp_path, [run("old-a"), run("old-b", read_ratio=0.0)], [run("new-b", read_ratio=0.0), run("new-a")]
    )
    assert [pair.name for pair in found.pairs] == ["old-a → new-a", "old-b → new-b"]
    assert "paired by load" in " ".join(found.pairs[0].notes)


def test_runs_of_one_load_and_several_names_are_repetitions(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a-1", 90.0), run("a-2", 110.0)], [run("b-1", 200.0), run("b-2", 204.0)]))
    assert (len(pair.runs_before), len(pair.runs_after)) == (2, 2)
    assert row(pair, "iops").before == 100
    assert "Taken as repetitions" in " ".join(pair.notes)


def test_what_was_put_together_by_its_load_is_told_apart_from_the_notes(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("base-1"), run("base-2")], [run("new 1"), run("new 2")]))
    assert pair.name == "base-* → new *"
    assert list(pair.pairing) == [
        "The names differ; paired by load.",
        "Taken as repetitions, being numbered and of the same load (before): base-1, base-2.",
        "Taken as repetitions, being numbered and of the same load (after): new 1, new 2.",
    ]


@pytest.mark.parametrize("names", [("sda", "sdb"), ("raid-5", "raid-6"), ("lun 1", "lun 2"), ("r10", "r50")])
def test_runs_of_other_names_are_no_repetitions_though_their_load_is_the_same(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    found = compared(tmp_path, [run(names[0], 1000), run(names[1], 9000)], [run("x", 2000), run("y", 9000)])
    assert not found.pairs
    assert [item.name for item in found.unmatched] == [*names, "x", "y"]


def test_numbered_runs_that_do_not_tell_their_load_are_no_repetitions(tmp_path: Path) -> None:
    before, after = ([run(f"{side}-{k}", outstanding=None) for k in (1, 2)] for side in ("a", "b"))
    assert not compared(tmp_path, before, after).pairs


def test_a_load_that_is_not_stated_is_no_repetition_of_one_that_is(tmp_path: Path) -> None:
    """Its row may be of any mix."""
    found = compared(tmp_path, [run("a", 1000), run("a", 9000, id="b", read_ratio=None)], [run("a", 1100)])
    assert [(pair.rows[0].values_before, row(pair, "iops").before) for pair in found.pairs] == [(1, 1000)]
    assert len(found.unmatched) == 1


def test_jobs_of_one_name_on_two_disks_are_no_repetitions(tmp_path: Path) -> None:
    def sides(rates: tuple[float, float]) -> list[Writer]:
        return [
            run("w", rate, id=disk, engine="storscope", parameters=ours(disk))
            for disk, rate in zip(("/dev/sda", "/dev/sdb"), rates, strict=True)
        ]

    found = compared(tmp_path, sides((1000, 9000)), sides((1100, 9900)))
    assert [(row(pair, "iops").before, row(pair, "iops").after) for pair in found.pairs] == [(1000, 1100), (9000, 9900)]


def test_a_design_is_compared_with_what_became_of_it_by_its_name(tmp_path: Path) -> None:
    """Two arrays a side, each of an edited design after."""

    def sides(rates: tuple[float, float], text: str) -> list[Writer]:
        return [
            simulated(system, rate, design_sha256=f"{system} {text}", workload=ours("")["workload"])
            for system, rate in zip(("EVA", "MSA"), rates, strict=True)
        ]

    found = compared(tmp_path, sides((1000, 300), "old"), sides((1100, 330), "new"))
    assert [(row(pair, "iops").before, row(pair, "iops").after) for pair in found.pairs] == [(1000, 1100), (300, 330)]


def simulated(system: str, iops: float, **parameters: str) -> Writer:
    """A run of 'oltp' on a design of that name."""

    def write(recorder: Recorder) -> None:
        recorder.run(
            system, engine="storscope-sim", name="oltp", system=system, time_ns=START, duration_ns=60 * SECOND,
            parameters=parameters, block_bytes=4096.0, read_ratio=1.0, random_ratio=1.0, outstanding=16.0,
        )  # fmt: skip
        recorder.observe(EntityRef(system, "job", system), START, 60 * SECOND, {"ops_per_s": iops}, run=system)

    return write


def ours(target: str) -> dict[str, str]:
    workload = Workload("w", (Stream(Mix((AccessSpec(4096),)), Closed(16)),))
    return {"target": target, "target_kind": "device", "workload": json.dumps(workload.to_json())}


def test_a_cycle_of_one_name_is_paired_by_its_outstanding_ios(tmp_path: Path) -> None:
    before = [run("all", id=f"all {depth}", outstanding=depth) for depth in (1.0, 8.0, 64.0)]
    after = [run("all", id=f"all {depth}", outstanding=depth) for depth in (64.0, 1.0)]
    found = compared(tmp_path, before, after)
    assert [(pair.load_before.outstanding, pair.load_after.outstanding) for pair in found.pairs] == [(1, 1), (64, 64)]
    assert found.unmatched[0].side == "before"
    assert "with another load" in found.unmatched[0].reason


def test_where_the_outstanding_ios_are_not_told_the_jobs_are_the_load(tmp_path: Path) -> None:
    untold = {"outstanding": None}
    before = [run(f"sdb, jobs {jobs}", 1000.0 * jobs, workers=jobs, **untold) for jobs in (1.0, 4.0)]
    after = [run(f"sdc, jobs {jobs}", 1000.0 * jobs, workers=jobs, **untold) for jobs in (4.0, 1.0)]
    found = compared(tmp_path, before, after)
    assert [pair.name for pair in found.pairs] == ["sdb, jobs 1.0 → sdc, jobs 1.0", "sdb, jobs 4.0 → sdc, jobs 4.0"]


def test_other_numbers_of_jobs_are_not_the_same_load(tmp_path: Path) -> None:
    one, other = (run(f"jobs {jobs}", 1000.0, outstanding=None, workers=jobs) for jobs in (4.0, 8.0))
    pair = only(compared(tmp_path, [one], [other]))
    assert not pair.is_comparable
    assert "number of jobs 4 before, 8 after" in " ".join(pair.warnings)


def test_what_has_no_partner_is_listed_with_its_load(tmp_path: Path) -> None:
    found = compared(tmp_path, [run("a"), run("lone", block_bytes=8192.0, random_ratio=0.0)], [run("a")])
    assert [(item.side, item.name) for item in found.unmatched] == [("before", "lone")]
    assert "8 KiB, 100 % reads, 0 % random, 16 outstanding" in found.unmatched[0].reason


def test_processes_told_one_by_one_say_why_they_have_no_partner(tmp_path: Path) -> None:
    clones = [run(f"oltp #{number}", outstanding=4.0) for number in (1, 2)]
    found = compared(tmp_path, clones, [run("oltp", outstanding=8.0)])
    assert not found.pairs
    reasons = {one.name: one.reason for one in found.unmatched}
    assert "the other side has one run 'oltp' of all processes, with group_reporting" in reasons["oltp #1"]
    assert "the other side has a run for each of 2 processes, without group_reporting" in reasons["oltp"]


def test_a_number_alone_is_no_process_of_a_job(tmp_path: Path) -> None:
    found = compared(tmp_path, [run("lun #1"), run("b")], [run("lun", read_ratio=0.0), run("c", read_ratio=0.5)])
    reasons = {one.name: one.reason for one in found.unmatched}
    assert "group_reporting" not in reasons["lun"]
    assert not compared(tmp_path / "same", [run("oltp #1"), run("oltp #2")], [run("oltp #1"), run("oltp #2")]).unmatched


def test_a_single_run_a_side_is_paired_whatever_its_name(tmp_path: Path) -> None:
    unknown = dict.fromkeys(("block_bytes", "read_ratio", "random_ratio", "outstanding"))
    pair = only(compared(tmp_path, [run("x", **unknown)], [run("y", **unknown)]))
    assert pair.is_comparable
    assert "Neither side states its load" in " ".join(pair.notes)


def test_loads_of_unlike_runs_are_not_forced_together(tmp_path: Path) -> None:
    found = compared(tmp_path, [run("a"), run("b", block_bytes=65536.0)], [run("c", read_ratio=0.0)])
    assert not found.pairs
    assert {item.side for item in found.unmatched} == {"before", "after"}


def test_a_measured_share_of_reads_is_the_configured_one(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a", read_ratio=0.7)], [run("a", read_ratio=0.6897)]))
    assert pair.is_comparable


def test_entities_are_paired_by_name_and_the_busiest_come_first(tmp_path: Path) -> None:
    quiet, busy = [10.0] * 20, [500.0] * 20
    flat = [1e6] * 20
    found = compared(
        tmp_path,
        [device("sda", quiet, flat), device("sdb", busy, flat), device("sdc", quiet, flat)],
        [device("sdb", busy, flat), device("sda", quiet, flat)],
        entities_max=1,
    )
    assert [pair.name for pair in found.pairs] == ["device sdb"]
    assert not found.of_runs
    assert [item.name for item in found.unmatched] == ["host/device/sdc"]
    assert "1 busiest of 2" in found.notes[0]


def _two(names: tuple[str, str]) -> list[Writer]:
    return [device(name, [rate] * 20, [1e6] * 20) for name, rate in zip(names, (10.0, 500.0), strict=True)]


def test_where_no_name_is_on_both_sides_the_busiest_are_named_as_what_can_be_typed(tmp_path: Path) -> None:
    """As of esxtop before and perfmon after: the names differ, and storscope does not guess."""
    found = compared(tmp_path, _two(("naa.6001", "naa.6002")), _two(("0 C:", "1 D:")))
    assert found.pairs == []
    command = found.notes[0].partition("storscope compare ")[2]
    typed = shlex.split(command)
    assert typed == [f"{tmp_path}/before#entity=device/naa.6002", f"{tmp_path}/after#entity=device/1 D:"]
    sides = [parse_side(text) for text in typed]
    stores = [Store.open(side.path) for side in sides if side.path]
    again = compare_sides((stores[0], sides[0]), (stores[1], sides[1]), Settings(), version="test")
    assert only(again).name == "device naa.6002 → device 1 D:"


def test_a_name_that_would_be_a_pattern_is_not_typed(tmp_path: Path) -> None:
    found = compared(tmp_path, _two(("lun*", "lun?")), _two(("sda", "sdb")))
    assert found.notes[0].endswith("where each side names one: entity=KIND/NAME.")
