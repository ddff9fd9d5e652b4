"""What happened between two snapshots of the counters of a Linux host's disks, whoever printed them.

Fields, wraps and resets are those of domain/diskstats.py; an interval with a reset is left out. Rates are differences
over the time between the snapshots; latency is the difference of the time over that of the operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from storscope.domain import diskstats, units
from storscope.domain.diskstats import Counters
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importers._snapshot_clock import SnapshotClock
from storscope.sources.importers._time_lines import LineTime


@dataclass
class DiskSnapshots:
    """The snapshots of one host in their order; writes an interval for each that follows another."""

    recorder: Recorder
    clock: SnapshotClock
    count: int = 0
    """Snapshots so far."""
    latest: LineTime | None = None
    """When the last of them was taken."""
    _system: str = ""
    _now: Mapping[str, Counters] = field(default_factory=dict)
    _entities: dict[str, EntityRef] = field(default_factory=dict)
    _asleep: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Intervals of devices that have done nothing since boot; written once they do something."""

    def add(self, time: LineTime, now: Mapping[str, Counters], system: str) -> None:
        """The next snapshot: device -> counters. The host is called as the first snapshot with a rate says."""
        self.count += 1
        self._system = self._system or system
        before_time, before = self.latest, self._now
        self.clock.note(time)
        self.latest, self._now = time, now
        span_ns = None if before_time is None else self.clock.span_ns(before_time, time)
        if before_time is not None and span_ns is not None:
            self._compare(before_time.ns, span_ns, before)

    def finish(self) -> None:
        """After the last snapshot."""
        idle = sum(len(intervals) for intervals in self._asleep.values())
        self.recorder.omit("intervals of devices that never did an operation", idle)

    def _compare(self, start_ns: int, span_ns: int, before: Mapping[str, Counters]) -> None:
        for name, counters in self._now.items():
            if name not in before:
                self.recorder.omit("first snapshot of a device that appeared later")
            elif name not in self._entities and not any((*counters.values(), *before[name].values())):
                self._asleep.setdefault(name, []).append((start_ns, span_ns))
            else:
                for asleep_ns, length_ns in self._asleep.pop(name, ()):
                    self._device(name, asleep_ns, length_ns, before[name], before[name])
                self._device(name, start_ns, span_ns, before[name], counters)

    def _device(self, name: str, start_ns: int, span_ns: int, before: Counters, now: Counters) -> None:
        change = diskstats.change(before, now)
        if change is None:
            self.recorder.omit("intervals with a counter reset")
            return
        self.recorder.omit("times that went back without a wrap (old kernels do this)", change.times_back)
        entity = self._entities.get(name) or self._meet(name)
        seconds = span_ns / units.NS_PER_S
        columns = diskstats.canonical(change.deltas, seconds)
        self.recorder.omit(
            "busy shares above 1 cut to 1 (the time line and the counters are not read at once)", int(columns.busy_cut)
        )
        self.recorder.observe(entity, start_ns, span_ns, columns.values)
        others = diskstats.other_counters(change.deltas, now, seconds)
        self.recorder.counters(entity, start_ns, span_ns, [((name, unit), value) for name, unit, value in others])

    def _meet(self, name: str) -> EntityRef:
        self.recorder.notes.system = self.recorder.notes.system or self._system
        disk = diskstats.disk_of_partition(name, self._now)
        entity = EntityRef(self._system, "device" if disk is None else "partition", name)
        if disk is not None:
            self.recorder.link(entity, "lives_on", EntityRef(self._system, "device", disk))
        self.recorder.link(entity, "member_of", EntityRef(self._system, "host", self._system))
        self._entities[name] = entity
        return entity
