"""Rows of tables of counters: what they are of, how long they lasted, and what is refused rather than taken wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.importer import Importer, ImportOptions
from storscope.sources.importers.counter_table import IMPORTER
from storscope.sources.importers.long_table import IMPORTER as LONG
from storscope.sources.importers.wide_table import IMPORTER as WIDE
from tests.support.tables import Tables, read_text

MINUTES = range(6)


def table(heading: str, *rows: str, step_s: int = 60) -> str:
    """Each row once a minute; `T` is its time."""
    lines = [row.replace("T", str(1_795_168_800 + step_s * minute)) for minute in MINUTES for row in rows]
    return "\n".join([heading, *lines]) + "\n"


def read(text: str, folder: Path, options: ImportOptions | None = None) -> Tables:
    return read_text(IMPORTER, text, folder, options or ImportOptions())


def entities(tables: Tables) -> set[str]:
    return {row["entity"] for row in tables.rows("observations")}


def column(tables: Tables, name: str) -> list[Any]:
    return [row[name] for row in tables.rows("observations")]


def counters(tables: Tables) -> set[str]:
    return {row["name"] for row in tables.rows("series")}


def said(tables: Tables) -> str:
    return " ".join(tables.notes.warnings)


# What a row is of ------------------------------------------------------------------------------------------------


def test_volumes_of_several_svms_with_one_name_are_things_of_their_own(tmp_path: Path) -> None:
    found = read(table("time,svm,volume,iops", "T,svm1,vol0,1000", "T,svm2,vol0,5"), tmp_path)
    assert entities(found) == {"svm1/vol0", "svm2/vol0"}
    assert entities(read(table("time,svm,volume,iops", "T,svm1,vol0,1000"), tmp_path)) == {"vol0"}
    assert entities(read(table("time,svm,iops", "T,svm1,1000", "T,svm2,5"), tmp_path)) == {"svm1", "svm2"}


@pytest.mark.parametrize("rows", [("T,arr,a,1000", "T,arr,b,5"), ("T,arr,1,1000", "T,arr,2,5")])
def test_names_under_a_heading_that_is_not_known_are_refused_and_not_one_thing(
    rows: tuple[str, str], tmp_path: Path
) -> None:
    with pytest.raises(MalformedInput, match="one row for each thing and time"):
        read(table("time,array,foo,iops", *rows), tmp_path)


def test_the_column_that_tells_rows_apart_is_named(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="Statistic") as error:
        read(table("time,volume,Statistic,iops", "T,v,avg,1000", "T,v,max,5000"), tmp_path)
    assert "volume, disk, pool" in str(error.value)


def test_things_that_take_turns_are_refused_and_states_and_days_are_not(tmp_path: Path) -> None:
    turns = "".join(f"{1_795_168_800 + 10 * at},{'ab'[at % 2]},{at}\n" for at in range(12))
    with pytest.raises(MalformedInput, match="'foo', which changes from row to row"):
        read(f"time,foo,iops\n{turns}", tmp_path)
    assert entities(read(f"time,weekday,iops\n{turns}", tmp_path, ImportOptions(system="s"))) == {"s"}
    states = "".join(f"{1_795_168_800 + 10 * at},{'ok' if at < 6 else 'warm'},{at}\n" for at in range(12))
    assert len(read(f"time,state,iops\n{states}", tmp_path).rows("observations")) == 12


def test_a_few_rows_at_one_time_are_left_out_with_a_warning(tmp_path: Path) -> None:
    text = table("time,volume,iops", "T,v,1000") + "1795168800,v,7\n"
    found = read(text, tmp_path)
    assert "1 rows at a time at which another one of the same thing is" in said(found)
    assert len(found.rows("observations")) == 6


def test_only_the_name_of_the_thing_itself_makes_a_total(tmp_path: Path) -> None:
    found = read(table("time,array,controller,volume,iops", "T,a,All,v1,5", "T,a,All,v2,6"), tmp_path)
    assert entities(found) == {"v1", "v2"}
    assert not [link for link in found.links() if "All" in link]
    parts = table("time,array,controller,volume,iops", "T,a,A,v,60", "T,a,B,v,40", "T,a,All,v,100")
    found = read(parts, tmp_path)
    assert entities(found) == {"A/v", "B/v"}
    assert found.notes.omitted["rows of totals, which count everything twice"] == 6
    for total in ("Total:", "[All]", "_Total", "(total)", "TOTAL"):
        found = read(table("time,volume,iops", "T,v,5", f"T,{total},5"), tmp_path)
        assert entities(found) == {"v"}


# What a number is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [("0.9", "0.99"), ("1.02", "0.88"), ("0.95", "1.6")])
def test_a_small_share_without_a_unit_is_a_counter(values: tuple[str, str], tmp_path: Path) -> None:
    rows = [f"{1_795_168_800 + 60 * at},A,{value},5\n" for at, value in enumerate(values)]
    found = read("time,controller,CPU Utilization,iops\n" + "".join(rows), tmp_path)
    assert column(found, "cpu_busy_ratio") == [None, None]
    assert counters(found) == {"CPU Utilization"}
    assert "'CPU Utilization' is in per cent or a ratio" in said(found)


def test_a_share_is_in_per_cent_if_a_cell_says_so_or_no_ratio_is_so_great(tmp_path: Path) -> None:
    for cell, ratio in (("0.5%", 0.005), ("50", 0.5)):
        found = read(table("time,controller,Utilization", f"T,A,{cell}"), tmp_path)
        assert column(found, "busy_ratio") == [pytest.approx(ratio)] * 6


def test_a_ratio_of_85_contradicts_its_heading(tmp_path: Path) -> None:
    for heading in ("Read Hit Ratio", "read_hit_ratio"):
        for cell, ratio in (("0.85", 0.85), ("85%", 0.85), ("85", None)):
            found = read(table(f"time,volume,{heading},iops", f"T,v,{cell},5"), tmp_path)
            assert column(found, "read_hit_ratio") == [ratio] * 6


def test_points_between_semicolons_that_may_be_of_thousands_make_a_counter(tmp_path: Path) -> None:
    heading = "time;array;lun;Read IOPS;Read Latency (ms)"
    found = read(table(heading, "T;a;l;1.234;2"), tmp_path)
    assert column(found, "read_ops_per_s") == [None] * 6
    assert column(found, "read_latency_ns_mean") == [2e6] * 6
    assert "'Read IOPS'" in said(found)
    assert column(read(table(heading, "T;a;l;1.234;2,5"), tmp_path), "read_ops_per_s") == [1234] * 6
    assert column(read(table(heading, "T;a;l;1.234;2.5"), tmp_path), "read_ops_per_s") == [1.234] * 6


@pytest.mark.parametrize(
    ("importer", "text"),
    [
        (WIDE, table("time;v - Read IOPS;v - Read Latency (ms)", "T;1.234;2")),
        (LONG, table("time;volume;metric;value", "T;v;Read IOPS;1.234", "T;v;Read Latency (ms);2")),
    ],
)
def test_such_points_are_left_out_of_tables_of_other_shapes(importer: Importer, text: str, tmp_path: Path) -> None:
    found = read_text(importer, text, tmp_path)
    assert column(found, "read_ops_per_s") == [None] * 6
    assert column(found, "read_latency_ns_mean") == [2e6] * 6
    assert "a point may be a decimal one" in said(found)


@pytest.mark.parametrize(
    ("importer", "text"),
    [
        (WIDE, table("time,v - Read kb/s", "T,8")),
        (LONG, table("time,volume,metric,unit,value", "T,v,Read,kb/s,8")),
    ],
)
def test_bytes_in_small_letters_are_said_in_tables_of_other_shapes(
    importer: Importer, text: str, tmp_path: Path
) -> None:
    found = read_text(importer, text, tmp_path)
    assert column(found, "read_bytes_per_s") == [8e3] * 6
    assert "Taken as bytes per second, not bits: 'Read" in said(found)


def test_columns_of_numbers_that_stay_counters_are_named(tmp_path: Path) -> None:
    heading = "time,array,volume,Disk Latency (ms),Latency (ms),read_mbps,read kb/s,Reads,Bandwidth,Cache Miss,Owner"
    found = read(table(heading, "T,a,v,40,2,8,65,7,9,3,SPA"), tmp_path)
    assert column(found, "latency_ns_mean") == [2e6] * 6
    assert column(found, "read_bytes_per_s") == [65e3] * 6
    assert counters(found) == {"Disk Latency (ms)", "read_mbps", "Reads", "Bandwidth", "Cache Miss"}
    for sentence in (
        "'Disk Latency (ms)' means the same as 'Latency (ms)'", "Perhaps bytes, perhaps bits: 'read_mbps'",
        "Taken as bytes per second, not bits: 'read kb/s'", "Amounts, as the heading has no '/s': 'Reads'",
        "Without a unit in the heading 'Bandwidth'", "Headings that are not known, each kept as a counter",
    ):  # fmt: skip
        assert sentence in said(found)
    assert "Owner" not in said(found)


# When a row is ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said_length", "step_s", "taken"), [("5", 300, 300), ("300", 300, 300), ("7", 300, 300)])
def test_an_interval_without_a_unit_is_as_long_as_the_steps_tell(
    said_length: str, step_s: int, taken: int, tmp_path: Path
) -> None:
    found = read(table("time,Interval,array,volume,iops", f"T,{said_length},a,v,5", step_s=step_s), tmp_path)
    assert column(found, "duration_ns") == [taken * 10**9] * 6
    assert ("minutes" in said(found)) == (said_length == "5")
    assert ("was not used" in said(found)) == (said_length == "7")


def test_an_interval_without_a_unit_is_told_so_in_tables_with_a_row_for_each_metric(tmp_path: Path) -> None:
    text = table("time,Interval,volume,metric,value", "T,5,v,Read IOPS,7", step_s=300)
    found = read_text(LONG, text, tmp_path)
    assert column(found, "duration_ns") == [300 * 10**9] * 6
    assert "minutes" in said(found)


def test_a_table_whose_times_are_not_read_says_which_and_what_is(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match=r"'46346\.91'") as error:
        read("Time,volume,iops\n46346.91,v,5\n46346.92,v,6\n", tmp_path)
    assert "2026-11-20 10:05" in str(error.value)
    assert "--system" not in str(error.value)
    some = read(table("time,volume,iops", "T,v,5") + "yesterday,v,6\n", tmp_path)
    assert "1 rows have no time that is read, the first 'yesterday'" in said(some)


def test_the_zone_of_the_heading_places_the_times(tmp_path: Path) -> None:
    rows = "2026-11-20 10:00:00,5\n2026-11-20 10:01:00,6\n"
    for importer, counted in ((IMPORTER, "iops"), (WIDE, "vol1 - iops")):
        for zone, hour in (("UTC", 10), ("CET", 9)):
            found = read_text(importer, f"Time ({zone}),{counted}\n{rows}", tmp_path, ImportOptions())
            assert {row["time"].hour for row in found.rows("observations")} == {hour - 1, hour}
            assert "zone in the file" in (found.notes.clock or "")


def test_a_zone_in_the_file_that_is_not_the_options_is_refused_with_the_file(tmp_path: Path) -> None:
    text = "time,volume,iops\n2026-11-20 10:00:00 PST,v,5\n2026-11-20 10:01:00 PST,v,5\n"
    with pytest.raises(MalformedInput, match="PST") as error:
        read(text, tmp_path, ImportOptions(timezone=ZoneInfo("Europe/Berlin")))
    assert error.value.where
    assert "PST" in said(read(text, tmp_path))
