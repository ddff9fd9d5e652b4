"""Recordings of nmon: rates and busy shares, latency only where it was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from storscope.cli.main import run
from storscope.domain.errors import MalformedInput, StorscopeError
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importers import recognise
from storscope.sources.importers.nmon import IMPORTER
from tests.support.golden import check_golden
from tests.support.mutants import mutants
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "nmon"
LINUX = SAMPLES / "debian12.nmon"
AIX = SAMPLES / "aix_two_days_written.nmon"
ALL = [LINUX, AIX]


def observations(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["entity"] == entity]


def recording(families: dict[str, list[float]], step: int = 10) -> str:
    """Of one disk: a value for each snapshot and family."""
    lines = ["AAA,progname,nmon", "AAA,host,h", *(f"{family},Words h,sda" for family in families)]
    for number in range(len(next(iter(families.values())))):
        seconds = step * number
        lines.append(f"ZZZZ,T{number + 1:04d},10:{seconds // 60:02d}:{seconds % 60:02d},20-NOV-2026")
        lines += [f"{family},T{number + 1:04d},{values[number]:.1f}" for family, values in families.items()]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_every_sample_yields_the_expected_tables(sample: Path) -> None:
    check_golden(read_tables(IMPORTER, sample), sample.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_every_sample_is_recognised(sample: Path) -> None:
    assert recognise(Evidence(sample).head) is IMPORTER


def test_the_values_of_the_real_recording_are_kept() -> None:
    tables = read_tables(IMPORTER, LINUX)
    rows = observations(tables, "vda")
    assert [row["ops_per_s"] for row in rows] == [1.0, 7.0, 9.5, 4.5]
    assert [row["read_bytes_per_s"] for row in rows] == [6.0 * 1024, 8.0 * 1024, 38.0 * 1024, 0.0]
    assert [row["write_bytes_per_s"] for row in rows] == pytest.approx([0, 5548.7 * 1024, 34.0 * 1024, 1055.7 * 1024])
    assert [row["busy_ratio"] for row in rows] == [0.0, 0.005, 0.005, 0.0]
    assert {row["duration_ns"] for row in rows} == {2 * 10**9}
    assert rows[0]["time"].isoformat() == "2026-11-20T16:02:26+00:00"
    (processors, *_) = observations(tables, "vm")
    assert processors["cpu_busy_ratio"] == pytest.approx(1.0)


def test_the_block_size_that_nmon_prints_is_bytes_over_transfers() -> None:
    """DISKBSIZE is not read, so it can say whether the columns are the right ones (not whether KB are of 1024)."""
    printed = [float(line.split(",")[3]) for line in LINUX.read_text().splitlines() if line.startswith("DISKBSIZE,T")]
    for row, size in zip(observations(read_tables(IMPORTER, LINUX), "vda"), printed[1:], strict=True):
        moved = row["read_bytes_per_s"] + row["write_bytes_per_s"]
        assert moved / row["ops_per_s"] / 1024 == pytest.approx(size, rel=0.02)


def test_a_recording_without_latency_says_so() -> None:
    tables = read_tables(IMPORTER, LINUX)
    assert any("no latency and no queue depth" in warning for warning in tables.notes.warnings)
    for row in tables.rows("observations"):
        assert row["latency_ns_mean"] is row["read_latency_ns_mean"] is row["queue_depth_mean"] is None


def test_times_of_transfers_and_split_families_are_read_where_they_are() -> None:
    tables = read_tables(IMPORTER, AIX)
    assert not any("no latency" in warning for warning in tables.notes.warnings)
    first, busy = observations(tables, "hdisk0")[0], observations(tables, "hdisk2")[0]
    assert (first["read_ops_per_s"], first["write_ops_per_s"]) == (100.0, 50.0)
    assert (first["read_latency_ns_mean"], first["write_latency_ns_mean"]) == (5_000_000, 2_000_000)
    assert (busy["device_latency_ns_mean"], busy["latency_ns_mean"]) == (60_000_000, 75_500_000)
    assert (busy["busy_ratio"], busy["write_latency_ns_mean"]) == (1.0, None)
    idle = observations(tables, "hdisk1")[0]
    assert (idle["ops_per_s"], idle["latency_ns_mean"], idle["read_latency_ns_mean"]) == (0.0, None, None)


def test_a_sorted_recording_joined_to_another_is_read_and_the_gap_is_no_interval() -> None:
    rows = observations(read_tables(IMPORTER, AIX), "hdisk0")
    assert len(rows) == 6
    assert {row["duration_ns"] for row in rows} == {30 * 10**9}
    assert rows[2]["time"].isoformat() == "2026-03-29T00:00:00+00:00"


def test_sorting_changes_nothing(tmp_path: Path) -> None:
    lines = LINUX.read_text().splitlines()
    ours = read_text(IMPORTER, "\n".join(sorted(lines)) + "\n", tmp_path)
    assert ours.rows("observations") == read_tables(IMPORTER, LINUX).rows("observations")


def test_partitions_live_on_their_disk(tmp_path: Path) -> None:
    text = recording({"DISKXFER": [1, 2, 3]}).replace("Words h,sda", "Words h,sda,sda1")
    text = text.replace(",1.0", ",1.0,1.0").replace(",2.0", ",2.0,1.5").replace(",3.0", ",3.0,2.5")
    tables = read_text(IMPORTER, text, tmp_path)
    assert ("partition", "sda1", "lives_on", "device", "sda") in tables.links()
    assert [row["ops_per_s"] for row in observations(tables, "sda1")] == [1.5, 2.5]


@pytest.mark.parametrize("cell", ["-1", "-1.0", "nan", "inf", "1e300", "", "x"])
def test_what_is_no_value_is_absent(cell: str, tmp_path: Path) -> None:
    text = recording({"DISKXFER": [1, 2], "DISKBUSY": [3, 4]}).replace("DISKBUSY,T0002,4.0", f"DISKBUSY,T0002,{cell}")
    (row,) = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert (row["ops_per_s"], row["busy_ratio"]) == (2.0, None)


def test_a_line_with_another_number_of_values_than_its_heading_is_left_out(tmp_path: Path) -> None:
    text = recording({"DISKXFER": [1, 2], "DISKBUSY": [3, 4]}).replace("DISKBUSY,T0002,4.0", "DISKBUSY,T0002,4.0,5.0")
    tables = read_text(IMPORTER, text, tmp_path)
    (row,) = tables.rows("observations")
    assert row["busy_ratio"] is None
    assert tables.notes.omitted["lines with more or fewer values than their heading names, or without one"] == 1


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_a_cut_file_gives_no_number_that_is_not_in_the_whole(sample: Path, tmp_path: Path) -> None:
    whole = {(row["time"], row["entity"]): row for row in read_tables(IMPORTER, sample).rows("observations")}
    raw = sample.read_bytes()
    for cut in range(len(raw) * 3 // 5, len(raw), 61):
        try:
            rows = read_text(IMPORTER, raw[:cut], tmp_path).rows("observations")
        except MalformedInput:
            continue
        for row in rows:
            known = whole[row["time"], row["entity"]]
            assert all(value is None or known[name] == value for name, value in row.items()), cut


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_no_mutant_raises_anything_but_our_errors(sample: Path, tmp_path: Path) -> None:
    for mutant in mutants(sample, b"0123456789,-eTZ:\n\xff"):
        try:
            read_text(IMPORTER, mutant, tmp_path)
        except StorscopeError as error:
            assert error.expected


@pytest.mark.parametrize("text", ["AAA,progname,nmon\n", "AAA,progname,nmon\nZZZZ,T0001,25:00:00,40-NOV-2026\n", "\n"])
def test_a_file_without_times_is_refused_with_what_to_do(text: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="nmon -f -s 10"):
        read_text(IMPORTER, text, tmp_path)


@pytest.mark.parametrize("text", [b"", b"AAA,BBB,CCC\n1,2,3\n", b"DISKBUSY is high\n", b"CPU_ALL,1\n"])
def test_other_text_is_not_recognised(text: bytes) -> None:
    assert IMPORTER.recognise(Head("x", text, "utf-8")) < 0.5


def verdict(path: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["import", "--store", str(store), str(path)]) == 0
    capsys.readouterr()
    run(["diagnose", "--store", str(store), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def load() -> tuple[dict[str, list[float]], str]:
    """Eight minutes: 80 reads/s of 8 ms, then 180 reads/s of 170 ms; as nmon and as /proc/diskstats tell it."""
    families: dict[str, list[float]] = {name: [] for name in ("DISKBUSY", "DISKREAD", "DISKWRITE", "DISKXFER",
                                                              "DISKRXFER", "DISKREADSERV")}  # fmt: skip
    reads = ms = ticks = 0
    kernel = ""
    row: tuple[float, ...] = (0, 0, 0, 0, 0, 0)
    for number in range(49):
        kernel += f"{1795168800 + 10 * number}.000001\n   8 0 sda {reads} 0 {16 * reads} {ms} 0 0 0 0 0 {ticks} {ms}\n"
        for values, value in zip(families.values(), row, strict=True):
            values.append(value)
        rate, each, busy = (80, 8, 6000) if number < 24 else (180, 170, 10_000)
        reads, ms, ticks = reads + 10 * rate, ms + 10 * rate * each, ticks + busy
        row = (busy / 100, rate * 8, 0, rate, rate, each)
    return families, kernel


def test_a_saturated_disk_is_judged_as_from_the_kernels_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    families, kernel = load()
    (tmp_path / "a.nmon").write_text(recording(families))
    (tmp_path / "kernel.txt").write_text(kernel)
    ours = verdict(tmp_path / "a.nmon", tmp_path / "one", capsys)["findings"]
    theirs = verdict(tmp_path / "kernel.txt", tmp_path / "two", capsys)["findings"]
    assert [(one["rule"], one["severity"], one["title"], one["summary"]) for one in ours] == [
        (one["rule"], one["severity"], one["title"], one["summary"]) for one in theirs
    ]
    assert [one["severity"] for one in ours] == ["critical"]


def test_a_saturated_disk_without_latency_is_not_called_healthy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    families, _ = load()
    del families["DISKREADSERV"]
    (tmp_path / "a.nmon").write_text(recording(families))
    found = verdict(tmp_path / "a.nmon", tmp_path / "one", capsys)
    assert found["findings"] == []
    assert "latency-above-tier" not in {one["rule"] for one in found["healthy"]}
