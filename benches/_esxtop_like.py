"""A seeded esxtop-like batch CSV of any width: the groups, counters and proportions of a real host, made-up values.

Names follow the layout of `esxtop -b -a` (host, group, instance, counter). One column in four moves, the rest stand
still, mostly at 0.00, as in captures of large hosts. Sampling drifts: a step is 20 s or 21 s.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

_HOST = "esx07.example.net"
_LATENCIES = tuple(
    f"Average {part} MilliSec/{what}"
    for part in ("Driver", "Kernel", "Guest", "Queue")
    for what in ("Command", "Read", "Write")
)
_RATES = ("Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec")
_FAILURES = ("Failed Commands/sec", "Failed Reads/sec", "Failed Writes/sec", "Aborts/sec", "Resets/sec")
_QUEUES = ("Active Commands", "Queued Commands", "% Used", "Load")
_DEVICE = ("Adapter Q Depth", "Device Q Depth", "World Q Depth", *_QUEUES, *_RATES, *_LATENCIES, *_FAILURES,
           "PAE Commands/sec", "PAE Copies/sec", "Split Commands/sec", "Split Copies/sec")  # fmt: skip
_WORLD = (*_QUEUES, *_RATES, *_LATENCIES[:9])
_VIRTUAL_DISK = (*_RATES, "Average MilliSec/Read", "Average MilliSec/Write", "FailedIOs")
_GROUP_CPU = ("Members", "% Used", "% Run", "% System", "% Wait", "% VmWait", "% Ready", "% Idle", "% Overlap",
              "% CoStop", "% Max Limited", "% Swap Wait")  # fmt: skip
_NETWORK = ("Link Up", "Full Duplex", "Packets Transmitted/sec", "MBits Transmitted/sec", "Packets Received/sec",
            "MBits Received/sec", "% Outbound Packets Dropped", "% Received Packets Dropped")  # fmt: skip


def names(columns: int) -> list[str]:
    """`columns` column names, the first being the clock."""
    wanted = columns - 1
    found = list(itertools.islice(_counters(max(1, wanted // 320)), wanted))
    return ["(PDH-CSV 4.0) (UTC)(0)", *(rf"\\{_HOST}\{name}" for name in found)]


def _counters(scale: int) -> Iterator[str]:
    """Counters of a host with about `scale` VMs; goes on for ever with the worlds of Group Cpu."""
    devices = [f"naa.6006016055711d00{number:016x}" for number in range(max(1, scale * 2 // 3))]
    vms = [f"{number}:vm-{number:04d} (app, tier {number % 3})" for number in range(scale)]
    for number in range(32):
        yield from (rf"Physical Cpu({number})\{name}" for name in ("% Processor Time", "% Util Time"))
    for device in devices:
        yield from (rf"Physical Disk SCSI Device({device})\{name}" for name in _DEVICE)
    for number, _ in itertools.product(range(4), devices):
        yield from (rf"Physical Disk Path(vmhba{number % 2 + 1}:C0:T{number}:L{_index(devices, _)})\{name}"
                    for name in (*_RATES, *_LATENCIES[:3], "Aborts/sec"))  # fmt: skip
    for number, vm in enumerate(vms):
        world = f"{devices[number % len(devices)]}-{1000001 + number}:{vm.split(':')[1]}"
        yield from (rf"Physical Disk Per-Device-Per-World({world})\{name}" for name in _WORLD)
        name_of_vm = vm.split(":")[1]
        for place in (name_of_vm, f"{name_of_vm}:scsi0:0", f"{name_of_vm}:scsi0:1"):
            yield from (rf"Virtual Disk({place})\{name}" for name in _VIRTUAL_DISK)
        yield from (rf"Network Port(vSwitch0:{33554432 + number}:{name_of_vm})\{name}" for name in _NETWORK)
    for number in itertools.count():
        yield from (rf"Group Cpu({2000001 + number}:world-{number})\{name}" for name in _GROUP_CPU)


def _index(devices: list[str], device: str) -> int:
    return devices.index(device)


def write(path: Path, columns: int, rows: int, seed: int = 1) -> int:
    """Writes the file and returns its size in bytes. The same arguments give the same bytes."""
    random = np.random.default_rng(seed)
    header = names(columns)
    cells = [f'"{number / 100:.2f}"' for number in range(100_000)]
    level, still = _levels(header[1:], random)
    clock = dt.datetime(2026, 11, 2)
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.write(",".join(f'"{name}"' for name in header) + "\n")
        for number in range(rows):
            noise = random.lognormal(0.0, 0.7, columns - 1)
            values = np.where(level > 0, level * noise, still).clip(0, 99_999).astype(int)
            file.write(f'"{clock:%m/%d/%Y %H:%M:%S}",')
            file.write(",".join([cells[value] for value in values.tolist()]) + "\n")
            clock += dt.timedelta(seconds=20 + (number % 7 == 3))
    return path.stat().st_size


def _levels(header: list[str], random: np.random.Generator) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """In hundredths, a column each: around what it moves (0: it does not), and where it stands still.

    Three places in ten are in use, and there most counters move; limits and sizes stand still everywhere.
    """
    places = [name.rpartition("\\")[0] for name in header]
    in_use = {place: random.random() < 0.3 for place in dict.fromkeys(places)}
    moves = np.array([in_use[place] for place in places]) & (random.random(len(places)) < 0.85)
    level = np.where(moves, random.lognormal(5.5, 1.5, len(places)), 0.0)
    still = np.where(random.random(len(places)) < 0.1, random.integers(1, 30_000, len(places)), 0)
    return level, still
