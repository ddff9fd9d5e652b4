"""Sweeps: a matrix of workloads.

It is made of axes as people write them ('sizes=4k,64k modes=randread jobs=1,8'), in fio's words, or of the workloads of
a file with its own list of workers and outstanding I/Os (Iometer's test cycling).

Refuses what is no axis, and matrices of more than 10,000 points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from storscope.bench.workloads.definition import Definition
from storscope.domain.access import LARGEST_TRANSFER_BYTES
from storscope.domain.errors import UsageError
from storscope.domain.load import MOST_OUTSTANDING, Closed
from storscope.domain.near_names import near_name
from storscope.domain.sweep import Point
from storscope.domain.units import bytes_from_text, format_bytes
from storscope.domain.workload import AccessSpec, Mix, Starts, Stream, Verification, Workload

_Value = TypeVar("_Value")

MOST_POINTS = 10_000
DEFAULT_SIZE_BYTES = 4096
DEFAULT_READ_SHARE = 0.5
"""fio's rwmixread."""

_MIXED = None
PATTERNS: Final[dict[str, tuple[float | None, float]]] = {
    "read": (1.0, 0.0),
    "write": (0.0, 0.0),
    "randread": (1.0, 1.0),
    "randwrite": (0.0, 1.0),
    "rw": (_MIXED, 0.0),
    "readwrite": (_MIXED, 0.0),
    "randrw": (_MIXED, 1.0),
}
"""fio's rw= (HOWTO, 'I/O type'): share of reads, share of random offsets. None: the mix decides."""

_NAMES: Final = {
    "sizes": "sizes", "size": "sizes", "bs": "sizes", "blocksizes": "sizes",
    "modes": "modes", "mode": "modes", "rw": "modes",
    "jobs": "jobs", "numjobs": "jobs",
    "depth": "depth", "depths": "depth", "iodepth": "depth",
    "mix": "mix", "rwmixread": "mix",
    "starts": "starts",
}  # fmt: skip
_HINT = "For example: --sweep sizes=4k,16k,64k modes=randread,randwrite,read jobs=1,2,8 depth=1,16 mix=70 starts=apart"


@dataclass(frozen=True)
class Axes:
    """What varies. An empty axis was not given."""

    sizes: tuple[int, ...] = ()
    modes: tuple[str, ...] = ()
    jobs: tuple[int, ...] = ()
    depth: tuple[int, ...] = ()
    mix: tuple[float, ...] = ()
    """Shares of reads of mixed modes."""
    starts: Starts = Starts.APART
    """Where the jobs of a sequential mode begin."""


@dataclass(frozen=True)
class Planned:
    """A point and the workload that measures it."""

    point: Point
    workload: Workload


def is_axis(text: str) -> bool:
    """Whether an argument of the command line is an axis rather than a target."""
    name, equals, _ = text.partition("=")
    return bool(equals) and name.lower() in _NAMES


def axis_meant(text: str) -> str | None:
    """'jobs=2' for 'job=2', a misspelt axis; None for what is nearly none."""
    name, equals, values = text.partition("=")
    words = {axis: [word for word, named in _NAMES.items() if named == axis] for axis in dict.fromkeys(_NAMES.values())}
    axis = near_name(name, words, words) if equals else None
    return f"{axis}={values}" if axis else None


def axes_of(texts: Sequence[str]) -> Axes:
    """Axes as people write them: 'sizes=4k,64k'. Raises UsageError for a name or a value that is none."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        axis = _NAMES.get(name.lower())
        if axis is None or not equals:
            raise UsageError("axes like sizes=4k,64k", repr(text), hint=_HINT)
        if axis in found:
            raise UsageError(f"the axis {axis} once", f"twice, the second time as {text!r}", hint=_HINT)
        found[axis] = tuple(dict.fromkeys(part.strip() for part in values.split(",") if part.strip()))
        if not found[axis]:
            raise UsageError(f"values of the axis {axis}", "none", hint=_HINT)
    return Axes(
        sizes=_each(found, "sizes", _size),
        modes=_each(found, "modes", _mode),
        jobs=_each(found, "jobs", _count),
        depth=_each(found, "depth", _depth),
        mix=_each(found, "mix", _share),
        starts=_starts(_each(found, "starts", _start)),
    )


def _each(found: dict[str, tuple[str, ...]], axis: str, of: Callable[[str], _Value]) -> tuple[_Value, ...]:
    values = []
    for text in found.get(axis, ()):
        try:
            values.append(of(text))
        except ValueError as error:
            raise UsageError(f"values of the axis {axis}", f"{text!r}: {error}", hint=_HINT) from error
    return tuple(dict.fromkeys(values))


def _starts(found: Sequence[Starts]) -> Starts:
    """One for the whole sweep."""
    if len(found) > 1:
        raise UsageError("one value of starts", ", ".join(found), hint="apart, or together as fio's jobs begin.")
    return found[0] if found else Starts.APART


def _size(text: str) -> int:
    try:
        size = bytes_from_text(text)
    except ValueError as error:
        raise ValueError("a size is like 4096, 64k or 1MiB") from error
    if size <= 0:
        raise ValueError("a block has at least one byte")
    if size > LARGEST_TRANSFER_BYTES:
        raise ValueError(f"a block has at most {format_bytes(LARGEST_TRANSFER_BYTES)}")
    return size


def _mode(text: str) -> str:
    if text.lower() not in PATTERNS:
        raise ValueError("the modes are " + ", ".join(PATTERNS))
    return text.lower()


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise ValueError("a whole number, at least 1, is needed")
    return int(text)


def _start(text: str) -> Starts:
    if text.lower() not in set(Starts):
        raise ValueError(f"the words are {', '.join(Starts)}")
    return Starts(text.lower())


def _depth(text: str) -> int:
    depth = _count(text)
    if depth > MOST_OUTSTANDING:
        raise ValueError(f"a job has at most {MOST_OUTSTANDING:,} I/Os in flight")
    return depth


def _share(text: str) -> float:
    wanted = "a percentage of reads from 1 to 99 is needed"
    try:
        percent = float(text.removesuffix("%"))
    except ValueError as error:
        raise ValueError(wanted) from error
    if 0 < percent < 1:
        raise ValueError(f"{wanted}; {percent * 100:g} if a share of {percent:g} is meant")
    if not 0 < percent < 100:
        raise ValueError(f"{wanted}; 0 is modes=randwrite or write, 100 is modes=randread or read")
    return percent / 100


# The matrix -----------------------------------------------------------------------------------------------------------


def matrix(axes: Axes) -> list[Planned]:
    """A point for each combination of the axes. One not given has one value: 4 KiB, randread, 1 job, depth 1."""
    modes = axes.modes or ("randread",)
    if axes.mix and not any(PATTERNS[mode][0] is _MIXED for mode in modes):
        raise UsageError("a mixed mode (rw, randrw) for the axis mix", ", ".join(modes), hint=_HINT)
    points = [
        Point(mode, size, jobs, depth, share)
        for mode in modes
        for share in ((axes.mix or (DEFAULT_READ_SHARE,)) if PATTERNS[mode][0] is _MIXED else (None,))
        for size, jobs, depth in itertools.product(
            axes.sizes or (DEFAULT_SIZE_BYTES,), axes.jobs or (1,), axes.depth or (1,)
        )
    ]
    return _checked([Planned(point, _workload_of(point, axes.starts)) for point in points])


def _workload_of(point: Point, starts: Starts) -> Workload:
    reads, randoms = PATTERNS[point.mode]
    line = AccessSpec(
        point.block_bytes or DEFAULT_SIZE_BYTES,
        read_share=reads if point.read_share is None and reads is not None else point.read_share or 0.0,
        random_share=randoms,
    )
    jobs = point.jobs or 1
    # What begins together is the same for one job, and where nothing is sequential: then it is the same sweep.
    begins = starts if jobs > 1 and randoms < 1 else Starts.TOGETHER
    stream = Stream(Mix((line,)), Closed(point.depth or 1), workers=jobs, starts=begins)
    return Workload(point.words, (stream,), source="storscope bench --sweep")


def matrix_of(definition: Definition, axes: Axes) -> list[Planned]:
    """The workloads of a file, each with every number of jobs and depth: of the axes, else of the file's own list."""
    if axes.sizes or axes.modes or axes.mix or axes.starts is not Starts.APART:
        raise UsageError(
            "the axes jobs and depth with --workload", "sizes, modes, mix or starts",
            hint="The workload says what is asked; leave --workload out to sweep sizes and modes.",
        )  # fmt: skip
    counts = axes.jobs or definition.sweep.workers or (None,)
    depths = axes.depth or definition.sweep.outstanding or (None,)
    return _checked(
        [
            Planned(
                Point(workload.name, _only_size(workload), jobs, depth),
                _with_load(workload, jobs, depth),
            )
            for workload in definition.workloads
            for jobs, depth in itertools.product(counts, depths)
        ]
    )


def _only_size(workload: Workload) -> int | None:
    sizes = {
        line.size_bytes for stream in workload.streams if isinstance(stream.access, Mix) for line in stream.access.lines
    }
    return sizes.pop() if len(sizes) == 1 else None


def _with_load(workload: Workload, jobs: int | None, depth: int | None) -> Workload:
    streams = []
    for stream in workload.streams:
        if depth is not None and not isinstance(stream.load, Closed):
            raise UsageError("a closed loop, whose depth can vary", f"arrivals at a rate in {workload.name!r}")
        load = stream.load if depth is None else Closed(depth)
        streams.append(replace(stream, load=load, workers=stream.workers if jobs is None else jobs))
    return replace(workload, streams=tuple(streams))


def _checked(planned: list[Planned]) -> list[Planned]:
    if len(planned) > MOST_POINTS:
        raise UsageError(f"a matrix of at most {MOST_POINTS:,} points", f"{len(planned):,}")
    keys = [item.point.key for item in planned]
    twice = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    if twice is not None:
        raise UsageError("workloads with names of their own", f"two points {twice!r}", hint="Choose one with --only.")
    for item in planned:
        item.workload.check()
    return planned


def demanding(planned: Sequence[Planned]) -> Workload:
    """A workload that needs what any of them needs of a target: its rights, its size, its alignment, its stamps."""
    if len({item.workload.data for item in planned}) == 1:
        data = planned[0].workload.data
    else:
        raise UsageError("workloads of one sweep that write the same data", "several data pools")
    streams = {
        replace(stream, workers=1, starts=Starts.TOGETHER, load=Closed(1), think_time=None): None
        for item in planned
        for stream in item.workload.streams
    }
    is_verified = any(item.workload.verification is Verification.STAMPS for item in planned)
    return Workload(
        "everything in the sweep", tuple(streams), source="storscope bench --sweep", data=data,
        verification=Verification.STAMPS if is_verified else Verification.NONE,
    )  # fmt: skip
