"""Walks of UCD-DISKIO-MIB say what /proc/diskstats says, but for the second that the agent keeps what it read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from storscope.domain.errors import MalformedInput
from storscope.domain.units import NS_PER_S
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import recognise
from storscope.sources.importers.diskstats import IMPORTER as DISKSTATS
from storscope.sources.importers.snmp_diskio import IMPORTER
from tests.support.golden import check_golden
from tests.support.mutants import mutants
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "snmp_diskio"
CAPTURED = SAMPLES / "net-snmp_5.9.txt"
THE_SAME = SAMPLES / "the_same_diskstats.txt"
TABLE = ".1.3.6.1.4.1.2021.13.15.1.1"
NAMES = {2: "Device", 3: "NRead", 4: "NWritten", 5: "Reads", 6: "Writes", 9: "LA1", 10: "LA5", 11: "LA15",
         12: "NReadX", 13: "NWrittenX", 14: "BusyTime", 1: "Index"}  # fmt: skip


def of_disk(tables: Tables, name: str = "vda") -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["entity"] == name]


def walk(second: int, reads: int, read_bytes: int, *, wide: int | None = None, name: str = "sda") -> str:
    """One disk that only reads, as net-snmp prints it; `wide` is the counter of 64 bits."""
    values = [(2, "STRING", f'"{name}"'), (3, "Counter32", read_bytes), (4, "Counter32", 0), (5, "Counter32", reads),
              (6, "Counter32", 0)]  # fmt: skip
    values += [(12, "Counter64", wide), (13, "Counter64", 0)] if wide is not None else []
    lines = [f"{TABLE}.{column}.1 = {kind}: {value}\n" for column, kind, value in values]
    return f"2026-11-01T08:{second // 60:02}:{second % 60:02}.0Z\n" + "".join(lines)


def as_names(text: str) -> str:
    return re.sub(rf"^{re.escape(TABLE)}\.(\d+)", lambda match: f"UCD-DISKIO-MIB::diskIO{NAMES[int(match[1])]}", text,
                  flags=re.MULTILINE)  # fmt: skip


def test_the_capture_is_recognised_and_yields_the_expected_tables() -> None:
    assert recognise(Evidence(CAPTURED).head) is IMPORTER
    check_golden(read_tables(IMPORTER, CAPTURED), CAPTURED.with_suffix(".expected.jsonl"))


def test_it_agrees_with_diskstats_of_the_same_times() -> None:
    found, truth = of_disk(read_tables(IMPORTER, CAPTURED)), of_disk(read_tables(DISKSTATS, THE_SAME))
    assert [row["time"] for row in found] == [row["time"] for row in truth]
    for column in ("read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "busy_ratio"):
        told, true = (sum(row[column] * row["duration_ns"] / NS_PER_S for row in rows) for rows in (found, truth))
        one_second = max(row[column] for row in truth)
        assert abs(told - true) <= one_second, column


@pytest.mark.parametrize(
    "form",
    [
        as_names,
        lambda text: as_names(text).replace("UCD-DISKIO-MIB::diskIO", ".iso.org.dod.enterprises.ucd.diskIO"),
        lambda text: text.replace(".1.3.6.1.4.1.", "iso.3.6.1.4.1."),
        lambda text: text.replace(".1.3.6.1.4.1.", "SNMPv2-SMI::enterprises."),
        lambda text: re.sub(r" = (?:INTEGER|Counter\d\d|STRING): ", " ", text),
        lambda text: re.sub(r"^(\S+)\.(\d+) = ", r"\1[\2] = ", as_names(text), flags=re.MULTILINE),
    ],
)  # fmt: skip
def test_every_form_that_the_tools_print_says_the_same(form: Any, tmp_path: Path) -> None:
    text = form(CAPTURED.read_text())
    assert recognise(Head("walk", text.encode()[:65536], "utf-8")) is IMPORTER
    assert of_disk(read_text(IMPORTER, text, tmp_path)) == of_disk(read_tables(IMPORTER, CAPTURED))


def test_operations_go_on_behind_32_bits(tmp_path: Path) -> None:
    text = walk(0, 2**32 - 100, 0, wide=0) + walk(10, 200, 0, wide=300 * 512) + walk(20, 500, 0, wide=600 * 512)
    first, second = of_disk(read_text(IMPORTER, text, tmp_path), "sda")
    assert (first["read_ops_per_s"], second["read_ops_per_s"]) == (30.0, 30.0)


def test_a_restarted_agent_or_host_is_a_reset(tmp_path: Path) -> None:
    text = walk(0, 5_000, 0, wide=10**9) + walk(10, 100, 0, wide=10**6) + walk(20, 200, 0, wide=2 * 10**6)
    tables = read_text(IMPORTER, text, tmp_path)
    (row,) = of_disk(tables, "sda")
    assert row["read_ops_per_s"] == 10.0
    assert tables.notes.omitted["intervals with a counter reset"] == 1


def test_a_reset_soon_after_a_wrap_is_no_second_wrap(tmp_path: Path) -> None:
    text = walk(0, 2**32 - 100, 0, wide=0) + walk(10, 200, 0, wide=512) + walk(20, 50, 0, wide=0)
    tables = read_text(IMPORTER, text + walk(30, 150, 0, wide=512), tmp_path)
    assert [row["read_ops_per_s"] for row in of_disk(tables, "sda")] == [30.0, 10.0]


def test_version_1_counts_bytes_in_32_bits_which_is_said(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, walk(0, 1, 2**32 - 512) + walk(10, 2, 4_608), tmp_path)
    (row,) = of_disk(tables, "sda")
    assert row["read_bytes_per_s"] == 512.0
    assert any("32 bits" in said and "-v2c" in said for said in tables.notes.warnings)


def test_a_restart_by_version_1_is_a_reset_though_bytes_fall_as_if_they_had_wrapped(tmp_path: Path) -> None:
    text = walk(0, 5_000, 3 * 10**9) + walk(10, 100, 10**6) + walk(20, 200, 10**6 + 5_120)
    (row,) = of_disk(read_text(IMPORTER, text, tmp_path), "sda")
    assert (row["read_ops_per_s"], row["read_bytes_per_s"]) == (10.0, 512.0)


def test_the_host_is_called_as_it_says(tmp_path: Path) -> None:
    name = ".1.3.6.1.2.1.1.5.0 = STRING: nas01\n"
    tables = read_text(IMPORTER, name + walk(0, 1, 1, wide=1) + walk(10, 2, 1, wide=1), tmp_path)
    assert of_disk(tables, "sda")[0]["system"] == "nas01"


def test_walks_without_times_need_the_interval(tmp_path: Path) -> None:
    text = "".join(line for second in (0, 10) for line in walk(second, second, 1, wide=1).splitlines(True)[1:])
    with pytest.raises(MalformedInput, match="line with the time before each snapshot"):
        read_text(IMPORTER, text, tmp_path)
    (row,) = of_disk(read_text(IMPORTER, text, tmp_path, ImportOptions(interval_s=10.0)), "sda")
    assert row["read_ops_per_s"] == 1.0


def test_objects_of_other_mibs_are_counted_and_are_no_times(tmp_path: Path) -> None:
    other = ".1.3.6.1.2.1.25.2.3.1.1.1 = INTEGER: 1\n"
    tables = read_text(IMPORTER, walk(0, 0, 1, wide=1) + other + walk(10, 5, 1, wide=1) + other, tmp_path)
    assert len(of_disk(tables, "sda")) == 1
    assert tables.notes.omitted["objects of other MIBs"] == 2


def test_a_walk_that_was_cut_leaves_its_devices_out(tmp_path: Path) -> None:
    cut = "".join(walk(10, 5, 1, wide=1).splitlines(True)[:3])
    tables = read_text(IMPORTER, walk(0, 0, 1, wide=1) + cut + walk(20, 40, 1, wide=1), tmp_path)
    (row,) = of_disk(tables, "sda")
    assert (row["duration_ns"], row["read_ops_per_s"]) == (20 * NS_PER_S, 2.0)


def test_damage_is_an_error_or_rows_and_never_a_crash(tmp_path: Path) -> None:
    for mutant in mutants(CAPTURED, b'0123456789.:= "-TZ\n', count=80):
        try:
            tables = read_text(IMPORTER, mutant, tmp_path)
        except MalformedInput:
            continue
        for row in tables.rows("observations"):
            assert row["duration_ns"] > 0
            assert row["read_ops_per_s"] >= 0
