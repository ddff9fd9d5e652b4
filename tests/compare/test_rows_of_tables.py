"""Rows of tables of results are paired row by row, and never averaged with rows of other tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.compare import marks
from storscope.domain.comparison import Comparison, Outcome, Settings
from storscope.sources.importers import results_table
from storscope.workbench.comparing import compare


def tables(path: Path, before: str, after: str) -> Comparison:
    """Two tables, given with '/' between their lines."""
    for name, text in (("before.csv", before), ("after.csv", after)):
        (path / name).write_text("\n".join(text.split("/")) + "\n")
    return compare(str(path / "before.csv"), str(path / "after.csv"), Settings(metrics=("iops",)))


def pairs(found: Comparison) -> dict[str, tuple[float, float]]:
    assert not any(row.outcome in (Outcome.BETTER, Outcome.WORSE) for row in found.rows())
    return {pair.name: (row.before, row.after) for pair in found.pairs for row in pair.rows}


def test_rows_that_differ_in_the_raid_level_are_paired_row_by_row(tmp_path: Path) -> None:
    found = tables(
        tmp_path,
        "device,raid,pattern,iops/A,r10,read,1000/A,r10,rw,1010/B,r10,read,1020/B,r10,rw,1030",
        "device,raid,pattern,iops/A,r5,read,800/A,r5,rw,700/B,r5,read,820/B,r5,rw,690",
    )
    assert pairs(found) == {
        "A, r10, read → A, r5, read": (1000, 800),
        "A, r10, rw → A, r5, rw": (1010, 700),
        "B, r10, read → B, r5, read": (1020, 820),
        "B, r10, rw → B, r5, rw": (1030, 690),
    }
    assert not found.unmatched
    assert {said for pair in found.pairs for said in pair.pairing} == {"Paired by their other columns: raid differs."}


def test_rows_that_differ_in_the_device_are_paired_row_by_row(tmp_path: Path) -> None:
    found = tables(
        tmp_path,
        "device,raid,iops/sda,raid10,1000/sda,raid5,900",
        "device,raid,iops/nvme0,raid5,9000/nvme0,raid10,9900",
    )
    assert pairs(found) == {
        "sda, raid10 → nvme0, raid10": (1000, 9900),
        "sda, raid5 → nvme0, raid5": (900, 9000),
    }


def test_two_devices_a_side_are_not_averaged_though_their_load_is_the_same(tmp_path: Path) -> None:
    heading = "device,block_bytes,read_pct,random_pct,outstanding,iops"
    found = tables(
        tmp_path,
        f"{heading}/sda,4096,100,100,8,1000/sdb,4096,100,100,8,9000",
        f"{heading}/sdx,4096,100,100,8,2000/sdy,4096,100,100,8,9000",
    )
    assert not found.pairs
    assert [(one.side, one.name) for one in found.unmatched] == [
        ("before", "sda, 4 KiB"), ("before", "sdb, 4 KiB"), ("after", "sdx, 4 KiB"), ("after", "sdy, 4 KiB"),
    ]  # fmt: skip
    assert "fits several of the other side (sdx, 4 KiB, sdy, 4 KiB)" in found.unmatched[0].reason


def test_one_device_a_side_has_its_partner_by_the_load(tmp_path: Path) -> None:
    heading = "device,block_bytes,read_pct,random_pct,outstanding,iops"
    found = tables(tmp_path, f"{heading}/sda,4096,100,100,8,1000", f"{heading}/sdx,4096,100,100,8,2000")
    assert pairs(found) == {"sda, 4 KiB → sdx, 4 KiB": (1000, 2000)}


@pytest.mark.parametrize("column", ["device", "raid", "pattern", "cache"])
def test_rows_of_one_name_on_different_things_are_no_repetitions(tmp_path: Path, column: str) -> None:
    text = f"spec,{column},iops/RealLife,a,1000/RealLife,b,3000"
    found = tables(tmp_path, text, text.replace("1000", "2000").replace("3000", "6000"))
    assert [(row.before, row.after) for row in found.rows()] == [(1000, 2000), (3000, 6000)]


def test_another_pattern_of_one_name_is_not_the_same_load(tmp_path: Path) -> None:
    found = tables(tmp_path, "spec,pattern,iops/RealLife,read,1000", "spec,pattern,iops/RealLife,rw,3000")
    assert not found.pairs[0].is_comparable
    assert "access pattern read before, rw after" in found.pairs[0].warnings[0]


def test_rows_of_one_test_repeat_it_and_what_they_differ_in_is_said(tmp_path: Path) -> None:
    found = tables(
        tmp_path, "spec,size_gib,iops/a,10,1000/a,100,1020", "spec,size_gib,iops/a,10,1000/a,100,1020/a,50,1010"
    )
    (pair,) = found.pairs
    assert (pair.rows[0].values_before, pair.rows[0].values_after) == (2, 3)
    assert pair.pairing[0] == "Taken as repetitions (before): 2 rows of this name and load, which differ in size_gib."


def test_every_row_without_a_partner_is_listed(tmp_path: Path) -> None:
    found = tables(tmp_path, "device,pattern,iops/A,read,1/A,rw,2/B,read,3/B,rw,4", "device,pattern,iops/A,read,5")
    assert pairs(found) == {"A, read": (1, 5)}
    assert [one.name for one in found.unmatched] == ["A, rw", "B, read", "B, rw"]


def test_the_columns_are_those_that_the_importer_reads() -> None:
    words = {*results_table._NAMES, *results_table._PLACES, *results_table._PATTERNS, "raid"}
    assert words == marks.NAME_COLUMNS
    assert results_table._PARAMETERS - words == marks.NUMBER_COLUMNS
