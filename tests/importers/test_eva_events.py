from __future__ import annotations

import datetime as dt
import zoneinfo
from collections import Counter
from pathlib import Path

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers.eva_events import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import read_tables, read_text

SAMPLES = Path(__file__).parent / "eva_events"
FLOOD = SAMPLES / "battery_flood.txt"
ALL = [FLOOD, SAMPLES / "severities.csv"]


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_every_sample_yields_the_expected_tables(sample: Path) -> None:
    check_golden(read_tables(IMPORTER, sample), sample.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_every_sample_is_recognised(sample: Path) -> None:
    assert IMPORTER.recognise(Evidence(sample).head) >= 0.8


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\0\0", b"2011-03-14 09:58:02 sshd: connection from 10.0.0.1\n",
        b"2011-03-14T09:58:02Z cpu1: ScsiDeviceIO: Device naa.1 performance has deteriorated.\n",
        b"2026-11-21 10:00:00 virtual disk service started\n" * 5,
    ],
)  # fmt: skip
def test_other_logs_are_not_recognised(text: bytes) -> None:
    assert IMPORTER.recognise(Head("x", text, "utf-8")) < 0.5


@pytest.mark.parametrize(
    ("text", "kind", "entity", "attributes"),
    [
        ("Controller B changed Battery Cache policy to write-through", "cache_policy_changed", ("controller", "B"),
         {"policy": "write-through"}),
        ("Virtual disk vmfs01 moved to controller B", "ownership_changed", ("vdisk", "vmfs01"), {"owner": "B"}),
        ("Virtual disk 'a b' has a new owning controller: Controller A", "ownership_changed", ("vdisk", "a b"),
         {"owner": "A"}),
        ("Cache battery assembly has transitioned to the failed state", "battery_changed", ("array", "eva"),
         {"state": "failed"}),
        ("Physical disk 014 has failed", "disk_failed", ("disk", "014"), {}),
        ("Reconstruction after leveling of disk group DG1 has started", "rebuild_started", ("disk_group", "DG1"), {}),
        ("Leveling of disk group DG1 has started", "rebuild_started", ("disk_group", "DG1"), {"work": "restripe"}),
        ("Leveling of disk group DG1 has finished", "rebuild_finished", ("disk_group", "DG1"), {"work": "restripe"}),
        ("A user logged in", "array_event", ("array", "eva"), {}),
    ],
)  # fmt: skip
def test_phrases_become_events(
    text: str, kind: str, entity: tuple[str, str], attributes: dict[str, str], tmp_path: Path
) -> None:
    (row,) = read_text(IMPORTER, f"2011-03-14 09:58:02  {text}\n", tmp_path).rows("events")
    assert (row["type"], row["kind"], row["entity"]) == (kind, *entity)
    assert dict(row["attributes"]) == attributes
    assert row["text"] == text


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2011-03-14 09:58:02", "2011-03-14T08:58:02+00:00"), ("2011-03-14T09:58:02", "2011-03-14T08:58:02+00:00"),
        ("14-Mar-2011 21:58:02", "2011-03-14T20:58:02+00:00"), ("03/14/2011 09:58:02 PM", "2011-03-14T20:58:02+00:00"),
        ("14-Mar-2011 09:58:02 pm", "2011-03-14T20:58:02+00:00"),
        ("2011-03-14 09:58:02+00:00", "2011-03-14T09:58:02+00:00"),
    ],
)  # fmt: skip
def test_times_in_three_forms(stamp: str, expected: str, tmp_path: Path) -> None:
    options = ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))
    (row,) = read_text(IMPORTER, f"{stamp} Controller A battery low\n", tmp_path, options).rows("events")
    assert row["time"].isoformat() == expected


def test_events_in_order_of_time_tell_day_from_month_unless_told_otherwise(tmp_path: Path) -> None:
    text = "".join(f"{date}/2026 10:00:00 Controller A is fine\n" for date in ("03/04", "04/04", "02/05"))
    tables = read_text(IMPORTER, text, tmp_path)
    assert [f"{row['time']:%m-%d}" for row in tables.rows("events")] == ["04-03", "04-04", "05-02"]
    assert any("order of time" in warning and "--month-first" in warning for warning in tables.notes.warnings)
    told = read_text(IMPORTER, text, tmp_path, ImportOptions(day_first=False))
    assert [f"{row['time']:%m-%d}" for row in told.rows("events")] == ["03-04", "04-04", "02-05"]


def test_a_date_that_could_be_either_is_doubted_and_day_first_decides(tmp_path: Path) -> None:
    text = "03/04/2011 09:58:02 Controller A battery low\n"
    tables = read_text(IMPORTER, text, tmp_path)
    assert tables.rows("events")[0]["time"] == dt.datetime(2011, 3, 4, 9, 58, 2, tzinfo=dt.UTC)
    assert any("month first" in warning for warning in tables.notes.warnings)
    chosen = read_text(IMPORTER, text, tmp_path, ImportOptions(day_first=True)).rows("events")
    assert chosen[0]["time"] == dt.datetime(2011, 4, 3, 9, 58, 2, tzinfo=dt.UTC)


def test_a_flood_is_counted_event_by_event() -> None:
    tables = read_tables(IMPORTER, FLOOD)
    kinds = Counter(row["type"] for row in tables.rows("events"))
    assert kinds["cache_policy_changed"] == FLOOD.read_text().count("changed Battery Cache policy") == 3
    assert kinds["ownership_changed"] == 2


def test_every_line_is_an_event_a_continuation_or_counted() -> None:
    tables = read_tables(IMPORTER, FLOOD)
    lines = len(FLOOD.read_text().splitlines())
    assert len(tables.rows("events")) + 1 + tables.notes.omitted["lines before the first event"] == lines


def test_line_ends_bom_utf16_and_script_survive(tmp_path: Path) -> None:
    text = FLOOD.read_text()
    expected = read_tables(IMPORTER, FLOOD).rows("events")
    assert any("<script>" in row["text"] for row in expected)
    for variant in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        assert read_text(IMPORTER, variant, tmp_path).rows("events") == expected


def test_a_date_that_does_not_exist_is_counted(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, "2011-02-31 09:58:02 Controller A battery low\n", tmp_path)
    assert tables.rows("events") == []
    assert tables.notes.omitted["events with a date that does not exist"] == 1


def test_a_huge_quoted_cell_is_no_traceback(tmp_path: Path) -> None:
    text = '03/14/2011 09:58:03 AM,Warning,"' + "x" * 300_000 + "\n"
    assert len(read_text(IMPORTER, text, tmp_path).rows("events")) == 1


@pytest.mark.parametrize("text", ["", "no time here\n", "\x00\x01"])
def test_what_has_no_event_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="date and a time"):
        read_text(IMPORTER, text, tmp_path)


def test_days_with_points_come_first_and_folders_belong_to_the_volume(tmp_path: Path) -> None:
    text = (
        "20.11.2010 22:00:30  Informational  Virtual disk \\Virtual Disks\\ESX\\VMFS01 changed Battery Cache policy\n"
        "20.11.2010 22:00:31  Warning  Controller B: cache battery state is failed\n"
        "03.12.2010 22:00:32  Informational  Virtual disk \\Virtual Disks\\ESX\\VMFS01 ownership changed from "
        "Controller B to Controller A\n"
    )
    rows = read_text(IMPORTER, text, tmp_path).rows("events")
    assert [row["type"] for row in rows] == ["cache_policy_changed", "battery_changed", "ownership_changed"]
    assert rows[2]["entity"] == "ESX\\VMFS01"
    assert rows[2]["time"].isoformat() == "2010-12-03T22:00:32+00:00"
