"""Formats that are often sent with a storage problem and that no importer reads: what a file is, and what to do.

Told by the first bytes, else by lines that no other program writes, and only of the few binary formats whose first
bytes are published nowhere by the ending of the name, which is then said. A file is never read by what is told here.

Magic numbers: sysstat `sa.h` (SYSSTAT_MAGIC, FORMAT_MAGIC), Linux `blktrace_api.h`, libpcap `pcap-savefile(5)`, pcapng
draft, PCP `LOGARCHIVE(5)`, atop `rawlog.h`, and those of file(1) 5.44. Lines: captured samples, or the tools' manuals.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from storscope.sources.evidence import Head

_PATTERN_CHARACTERS: Final = 1 << 16


@dataclass(frozen=True)
class _Foreign:
    """One format that is not read."""

    words: str
    instead: str = ""
    """What to do, as sentences; empty where nothing helps."""

    def reason(self) -> str:
        """As it is told of a file."""
        return f"is {self.words}, which no importer reads" + (f". {self.instead}" if self.instead else "")


_UNPACK: Final = "Unpack it and import the folder."
_IOSTAT: Final = "Of a Linux host's disks iostat is read: S_TIME_FORMAT=ISO iostat -x -y -t -o JSON 10 > iostat.json"
_HOSTS: Final = "What hosts saw at that time is read: esxtop, perfmon or iostat (see: storscope formats)."
_OVER_TIME: Final = "A CSV of its figures with a time in each row is read (see: storscope formats counter_table)."
_SADF: Final = "Print its disks as a table: sadf -d FILE -- -d > sar.csv (FILE as in /var/log/sa or /var/log/sysstat)"
_FLATFILE: Final = (
    "Import the flatfile.html beside it, which has the figures of all its runs; where there is none, summary.html or "
    "totals.html with --as vdbench."
)
_LINUX_ONLY: Final = f"Only Linux's iostat is read. {_OVER_TIME}"
_AS_TEXT: Final = "Save the text or the table in it as text or CSV, or import the file that it was made of."
_SHEET: Final = "Save the sheet with the figures as CSV, or import the file that it was made of."

_SAR: Final = _Foreign("a file of sar (sysstat)", _SADF)
_BLKTRACE: Final = _Foreign(
    "a trace of blktrace in binary form",
    "Make text of NAME.blktrace.*: blkparse -i NAME -o trace.txt; then: storscope fit drive trace.txt",
)
_PCAP: Final = _Foreign("a capture of network packets", _HOSTS)
_VM_SUPPORT: Final = _Foreign(
    "a performance snapshot of vm-support (ESXi)",
    "Unpack vm-support on an ESXi host and replay it: esxtop -R FOLDER -b -a > esxtop.csv",
)

_MAGIC: Final = (
    (b"\x07tae", _BLKTRACE), (b"eat\x07", _BLKTRACE),
    (b"\xd4\xc3\xb2\xa1", _PCAP), (b"\xa1\xb2\xc3\xd4", _PCAP), (b"\x4d\x3c\xb2\xa1", _PCAP),
    (b"\xa1\xb2\x3c\x4d", _PCAP), (b"\n\r\r\n", _PCAP),
    (b"\x00\x00\x00\x84\x50\x05\x26", _Foreign("an archive of Performance Co-Pilot", _IOSTAT)),
    (b"\xef\xbe\xed\xfe", _Foreign("a raw log of atop", _IOSTAT)),
    (b"PERFILE2", _Foreign("a recording of perf")),
    (b"ElfFile\0", _Foreign("a Windows event log (.evtx)")),
    (b"LPKSHHRH", _Foreign("a journal of systemd")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _Foreign("an old Excel or Word file", _SHEET)),
    (b"%PDF-", _Foreign("a PDF", _AS_TEXT)),
    (b"\x89PNG\r\n", _Foreign("a picture", _AS_TEXT)), (b"\xff\xd8\xff", _Foreign("a picture", _AS_TEXT)),
    (b"GIF8", _Foreign("a picture", _AS_TEXT)),
    (b"7z\xbc\xaf\x27\x1c", _Foreign("a 7-Zip archive", _UNPACK)),
    (b"Rar!\x1a\x07", _Foreign("a RAR archive", _UNPACK)),
    (b"MSCF\0\0\0\0", _Foreign("a Windows cabinet", _UNPACK)), (b"\x04\x22\x4d\x18", _Foreign("an LZ4 file", _UNPACK)),
    (b"LZIP", _Foreign("an lzip file", _UNPACK)), (b"\x1f\x9d", _Foreign("a file of compress (.Z)", _UNPACK)),
    (b"07070", _Foreign("a cpio archive", _UNPACK)), (b"\x7fELF", _Foreign("a program or a core dump")),
    (b"SQLite format 3\0", _Foreign("a database of SQLite")), (b"PAR1", _Foreign("a Parquet file")),
)  # fmt: skip
_SAR_MAGIC: Final = re.compile(rb"\x96\xd5.\x21|\xd5\x96\x21.", re.DOTALL)

_NETAPP: Final = _Foreign("a table of a NetApp array's statistics", _OVER_TIME)
_LINES: Final = tuple(
    (re.compile(pattern, re.MULTILINE), foreign)
    for pattern, foreign in (
        (r"^(?:#[ \t]*Time|\d\d[:.]\d\d[:.]\d\d(?: [AP]M)?)[ \t]+(?:UID|USER)[ \t]+T?G?[PI]?ID\b", _Foreign(
            "output of pidstat (sysstat)",
            f"It tells which process moves bytes, and nothing of how long storage takes. {_IOSTAT}"
        )),
        (r"^# hostname;interval;timestamp|<sysstat\b|\"file-date\"\s*:", _SAR),
        (r"\A[^\t\n]+\t-?\d+\t\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: UTC)?\t", _SAR),
        (r"^\d\d[:.]\d\d[:.]\d\d(?: [AP]M)?[ \t].*(?:%usr|%user|\btps\b|\brd_sec/s|proc/s)", _SAR),
        (r"virtual machine worldGroupID", _Foreign(
            "a table of vscsiStats", "Import esxtop of that time beside it: esxtop -b -a -d 5 -n 720 > esxtop.csv"
        )),
        (r"^[ \t]*Disks:[ \t]+% tm_act|^hdisk\d+[ \t]+xfer:", _Foreign("iostat of AIX", _LINUX_ONLY)),
        (r"^[ \t]*device[ \t].*\bms/r[ \t]+ms/w", _Foreign("iostat of FreeBSD", _LINUX_ONLY)),
        (r"\bkr/s[ \t]+kw/s[ \t]+wait[ \t]+actv\b|^r/s,w/s,kr/s,kw/s,", _Foreign("iostat of Solaris", _LINUX_ONLY)),
        (r"^[ \t]*KB/t[ \t]+(?:tps|xfrs)[ \t]+MB/s", _Foreign("iostat of macOS or BSD", _LINUX_ONLY)),
        (r"<Profile>|<TimeSpans>", _Foreign(
            "a profile of DiskSpd, without results", "Run it, and import what it prints: diskspd -X FILE -L -Rxml"
        )),
        (r"\bVdbench\b", _Foreign("a report of Vdbench", _FLATFILE)),
        (r"\ALabel,Phase,RuntimeMS,", _Foreign(
            "a live CSV of elbencho", "Import the result of its phases: elbencho --csvfile FILE"
        )),
        (r"\A# (?:HELP|TYPE) [a-z_:]+ ", _Foreign("a page of Prometheus metrics of no node_exporter", _OVER_TIME)),
        (r"\A(?:\.1|iso|SNMPv2-SMI::\w+|[A-Z][\w-]+-MIB::\w+)[.\d]* = ", _Foreign(
            "a walk of SNMP without diskIO", "Walk the disks again and again (see: storscope formats snmp_diskio)."
        )),
        (r"^[ \t]*CPU[ \t]+(?:NFS|FTP)[ \t]+CIFS\b|\"observedTimeInMS\"", _NETAPP),
        (r"^(?:Workload[ \t]+ID|Policy Group)[ \t]+(?:Latency|IOPS|CPU)\b", _NETAPP),
        (r"\"href\"\s*:\s*\"/api/(?:storage/|cluster/counter/)", _Foreign(
            "an answer of ONTAP's REST interface (NetApp) without statistics",
            "Ask with fields=statistics, again and again (see: storscope formats ontap_rest)."
        )),
        (r"\bus/op \(read\)", _Foreign("a table of a Pure array's statistics", _OVER_TIME)),
        (r"\A\"?Object Name\"?,\"?Poll Time\b", _Foreign("a dump of Navisphere Analyzer (Dell EMC)", _OVER_TIME)),
        (r"^durable-id\b|\bbytes-per-second-numeric\b", _Foreign(
            "a piece of an MSA array's statistics", "Capture them whole (see: storscope formats msa_statistics)."
        )),
        (r"\A\s*(?i:<!doctype html|<html\b)", _Foreign("a web page", _AS_TEXT)),
    )
)  # fmt: skip

_NAMES: Final = (
    (".blg", _Foreign("a perfmon log in binary form", "Make text of it: relog FILE -f csv -o perfmon.csv")),
    (".etl", _Foreign(
        "a Windows event trace", r'Import counters of that time: typeperf -si 10 -o perfmon.csv "\PhysicalDisk(*)\*"'
    )),
    (".nar", _Foreign("an archive of Navisphere Analyzer (Dell EMC)", _OVER_TIME)),
    (".naz", _Foreign("an archive of Navisphere Analyzer (Dell EMC)", _OVER_TIME)),
)  # fmt: skip


def foreign(head: Head) -> str | None:
    """What a file is that no importer recognised, and what to do; None for what is not known here."""
    if _SAR_MAGIC.match(head.raw):
        return _SAR.reason()
    for magic, known in _MAGIC:
        if head.raw.startswith(magic):
            return known.reason()
    if "vsi_traverse" in head.name:
        return _VM_SUPPORT.reason()
    if head.is_binary:
        return _by_name(head.name)
    text = head.text[:_PATTERN_CHARACTERS]
    return next((known.reason() for pattern, known in _LINES if pattern.search(text)), None)


def _by_name(name: str) -> str | None:
    ending = name.lower()
    found = next((known for suffix, known in _NAMES if ending.endswith(suffix)), None)
    return None if found is None else f"is binary; by its name it {found.reason()}"


def office_document(members: Collection[str]) -> str | None:
    """What a zip archive with these members is, and what to do, where it is a document and no archive of files."""
    if any(name.startswith("xl/workbook.") for name in members):
        return _Foreign("an Excel workbook", _SHEET).reason()
    if {"mimetype", "content.xml", "META-INF/manifest.xml"} <= set(members):
        return _Foreign("a document of LibreOffice", _SHEET).reason()
    if "word/document.xml" in members or "ppt/presentation.xml" in members:
        return _Foreign("a document of Word or PowerPoint", _AS_TEXT).reason()
    return None
