"""Other processes: who has the target open for writing, and whether a process of an earlier run still lives.

/proc tells about the processes of the same user, and of all users to root; in a container, about those in it. What
could not be looked at is returned, so that "nobody" is not said of what was not seen. Kernel users (loop, NFS server,
iSCSI target) open files without a descriptor; loop and swap are asked in `loops.py`, exclusive claims of devices show
as EBUSY. Files that are registered with io_uring and then closed are open without any trace in /proc.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from storscope.bench.safety.kernel import DeviceNumber, Kernel, names_in, read_link, read_text

Wanted = Callable[[os.stat_result, Path], bool]
"""Of what is open, and a link in /proc by which it can be opened."""

_STARTTIME_AFTER_COMMAND = 19
"""Field 22 of /proc/PID/stat; the fields after the command's closing bracket start with number 3 (proc_pid_stat(5))."""


@dataclass(frozen=True)
class Writer:
    """A process that may write to the target at any moment."""

    pid: int
    command: str
    how: str

    def __str__(self) -> str:
        return f"{self.command} (process {self.pid}, {self.how})"


@dataclass(frozen=True)
class Writers:
    """What /proc told."""

    found: tuple[Writer, ...]
    unseen: int
    """Processes that may not be looked at."""
    hidden: tuple[str, ...] = ()
    """What /proc does not even list."""


def runs(kernel: Kernel, status: os.stat_result) -> bool:
    """Whether a file is a program that is running, so that nobody can write to it; as far as processes may be seen."""
    if not status.st_mode & 0o111:
        return False
    programs = (kernel.proc / pid / "exe" for pid in names_in(kernel.proc) if pid.isdecimal())
    return any(_is_same(program, status) for program in programs)


def _is_same(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False


def is_device(numbers: set[DeviceNumber]) -> Wanted:
    """Recognises any of several block devices, by whatever node they were opened."""

    def wanted(status: os.stat_result, _: Path) -> bool:
        return stat.S_ISBLK(status.st_mode) and DeviceNumber.of_raw(status.st_rdev) in numbers

    return wanted


def writers(kernel: Kernel, wanted: Wanted) -> Writers:
    """Every other process that has it open for writing, or mapped shared and writable."""
    found: list[Writer] = []
    unseen = 0
    are_same = _compares_tables(kernel)
    for pid in names_in(kernel.proc):
        if not pid.isdecimal() or int(pid) == os.getpid():
            continue
        try:
            how = _how_it_writes(kernel.proc / pid, wanted, are_same)
        except PermissionError:
            unseen += 1
            continue
        if how is not None:
            found.append(Writer(int(pid), read_text(kernel.proc / pid / "comm") or "?", how))
    return Writers(tuple(found), unseen, tuple(_hidden(kernel)))


_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO (linux/proc_ns.h): the namespace that sees all others."""


def _hidden(kernel: Kernel) -> Iterator[str]:
    """With hidepid=2 (proc(5)) the first process is not there, for who may not look at it."""
    if _pid_namespace(kernel) != _FIRST_PID_NAMESPACE:
        yield "processes outside this container (PID namespace) cannot be seen"
    elif not (kernel.proc / "1").exists():
        yield "/proc does not list the processes of other users (hidepid)"


def _how_it_writes(process: Path, wanted: Wanted, are_same: SameTable) -> str | None:
    """Null if it does not, or ended while we looked.

    Raises PermissionError if it does not as far as it may be looked at, and may do so where it may not.
    """
    is_denied = False
    for how, answer in chain(_descriptors(process, wanted, are_same), _mappings(process, wanted)):
        if answer:
            return how
        is_denied = is_denied or answer is None
    if is_denied:
        raise PermissionError
    return None


Answer = bool | None
"""Null if it may not be looked at."""
SameTable = Callable[[str, str], bool]
"""Whether two threads have one table of descriptors; false where the kernel does not tell."""


def _descriptors(process: Path, wanted: Wanted, are_same: SameTable) -> Iterator[tuple[str, Answer]]:
    """Of every thread: it may have a table of its own (unshare(2)), or live on after the first one has ended."""
    seen: list[str] = []
    for thread in _threads(process):
        if any(are_same(thread.name, other) for other in seen):
            continue
        try:
            names = [path.name for path in (thread / "fd").iterdir()]
        except PermissionError:
            yield "", None
            continue
        except (FileNotFoundError, ProcessLookupError):
            continue
        seen.append(thread.name)
        for name in names:
            if _writable(thread, name):
                yield "open for writing", _matches(thread / "fd" / name, wanted)


def _threads(process: Path) -> list[Path]:
    """Those there are now; none if it has ended."""
    return [process / "task" / name for name in names_in(process / "task")]


def _compares_tables(kernel: Kernel) -> SameTable:
    """By kcmp(2). It takes the numbers of this process's own namespace, which /proc need not be of."""
    call = _KCMP.get(platform.machine())
    if call is None or read_link(kernel.proc / "self") != str(os.getpid()):
        return lambda _one, _other: False
    syscall = ctypes.CDLL(None).syscall
    return lambda one, other: bool(syscall(call, int(one), int(other), _KCMP_FILES, 0, 0) == 0)


_KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272}
"""Its number (arch/x86/entry/syscalls/syscall_64.tbl, asm-generic/unistd.h)."""
_KCMP_FILES = 2
"""linux/kcmp.h"""


def _writable(thread: Path, descriptor: str) -> bool:
    """By the access mode in fdinfo, which is octal (proc_pid_fdinfo(5))."""
    for line in (read_text(thread / "fdinfo" / descriptor) or "").splitlines():
        key, _, value = line.partition(":")
        if key == "flags":
            return int(value, 8) & os.O_ACCMODE in {os.O_WRONLY, os.O_RDWR}
    return False


def _matches(link: Path, wanted: Wanted) -> Answer:
    try:
        return wanted(link.stat(), link)
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return False
    except PermissionError:
        return None


def _mappings(process: Path, wanted: Wanted) -> Iterator[tuple[str, Answer]]:
    """A mapping outlives its descriptor. Threads have one memory; of one that has ended it is empty."""
    for thread in _threads(process):
        lines = (read_text(thread / "maps") or "").splitlines()
        for line in lines:
            mapping = _shared_writable(line)
            if mapping is not None:
                answer = _matches(process / "map_files" / mapping.addresses, wanted)
                yield "mapped for writing", answer or _is_mapped(mapping, wanted)
        if lines:
            return


class _Mapping(NamedTuple):
    addresses: str
    device: int
    inode: int
    path: str


def _shared_writable(line: str) -> _Mapping | None:
    """Lines are "from-to rw-s offset major:minor inode path", the numbers of the device in hex (proc_pid_maps(5))."""
    fields = line.split(maxsplit=5)
    if len(fields) < 5 or fields[1][1:2] != "w" or fields[1][3:4] != "s" or fields[4] == "0":
        return None
    major, _, minor = fields[3].partition(":")
    return _Mapping(
        fields[0], os.makedev(int(major, 16), int(minor, 16)), int(fields[4]), fields[5] if len(fields) > 5 else ""
    )


def _is_mapped(mapping: _Mapping, wanted: Wanted) -> Answer:
    """By what the line says, since only a privileged process may follow the link in map_files.

    btrfs and overlayfs show another device here than in stat(2), so that the path is asked first.
    """
    path = Path(mapping.path)
    with contextlib.suppress(OSError):
        status = path.stat()
        if stat.S_IFMT(status.st_mode) in {stat.S_IFREG, stat.S_IFBLK} and status.st_ino == mapping.inode:
            return wanted(status, path)
    numbers = os.stat_result((stat.S_IFREG, mapping.inode, mapping.device, 1, 0, 0, 0, 0, 0, 0))
    if wanted(numbers, path):
        return True
    return False if _is_memory(mapping.path) else None


def _is_memory(path: str) -> bool:
    """What has no file that a path leads to: shared memory, memfd_create(2), a file that is deleted."""
    return path.endswith(" (deleted)") or not path.startswith("/") or path.startswith("/SYSV")


@dataclass(frozen=True)
class ProcessId:
    """A process among all that ever had its number: the start time tells them apart, the boot tells start times."""

    pid: int
    start_ticks: int
    boot: str
    machine: str | None = None
    """"" where the machine has no name; null in records that do not tell."""
    pid_namespace: str = ""
    """Numbers of processes are of a namespace: another container's say nothing here (pid_namespaces(7))."""


def this_process(kernel: Kernel) -> ProcessId:
    """The calling process."""
    pid = os.getpid()
    return ProcessId(pid, _start_ticks(kernel, pid) or 0, boot_of(kernel), _machine(kernel), _pid_namespace(kernel))


def is_foreign(kernel: Kernel, process: ProcessId) -> bool:
    """Whether it is of another machine or PID namespace, so that nothing here tells whether it still runs."""
    if process.machine is None:
        return False
    if process.boot == boot_of(kernel):
        return process.pid_namespace != _pid_namespace(kernel)
    return not process.machine or process.machine != _machine(kernel)


def is_alive(kernel: Kernel, process: ProcessId) -> bool:
    """Whether that very process still runs. In doubt, yes: what belongs to a live process is never removed."""
    if process.boot != boot_of(kernel):
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    start = _start_ticks(kernel, process.pid)
    return start is None or start == process.start_ticks


def _start_ticks(kernel: Kernel, pid: int) -> int | None:
    text = read_text(kernel.proc / str(pid) / "stat")
    if text is None:
        return None
    fields = text.rpartition(")")[2].split()
    return int(fields[_STARTTIME_AFTER_COMMAND]) if len(fields) > _STARTTIME_AFTER_COMMAND else None


def _pid_namespace(kernel: Kernel) -> str:
    """As "pid:[4026531836]", "" where the kernel does not say."""
    return read_link(kernel.proc / "self" / "ns" / "pid") or ""


def _machine(kernel: Kernel) -> str:
    """A name of this installation, "" where it has none. Its own is not to be handed on: machine-id(5)."""
    text = read_text(kernel.etc / "machine-id") or ""
    return hashlib.sha256(f"storscope scratch {text}".encode()).hexdigest()[:32] if text else ""


def boot_of(kernel: Kernel) -> str:
    """A random name of this boot, "" where the kernel does not say."""
    return read_text(kernel.proc / "sys" / "kernel" / "random" / "boot_id") or ""
