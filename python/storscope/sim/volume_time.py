"""What the I/Os of one host on one volume spend their time in, so that what some wait for is seen beside others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BEFORE_SENDING = "before_sending"
"""The part of an I/O's time before it is sent, because the workload allows no more in flight."""
MUCH = 0.3
"""Share of the time of I/Os that makes a limit, or the cache, worth naming (ours)."""


@dataclass(frozen=True)
class VolumeTime:
    """What the I/Os of one host on one volume spend their time in."""

    host: str
    name: str
    """'esx1/data', as the limits of LUNs are named."""
    parts_ns: Mapping[str, float]
    """Time of all of them together by part."""
    room_ns: float
    """The time that writes wait for room in the cache."""

    @property
    def sent_ns(self) -> float:
        """Without the time before they were sent."""
        return sum(time for name, time in self.parts_ns.items() if name != BEFORE_SENDING)

    def spends_much(self, time_ns: float) -> bool:
        """Whether `time_ns` is worth naming."""
        return time_ns > 0 and time_ns >= MUCH * self.sent_ns

    def passes(self, limit: Mapping[str, Any]) -> bool:
        """Whether its I/Os pass a queue limit. Those of ports are of a controller, which volumes may leave."""
        own = {"lun": self.name, "adapter": self.host, "host": self.host}.get(limit["kind"])
        return own is None or own == str(limit["name"])
