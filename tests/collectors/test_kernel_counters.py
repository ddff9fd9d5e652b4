"""Readings of handmade /proc trees and of the real one, against what is known of them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from storscope.domain.entity import EntityRef
from storscope.domain.errors import InputError
from storscope.domain.recorder import Recorder
from storscope.domain.units import MIB, NS_PER_S
from storscope.sources.collectors.background import Background
from storscope.sources.collectors.kernel_counters import KernelCounters
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions
from storscope.sources.importers.diskstats import IMPORTER
from storscope.store import Store
from storscope.workbench.collecting import collecting
from tests.bench.safety.conftest import Rig

_START_NS = 1_800_000_000 * NS_PER_S
_HOST = "lab"


class _Clock:
    """Moves when it is told to. Setting `utc_offset_ns` is what an administrator does to a clock."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.utc_offset_ns = _START_NS
        self.waits: list[int] = []
        self.late_ns: list[int] = []
        self.readings = 0

    def monotonic_ns(self) -> int:
        return self.now_ns

    def utc_ns(self) -> int:
        return self.utc_offset_ns + self.now_ns

    def wait(self, until_ns: int, ended: threading.Event) -> bool:
        if len(self.waits) == self.readings:
            return True
        self.waits.append(until_ns)
        self.now_ns = until_ns + (self.late_ns.pop(0) if self.late_ns else 0)
        return False


class _Machine:
    """A /proc and a clock, and what was recorded of them."""

    def __init__(self, root: Path) -> None:
        self.proc = root / "proc"
        self.proc.mkdir()
        self.clock = _Clock()
        self.batches: dict[str, list[pa.RecordBatch]] = {}
        self.recorder = Recorder(lambda table, batch: self.batches.setdefault(table, []).append(batch))
        self.counters = KernelCounters(self.recorder, _HOST, proc=self.proc, sysfs=root / "sys", clock=self.clock)

    def shows(self, *lines: str) -> None:
        (self.proc / "diskstats").write_text("".join(f"   8       0 {line}\n" for line in lines))

    def runs(self, pid: int, read_bytes: int, write_bytes: int = 0, start: int = 5) -> None:
        folder = self.proc / str(pid)
        folder.mkdir(exist_ok=True)
        (folder / "comm").write_text("hog\n")
        (folder / "stat").write_text(f"{pid} (hog) S {' '.join('0' * 18)} {start} 0\n")
        (folder / "io").write_text(
            f"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: {read_bytes}\nwrite_bytes: {write_bytes}\n"
            "cancelled_write_bytes: 0\n"
        )

    def read(self, after_s: float = 0.0) -> None:
        self.clock.now_ns += round(after_s * NS_PER_S)
        self.counters.sample()

    def rows(self, table: str) -> list[dict[str, Any]]:
        self.recorder.finish()
        found = self.batches.get(table, [])
        for at, field in enumerate(found[0].schema if found else ()):
            if pa.types.is_timestamp(field.type):
                found = [batch.set_column(at, field.name, batch.column(at).cast(pa.int64())) for batch in found]
        return [row for batch in found for row in batch.to_pylist()]


@pytest.fixture
def machine(tmp_path: Path) -> _Machine:
    return _Machine(tmp_path)


_BEFORE = "sda 100 5 8000 200 50 6 4000 300 0 400 500 0 0 0 0 7 70"
_AFTER = "sda 300 9 24000 600 150 8 12000 900 3 1400 2500 0 0 0 0 9 90"


def test_what_happened_between_two_readings(machine: _Machine) -> None:
    machine.shows(_BEFORE)
    machine.read()
    machine.shows(_AFTER)
    machine.read(after_s=2)
    (row,) = machine.rows("observations")
    assert (row["system"], row["kind"], row["entity"], row["run"]) == (_HOST, "device", "sda", None)
    assert (row["time"], row["duration_ns"]) == (_START_NS, 2 * NS_PER_S)
    assert (row["read_ops_per_s"], row["write_ops_per_s"]) == (100.0, 50.0)
    assert (row["read_bytes_per_s"], row["write_bytes_per_s"]) == (16000 / 2 * 512, 8000 / 2 * 512)
    assert (row["read_latency_ns_mean"], row["write_latency_ns_mean"]) == (2e6, 6e6)
    assert (row["queue_depth_mean"], row["busy_ratio"]) == (0.99, 0.5)  # of 2,000 ms in flight 20 are of flushes


def test_it_writes_what_the_importer_writes_of_the_same_readings(machine: _Machine, tmp_path: Path) -> None:
    partition = _BEFORE.replace("sda", "sda1"), _AFTER.replace("sda", "sda1")
    machine.shows(_BEFORE, partition[0])
    machine.read()
    machine.shows(_AFTER, partition[1])
    machine.read(after_s=1)
    file = tmp_path / "diskstats.txt"
    file.write_text(
        f"2027-01-15T08:00:00.000000Z\n 8 0 {_BEFORE}\n 8 1 {partition[0]}\n"
        f"2027-01-15T08:00:01.000000Z\n 8 0 {_AFTER}\n 8 1 {partition[1]}\n"
    )
    other = _Machine(tmp_path / "other") if (tmp_path / "other").mkdir() is None else machine
    IMPORTER.read(Evidence(file), other.recorder, ImportOptions(system=_HOST))
    for table in ("observations", "series", "timelines", "links", "entities"):
        assert machine.rows(table) == other.rows(table), table


def test_a_busy_share_above_one_is_cut_and_counted(machine: _Machine) -> None:
    machine.shows(_BEFORE)
    machine.read()
    machine.shows(_AFTER)
    machine.read(after_s=0.999)
    (row,) = machine.rows("observations")
    assert row["busy_ratio"] == 1.0, "1,000 ms busy of 999"
    assert [(reason[:23], count) for reason, count in machine.recorder.notes.omitted.items()] == [
        ("busy shares above 1 cut", 1)
    ]


def test_times_wrap_and_other_counters_are_reset(machine: _Machine) -> None:
    wrap = 2**32
    machine.shows(f"sda 100 0 800 {wrap - 100} 0 0 0 0 0 0 0", "sdb 500 0 800 100 0 0 0 0 0 0 0")
    machine.read()
    machine.shows("sda 200 0 1600 300 0 0 0 0 0 0 0", "sdb 5 0 8 1 0 0 0 0 0 0 0")
    machine.read(after_s=1)
    (row,) = machine.rows("observations")
    assert (row["entity"], row["read_latency_ns_mean"]) == ("sda", 4e6)
    assert machine.recorder.notes.omitted["intervals with a counter reset"] == 1


def test_devices_that_come_and_go(machine: _Machine) -> None:
    one, two = "sda 10 0 80 1 0 0 0 0 0 0 0", "sdb 10 0 80 1 0 0 0 0 0 0 0"
    machine.shows(one)
    machine.read()
    machine.shows(one, two)
    machine.read(after_s=1)
    machine.shows(two)
    machine.read(after_s=1)
    assert [row["entity"] for row in machine.rows("observations")] == ["sda", "sdb"]
    omitted = machine.recorder.notes.omitted
    assert omitted["first reading of a device that appeared later"] == 1
    assert omitted["devices that vanished during the capture"] == 1


def test_chosen_devices_are_recorded_also_while_they_sleep(machine: _Machine) -> None:
    machine.counters.devices = ["sdb"]
    machine.shows(_BEFORE, "sdb 0 0 0 0 0 0 0 0 0 0 0")
    machine.read()
    machine.read(after_s=1)
    (row,) = machine.rows("observations")
    assert (row["entity"], row["read_ops_per_s"], row["read_latency_ns_mean"]) == ("sdb", 0.0, None)


def test_a_process_is_an_entity_with_the_bytes_it_moved(machine: _Machine) -> None:
    machine.shows(_BEFORE)
    machine.counters.processes.append(77)
    for read_bytes in (0, 8 * MIB):
        machine.runs(77, read_bytes, 2 * MIB)
        machine.read(after_s=1)
    (row,) = [row for row in machine.rows("observations") if row["kind"] == "process"]
    assert (row["entity"], row["read_bytes_per_s"], row["write_bytes_per_s"]) == ("hog[77]", 8.0 * MIB, 0.0)
    assert (row["ops_per_s"], row["read_ops_per_s"], row["latency_ns_mean"]) == (None, None, None)


def test_a_process_that_took_over_the_number_of_another_is_not_that_one(machine: _Machine) -> None:
    machine.shows(_BEFORE)
    machine.counters.processes.append(77)
    for start, read_bytes in ((5, 100), (9, 700), (9, 900)):
        machine.runs(77, read_bytes, start=start)
        machine.read(after_s=1)
    (row,) = [row for row in machine.rows("observations") if row["kind"] == "process"]
    assert row["read_bytes_per_s"] == 200.0


def test_a_process_that_ended_is_counted_as_gone(machine: _Machine) -> None:
    machine.shows(_BEFORE)
    machine.counters.processes.append(4711)
    machine.read()
    assert machine.recorder.notes.omitted["readings of processes that had ended"] == 1


def test_a_clock_that_is_set_is_said_and_no_rate_changes(machine: _Machine) -> None:
    machine.shows(_BEFORE)
    machine.read()
    machine.shows(_AFTER)
    machine.clock.utc_offset_ns += 3600 * NS_PER_S
    machine.read(after_s=2)
    (row,) = machine.rows("observations")
    assert (row["read_ops_per_s"], row["duration_ns"]) == (100.0, 2 * NS_PER_S)
    assert any("The clock was set" in warning for warning in machine.recorder.notes.warnings)


def test_a_volume_rests_on_its_members(machine: _Machine, tmp_path: Path) -> None:
    (tmp_path / "sys" / "class" / "block" / "dm-0" / "slaves" / "sda").mkdir(parents=True)
    machine.shows(_BEFORE, _BEFORE.replace("sda", "dm-0"))
    machine.read()
    machine.shows(_AFTER, _AFTER.replace("sda", "dm-0"))
    machine.read(after_s=1)
    links = [row for row in machine.rows("links") if row["relation"] == "lives_on"]
    assert [(row["entity"], row["target"]) for row in links] == [("dm-0", "sda")]


def test_without_disk_statistics_it_says_so(machine: _Machine) -> None:
    with pytest.raises(InputError, match="disk statistics"):
        machine.read()


# On time --------------------------------------------------------------------------------------------------------------


def test_delays_do_not_add_up(machine: _Machine) -> None:
    machine.shows(_BEFORE)
    machine.clock.readings, machine.clock.late_ns = 4, [300_000_000, 400_000_000, 200_000_000]
    with Background(machine.counters, NS_PER_S):
        pass
    assert machine.clock.waits == [1 * NS_PER_S, 2 * NS_PER_S, 3 * NS_PER_S, 4 * NS_PER_S]


def test_readings_that_are_missed_are_counted_and_nothing_is_caught_up(machine: _Machine) -> None:
    machine.shows(_BEFORE)
    machine.clock.readings, machine.clock.late_ns = 2, [2_500_000_000]
    with Background(machine.counters, NS_PER_S):
        pass
    assert machine.clock.waits == [1 * NS_PER_S, 4 * NS_PER_S]
    assert machine.recorder.notes.omitted["readings that were missed; their intervals are longer"] == 2
    longest = max(row["duration_ns"] for row in machine.rows("observations"))
    assert longest == 3_500_000_000


def test_what_goes_wrong_on_the_thread_is_raised_at_the_end(machine: _Machine) -> None:
    machine.shows(_BEFORE)
    machine.clock.readings = 3
    background = Background(machine.counters, NS_PER_S)
    (machine.proc / "diskstats").write_text("")
    machine.counters.sample = lambda: None if not machine.clock.waits else KernelCounters.sample(machine.counters)  # type: ignore[method-assign]
    with pytest.raises(InputError), background:
        pass


# The real kernel ------------------------------------------------------------------------------------------------------

_DOER = """
import mmap, os, sys
file, room = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, 1 << 20)
sys.stdin.readline()
for at in range(0, 32 << 20, 1 << 20):
    os.pwritev(file, [room], at)
for at in range(0, 16 << 20, 1 << 20):
    os.preadv(file, [room], at)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with ExitStack() as stack:
        yield Rig(tmp_path, stack)


@pytest.mark.needs_root
def test_known_io_on_a_real_device_is_counted_to_the_byte(rig: Rig, tmp_path: Path) -> None:
    device = rig.loop(rig.image(size_bytes=64 * MIB))
    store = Store.open(tmp_path / "store", create=True)
    with subprocess.Popen(
        [sys.executable, "-c", _DOER, str(device)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as doer:
        assert doer.stdin is not None
        assert doer.stdout is not None
        with collecting(store, devices=[device.name], interval_ns=NS_PER_S // 10) as background:
            background.watch_process(doer.pid)
            _until_seen(background, doer.pid)
            doer.stdin.write("go\n")
            doer.stdin.flush()
            assert doer.stdout.readline() == "done\n"
            _until_read_again(background)
        doer.kill()
    moved = {
        row["kind"]: (row["read"], row["written"], row["captures"])
        for row in store.query(
            """SELECT kind, sum(read_bytes_per_s * duration_ns / 1e9) AS read, count(DISTINCT capture) AS captures,
               sum(write_bytes_per_s * duration_ns / 1e9) AS written FROM observations GROUP BY kind"""
        ).to_pylist()
    }
    for kind in ("device", "process"):
        assert moved[kind][0] == pytest.approx(16 * MIB, rel=1e-6)
        assert moved[kind][1] == pytest.approx(32 * MIB, rel=1e-6)
    (row,) = store.query("SELECT format, system, clock FROM captures").to_pylist()
    assert row == {"format": "kernel-counters", "system": os.uname().nodename, "clock": "UTC of this host"}


def _until_seen(background: Background, pid: int) -> None:
    """Until a reading has the process: what it does before is not counted."""
    counters = background._counters
    _until(lambda: any(entity.name.endswith(f"[{pid}]") for entity in _last(counters)))


def _until_read_again(background: Background) -> None:
    first = background._counters._before
    _until(lambda: background._counters._before is not first)


def _last(counters: KernelCounters) -> dict[EntityRef, Any]:
    return dict(counters._before.processes) if counters._before is not None else {}


def _until(happened: Any) -> None:
    ended = threading.Event()
    for _ in range(6000):
        if happened():
            return
        ended.wait(0.02)
    pytest.fail("the collector took no reading")
