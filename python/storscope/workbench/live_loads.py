"""The loads of the live demonstration: a steady victim, and a hog that gets heavier until the victim feels it."""

from __future__ import annotations

from dataclasses import dataclass

from storscope.domain.units import KIB, MIB
from storscope.domain.workload import AccessSpec, Closed, Load, Mix, Open, Process, Stream, Workload

_VICTIM_BYTES = 4 * KIB
_VICTIM_SHARE = 0.25
"""Of what the storage does one at a time: the victim alone never waits for itself."""
_VICTIM_RATES = (20.0, 200.0)
"""Per second: enough to see something in half a second, little enough to cost nothing."""
LIMITED_SHARE = 0.1
"""What the hog may do when it is limited, of what it did."""


@dataclass(frozen=True)
class Pressure:
    """One way to be a hog."""

    words: str
    size_bytes: int
    read_share: float
    outstanding: int
    workers: int = 1

    def workload(self, load: Load | None = None) -> Workload:
        """As hard as it can, or under another load."""
        line = AccessSpec(self.size_bytes, read_share=self.read_share, random_share=1.0)
        workers = self.workers if load is None else 1
        return Workload("hog", (Stream(Mix((line,)), load or Closed(self.outstanding), workers=workers),))

    def limited(self, ops_per_s: float) -> Workload:
        """The same requests at a tenth of the rate it had, at equal gaps."""
        return self.workload(Open(max(1.0, LIMITED_SHARE * ops_per_s), Process.FIXED, self.outstanding))


PRESSURES = (
    Pressure("random reads of 256 KiB, 32 at a time", 256 * KIB, 1.0, 32),
    Pressure("random reads of 1 MiB, 128 at a time", MIB, 1.0, 64, workers=2),
    Pressure("random reads and writes of 1 MiB, 128 at a time", MIB, 0.5, 64, workers=2),
)
"""The lightest first; the last is the heaviest, and the one that a scratch file must be opened for."""


def one_at_a_time() -> Workload:
    """What the victim could do at most without a queue."""
    return _victim(Closed(1))


def victim(alone_per_s: float) -> Workload:
    """A steady client: single small reads at equal gaps, whether or not the earlier ones are done."""
    low, high = _VICTIM_RATES
    return _victim(Open(round(min(max(low, _VICTIM_SHARE * alone_per_s), high), 1), Process.FIXED, 1024))


def _victim(load: Load) -> Workload:
    return Workload("victim", (Stream(Mix((AccessSpec(_VICTIM_BYTES, read_share=1.0, random_share=1.0),)), load),))
