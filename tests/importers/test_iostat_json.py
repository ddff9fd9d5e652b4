from __future__ import annotations

import json
from pathlib import Path

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.importers.iostat_json import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import read_tables, read_text

SAMPLES = Path(__file__).parent / "iostat_json"
CAPTURED = SAMPLES / "sysstat_12.6_debian12.json"


def test_a_captured_file_yields_the_expected_tables() -> None:
    check_golden(read_tables(IMPORTER, CAPTURED), CAPTURED.with_suffix(".expected.jsonl"))


def test_the_since_boot_report_never_becomes_data() -> None:
    reports = json.loads(CAPTURED.read_text())["sysstat"]["hosts"][0]["statistics"]
    tables = read_tables(IMPORTER, CAPTURED)
    starts = {row["time"] for row in tables.rows("observations") if row["kind"] == "device"}
    assert len(starts) == len(reports) - 1
    assert tables.notes.omitted["since-boot report"] == 1


def test_an_interrupted_file_loses_only_its_last_report(tmp_path: Path) -> None:
    whole = CAPTURED.read_text()
    cut = whole[: whole.rfind('"disk_device"') + 40]
    tables = read_text(IMPORTER, cut, tmp_path)
    complete = read_tables(IMPORTER, CAPTURED)
    assert 0 < len(tables.rows("observations")) < len(complete.rows("observations"))
    assert any("unfinished" in warning for warning in tables.notes.warnings)


def test_what_is_no_json_is_refused_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="line 1"):
        read_text(IMPORTER, '{"sysstat": nonsense', tmp_path)
