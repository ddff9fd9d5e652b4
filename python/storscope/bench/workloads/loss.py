"""What one form of a workload says and another cannot: listed with the reason, never dropped silently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum


class LossKind(StrEnum):
    """How much of it is left."""

    LOST = "lost"
    """The result asks something else of the storage."""
    APPROXIMATED = "approximated"
    """The result asks nearly the same."""
    ELSEWHERE = "elsewhere"
    """Nothing that is asked of the storage: a target, a duration, a report, a name or a note."""


@dataclass(frozen=True)
class Loss:
    """One thing that did not come through: where it stood, what it said, and why it could not be kept."""

    kind: LossKind
    where: str
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.what}: {self.reason}"


_DOUBTS_SHOWN = 3


def doubts_of_losses(losses: Sequence[Loss]) -> tuple[str, ...]:
    """A sentence for a run of a workload that asks something else of the storage than its file; what is lost first."""
    lost = [f"{one.what} ({one.reason})" for one in losses if one.kind is LossKind.LOST]
    if not lost:
        return ()
    more = f"; and {len(lost) - _DOUBTS_SHOWN} more" if len(lost) > _DOUBTS_SHOWN else ""
    return (f"Not as the file of the workload asks: {'; '.join(lost[:_DOUBTS_SHOWN])}{more}.",)


VERIFIED = "says how fio verifies; stamps are checked with every read"
NOT_VERIFIED = "says how fio verifies; here nothing is checked"
"""What is said of the options of a fio job that say how it checks."""
_ASKS_FOR_CHECK = re.compile(r"verify(?:_pattern)?=")
"""What stands in a fio job that asks for one."""
_VERIFICATION = ": verification"
"""How the place of a workload's verification ends, in what is written (`_fio_data.py`, `icf_write.py`)."""


def told_once(read: Sequence[Loss], written: Sequence[Loss]) -> tuple[Loss, ...]:
    """What a conversion loses, by reading one form and writing another.

    A check that fio's job asks for and the form that is written cannot do is lost once, where the job asks for it: what
    is said of it as it would be measured is not true of what is written.
    """
    reasons = list(dict.fromkeys(one.reason for one in written if one.where.endswith(_VERIFICATION)))
    asked = [one for one in read if _ASKS_FOR_CHECK.match(one.what)]
    if not reasons or not asked:
        return (*read, *written)
    lost = [replace(one, kind=LossKind.LOST, reason="; ".join(reasons)) if one in asked else one for one in read]
    unchecked = [replace(one, reason=NOT_VERIFIED) if one.reason == VERIFIED else one for one in lost]
    return (*unchecked, *(one for one in written if not one.where.endswith(_VERIFICATION)))


@dataclass
class LossList:
    """Collects losses while a form is read or written; each is kept once."""

    _losses: dict[Loss, None] = field(default_factory=dict)

    def lost(self, where: str, what: str, reason: str) -> None:
        """The result asks something else."""
        self._losses[Loss(LossKind.LOST, where, what, reason)] = None

    def approximated(self, where: str, what: str, reason: str) -> None:
        """The result asks nearly the same."""
        self._losses[Loss(LossKind.APPROXIMATED, where, what, reason)] = None

    def elsewhere(self, where: str, what: str, reason: str) -> None:
        """No part of a workload."""
        self._losses[Loss(LossKind.ELSEWHERE, where, what, reason)] = None

    def __iter__(self) -> Iterator[Loss]:
        return iter(self._losses)

    def as_tuple(self) -> tuple[Loss, ...]:
        """The losses in the order they were met."""
        return tuple(self._losses)
