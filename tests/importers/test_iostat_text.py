from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import recognise
from storscope.sources.importers.iostat_json import IMPORTER as IOSTAT_JSON
from storscope.sources.importers.iostat_text import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "iostat_text"
ISO = SAMPLES / "sysstat_12.6_iso.txt"
HEADER = "Linux 6.1.0 (vm) \t2026-11-21 \t_x86_64_\t(2 CPU)\n\n"
OLD = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util\n"
FIRST = (
    "first reports: they may cover the time since boot (iostat does not say whether -y was used; if it was: "
    "--keep-first)"
)
SHORT = "Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util\n"


def devices(tables: Tables, name: str) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["entity"] == name]


def short_report(stamp: str, row: str = "sda 1.00 8.00 0.00 2.00 8.00 0.00 0.10") -> str:
    return f"{stamp}\n{SHORT}{row}\n\n" if stamp else f"{SHORT}{row}\n\n"


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.txt")), ids=lambda path: path.stem)
def test_every_sample_yields_the_expected_tables(sample: Path) -> None:
    check_golden(read_tables(IMPORTER, sample), sample.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.txt")), ids=lambda path: path.stem)
def test_every_sample_is_recognised_and_no_json_is(sample: Path) -> None:
    assert IMPORTER.recognise(Evidence(sample).head) >= 0.9
    assert IOSTAT_JSON.recognise(Evidence(sample).head) == 0
    assert IMPORTER.recognise(Evidence(SAMPLES.parent / "iostat_json" / "sysstat_12.6_debian12.json").head) == 0


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\0\1\2Device\xff", b"Device drivers were loaded\n", b"Device tps of my own invention\n",
        b"Linux 6.1 (vm) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n00:00:01  DEV  tps  rkB/s  await  %util\n",
    ],
)  # fmt: skip
def test_other_text_is_not_recognised(text: bytes) -> None:
    assert IMPORTER.recognise(Head("x", text, "utf-8")) < 0.5


def test_locales_of_one_moment_agree() -> None:
    """The samples were captured side by side: whatever the locale, the second report began at the same time."""
    starts = {
        sample.stem: min(row["time"] for row in read_tables(IMPORTER, sample).rows("observations"))
        for sample in SAMPLES.glob("sysstat_12.6_*.txt")
    }
    assert len(starts) == 6
    assert max(starts.values()) - min(starts.values()) <= dt.timedelta(seconds=1), starts
    assert starts["sysstat_12.6_iso"] == dt.datetime(2026, 11, 21, 1, 1, 55, tzinfo=dt.UTC)


def test_units_of_the_columns_agree() -> None:
    """kB, MB with decimal commas, and human sizes of the same seconds are the same bytes, to the digits printed."""
    kib, mib, human = (
        [row["read_bytes_per_s"] for row in devices(read_tables(IMPORTER, SAMPLES / f"sysstat_12.6_{name}.txt"), "vda")]
        for name in ("iso", "de_DE_m", "human_pretty")
    )
    assert mib == pytest.approx(kib[:2], rel=0.01)
    assert human == pytest.approx(kib[:2], rel=0.01)


def test_values_are_those_in_the_text() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "sysstat_10.1_two_captures.txt")
    busy = devices(tables, "sda")[0]
    assert busy["time"] == dt.datetime(2020, 3, 4, 21, 0, 0, tzinfo=dt.UTC)
    assert busy["duration_ns"] == 20_000_000_000
    assert busy["read_ops_per_s"] == 2844.0
    assert busy["read_bytes_per_s"] == 2844.0 * 64 * 1024
    assert busy["read_latency_ns_mean"] == 18_500_000
    assert busy["latency_ns_mean"] == 18_420_000
    assert busy["queue_depth_mean"] == 52.6
    assert busy["busy_ratio"] == pytest.approx(0.9997)


def test_each_header_begins_with_a_report_that_may_cover_the_time_since_boot() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "sysstat_10.1_two_captures.txt")
    assert tables.notes.omitted[FIRST] == 2
    days = [row["time"].day for row in devices(tables, "sda")]
    assert days == [4, 4, 14]
    assert devices(tables, "sda")[-1]["duration_ns"] == 20_000_000_000


@pytest.mark.parametrize("cut", ["sda 1.00 8.00 0.00 2.00 8.00 0.00 0.Linux", "2026-11-21T10:Linux", "\ufeffLinux"])
def test_a_header_in_an_unfinished_line_begins_another_capture(cut: str, tmp_path: Path) -> None:
    other = HEADER.replace("Linux", cut, 1).replace("(vm)", "(other)")
    stamps = [f"2026-11-21T10:00:0{second}Z" for second in range(6)]
    parts = [HEADER, *map(short_report, stamps[:3]), other, *map(short_report, stamps[3:])]
    tables = read_text(IMPORTER, "".join(parts), tmp_path)
    systems = [row["system"] for row in tables.rows("observations") if row["entity"] == "sda"]
    assert systems == ["vm", "vm", "other", "other"]
    assert tables.notes.omitted["lines that do not fit their heading (cut or damaged)"] == 1


def test_an_idle_interval_has_no_latency() -> None:
    first, second = devices(read_tables(IMPORTER, SAMPLES / "sysstat_10.1_two_captures.txt"), "dm-12_long_mapper_name")
    assert first["latency_ns_mean"] is first["read_latency_ns_mean"] is first["write_latency_ns_mean"] is None
    assert first["read_ops_per_s"] == 0.0
    assert second["write_latency_ns_mean"] == 400_000
    assert second["read_latency_ns_mean"] is None


def test_a_latency_beside_a_rate_that_rounds_to_zero_is_kept(tmp_path: Path) -> None:
    text = HEADER + short_report("2026-11-21T00:00:00Z") + short_report(
        "2026-11-21T01:00:00Z", "sda 0.00 0.01 0.00 47.00 33.62 0.00 0.00"
    )  # fmt: skip
    assert devices(read_text(IMPORTER, text, tmp_path), "sda")[0]["latency_ns_mean"] == 47_000_000


def test_a_time_without_a_date_passes_midnight() -> None:
    rows = devices(read_tables(IMPORTER, SAMPLES / "sysstat_7.0_time_only.txt"), "sda")
    assert [row["time"] for row in rows] == [
        dt.datetime(2010, 3, 4, 23, 59, 45, tzinfo=dt.UTC),
        dt.datetime(2010, 3, 4, 23, 59, 55, tzinfo=dt.UTC),
    ]
    assert [row["duration_ns"] for row in rows] == [10_000_000_000] * 2
    assert rows[0]["read_bytes_per_s"] == pytest.approx(5132.8 * 512)


def test_a_negative_rate_is_a_reset_and_a_negative_time_is_absent(tmp_path: Path) -> None:
    rows = (
        "sda 0 0 1 1 4 4 8 0 0 0 0",
        "sda 0 0 -2000 1 4 4 8 0 0 0 0",
        "sda 0 0 2 1 4 4 8 -5 3 0 0",
        "sda 0 0 3 1 4 4 8 1 1 0 9",
    )
    tables = read_text(IMPORTER, HEADER + "".join(f"{OLD}{row}\n\n" for row in rows), tmp_path)
    assert [row["read_ops_per_s"] for row in devices(tables, "sda")] == [2.0, 3.0]
    assert [row["queue_depth_mean"] for row in devices(tables, "sda")] == [None, 1.0]
    assert tables.notes.omitted["device lines with a negative rate: a counter was reset or wrapped"] == 1
    assert tables.notes.omitted["negative times, shares or queues (old kernels do this)"] == 1


def test_captures_that_were_joined_in_the_wrong_order_keep_their_dates(tmp_path: Path) -> None:
    for form in ("{day}.11.2026 10:00:{second}", "Time: 10:00:{second}"):
        text = "".join(
            HEADER.replace("2026-11-21", f"2026-11-{day}")
            + "".join(short_report(form.format(day=day, second=second)) for second in (10, 20, 30))
            for day in (22, 20)
        )
        rows = devices(read_text(IMPORTER, text, tmp_path), "sda")
        assert [row["time"].day for row in rows] == [22, 22, 20, 20]
        assert {row["duration_ns"] for row in rows} == {10_000_000_000}


def test_a_damaged_date_is_no_instant_of_its_own(tmp_path: Path) -> None:
    stamps = [f"2026-11-21T10:00:{second}Z" for second in (10, 20, 30, 40)]
    for damaged, kept in ((2, 3), (0, 2)):
        texts = [stamp.replace("2026", "9926") if at == damaged else stamp for at, stamp in enumerate(stamps)]
        tables = read_text(IMPORTER, HEADER + "".join(map(short_report, texts)), tmp_path)
        assert [row["time"].second for row in devices(tables, "sda")] == [10, 20, 30][-kept:]
        assert {row["duration_ns"] for row in devices(tables, "sda")} == {10_000_000_000}
        assert sum(count for reason, count in tables.notes.omitted.items() if "no date" in reason) == 1


def test_a_report_at_the_time_of_the_one_before_has_no_length(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, HEADER + short_report("2026-11-21T10:00:10Z") * 2, tmp_path)
    assert devices(tables, "sda") == []
    assert tables.notes.omitted["reports of unknown length: the clock stood still or went back"] == 1


def test_partitions_live_on_their_disk_and_are_no_devices() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "sysstat_10.1_two_captures.txt")
    assert ("partition", "sda1", "lives_on", "device", "sda") in tables.links()
    assert {row["kind"] for row in devices(tables, "sda1")} == {"partition"}


def test_group_totals_are_left_out_because_they_would_count_twice() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "sysstat_12.6_ja_JP_groups.txt")
    assert {row["entity"] for row in tables.rows("observations")} == {"vda", "zram0"}
    assert tables.notes.omitted["group totals (-g): sums of the devices above them"] == 4


@pytest.mark.parametrize(
    ("stamps", "options", "expected"),
    [
        (["11/12/26 10:00:00", "11/13/26 10:00:00"], ImportOptions(), "2026-11-12T10:00:00+00:00"),
        (["11/12/26 10:00:00", "13/12/26 10:00:00"], ImportOptions(), "2026-12-11T10:00:00+00:00"),
        (["11/12/2026 10:00:00", "11/12/2026 10:00:10"], ImportOptions(), "2026-12-11T10:00:00+00:00"),
        (["11/12/2026 10:00:00 PM", "11/12/2026 10:00:10 PM"], ImportOptions(), "2026-11-12T22:00:00+00:00"),
        (["11/12/26 10:00:00", "11/12/26 10:00:10"], ImportOptions(day_first=True), "2026-12-11T10:00:00+00:00"),
        (["11.12.2026 10:00:00", "11.12.2026 10:00:10"], ImportOptions(), "2026-12-11T10:00:00+00:00"),
        (["11-12-26 10:00:00", "11-12-26 10:00:10"], ImportOptions(), "2026-12-11T10:00:00+00:00"),
        (["2026/12/11 10:00:00", "2026/12/11 10:00:10"], ImportOptions(), "2026-12-11T10:00:00+00:00"),
        (["2026-12-11T10:00:00+0200", "2026-12-11T10:00:10+0200"], ImportOptions(), "2026-12-11T08:00:00+00:00"),
        (["2026년 12월 11일 10시 00분 00초", "2026년 12월 11일 10시 00분 10초"], ImportOptions(),
         "2026-12-11T10:00:00+00:00"),
        (["11.12.2026 10:00:00", "11.12.2026 10:00:10"],
         ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin")), "2026-12-11T09:00:00+00:00"),
    ],
)  # fmt: skip
def test_stamps_of_many_locales(stamps: list[str], options: ImportOptions, expected: str, tmp_path: Path) -> None:
    text = "Linux 6.1.0 (vm)\n" + "".join(short_report(stamp) for stamp in stamps)
    tables = read_text(IMPORTER, text, tmp_path, options)
    assert [row["time"].isoformat() for row in devices(tables, "sda")] == [expected]


def test_a_date_that_could_be_either_is_doubted(tmp_path: Path) -> None:
    text = HEADER + short_report("03/04/26 10:00:00") + short_report("03/04/26 10:00:10")
    tables = read_text(IMPORTER, text, tmp_path)
    assert any("month first" in warning for warning in tables.notes.warnings)


CROSSING = [f"03/04/26 23:59:{s:02d}" for s in (30, 40, 50)] + [f"04/04/26 00:00:{s:02d}" for s in (0, 10)]


@pytest.mark.parametrize(
    ("stamps", "options", "expected"),
    [
        (CROSSING, ImportOptions(), "2026-04-03 23:59:30"),
        (CROSSING, ImportOptions(day_first=False), "2026-04-03 23:59:30"),
        ([f"{stamp[3:5]}/{stamp[:2]}{stamp[5:]}" for stamp in CROSSING], ImportOptions(), "2026-04-03 23:59:30"),
        ([f"{stamp[3:5]}/{stamp[:2]}/20{stamp[6:]}" for stamp in CROSSING], ImportOptions(), "2026-04-03 23:59:30"),
        (CROSSING[2:4], ImportOptions(), "2026-04-03 23:59:50"),
        (["31/12/26 23:59:50", "01/01/27 00:00:00"], ImportOptions(), "2026-12-31 23:59:50"),
        (["12/11/26 00:00:00", "12/12/26 00:00:00"], ImportOptions(), "2026-12-11 00:00:00"),
    ],
    ids=["day first", "against the option", "month first", "against the locales", "two reports", "number", "daily"],
)
def test_a_step_over_midnight_tells_day_from_month(
    stamps: list[str], options: ImportOptions, expected: str, tmp_path: Path
) -> None:
    header = HEADER.replace("2026-11-21", stamps[0].split()[0])
    tables = read_text(IMPORTER, header + "".join(map(short_report, stamps)), tmp_path, options)
    rows = devices(tables, "sda")
    assert f"{rows[0]['time']:%Y-%m-%d %H:%M:%S}" == expected
    assert len({row["duration_ns"] for row in rows}) == 1
    assert not [warning for warning in tables.notes.warnings if "first" in warning]


def test_captures_a_day_or_a_month_apart_do_not_tell_day_from_month(tmp_path: Path) -> None:
    captures = [
        HEADER.replace("2026-11-21", date) + "".join(short_report(f"{date} 10:00:{s}") for s in (10, 20, 30))
        for date in ("03/04/26", "04/04/26")
    ]
    tables = read_text(IMPORTER, "".join(captures), tmp_path)
    assert any("No date tells" in warning and "--day-first" in warning for warning in tables.notes.warnings)
    chosen = devices(read_text(IMPORTER, "".join(captures), tmp_path, ImportOptions(day_first=True)), "sda")
    assert {row["time"].month for row in chosen} == {4}


def test_a_guess_by_the_locales_can_be_overruled(tmp_path: Path) -> None:
    text = HEADER + short_report("03/04/2026 10:00:00") + short_report("03/04/2026 10:00:10")
    assert any("--month-first" in warning for warning in read_text(IMPORTER, text, tmp_path).notes.warnings)
    (row,) = devices(read_text(IMPORTER, text, tmp_path, ImportOptions(day_first=False)), "sda")
    assert row["time"].month == 3


def test_an_interval_a_thousand_times_the_usual_is_said(tmp_path: Path) -> None:
    stamps = [f"2026-11-21T10:00:{second:02d}Z" for second in (0, 1, 2, 3, 4)]
    usual = read_text(IMPORTER, HEADER + "".join(map(short_report, [*stamps, "2026-11-21T10:16:00Z"])), tmp_path)
    assert usual.notes.warnings == []
    long = read_text(IMPORTER, HEADER + "".join(map(short_report, [*stamps, "2026-11-23T10:00:04Z"])), tmp_path)
    (warning,) = long.notes.warnings
    assert "One interval is more than 1,000 times the usual 1.00 s" in warning
    assert "2 days" in warning
    assert "2026-11-23 10:00:04 UTC" in warning
    assert "--day-first" not in warning


def test_the_hour_repeated_in_autumn_keeps_its_length(tmp_path: Path) -> None:
    stamps = ["25.10.2026 02:59:40", "25.10.2026 02:59:50", "25.10.2026 02:00:00", "25.10.2026 02:00:10"]
    berlin = ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))
    rows = devices(read_text(IMPORTER, HEADER + "".join(map(short_report, stamps)), tmp_path, berlin), "sda")
    assert [row["duration_ns"] for row in rows] == [10_000_000_000] * 3
    assert [row["time"].strftime("%H:%M:%S") for row in rows] == ["00:59:40", "00:59:50", "01:00:00"]


def test_without_stamps_the_times_are_rebuilt_and_this_is_said(tmp_path: Path) -> None:
    start = dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)
    options = ImportOptions(start=start, interval_s=20)
    tables = read_text(IMPORTER, HEADER + short_report("") * 3, tmp_path, options)
    rows = devices(tables, "sda")
    assert [row["time"] for row in rows] == [start, start + dt.timedelta(seconds=20)]
    assert [row["duration_ns"] for row in rows] == [20_000_000_000] * 2
    assert tables.notes.clock is not None and "rebuilt" in tables.notes.clock


def test_a_filtered_file_is_read_report_by_report(tmp_path: Path) -> None:
    """grep -E 'Device|sda' leaves headings and rows; grep sda after one heading leaves rows only."""
    rows = [f"sda {ops}.00 8.00 0.00 2.00 8.00 0.00 0.10\n" for ops in (1, 2, 3)]
    with_headings = read_text(IMPORTER, "".join(SHORT + row for row in rows), tmp_path)
    rows_only = read_text(IMPORTER, SHORT + "".join(rows), tmp_path)
    for tables in (with_headings, rows_only):
        assert [row["ops_per_s"] for row in devices(tables, "sda")] == [2.0, 3.0]


def test_a_lone_report_is_no_data_and_says_so(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, HEADER + short_report(""), tmp_path)
    assert tables.rows("observations") == []
    assert any("since boot" in warning for warning in tables.notes.warnings)


@pytest.mark.parametrize(("keep_first", "times"), [(False, 1), (True, 0)])
def test_of_a_lone_report_it_is_said_once_what_it_may_cover(keep_first: bool, times: int, tmp_path: Path) -> None:
    """It was said with what is left out, too; even where the user had told that it covers an interval."""
    notes = read_text(IMPORTER, HEADER + short_report(""), tmp_path, ImportOptions(keep_first=keep_first)).notes
    assert notes.omitted == {"reports that are alone under their header": 1}
    assert " ".join([*notes.warnings, *notes.omitted]).count("since boot") == times


def test_the_first_report_of_y_is_kept_when_told(tmp_path: Path) -> None:
    stamps = ["2026-11-21T10:00:10Z", "2026-11-21T10:00:20Z"]
    text = HEADER + short_report(stamps[0]) + short_report(stamps[1], "sda 3.00 8.00 0.00 2.00 8.00 0.00 0.10")
    tables = read_text(IMPORTER, text, tmp_path, ImportOptions(keep_first=True))
    assert [(row["time"].second, row["duration_ns"], row["ops_per_s"]) for row in devices(tables, "sda")] == [
        (0, 10_000_000_000, 1.0), (10, 10_000_000_000, 3.0),
    ]  # fmt: skip
    assert FIRST not in tables.notes.omitted
    alone = HEADER + short_report(stamps[0])
    assert any(
        "--interval" in word
        for word in read_text(IMPORTER, alone, tmp_path, ImportOptions(keep_first=True)).notes.warnings
    )
    (row,) = devices(read_text(IMPORTER, alone, tmp_path, ImportOptions(keep_first=True, interval_s=10)), "sda")
    assert (row["time"].second, row["duration_ns"]) == (0, 10_000_000_000)


@pytest.mark.parametrize(("kb_read", "kept"), [(20_005, 2), (1_900_000, 1), (30, 1)])
def test_a_plain_table_tells_by_its_amounts_whether_the_first_report_is_an_interval(
    kb_read: int, kept: int, tmp_path: Path
) -> None:
    """kB_read is what was read in the interval: over kB_read/s it is its length, 10 s or the time since boot."""
    heading = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
    reports = [f"2026-11-21T10:00:{s}Z\n{heading}sda 9.00 2000.50 0.00 {amount} 0\n\n"
               for s, amount in ((10, kb_read), (20, 20_005))]  # fmt: skip
    assert len(devices(read_text(IMPORTER, HEADER + "".join(reports), tmp_path), "sda")) == kept


@pytest.mark.parametrize("cut", [1, 4, 9, 30])
def test_a_cut_file_loses_only_the_cut_line(cut: int, tmp_path: Path) -> None:
    whole = ISO.read_text().rstrip() + "\n"
    complete = devices(read_tables(IMPORTER, ISO), "vda")
    found = devices(read_text(IMPORTER, whole[: -1 - cut], tmp_path), "vda")
    assert found == complete[:-1]


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.txt")), ids=lambda path: path.stem)
def test_no_cut_of_a_file_changes_what_is_read_of_the_rest(sample: Path, tmp_path: Path) -> None:
    """iostat writes a file in pieces of 4 KiB, so a copy of a running capture ends anywhere in a line."""
    raw = sample.read_bytes()
    whole = {_key(row): row for row in read_tables(IMPORTER, sample).rows("observations")}
    for cut in range(len(raw) * 2 // 3, len(raw)):
        try:
            found = read_text(IMPORTER, raw[:cut], tmp_path).rows("observations")
        except MalformedInput:
            continue
        for row in found:
            assert row.items() - dict.fromkeys(row).items() <= whole[_key(row)].items(), cut


def _coloured(line: str) -> str:
    """As `S_COLORS=always` writes it: names green, numbers blue."""
    line = re.sub(r"^(sda)", "\x1b[32;22m\\1\x1b[0m", line)
    return re.sub(r"(?<= )(\d+\.\d\d)(?= |$)", "\x1b[34;22m\\1\x1b[0m", line)


def test_colours_of_a_terminal_are_no_part_of_a_line(tmp_path: Path) -> None:
    reports = [
        f"11/20/2026 10:00:{second} AM\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        "           1.00    0.00    2.00    0.00    0.00   97.00\n\n"
        "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
        "sda 10.00 80.00 1.00 20.00 160.00 2.00 0.05 3.00\n\n"
        for second in ("00", "10")
    ]
    plain = "Linux 6.1.0 (h) \t11/20/2026 \t_x86_64_\t(2 CPU)\n\n" + "".join(reports)
    coloured = "".join(f"{_coloured(line)}\n" for line in plain.splitlines())
    assert "\x1b[32;22msda" in coloured
    assert coloured.count("\x1b[34;22m") > 20
    options = ImportOptions(keep_first=True)
    tables = read_text(IMPORTER, coloured, tmp_path, options)
    assert tables.rows("observations") == read_text(IMPORTER, plain, tmp_path, options).rows("observations")
    assert len(devices(tables, "sda")) == 2
    assert recognise(Evidence(tmp_path / "evidence").head) is IMPORTER


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["system"], row["entity"], row["time"]


def test_a_processor_line_that_ends_in_half_a_number_is_left_out(tmp_path: Path) -> None:
    stamps = [f"2026-11-21T10:00:0{second}Z" for second in range(3)]
    cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n  1.00  0.00  1.00  0.00  0.00  {idle}\n\n"
    for idle, kept in (("98.00", 2), ("9", 1), ("98.0", 1)):
        reports = [stamps[0], stamps[1], stamps[2]]
        text = HEADER + "".join(
            f"{stamp}\n{cpu.format(idle=idle if at == 2 else '98.00')}{short_report('')}"
            for at, stamp in enumerate(reports)
        )
        tables = read_text(IMPORTER, text, tmp_path)
        assert [row["cpu_busy_ratio"] for row in devices(tables, "vm")] == [pytest.approx(0.02)] * kept
        assert tables.notes.omitted["lines that do not fit their heading (cut or damaged)"] == 2 - kept
        assert len(devices(tables, "sda")) == 2


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.txt")), ids=lambda path: path.stem)
def test_blanks_around_the_lines_change_nothing(sample: Path, tmp_path: Path) -> None:
    lines = sample.read_text().splitlines()
    expected = read_tables(IMPORTER, sample)
    for before, behind in (("", " "), ("    ", ""), ("\t", " \t")):
        text = "".join(f"{before}{line}{behind}\n" for line in lines)
        assert IMPORTER.recognise(Head("x", text.encode(), "utf-8")) >= 0.9
        found = read_text(IMPORTER, text, tmp_path)
        for table in ("observations", "links", "series", "timelines"):
            assert found.rows(table) == expected.rows(table), (before, behind)
        assert (found.notes.omitted, found.notes.clock) == (expected.notes.omitted, expected.notes.clock)


def test_a_blank_behind_a_stamp_with_a_zone_keeps_its_time(tmp_path: Path) -> None:
    stamps = [f"2026-11-21T10:0{minute}:00+0200" for minute in range(3)]
    rows = devices(read_text(IMPORTER, HEADER + "".join(short_report(f"{s} ") for s in stamps), tmp_path), "sda")
    assert [row["time"].isoformat() for row in rows] == ["2026-11-21T08:00:00+00:00", "2026-11-21T08:01:00+00:00"]


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.txt")), ids=lambda path: path.stem)
def test_a_file_joined_with_itself_is_read_once(sample: Path, tmp_path: Path) -> None:
    text = sample.read_text()
    once, twice = read_tables(IMPORTER, sample), read_text(IMPORTER, text + text, tmp_path)
    assert twice.rows("observations") == once.rows("observations")
    assert twice.rows("series") == once.rows("series")
    again = twice.notes.omitted["reports that are in the file twice"]
    assert again == len([line for line in text.splitlines() if re.search(r"\d\d[:時]\d\d[:分]\d\d", line)])


def test_a_copy_of_the_same_capture_taken_later_adds_only_what_is_new(tmp_path: Path) -> None:
    reports = [
        short_report(f"2026-11-21T10:00:{at}0Z", f"sda {at}.00 8.00 0.00 2.00 8.00 0.00 0.10") for at in range(6)
    ]
    early, late = HEADER + "".join(reports[:3]), HEADER + "".join(reports)
    for keep_first in (False, True):
        options = ImportOptions(keep_first=keep_first)
        expected = devices(read_text(IMPORTER, late, tmp_path, options), "sda")
        assert devices(read_text(IMPORTER, early + late, tmp_path, options), "sda") == expected


def test_like_reports_without_a_time_are_no_copies(tmp_path: Path) -> None:
    """An idle machine prints the same lines every day."""
    capture = HEADER + short_report("") * 3
    assert len(devices(read_text(IMPORTER, capture * 2, tmp_path), "sda")) == 4


def test_line_ends_bom_and_utf16_change_nothing(tmp_path: Path) -> None:
    text = ISO.read_text()
    expected = read_tables(IMPORTER, ISO).rows("observations")
    for variant in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        assert read_text(IMPORTER, variant, tmp_path).rows("observations") == expected


def test_garbage_between_reports_is_counted(tmp_path: Path) -> None:
    text = ISO.read_text() + "\nkernel: <script>alert(1)</script> oops\n\xff\n"
    tables = read_text(IMPORTER, text.encode("latin-1"), tmp_path)
    assert len(devices(tables, "vda")) == 3
    assert tables.notes.omitted["lines that do not fit their heading (cut or damaged)"] == 2


def test_a_file_without_a_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="begins with 'Device'"):
        read_text(IMPORTER, "nothing to see\n", tmp_path)


def test_script_in_a_device_name_is_data(tmp_path: Path) -> None:
    name = "<script>alert('x')</script> \"y\""
    text = HEADER + short_report("", f"{name}  1.00 8.00 0.00 2.00 8.00 0.00 0.10") * 2
    assert devices(read_text(IMPORTER, text, tmp_path), name)[0]["ops_per_s"] == 1.0


VALUES = st.integers(0, 10_000_000).map(lambda hundredths: f"{hundredths // 100}.{hundredths % 100:02d}")


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(*[VALUES] * 11), min_size=2, max_size=5), comma=st.booleans())
def test_every_value_is_the_text_times_its_unit(rows: list[tuple[str, ...]], comma: bool, tmp_path: Path) -> None:
    lines = [f"{OLD}sda {'  '.join(row)}\n\n" for row in rows]
    text = HEADER + "".join(lines)
    found = devices(read_text(IMPORTER, text.replace(".", ",") if comma else text, tmp_path), "sda")
    assert len(found) == len(rows) - 1
    for row, values in zip(found, rows[1:], strict=True):
        number = [float(value) for value in values]
        assert row["read_ops_per_s"] == number[2]
        assert row["write_bytes_per_s"] == number[5] * 1024
        assert row["busy_ratio"] == pytest.approx(number[10] / 100)
        idle = number[2] == number[3] == number[8] == 0
        assert row["latency_ns_mean"] == (None if idle else number[8] * 1_000_000)
        assert row["read_latency_ns_mean"] is None


_IN_A_LOCALE = """\
Linux 6.1.0 (h1) \t20/11/2026 \t_x86_64_\t(8 CPU)

{first}
Device             tps    kB_read/s    kB_wrtn/s
sda               1.00         4.00         0.00

{second}
Device             tps    kB_read/s    kB_wrtn/s
sda               2.00         8.00         0.00
"""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("20/11/2026 11:55:07 \u03c0\u03bc", "20/11/2026 12:05:07 \u03bc\u03bc", "2026-11-20T12:05:07+00:00"),  # el_GR
        ("\u4e0a\u534811:55:07", "\u4e0b\u534801:05:07", "not understood"),  # a word first and no date
        ("Zeit: 11:55:07", "Zeit: 11:56:07", "2026-11-20T11:56:07+00:00"),
        ("20. nov. 2026 kl. 11.55 +0000", "20. nov. 2026 kl. 11.56 +0000", "not understood"),  # nb_NO
        ("Friday, November 20, 2026 11:55:07 AM UTC", "Friday, November 20, 2026 11:56:07 AM UTC", "not understood"),
    ],
)
def test_time_stamps_of_locales_are_read_or_named(first: str, second: str, expected: str, tmp_path: Path) -> None:
    tables = read_text(IMPORTER, _IN_A_LOCALE.format(first=first, second=second), tmp_path)
    (last,) = {row["time"] for row in tables.rows("observations")}
    if expected == "not understood":
        assert any(f"Time stamps like {first!r} are not understood" in warning for warning in tables.notes.warnings)
    else:
        assert not tables.notes.warnings
        ended = last + dt.timedelta(seconds=tables.rows("observations")[0]["duration_ns"] / 1e9)
        assert ended.isoformat() == expected


_TRIMMED = {
    "plain": (
        "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd\n",
        "sda  1.50  2.00  4.00  0.00  20  40  0\n", "sda  501.50  2.00  4.00  2048000.00  20  40  20480000\n",
    ),
    "-x": (
        "Device r/s rkB/s r_await w/s wkB/s w_await d/s dkB/s d_await f/s f_await aqu-sz %util\n",
        "sda 0.50 2.00 1.00 1.00 4.00 1.00 0.00 0.00 0.00 0.00 0.00 0.00 0.15\n",
        "sda 0.50 2.00 1.00 1.00 4.00 1.00 500.00 2048000.00 20.00 1.00 5.00 10.01 99.00\n",
    ),
}  # fmt: skip
"""Heading, and the line of an idle disk before and while fstrim runs."""


@pytest.mark.parametrize("form", sorted(_TRIMMED))
def test_an_idle_disk_that_is_trimmed_does_not_look_loaded(form: str, tmp_path: Path) -> None:
    heading, *lines = _TRIMMED[form]
    text = "Linux 6.1.0 (vm) \t11/20/26 \t_x86_64_\t(2 CPU)\n"
    for second, line in enumerate([lines[0], *lines, *lines]):
        text += f"\n2026-11-20T10:00:{second:02d}+0000\n{heading}{line}"
    tables = read_text(IMPORTER, text, tmp_path)
    for row in tables.rows("observations"):
        ops = row["ops_per_s"] if form == "plain" else row["read_ops_per_s"] + row["write_ops_per_s"]
        assert ops in (1.5, None)
        assert (row["read_bytes_per_s"], row["write_bytes_per_s"]) == (2048.0, 4096.0)
        assert (row["queue_depth_mean"] or 0) < 0.02
    as_printed = {row["name"]: row["values"] for row in tables.rows("series")}
    name, value = ("tps", 501.5) if form == "plain" else ("aqu-sz", 10.01)
    assert [one for one in as_printed[name] if one is not None] == [value] * 2
    assert any("discards" in reason for reason in tables.notes.omitted) == (form == "plain")


def test_a_few_discards_among_many_operations_leave_the_operations_known(tmp_path: Path) -> None:
    heading, *_ = _TRIMMED["plain"]
    text = "Linux 6.1.0 (vm) \t11/20/26 \t_x86_64_\t(2 CPU)\n"
    for second in range(3):
        line = "sda 1000.00 2000.00 2000.00 160.00 2000 2000 160\n"
        text += f"\n2026-11-20T10:00:{second:02d}+0000\n{heading}{line}"
    rows = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert {row["ops_per_s"] for row in rows} == {1000.0}


def test_operations_too_large_for_a_disk_are_doubted_where_discards_are_not_shown(tmp_path: Path) -> None:
    text = "Linux 6.1.0 (vm) \t11/20/26 \t_x86_64_\t(2 CPU)\n"
    for second in range(3):
        text += f"\n2026-11-20T10:00:{second:02d}+0000\n{SHORT}sda 501.50 2048006.00 0.00 20.00 4083.76 10.00 99.00\n"
    assert any("fstrim" in warning for warning in read_text(IMPORTER, text, tmp_path).notes.warnings)
