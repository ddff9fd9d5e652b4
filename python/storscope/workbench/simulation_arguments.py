"""What Python callers ask of a simulation, checked before the array is built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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


def check_numbers(*, seed: object, ios: object = None, outstanding: object = None, started_ns: object = None) -> None:
    """Raises UsageError for what is no whole number, or outside of its range. Ranges of seeds are checked elsewhere."""
    _require_whole("a seed", seed, None, None)
    _require_whole("a number of I/Os for ios", ios, 1, 10**15)
    _require_whole("a number of requests in flight for outstanding", outstanding, 1, _DEEPEST)
    _require_whole("ns since 1970 for started_ns", started_ns, 0, _LATEST_NS)


def _require_whole(what: str, value: object, least: int | None, most: int | None) -> None:
    if value is None and least is not None:
        return
    limits = "" if least is None or most is None else f" from {least:,} to {most:,}"
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or (least is not None and most is not None and not least <= value <= most):  # type: ignore[operator]
        raise UsageError(f"{what}, a whole number{limits}", _found(value))


def _found(value: object) -> str:
    return repr(value)[:80]
