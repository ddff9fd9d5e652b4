"""What Python callers ask of a simulation, checked before the array is built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

from storscope.domain.errors import UsageError
from storscope.sim.design import Design

_LATEST_NS = 2**63 - 1
_DEEPEST = 65536


def check_design(design: object) -> None:
    """Raises UsageError for what is neither a file, nor text, nor a design."""
    if not isinstance(design, str | Path | Design):
        raise UsageError("a design: a file, its text or a Design", _found(design))


def check_designs(designs: object) -> None:
    """Raises UsageError for one design in place of several: its text would be taken letter by letter."""
    if isinstance(designs, str) or not isinstance(designs, Sequence):
        raise UsageError("a list of designs", _found(designs), hint="One of them runs with storscope.simulate.")


def check_schedule(design: object, schedule: object) -> None:
    """Raises UsageError where a schedule would be passed over: a design that is read already has its own."""
    if schedule is not None and isinstance(design, Design):
        raise UsageError(
            "a schedule with the file or text of a design", "one with a Design, which was read without it",
            hint="Give the schedule to load_design.",
        )  # fmt: skip


def check_numbers(
    *, seed: object = 1, ios: object = None, outstanding: object = None, started_ns: object = None
) -> None:
    """Raises UsageError for what is no whole number, or outside of its range; that of seeds is checked elsewhere."""
    if not _is_whole(seed):
        raise UsageError("a seed, a whole number", _found(seed))
    _check_range("a number of I/Os for ios", ios, 1, 10**15)
    _check_range("a number of requests in flight for outstanding", outstanding, 1, _DEEPEST)
    _check_range("ns since 1970 for started_ns", started_ns, 0, _LATEST_NS)


def _check_range(what: str, value: object, least: int, most: int) -> None:
    """None stands for what was not asked."""
    if value is not None and not (_is_whole(value) and least <= value <= most):
        raise UsageError(f"{what}, a whole number from {least:,} to {most:,}", _found(value))


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _found(value: object) -> str:
    return repr(value)[:80]
