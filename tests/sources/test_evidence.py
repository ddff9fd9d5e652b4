"""Text in UTF-16 is read whether or not it says so, and what is no text stays binary."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from storscope.sources.evidence import Evidence
from storscope.sources.importers.iostat_text import IMPORTER as IOSTAT_TEXT
from storscope.sources.importers.perfmon_csv import IMPORTER as PERFMON_CSV
from tests.support.tables import read_tables

_SAMPLES = Path(__file__).parents[1] / "importers"
_IOSTAT = _SAMPLES / "iostat_text" / "sysstat_12.6_iso.txt"
_JAPANESE = _SAMPLES / "iostat_text" / "sysstat_12.6_ja_JP_groups.txt"
_PERFMON = _SAMPLES / "perfmon_csv" / "czech_utf16.tsv"


def _file(folder: Path, content: bytes) -> Path:
    path = folder / "file"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("sample", [_IOSTAT, _JAPANESE], ids=["latin", "japanese"])
def test_utf_16_without_a_mark_is_read_like_utf_8(sample: Path, encoding: str, tmp_path: Path) -> None:
    """A redirection of PowerShell whose mark a tool took away; it was refused as binary."""
    path = _file(tmp_path, sample.read_text(encoding="utf-8").encode(encoding))
    assert Evidence(path).head.encoding == encoding
    assert read_tables(IOSTAT_TEXT, path).rows("observations") == read_tables(IOSTAT_TEXT, sample).rows("observations")


def test_the_core_reads_utf_16_without_a_mark(tmp_path: Path) -> None:
    path = _file(tmp_path, _PERFMON.read_bytes().removeprefix(b"\xff\xfe"))
    assert PERFMON_CSV.recognise(Evidence(path).head) > 0.5
    assert read_tables(PERFMON_CSV, path).rows("observations") == read_tables(PERFMON_CSV, _PERFMON).rows(
        "observations"
    )


@pytest.mark.parametrize(
    "content",
    [b"", b"\0", b"a\0", b"\0\0\0\0\0\0", struct.pack("<8h", *range(8)), struct.pack("<8h", *range(0, 2400, 300))],
    ids=["nothing", "zero", "a letter", "zeros", "small numbers", "numbers"],
)
def test_what_is_no_text_is_not_taken_for_utf_16(content: bytes, tmp_path: Path) -> None:
    head = Evidence(_file(tmp_path, content)).head
    assert head.encoding == "utf-8"
    assert head.is_binary == bool(content)
