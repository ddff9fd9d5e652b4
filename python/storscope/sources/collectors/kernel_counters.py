"""The kernel's I/O counters of this host while it runs: /proc/diskstats, and /proc/PID/io of chosen processes.

Writes what the importer of /proc/diskstats writes, under the same names: an observation for each device and interval,
merges and flushes as counters, partitions with the disk they live on. A process becomes an observation of the kind
`process` with the bytes it caused to be moved; the kernel counts no operations and no latency for it.

Rates are differences over the time between two readings, by a clock that nobody sets; stamps are UTC. Each reading is
due at a multiple of the interval after the first, so that delays do not add up; one that was missed is left out and its
interval is longer. Counters that were reset, devices that appear and processes that end leave their interval out, and
are counted.

Beware: /proc/PID/io may be read of processes of the same user only, and of all by root.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from storscope.domain import diskstats, process_io
from storscope.domain.diskstats import Counters
from storscope.domain.entity import EntityRef
from storscope.domain.errors import InputError
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_MS, NS_PER_S, format_duration
from storscope.sources.collectors.clock import Clock, SystemClock

_STARTTIME_AFTER_COMMAND = 19
"""Field 22 of /proc/PID/stat, counted from the field after the command's bracket (proc_pid_stat(5))."""
_CLOCK_STEP_NS = 100 * NS_PER_MS
_CALLS = (("rchar", "bytes read by calls"), ("wchar", "bytes written by calls"),
          ("syscr", "read calls"), ("syscw", "write calls"))  # fmt: skip


@dataclass(frozen=True)
class _Reading:
    """Everything at one instant."""

    utc_ns: int
    monotonic_ns: int
    devices: dict[str, Counters]
    processes: dict[EntityRef, Counters]


@dataclass
class KernelCounters:
    """Takes readings and writes what happened between two of them. Not for several threads at once."""

    recorder: Recorder
    system: str
    devices: Collection[str] | None = None
    """Kernel names; None is every device that ever did an operation."""
    proc: Path = Path("/proc")
    sysfs: Path = Path("/sys")
    clock: Clock = field(default_factory=SystemClock)
    processes: list[int] = field(default_factory=list)
    """Process ids to watch; may grow at any time."""
    _before: _Reading | None = None
    _known: dict[str, EntityRef] = field(default_factory=dict)
    _digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    @property
    def digest(self) -> str:
        """SHA-256 of everything that was read: names the capture by its content."""
        return self._digest.hexdigest()

    def sample(self) -> None:
        """Takes a reading. Raises InputError if the kernel shows no disk statistics."""
        now = self._read()
        notes = self.recorder.notes
        notes.tool, notes.system, notes.clock = "/proc/diskstats", self.system, "UTC of this host"
        if self._before is not None:
            self._compare(self._before, now)
        self._before = now

    # Reading ----------------------------------------------------------------------------------------------------------

    def _read(self) -> _Reading:
        path = self.proc / "diskstats"
        first_ns = self.clock.monotonic_ns()
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError("the kernel's disk statistics", str(error.strerror), where=str(path)) from error
        # In the middle of the reading: the kernel takes the counters one after another.
        now_ns = (first_ns + self.clock.monotonic_ns()) // 2
        utc_ns = self.clock.utc_ns()
        self._digest.update(f"{utc_ns}\n{text}".encode())
        devices = diskstats.parse(text)
        if not devices:
            raise InputError("devices in the kernel's disk statistics", "none", where=str(path))
        return _Reading(utc_ns, now_ns, devices, self._read_processes())

    def _read_processes(self) -> dict[EntityRef, Counters]:
        found: dict[EntityRef, Counters] = {}
        for pid in tuple(self.processes):
            folder = self.proc / str(pid)
            try:
                text = (folder / "io").read_text(encoding="ascii", errors="replace")
                name = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
            except PermissionError:
                self.recorder.warn(f"Process {pid} may not be looked at: /proc/{pid}/io is of another user.")
                continue
            except OSError:  # it ended
                self.recorder.omit("readings of processes that had ended")
                continue
            self._digest.update(text.encode())
            found[EntityRef(self.system, "process", f"{name}[{pid}]")] = {
                **process_io.parse(text), "start": self._start_ticks(folder),
            }  # fmt: skip
        return found

    def _start_ticks(self, folder: Path) -> int:
        """Tells a process from a later one with the same number; 0 where the kernel does not say."""
        try:
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            return 0
        return int(fields[_STARTTIME_AFTER_COMMAND]) if len(fields) > _STARTTIME_AFTER_COMMAND else 0

    # Comparing --------------------------------------------------------------------------------------------------------

    def _compare(self, before: _Reading, now: _Reading) -> None:
        span_ns = now.monotonic_ns - before.monotonic_ns
        if span_ns <= 0:
            self.recorder.omit("readings between which no time passed")
            return
        step_ns = now.utc_ns - before.utc_ns - span_ns
        if abs(step_ns) > _CLOCK_STEP_NS:
            self.recorder.warn(
                f"The clock was set by {format_duration(step_ns)} during the capture: times shift there."
            )
        start_ns = now.utc_ns - span_ns if abs(step_ns) <= _CLOCK_STEP_NS else before.utc_ns
        self.recorder.omit("devices that vanished during the capture", len(before.devices.keys() - now.devices.keys()))
        for name, counters in now.devices.items():
            if self.devices is not None and name not in self.devices:
                continue
            if name not in before.devices:
                self.recorder.omit("first reading of a device that appeared later")
            elif self.devices is None and not any(counters.values()):
                self.recorder.omit("intervals of devices that never did an operation")
            else:
                self._device(self._entity(name, now.devices), start_ns, span_ns, before.devices[name], counters)
        for process, counters in now.processes.items():
            self._process(process, start_ns, span_ns, before.processes.get(process), counters)

    def _device(self, entity: EntityRef, start_ns: int, span_ns: int, before: Counters, now: Counters) -> None:
        change = diskstats.change(before, now)
        if change is None:
            self.recorder.omit("intervals with a counter reset")
            return
        self.recorder.omit("times that went back without a wrap (old kernels do this)", change.times_back)
        seconds = span_ns / NS_PER_S
        columns = diskstats.canonical(change.deltas, seconds)
        self.recorder.omit(
            "busy shares above 1 cut to 1 (the clock and the counters are not read at once)", int(columns.busy_cut)
        )
        self.recorder.observe(entity, start_ns, span_ns, columns.values)
        for counter, unit, value in diskstats.other_counters(change.deltas, now, seconds):
            self.recorder.counter(entity, start_ns, span_ns, counter, unit, value)

    def _process(self, entity: EntityRef, start_ns: int, span_ns: int, before: Counters | None, now: Counters) -> None:
        if before is None or before["start"] != now["start"]:
            self.recorder.omit("first reading of a process that appeared later")
            return
        per_s = NS_PER_S / span_ns
        shared = [name for name in process_io.FIELDS if name in now and name in before]
        rates: dict[str, float] = {name: (now[name] - before[name]) * per_s for name in shared}
        self.recorder.observe(
            entity, start_ns, span_ns,
            {"read_bytes_per_s": rates.get("read_bytes"), "write_bytes_per_s": rates.get("write_bytes")},
        )  # fmt: skip
        self.recorder.link(entity, "member_of", EntityRef(self.system, "host", self.system))
        for name, shown in _CALLS:
            self.recorder.counter(
                entity, start_ns, span_ns, shown, "B/s" if name.endswith("char") else "1/s", rates.get(name)
            )  # fmt: skip

    def _entity(self, name: str, known: Iterable[str]) -> EntityRef:
        if name not in self._known:
            disk = diskstats.disk_of_partition(name, set(known))
            entity = EntityRef(self.system, "device" if disk is None else "partition", name)
            below = [disk] if disk is not None else self._slaves(name)
            for other in below:
                self.recorder.link(entity, "lives_on", self._entity(other, known))
            self.recorder.link(entity, "member_of", EntityRef(self.system, "host", self.system))
            self._known[name] = entity
        return self._known[name]

    def _slaves(self, name: str) -> list[str]:
        """What a device-mapper, md or bcache device is made of (Documentation/ABI/testing/sysfs-block)."""
        try:
            return sorted(path.name for path in (self.sysfs / "class" / "block" / name / "slaves").iterdir())
        except OSError:
            return []
