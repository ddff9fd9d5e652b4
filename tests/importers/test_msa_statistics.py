"""Statistics of MSA arrays: differences of counters that are checked, from XML, JSON and the console."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from storscope.cli.main import run
from storscope.domain.errors import MalformedInput, StorscopeError
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import recognise
from storscope.sources.importers.msa_statistics import IMPORTER
from tests.support.golden import check_golden
from tests.support.mutants import mutants
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "msa_statistics"
XML = SAMPLES / "msa2040_xml.txt"
JSON = SAMPLES / "me4_json.txt"
CONSOLE = SAMPLES / "p2000_console.txt"
ALL = [XML, JSON, CONSOLE]


def observations(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["entity"] == entity]


def answer(type_: str = "volume-statistics", time: int = 1598000000, **properties: object) -> str:
    """One answer in JSON, on one line, with a time on the array's clock."""
    thing = {"volume-name": "v1"} | {name.replace("_", "-"): value for name, value in properties.items()}
    return json.dumps({type_: [thing | {"stop-sample-time-numeric": time}], "status": []}) + "\n"


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_every_sample_yields_the_expected_tables(sample: Path) -> None:
    check_golden(read_tables(IMPORTER, sample), sample.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_every_sample_is_recognised(sample: Path) -> None:
    assert recognise(Evidence(sample).head) is IMPORTER


def test_rates_are_differences_of_the_real_counters_and_not_the_iops_of_an_uneven_window() -> None:
    tables = read_tables(IMPORTER, XML)
    (volume,) = observations(tables, "db_v0001")
    assert (volume["kind"], volume["duration_ns"]) == ("vdisk", 60 * 10**9)
    assert (volume["read_ops_per_s"], volume["write_ops_per_s"]) == (100.0, 200.0)
    assert (volume["read_bytes_per_s"], volume["write_bytes_per_s"]) == (100 * 16384, 200 * 8192)
    busy, idle = observations(tables, "01.01")
    assert (busy["kind"], busy["ops_per_s"], busy["queue_depth_mean"]) == ("disk", 100.0, 7.0)
    assert (idle["ops_per_s"], idle["queue_depth_mean"]) == (0.0, 0.0)


def test_forwarded_commands_are_the_proxied_operations() -> None:
    first, second = observations(read_tables(IMPORTER, XML), "A")
    assert (first["kind"], first["forwarded_per_s"], first["ops_per_s"]) == ("controller", 100.0, 400.0)
    assert (first["cpu_busy_ratio"], second["cpu_busy_ratio"]) == (0.41, None)


def test_cache_hits_count_blocks_so_their_share_is_of_blocks() -> None:
    tables = read_tables(IMPORTER, XML)
    (volume,) = observations(tables, "db_v0001")
    assert volume["read_hit_ratio"] == 30_000 / 120_000
    units = {row["name"]: row["unit"] for row in tables.rows("series")}
    assert units["read-cache-hits"] == "blocks/s"


def test_garbage_and_resets_are_counted_and_give_no_number() -> None:
    tables = read_tables(IMPORTER, XML)
    assert tables.notes.omitted == {
        "read-ahead-operations: values out of range": 3,
        "cpu-load: values out of range": 1,
        "intervals with a counter reset": 1,
    }
    assert "read-ahead-operations" not in {row["name"] for row in tables.rows("series")}


def test_a_reset_is_seen_by_its_time_though_the_counters_rose(tmp_path: Path) -> None:
    text = answer(number_of_reads=10, number_of_writes=0, reset_time_numeric=1)
    text += answer(time=1598000060, number_of_reads=700, number_of_writes=0, reset_time_numeric=2)
    text += answer(time=1598000120, number_of_reads=760, number_of_writes=0, reset_time_numeric=2)
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_ops_per_s"] for row in tables.rows("observations")] == [1.0]
    assert tables.notes.omitted["intervals with a counter reset"] == 1


def test_latencies_are_taken_where_their_window_is_the_interval() -> None:
    port = observations(read_tables(IMPORTER, JSON), "A1")[0]
    assert (port["latency_ns_mean"], port["read_latency_ns_mean"], port["write_latency_ns_mean"]) == (
        2_600_000, 3_100_000, 1_600_000,
    )  # fmt: skip
    assert port["time"].isoformat() == "2020-08-21T08:53:20+00:00"


@pytest.mark.parametrize("start", ["N/A", 1598000055])
def test_latencies_of_another_window_are_left_out_and_said(start: object, tmp_path: Path) -> None:
    text = answer(number_of_reads=10, number_of_writes=0)
    text += answer(
        time=1598000060, number_of_reads=70, number_of_writes=0, avg_rsp_time=5000, start_sample_time_numeric=start
    )
    tables = read_text(IMPORTER, text, tmp_path)
    (row,) = tables.rows("observations")
    assert row["latency_ns_mean"] is None
    assert any("latencies over another time" in reason for reason in tables.notes.omitted)
    assert {one["name"] for one in tables.rows("series")} == {"avg-rsp-time"}


def test_a_pool_has_the_counters_inside_it_and_not_those_of_its_tiers() -> None:
    rows = observations(read_tables(IMPORTER, JSON), "A")
    assert {(row["kind"], row["read_ops_per_s"]) for row in rows} == {("disk_group", 90.0)}


def test_the_console_gives_operations_and_says_why_no_bytes() -> None:
    tables = read_tables(IMPORTER, CONSOLE)
    (left,) = observations(tables, "A")
    assert (left["read_ops_per_s"], left["write_ops_per_s"], left["forwarded_per_s"]) == (100.0, 50.0, 30.0)
    assert left["read_bytes_per_s"] is None
    assert any("Sizes of the console's tables are rounded" in warning for warning in tables.notes.warnings)
    assert "taken as UTC" in (tables.notes.clock or "")


def test_an_answer_on_one_line_or_many_or_with_junk_around_is_the_same(tmp_path: Path) -> None:
    expected = contents(read_tables(IMPORTER, XML))
    lines = XML.read_text().splitlines()
    joined = "".join(line if line.lstrip().startswith("<") and "</RESPONSE>" not in line else f"{line}\n"
                     for line in lines)  # fmt: skip
    for text in (joined, XML.read_text().replace("<?xml", "\nHP StorageWorks MSA\n# \n<?xml"),
                 XML.read_text().replace("\n", "\r\n")):  # fmt: skip
        assert contents(read_text(IMPORTER, text, tmp_path)) == expected


def contents(tables: Tables) -> dict[str, list[dict[str, Any]]]:
    return {name: tables.rows(name) for name in tables.tables}


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_a_cut_file_gives_no_number_that_is_not_in_the_whole(sample: Path, tmp_path: Path) -> None:
    whole = read_tables(IMPORTER, sample).rows("observations")
    raw = sample.read_bytes()
    for cut in range(len(raw) // 2, len(raw), 97):
        for row in read_text(IMPORTER, raw[:cut], tmp_path).rows("observations"):
            assert row in whole, cut


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_no_mutant_raises_anything_but_our_errors(sample: Path, tmp_path: Path) -> None:
    for mutant in mutants(sample, b'{}[]<>"0123456789-eN/ \n\xff'):
        try:
            read_text(IMPORTER, mutant, tmp_path)
        except StorscopeError as error:
            assert error.expected


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY b "c">]><RESPONSE><OBJECT basetype="volume-statistics"/></RESPONSE>\n',
        "<RESPONSE>" * 50_000, '{"volume-statistics": [' * 20_000, "{" * 500_000, "[" * 100_000,
        '{"volume-statistics": [1, null, {"volume-name": {}}]}\n', "<OBJECT " * 30_000, "Error: " + " " * 200_000 + "x",
    ],
    ids=range(8),
)  # fmt: skip
def test_hostile_text_is_refused_at_once(text: str, tmp_path: Path) -> None:
    assert 0 <= IMPORTER.recognise(Head("x", text.encode(), "utf-8")) <= 1
    with pytest.raises(MalformedInput, match="MSA statistics"):
        read_text(IMPORTER, text, tmp_path)


def test_one_capture_is_no_data_and_says_so(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, answer(number_of_reads=10, number_of_writes=2), tmp_path)
    assert tables.rows("observations") == []
    assert any("rates need two" in warning for warning in tables.notes.warnings)


def test_without_any_time_the_interval_places_them(tmp_path: Path) -> None:
    text = "".join(
        json.dumps({"volume-statistics": [{"volume-name": "v", "number-of-reads": 60 * n, "number-of-writes": 0}]})
        + "\n"
        for n in range(3)
    )
    with pytest.raises(MalformedInput, match="--interval"):
        read_text(IMPORTER, text, tmp_path)
    tables = read_text(IMPORTER, text, tmp_path, ImportOptions(interval_s=30, system="msa7"))
    assert [(row["system"], row["read_ops_per_s"]) for row in tables.rows("observations")] == [("msa7", 2.0)] * 2


@pytest.mark.parametrize("begin", ["", "2026-11-20T10:00:00.5Z\n"])
def test_captures_under_one_time_line_are_placed_by_the_arrays_clock(begin: str, tmp_path: Path) -> None:
    text = begin + "".join(
        answer(time=1598000000 + 60 * n, number_of_reads=120 * n, number_of_writes=0) for n in range(3)
    )
    rows = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert [(row["time"].isoformat(), row["read_ops_per_s"]) for row in rows] == [
        ("2020-08-21T08:53:20+00:00", 2.0), ("2020-08-21T08:54:20+00:00", 2.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", [b"", b"{}\n", b'{"jobs": []}\n', b"<RESPONSE/>\n", b"show me volume-statistics\n", b"Number of Reads\n"]
)
def test_other_text_is_not_recognised(text: bytes) -> None:
    assert IMPORTER.recognise(Head("x", text, "utf-8")) < 0.5


def verdict(path: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert run(["import", "--store", str(store), str(path)]) == 0
    capsys.readouterr()
    run(["diagnose", "--store", str(store), "--json"])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return found


def test_forwarding_is_found_by_the_rule_about_ownership(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "msa.txt").write_text("".join(
        json.dumps({"controller-statistics": [{
            "durable-id": "controller_b", "cpu-load": 20, "number-of-reads": 6000 * n, "number-of-writes": 1000 * n,
            "num-forwarded-cmds": 4000 * n, "stop-sample-time-numeric": 1598000000 + 60 * n}]}) + "\n"
        for n in range(30)
    ))  # fmt: skip
    (found,) = [one for one in verdict(tmp_path / "msa.txt", tmp_path / "store", capsys)
                if one["rule"] == "proxied-operations"]  # fmt: skip
    assert "57 %" in found["title"] or "57%" in found["title"]


def test_a_saturated_disk_is_judged_as_from_the_kernels_counters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight minutes: 80 reads/s of 8 ms, then 180 reads/s of 170 ms; the same in /proc/diskstats of a host."""
    reads = ms = ticks = 0
    kernel = msa = ""
    before = (0, 0)
    for number in range(49):
        kernel += f"{1795222000 + 10 * number}.000001\n   8 0 sda {reads} 0 {16 * reads} {ms} 0 0 0 0 0 {ticks} {ms}\n"
        depth, each = before
        msa += answer(
            "disk-statistics", 1795222000 + 10 * number, durable_id="disk_01.01", number_of_reads=reads,
            number_of_writes=0, data_read_numeric=8192 * reads, data_written_numeric=0, queue_depth=depth,
            avg_rsp_time=1000 * each, avg_read_rsp_time=1000 * each,
            start_sample_time_numeric=1795221990 + 10 * number,
        )  # fmt: skip
        rate, each, busy, depth = (80, 8, 6000, 1) if number < 24 else (180, 170, 10_000, 31)
        reads, ms, ticks, before = reads + 10 * rate, ms + 10 * rate * each, ticks + busy, (depth, each)
    (tmp_path / "kernel.txt").write_text(kernel)
    (tmp_path / "msa.txt").write_text(msa)
    ours = verdict(tmp_path / "msa.txt", tmp_path / "one", capsys)
    theirs = verdict(tmp_path / "kernel.txt", tmp_path / "two", capsys)
    assert [
        (one["rule"], one["severity"], one["title"].lower().replace("disk 01.01", "device sda")) for one in ours
    ] == [(one["rule"], one["severity"], one["title"].lower()) for one in theirs]
    assert [one["severity"] for one in ours] == ["critical"]
