"""Azure Monitor's metrics of disks: by answers whose every number is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.importer import ImportOptions
from storscope.sources.importers.azure_monitor import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "azure_monitor"
VM, DISK = SAMPLES / "vm_written.json", SAMPLES / "disk_written.json"
MACHINE = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/db1/providers/x"


def answer(metrics: Mapping[str, Sequence[object]], statistic: str = "average", **more: object) -> str:
    """What az prints of metrics of one machine without a LUN: name -> values of minutes."""
    value = [
        {
            "id": MACHINE, "name": {"value": name}, "unit": "",
            "timeseries": [{"metadatavalues": [], "data": [
                {"timeStamp": f"2026-11-20T08:{minute:02}:00Z", statistic: one} for minute, one in enumerate(values)
            ]}],
        }
        for name, values in metrics.items()
    ]  # fmt: skip
    return json.dumps({"interval": "PT1M", "value": value, **more})


def of(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return sorted((row for row in tables.rows("observations") if row["entity"] == entity), key=lambda row: row["time"])


def counters(tables: Tables) -> set[str]:
    return {row["name"] for row in tables.rows("series")}


@pytest.mark.parametrize("path", [VM, DISK], ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


def test_rates_are_per_second_already_and_latency_is_milliseconds() -> None:
    rows = of(read_tables(IMPORTER, VM), "LUN 0")
    assert [row["read_ops_per_s"] for row in rows] == [100.5, 200, 0]
    assert [row["write_bytes_per_s"] for row in rows] == [409_600, 491_520, 0]
    assert [row["latency_ns_mean"] for row in rows] == [2e6, 3e6, None]
    assert [row["queue_depth_mean"] for row in rows] == [0.3, 0.8, 0]
    assert {(row["system"], row["kind"], row["duration_ns"]) for row in rows} == {("db1", "device", 60 * 10**9)}


def test_a_disk_of_its_own_is_a_volume() -> None:
    rows = of(read_tables(IMPORTER, DISK), "data1")
    assert [row["read_ops_per_s"] for row in rows] == [300, 310, 320, 330]
    assert {(row["system"], row["kind"]) for row in rows} == {("azure", "vdisk")}


def test_a_total_is_no_rate_which_is_said() -> None:
    tables = read_tables(IMPORTER, DISK)
    assert {row["write_bytes_per_s"] for row in tables.rows("observations")} == {None}
    assert "Composite Disk Write Bytes/sec, total" in counters(tables)
    assert any("--aggregation Average" in warning for warning in tables.notes.warnings)


def test_shares_are_counters_with_their_unit() -> None:
    found = {(row["entity"], row["name"], row["unit"]) for row in read_tables(IMPORTER, VM).rows("series")}
    assert ("db1", "VM Uncached IOPS Consumed Percentage", "Percent") in found


@pytest.mark.parametrize(
    ("metric", "entity", "counter"),
    [
        ("Data Disk Used Burst IO Credits Percentage", "data disk", "credits_left_ratio_ops"),
        ("OS Disk Used Burst BPS Credits Percentage", "OS disk", "credits_left_ratio_bytes"),
        ("VM Uncached Used Burst IO Credits Percentage", "db1", "credits_left_ratio_ops"),
        ("VM Cached Used Burst BPS Credits Percentage", "db1", "credits_left_ratio_bytes_cached"),
    ],
)
def test_credits_that_are_used_are_told_as_those_that_are_left(
    metric: str, entity: str, counter: str, tmp_path: Path
) -> None:
    rows = read_text(IMPORTER, answer({metric: [0, 25, 100]}), tmp_path).rows("series")
    assert [(row["entity"], row["name"], row["unit"], row["values"]) for row in rows] == [
        (entity, counter, "ratio", [1, 0.75, 0])
    ]


def test_credits_in_another_unit_or_statistic_stay_as_they_are(tmp_path: Path) -> None:
    metric = "Data Disk Used Burst IO Credits Percentage"
    odd = read_text(IMPORTER, answer({metric: [5, 6]}).replace('"unit": ""', '"unit": "Count"'), tmp_path)
    assert counters(odd) == {metric}
    assert any("not its unit" in warning for warning in odd.notes.warnings)
    most = read_text(IMPORTER, answer({metric: [5, 6]}, "maximum"), tmp_path)
    assert counters(most) == {f"{metric}, maximum"}
    assert any("--aggregation Average" in warning for warning in most.notes.warnings)


def test_without_a_lun_the_average_of_several_disks_is_doubted(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, answer({"Data Disk Read Operations/Sec": [5, 6]}), tmp_path)
    assert [row["read_ops_per_s"] for row in of(tables, "data disk")] == [5, 6]
    assert any("LUN eq" in warning for warning in tables.notes.warnings)


def test_what_no_lun_tells_is_left_out_beside_what_each_lun_tells(tmp_path: Path) -> None:
    text = VM.read_text() + answer({"Data Disk Read Operations/Sec": [5, 6]}) + "\n"
    tables = read_text(IMPORTER, text, tmp_path)
    assert not of(tables, "data disk")
    assert tables.notes.omitted["values of any data disk, which repeat those of each"] == 2


def test_a_unit_that_contradicts_the_name_keeps_a_counter(tmp_path: Path) -> None:
    text = answer({"Data Disk Latency": [2, 3]}).replace('"unit": ""', '"unit": "Seconds"')
    tables = read_text(IMPORTER, text, tmp_path)
    assert not tables.rows("observations")
    assert counters(tables) == {"Data Disk Latency"}
    assert any("not its unit" in warning for warning in tables.notes.warnings)


@pytest.mark.parametrize(("interval", "length_s"), [("PT1M", 60), ("PT5M", 300), ("PT1H", 3600), ("nonsense", 60)])
def test_the_interval_is_what_the_answer_says_else_the_step(interval: str, length_s: int, tmp_path: Path) -> None:
    text = answer({"OS Disk Queue Depth": [1, 2, 3]}).replace("PT1M", interval)
    assert {row["duration_ns"] for row in read_text(IMPORTER, text, tmp_path).rows("observations")} == {
        length_s * 10**9
    }


def test_a_machine_that_nothing_names_is_called_after_the_file(tmp_path: Path) -> None:
    text = answer({"OS Disk Queue Depth": [1, 2]}).replace(MACHINE, "")
    tables = read_text(IMPORTER, text, tmp_path)
    assert {row["system"] for row in tables.rows("observations")} == {"evidence"}
    assert any("after the file" in warning for warning in tables.notes.warnings)
    named = read_text(IMPORTER, text, tmp_path, ImportOptions(system="db2"))
    assert {row["system"] for row in named.rows("observations")} == {"db2"}


def test_metrics_that_are_not_about_disks_are_named() -> None:
    warnings = read_tables(IMPORTER, VM).notes.warnings
    assert any("'Percentage CPU'" in warning for warning in warnings)


@pytest.mark.parametrize("number", ["1e999", "NaN", "1" + "0" * 400, '"5"', "true", "[]", "-5"])
def test_a_value_that_is_no_rate_is_left_out_and_counted(number: str, tmp_path: Path) -> None:
    text = answer({"OS Disk Queue Depth": [1, 2, 3]}).replace('"average": 1}', f'"average": {number}}}')
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["queue_depth_mean"] for row in tables.rows("observations")] == [2, 3]
    assert sum(tables.notes.omitted.values()) == 1


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"timeStamp"', '"time"'), ('"data": [', '"data": 5, "x": ['), ('"timeseries": [', '"timeseries": [5, '),
        ('"name": {', '"names": {'), ('"value": [{', '"value": [[], {'),
    ],
)  # fmt: skip
def test_json_of_another_shape_is_refused(found: str, instead: str, tmp_path: Path) -> None:
    text = answer({"OS Disk Queue Depth": [1, 2, 3]})
    assert found in text
    with pytest.raises(MalformedInput, match="timeseries"):
        read_text(IMPORTER, text.replace(found, instead), tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_what_is_no_whole_document_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="az monitor"):
        read_text(IMPORTER, text, tmp_path)
