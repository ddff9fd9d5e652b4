"""sysstat's sar: one recording of the real tool in all forms that it is exported in, and what no recording has."""

from __future__ import annotations

import datetime as dt
import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.importer import Importer, ImportOptions
from storscope.sources.importers import sadf_csv, sadf_json, sar_text
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

FOLDER = Path(__file__).parent
IMPORTERS = (sar_text.IMPORTER, sadf_csv.IMPORTER, sadf_json.IMPORTER)
SAMPLES = [
    (importer, path)
    for importer in IMPORTERS
    for path in sorted((FOLDER / importer.name).iterdir())
    if path.suffix in (".txt", ".csv", ".json")
]
OF_ONE_RECORDING = [(importer, path) for importer, path in SAMPLES if path.stem.endswith("vm")]
MIDNIGHT = FOLDER / "sar_text" / "midnight_restart_written.txt"


def names(value: object) -> str:
    return value.name if isinstance(value, Path | Importer) else str(value)


def disks(tables: Tables, name: str | None = None) -> list[dict[str, Any]]:
    rows = [row for row in tables.rows("observations") if row["kind"] == "device" and name in (None, row["entity"])]
    return sorted(rows, key=lambda row: (row["time"], row["entity"]))


@pytest.mark.parametrize(("importer", "path"), SAMPLES, ids=names)
def test_a_sample_yields_the_expected_tables(importer: Importer, path: Path) -> None:
    check_golden(read_tables(importer, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize(("importer", "path"), OF_ONE_RECORDING, ids=names)
def test_every_form_of_one_recording_tells_the_same_of_its_disks(importer: Importer, path: Path) -> None:
    whole = disks(read_tables(sadf_csv.IMPORTER, FOLDER / "sadf_csv" / "utc_vm.csv"))
    assert len(whole) == 16
    assert disks(read_tables(importer, path)) == whole


def test_what_was_written_while_it_recorded_is_what_it_tells() -> None:
    """`dd` wrote 300 MiB within the recording; the rest of 16 MB is what the machine did besides."""
    written = sum(
        row["write_bytes_per_s"] * row["duration_ns"] / 1e9
        for row in disks(read_tables(sadf_json.IMPORTER, FOLDER / "sadf_json" / "vm.json"), "vda")
    )
    assert 300 * 2**20 <= written <= 315 * 2**20


def test_a_day_passes_midnight_for_each_activity() -> None:
    tables = read_tables(sar_text.IMPORTER, MIDNIGHT, ImportOptions(timezone=ZoneInfo("UTC")))
    day = dt.datetime(2026, 11, 19, tzinfo=dt.UTC)
    host = [row for row in tables.rows("observations") if row["kind"] == "host"]
    assert [row["time"] for row in host] == [day + dt.timedelta(hours=23, minutes=m, seconds=1) for m in (40, 50)]
    assert [row["cpu_busy_ratio"] for row in host] == pytest.approx([0.15, 0.25])
    found = disks(tables, "dev8-0")
    assert [row["time"] for row in found] == [day + dt.timedelta(hours=23, minutes=m, seconds=1) for m in (40, 55)]
    assert [row["duration_ns"] for row in found] == [600 * 10**9, 300 * 10**9], "the time of the restart is in none"
    assert [row["read_bytes_per_s"] for row in found] == [1600 * 512, 3200 * 512]
    assert disks(tables, "dev8-16")[0]["latency_ns_mean"] is None, "nothing was done, so nothing was timed"
    assert tables.notes.system == "db1.example.org"


def test_numbered_disks_are_told_how_to_get_their_names() -> None:
    tables = read_tables(sar_text.IMPORTER, MIDNIGHT)
    assert any("dev8-0" in warning and "-p" in warning for warning in tables.notes.warnings)


def test_a_recording_joined_with_itself_counts_once(tmp_path: Path) -> None:
    for importer, name in ((sar_text.IMPORTER, "sar_text/pretty_vm.txt"), (sadf_csv.IMPORTER, "sadf_csv/utc_vm.csv")):
        text = (FOLDER / name).read_text()
        assert read_text(importer, text + text, tmp_path).rows("observations") == read_text(
            importer, text, tmp_path
        ).rows("observations")


def test_local_times_are_placed_by_the_zone_that_is_said(tmp_path: Path) -> None:
    berlin = ImportOptions(timezone=ZoneInfo("Europe/Berlin"))
    local = read_tables(sadf_csv.IMPORTER, FOLDER / "sadf_csv" / "local_vm.csv", berlin)
    utc = read_tables(sadf_csv.IMPORTER, FOLDER / "sadf_csv" / "utc_vm.csv", berlin)
    for one, other in zip(disks(local), disks(utc), strict=True):
        assert one["time"] == other["time"] - dt.timedelta(hours=1)


def test_restarts_and_other_activities_are_counted_and_left_out(tmp_path: Path) -> None:
    text = "\n".join(
        [
            "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;areq-sz;aqu-sz;await;%util",
            "h;600;2026-11-20 10:00:01 UTC;sda;10.00;100.00;0.00;10.00;0.10;1.00;1.00",
            "h;-1;2026-11-20 10:05:00 UTC;LINUX-RESTART\t(2 CPU)",
            "h;600;2026-11-20 10:20:01 UTC;sda;20,00;100,00;0,00;10,00;0,10;1,00;1,00",
            "# hostname;interval;timestamp;kbmemfree;%memused",
            "h;600;2026-11-20 10:20:01 UTC;100;1.00",
            "",
        ]
    )
    tables = read_text(sadf_csv.IMPORTER, text, tmp_path)
    assert [row["ops_per_s"] for row in disks(tables)] == [10, 20]
    assert tables.notes.omitted["marks of restarts and comments"] == 1
    assert tables.notes.omitted["lines of other activities than disks and processors"] == 1


@pytest.mark.parametrize(
    "activities",
    [
        "CPU;%user;%idle[...];DEV;tps;%util[...];IFACE;rxpck/s[...]",
        "DEV;tps[...];IFACE;rxpck/s[...]",
        "CPU;%usr[...];INTR;CPU*[...]",
    ],
)
def test_several_activities_on_one_line_are_refused_with_the_way_out(activities: str, tmp_path: Path) -> None:
    """Networks are named like disks, and interrupts are numbered like processors."""
    text = f"# hostname;interval;timestamp;{activities}\nh;1;2026-11-20 10:00:01 UTC;-1;1;2;sda;1;2;eth0;1\n"
    with pytest.raises(MalformedInput) as caught:
        read_text(sadf_csv.IMPORTER, text, tmp_path)
    assert "without -h" in caught.value.hint
    assert ("no disks" in caught.value.found) == ("DEV" not in activities)


def _as_one_line(text: str) -> str:
    """The lines of all activities as `sadf -h` prints them: one heading, and one line a sample."""
    heading, samples = "# hostname;interval;timestamp", dict[tuple[str, ...], str]()
    for line in text.splitlines():
        if line.startswith("#"):
            columns = line.removeprefix("# hostname;interval;timestamp")
            heading += columns + ("[...]" if columns.startswith((";DEV", ";CPU")) else "")
        else:
            cells = line.split(";")
            samples[tuple(cells[:3])] = samples.get(tuple(cells[:3]), "") + ";" + ";".join(cells[3:])
    return "\n".join([heading, *(";".join(sample) + cells for sample, cells in samples.items()), ""])


def test_activities_on_one_line_are_parted_where_it_tells_their_ends(tmp_path: Path) -> None:
    """Processors, then memory, which has one row and no mark, then disks: as from the same recording without -h."""
    apart = (FOLDER / "sadf_csv" / "utc_vm.csv").read_text()
    one_line = _as_one_line(apart)
    assert len(one_line.splitlines()) == 1 + 8
    whole = read_text(sadf_csv.IMPORTER, apart, tmp_path).rows("observations")
    read = read_text(sadf_csv.IMPORTER, one_line, tmp_path).rows("observations")
    assert sorted(read, key=str) == sorted(whole, key=str)


def test_one_disk_has_no_mark_on_one_line(tmp_path: Path) -> None:
    heading = "# hostname;interval;timestamp;CPU;%user;%idle[...];runq-sz;DEV;tps;%util"
    lines = [f"h;60;2026-11-20 10:0{minute}:01 UTC;-1;5;90;{rest}" for minute, rest in ((0, "7;vda;12;40"), (1, "7"))]
    text = "\n".join([heading, *lines, ""])
    tables = read_text(sadf_csv.IMPORTER, text, tmp_path)
    assert [(row["entity"], row["ops_per_s"], row["busy_ratio"]) for row in disks(tables)] == [("vda", 12, 0.4)]
    [host] = [row for row in tables.rows("observations") if row["kind"] == "host"]
    assert host["cpu_busy_ratio"] == pytest.approx(0.1)
    assert tables.notes.omitted["lines with more or fewer cells than their heading"] == 1


def test_json_that_is_cut_off_says_so(tmp_path: Path) -> None:
    text = (FOLDER / "sadf_json" / "vm.json").read_text()
    with pytest.raises(MalformedInput) as caught:
        read_text(sadf_json.IMPORTER, text[: len(text) // 2], tmp_path)
    assert "cut off" in caught.value.hint


def _first_end(tmp_path: Path, stamp: str, header: str, timezone: str | None = None) -> tuple[dt.datetime, Tables]:
    """When the first sample of a document ends whose stamps and header say these things of the zone."""
    document = json.loads((FOLDER / "sadf_json" / "vm.json").read_text())
    host = document["sysstat"]["hosts"][0]
    host["timezone"] = header
    sample = host["statistics"][0]
    sample["timestamp"] = {"date": "2026-11-20", "time": "10:00:00", "interval": 60, **json.loads(stamp)}
    host["statistics"] = [sample]
    zone = ImportOptions(timezone=ZoneInfo(timezone) if timezone else None)
    tables = read_text(sadf_json.IMPORTER, json.dumps(document), tmp_path, zone)
    return tables.rows("observations")[0]["time"] + dt.timedelta(seconds=60), tables


@pytest.mark.parametrize(
    ("stamp", "header", "timezone", "hour"),
    [
        ('{"utc": 1}', "CET", "Europe/Berlin", 10),
        ('{"tz": "UTC"}', "CET", "Europe/Berlin", 10),
        ('{"tz": "UTC"}', "CET", None, 10),
        ('{"tz": "CET"}', "EST", None, 9),
        ('{"tz": "CET"}', "CET", "Europe/Berlin", 9),
        ('{"tz": "America/New_York"}', "UTC", "Europe/Berlin", 15),
        ('{"utc": 0}', "CET", None, 9),
        ('{"utc": 0}', "CET", "America/New_York", 15),
        ("{}", "", None, 10),
    ],
)
def test_sadf_j_is_placed_by_the_zone_that_it_says(
    stamp: str, header: str, timezone: str | None, hour: int, tmp_path: Path
) -> None:
    end, tables = _first_end(tmp_path, stamp, header, timezone)
    assert end == dt.datetime(2026, 11, 20, hour, tzinfo=dt.UTC)
    is_said = stamp != "{}" and timezone != "America/New_York" and '"utc": 0' not in stamp
    assert not is_said or "no zone" not in (tables.notes.clock or "")


def test_a_zone_that_means_several_is_said_and_not_used(tmp_path: Path) -> None:
    end, tables = _first_end(tmp_path, '{"utc": 0}', "CST")
    assert end.hour == 10
    assert any("CST" in warning for warning in tables.notes.warnings)


def test_the_winter_name_of_a_zone_in_summer_is_doubted(tmp_path: Path) -> None:
    _, winter = _first_end(tmp_path, '{"utc": 0}', "CET")
    _, summer = _first_end(tmp_path, '{"utc": 0, "date": "2026-07-20"}', "CET")
    assert not any("summer" in warning for warning in winter.notes.warnings)
    assert any("summer" in warning for warning in summer.notes.warnings)


def _live(date: str, *times: str) -> str:
    """What `sar -u -d 1` prints: both activities with their headings, again with each sample."""
    blocks = [f"Linux 6.1.0 (db8) \t{date} \t_x86_64_\t(2 CPU)", ""]
    for before, at in pairwise(times):
        blocks += [
            f"{before}     CPU     %user     %nice   %system   %iowait    %steal     %idle",
            f"{at}     all     12.00      0.00      3.00      5.00      0.00     80.00",
            "",
            f"{before}       DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util",
            f"{at}       sda     12.00     80.00    160.00     20.00      0.06      5.00      1.20",
            "",
        ]
    return "\n".join(blocks)


def test_two_activities_live_pass_midnight_together(tmp_path: Path) -> None:
    text = _live("11/20/2026", "11:59:58 PM", "11:59:59 PM", "12:00:00 AM", "12:00:01 AM")
    tables = read_text(sar_text.IMPORTER, text, tmp_path)
    first = dt.datetime(2026, 11, 20, 23, 59, 58, tzinfo=dt.UTC)
    expected = [first + dt.timedelta(seconds=second) for second in range(3)]
    for kind in ("device", "host"):
        assert [row["time"] for row in tables.rows("observations") if row["kind"] == kind] == expected


def test_a_clock_of_twelve_hours_tells_the_order_of_the_date(tmp_path: Path) -> None:
    for times, month in ((("11:40:01 PM", "11:50:01 PM"), 3), (("23:40:01", "23:50:01"), 4)):
        tables = read_text(sar_text.IMPORTER, _live("03/04/2014", *times), tmp_path)
        assert {row["time"].month for row in tables.rows("observations")} == {month}
        assert any("--day-first" in warning or "--month-first" in warning for warning in tables.notes.warnings)


def test_json_has_older_and_newer_names_of_fields_beside_each_other(tmp_path: Path) -> None:
    disk = {
        "disk-device": "sda", "tps": 10, "rkB": 80, "wkB": 160, "rd_sec": 1, "wr_sec": 1, "aqu-sz": 0.05, "avgqu-sz": 9,
        "await": 5, "util": 40,
    }  # fmt: skip
    stamp = {"date": "2014-03-04", "time": "22:10:01", "utc": 1, "interval": 600}
    document = {"sysstat": {"hosts": [{"nodename": "db1", "statistics": [{"timestamp": stamp, "disk": [disk]}]}]}}
    [row] = disks(read_text(sadf_json.IMPORTER, json.dumps(document), tmp_path))
    assert (row["read_bytes_per_s"], row["write_bytes_per_s"]) == (80 * 1024, 160 * 1024)
    assert (row["queue_depth_mean"], row["busy_ratio"]) == (0.05, 0.4)


def test_latency_is_left_out_where_more_was_discarded_than_moved(tmp_path: Path) -> None:
    """fstrim: `tps` and `await` are of discards, too. What is discarded beside writes now and then counts little."""
    heading = "10:00:00 DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util"
    lines = [
        f"10:00:{10 * number + 10} sda 100.00 400.00 800.00 {discarded} 12.00 0.50 {latency} 5.00"
        for number, (discarded, latency) in enumerate((("0.00", "0.30"), ("90000.00", "40.00"), ("700.00", "0.40")))
    ]
    text = "\n".join(["Linux 6.1.0 (db8) \t2026-11-20 \t_x86_64_\t(2 CPU)", "", heading, *lines, ""])
    tables = read_text(sar_text.IMPORTER, text, tmp_path)
    latencies = [row["latency_ns_mean"] for row in disks(tables)]
    assert latencies == [300_000, None, pytest.approx(400_000)]
    assert sum(count for reason, count in tables.notes.omitted.items() if reason.startswith("latencies of")) == 1
