from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from pathlib import Path

import pytest

from storscope.sources.importer import ImportOptions
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers.eva_events import IMPORTER as EVENTS_OF_EVA
from storscope.sources.importers.evaperf_csv import IMPORTER as EVAPERF
from storscope.sources.importers.fio_text import IMPORTER as FIO
from storscope.sources.importers.vmware_log import IMPORTER as VMWARE
from tests.support.tables import Tables, read_text

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def placed(times: str, *, jumbled: bool = False, zone: dt.tzinfo = BERLIN) -> str:
    """The instants in UTC of times on 2026-10-25, when an hour came twice in Berlin from 02:00 on."""
    clock = LocalClock(zone, jumbled=jumbled)
    moments = [dt.datetime.fromisoformat(f"2026-10-25 {time}") for time in times.split()]
    instants = [dt.datetime.fromtimestamp(clock.instant(moment) / 1e9, dt.UTC) for moment in moments]
    return " ".join(f"{instant:%H:%M}" for instant in instants)


@pytest.mark.parametrize("jumbled", [False, True])
def test_what_goes_back_in_the_repeated_hour_is_its_second_pass(jumbled: bool) -> None:
    assert (
        placed("01:50 02:10 02:50 02:00 02:10 02:50 03:00", jumbled=jumbled)
        == "23:50 00:10 00:50 01:00 01:10 01:50 02:00"
    )
    assert placed("01:50 02:50 01:50 03:10", jumbled=jumbled) == "23:50 00:50 23:50 02:10", "that hour came once"
    assert placed("02:50 02:00", jumbled=jumbled, zone=dt.UTC) == "02:50 02:00"


def test_samples_an_hour_apart_have_the_repeated_stamp_once_for_each_pass() -> None:
    assert placed("00:00 01:00 02:00 02:00 03:00") == "22:00 23:00 00:00 01:00 02:00"
    assert placed("02:00 02:01 02:01 02:02") == "00:00 00:01 00:01 00:02", "and else the clock stood still"


def test_lines_of_a_log_may_share_a_stamp_and_be_out_of_order() -> None:
    assert placed("02:10 02:10 02:09 02:11", jumbled=True) == "00:10 00:10 00:09 00:11"


def test_a_time_that_spring_skips_is_the_hour_later() -> None:
    moment = dt.datetime(2026, 3, 29, 2, 30)
    assert LocalClock(BERLIN).instant(moment) == dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC).timestamp() * 1e9


def test_an_abbreviation_says_which_pass_and_the_order_is_asked_only_without() -> None:
    clock = LocalClock(BERLIN)
    moment = dt.datetime(2026, 10, 25, 2, 30)
    second, first = clock.instant(moment, "CET"), clock.instant(moment, "CEST")
    assert second - first == 3_600_000_000_000
    assert (clock.words, clock.abbreviations) == ("", {"CET", "CEST"})
    clock.instant(moment.replace(minute=10))
    assert "order of its stamps" in clock.words


OPTIONS = ImportOptions(timezone=BERLIN)
EVENTS = [f"2026-10-25 {time} Controller A battery low\n" for time in ("02:50:00", "02:00:00", "02:50:00")]
"""02:50 in summer time, then 02:00 and 02:50 in winter time."""


def times(tables: Tables, table: str) -> list[str]:
    """Ends of the rows in UTC."""
    ends = [row["time"] + dt.timedelta(microseconds=(row.get("duration_ns") or 0) / 1000) for row in tables.rows(table)]
    return sorted(f"{end:%H:%M}" for end in ends)


def test_samples_of_evaperf_are_placed_by_their_order(tmp_path: Path) -> None:
    rows = "".join(f"2026-10-25 {time},vd1,1,2,3,A,A\n" for time in ("02:40:00", "02:50:00", "02:00:00", "02:50:00"))
    heading = "Time,ID,Read Hit Req/s,Read Miss Req/s,Write Req/s,Online To,Ctlr\n"
    tables = read_text(EVAPERF, heading + rows, tmp_path, OPTIONS)
    assert times(tables, "observations") == ["00:40", "00:50", "01:00", "01:50"]


def test_events_of_an_eva_are_placed_by_their_order_unless_the_newest_is_first(tmp_path: Path) -> None:
    assert times(read_text(EVENTS_OF_EVA, "".join(EVENTS), tmp_path, OPTIONS), "events") == ["00:50", "01:00", "01:50"]
    later = EVENTS[0].replace("02:", "03:")
    newest_first = read_text(EVENTS_OF_EVA, later + "".join(EVENTS[:2]), tmp_path, OPTIONS)
    assert times(newest_first, "events") == ["00:00", "00:50", "02:50"]


def test_lines_of_a_vmware_log_are_placed_by_the_order_of_their_host(tmp_path: Path) -> None:
    line = "Oct 25 {} {} vmkernel: 0:00:00:01.000 cpu1:1)SCSI: vm 1: 1: Sync CR at 1\n"
    text = "".join(line.format(time, host) for time, host in
                   (("02:50:00", "a"), ("02:10:00", "b"), ("02:00:00", "a"), ("02:49:00", "a")))  # fmt: skip
    options = ImportOptions(timezone=BERLIN, year=2026)
    assert times(read_text(VMWARE, text, tmp_path, options), "events") == ["00:10", "00:50", "01:00", "01:49"]


def test_runs_of_fio_are_placed_by_their_order(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "fio_text" / "fio_3.33_group_reporting.txt").read_text()
    (stamp,) = re.findall(r"pid=\d+: (.+)", text)
    first, second = (text.replace(stamp, f"Sun Oct 25 02:{minute}:00 2026") for minute in ("50", "00"))
    tables = read_text(FIO, first + second.replace("pid=10195", "pid=20000"), tmp_path, OPTIONS)
    start, later = sorted(row["time"] for row in tables.rows("runs"))
    assert later - start == dt.timedelta(minutes=10)
    assert "order of its stamps" in (tables.notes.clock or "")
