"""Tables with a column for each thing and counter: by tables whose every number is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importers import importers, recognise
from storscope.sources.importers._unit_cells import split_cell, unit_of
from storscope.sources.importers._wide_heading import Split, split_heading
from storscope.sources.importers.wide_table import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "wide_table"
FILES = sorted(SAMPLES.glob("*.csv"))
JOINED = SAMPLES / "grafana_joined_written.csv"
FORMATTED = SAMPLES / "grafana_formatted_written.csv"
LABELS = SAMPLES / "prometheus_labels_written.csv"


def of(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return sorted((row for row in tables.rows("observations") if row["entity"] == entity), key=lambda row: row["time"])


def table(*headings: str, rows: tuple[tuple[str, ...], ...]) -> str:
    lines = [",".join(f'"{heading}"' for heading in ("Time", *headings))]
    lines += [f"{1_795_168_800 + 30 * n}," + ",".join(f'"{cell}"' for cell in row) for n, row in enumerate(rows)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize(
    ("heading", "measures", "name", "column"),
    [
        ("vol1 - Read IOPS", None, "vol1", "read_ops_per_s"), ("Read IOPS - vol1", None, "vol1", "read_ops_per_s"),
        ("Volume A Read Latency (ms)", None, "Volume A", "read_latency_ns_mean"),
        ("Read IOPS disk 1", None, "disk 1", "read_ops_per_s"), ("vol1 (Read IOPS)", None, "vol1", "read_ops_per_s"),
        ("C: - Read IOPS", None, "C:", "read_ops_per_s"), ("db1: sda - Read IOPS", None, "db1: sda", "read_ops_per_s"),
        ("db1.sda.read_iops", None, "db1.sda", "read_ops_per_s"),
        ("SQL data Read IOPS", None, "SQL data", "read_ops_per_s"),
        ("vol1: Throughput", "bytes per second", "vol1", "bytes_per_s"),
        ("vol1 Write Latency", "time", "vol1", "write_latency_ns_mean"),
        ("vol1 - Read", "operations per second", "vol1", "read_ops_per_s"),
        ('read_iops{instance="db1:9100", device="sda"}', None, "sda", "read_ops_per_s"),
        ('iops{device="sda", direction="write"}', None, "sda", "write_ops_per_s"),
    ],
)  # fmt: skip
def test_a_heading_names_a_thing_and_a_counter(heading: str, measures: str | None, name: str, column: str) -> None:
    found = split_heading(heading, measures)
    assert isinstance(found, Split)
    assert (found.name, found.meaning.column) == (name, column)


@pytest.mark.parametrize(
    ("heading", "why"),
    [
        ('{instance="db1", device="sda"}', "legend"), ('node_disk_reads_completed_total{device="sda"}', "rate"),
        ('latency_ms{device="sda", quantile="0.99"}', "quantile"), ("vol1 Max Read Latency (ms)", "not a thing"),
        ("vol1 - Cache Read IOPS", "not a thing"), ("vol1 Cache Read IOPS", "not a thing"),
        ("db read Read IOPS", "not a thing"),
        ("vol1 95th Read Latency (ms)", "not a thing"), ("vol1 Read Latency", "unit"), ("vol1 - Throughput", "unit"),
        ("Read IOPS vol1 Write IOPS", "not a thing"), ("vol1 - Utilization", "unit"),
        ("temperature", "not a thing"),
    ],
)  # fmt: skip
def test_a_heading_that_is_not_sure_is_left_out_with_the_reason(heading: str, why: str) -> None:
    found = split_heading(heading)
    assert isinstance(found, str)
    assert why in found


@pytest.mark.parametrize(
    ("cell", "number", "measures", "factor"),
    [
        ("12.3 ms", "12.3", "time", 1e6), ("345 µs", "345", "time", 1e3), ("1.2 K", "1.2", "scale", 1e3),
        ("1.5 Mil", "1.5", "scale", 1e6), ("345 MB/s", "345", "bytes per second", 1e6),
        ("3 MiB/s", "3", "bytes per second", 2.0**20), ("8 Mb/s", "8", "bytes per second", 125e3),
        ("8 b/s", "8", "bytes per second", 0.125), ("1.2 K io/s", "1.2", "operations per second", 1e3),
        ("99 iops", "99", "operations per second", 1), ("87%", "87", "share", 0.01), ("2 mins", "2", "time", 60e9),
    ],
)  # fmt: skip
def test_a_cell_has_a_number_and_a_unit(cell: str, number: str, measures: str, factor: float) -> None:
    found, said = split_cell(cell)
    unit = unit_of(said)
    assert found == number
    assert unit is not None
    assert unit.measures == measures
    assert unit.factor == pytest.approx(factor)


@pytest.mark.parametrize("unit", ["", "m", "MB", "°C", "furlongs", "ms/s", "B"])
def test_a_unit_that_is_not_known_is_none(unit: str) -> None:
    assert unit_of(unit) is None


def test_units_in_cells_are_read_cell_by_cell() -> None:
    found = of(read_tables(IMPORTER, FORMATTED), "Volume A")
    assert [row["read_latency_ns_mean"] for row in found] == [850e3, 1.25e6, 1.5e9]
    assert [row["bytes_per_s"] for row in found] == [345e6, 1.2e9, 3 * 2**20]
    assert [row["read_ops_per_s"] for row in found] == [1200, 2000, 12]
    assert [row["busy_ratio"] for row in found] == pytest.approx([0.87, 0.95, 1])


def test_a_cell_without_the_unit_that_its_column_needs_is_no_value_and_told(tmp_path: Path) -> None:
    rows = (("2 ms", "5"), ("3", "6"), ("4 ms", "7 MB/s"))
    tables = read_text(IMPORTER, table("v - Read Latency", "v - Read IOPS", rows=rows), tmp_path)
    assert [row["read_latency_ns_mean"] for row in of(tables, "v")] == [2e6, None, 4e6]
    assert [row["read_ops_per_s"] for row in of(tables, "v")] == [5, 6, None]
    assert sum(tables.notes.omitted.values()) == 2


def test_a_cell_in_another_unit_than_its_heading_is_read_in_its_own(tmp_path: Path) -> None:
    rows = (("900 µs",), ("1.5 s",))
    tables = read_text(IMPORTER, table("v - Read Latency (ms)", rows=rows), tmp_path)
    assert [row["read_latency_ns_mean"] for row in of(tables, "v")] == [9e5, 1.5e9]


def test_a_small_b_is_bits_and_told(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, table("v - Throughput", rows=(("8 Mb/s",), ("16 Mb/s",))), tmp_path)
    assert [row["bytes_per_s"] for row in of(tables, "v")] == [1e6, 2e6]
    assert any("taken as bits" in warning for warning in tables.notes.warnings)


def test_what_is_left_out_is_named_with_the_remedy() -> None:
    tables = read_tables(IMPORTER, LABELS)
    assert {row["entity"] for row in tables.rows("observations")} == {"sda"}
    said = " ".join(tables.notes.warnings)
    assert "node_disk_reads_completed_total" in said
    assert "legend" in said
    assert sum(tables.notes.omitted.values()) == 8
    assert ("device", "sda", "member_of", "host", "db1") in tables.links()


def test_a_missing_sample_makes_no_interval_longer() -> None:
    found = of(read_tables(IMPORTER, JOINED), "sdb")
    assert [row["duration_ns"] for row in found] == [30 * 10**9] * 3
    assert [row["read_ops_per_s"] for row in found] == [200, 201, 203]


def test_columns_that_say_the_same_of_one_thing_are_none(tmp_path: Path) -> None:
    text = table("v - Read IOPS", "v - Avg Read IOPS", "w - Read IOPS", rows=(("1", "2", "3"), ("1", "2", "3")))
    tables = read_text(IMPORTER, text, tmp_path)
    assert {row["entity"] for row in tables.rows("observations")} == {"w"}
    assert any("'v - Avg Read IOPS'" in warning for warning in tables.notes.warnings)


def test_a_word_that_may_be_the_counters_makes_no_second_thing(tmp_path: Path) -> None:
    text = table("vol1 Read IOPS", "vol1 Foo Read IOPS", "vol2 Read IOPS", rows=(("1", "2", "3"), ("1", "2", "3")))
    assert {row["entity"] for row in read_text(IMPORTER, text, tmp_path).rows("observations")} == {"vol1", "vol2"}


def test_totals_beside_things_are_left_out(tmp_path: Path) -> None:
    text = table("Read IOPS", "Total | Read IOPS", "vol1 | Read IOPS", rows=(("9", "9", "9"), ("9", "9", "9")))
    assert {row["entity"] for row in read_text(IMPORTER, text, tmp_path).rows("observations")} == {"vol1"}


def test_decimal_commas_are_read_with_their_units(tmp_path: Path) -> None:
    text = "Time;v - Read Latency;v - Read IOPS\n" + "".join(
        f"{1_795_168_800 + 30 * n};1,{n}5 ms;1,5 K\n" for n in range(2)
    )
    found = of(read_text(IMPORTER, text, tmp_path), "v")
    assert [row["read_latency_ns_mean"] for row in found] == [pytest.approx(1.05e6), pytest.approx(1.15e6)]
    assert [row["read_ops_per_s"] for row in found] == [1500, 1500]


def test_what_nothing_calls_a_volume_is_taken_as_one_and_told(tmp_path: Path) -> None:
    text = table("db - Read IOPS", "LUN 3 - Read IOPS", rows=(("1", "2"), ("1", "2")))
    said = [warning for warning in read_text(IMPORTER, text, tmp_path).notes.warnings if "volumes" in warning]
    assert len(said) == 1
    assert "'db'" in said[0]
    assert "LUN 3" not in said[0]


def test_one_thing_with_units_in_its_cells_is_of_the_system_that_is_named(tmp_path: Path) -> None:
    text = table("Read Latency", "Read IOPS", rows=(("2 ms", "1.5 K"), ("3 ms", "2 K")))
    found = recognise(Head("x", text.encode(), "utf-8"))
    assert found is IMPORTER
    (kind,) = {row["kind"] for row in read_text(IMPORTER, text, tmp_path).rows("observations")}
    assert kind == "array"


@pytest.mark.parametrize("heading", ["db1", '{instance=""db1"", device=""sda""}'])
def test_things_without_a_counter_are_refused_with_what_to_rename(heading: str, tmp_path: Path) -> None:
    text = table(heading, rows=(("2 ms",), ("3 ms",)))
    assert recognise(Head("x", text.encode(), "utf-8")) is IMPORTER
    with pytest.raises(MalformedInput, match="NAME - COUNTER"):
        read_text(IMPORTER, text, tmp_path)


def test_a_table_without_such_a_heading_is_refused_with_one_as_an_example(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="a thing and a counter"):
        read_text(IMPORTER, "a,b\n1,2\n", tmp_path)


def test_samples_of_other_importers_are_none_of_these() -> None:
    for name in importers():
        for path in (SAMPLES.parent / name).glob("*.csv"):
            if name != IMPORTER.name:
                assert recognise(Evidence(path).head) is not IMPORTER, path
