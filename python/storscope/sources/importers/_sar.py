"""What the forms of sysstat's `sar` share: fields, and the writing of what a disk or the processors did.

Fields as in sysstat 12.6 (`pr_stats.c`, `rndr_stats.c`, `json_stats.c`): `rkB/s` and `wkB/s` are KiB, the older
`rd_sec/s` and `wr_sec/s` sectors of 512 bytes; `tps` and `await` are of reads, writes and discards together. A line
covers the time up to its stamp. Processors are recorded as all of them together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importers._iostat import record_cpu, record_device

_AS_IOSTAT: Final = {"rd_sec/s": "rsec/s", "wr_sec/s": "wsec/s"}
"""Names of sar that iostat has another one for."""
_DISCARDED: Final = {"dkB/s": "KiB/s", "dMB/s": "MiB/s", "dc_sec/s": "sectors/s"}
"""What was discarded -> its unit."""
_MOVED: Final = {
    "dkB/s": ("rkB/s", "wkB/s"), "dMB/s": ("rMB/s", "wMB/s"), "dc_sec/s": ("rd_sec/s", "wr_sec/s"),
}  # fmt: skip
"""What was discarded, and what was read and written in the same unit."""
_NUMBERED: Final = re.compile(r"dev\d+-\d+")
ALL_PROCESSORS: Final = frozenset({"all", "-1"})
"""How a line of all processors together is marked: in words, and in `sadf -d`."""


@dataclass
class SarWriter:
    """Writes lines that are data, each once."""

    recorder: Recorder
    _seen: set[tuple[str, str, int]] = field(default_factory=set)
    _met: set[EntityRef] = field(default_factory=set)
    _with_discards: int = 0

    def disk(self, system: str, name: str, end_ns: int, duration_ns: int, fields: Mapping[str, float]) -> None:
        """What a disk did."""
        if not self._is_new(system, name, end_ns):
            return
        device = EntityRef(system, "device", name)
        if device not in self._met:
            self._met.add(device)
            self.recorder.link(device, "member_of", EntityRef(system, "host", system))
        start_ns = end_ns - duration_ns
        named = {_AS_IOSTAT.get(key, key): value for key, value in fields.items() if key not in _DISCARDED}
        if _is_mostly_discards(fields) and named.pop("await", None) is not None:
            self.recorder.omit("latencies of intervals in which more was discarded than read and written (trim)")
        record_device(self.recorder, device, start_ns, duration_ns, named)
        for key in fields.keys() & _DISCARDED.keys():
            self.recorder.counter(device, start_ns, duration_ns, key, _DISCARDED[key], fields[key])
            self._with_discards += fields[key] > 0

    def processors(self, system: str, end_ns: int, duration_ns: int, shares: Mapping[str, float]) -> None:
        """What all processors together did, in per cent: user, nice, system, iowait, steal, idle."""
        if self._is_new(system, "", end_ns):
            host = EntityRef(system, "host", system)
            record_cpu(self.recorder, host, end_ns - duration_ns, duration_ns, shares)

    def finish(self) -> None:
        """After the last line."""
        if self._with_discards:
            self.recorder.warn(
                f"In {self._with_discards:,} lines of disks something was discarded (trim, fstrim): sar counts that as "
                "operations, and in await, and does not say how many. iostat -x parts them."
            )
        numbered = sorted(device.name for device in self._met if _NUMBERED.fullmatch(device.name))
        if numbered:
            self.recorder.warn(
                f"Disks are named by their numbers ({numbered[0]}, ...), which no other tool does: sar -p and "
                "sadf -p -d tell their names."
            )

    def _is_new(self, system: str, name: str, end_ns: int) -> bool:
        """Files joined with a copy of themselves have every line twice."""
        key = (system, name, end_ns)
        if key in self._seen:
            self.recorder.omit("lines that are in the file twice")
            return False
        self._seen.add(key)
        return True


def _is_mostly_discards(fields: Mapping[str, float]) -> bool:
    """Whether more was discarded than read and written, by volume: then `await` may be that of the discards."""
    return any(
        fields.get(discarded, 0.0) > sum(fields.get(name, 0.0) for name in moved) for discarded, moved in _MOVED.items()
    )
