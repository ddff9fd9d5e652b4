"""What was asked of a running system on both sides: its operations are no result, and latency at another load is none.

Latency rises with load, by how much depends on how near the limit is, so that no correction is tried: beyond a change
of a fifth nothing is judged. Two signs are sure all the same. Where more was asked for and latency fell, or less and it
rose, the change of load would have moved it the other way; this holds for one mix of reads and writes only, since
a mean falls where quick writes are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storscope.compare.matching import Pair
from storscope.compare.metrics import METRICS
from storscope.compare.subjects import Subject
from storscope.compare.wording import percent
from storscope.domain.comparison import Outcome

_TOLERANCE: Final = 1.2
"""Factor between the loads up to which latencies are judged: of an open queue (M/M/1) half busy, 20 % more is 25 % more
latency, and what runs at its limit moves more (ours)."""
_NO_FALL: Final = 0.05
"""Part that one rate may go the other way where the load is said to have risen, or to have fallen (ours)."""
_MIX: Final = 0.1
"""Difference of the share of reads up to which two mixes are one (ours)."""
_RATES: Final = {"iops": "operations", "bandwidth": "bandwidth"}


@dataclass(frozen=True)
class Demand:
    """How the load of a pair changed: after / before - 1 of what both sides tell."""

    changes: dict[str, float]
    is_one_mix: bool

    @property
    def is_other(self) -> bool:
        """Whether it changed so much that latencies do not compare."""
        return any(not 1 / _TOLERANCE < 1 + change < _TOLERANCE for change in self.changes.values())

    @property
    def words(self) -> str:
        """'operations changed by +59.3 %, bandwidth by +59.3 %, which moves latency by itself'."""
        return f"{self.rates_words}, which moves latency by itself"

    @property
    def rates_words(self) -> str:
        """'operations changed by +59.3 %, bandwidth by +59.3 %'."""
        said = [f"{_RATES[name]} changed by {percent(change)}" for name, change in self.changes.items()]
        return ", ".join(said).replace(", bandwidth changed by", ", bandwidth by")

    @property
    def sure(self) -> Outcome | None:
        """The outcome of a latency that the change of load cannot have made."""
        if not (self.is_other and self.is_one_mix):
            return None
        if min(self.changes.values()) >= -_NO_FALL:
            return Outcome.BETTER
        return Outcome.WORSE if max(self.changes.values()) <= _NO_FALL else None


def demand_of(pair: Pair) -> Demand:
    """How the load of two entities of running systems changed; of runs and of what tells no rate, not at all."""
    changes = {}
    for name in _RATES if not pair.before[0].is_run else ():
        before, after = (_mean(group, name) for group in (pair.before, pair.after))
        if before and after:
            changes[name] = after / before - 1
    shares = [_share_of_reads(group) for group in (pair.before, pair.after)]
    known = [share for share in shares if share is not None]
    return Demand(changes, len(known) < len(shares) or abs(known[0] - known[1]) <= _MIX)


def _share_of_reads(group: Sequence[Subject]) -> float | None:
    reads, writes = _mean(group, "read_iops"), _mean(group, "write_iops")
    return None if reads is None or writes is None or not reads + writes else reads / (reads + writes)


def _mean(group: Sequence[Subject], metric: str) -> float | None:
    values = [subject.measured().value(METRICS[metric]) for subject in group]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
