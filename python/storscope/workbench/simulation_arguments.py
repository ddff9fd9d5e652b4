"""What Python callers ask of a simulation, checked before the array is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from storscope.domain.errors import UsageError
from storscope.domain.units import count_from_text
from storscope.sim.design import Design
from storscope.sim.simulation import LONGEST_NS
from storscope.workbench.arguments import found_words, real, whole, within

_LATEST_START_NS = 2**63 - 1 - LONGEST_NS
"""In 2162: times are 64 bits, and the longest run has to end within them."""
_WHY_NOT_LATER = "Times are 64 bits of ns, which end in 2262, and a run may take a hundred years."
_DEEPEST = 65536


def check_design(design: object) -> None:
    """Raises UsageError for what is neither a file, nor text, nor a design."""
    if not isinstance(design, str | Path | Design):
        raise UsageError("a design: a file, its text or a Design", found_words(design))


def check_designs(designs: object) -> None:
    """Raises UsageError for one design in place of several: its text would be taken letter by letter."""
    if isinstance(designs, str) or not isinstance(designs, Sequence):
        raise UsageError("a list of designs", found_words(designs), hint="One of them runs with storscope.simulate.")


def check_schedule(design: object, schedule: object) -> None:
    """Raises UsageError for what is neither a file nor text, and for a schedule beside a Design, which has its own."""
    if schedule is not None and not isinstance(schedule, str | Path):
        raise UsageError("a schedule: a file or its text", found_words(schedule))
    if schedule is not None and isinstance(design, Design):
        raise UsageError(
            "a schedule with the file or text of a design", "one with a Design, which was read without it",
            hint="Give the schedule to storscope.load_design.",
        )  # fmt: skip


def taken_size(size: object) -> str | None:
    """A size as text; a number is bytes. Raises UsageError for anything else."""
    if size is None or isinstance(size, str):
        return size
    taken = whole(size)
    if taken is None:
        raise UsageError("a size like '100G', a share like '10%', or bytes", found_words(size))
    return str(taken)


def check_volumes(mapping: Mapping[str, object]) -> None:
    """Raises UsageError for what names no volumes."""
    for volume in mapping:
        if not isinstance(volume, str):
            raise UsageError("names or patterns of volumes as the keys of a mapping", found_words(volume))


def check_traces(trace: object) -> None:
    """Raises UsageError for what is neither a file nor a mapping of volumes to files."""
    files = [trace]
    if isinstance(trace, Mapping):
        check_volumes(trace)
        files = list(trace.values())
    for file in files:
        if not isinstance(file, str | Path):
            raise UsageError("a trace: a file, or a mapping of volumes to files", found_words(file))


@dataclass(frozen=True)
class Numbers:
    """The numbers of a simulation as callers gave them, as Python's own: those of NumPy are no JSON."""

    seed: int
    ios: int | None
    outstanding: int | None
    started_ns: int | None
    speed_up: float


def taken_numbers(
    *,
    seed: object = 1,
    ios: object = None,
    outstanding: object = None,
    started_ns: object = None,
    speed_up: object = 1.0,
) -> Numbers:
    """What callers gave, NumPy's scalars included. Raises UsageError for what is no number, or outside of its range.

    The ranges of seeds and of speed-ups are checked where they are used.
    """
    taken_seed = whole(seed)
    if taken_seed is None:
        raise UsageError("a seed, a whole number", found_words(seed))
    return Numbers(
        taken_seed,
        within("a number of I/Os for ios (or text like '5M')", _count(ios), 1, 10**15),
        within("a number of requests in flight for outstanding", outstanding, 1, _DEEPEST),
        within("ns since 1970 for started_ns", started_ns, 0, _LATEST_START_NS, hint=_WHY_NOT_LATER),
        real("a number for speed_up", speed_up),
    )


def _count(value: object) -> object:
    """A count that is written as on the command line as a number; anything else as it is."""
    try:
        return count_from_text(value) if isinstance(value, str) else value
    except ValueError:
        return value
