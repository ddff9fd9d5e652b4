from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.importer import ImportOptions
from storscope.sources.importers.iostat_json import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import read_tables, read_text

SAMPLES = Path(__file__).parent / "iostat_json"
CAPTURED = SAMPLES / "sysstat_12.6_debian12.json"


def test_a_captured_file_yields_the_expected_tables() -> None:
    check_golden(read_tables(IMPORTER, CAPTURED), CAPTURED.with_suffix(".expected.jsonl"))


def test_the_first_report_becomes_data_only_when_told() -> None:
    reports = json.loads(CAPTURED.read_text())["sysstat"]["hosts"][0]["statistics"]
    tables = read_tables(IMPORTER, CAPTURED)
    starts = {row["time"] for row in tables.rows("observations") if row["kind"] == "device"}
    assert len(starts) == len(reports) - 1
    (reason,) = [reason for reason in tables.notes.omitted if reason.startswith("first reports")]
    assert "may cover the time since boot" in reason
    kept = read_tables(IMPORTER, CAPTURED, ImportOptions(keep_first=True))
    assert len({row["time"] for row in kept.rows("observations") if row["kind"] == "device"}) == len(reports)


def later(hours: int) -> str:
    """The captured document, some hours later."""
    return re.sub(r"T(\d\d):", lambda match: f"T{int(match[1]) + hours:02d}:", CAPTURED.read_text())


def test_documents_that_were_appended_are_read_one_by_one(tmp_path: Path) -> None:
    one = read_tables(IMPORTER, CAPTURED)
    tables = read_text(IMPORTER, later(0) + "iostat: done\n" + later(1) + later(1) + later(2), tmp_path)
    assert len(tables.rows("observations")) == 3 * len(one.rows("observations"))
    assert any("3 JSON documents" in warning for warning in tables.notes.warnings)
    assert tables.notes.omitted["documents that repeat an earlier one to the letter"] == 1
    assert tables.notes.omitted["lines beside the JSON"] == 1
    assert {row["duration_ns"] for row in tables.rows("observations")} == {
        row["duration_ns"] for row in one.rows("observations")
    }


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["cut at the end", "cut in the middle"])
@pytest.mark.parametrize("kept", [40, 1500, 2000])
def test_an_unfinished_document_keeps_the_others(order: tuple[int, int], kept: int, tmp_path: Path) -> None:
    whole = read_tables(IMPORTER, CAPTURED)
    parts = [later(0), later(1)[:kept] + "\n"]
    tables = read_text(IMPORTER, "".join(parts[number] for number in order), tmp_path)
    wanted = {str(row) for row in whole.rows("observations")}
    assert wanted <= {str(row) for row in tables.rows("observations")}
    said = tables.notes.omitted
    assert said["unfinished last report"] + said["unfinished documents without a whole report"] == 1


def test_an_interrupted_file_loses_only_its_last_report(tmp_path: Path) -> None:
    whole = CAPTURED.read_text()
    cut = whole[: whole.rfind('"disk_device"') + 40]
    tables = read_text(IMPORTER, cut, tmp_path)
    complete = read_tables(IMPORTER, CAPTURED)
    assert 0 < len(tables.rows("observations")) < len(complete.rows("observations"))
    assert any("unfinished" in warning for warning in tables.notes.warnings)


def test_of_a_report_that_was_cut_no_device_is_kept(tmp_path: Path) -> None:
    whole = CAPTURED.read_text()
    ends = [match.end() for match in re.finditer(r'"util": [0-9.]+\}', whole)]
    complete = read_tables(IMPORTER, CAPTURED).rows("observations")
    tables = read_text(IMPORTER, whole[: ends[-1]], tmp_path)
    last = max(row["time"] for row in complete)
    assert tables.rows("observations") == [row for row in complete if row["time"] < last]
    assert tables.notes.omitted["unfinished last report"] == 1


def test_what_is_no_json_is_refused_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="line 1"):
        read_text(IMPORTER, '{"sysstat": nonsense', tmp_path)


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"r/s": 74.46', '"r/s": 1' + "0" * 400),
        ('"idle": 94.88', '"idle": "much"'),
        ('"disk_device": "vda", "r/s": 74.46', '"disk_device": "vda", "r/s": []'),
        ('"hosts": [', '"hosts": [[]], "more": ['),
    ],
)  # fmt: skip
def test_json_of_another_shape_is_refused(found: str, instead: str, tmp_path: Path) -> None:
    text = CAPTURED.read_text()
    assert found in text
    with pytest.raises(MalformedInput, match="statistics"):
        read_text(IMPORTER, text.replace(found, instead, 1), tmp_path)


def test_a_time_stamp_that_is_a_number_is_no_text_but_no_crash_either(tmp_path: Path) -> None:
    text = CAPTURED.read_text().replace('"timestamp": "2026-11-21T00:48:03+0000"', '"timestamp": 5')
    assert read_text(IMPORTER, text, tmp_path).rows("observations")
