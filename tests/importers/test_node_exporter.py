"""Pages of node_exporter say what /proc/diskstats says, to the digit."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storscope.cli.main import run
from storscope.domain.diskstats import FIELDS
from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import recognise
from storscope.sources.importers.diskstats import IMPORTER as DISKSTATS
from storscope.sources.importers.node_exporter import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "node_exporter"
CAPTURED = SAMPLES / "linux_6.18.txt"
THE_SAME = SAMPLES / "the_same_diskstats.txt"
ONE_SCRAPE = SAMPLES / "debian12_one_scrape.txt"

METRICS = {
    "reads_completed_total": ("rio", 1), "reads_merged_total": ("rmerge", 1), "read_bytes_total": ("rsect", 512),
    "read_time_seconds_total": ("rms", 0.001), "writes_completed_total": ("wio", 1),
    "writes_merged_total": ("wmerge", 1), "written_bytes_total": ("wsect", 512),
    "write_time_seconds_total": ("wms", 0.001), "io_now": ("inflight", 1), "io_time_seconds_total": ("ticks", 0.001),
    "io_time_weighted_seconds_total": ("weighted", 0.001), "discards_completed_total": ("dio", 1),
    "discards_merged_total": ("dmerge", 1), "discarded_sectors_total": ("dsect", 1),
    "discard_time_seconds_total": ("dms", 0.001), "flush_requests_total": ("fio", 1),
    "flush_requests_time_seconds_total": ("fms", 0.001),
}  # fmt: skip
"""node_exporter, collector/diskstats_linux.go: metric -> field of the kernel and what the exporter multiplies it by."""


def as_go_prints(value: float) -> str:
    """strconv.FormatFloat(value, 'g', -1, 64)."""
    number = Decimal(repr(float(value))).normalize()
    if not number:
        return "0"
    exponent = number.adjusted()
    if -4 <= exponent < 6:
        return f"{number:f}"
    digits = "".join(map(str, number.as_tuple().digits))
    return f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{exponent:+03d}"


def as_pages(diskstats: str, labels: str = "", stamp: str = "") -> str:
    """What the exporter would have printed at each of these snapshots of /proc/diskstats."""
    pages: list[str] = []
    disks: list[list[str]] = []
    for line in [*diskstats.splitlines(), "end"]:
        words = line.split()
        if len(words) > 3:
            disks.append(words)
            continue
        for metric, (name, scale) in METRICS.items():
            for disk in disks:
                value = as_go_prints(int(disk[3 + FIELDS.index(name)]) * scale)
                pages.append(f'node_disk_{metric}{{device="{disk[2]}"{labels}}} {value}{stamp}')
        disks = []
        pages.append(line)
    return "\n".join(pages[:-1]) + "\n"


def snapshots(*reads: int, first: int = 1795222000, step: int = 30) -> str:
    """A disk that did so many reads of 8 sectors and 2 ms since boot, a snapshot every `step` seconds."""
    return "".join(
        f"{first + step * number}\n   8 0 sda {done} 0 {8 * done} {2 * done} 0 0 0 0 0 {done} {2 * done} 0 0 0 0 0 0\n"
        for number, done in enumerate(reads)
    )


def contents(tables: Tables) -> dict[str, list[dict[str, Any]]]:
    return {name: tables.rows(name) for name in tables.tables}


def test_the_sample_yields_the_expected_tables() -> None:
    check_golden(read_tables(IMPORTER, CAPTURED), CAPTURED.with_suffix(".expected.jsonl"))


def test_the_page_and_the_kernels_file_of_the_same_instants_agree_to_the_digit() -> None:
    ours, kernels = read_tables(IMPORTER, CAPTURED), read_tables(DISKSTATS, THE_SAME)
    assert len(ours.rows("observations")) == 13
    assert contents(ours) == contents(kernels)
    assert ours.notes.omitted == kernels.notes.omitted


def test_the_pages_of_the_sample_are_what_the_exporter_makes_of_the_kernels_file() -> None:
    """The numbers in the sample, and those that this test's own rendering gives, are the same."""
    rendered = set(as_pages(THE_SAME.read_text()).splitlines())
    assert rendered <= set(CAPTURED.read_text().splitlines())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
def test_any_counters_agree_to_the_digit(seed: int, tmp_path: Path) -> None:
    """With resets, wrapped times, counters that stand still and disks that come and go."""
    chance = random.Random(seed)
    values = {name: [chance.randrange(2**32 - 1) for _ in FIELDS] for name in ("sda", "sda1", "nvme0n1")}
    lines: list[str] = []
    for number in range(6):
        lines.append(f"{1795222000 + 10 * number}.{chance.randrange(10**6):06d}")
        for name, counters in values.items():
            if chance.random() < 0.1:
                continue
            grown = [value + chance.choice((0, chance.randrange(10**6))) for value in counters]
            values[name] = [0] * len(FIELDS) if chance.random() < 0.1 else [value % 2**32 for value in grown]
            lines.append(f"   8 0 {name} {' '.join(map(str, values[name]))}")
    text = "\n".join(lines) + "\n"
    ours, kernels = read_text(IMPORTER, as_pages(text), tmp_path), read_text(DISKSTATS, text, tmp_path)
    assert contents(ours) == contents(kernels)
    assert ours.notes.omitted == kernels.notes.omitted


def test_a_scrape_without_a_time_line_is_placed_by_the_exporters_clock(tmp_path: Path) -> None:
    pages = "".join(
        as_pages(snapshots(reads)).split("\n", 1)[1] + f"node_time_seconds {time}\n"
        'node_uname_info{domainname="(none)",machine="x86_64",nodename="db7",sysname="Linux"} 1\n'
        for reads, time in ((60, "1.795222000250001e+09"), (120, "1.795222030250001e+09"))
    )
    tables = read_text(IMPORTER, pages, tmp_path)
    (row,) = tables.rows("observations")
    assert (row["system"], row["read_ops_per_s"], row["read_latency_ns_mean"]) == ("db7", 2.0, 2_000_000)
    assert row["time"].isoformat() == "2026-11-21T00:46:40.250001+00:00"
    assert tables.notes.clock == "zone in the file"


def test_pages_of_several_hosts_are_told_apart_and_placed_by_their_own_times(tmp_path: Path) -> None:
    pages = ""
    for number, (left, right) in enumerate(((60, 1000), (120, 1600))):
        for reads, host in ((left, "db1"), (right, "db2")):
            body = as_pages(snapshots(reads), f',instance="{host}:9100"', f" {1795222000123 + 30000 * number}")
            pages += body.split("\n", 1)[1]
    rows = {row["system"]: row for row in read_text(IMPORTER, pages, tmp_path).rows("observations")}
    assert {system: row["read_ops_per_s"] for system, row in rows.items()} == {"db1": 2.0, "db2": 20.0}
    assert rows["db1"]["time"].isoformat() == "2026-11-21T00:46:40.123000+00:00"


def test_clocks_a_minute_apart_are_said(tmp_path: Path) -> None:
    text = as_pages(snapshots(60, 120)).replace("1795222030\n", "node_time_seconds 1.7952219e+09\n1795222030\n")
    assert any("a minute apart" in warning for warning in read_text(IMPORTER, text, tmp_path).notes.warnings)


def test_one_scrape_is_refused_with_what_to_do(tmp_path: Path) -> None:
    assert recognise(Evidence(ONE_SCRAPE).head) is IMPORTER
    with pytest.raises(MalformedInput, match="Join scrapes"):
        read_tables(IMPORTER, ONE_SCRAPE)
    tables = read_text(IMPORTER, b"2026-11-20T10:00:00.5Z\n" + ONE_SCRAPE.read_bytes(), tmp_path)
    assert tables.rows("observations") == []
    assert any("Only one scrape" in warning for warning in tables.notes.warnings)


def test_without_any_time_the_interval_places_them(tmp_path: Path) -> None:
    pages = re.sub(r"(?m)^\d+\n", "", as_pages(snapshots(60, 120, 240)))
    rows = read_text(IMPORTER, pages, tmp_path, ImportOptions(interval_s=30)).rows("observations")
    assert [row["read_ops_per_s"] for row in rows] == [2.0, 4.0]


def test_a_scrape_that_failed_is_a_longer_interval(tmp_path: Path) -> None:
    text = as_pages(snapshots(60, 120)) + "1795222060\ncurl: (7) Failed to connect\n"
    text += as_pages(snapshots(240, first=1795222090))
    rows = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert [(row["read_ops_per_s"], row["duration_ns"]) for row in rows] == [(2.0, 30 * 10**9), (2.0, 60 * 10**9)]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "1e400", "9007199254740993", "0x10"])
def test_a_value_that_no_counter_can_have_makes_the_interval_longer(value: str, tmp_path: Path) -> None:
    good = as_pages(snapshots(60, 120, 180))
    bad = good.replace('reads_completed_total{device="sda"} 120', f'reads_completed_total{{device="sda"}} {value}')
    tables = read_text(IMPORTER, bad, tmp_path)
    (row,) = tables.rows("observations")
    assert (row["read_ops_per_s"], row["duration_ns"]) == (2.0, 60 * 10**9)
    assert sum(tables.notes.omitted.values()) == 2


def test_names_of_the_years_before_016_mean_the_same(tmp_path: Path) -> None:
    old = {"reads_completed": "rio", "sectors_read": "rsect", "read_time_ms": "rms", "writes_completed": "wio",
           "sectors_written": "wsect", "write_time_ms": "wms", "io_time_ms": "ticks", "io_time_weighted": "weighted",
           "reads_merged": "rmerge", "writes_merged": "wmerge", "io_now": "inflight"}  # fmt: skip
    kernels = ""
    pages = ""
    for number in range(3):
        values = {name: (number + 1) * (index + 10) for index, name in enumerate(FIELDS[:11])}
        kernels += f"{1795222000 + 30 * number}\n 8 0 sda {' '.join(str(value) for value in values.values())}\n"
        pages += f"{1795222000 + 30 * number}\n"
        pages += "".join(f'node_disk_{metric}{{device="sda"}} {values[name]}\n' for metric, name in old.items())
    assert contents(read_text(IMPORTER, pages, tmp_path)) == contents(read_text(DISKSTATS, kernels, tmp_path))


@pytest.mark.parametrize("metric", ["discards_completed_total", "flush_requests_total"])
def test_times_of_operations_that_a_page_does_not_count_are_no_latency(metric: str, tmp_path: Path) -> None:
    """As of a page of which somebody kept `grep time`; it was a KeyError."""
    named = f"node_disk_{metric}{{"
    pages = "".join(line for line in CAPTURED.read_text().splitlines(keepends=True) if not line.startswith(named))
    found, whole = read_text(IMPORTER, pages, tmp_path), read_tables(IMPORTER, CAPTURED)
    assert contents(found)["observations"] == contents(whole)["observations"]
    names = {"discards_completed_total": {"d/s", "d_await"}, "flush_requests_total": {"f/s", "f_await"}}[metric]
    assert {row["name"] for row in found.rows("series")} == {row["name"] for row in whole.rows("series")} - names


@pytest.mark.parametrize("cut", [1, 30, 900, 2500, 4000])
def test_a_cut_file_gives_no_number_that_is_not_in_the_whole(cut: int, tmp_path: Path) -> None:
    whole = read_tables(IMPORTER, CAPTURED).rows("observations")
    rows = read_text(IMPORTER, CAPTURED.read_bytes()[:-cut], tmp_path).rows("observations")
    assert rows and all(row in whole for row in rows)


def test_line_ends_bom_utf16_and_noise_change_nothing(tmp_path: Path) -> None:
    text = CAPTURED.read_text()
    expected = read_tables(IMPORTER, CAPTURED).rows("observations")
    noisy = text.replace("\n", "\n<script>alert(1)</script> \xff\n")
    for variant in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16"),
                    noisy.encode("latin-1")):  # fmt: skip
        assert read_text(IMPORTER, variant, tmp_path).rows("observations") == expected


@pytest.mark.parametrize(
    "text",
    ["", "node_disk_reads_completed_total\n", "node_disk x\n", "# HELP http_requests_total x\nhttp_requests_total 3\n",
     "node_modules 1 2\nnode_disk_usage 3\n"],
)  # fmt: skip
def test_other_text_is_not_recognised(text: str) -> None:
    assert IMPORTER.recognise(Head("x", text.encode(), "utf-8")) < 0.5


def test_a_page_without_disks_is_refused_with_the_reason(tmp_path: Path) -> None:
    page = "# TYPE node_load1 gauge\nnode_load1 0.1\nnode_load5 0.1\nnode_load15 0.2\n"
    assert recognise(Head("x", page.encode(), "utf-8")) is IMPORTER
    with pytest.raises(MalformedInput, match="collector diskstats is off"):
        read_text(IMPORTER, page, tmp_path)


def verdict(path: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["import", "--store", str(store), str(path)]) == 0
    capsys.readouterr()
    run(["diagnose", "--store", str(store), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_saturated_disk_is_judged_as_from_the_kernels_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight minutes: 80 reads/s of 8 ms, then 180 reads/s of 170 ms with 30 in flight all the time."""
    reads = ms = weighted = ticks = 0
    kernels = ""
    for number in range(49):
        kernels += f"{1795222000 + 10 * number}.000001\n   8 0 sda {reads} 0 {16 * reads} {ms} 0 0 0 0 0 {ticks} "
        kernels += f"{weighted} 0 0 0 0 0 0\n"
        rate, each, busy = (80, 8, 6000) if number < 24 else (180, 170, 10000)
        reads, ms, weighted, ticks = (
            reads + 10 * rate, ms + 10 * rate * each, weighted + 10 * rate * each, ticks + busy
        )  # fmt: skip
    (tmp_path / "kernel.txt").write_text(kernels)
    (tmp_path / "pages.txt").write_text(as_pages(kernels))
    ours = verdict(tmp_path / "pages.txt", tmp_path / "one", capsys)
    theirs = verdict(tmp_path / "kernel.txt", tmp_path / "two", capsys)
    assert [(one["rule"], one["severity"], one["summary"]) for one in ours["findings"]] == [
        (one["rule"], one["severity"], one["summary"]) for one in theirs["findings"]
    ]
    assert any(one["severity"] in ("warning", "critical") for one in ours["findings"])
