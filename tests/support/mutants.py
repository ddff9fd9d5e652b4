"""Files with damage: bytes overwritten and stretches lost, the same for the same name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

_MOST_CHANGES = 11
_LONGEST_LOSS_BYTES = 199


def mutants(sample: Path, junk: bytes, count: int = 150) -> Iterator[bytes]:
    """So many damaged copies of a file; `junk` has the bytes that overwrite others, those that its format lives by."""
    chance = random.Random(sample.name)
    raw = sample.read_bytes()
    for _ in range(count):
        mutant = bytearray(raw)
        for _ in range(chance.randint(1, _MOST_CHANGES)):
            at = chance.randrange(len(mutant))
            if chance.random() < 0.5:
                mutant[at] = chance.choice(junk)
            else:
                del mutant[at : at + chance.randint(0, _LONGEST_LOSS_BYTES)]
        yield bytes(mutant)
