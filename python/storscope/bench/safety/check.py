"""One question about a target and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """It could not be answered, and another check covers the same danger. Shown, but does not refuse."""


@dataclass(frozen=True)
class Check:
    """A check with its answer."""

    name: str
    outcome: Outcome
    says: str
    remedy: str = ""
    overridable: bool = False
    """Whether repeating the target's identity lifts the refusal. What is in use now is never overwritten."""
    loses: tuple[str, ...] = ()
    """What would be lost."""


def passed(name: str, says: str) -> Check:
    """The danger is not there."""
    return Check(name, Outcome.PASSED, says)


def unknown(name: str, says: str) -> Check:
    """The question could not be answered."""
    return Check(name, Outcome.UNKNOWN, says)


def refused(name: str, says: str, remedy: str) -> Check:
    """In use, or impossible: no option lifts this; `remedy` says what the user can do."""
    return Check(name, Outcome.REFUSED, says, remedy)


def would_lose(name: str, says: str, *loses: str) -> Check:
    """Something would be lost; the user may say that this is meant."""
    return Check(name, Outcome.REFUSED, says, overridable=True, loses=loses or (says,))
