"""CloudWatch's metrics of EBS: by answers whose every number is known."""

from __future__ import annotations

import json
import zoneinfo
from pathlib import Path
from typing import Any

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import cloudwatch_csv, cloudwatch_json, recognise
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "cloudwatch_json"
DATA = SAMPLES / "get_metric_data_written.json"
STATISTICS = SAMPLES / "get_metric_statistics_written.json"
SHEETS = Path(__file__).parent / "cloudwatch_csv"
CONSOLE, HEADINGS = SHEETS / "console_written.csv", SHEETS / "headings_written.csv"
MINUTES = (0, 1, 2, 3, 4, 5)


def answer(metrics: dict[str, list[float]], minutes: tuple[int, ...] = MINUTES, zone: str = "Z", **more: object) -> str:
    """What get-metric-data prints: label -> values."""
    results = [
        {
            "Id": f"m{number}", "Label": label, "StatusCode": "Complete",
            "Timestamps": [f"2026-11-20T08:{minute:02}:00{zone}" for minute in minutes], "Values": values,
        }
        for number, (label, values) in enumerate(metrics.items())
    ]  # fmt: skip
    return json.dumps({"MetricDataResults": results, "Messages": [], **more})


def read(text: str, tmp_path: Path, options: ImportOptions | None = None) -> Tables:
    return read_text(cloudwatch_json.IMPORTER, text, tmp_path, options)


def of(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return sorted((row for row in tables.rows("observations") if row["entity"] == entity), key=lambda row: row["time"])


def counters(tables: Tables) -> set[tuple[str, str]]:
    return {(row["name"], row["unit"]) for row in tables.rows("series")}


@pytest.mark.parametrize("path", [DATA, STATISTICS], ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(cloudwatch_json.IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("path", [CONSOLE, HEADINGS], ids=lambda path: path.stem)
def test_a_sheet_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(cloudwatch_csv.IMPORTER, path), path.with_suffix(".expected.jsonl"))


def test_a_rate_is_the_sum_by_the_seconds_of_the_period_and_latency_the_time_of_an_operation() -> None:
    rows = of(read_tables(cloudwatch_json.IMPORTER, DATA), "vol-0aa11")
    assert [row["read_ops_per_s"] for row in rows] == [100, 200, 0, 300, 100]
    assert [row["read_bytes_per_s"] for row in rows] == [8192 * row["read_ops_per_s"] for row in rows]
    assert [row["read_latency_ns_mean"] for row in rows] == [1e6, 2e6, None, 4e6, 1e6]
    assert [row["queue_depth_mean"] for row in rows] == [0.15, 0.45, 0.05, 1.25, 0.15]


def test_a_minute_that_is_absent_stays_a_gap_and_a_time_is_the_start_of_its_interval() -> None:
    rows = of(read_tables(cloudwatch_json.IMPORTER, DATA), "vol-0aa11")
    assert [row["time"].strftime("%H:%M") for row in rows] == ["08:00", "08:01", "08:02", "08:03", "08:05"]
    assert {row["duration_ns"] for row in rows} == {60 * 10**9}


def test_idle_minutes_that_are_mostly_absent_do_not_make_the_period_longer(tmp_path: Path) -> None:
    tables = read(answer({"VolumeReadOps vol-1": [60.0] * 6}, (0, 2, 4, 5, 7, 9)), tmp_path)
    assert [row["read_ops_per_s"] for row in of(tables, "vol-1")] == [1.0] * 6


def test_a_period_that_is_told_goes_before_the_steps(tmp_path: Path) -> None:
    text = answer({"VolumeReadOps vol-1": [600.0, 1200.0]}, (0, 20))
    rows = of(read(text, tmp_path, ImportOptions(interval_s=300)), "vol-1")
    assert [(row["read_ops_per_s"], row["duration_ns"]) for row in rows] == [(2, 300 * 10**9), (4, 300 * 10**9)]


def test_one_value_alone_has_no_period(tmp_path: Path) -> None:
    tables = read(answer({"VolumeReadOps vol-1": [600.0]}, (0,)), tmp_path)
    assert not tables.rows("observations")
    assert any("--interval" in reason for reason in tables.notes.omitted)


def test_an_average_of_an_amount_is_said_and_not_converted() -> None:
    tables = read_tables(cloudwatch_json.IMPORTER, STATISTICS)
    assert {row["read_bytes_per_s"] for row in tables.rows("observations")} == {None}
    assert ("VolumeReadBytes, Average", "Bytes") in counters(tables)
    assert any("VolumeReadBytes" in warning and "Stat=Sum" in warning for warning in tables.notes.warnings)


@pytest.mark.parametrize(
    ("metrics", "lost"),
    [
        ({"VolumeReadOps": [10.5] * 6}, "read_ops_per_s"),
        ({"VolumeReadOps": [6000] * 6, "VolumeReadBytes": [8192] * 6}, "read_bytes_per_s"),
        ({"VolumeReadOps": [6000] * 6, "VolumeTotalReadTime": [0.0012] * 6}, "read_latency_ns_mean"),
        ({"VolumeReadOps Average": [6000] * 6}, "read_ops_per_s"),
    ],
    ids=["parts of an operation", "1.4 bytes an operation", "0.2 us an operation", "by its label"],
)
def test_what_is_no_sum_is_not_taken_as_one(metrics: dict[str, list[float]], lost: str, tmp_path: Path) -> None:
    tables = read(answer({f"{label} vol-1": values for label, values in metrics.items()}), tmp_path)
    assert all(row[lost] is None for row in tables.rows("observations"))
    assert any("Stat=Sum" in warning for warning in tables.notes.warnings)


def test_sums_that_nothing_calls_so_are_doubted_and_those_of_a_label_are_not(tmp_path: Path) -> None:
    doubt = "Nothing says by which statistic"
    assert any(doubt in one for one in read(answer({"VolumeReadOps": [60] * 6}), tmp_path).notes.warnings)
    assert not any(doubt in one for one in read(answer({"VolumeReadOps Sum": [60] * 6}), tmp_path).notes.warnings)


def test_sample_counts_are_left_out_and_counted(tmp_path: Path) -> None:
    points = [
        {"Timestamp": f"2026-11-20T08:0{n}:00Z", "SampleCount": 1.0, "Sum": 60.0, "Unit": "Count"} for n in MINUTES
    ]
    tables = read(json.dumps({"Label": "VolumeReadOps", "Datapoints": points}), tmp_path)
    assert len(tables.rows("observations")) == 6
    assert tables.notes.omitted["values of SampleCount, which count samples and no operations"] == 6


def test_a_balance_is_the_share_of_credits_that_is_left() -> None:
    tables = read_tables(cloudwatch_json.IMPORTER, DATA)
    found = {(row["entity"], row["name"], row["unit"]): row["values"] for row in tables.rows("series")}
    assert found["vol-0aa11", "credits_left_ratio", "ratio"] == [1, 0.995, 0.9925, 0.98, 0.975]
    assert found["i-0cc33", "credits_left_ratio_ops", "ratio"] == [0.99, 0.98, 0.98, 0.97, 0.97]


@pytest.mark.parametrize(
    ("said", "values"), [("Average", [0.5, 0.25]), ("Minimum", [0.5, 0.25]), ("", [0.5, 0.25]), ("Maximum", None)]
)
def test_a_balance_is_the_mean_of_a_period_or_else_its_least(
    said: str, values: list[float] | None, tmp_path: Path
) -> None:
    tables = read(answer({f"BurstBalance vol-1 {said}": [50.0, 25.0]}, (0, 1)), tmp_path)
    found = {row["name"]: row["values"] for row in tables.rows("series")}
    assert found.get("credits_left_ratio") == values


def test_the_mean_of_a_balance_goes_before_its_least(tmp_path: Path) -> None:
    labels = {"BurstBalance vol-1 Minimum": [40.0, 20.0], "BurstBalance vol-1 Average": [50.0, 25.0]}
    found = {row["name"]: row["values"] for row in read(answer(labels, (0, 1)), tmp_path).rows("series")}
    assert found == {"credits_left_ratio": [0.5, 0.25], "BurstBalance, Minimum": [40, 20]}


def test_a_balance_that_is_no_share_is_left_out_and_counted(tmp_path: Path) -> None:
    tables = read(answer({"BurstBalance vol-1": [100.5, 100, -0.0, -1]}, (0, 1, 2, 3)), tmp_path)
    assert [str(row["values"]) for row in tables.rows("series")] == ["[1.0, 0.0]"]
    assert tables.notes.omitted["balances of credits below 0 or above 100 %"] == 2


def test_what_all_volumes_of_an_instance_did_is_of_the_instance() -> None:
    rows = of(read_tables(cloudwatch_json.IMPORTER, DATA), "i-0cc33")
    assert {row["kind"] for row in rows} == {"vm"}
    assert [row["read_ops_per_s"] for row in rows] == [110, 210, 10, 310, 110]


@pytest.mark.parametrize(
    ("label", "entity"),
    [
        ("VolumeReadOps", "volume"), ("vol-0abc VolumeReadOps", "vol-0abc"),
        ("AWS/EBS VolumeReadOps vol-0abc", "vol-0abc"), ("VolumeReadOps (vol-0abc) Sum", "vol-0abc"),
        ("eu-central-1 VolumeId:vol-0abc VolumeReadOps", "vol-0abc"),
    ],
)  # fmt: skip
def test_a_label_names_the_metric_and_perhaps_the_volume(label: str, entity: str, tmp_path: Path) -> None:
    assert len(of(read(answer({label: [60] * 6}), tmp_path), entity)) == 6


def test_an_id_names_the_metric_where_the_label_does_not(tmp_path: Path) -> None:
    text = answer({"reads of vol-1": [60] * 6}).replace('"m0"', '"volumeReadOps_1"')
    assert {row["read_ops_per_s"] for row in of(read(text, tmp_path), "vol-1")} == {1.0}


def test_names_that_somebody_gave_tell_volumes_apart_where_no_id_does(tmp_path: Path) -> None:
    text = answer({"data VolumeReadOps": [60] * 6, "log VolumeReadOps": [120] * 6})
    tables = read(text, tmp_path)
    assert {row["entity"] for row in tables.rows("observations")} == {"data", "log"}


def test_a_file_s_name_tells_the_volume_where_nothing_else_does(tmp_path: Path) -> None:
    path = tmp_path / "vol-0abc_reads.json"
    path.write_text(answer({"VolumeReadOps": [60] * 6}))
    assert len(of(read_tables(cloudwatch_json.IMPORTER, path), "vol-0abc")) == 6


def test_a_volume_without_a_name_is_told(tmp_path: Path) -> None:
    tables = read(answer({"VolumeReadOps": [60] * 6}), tmp_path)
    assert any("Nothing names the volume" in warning for warning in tables.notes.warnings)


def test_values_of_two_volumes_under_one_label_are_refused(tmp_path: Path) -> None:
    twice = json.loads(answer({"VolumeReadOps": [60] * 6}))
    twice["MetricDataResults"].append(twice["MetricDataResults"][0] | {"Values": [90] * 6})
    with pytest.raises(MalformedInput, match="one value of each metric"):
        read(json.dumps(twice), tmp_path)


def test_pages_of_one_answer_are_read_together_and_a_missing_one_is_told(tmp_path: Path) -> None:
    first = answer({"VolumeReadOps vol-1": [60] * 3}, (0, 1, 2), NextToken="abc")
    tables = read(f"{first}\n{answer({'VolumeReadOps vol-1': [120] * 3}, (3, 4, 5))}\n", tmp_path)
    assert [row["read_ops_per_s"] for row in of(tables, "vol-1")] == [1, 1, 1, 2, 2, 2]
    assert any("NextToken" in warning for warning in tables.notes.warnings)


@pytest.mark.parametrize("zone", ["", "Z", "+00:00"])
def test_times_are_utc_with_or_without_an_offset(zone: str, tmp_path: Path) -> None:
    rows = of(read(answer({"VolumeReadOps vol-1": [60] * 6}, zone=zone), tmp_path), "vol-1")
    assert rows[0]["time"].isoformat() == "2026-11-20T08:00:00+00:00"


def test_bytes_of_another_period_than_the_operations_are_left_out_and_counted(tmp_path: Path) -> None:
    minutes = json.loads(answer({"VolumeReadOps vol-1": [60] * 6}))
    fives = json.loads(answer({"VolumeReadBytes vol-1": [81920] * 2}, (0, 5)))
    minutes["MetricDataResults"] += fives["MetricDataResults"]
    tables = read(json.dumps(minutes), tmp_path)
    assert {row["read_bytes_per_s"] for row in tables.rows("observations")} == {None}
    assert tables.notes.omitted["values of another period than most of their volume's"] == 2


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"Values": [', '"Values": 5, "x": ['), ('"Timestamps": [', '"Timestamps": null, "x": ['),
        ('{"MetricDataResults": [', '{"MetricDataResults": [[], '), ('"Values"', '"Value"'),
    ],
)  # fmt: skip
def test_json_of_another_shape_is_refused(found: str, instead: str, tmp_path: Path) -> None:
    text = answer({"VolumeReadOps vol-1": [60] * 6})
    assert found in text
    with pytest.raises(MalformedInput, match="MetricDataResults"):
        read(text.replace(found, instead), tmp_path)


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity", "1" + "0" * 400, '"5"', "null", "true", "[]", "-60"])
def test_a_value_that_is_no_amount_is_left_out_and_counted(number: str, tmp_path: Path) -> None:
    tables = read(answer({"VolumeReadOps vol-1": [60] * 6}).replace("[60,", f"[{number},"), tmp_path)
    assert len(tables.rows("observations")) == 5
    assert sum(tables.notes.omitted.values()) == 1


@pytest.mark.parametrize("time", ["5", '"never"', "null", "1e30", "-1e300", '"0001-01-01T00:00:00Z"'])
def test_a_time_that_is_none_is_left_out_and_counted(time: str, tmp_path: Path) -> None:
    text = answer({"VolumeReadOps vol-1": [60] * 6}).replace('"2026-11-20T08:00:00Z"', time)
    tables = read(text, tmp_path)
    assert len(tables.rows("observations")) == 5
    assert tables.notes.omitted["values whose time is none"] == 1


def test_what_seems_to_begin_over_and_over_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="over 1,000"):
        read(answer({"VolumeReadOps vol-1": [60] * 6}) + "\n" + "[1,\n" * 100_000, tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"MetricDataResults": [{"Values": [' * 20_000])
def test_what_is_no_whole_document_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput):
        read(text, tmp_path)


def test_a_document_that_is_cut_leaves_the_others(tmp_path: Path) -> None:
    whole = answer({"VolumeReadOps vol-1": [60] * 6})
    tables = read(f"{whole}\n{whole[: len(whole) // 2]}\n{whole.replace('vol-1', 'vol-2')}\n", tmp_path)
    assert {row["entity"] for row in tables.rows("observations")} == {"vol-1", "vol-2"}
    assert tables.notes.omitted["documents that are cut or damaged"] == 1


# CSV -------------------------------------------------------------------------------------------------------------


def sheet(heading: str, *rows: str) -> str:
    """A table with minutes from 08:00 on."""
    return "\n".join([heading, *(f"2026-11-20T08:{n:02}:00Z,{row}" for n, row in enumerate(rows))]) + "\n"


def read_sheet(text: str, tmp_path: Path, options: ImportOptions | None = None) -> Tables:
    return read_text(cloudwatch_csv.IMPORTER, text, tmp_path, options)


def test_the_console_s_words_above_a_column_tell_metric_statistic_volume_and_period() -> None:
    tables = read_tables(cloudwatch_csv.IMPORTER, CONSOLE)
    rows = of(tables, "vol-0aa11")
    assert [row["read_ops_per_s"] for row in rows] == [100, 200, 0]
    assert [row["read_latency_ns_mean"] for row in rows] == [1e6, 1.5e6, None]
    assert {row["duration_ns"] for row in rows} == {300 * 10**9}
    assert not tables.notes.warnings


def test_an_average_is_told_by_the_console_s_words(tmp_path: Path) -> None:
    tables = read_sheet(CONSOLE.read_text().replace('"Sum"', '"Average"', 2), tmp_path)
    assert all(row["read_ops_per_s"] is None for row in tables.rows("observations"))
    assert any("VolumeReadOps, VolumeReadBytes" in warning for warning in tables.notes.warnings)


def test_headings_as_cloudwatch_spells_them_are_sums_of_the_volume_in_each_row(tmp_path: Path) -> None:
    text = "timestamp,volume,VolumeReadOps,VolumeTotalReadTime\n" + "".join(
        f"2026-11-20T08:0{n}:00Z,vol-{volume},{60 * volume},{0.12 * volume}\n" for n in range(3) for volume in (1, 2)
    )
    tables = read_sheet(text, tmp_path)
    assert [row["read_ops_per_s"] for row in of(tables, "vol-2")] == [2, 2, 2]
    assert [row["read_latency_ns_mean"] for row in of(tables, "vol-1")] == [pytest.approx(2e6)] * 3


def test_a_heading_may_name_the_volume_by_its_id_or_by_a_name(tmp_path: Path) -> None:
    heading = "Time,{} VolumeReadOps (Count),{} VolumeReadOps (Count)"
    for names in (("vol-1", "vol-2"), ("data", "log")):
        tables = read_sheet(sheet(heading.format(*names), "60,120", "60,120"), tmp_path)
        assert [row["read_ops_per_s"] for row in of(tables, names[1])] == [2, 2]


def test_units_in_headings_are_no_names_of_volumes(tmp_path: Path) -> None:
    text = sheet("Time,VolumeReadOps (Count),VolumeReadBytes (Bytes)", "60,491520", "60,491520")
    assert {row["read_bytes_per_s"] for row in of(read_sheet(text, tmp_path), "volume")} == {8192}


def test_instances_have_names_of_their_own(tmp_path: Path) -> None:
    text = sheet("Time,InstanceId,EBSReadOps,EBSByteBalance%", "i-1,60,99", "i-1,60,0")
    tables = read_sheet(text, tmp_path)
    assert {(row["kind"], row["read_ops_per_s"]) for row in of(tables, "i-1")} == {("vm", 1.0)}
    assert counters(tables) == {("credits_left_ratio_bytes", "ratio")}


def test_operations_without_their_times_have_no_latency_which_is_said() -> None:
    tables = read_tables(cloudwatch_csv.IMPORTER, HEADINGS)
    assert any("VolumeTotalReadTime" in warning for warning in tables.notes.warnings)


def test_a_queue_beside_the_operations_tells_a_latency_which_is_said(tmp_path: Path) -> None:
    labels = {f"{name} vol-1": [60.0] * 6 for name in ("VolumeReadOps", "VolumeWriteOps")}
    queue = {"VolumeQueueLength vol-1": [0.5] * 6}
    assert any("derived from VolumeQueueLength" in one for one in read(answer(labels | queue), tmp_path).notes.warnings)
    for less in (labels, {"VolumeReadOps vol-1": [60.0] * 6} | queue):
        assert any("which most rules need" in one for one in read(answer(less), tmp_path).notes.warnings)


def test_times_of_a_sheet_may_be_local(tmp_path: Path) -> None:
    options = ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))
    rows = of(read_sheet(CONSOLE.read_text(), tmp_path, options), "vol-0aa11")
    assert rows[0]["time"].isoformat() == "2026-11-20T07:00:00+00:00"


def test_columns_of_other_metrics_are_named(tmp_path: Path) -> None:
    tables = read_sheet(sheet("Time,VolumeReadOps,CPUUtilization", "60,5", "60,5"), tmp_path)
    assert any("'CPUUtilization'" in warning for warning in tables.notes.warnings)


@pytest.mark.parametrize(
    "text",
    [
        "VolumeReadOps,VolumeWriteOps\n1,2\n", "time,VolumeReadOpsPerSecond\n2026-11-20T08:00:00Z,5\n",
        "A note on VolumeReadOps, and time\n",
    ],
)  # fmt: skip
def test_what_has_no_time_or_no_metric_of_its_own_is_no_sheet_of_cloudwatch(text: str, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(text)
    assert recognise(Evidence(path).head) is not cloudwatch_csv.IMPORTER
    with pytest.raises(MalformedInput, match="CloudWatch"):
        read_tables(cloudwatch_csv.IMPORTER, path)
