from __future__ import annotations

import datetime as dt
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.domain.fio_buckets import bucket_from_value, value_from_index
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import _fio, recognise
from storscope.sources.importers.fio_json import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "fio_json"
CAPTURES = sorted(SAMPLES.glob("*.json"))
STATUS = SAMPLES / "fio_3.33_status_interval_jsonplus.json"
STONEWALL = SAMPLES / "fio_3.33_stonewall_and_clones.json"


def documents_of(path: Path) -> list[dict[str, Any]]:
    text, found, position = path.read_text(), [], 0
    while (start := text.find("{", position)) >= 0:
        value, position = json.JSONDecoder().raw_decode(text, start)
        found.append(value)
    return found


def jobs(tables: Tables) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["kind"] == "job"]


def runs(tables: Tables) -> dict[str, dict[str, Any]]:
    return {row["run"]: row for row in tables.rows("runs")}


def counters(tables: Tables, entity: str) -> dict[str, float]:
    return {row["name"]: row["values"][0] for row in tables.rows("series") if row["entity"] == entity}


def in_flight(row: dict[str, Any]) -> float:
    """Little's law over the directions."""
    if row["ops_per_s"] is not None:
        return float(row["ops_per_s"] * row["latency_ns_mean"] / 1e9)
    return sum((row[f"{way}_ops_per_s"] or 0) * (row[f"{way}_latency_ns_mean"] or 0) for way in ("read", "write")) / 1e9


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_every_sample_is_recognised(path: Path) -> None:
    assert IMPORTER.recognise(Evidence(path).head) > 0.9


# Conservation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [path for path in CAPTURES if "2.1.4" not in path.name and "client" not in path.name], ids=lambda p: p.stem
)
def test_rate_times_time_gives_the_ios_and_bytes_of_the_last_document(path: Path) -> None:
    last = documents_of(path)[-1]
    kib = 1024 if last["fio version"] in ("fio-2.16", "fio-2.20") else 1
    seen = jobs(read_tables(IMPORTER, path))
    expected_ops = expected_bytes = 0
    for job in last["jobs"]:
        sections = [job[way] for way in ("read", "write") if way in job] or [job["mixed"]]
        if max(section["runtime"] for section in sections) > 0:
            expected_ops += sum(section["total_ios"] for section in sections)
            expected_bytes += sum(section["io_bytes"] * kib for section in sections)
    ops = [(row["read_ops_per_s"], row["write_ops_per_s"]) if row["read_ops_per_s"] is not None else (row["ops_per_s"],)
           for row in seen]  # fmt: skip
    moved = [
        (row["read_bytes_per_s"], row["write_bytes_per_s"])
        if row["read_bytes_per_s"] is not None
        else (row["bytes_per_s"],)
        for row in seen
    ]
    seconds = [row["duration_ns"] / 1e9 for row in seen]
    assert sum(sum(values) * s for values, s in zip(ops, seconds, strict=True)) == pytest.approx(expected_ops)
    assert sum(sum(values) * s for values, s in zip(moved, seconds, strict=True)) == pytest.approx(expected_bytes)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_rate_times_latency_is_the_configured_number_in_flight(path: Path) -> None:
    """Little's law ties rate, latency and depth, each read from another place; a wrong unit of any would break it."""
    tables = read_tables(IMPORTER, path)
    outstanding = {name: run["outstanding"] for name, run in runs(tables).items()}
    for row in jobs(tables):
        asked = outstanding[row["run"]]
        has_latency = any(row[name] for name in ("latency_ns_mean", "read_latency_ns_mean", "write_latency_ns_mean"))
        if asked and has_latency and row["duration_ns"] > 50_000_000:
            assert in_flight(row) == pytest.approx(asked, rel=0.04), row["run"]


def test_status_documents_become_intervals_that_add_up_to_the_last_one() -> None:
    documents = documents_of(STATUS)
    tables = read_tables(IMPORTER, STATUS)
    seen = jobs(tables)
    read = documents[-1]["jobs"][0]["read"]
    assert len(documents) == len(seen) == 4
    assert len(runs(tables)) == 1
    assert all(a["time"].timestamp() + a["duration_ns"] / 1e9 == pytest.approx(b["time"].timestamp())
               for a, b in itertools.pairwise(seen))  # fmt: skip
    timed = sum(row["read_ops_per_s"] * row["read_latency_ns_mean"] * row["duration_ns"] / 1e9 for row in seen)
    assert timed / read["total_ios"] == pytest.approx(read["lat_ns"]["mean"], rel=1e-3)


def test_status_bins_add_up_to_the_last_document() -> None:
    last = documents_of(STATUS)[-1]["jobs"][0]
    histograms = read_tables(IMPORTER, STATUS).rows("histograms")
    for way in ("read", "write"):
        counts = [sum(row["counts"]) for row in histograms if row["operation"] == way]
        assert sum(counts) == sum(last[way]["clat_ns"]["bins"].values()) == last[way]["total_ios"]


def test_the_greatest_latency_of_an_interval_is_given_only_where_it_is_known() -> None:
    greatest = [max(d["jobs"][0][way]["lat_ns"]["max"] for way in ("read", "write")) for d in documents_of(STATUS)]
    seen = [row["latency_ns_max"] for row in jobs(read_tables(IMPORTER, STATUS))]
    assert seen[0] == greatest[0]
    for before, now, value in zip(greatest, greatest[1:], seen[1:], strict=False):
        assert value is None or before <= now
    assert None in seen


def test_two_runs_of_one_job_in_one_file_stay_two_runs(tmp_path: Path) -> None:
    first = json.loads((SAMPLES / "fio_3.33_group_reporting.json").read_text())
    later = json.loads(json.dumps(first))
    for key, shift in (("timestamp", 60), ("timestamp_ms", 60_000)):
        later[key] += shift
    for way in ("read", "write"):
        later["jobs"][0][way]["total_ios"] += 5000
    text = json.dumps(first) + "\n" + json.dumps(later)
    tables = read_text(IMPORTER, text, tmp_path)
    assert sorted(runs(tables)) == ["randrw8k", "randrw8k (2)"]
    assert len(jobs(tables)) == 2


# Buckets ---------------------------------------------------------------------------------------------------------


def plat_val_to_idx(value: int) -> int:
    """fio's function of the same name (stat.c), for values below the last bucket's end."""
    msb = value.bit_length() - 1 if value else 0
    if msb <= 6:
        return value
    error_bits = msb - 6
    return ((error_bits + 1) << 6) + ((value >> error_bits) & 63)


@given(st.integers(0, 2**34 - 1))
def test_a_latency_lies_in_the_bounds_of_the_bucket_that_fio_counts_it_in(latency_ns: int) -> None:
    low, high = bucket_from_value(latency_ns, "ns")
    assert low < latency_ns <= high
    assert plat_val_to_idx(int(high)) == plat_val_to_idx(latency_ns)
    assert plat_val_to_idx(int(high) + 1) == plat_val_to_idx(latency_ns) + 1
    assert low < 0 or plat_val_to_idx(int(low)) == plat_val_to_idx(latency_ns) - 1


@given(st.integers(0, 29 * 64 - 1))
def test_an_index_names_the_bucket_that_its_value_falls_into(index: int) -> None:
    assert plat_val_to_idx(value_from_index(index)) == index


def test_the_last_bucket_reaches_to_the_greatest_latency() -> None:
    thirty_s = 30e9
    assert bucket_from_value(2**34 - 1, "ns", thirty_s)[1] == thirty_s
    assert bucket_from_value(1000, "ns", thirty_s)[1] < 1100


def test_bins_by_index_in_microseconds_get_bounds_in_ns() -> None:
    row = read_tables(IMPORTER, SAMPLES / "fio_2.20_written_jsonplus.json").rows("histograms")[0]
    # Index 100 is 100 µs; index 447 is (64 + 63) << 5 = 4,064 µs, 32 µs wide.
    assert (row["bucket_low_ns"][0], row["bucket_high_ns"][0]) == (99_999, 100_999)
    assert (row["bucket_low_ns"][-1], row["bucket_high_ns"][-1]) == (4_063_999, 4_095_999)
    assert row["counts"] == [40, 10, 25, 20, 5]


def test_bins_make_percentiles_superfluous_and_their_number_is_told() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.33_jsonplus.json")
    assert tables.notes.omitted["percentiles that follow from the bins"] == 17
    assert not [name for name in counters(tables, "mixed4k") if ".p99" in name]
    (row,) = tables.rows("histograms")
    job = documents_of(SAMPLES / "fio_3.33_jsonplus.json")[0]["jobs"][0]["read"]
    assert sum(row["counts"]) == job["total_ios"]
    reached, rank = 0, 0.99 * job["total_ios"]
    for high, count in zip(row["bucket_high_ns"], row["counts"], strict=True):
        reached += count
        if reached >= rank:
            assert high == pytest.approx(job["clat_ns"]["percentile"]["99.000000"], rel=0.02)
            return


def test_percentiles_are_kept_where_there_are_no_bins() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.33_group_reporting.json")
    read = documents_of(SAMPLES / "fio_3.33_group_reporting.json")[0]["jobs"][0]["read"]["clat_ns"]["percentile"]
    assert counters(tables, "randrw8k")["read.clat.p99.9"] == read["99.900000"]


# Traps of the format ---------------------------------------------------------------------------------------------


def test_io_bytes_count_kib_up_to_2_20_and_times_are_microseconds() -> None:
    (row,) = jobs(read_tables(IMPORTER, SAMPLES / "fio_2.16_written.json"))
    assert row["read_bytes_per_s"] == 10_000 * 4096
    assert row["read_latency_ns_mean"] == 1_600_000


def test_unused_places_among_percentiles_are_no_zero_latencies() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_2.16_written.json")
    assert "read.clat.p0" not in counters(tables, "oltp-reads")
    assert counters(tables, "oltp-reads")["read.clat.p99.99"] == 18_304_000


def test_without_a_time_stamp_runs_follow_one_another_from_the_given_start() -> None:
    options = ImportOptions(start=dt.datetime(2014, 5, 1, 12, tzinfo=dt.UTC))
    tables = read_tables(IMPORTER, SAMPLES / "fio_2.1.4_written.json", options)
    first, second = tables.rows("runs")
    assert first["time"] == dt.datetime(2014, 5, 1, 12, tzinfo=dt.UTC)
    assert second["time"] == first["time"] + dt.timedelta(seconds=10.24)
    assert "--start" in (tables.notes.clock or "")
    assert first["outstanding"] is None, "2.1.4 prints no options, so nothing is known of the depth"


def test_groups_behind_a_stonewall_are_placed_one_after_the_other() -> None:
    document = documents_of(STONEWALL)[0]
    tables = runs(read_tables(IMPORTER, STONEWALL))
    ends = {name: run["time"] + dt.timedelta(milliseconds=run["duration_ns"] / 1e6) for name, run in tables.items()}
    assert ends["two-clones #1"] == dt.datetime.fromtimestamp(document["timestamp_ms"] / 1000, dt.UTC)
    assert ends["randwrite-sync"] == tables["two-clones #1"]["time"]
    assert ends["seqread"] == tables["randwrite-sync"]["time"]


def test_parallel_groups_end_together() -> None:
    assert _fio.phase_ends_ms(9000, [(0, 4000), (1, 4000)], 5) == {0: 9000, 1: 9000}
    assert _fio.phase_ends_ms(9000, [(0, 4000), (1, 4001)], 9) == {0: 4999, 1: 9000}


def test_a_synchronous_engine_has_one_io_in_flight_whatever_iodepth_says() -> None:
    found = runs(read_tables(IMPORTER, STONEWALL))
    assert found["randwrite-sync"]["outstanding"] == 1
    assert dict(found["randwrite-sync"]["parameters"])["iodepth"] == "32"


def test_clones_count_their_own_depth_and_a_group_that_of_all() -> None:
    clones = runs(read_tables(IMPORTER, STONEWALL))
    assert [clones[f"two-clones #{n}"]["outstanding"] for n in (1, 2)] == [2, 2]
    group = runs(read_tables(IMPORTER, SAMPLES / "fio_3.33_group_reporting.json"))["randrw8k"]
    assert (group["outstanding"], group["workers"]) == (32, 2)


def test_different_sizes_and_mixes_are_averaged_by_the_share_of_reads() -> None:
    clone = runs(read_tables(IMPORTER, STONEWALL))["two-clones #1"]
    assert (clone["block_bytes"], clone["read_ratio"], clone["random_ratio"]) == (10_240, 0.5, 0.6)


def _mixed(path: Path, reads: int, writes: int) -> Tables:
    """A run that was asked for 70 % reads and did these."""
    document = documents_of(SAMPLES / "fio_3.33_group_reporting.json")[0]
    job = next(job for job in document["jobs"] if job["jobname"] == "randrw8k")
    job["read"]["total_ios"], job["write"]["total_ios"] = reads, writes
    document["jobs"] = [job]
    return read_text(IMPORTER, json.dumps(document), path)


def test_a_mix_is_the_one_that_was_done_where_a_rate_held_each_direction(tmp_path: Path) -> None:
    tables = _mixed(tmp_path, 32_000, 32_000)
    [run] = runs(tables).values()
    assert run["read_ratio"] == 0.5
    [said] = [words for words in tables.notes.warnings if "rwmixread" in words]
    assert said.startswith("randrw8k: 50 % of its I/Os were reads, and 70 % were asked for")


@pytest.mark.parametrize(("reads", "writes"), [(70_500, 29_500), (12, 8)], ids=["by a draw", "of few"])
def test_a_mix_that_differs_by_chance_is_the_one_that_was_asked_for(reads: int, writes: int, tmp_path: Path) -> None:
    tables = _mixed(tmp_path, reads, writes)
    [run] = runs(tables).values()
    assert run["read_ratio"] == 0.7
    assert not any("rwmixread" in words for words in tables.notes.warnings)


def test_a_group_of_several_sections_has_no_known_depth(tmp_path: Path) -> None:
    document = documents_of(SAMPLES / "fio_3.33_group_reporting.json")[0]
    document["jobs"][0]["job_runtime"] *= 3
    tables = read_text(IMPORTER, json.dumps(document), tmp_path)
    assert tables.rows("runs")[0]["outstanding"] is None
    assert any("merged several jobs" in warning for warning in tables.notes.warnings)


def test_a_place_whose_job_was_merged_into_another_is_no_run(tmp_path: Path) -> None:
    """It was an 'unnamed job' that did no I/O; fio 3.33 writes it where one section of a group has group_reporting."""
    document = documents_of(SAMPLES / "fio_3.33_group_reporting.json")[0]
    names = [job["jobname"] for job in document["jobs"]]
    idle = {name: value for name, value in document["jobs"][0].items() if name not in ("jobname", "job options")}
    document["jobs"].append({**idle, "groupid": 4294967295, "job_runtime": 0})
    tables = read_text(IMPORTER, json.dumps(document), tmp_path)
    assert [run["name"] for run in tables.rows("runs")] == names
    assert tables.notes.omitted["entries without a job, whose place fio merged into another"] == 1


def test_the_sum_over_all_clients_is_left_out_and_told() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.33_client_server.json")
    assert set(runs(tables)) == {"seqread", "randwrite-sync", "two-clones #1", "two-clones #2"}
    assert tables.notes.omitted["'All clients', the sum of the other entries"] == 1
    assert {row["system"] for row in tables.rows("runs")} == {"127.0.0.1"}


def test_unified_reporting_fills_the_columns_of_both_directions() -> None:
    (row,) = jobs(read_tables(IMPORTER, SAMPLES / "fio_3.33_unified.json"))
    assert row["ops_per_s"] > 0
    assert row["read_ops_per_s"] is row["write_ops_per_s"] is None
    (both,) = jobs(read_tables(IMPORTER, SAMPLES / "fio_3.33_unified_both.json"))
    assert both["ops_per_s"] is None, "the sum beside its parts is not data"
    assert both["read_ops_per_s"] > 0


def test_trims_and_syncs_count_among_all_operations() -> None:
    (row,) = jobs(read_tables(IMPORTER, SAMPLES / "fio_3.42_written.json"))
    assert (row["ops_per_s"], row["read_ops_per_s"], row["write_ops_per_s"]) == (62_000, 40_000, 20_000)
    assert row["latency_ns_mean"] == pytest.approx((40 * 320_000 + 20 * 480_000 + 2 * 400_000) / 62)


def test_what_is_trimmed_is_no_data_moved() -> None:
    """A trim of 64 KiB names blocks and moves none: 8 KiB x (40,000 + 20,000)/s it is, and 64 KiB x 2,000/s beside."""
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.42_written.json")
    (row,) = jobs(tables)
    assert row["bytes_per_s"] == row["read_bytes_per_s"] + row["write_bytes_per_s"] == 60_000 * 8192
    assert counters(tables, "mail")["trim.bytes_per_s"] == 2_000 * 65_536


def test_a_job_that_only_trims_moves_nothing(tmp_path: Path) -> None:
    document = json.loads((SAMPLES / "fio_3.42_written.json").read_text())
    job = document["jobs"][0]
    for way in ("read", "write"):
        job[way] = {**job[way], "io_bytes": 0, "io_kbytes": 0, "total_ios": 0, "runtime": 0}
    tables = read_text(IMPORTER, json.dumps(document), tmp_path)
    (row,) = jobs(tables)
    assert (row["ops_per_s"], row["bytes_per_s"]) == (2_000, 0)
    assert counters(tables, "mail")["trim.bytes_per_s"] == 2_000 * 65_536


def test_job_start_is_taken_where_fio_gives_it() -> None:
    run = read_tables(IMPORTER, SAMPLES / "fio_3.42_written.json").rows("runs")[0]
    assert run["time"].timestamp() == 1764500000


def test_a_job_without_time_keeping_has_no_latency_rather_than_zero() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.33_gtod_reduce.json")
    (row,) = jobs(tables)
    assert row["read_ops_per_s"] > 0
    assert row["read_latency_ns_mean"] is row["latency_ns_max"] is None
    assert not [name for name in counters(tables, "reads") if "lat." in name]


def test_a_run_too_short_to_be_sampled_has_no_bandwidth_of_zero() -> None:
    unsampled = counters(read_tables(IMPORTER, SAMPLES / "fio_2.16_written.json"), "oltp-reads")
    assert not [name for name in unsampled if ".bw_" in name]
    sampled = counters(read_tables(IMPORTER, SAMPLES / "fio_3.33_group_reporting.json"), "randrw8k")
    assert sampled["read.bw_min"] > 0


def test_an_idle_direction_has_rate_zero_and_no_latency() -> None:
    (row,) = jobs(read_tables(IMPORTER, SAMPLES / "fio_3.33_jsonplus.json"))
    assert row["write_ops_per_s"] == 0
    assert row["write_latency_ns_mean"] is None


def test_a_failed_job_says_so_and_fio_is_quoted() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.33_verify_failed.json")
    assert tables.rows("runs")[0]["status"] == "error 84 (EILSEQ)"
    assert any("bad magic header" in warning for warning in tables.notes.warnings)
    assert not jobs(read_tables(IMPORTER, SAMPLES / "fio_3.33_error.json")), "a job that never ran observed nothing"


def test_text_before_the_document_is_skipped_and_counted() -> None:
    tables = read_tables(IMPORTER, STONEWALL)
    assert tables.notes.omitted["lines of text beside the JSON"] == 1


def test_steady_state_rates_are_a_series_that_ends_with_the_run() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.33_steadystate.json")
    steady = documents_of(SAMPLES / "fio_3.33_steadystate.json")[0]["jobs"][0]["steadystate"]
    row = next(row for row in tables.rows("series") if row["name"] == "steadystate.iops")
    line = next(line for line in tables.rows("timelines") if line["timeline"] == row["timeline"])
    run = tables.rows("runs")[0]
    assert row["values"] == steady["data"]["iops"]
    assert line["times"][-1] + dt.timedelta(seconds=1) == run["time"] + dt.timedelta(milliseconds=1893)


def test_the_depth_that_met_a_latency_target_is_the_number_in_flight(tmp_path: Path) -> None:
    document = documents_of(SAMPLES / "fio_3.33_latency_target.json")[0]
    document["jobs"][0]["latency_depth"] = 5
    assert read_text(IMPORTER, json.dumps(document), tmp_path).rows("runs")[0]["outstanding"] == 5


def test_a_job_lives_on_the_only_device_fio_watched() -> None:
    links = read_tables(IMPORTER, SAMPLES / "fio_2.16_written.json").links()
    assert ("job", "oltp-reads", "lives_on", "device", "sdc") in links


# Hostile and damaged input ---------------------------------------------------------------------------------------


def test_what_fio_prints_instead_of_a_result_is_quoted_in_the_error() -> None:
    path = SAMPLES / "fio_3.33_bad_option.txt"
    assert 0.5 <= IMPORTER.recognise(Evidence(path).head) < 0.9
    with pytest.raises(MalformedInput, match="failed parsing rw=nosuch"):
        read_tables(IMPORTER, path)


def test_an_unfinished_last_document_is_dropped_and_told(tmp_path: Path) -> None:
    text = STATUS.read_text()
    tables = read_text(IMPORTER, text[: text.rfind('"write"')], tmp_path)
    assert len(jobs(tables)) == 3
    assert tables.notes.omitted["unfinished documents"] == 1


def test_a_run_that_was_killed_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    text = STATUS.read_text()
    killed = text[: text.index('"write"')]
    for joined in (killed + "\n" + text, killed + text, text[:40] + "\n" + text):
        tables = read_text(IMPORTER, joined, tmp_path)
        assert len(jobs(tables)) == len(jobs(read_text(IMPORTER, text, tmp_path)))
        assert tables.notes.omitted["unfinished documents"] == 1


def test_a_single_unfinished_document_is_an_error_with_its_line(tmp_path: Path) -> None:
    text = (SAMPLES / "fio_3.33_jsonplus.json").read_text()
    with pytest.raises(MalformedInput, match=r"line \d+.*(?s:.*)interrupted"):
        read_text(IMPORTER, text[: len(text) // 2], tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x7fELF\0\0\1\2",
        b'{"fio version" : "fio-3.33"}',
        b'{"fio version" : "fio-3.33", "jobs" : 7}',
        b"{" * 5000,
        b'{"a":' * 200_000,
        b"\xff\xfe{\0",
        b'{"fio version" : "fio-3.33", "jobs" : [], "x": ' + b"9" * 10_000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_result_is_refused(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput):
        read_text(IMPORTER, text, tmp_path)


def test_hostile_numbers_neither_crash_nor_become_data(tmp_path: Path) -> None:
    document = documents_of(SAMPLES / "fio_3.33_jsonplus.json")[0]
    read = document["jobs"][0]["read"]
    document["timestamp_ms"], read["runtime"] = 10**40, 10**40
    read["iops"], read["total_ios"], read["lat_ns"] = {"x": 1}, "many", [1]
    read["clat_ns"]["bins"] |= {"9" * 300: 1, "-5": 2, "200": 10**30, "x": 1}
    document["jobs"][0] |= {"groupid": None, "error": "x" * 10, "job options": ["no"], "jobname": 5}
    (run,) = read_text(IMPORTER, json.dumps(document), tmp_path).rows("runs")
    assert run["name"] == "5"


def test_nan_as_c_prints_it_is_absent(tmp_path: Path) -> None:
    text = (SAMPLES / "fio_2.16_written.json").read_text()
    broken = text.replace('"stddev" : 611.500000', '"stddev" : -nan')
    tables = read_text(IMPORTER, broken, tmp_path)
    assert "read.lat.stddev" not in counters(tables, "oltp-reads")
    assert tables.notes.omitted["values printed as nan or inf"] == 1


def test_words_in_a_name_that_look_like_nan_stay_as_they_are(tmp_path: Path) -> None:
    text = (SAMPLES / "fio_3.33_jsonplus.json").read_text().replace("mixed4k", "a:nan,inf")
    assert read_text(IMPORTER, text, tmp_path).rows("runs")[0]["name"] == "a:nan,inf"


@pytest.mark.parametrize("encode", [
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: b"\xef\xbb\xbf" + text.encode(),
    lambda text: text.encode("utf-16"),
], ids=["crlf", "bom", "utf-16"])  # fmt: skip
def test_line_ends_and_encodings_change_nothing(encode: Any, tmp_path: Path) -> None:
    plain = read_tables(IMPORTER, STONEWALL)
    other = read_text(IMPORTER, encode(STONEWALL.read_text()), tmp_path)
    assert other.rows("observations") == plain.rows("observations")
    assert IMPORTER.recognise(Evidence(tmp_path / "evidence").head) > 0.9


def test_script_in_a_job_name_stays_data(tmp_path: Path) -> None:
    name = "<script>alert('x')</script>"
    text = (SAMPLES / "fio_3.33_jsonplus.json").read_text().replace("mixed4k", name)
    assert read_text(IMPORTER, text, tmp_path).rows("runs")[0]["name"] == name


@given(st.binary(max_size=300))
def test_recognition_never_raises(raw: bytes) -> None:
    from storscope.sources.evidence import Head  # noqa: PLC0415

    assert 0 <= IMPORTER.recognise(Head("x", raw, "utf-8")) < 0.5 or b"fio" in raw or b"verify" in raw


# Written anew ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
@pytest.mark.parametrize("form", ["sorted", "sorted in one line", "a list", "a list in one line"])
def test_documents_that_a_program_wrote_anew_give_the_same(path: Path, form: str, tmp_path: Path) -> None:
    documents = documents_of(path)
    lines = [json.dumps(one, sort_keys=True, indent=None if "line" in form else 2) for one in documents]
    anew = tmp_path / "anew.json"
    as_list = json.dumps(documents, sort_keys=True, indent=None if "line" in form else 2)
    anew.write_text(as_list if "list" in form else "\n".join(lines))
    assert (found := recognise(Evidence(anew).head)) is not None
    assert found.name == "fio_json"
    assert jobs(read_tables(IMPORTER, anew)) == jobs(read_tables(IMPORTER, path))


def test_a_list_that_breaks_off_keeps_its_whole_documents(tmp_path: Path) -> None:
    documents = documents_of(STATUS)
    text = json.dumps(documents, indent=2)
    tables = read_text(IMPORTER, text[: text.rindex('"fio version"') + 2_000], tmp_path)
    whole = read_text(IMPORTER, "\n".join(json.dumps(one) for one in documents[:-1]), tmp_path)
    assert jobs(tables) == jobs(whole)
    assert "unfinished" in " ".join(tables.notes.warnings)


# Jobs that hardly ran --------------------------------------------------------------------------------------------


def _cut_short(ios: int, runtime_ms: int, **options: str) -> str:
    """A job that ended so soon, as fio 3.33 writes it: no error, and statistics of nothing."""
    (document,) = documents_of(SAMPLES / "fio_3.33_jsonplus.json")
    document["jobs"] = document["jobs"][:1]
    (job,) = document["jobs"]
    job["job options"], job["job_runtime"] = {"rw": "randread", **options}, runtime_ms
    job["error"] = 0
    for name in ("read", "write", "trim"):
        done = ios if name == "read" else 0
        job[name] |= {"total_ios": done, "io_bytes": done * 4096, "runtime": runtime_ms, "iops": 0.0}
        job[name] |= {f"{kind}_ns": {"min": 0, "max": 0, "mean": 0.0, "N": 0} for kind in ("slat", "clat", "lat")}
    job.get("sync", {}).get("lat_ns", {}).update(N=0, mean=0.0)
    job.get("sync", {}).update(total_ios=0)
    return json.dumps(document)


_MINUTE = {"time_based": "1", "runtime": "60"}


@pytest.mark.parametrize(("ios", "runtime_ms", "options", "said"), [
    (0, 3, _MINUTE, "did no I/O in 3.00 ms, of 60 s that were asked for, and told no error: nothing was measured."),
    (0, 0, {}, "did no I/O, and told no error: nothing was measured."),
    (8, 3, {}, "did 8 I/Os in 3.00 ms, and told no error: next to nothing was measured."),
    (1, 1000, {}, "did 1 I/O in 1.00 s, and told no error: next to nothing was measured."),
    (2000, 5, _MINUTE | {"runtime": "1m"}, "did 2,000 I/Os in 5.00 ms, of 60 s that were asked for, and told no error"),
])  # fmt: skip
def test_a_job_that_hardly_ran_is_said_to_tell_nothing(
    ios: int, runtime_ms: int, options: dict[str, str], said: str, tmp_path: Path
) -> None:
    (found,) = read_text(IMPORTER, _cut_short(ios, runtime_ms, **options), tmp_path).notes.warnings
    assert said in found


@pytest.mark.parametrize(("ios", "runtime_ms", "options"), [
    (2000, 5, {"runtime": "60"}),
    (10, 5, {}),
    (2000, 59_000, _MINUTE),
    (2000, 5, _MINUTE | {"runtime": "soon"}),
])  # fmt: skip
def test_a_job_that_did_its_size_or_its_time_is_not(
    ios: int, runtime_ms: int, options: dict[str, str], tmp_path: Path
) -> None:
    assert read_text(IMPORTER, _cut_short(ios, runtime_ms, **options), tmp_path).notes.warnings == []
