from __future__ import annotations

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._vmware_latency import latency_changed
from storscope.sources.importers._vmware_line import parse_line
from storscope.sources.importers._vmware_said import Message
from storscope.sources.importers._vmware_years import years_of
from storscope.sources.importers.vmware_log import IMPORTER, read_log
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "vmware_log"
YEARS = {"esx4_messages.log": 2024, "esx3_vmkernel.log": 2008}
NAMES = sorted(path.name for path in SAMPLES.glob("*.log"))
LATENCY = (
    "2012-10-25T16:01:54.286Z cpu2:8054)WARNING: ScsiDeviceIO: {line}: Device naa.60 performance has deteriorated. "
    "I/O latency increased from average value of {old} microseconds to {new} microseconds."
)


def sample(name: str) -> Tables:
    return read_tables(IMPORTER, SAMPLES / name, ImportOptions(year=YEARS.get(name)))


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_yields_the_expected_tables(name: str) -> None:
    check_golden(sample(name), (SAMPLES / name).with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert IMPORTER.recognise(Evidence(SAMPLES / name, "renamed.csv").head) >= 0.5


@pytest.mark.parametrize("name", NAMES)
def test_every_line_is_accounted_for(name: str) -> None:
    """Each line is an event (or more), a repetition, or counted among what was left out."""
    tables = sample(name)
    recorded = {row["text"] for row in tables.rows("events")}
    lines = [line for line in (SAMPLES / name).read_text().splitlines() if line]
    omitted = sum(tables.notes.omitted.values())
    continued = sum("Failed:" in line and "H:0x" not in line for line in lines)
    apd_of_connectivity = sum("onnectivity to storage device" in line for line in lines)
    assert len(recorded) + omitted + continued == len(lines) + apd_of_connectivity


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "before",
    ["/var/log/vmkernel.log:", "vmkernel.log:{number}:", "{number}:", "{number}-", "vmkernel.0-{number}-",
     "C:\\logs\\esx-01.log:", "esx01: ", "  ", "\t"],
)  # fmt: skip
def test_what_grep_prints_before_a_line_changes_nothing(name: str, before: str, tmp_path: Path) -> None:
    """`grep ERR vmkernel*`, `grep -n`, `grep -A 3` (with dashes), findstr, pdsh, and lines that were indented."""
    lines = (SAMPLES / name).read_text().splitlines()
    text = "".join(f"{before.format(number=number)}{line}\n" for number, line in enumerate(lines, 1))
    assert IMPORTER.recognise(Head("x", text.encode(), "utf-8")) >= 0.9
    found, expected = read_text(IMPORTER, text, tmp_path, ImportOptions(year=YEARS.get(name))), sample(name)
    for table in ("events", "links", "entities"):
        assert [row | {"text": None} for row in found.rows(table)] == [
            row | {"text": None} for row in expected.rows(table)
        ]
    assert (found.notes.clock, found.notes.system) == (expected.notes.clock, expected.notes.system)
    assert found.notes.omitted == expected.notes.omitted


def test_a_program_before_the_time_is_no_file() -> None:
    line = parse_line("vmkwarning: 2012-10-25T16:01:54.286Z cpu2:8054)WARNING: NMP: x")
    assert line.program == "vmkwarning"
    assert line.stamp is not None
    assert parse_line("vmkwarning: cpu2:8054)WARNING: NMP: x").program == "vmkwarning"


def test_a_year_turns_behind_what_grep_prints_too() -> None:
    lines = ["messages:Dec 31 23:59:59 h vmkernel: x", "messages:Jan  1 00:00:01 h vmkernel: y"]
    years = years_of(lines, 2024, dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.UTC)
    assert [years.at(1), years.at(2)] == [2023, 2024]


@given(old=st.integers(0, 10**9), new=st.integers(0, 10**9), line=st.integers(1, 99_999))
def test_latency_in_the_table_is_latency_in_the_text_whatever_the_source_line(old: int, new: int, line: int) -> None:
    (said,) = latency_changed(Message.of(LATENCY.format(line=line, old=old, new=new)))
    assert (said.baseline, said.value, said.unit) == (old * 1000, new * 1000, "ns")


def test_what_a_line_does_not_say_is_null(tmp_path: Path) -> None:
    text = "cpu1:1)NFS: 5575: NFS volume v average I/O latency 15000(us) has exceeded threshold 10000(us)"
    (event,) = read_text(IMPORTER, text, tmp_path).rows("events")
    assert event["time"] is None
    assert event["baseline"] is None
    assert event["value"] == 15_000_000


@pytest.mark.parametrize(
    ("status", "type_"),
    [
        ("H:0x5 D:0x0 P:0x0", "command_aborted"),
        ("H:0x8 D:0x0 P:0x0", "bus_reset"),
        ("H:0x0 D:0x28 P:0x0", "task_set_full"),
        ("H:0x0 D:0x8 P:0x0", "device_busy"),
        ("H:0x0 D:0x18 P:0x0", "reservation_conflict"),
        ("H:0x0 D:0x2 P:0x0", "scsi_error"),
        ("H:0xb D:0x0 P:0x0", "scsi_error"),
    ],
)
def test_statuses_become_types(status: str, type_: str, tmp_path: Path) -> None:
    text = f'cpu1:1)ScsiDeviceIO: 1: Cmd(0x41) 0x28, CmdSN 0x1 from world 7 to dev "naa.60" failed {status} x.'
    (event,) = read_text(IMPORTER, text, tmp_path).rows("events")
    assert event["type"] == type_
    assert dict(event["attributes"])["opcode"] == "0x28"


def test_one_failure_told_by_two_layers_counts_once_and_two_failures_twice(tmp_path: Path) -> None:
    nmp = (
        '2012-10-25T16:06:00.000Z cpu4:8196)NMP: nmp_ThrottleLogForDevice:2319: Cmd 0x2a (0xAA, 9) to dev "naa.60" on '
        'path "vmhba1:C0:T0:L0" Failed: H:0x0 D:0x28 P:0x0 Possible sense data: 0x0 0x0 0x0. Act:NONE\n'
    )
    scsi = (
        '2012-10-25T16:06:00.001Z cpu4:8196)ScsiDeviceIO: 2324: Cmd({}) 0x2a, CmdSN 0x80 from world 9 to dev "naa.60" '
        "failed H:0x0 D:0x28 P:0x0 Possible sense data: 0x0 0x0 0x0.\n"
    )
    assert len(read_text(IMPORTER, nmp + scsi.format("0xAA"), tmp_path).rows("events")) == 1
    assert len(read_text(IMPORTER, nmp + scsi.format("0xBB"), tmp_path).rows("events")) == 2
    assert len(read_text(IMPORTER, nmp + nmp, tmp_path).rows("events")) == 2


def test_repetitions_are_events_of_the_host_that_repeats(tmp_path: Path) -> None:
    events = sample("esx4_messages.log").rows("events")
    retries = [event for event in events if event["type"] == "reservation_conflict"]
    assert len(retries) == 1 + 3 + 1
    assert {event["system"] for event in retries} == {"esx41"}


def test_a_flood_of_repetitions_is_bounded_and_counted(tmp_path: Path) -> None:
    text = LATENCY.format(line=1, old=1, new=2) + "\n--- last message repeated 2000000000 times ---\n"
    tables = read_text(IMPORTER, text, tmp_path)
    assert len(tables.rows("events")) == 1 + 10_000
    assert sum(tables.notes.omitted.values()) == 2_000_000_000 - 10_000


def test_repetitions_of_another_message_are_not_counted_as_storage(tmp_path: Path) -> None:
    text = LATENCY.format(line=1, old=1, new=2) + "\ncpu1:1)World: started\nlast message repeated 9 times\n"
    assert len(read_text(IMPORTER, text, tmp_path).rows("events")) == 1


# Times ----------------------------------------------------------------------------------------------------------------


def times_of(text: str, now: dt.datetime, tmp_path: Path, options: ImportOptions | None = None) -> list[dt.datetime]:
    path = tmp_path / "log"
    path.write_text(text)
    found: list[dt.datetime] = []
    recorder = Recorder(
        lambda table, batch: found.extend(row["time"] for row in batch.to_pylist()) if table == "events" else None
    )
    read_log(Evidence(path), recorder, options or ImportOptions(), now)
    recorder.finish()
    return [moment.to_pydatetime() if hasattr(moment, "to_pydatetime") else moment for moment in found]


def at(stamp: str, host: str = "esx1") -> str:
    return f"{stamp} {host} vmkernel: 0:00:00:01.000 cpu1:1)SCSI: vm 1: 1: Sync CR at 1\n"


def test_the_year_puts_the_last_line_before_now_and_turns_in_january(tmp_path: Path) -> None:
    text = at("Nov  3 00:00:00") + at("Dec 31 23:59:59") + at("Jan  1 00:00:01")
    years = [time.year for time in times_of(text, dt.datetime(2011, 1, 2, tzinfo=dt.UTC), tmp_path)]
    assert years == [2010, 2010, 2011]
    years = [time.year for time in times_of(text, dt.datetime(2010, 12, 30, tzinfo=dt.UTC), tmp_path)]
    assert years == [2009, 2009, 2010]


def test_the_year_turns_even_between_lines_about_other_things(tmp_path: Path) -> None:
    quiet = "Jul  1 00:00:00 esx1 sshd[1]: hello\n"
    text = (
        at("Nov  3 00:00:00")
        + quiet.replace("Jul", "Dec")
        + quiet.replace("Jul", "Jan")
        + quiet
        + at("Dec  1 00:00:00")
    )
    years = [time.year for time in times_of(text, dt.datetime(2012, 1, 2, tzinfo=dt.UTC), tmp_path)]
    assert years == [2010, 2011]


def test_a_line_out_of_order_at_new_year_stays_in_its_year(tmp_path: Path) -> None:
    text = at("Dec 31 23:59:59") + at("Jan  1 00:00:00") + at("Dec 31 23:59:58") + at("Jan  1 00:00:02")
    years = [time.year for time in times_of(text, dt.datetime(2012, 6, 1, tzinfo=dt.UTC), tmp_path)]
    assert years == [2011, 2012, 2011, 2012]


def test_a_leap_day_rules_out_common_years() -> None:
    years = years_of(
        [at("Feb 29 00:00:00"), at("Mar  1 00:00:00")], None, dt.datetime(2027, 6, 1, tzinfo=dt.UTC), dt.UTC
    )
    assert years.at(1) == 2024


def test_the_users_year_and_zone_place_the_lines(tmp_path: Path) -> None:
    options = ImportOptions(year=2009, timezone=ZoneInfo("Europe/Berlin"))
    (time,) = times_of(at("Jul  1 12:00:00"), dt.datetime(2026, 1, 1, tzinfo=dt.UTC), tmp_path, options)
    assert time == dt.datetime(2009, 7, 1, 10, tzinfo=dt.UTC)


def test_a_date_that_does_not_exist_is_no_time_and_is_counted(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, "2012-02-31T16:01:54.286Z cpu2:8054)SCSI: vm 1: 1: Sync CR at 1", tmp_path)
    assert tables.rows("events")[0]["time"] is None
    assert tables.notes.omitted["times that are no date"] == 1


def test_of_two_times_and_two_hosts_the_inner_ones_count() -> None:
    line = parse_line("<181>Oct 25 18:01:54 10.0.0.9 2012-10-25T16:01:54.286Z esx01 vmkernel: cpu2:8054)x")
    assert (line.host, line.program, line.message) == ("esx01", "vmkernel", "cpu2:8054)x")
    assert line.stamp is not None
    assert line.stamp.zone == "Z"


# Names ----------------------------------------------------------------------------------------------------------------


def test_the_host_comes_from_the_line_else_from_the_user(tmp_path: Path) -> None:
    options = ImportOptions(system="named")
    text = at("Jul  1 12:00:00") + "2012-10-25T16:01:54.286Z cpu2:8054)SCSI: vm 1: 1: Sync CR at 1\n"
    systems = [row["system"] for row in read_text(IMPORTER, text, tmp_path, options).rows("events")]
    assert systems == ["esx1", "named"]


def test_an_nfs_volume_keeps_its_name_and_an_apd_by_uuid_finds_it() -> None:
    tables = sample("esxi5_vmkernel.log")
    assert {row["entity"] for row in tables.rows("events") if row["type"].startswith("apd")} == {"nfs-ds01"}


def test_a_volume_that_is_named_too_late_is_linked(tmp_path: Path) -> None:
    text = (
        "cpu1:1)StorageApdHandler: 1: Device or filesystem with identifier [bf7ce3db-42c081a2] has entered the All "
        "Paths Down state.\n"
        "cpu1:1)NFS: 292: Restored connection to the server 10.4.0.81 mount point /vol/ds01, mounted as "
        'bf7ce3db-42c081a2-0000-000000000000 ("nfs ds01")\n'
    )
    assert ("datastore", "bf7ce3db-42c081a2", "same_as", "datastore", "nfs ds01") in read_text(
        IMPORTER, text, tmp_path
    ).links()


def test_script_text_in_a_name_stays_text() -> None:
    attributes = [dict(row["attributes"]) for row in sample("esxi5_vobd.log").rows("events")]
    assert any("<script>alert(1)</script>" in found.get("datastores", "") for found in attributes)


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02" * 99, b"name,value\n1,2\n", b'{"a": "cpu1:1)"}'])
def test_what_is_no_vmware_log_is_neither_recognised_nor_read(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "evidence"
    path.write_bytes(content)
    assert IMPORTER.recognise(Evidence(path).head) < 0.5
    with pytest.raises(MalformedInput, match="VMware log"):
        read_tables(IMPORTER, path)


@pytest.mark.parametrize("name", NAMES)
def test_line_ends_and_encodings_make_no_difference(name: str, tmp_path: Path) -> None:
    text = (SAMPLES / name).read_text()
    expected = sample(name).rows("events")
    options = ImportOptions(year=YEARS.get(name))
    for other in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        assert read_text(IMPORTER, other, tmp_path, options).rows("events") == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_truncated_log_yields_the_events_of_its_whole_lines(name: str, tmp_path: Path) -> None:
    text = (SAMPLES / name).read_text()
    whole = {row["text"] for row in sample(name).rows("events")}
    cut = {row["text"] for row in read_text(IMPORTER, text[: len(text) * 2 // 3], tmp_path).rows("events")}
    assert len(cut - whole) <= 1


@given(st.binary(max_size=400))
def test_recognition_never_raises(raw: bytes) -> None:
    assert 0 <= IMPORTER.recognise(Head("x", raw, "utf-8")) <= 1


@given(st.text(max_size=200))
def test_any_text_can_be_taken_apart(text: str) -> None:
    assert text.endswith(parse_line(text).message)


@pytest.mark.parametrize(
    ("status", "type_"),
    [
        ("H:0x0 D:0x2 P:0x0 Valid sense data: 0x5 0x20 0x0. Act:NONE", "scsi_error"),
        ("H:0x0 D:0x2 P:0x0 Valid sense data: 0x2 0x4 0x3. Act:FAILOVER", "path_failed_io"),
        ("H:0x1 D:0x0 P:0x0 Possible sense data: 0x0 0x0 0x0. Act:NONE", "path_failed_io"),
    ],
)
def test_a_device_that_answers_has_a_path_that_works(status: str, type_: str, tmp_path: Path) -> None:
    text = (
        'cpu4:8)NMP: nmp_ThrottleLogForDevice:2319: Cmd 0x2a (0xAA, 9) to dev "naa.60" on path "vmhba1:C0:T0:L0" '
        f"Failed: {status}"
    )
    (event,) = read_text(IMPORTER, text, tmp_path).rows("events")
    assert event["type"] == type_


def test_a_line_too_long_for_a_message_is_counted_and_costs_no_time(tmp_path: Path) -> None:
    text = "cpu1:1)" + "Device x performance has " * 400_000
    tables = read_text(IMPORTER, text, tmp_path)
    assert tables.rows("events") == []
    assert tables.notes.omitted["lines of more than 4,096 characters"] == 1


@pytest.mark.parametrize("year", ["0001", "2263", "9999"])
def test_a_year_that_no_log_is_from_is_no_time(year: str, tmp_path: Path) -> None:
    text = f'{year}-10-25T16:01:54.286Z cpu2:8)NMP: nmp_DeviceRequestFastDeviceProbe: device "naa.60" state in doubt'
    (event,) = read_text(IMPORTER, text, tmp_path).rows("events")
    assert event["time"] is None


def test_a_count_of_repetitions_that_no_log_has_is_none(tmp_path: Path) -> None:
    line = 'cpu2:8)NMP: nmp_DeviceRequestFastDeviceProbe: device "naa.60" state in doubt'
    tables = read_text(IMPORTER, f"{line}\nlast message repeated {'9' * 30} times\n", tmp_path)
    assert len(tables.rows("events")) == 1
    assert all(count < 10 for count in tables.notes.omitted.values())


@pytest.mark.parametrize(
    ("words", "type_"),
    [
        ("1204: APD start for 0x4304d8b0a2c0 [naa.60]", "apd_start"),
        ("846: APD Start for ident [naa.60]!", "apd_start"),
        ("606: APD timeout event for 0x4304d8b0a2c0 [naa.60]", "apd_timeout"),
        ("609: APD Timeout for ident [naa.60]!", "apd_timeout"),
        ("1220: APD exit for 0x4304d8b0a2c0 [naa.60]", "apd_end"),
    ],
)
def test_the_kernel_tells_all_paths_down_in_its_own_words(words: str, type_: str, tmp_path: Path) -> None:
    text = f"2026-11-20T10:05:00.000Z cpu3:33433)StorageApdHandler: {words}"
    (event,) = read_text(IMPORTER, text, tmp_path).rows("events")
    assert (event["type"], event["kind"], event["entity"]) == (type_, "device", "naa.60")


def test_the_kernel_and_its_event_tell_one_outage(tmp_path: Path) -> None:
    text = (
        "2026-11-20T10:05:00.100Z cpu3:3)StorageApdHandler: 1204: APD start for 0x4304d8b0a2c0 [naa.60]\n"
        "2026-11-20T10:05:00.101Z cpu3:3)StorageApdHandlerEv: 110: Device or filesystem with identifier [naa.60] has "
        "entered the All Paths Down state.\n"
    )
    tables = read_text(IMPORTER, text, tmp_path)
    assert [event["type"] for event in tables.rows("events")] == ["apd_start"]
    assert tables.notes.omitted["the same occurrence, said by another layer or log"] == 1
