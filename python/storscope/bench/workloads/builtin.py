"""Built-in workloads, each number with its source.

Where nothing citable was at hand the source says 'common practice, no citation': then treat the workload as a
convention that makes results comparable, not as a measurement of somebody's application. None of them says how much
load an installation has: outstanding I/Os are a starting point, vary them with a sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from storscope.bench.workloads.definition import Definition
from storscope.domain.errors import UsageError
from storscope.domain.units import GIB, KIB
from storscope.domain.workload import AccessSpec, Closed, Copy, Flush, Mix, Region, Starts, Stream, Workload

OTHER_NAMES: Final = {"database": "oltp"}
"""Other names of built-in workloads; what is recorded is the first one."""
PRACTICE = "common practice, no citation"
_THREAD = (
    "the configuration file of the VMware community's 'storage performance' Iometer thread (Version 2004.07.30, one "
    "worker, 64 outstanding, 8,000,000 sectors): the region is left to the target, use a file of 4 GB to compare"
)
_ICF_ALIGN = "Iometer's align 0: multiples of a sector of 512 bytes"
_FIO_SERVER = "fio's examples/iometer-file-access-server.fio, which cites Intel's access pattern for Iometer"
_ITS_DEPTH = "the same file's 'moderate' load, iodepth=64"
_PAGE = "page of PostgreSQL (BLCKSZ), SQL Server and, by default, Oracle (DB_BLOCK_SIZE): 8 KiB in their manuals"
_LOG = "WAL is written in pages of 8 KiB (PostgreSQL manual, wal_block_size), from front to back"
_CONVENTION = "one writer waits for each write, as a commit does; the flush behind it is not made, see 'commits'"
_FLUSHED = (
    "fdatasync after each write: what PostgreSQL does at a commit on Linux by default (its manual: fsync, "
    "synchronous_commit, wal_sync_method), and what its pg_test_fsync measures with writes of 8 KiB"
)
_COMMITS = "one writer waits for write and flush, as a commit does; a database may put several commits into one"


@dataclass(frozen=True)
class Builtin:
    """A workload with what it stands for and where each of its numbers comes from."""

    workload: Workload
    title: str
    sources: Mapping[str, str]


def _mix(name: str, *lines: AccessSpec, outstanding: int, workers: int = 1) -> Stream:
    return Stream(Mix(lines), Closed(outstanding), name=name, workers=workers)


def _line(size_kib: float, reads: float, random: float, share: float = 1.0, align_bytes: int = 0) -> AccessSpec:
    return AccessSpec(int(size_kib * KIB), share, reads, random, align_bytes=align_bytes)


def _of(name: str, title: str, sources: Mapping[str, str], *streams: Stream) -> Builtin:
    return Builtin(Workload(name, streams, source="built into storscope"), title, sources)


def _thread(name: str, title: str, size_kib: int, reads: float, random: float) -> Builtin:
    """One of the four of the thread."""
    sources = {"size, reads, random": _THREAD, "outstanding": _THREAD, "alignment": _ICF_ALIGN}
    return _of(name, title, sources, _mix("", _line(size_kib, reads, random, align_bytes=512), outstanding=64))


_FILE_SERVER = ((0.5, 10), (1, 5), (2, 5), (4, 60), (8, 2), (16, 4), (32, 4), (64, 10))
"""KiB and per cent of Intel's file server pattern."""

_ALL = (
    _of(
        "oltp",
        "A transactional database: random pages and a log beside them",
        {
            "data: size": _PAGE,
            "data: reads": "67 %, the share of Iometer's own 'Default' specification (2 KiB, 67 % reads, 100 % random)",
            "data: random": PRACTICE,
            "data: outstanding, workers": PRACTICE,
            "log: size": _LOG,
            "log: reads, random": _LOG,
            "log: outstanding, workers": _CONVENTION,
        },
        _mix("data", _line(8, 0.67, 1.0), outstanding=8, workers=4),
        _mix("log", _line(8, 0.0, 0.0), outstanding=1),
    ),
    _of(
        "vdi-boot",
        "Virtual desktops that start: mostly reads, a part of them in runs",
        {"size, share": PRACTICE, "reads, random": PRACTICE, "outstanding, workers": PRACTICE},
        _mix("", _line(4, 0.9, 0.8, 0.6), _line(16, 0.9, 0.8, 0.2), _line(32, 0.9, 0.5, 0.2), outstanding=8, workers=4),
    ),
    _of(
        "vdi-steady",
        "Virtual desktops at work: small random I/O, four writes to a read",
        {"size": PRACTICE, "reads, random": PRACTICE, "outstanding, workers": PRACTICE},
        _mix("", _line(4, 0.2, 0.8), outstanding=4, workers=4),
    ),
    _of(
        "backup",
        "A backup that reads volumes in large blocks, as two streams",
        {
            "size": "64 to 256 KiB as published in a field report on backups over iSCSI (ESXi 5.0); the largest here",
            "reads, random": "a full backup reads from front to back",
            "outstanding, workers": PRACTICE,
            "starts": "apart: two streams that begin together read the same blocks, the second one out of a cache",
        },
        replace(_mix("", _line(256, 1.0, 0.0), outstanding=4, workers=2), starts=Starts.APART),
    ),
    _of(
        "file-server",
        "Iometer's file server: eight sizes, mostly 4 KiB, 80 % reads",
        {"size, share, reads, random": _FIO_SERVER, "outstanding": _ITS_DEPTH, "alignment": _ICF_ALIGN},
        _mix("", *(_line(kib, 0.8, 1.0, share / 100, 512) for kib, share in _FILE_SERVER), outstanding=64),
    ),
    _of(
        "log",
        "A log: small writes from front to back, one at a time, without flushes",
        {"size": _LOG, "reads, random": _LOG, "outstanding": _CONVENTION},
        _mix("", _line(8, 0.0, 0.0), outstanding=1),
    ),
    _of(
        "commits",
        "A database's log with its flushes: each small write is followed by fdatasync",
        {"size": _LOG, "reads, random": _LOG, "flush": _FLUSHED, "outstanding": _COMMITS},
        replace(_mix("", _line(8, 0.0, 0.0), outstanding=1), flush=Flush(1)),
    ),
    _of(
        "copy",
        "A file copy within a target: each read is followed by its write",
        {
            "size": "128 KiB, the buffer of GNU cp (coreutils 8.23 to 9.4, src/ioblksize.h; 256 KiB from 9.5 on)",
            "region, destination": "the first GiB to the second one of the same target: our choice, any two will do",
            "outstanding": "cp waits for each read and each write (GNU coreutils, src/copy.c)",
        },
        Stream(Copy(128 * KIB, 0, destination_start_bytes=GIB), Closed(1), region=Region(0, GIB)),
    ),
    _thread("max-throughput-read", "Iometer classic: Max Throughput-100%Read", 32, 1.0, 0.0),
    _thread("real-life", "Iometer classic: RealLife-60%Rand-65%Read", 8, 0.65, 0.6),
    _thread("max-throughput-mixed", "Iometer classic: Max Throughput-50%Read", 32, 0.5, 0.0),
    _thread("random-8k-70-read", "Iometer classic: Random-8k-70%Read", 8, 0.7, 1.0),
    _of(
        "iometer-default",
        "Iometer's specification 'Default' and one outstanding I/O, its initial setting",
        {
            "size, reads, random": "the specification 'Default' of Iometer 2006 to 1.1.0: 2 KiB, 67 % reads, random",
            "outstanding": "Iometer's initial setting of new workers",
            "alignment": "2,048 bytes, as 1.1.0 writes it",
        },
        _mix("", _line(2, 0.67, 1.0, align_bytes=2048), outstanding=1),
    ),
)


def builtins() -> Mapping[str, Builtin]:
    """The built-in workloads by name, in the order of the list."""
    return {item.workload.name: item for item in _ALL}


def is_builtin(name: str) -> bool:
    """Whether a built-in workload has that name, or that other name."""
    return OTHER_NAMES.get(name, name) in builtins()


def builtin(name: str) -> Definition:
    """A built-in workload as a definition. UsageError names the known ones."""
    if not is_builtin(name):
        raise UsageError("the name of a built-in workload", repr(name), hint=f"Known are: {listed()}.")
    return Definition("builtin", (builtins()[OTHER_NAMES.get(name, name)].workload,))


def listed() -> str:
    """All names, in a line: 'oltp (database), vdi-boot, ...'."""
    return ", ".join(name_words(name) for name in builtins())


def name_words(name: str) -> str:
    """A name with its other names: 'oltp (database)'."""
    others = [other for other, first in OTHER_NAMES.items() if first == name]
    return f"{name} ({', '.join(others)})" if others else name
