"""CloudWatch's metrics with a row for each value: by tables whose every number is known."""

from __future__ import annotations

import zoneinfo
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput, StorscopeError
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import cloudwatch_csv, recognise
from storscope.sources.importers.cloudwatch_rows import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "cloudwatch_rows"
QUERY, STATISTICS = SAMPLES / "query_written.csv", SAMPLES / "vol-0bb22_statistics_written.csv"
_HEADING = "Timestamp,VolumeId,MetricName,Stat,Unit,Value"


def table(*rows: str, heading: str = _HEADING, minutes: int = 3) -> str:
    """The rows at each of some minutes from 08:00 on, `{n}` being the minute."""
    times = range(minutes)
    return "\n".join([heading, *(f"2026-11-20T08:{n:02}:00Z,{row.format(n=n)}" for n in times for row in rows)]) + "\n"


def read(text: str, tmp_path: Path, options: ImportOptions | None = None) -> Tables:
    return read_text(IMPORTER, text, tmp_path, options)


def of(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return sorted((row for row in tables.rows("observations") if row["entity"] == entity), key=lambda row: row["time"])


def counters(tables: Tables) -> dict[tuple[str, str], list[float]]:
    return {(row["entity"], row["name"]): row["values"] for row in tables.rows("series")}


@pytest.mark.parametrize("path", [QUERY, STATISTICS], ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


def test_rows_of_one_time_are_one_observation() -> None:
    tables = read_tables(IMPORTER, QUERY)
    rows = of(tables, "vol-0aa11")
    assert [row["read_ops_per_s"] for row in rows] == [100, 200, 0, 300, 100]
    assert [row["read_bytes_per_s"] for row in rows] == [8192 * row["read_ops_per_s"] for row in rows]
    assert [row["read_latency_ns_mean"] for row in rows] == [5e5, 1e6, None, 2e6, 2.5e6]
    assert [row["time"].strftime("%H:%M") for row in rows] == ["08:00", "08:01", "08:02", "08:03", "08:05"]
    assert counters(tables)["i-0cc33", "credits_left_ratio_ops"] == [0.99, 0.98, 0.97, 0.96, 0.95]
    assert any("'CPUUtilization'" in warning for warning in tables.notes.warnings)


def test_columns_called_as_statistics_are_these_and_a_file_s_name_tells_the_volume() -> None:
    tables = read_tables(IMPORTER, STATISTICS)
    rows = of(tables, "vol-0bb22")
    assert [row["write_ops_per_s"] for row in rows] == [10, 20, 30, 40]
    assert [row["queue_depth_mean"] for row in rows] == [0.1, 0.2, 0.3, 0.4]
    assert {row["duration_ns"] for row in rows} == {300 * 10**9}
    assert ("vol-0bb22", "VolumeQueueLength, Maximum") in counters(tables)


@pytest.mark.parametrize(
    ("heading", "row"),
    [
        ("timestamp,metric,value", "VolumeReadOps,60"), ("Timestamp,Label,Value", "vol-1 VolumeReadOps Sum,60"),
        ("time,metric_name,volume_id,stat,value", "VolumeReadOps,vol-1,Sum,60"),
        ("Timestamp,Id,Value", "volumeReadOps_1,60"), ("Timestamp,Sum,Unit,MetricName", "60,Count,VolumeReadOps"),
        ("Timestamp,Dimensions,Metric,Value", "VolumeId=vol-1,VolumeReadOps,60"),
        ("Timestamp,Namespace,MetricName,VolumeId,Statistic,Units,Value", "AWS/EBS,VolumeReadOps,vol-1,Sum,count,60"),
        ("Timestamp;MetricName;Value", "VolumeReadOps;60"), ("Timestamp\tMetricName\tValue", "VolumeReadOps\t60"),
        ('"Timestamp","MetricName","Value"', '"VolumeReadOps","60"'),
    ],
)  # fmt: skip
def test_columns_may_be_called_and_ordered_in_several_ways(heading: str, row: str, tmp_path: Path) -> None:
    separator = next(sign for sign in ";\t," if sign in heading)
    text = table(row, heading=heading).replace("Z,", f"Z{separator}")
    path = tmp_path / "vol-1.csv"
    path.write_text(text)
    assert recognise(Evidence(path).head) is IMPORTER
    assert [row["read_ops_per_s"] for row in of(read_tables(IMPORTER, path), "vol-1")] == [1, 1, 1]


def test_volumes_are_told_apart_by_their_column_or_by_their_labels(tmp_path: Path) -> None:
    by_column = read(table("data,VolumeReadOps,Sum,,60", "log,VolumeReadOps,Sum,,120"), tmp_path)
    by_label = read(table("data VolumeReadOps,60", "log VolumeReadOps,120", heading="Timestamp,Label,Value"), tmp_path)
    for tables in (by_column, by_label):
        assert [row["read_ops_per_s"] for row in of(tables, "log")] == [2, 2, 2]


def test_a_volume_without_a_name_is_told(tmp_path: Path) -> None:
    tables = read(table("VolumeReadOps,60", heading="Timestamp,Metric,Value"), tmp_path)
    assert of(tables, "volume")
    assert any("Nothing names the volume" in warning for warning in tables.notes.warnings)


def test_values_of_two_volumes_that_nothing_names_are_refused(tmp_path: Path) -> None:
    text = table("VolumeReadOps,60", "VolumeReadOps,90", heading="Timestamp,Metric,Value")
    with pytest.raises(MalformedInput, match="one value of each metric"):
        read(text, tmp_path)


def test_statistics_of_one_metric_are_kept_apart(tmp_path: Path) -> None:
    tables = read(table("vol-1,VolumeReadOps,Sum,,60", "vol-1,VolumeReadOps,Average,,1"), tmp_path)
    assert [row["read_ops_per_s"] for row in of(tables, "vol-1")] == [1, 1, 1]
    assert ("vol-1", "VolumeReadOps, Average") in counters(tables)


def test_an_average_of_an_amount_is_said_and_not_converted(tmp_path: Path) -> None:
    tables = read(table("vol-1,VolumeReadOps,Average,,60"), tmp_path)
    assert not tables.rows("observations")
    assert any("Stat=Sum" in warning for warning in tables.notes.warnings)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("vol-1,VolumeTotalReadTime,Sum,Milliseconds,60", "in Seconds, and not in Milliseconds"),
        ("vol-1,VolumeReadOps,p99,Count,60", "its statistic p99 is not read"),
        ("vol-1,CPUUtilization,Average,Percent,60", "no metric of EBS"),
    ],
)
def test_what_a_row_cannot_mean_is_left_out_and_named(row: str, said: str, tmp_path: Path) -> None:
    tables = read(table(row, "vol-1,VolumeWriteOps,Sum,Count,60"), tmp_path)
    assert {one["read_ops_per_s"] for one in of(tables, "vol-1")} == {None}
    assert any(said in warning for warning in tables.notes.warnings)
    assert sum(tables.notes.omitted.values()) == 3


def test_the_period_of_a_row_goes_before_the_steps(tmp_path: Path) -> None:
    text = table("VolumeReadOps,5 minutes,600", heading="Timestamp,MetricName,Period,Value")
    text = text.replace("08:01", "08:20").replace("08:02", "08:40")
    rows = of(read(text, tmp_path), "volume")
    assert [(row["read_ops_per_s"], row["duration_ns"]) for row in rows] == [(2, 300 * 10**9)] * 3


def test_times_without_a_zone_are_those_of_the_option(tmp_path: Path) -> None:
    text = table("vol-1,VolumeReadOps,Sum,,60").replace("Z,", ",").replace("T", " ", 0)
    rows = of(read(text, tmp_path, ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))), "vol-1")
    assert rows[0]["time"].isoformat() == "2026-11-20T07:00:00+00:00"


@pytest.mark.parametrize("cell", ["never", "1e999", "NaN-", "--5", "-60"])
def test_a_value_that_is_no_amount_is_left_out_and_counted(cell: str, tmp_path: Path) -> None:
    text = table("vol-1,VolumeReadOps,Sum,,60").replace(",60\n", f",{cell}\n", 1)
    tables = read(text, tmp_path)
    assert len(tables.rows("observations")) == 2
    assert sum(tables.notes.omitted.values()) == 1


@pytest.mark.parametrize("cell", ["", "-", "null", "NaN"])
def test_a_value_that_is_absent_is_a_gap(cell: str, tmp_path: Path) -> None:
    text = table("vol-1,VolumeReadOps,Sum,,60").replace(",60\n", f",{cell}\n", 1)
    assert len(read(text, tmp_path).rows("observations")) == 2


def test_rows_that_are_cut_or_too_long_and_times_that_are_none_are_counted(tmp_path: Path) -> None:
    whole = table("vol-1,VolumeReadOps,Sum,,60", minutes=5)
    odd = "yesterday,vol-1,VolumeReadOps,Sum,,60\n2026-11-20T09:00:00Z,vol-1,VolumeReadOps,Sum,,60,7\n2026-11-20T09:01"
    tables = read(whole + odd, tmp_path)
    assert len(tables.rows("observations")) == 5
    assert sum(tables.notes.omitted.values()) == 3


@pytest.mark.parametrize(
    "text",
    [
        "", "Timestamp,MetricName,Value\n", "Timestamp,MetricName,Value\n2026-11-20T08:00:00Z,CPUUtilization,5\n",
        "MetricName,Value\nVolumeReadOps,5\n", "Timestamp,MetricName\n2026-11-20T08:00:00Z,VolumeReadOps\n",
    ],
    ids=["empty", "no rows", "no metric of EBS", "no time", "no value"],
)  # fmt: skip
def test_what_is_no_table_of_such_rows_is_refused_with_what_was_expected(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    assert recognise(Evidence(path).head) is not IMPORTER
    with pytest.raises(MalformedInput, match="a time, a metric and a value"):
        read_tables(IMPORTER, path)


def test_tables_with_a_column_for_each_metric_are_those_of_the_other_importer() -> None:
    for path in (SAMPLES.parent / "cloudwatch_csv").glob("*.csv"):
        assert recognise(Evidence(path).head) is cloudwatch_csv.IMPORTER


_CELLS = st.sampled_from([
    "2026-11-20T08:00:00Z", "vol-1", "i-1", "VolumeReadOps", "EBSIOBalance%", "Sum", "p99", "Count", "60", "1e999", "",
    "0,5", '"', "\x00", "Percent", "Timestamp", "MetricName", "Value", "9" * 400,
])  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(_CELLS, min_size=1, max_size=8), max_size=12), st.sampled_from([",", ";", "\t"]))
def test_whatever_stands_below_a_heading_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], separator: str
) -> None:
    lines = [separator.join(row) for row in [_HEADING.split(","), *rows]]
    try:
        tables = read("\n".join(lines), tmp_path_factory.mktemp("fuzz"))
    except StorscopeError as error:
        assert len(str(error)) < 1000
    else:
        assert all(row["read_ops_per_s"] is None or row["read_ops_per_s"] >= 0 for row in tables.rows("observations"))
