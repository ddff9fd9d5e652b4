"""What is sent with a storage problem and is no evidence for storscope is called by its name."""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path

import pytest

from storscope.cli.main import run
from storscope.sources.evidence import Head
from storscope.sources.expand import Unreadable, expand
from storscope.sources.foreign import foreign

SADC = bytes.fromhex("96d575210c06010050010000000000000100000001000000")
"""The beginning of what `sadc -S DISK` of sysstat 12.6.1 wrote on Debian 12."""
BLKTRACE = bytes.fromhex("07746165010000000000000000000000")
"""BLK_IO_TRACE_MAGIC and version 7 (blktrace_api.h)."""
PCAP = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")


@pytest.mark.parametrize(
    ("content", "words", "advice"),
    [
        (SADC, "a file of sar", "sadf -d FILE -- -d"),
        (b"vm\t1\t2026-11-23 22:30:12 UTC\tvda\ttps\t558.00\n", "a file of sar", "sadf -d FILE -- -d"),
        (b"<?xml version='1.0'?>\n<!DOCTYPE Configure>\n<sysstat\nxmlns='y'>\n", "a file of sar", "sadf -d"),
        (BLKTRACE, "a trace of blktrace", "blkparse -i"),
        (PCAP, "a capture of network packets", "esxtop"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "an old Excel", "CSV"),
        (b"%PDF-1.7\n%\xe2\xe3\n", "a PDF", "as text or CSV"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a picture", "as text or CSV"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "a 7-Zip archive", "Unpack"),
        (b"Rar!\x1a\x07\x01\0", "a RAR archive", "Unpack"),
        (b"Histogram: IO lengths of commands,virtual machine worldGroupID : 207784,\nmin,512\n", "vscsiStats",
         "esxtop -b -a"),
        (b"    extended device statistics\n    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n",
         "iostat of Solaris", "Linux"),
        (b"Disks:        % tm_act     Kbps      tps    Kb_read   Kb_wrtn\nhdisk0  1.2  33.5  3.2  1024  21000\n",
         "iostat of AIX", "Linux"),
        (b"<Profile>\n  <TimeSpans>\n    <TimeSpan>\n", "a profile of DiskSpd", "-Rxml"),
        (b"Vdbench summary report, created 13:52:54 Apr 11 2019\n", "Vdbench", "--as vdbench"),
        (b"# HELP ceph_osd_op The number of I/Os\n# TYPE ceph_osd_op counter\n", "Prometheus", "counter_table"),
        (b".1.3.6.1.2.1.25.2.3.1.1.1 = INTEGER: 1\n", "a walk of SNMP", "formats snmp_diskio"),
        (b" CPU    NFS   CIFS   HTTP   Total     Net   kB/s    Disk   kB/s\n", "NetApp", "counter_table"),
        (b"Workload            ID    Latency    Network    Cluster       Data\n--------------- ------ ----------\n",
         "NetApp", "counter_table"),
        (b"Policy Group           IOPS      Throughput   Latency\n-------------------- -------- ---------------\n",
         "NetApp", "counter_table"),
        (b'{"records": [{"name": "v1", "_links": {"self": {"href": "/api/storage/volumes/1"}}}], "num_records": 1}\n',
         "ONTAP", "formats ontap_rest"),
        (b"Linux 6.1.0 (pg01) \t11/23/2026\n\n08:00:05 PM   UID       PID   kB_rd/s   kB_wr/s  Command\n",
         "pidstat", "iostat"),
        (b"# Time        UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command\n",
         "pidstat", "iostat"),
        (b"durable-id disk_01.01\nbytes-per-second-numeric 771072\n", "MSA", "formats msa_statistics"),
        (b"<!DOCTYPE html>\n<html><body>Login</body></html>\n", "a web page", "as text or CSV"),
    ],
)  # fmt: skip
def test_a_well_known_format_is_named_with_what_to_do(content: bytes, words: str, advice: str) -> None:
    said = foreign(Head("file", content, "utf-8")) or ""
    assert words in said
    assert advice in said
    assert "which no importer reads" in said


@pytest.mark.parametrize("content", [BLKTRACE, b"<Profile>\n  <TimeSpans>\n"])
def test_the_import_says_so_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert run(["import", "--store", str(tmp_path / "store"), str(tmp_path / "file")]) == 2
    assert "which no importer reads." in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("name", "advice"), [("host.blg", "relog FILE -f csv"), ("SRV1.ETL", "typeperf")])
def test_a_binary_format_without_known_first_bytes_is_told_by_its_name_and_said_so(name: str, advice: str) -> None:
    said = foreign(Head(name, b"\x01\x00\x00\x00", "utf-8")) or ""
    assert said.startswith("is binary; by its name it is")
    assert advice in said


def test_a_snapshot_of_vm_support_is_replayed() -> None:
    said = foreign(Head("vm-support.tgz: esx/commands/vsi_traverse_-s.txt", b"whatever\n", "utf-8")) or ""
    assert "esxtop -R FOLDER -b -a" in said


def test_the_name_alone_makes_text_no_foreign_format() -> None:
    assert foreign(Head("notes.blg", b"Dear team,\n", "utf-8")) is None


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (("[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"), "an Excel workbook"),
        (("mimetype", "content.xml", "META-INF/manifest.xml"), "a document of LibreOffice"),
        (("[Content_Types].xml", "word/document.xml"), "a document of Word"),
    ],
)
def test_an_office_document_is_no_archive_of_evidence(tmp_path: Path, members: tuple[str, ...], words: str) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for member in members:
            archive.writestr(member, "<x/>")
    (tmp_path / "figures").write_bytes(held.getvalue())
    (found,) = expand([tmp_path / "figures"])
    assert isinstance(found, Unreadable)
    assert words in found.reason
    assert "CSV" in found.reason


@pytest.mark.parametrize("text", ["\n" * 300_000, " " * 300_000, "a" * 300_000, "0 " * 150_000, "12:00:00 " * 30_000])
def test_a_long_head_is_looked_at_in_no_time(text: str) -> None:
    began = time.process_time()
    assert foreign(Head("x", text.encode(), "utf-8")) is None
    assert time.process_time() - began < 1
