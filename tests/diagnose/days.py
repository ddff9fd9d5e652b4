"""Synthetic days of volumes: load and latency per interval, recorded as an array or a host would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S

FloatArray = npt.NDArray[np.float64]

START_NS = 1_795_219_200 * NS_PER_S
"""2026-11-21 00:00:00Z."""
MS = 1e6


def entity(name: str, kind: str = "vdisk", system: str = "array") -> EntityRef:
    return EntityRef(system, kind, name)


def record(
    recorder: Recorder,
    columns: Mapping[str, FloatArray],
    names: Sequence[str],
    *,
    kind: str = "vdisk",
    system: str = "array",
    step_s: float = 20,
    start_ns: int = START_NS,
    on: str | None = "disk_group",
) -> None:
    """Columns of shape (entities, intervals); all entities rest on one component unless `on` is None."""
    entities = [entity(name, kind, system) for name in names]
    count = next(iter(columns.values())).shape[1]
    step_ns = round(step_s * NS_PER_S)
    times = start_ns + np.arange(count, dtype=np.int64) * step_ns
    recorder.observe_columns(entities, times, np.full(count, step_ns, dtype=np.int64), dict(columns))
    for one in entities if on else ():
        recorder.link(one, "lives_on", entity("shared", on or "", system))


def quiet(rng: np.random.Generator, volumes: int, count: int, ops: float = 100.0) -> FloatArray:
    """Steady load with the noise of real ones: gamma, correlated over a few intervals."""
    noise = rng.gamma(8.0, 1 / 8.0, (volumes, count + 4))
    smooth = sum(noise[:, i : i + count] for i in range(5)) / 5
    return np.asarray(ops * smooth)


def day(
    change: Callable[[np.random.Generator, FloatArray, FloatArray, FloatArray], None] | None = None,
    *,
    volumes: int = 6,
    count: int = 720,
    step_s: float = 20,
    latency_ms: float = 4.0,
    size_bytes: float = 8192.0,
    seed: int = 0,
    kind: str = "vdisk",
    system: str = "array",
    on: str | None = "disk_group",
    start_ns: int = START_NS,
) -> Callable[[Recorder], None]:
    """A writer of volumes v00, v01, ... with steady load and latency; `change` edits ops, bytes, latency in place."""

    def write(recorder: Recorder) -> None:
        rng = np.random.default_rng(seed)
        ops = quiet(rng, volumes, count)
        moved = ops * size_bytes * rng.gamma(50, 1 / 50, ops.shape)
        latency = latency_ms * MS * rng.gamma(30, 1 / 30, ops.shape)
        if change:
            change(rng, ops, moved, latency)
        names = [f"v{number:02}" for number in range(volumes)]
        columns = {"ops_per_s": ops, "bytes_per_s": moved, "latency_ns_mean": latency}
        record(recorder, columns, names, kind=kind, system=system, step_s=step_s, on=on, start_ns=start_ns)

    return write
