from __future__ import annotations

from pathlib import Path

from tests.compare.evidence import compared, device, only, row, run


def test_runs_are_paired_by_name_before_anything_else(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        [run("8k  Random"), run("seq", block_bytes=65536.0)],
        [run("seq", block_bytes=65536.0), run("8K random")],
    )
    assert [pair.name for pair in found.pairs] == ["8k  Random", "seq"]
    assert not found.unmatched


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
