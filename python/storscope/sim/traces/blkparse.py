"""The text that blkparse(1) prints by default of what blktrace(8) recorded: requests as they were queued (`Q`).

    8,0    3        1     0.000000000   697  Q   R 223490 + 8 [kjournald]

Device, CPU, sequence, seconds, process, action, kind (R or W among its letters), first sector of 512 bytes, `+`,
sectors. Where no request was queued in the trace, those that were issued to the driver (`D`) count. Other actions,
discards and flushes without data are left out and counted; the summary at the end is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from storscope.domain.units import NS_PER_S
from storscope.sim.traces.trace import SECTOR_BYTES, Gathering, Trace, exact_ns, is_passed_over, whole_number

FORMAT = "blkparse"
_EVENT = re.compile(
    r"\s*(\d+,\d+)\s+(\d+)\s+(\d+)\s+(\d+\.\d+)\s+(\d+)\s+([A-Z]{1,2})\s+([A-Z]+)(?:\s+(.*))?$", re.ASCII
)
_RANGE = re.compile(r"(\d+) \+ (\d+)(?: \[.*\])?\s*$", re.ASCII)
_SUMMARY = re.compile(r"(CPU\d* \(|Total \()", re.ASCII)
_QUEUED, _ISSUED = "Q", "D"


def recognise(first: str) -> bool:
    """By its first line with something in it."""
    return _EVENT.match(first) is not None


def read(where: str, lines: Iterable[str]) -> Trace:
    """Of one device or several, whose names (`8,0`) are the places."""
    events: list[tuple[int, str, int, str, int, int, bool]] = []
    found = Gathering(where, FORMAT)
    for number, line in enumerate(lines, 1):
        if _SUMMARY.match(line):
            break
        if is_passed_over(line):
            continue
        event = _EVENT.match(line)
        if event is None:
            raise found.error(number, "an event as blkparse prints it by default", line.rstrip("\n"))
        device, _, _, seconds, _, action, kind, rest = event.groups()
        span = _RANGE.match(rest or "")
        if action not in {_QUEUED, _ISSUED}:
            found.left_out["other actions than Q"] += 1
        elif "D" in kind or not {"R", "W"} & set(kind):
            found.left_out["discards and flushes"] += 1
        elif span is None or span[2] == "0":
            found.left_out["requests without data"] += 1
        else:
            at_ns = exact_ns(seconds, NS_PER_S)
            first, sectors = whole_number(span[1]), whole_number(span[2])
            if at_ns is None or first is None or sectors is None:
                raise found.error(number, "a time, a sector and a number of sectors", line.rstrip("\n"))
            events.append((number, action, at_ns, device, first, sectors, "W" in kind))
    chosen = _QUEUED if any(event[1] == _QUEUED for event in events) else _ISSUED
    for number, action, at_ns, device, first, sectors, is_write in events:
        if action != chosen:
            found.left_out["issued (D) beside queued (Q)"] += 1
            continue
        found.add(number, at_ns, first * SECTOR_BYTES, sectors * SECTOR_BYTES, is_write=is_write, place=device)
    return found.trace()
