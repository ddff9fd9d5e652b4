"""What of a store is as it was written, capture by capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storscope.domain.errors import DamagedStore, StoreError
from storscope.store.checksums import Proofs, has_sums
from storscope.store.engine import Engine, damage_of, id_of

_AT_ONCE: Final = 64
"""Captures whose sums are looked at together."""


@dataclass(frozen=True, slots=True)
class CheckedCapture:
    """A capture after its files were read to their end."""

    id: str
    directory: Path
    files: int
    size_bytes: int
    has_sums: bool
    """Whether it was written with checksums; without them only damage that keeps it from being read is found."""
    fault: DamagedStore | None
    """The first file that is missing, unreadable or not what was written, and what to do."""


def check_captures(directories: Sequence[Path]) -> Iterator[CheckedCapture]:
    """Reads every file of the captures in these directories."""
    for start in range(0, len(directories), _AT_ONCE):
        some = directories[start : start + _AT_ONCE]
        are_sound = _are_sound(some)
        for directory in some:
            sizes = [file.stat().st_size for file in directory.glob("*.parquet")]
            fault = _fault_of(directory, are_sound=are_sound)
            yield CheckedCapture(id_of(directory), directory, len(sizes), sum(sizes), has_sums(directory), fault)


def _are_sound(directories: Sequence[Path]) -> bool:
    """Whether sums and rows of all are as they should be, as they mostly are; if not, or if it is too much at a time,
    they are looked at one by one."""
    try:
        return _fault_of_sums(directories) is None
    except StoreError:
        return False


def _fault_of_sums(directories: Sequence[Path]) -> DamagedStore | None:
    engine = Engine(directories, Proofs())
    try:
        engine.ask("SELECT count(*) FROM captures")  # sums and row counts are looked at before anything is answered
    except DamagedStore as fault:
        return fault
    finally:
        engine.close()
    return None


def _fault_of(directory: Path, *, are_sound: bool) -> DamagedStore | None:
    """What is wrong with a capture; `are_sound`: its sums and rows are as they should be."""
    fault = None if are_sound else _fault_of_sums([directory])
    if fault is not None:
        return fault
    files = [] if has_sums(directory) else sorted(directory.glob("*.parquet"))
    return next((found for file in files if (found := damage_of(file)) is not None), None)
