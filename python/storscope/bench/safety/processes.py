"""Other processes: who has the target open for writing, and whether a process of an earlier run still lives.

/proc tells about the processes of the same user, and of all users to root; the number that could not be looked at is
returned, so that "nobody" is not said of what was not seen. Kernel users (loop, NFS server, iSCSI target) open files
without a descriptor; loop and swap are asked in `loops.py`, exclusive claims of devices show as EBUSY.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from storscope.bench.safety.kernel import DeviceNumber, Kernel, names_in, read_text

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
    """Processes whose descriptors may not be read."""


def is_device(numbers: set[DeviceNumber]) -> Wanted:
    """Recognises any of several block devices, by whatever node they were opened."""

    def wanted(status: os.stat_result, _: Path) -> bool:
        return stat.S_ISBLK(status.st_mode) and DeviceNumber.of_raw(status.st_rdev) in numbers

    return wanted


def writers(kernel: Kernel, wanted: Wanted) -> Writers:
    """Every other process that has it open for writing, or mapped shared and writable."""
    found: list[Writer] = []
    unseen = 0
    for pid in names_in(kernel.proc):
        if not pid.isdecimal() or int(pid) == os.getpid():
            continue
        try:
            how = _how_it_writes(kernel.proc / pid, wanted)
        except PermissionError:
            unseen += 1
            continue
        if how is not None:
            found.append(Writer(int(pid), read_text(kernel.proc / pid / "comm") or "?", how))
    return Writers(tuple(found), unseen)


def _how_it_writes(process: Path, wanted: Wanted) -> str | None:
    """Null if it does not, or ended while we looked."""
    try:
        if any(_writable(process, name) and _matches(process / "fd" / name, wanted) for name in _names(process / "fd")):
            return "open for writing"
        if any(_matches(link, wanted) for link in _shared_writable_maps(process)):
            return "mapped for writing"
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None


def _names(folder: Path) -> list[str]:
    """Unlike `names_in` this tells what may not be read from what is empty."""
    return [path.name for path in folder.iterdir()]


def _writable(process: Path, descriptor: str) -> bool:
    """By the access mode in fdinfo, which is octal (proc_pid_fdinfo(5))."""
    for line in (read_text(process / "fdinfo" / descriptor) or "").splitlines():
        key, _, value = line.partition(":")
        if key == "flags":
            return int(value, 8) & os.O_ACCMODE in {os.O_WRONLY, os.O_RDWR}
    return False


def _matches(link: Path, wanted: Wanted) -> bool:
    try:
        return wanted(link.stat(), link)
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return False


def _shared_writable_maps(process: Path) -> Iterator[Path]:
    """A mapping outlives its descriptor. Lines are "from-to rw-s offset dev inode path" (proc_pid_maps(5))."""
    for line in (read_text(process / "maps") or "").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) >= 5 and fields[1][1:2] == "w" and fields[1][3:4] == "s" and fields[4] != "0":
            yield process / "map_files" / fields[0]


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
    try:
        return str((kernel.proc / "self" / "ns" / "pid").readlink())
    except OSError:
        return ""


def _machine(kernel: Kernel) -> str:
    """A name of this installation, "" where it has none. Its own is not to be handed on: machine-id(5)."""
    text = read_text(kernel.etc / "machine-id") or ""
    return hashlib.sha256(f"storscope scratch {text}".encode()).hexdigest()[:32] if text else ""


def boot_of(kernel: Kernel) -> str:
    """A random name of this boot, "" where the kernel does not say."""
    return read_text(kernel.proc / "sys" / "kernel" / "random" / "boot_id") or ""
