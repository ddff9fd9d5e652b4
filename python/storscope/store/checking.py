"""What of a store is as it was written, capture by capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from storscope.domain.errors import DamagedStore
from storscope.store.checksums import Proofs, has_sums
from storscope.store.engine import Engine, damage_of, id_of


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
    for directory in directories:
        sizes = [file.stat().st_size for file in directory.glob("*.parquet")]
        yield CheckedCapture(
            id_of(directory), directory, len(sizes), sum(sizes), has_sums(directory), _fault_of(directory)
        )


def _fault_of(directory: Path) -> DamagedStore | None:
    engine = Engine([directory], Proofs())
    try:
        engine.ask("SELECT count(*) FROM captures")  # sums and row counts are looked at before anything is answered
    except DamagedStore as fault:
        return fault
    finally:
        engine.close()
    files = [] if has_sums(directory) else sorted(directory.glob("*.parquet"))
    return next((found for file in files if (found := damage_of(file)) is not None), None)
