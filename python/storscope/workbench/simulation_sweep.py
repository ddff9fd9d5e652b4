"""A sweep of simulations as it is asked for: the points of a matrix, or of a workload's file, each with a plan.

Axes and words are those of a measured sweep (`bench.sweep`), so that the two pair by their loads. Each point has a
fresh array and the same seed: what differs between two points is what their axes say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from storscope.bench.sweep import Planned, axes_of, matrix, matrix_of
from storscope.bench.targets import confined
from storscope.bench.workloads.definition import Definition, Sweep
from storscope.domain.errors import UsageError
from storscope.domain.sweep import Point
from storscope.domain.units import bytes_from_text, format_bytes
from storscope.domain.workload import Workload
from storscope.sim.assignment import Assignment, Attachment, assigned, fitting
from storscope.sim.design import Design
from storscope.sim.simulation import SimulationPlan
from storscope.workbench.own_length import own_length

_SECTOR_BYTES = 512


@dataclass(frozen=True)
class SimulationLengths:
    """How long each point is simulated, and from which seed; without a length as long as its workload's file says."""

    seed: int = 1
    duration_ns: int | None = None
    ios: int | None = None


@dataclass(frozen=True)
class SimulationSweep:
    """The points of a sweep, and what is simulated at each, in the same order."""

    design: Design
    points: tuple[Point, ...]
    plans: tuple[SimulationPlan, ...]
    volumes: tuple[Attachment, ...]
    """What is asked for I/Os at some point."""
    size_bytes: int | None
    """Of each volume, what is used: its first part, or all of it; None where volumes differ."""

    @cached_property
    def digest(self) -> str:
        """What makes it the same sweep. Of many points it is asked for by each."""
        asked = [[point.key, plan.plan_json()] for point, plan in zip(self.points, self.plans, strict=True)]
        said = json.dumps([self.design.form, asked], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    @property
    def target(self) -> str:
        """The design's name, and the volumes if they are not all."""
        if len(self.volumes) == len(self.design.attachments):
            return self.design.name
        return f"{self.design.name}: {', '.join(one.name for one in self.volumes)}"

    def check(self) -> None:
        """Raises UsageError or ConfigError for the first point that cannot be simulated."""
        for plan in self.plans:
            plan.check()


def sweep_of_axes(
    design: Design, axes: Sequence[str], *, volumes: Sequence[str] = (), size: str | None = None,
    lengths: SimulationLengths = SimulationLengths(),
) -> SimulationSweep:  # fmt: skip
    """Each combination of axes like 'sizes=4k,64k', on all volumes or those that fit one of the patterns `volumes`.

    Raises UsageError for what is no axis, no volume of the design, or no part of one.
    """
    names = _names(design, volumes)
    placed = [(item, Assignment(item.workload, None, names)) for item in matrix(axes_of(axes))]
    return _sweep(design, placed, Sweep(), size, lengths)


def sweep_of_file(
    design: Design, definition: Definition, axes: Sequence[str] = (), *, volumes: Sequence[str] = (),
    size: str | None = None, lengths: SimulationLengths = SimulationLengths(),
) -> SimulationSweep:  # fmt: skip
    """The workloads of a file, each by itself and with every number of jobs and depth: of the axes, else of the file.

    They run on the volumes that fit one of the patterns `volumes`; without any on those that the file names, or all.
    Raises UsageError for other axes, and as `sweep_of_axes` does.
    """
    taken = axes_of(axes)
    matrix_of(definition, taken)  # which refuses two of one name before they are asked for by name
    own = [definition.only(workload.name) for workload in definition.workloads]
    names = _names(design, volumes)
    placed = [
        (item, Assignment(item.workload, None, names or one.targets)) for one in own for item in matrix_of(one, taken)
    ]
    return _sweep(design, placed, definition.sweep, size, lengths)


def _names(design: Design, volumes: Sequence[str]) -> tuple[str, ...]:
    """The full names of the volumes that fit one of the patterns; nothing without a pattern."""
    chosen = dict.fromkeys(index for one in volumes for index in fitting(one, design.attachments))
    return tuple(design.attachments[index].name for index in chosen)


def _sweep(
    design: Design, placed: Sequence[tuple[Planned, Assignment]], asked: Sweep, size: str | None,
    lengths: SimulationLengths,
) -> SimulationSweep:  # fmt: skip
    workloads = [assigned([assignment], design.attachments) for _, assignment in placed]
    used = {index for workload in workloads for stream in workload.streams for index in stream.targets}
    volumes = tuple(one for index, one in enumerate(design.attachments) if index in used)
    part_bytes = None if size is None else _part_bytes(size, volumes)
    plans = [_plan(design, confined(workload, part_bytes), asked, lengths) for workload in workloads]
    sizes = {one.size_bytes for one in volumes}
    whole_bytes = sizes.pop() if len(sizes) == 1 else None
    points = tuple(item.point for item, _ in placed)
    return SimulationSweep(design, points, tuple(plans), volumes, part_bytes or whole_bytes)


def _plan(design: Design, workload: Workload, asked: Sweep, lengths: SimulationLengths) -> SimulationPlan:
    duration_ns, ramp_ns = lengths.duration_ns, 0
    if duration_ns is None and lengths.ios is None:
        own = own_length(workload, design.lifetimes, [asked])
        duration_ns, ramp_ns = own.duration_ns, own.ramp_ns
    return SimulationPlan(
        design, workload, lengths.seed, duration_ns=duration_ns, ios=lengths.ios, ramp_ns=ramp_ns
    )  # fmt: skip


def _part_bytes(size: str, volumes: Sequence[Attachment]) -> int | None:
    """The first part of each volume: '100G', or a share like '10%' of volumes that are equally large. None of all."""
    least = min(volumes, key=lambda one: one.size_bytes)
    found = _share_bytes(size, volumes) if size.strip().endswith("%") else _size_bytes(size)
    if not _SECTOR_BYTES <= found <= least.size_bytes:
        raise UsageError(
            f"a part of each volume, at most {format_bytes(least.size_bytes)}", repr(size), where="--size",
            hint=f"So large is {least.name}.",
        )  # fmt: skip
    return None if all(one.size_bytes == found for one in volumes) else found


def _size_bytes(size: str) -> int:
    try:
        return bytes_from_text(size)
    except ValueError as error:
        raise UsageError("a size like 100G, or a share like 10%", repr(size), where="--size") from error


def _share_bytes(size: str, volumes: Sequence[Attachment]) -> int:
    try:
        ratio = float(size.strip().removesuffix("%")) / 100
    except ValueError:
        ratio = -1.0
    if not 0 < ratio <= 1:
        raise UsageError("a share above 0 and at most 100%", repr(size), where="--size")
    sizes = {one.size_bytes: one for one in reversed(volumes)}
    if len(sizes) > 1:
        told = sorted(f"{one.name} has {format_bytes(one.size_bytes)}" for one in sizes.values())
        raise UsageError(
            "a share of volumes that are equally large", ", ".join(told[:4]), where="--size",
            hint="Say a size, or name one volume.",
        )  # fmt: skip
    return int(ratio * sizes.popitem()[0]) // _SECTOR_BYTES * _SECTOR_BYTES
