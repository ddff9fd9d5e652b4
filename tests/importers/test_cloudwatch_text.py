"""What the AWS CLI prints of CloudWatch as text and as a table: by answers whose every number is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput, StorscopeError
from storscope.sources.evidence import Evidence
from storscope.sources.importers import recognise
from storscope.sources.importers.cloudwatch_text import IMPORTER
from storscope.store import Store
from storscope.workbench.importing import import_paths
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "cloudwatch_text"
TEXT, TABLE, DATA = (
    SAMPLES / f"{name}_written.txt" for name in ("statistics_text", "vol-0bb22_table", "data_text")
)  # fmt: skip


def text(metric: str, *values: str, minutes: int = 3) -> str:
    """An answer of get-metric-statistics with these words before each time."""
    words = ([*values, f"2026-11-20T08:{n:02}:00+00:00", "Count"] for n in range(minutes))
    return f"{metric}\n" + "".join("\t".join(["DATAPOINTS", *line]) + "\n" for line in words)


def read(content: str, tmp_path: Path) -> Tables:
    return read_text(IMPORTER, content, tmp_path)


def of(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return sorted((row for row in tables.rows("observations") if row["entity"] == entity), key=lambda row: row["time"])


def counters(tables: Tables) -> dict[tuple[str, str], list[float]]:
    return {(row["entity"], row["name"]): row["values"] for row in tables.rows("series")}


@pytest.mark.parametrize("path", [TEXT, TABLE, DATA], ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


def test_answers_of_one_volume_are_its_rates_and_its_latency() -> None:
    rows = of(read_tables(IMPORTER, TEXT), "vol-0aa11")
    assert [row["read_ops_per_s"] for row in rows] == [100, 200, 300]
    assert [row["read_latency_ns_mean"] for row in rows] == [1e6, 2e6, 2e6]
    assert [row["queue_depth_mean"] for row in rows] == [0.1, 0.4, 0.6]


def test_a_table_names_its_statistics() -> None:
    tables = read_tables(IMPORTER, TABLE)
    assert [row["read_ops_per_s"] for row in of(tables, "vol-0bb22")] == [100, 200, 0]
    assert counters(tables)["vol-0bb22", "credits_left_ratio"] == [1, 0.995, 0.99]
    assert not any("statistic" in warning for warning in tables.notes.warnings)


def test_times_and_values_of_get_metric_data_stand_in_the_same_order() -> None:
    tables = read_tables(IMPORTER, DATA)
    rows = of(tables, "vol-0cc33")
    assert [row["read_ops_per_s"] for row in rows] == [0, 20, 10]
    assert [row["read_bytes_per_s"] for row in rows] == [0, 163840, 81920]
    assert counters(tables)["i-0dd44", "credits_left_ratio_bytes"] == [1, 0.99, 0.98]
    assert any("'m4 CPUUtilization Complete'" in warning for warning in tables.notes.warnings)


def test_all_five_statistics_have_their_order_and_fewer_have_none(tmp_path: Path) -> None:
    tables = read(text("VolumeReadOps", "1.0", "2.0", "0.5", "60.0", "6000.0"), tmp_path)
    assert [row["read_ops_per_s"] for row in tables.rows("observations")] == [100] * 3
    assert counters(tables)["volume", "VolumeReadOps, Maximum"] == [2] * 3
    with pytest.raises(MalformedInput, match="--output json"):
        read(text("VolumeReadOps", "1.0", "6000.0"), tmp_path)


def test_one_statistic_that_nothing_names_is_doubted(tmp_path: Path) -> None:
    tables = read(text("VolumeReadOps", "6000.0"), tmp_path)
    assert [row["read_ops_per_s"] for row in tables.rows("observations")] == [100] * 3
    assert any("Nothing says by which statistic" in warning for warning in tables.notes.warnings)


def test_values_of_another_metric_are_not_those_of_the_one_before(tmp_path: Path) -> None:
    tables = read(text("VolumeReadOps", "60") + text("CPUUtilization", "99") + text("VolumeWriteOps", "60"), tmp_path)
    assert {(row["read_ops_per_s"], row["write_ops_per_s"]) for row in tables.rows("observations")} == {(1, 1)}
    assert any("'CPUUtilization'" in warning for warning in tables.notes.warnings)


def test_files_of_one_folder_are_one_capture(tmp_path: Path) -> None:
    folder = tmp_path / "volumes"
    folder.mkdir()
    for metric, value in (("VolumeReadOps", "6000"), ("VolumeTotalReadTime", "6.5")):
        (folder / f"vol-1.{metric}.txt").write_text(text(metric, value))
    store = Store.open(tmp_path / "store", create=True)
    assert not import_paths(store, [folder]).failures
    [latency] = set(store.query("SELECT read_latency_ns_mean FROM observations").column(0).to_pylist())
    assert latency == pytest.approx(6.5e9 / 6000)


@pytest.mark.parametrize(
    ("old", "new"),
    [("6000.0\t2026", "many\t2026"), ("2026-11-20T08:00:00+00:00", "never"), ("DATAPOINTS\t", "POINTS\t")],
)
def test_what_is_no_value_is_left_out_and_counted(old: str, new: str, tmp_path: Path) -> None:
    tables = read(text("VolumeReadOps", "6000.0", minutes=4).replace(old, new, 1), tmp_path)
    assert len(tables.rows("observations")) == 3
    assert sum(tables.notes.omitted.values()) == 1


@pytest.mark.parametrize("content", ["", "VolumeReadOps\n", "DATAPOINTS\t5\n", "|  GetMetricStatistics  |\n"])
def test_what_has_no_values_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "answer.txt"
    path.write_text(content)
    assert recognise(Evidence(path).head) is not IMPORTER
    with pytest.raises(MalformedInput, match="aws cloudwatch"):
        read_tables(IMPORTER, path)


_WORDS = st.sampled_from([
    "DATAPOINTS", "METRICDATARESULTS", "TIMESTAMPS", "VALUES", "VolumeReadOps", "2026-11-20T08:00:00Z", "60.0", "1e999",
    "|  GetMetricStatistics  |", "||  Sum  |  Timestamp  ||", "||  5  |  2026-11-20T08:00:00Z  ||", "|  Label  |  x  |",
    "# vol-1", "", "|", "|+--+|", "\x00", "9" * 400,
])  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(_WORDS, min_size=1, max_size=8), max_size=12))
def test_whatever_lines_come_they_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]]
) -> None:
    try:
        tables = read("\n".join("\t".join(line) for line in lines), tmp_path_factory.mktemp("fuzz"))
    except StorscopeError as error:
        assert len(str(error)) < 1000
    else:
        assert all(row["read_ops_per_s"] is None or row["read_ops_per_s"] >= 0 for row in tables.rows("observations"))
