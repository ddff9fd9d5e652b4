"""A seeded day of esxtop for 50 virtual machines on four devices, sampled every 20 s: made-up values, real proportions.

Everyone has a working day; one machine runs a backup at night and another becomes a hog for two hours, which the others
on its device feel. Latency follows the device's load as in an open queue.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import numpy.typing as npt

HOG, HOG_DEVICE = 7, 3
_CAPACITY_PER_S = 9_000.0
_SERVICE_MS = 4.0
Floats = npt.NDArray[np.float64]


def write_day(path: Path, volumes: int = 50, samples: int = 4320, step_s: int = 20, seed: int = 1) -> None:
    """Writes the CSV as `esxtop -b` does."""
    chance = np.random.default_rng(seed)
    hours = np.arange(samples) * 24 / samples
    rates = _rates(chance, hours, volumes)
    devices = np.arange(volumes) % 4
    loads = np.stack([rates[devices == device].sum(axis=0) for device in range(4)])
    latencies = _SERVICE_MS / (1 - np.minimum(loads / _CAPACITY_PER_S, 0.97))
    latencies *= chance.lognormal(0, 0.15, latencies.shape)
    columns: dict[str, Floats] = {}
    for volume in range(volumes):
        name = f"Virtual Disk(vm{volume:02d}:scsi0:0)"
        own = latencies[devices[volume]] * chance.lognormal(0, 0.1, samples)
        columns |= _counters(name, rates[volume], own, "MilliSec/")
    for device in range(4):
        name = f"Physical Disk SCSI Device(naa.60060e80000000000000000000000{device:03d})"
        columns |= _counters(name, loads[device], latencies[device], "Guest MilliSec/")
        columns[f"{name}\\Average Kernel MilliSec/Command"] = np.full(samples, 0.01)
        columns[f"{name}\\Device Q Depth"] = np.full(samples, 128.0)
        columns[f"{name}\\Active Commands"] = loads[device] * latencies[device] / 1000
    _write(path, columns, step_s)


def _rates(chance: np.random.Generator, hours: Floats, volumes: int) -> Floats:
    day = 0.4 + 0.6 * np.exp(-((hours - 13) ** 2) / 12)
    rates = chance.lognormal(4.5, 0.6, (volumes, 1)) * day * chance.lognormal(0, 0.2, (volumes, len(hours)))
    rates[HOG] += np.where((hours > 10) & (hours < 12), 6000 * chance.lognormal(0, 0.1, len(hours)), 0)
    rates[11] += np.where((hours > 1) & (hours < 3), 1500, 0)
    return rates


def _counters(name: str, rate: Floats, latency_ms: Floats, word: str) -> dict[str, Floats]:
    return {
        f"{name}\\Commands/sec": rate,
        f"{name}\\Reads/sec": rate * 0.7,
        f"{name}\\Writes/sec": rate * 0.3,
        f"{name}\\MBytes Read/sec": rate * 0.7 * 16 / 1024,
        f"{name}\\MBytes Written/sec": rate * 0.3 * 8 / 1024,
        f"{name}\\Average {word}Read": latency_ms,
        f"{name}\\Average {word}Write": latency_ms * 0.4,
    }


def _write(path: Path, columns: dict[str, Floats], step_s: int) -> None:
    start = dt.datetime(2026, 11, 2, tzinfo=dt.UTC)
    table = np.stack(list(columns.values()), axis=1)
    with path.open("w", encoding="ascii") as out:
        out.write('"(PDH-CSV 4.0) (UTC)(0)",' + ",".join(rf'"\\esx01\{name}"' for name in columns) + "\n")
        for number, row in enumerate(table):
            time = (start + dt.timedelta(seconds=number * step_s)).strftime("%m/%d/%Y %H:%M:%S")
            out.write(f'"{time}",' + ",".join(f'"{value:.2f}"' for value in row) + "\n")
