"""fio's I/O logs (--write_iolog), versions 2 and 3: what a job asked for, in order.

    fio version 3 iolog
    200091 /dev/sdb read 56582144 4096

Time (version 3), file, action, offset and length in bytes. Times are in us since the job began: measured with fio
3.33, whose job of 5 IOPS has an entry each 200,000; fio(1) names no unit. Version 2 has no times but those of `wait`,
in us by fio(1), so one without waits can be replayed in a closed loop only. Openings, flushes and trims are left out
and counted. Names of files, which may hold blanks, are places only where there are several.

Refused: a file into which several jobs wrote (numjobs=2 with 3.33): their blocks lie in one another, cut anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from storscope.domain.units import NS_PER_US
from storscope.sim.traces.trace import Gathering, Trace, is_passed_over, whole_number

FORMAT = "fio iolog"
_FIRST = re.compile(r"\s*fio version (\d+) iolog\s*", re.ASCII)
_AGAIN = re.compile(r"fio version \d+ iolog\s*\Z", re.ASCII)
_ENTRY = re.compile(
    r"(?P<name>\S.*?)\s+(?P<action>[a-z_]+)(?:\s+(?P<offset>\d{1,20})\s+(?P<length>\d{1,20}))?", re.ASCII
)
_OF_SEVERAL = "Several jobs wrote into it, one over the other. Record it again with a file for each job (numjobs=1)."
_MOVES = frozenset({"read", "write"})
_OTHERS = {
    "add": "openings and closings of files", "open": "openings and closings of files",
    "close": "openings and closings of files", "sync": "flushes", "datasync": "flushes", "sync_file_range": "flushes",
    "trim": "trims",
}  # fmt: skip
_WAIT = "wait"
_KNOWN = (2, 3)


def recognise(first: str) -> bool:
    """By its first line."""
    return _FIRST.fullmatch(first) is not None


def read(where: str, lines: Iterable[str]) -> Trace:
    """All of it."""
    found = Gathering(where, FORMAT)
    requests: list[tuple[int, int, str, str, int, int]] = []
    version, waited_ns = 0, 0
    for number, line in enumerate(lines, 1):
        if is_passed_over(line):
            continue
        if not version:
            version = _version(found, number, line)
            continue
        if _AGAIN.search(line):
            raise found.error(number, "the iolog of one job", line.strip(), _OF_SEVERAL)
        entry = line.strip()
        time: int | None = waited_ns // NS_PER_US
        if version == _KNOWN[1]:
            told, *rest = entry.split(maxsplit=1)
            time, entry = whole_number(told), "".join(rest)
        parts = _ENTRY.fullmatch(entry)
        if time is None or parts is None:
            raise found.error(number, f"an entry of an iolog of version {version}", line.strip())
        name, action = parts["name"], parts["action"]
        if parts["offset"] is not None and action in _MOVES:
            requests.append((number, time * NS_PER_US, name, action, int(parts["offset"]), int(parts["length"])))
        elif parts["offset"] is not None and action == _WAIT:
            waited_ns += int(parts["offset"]) * NS_PER_US
        elif action in _OTHERS:
            found.left_out[_OTHERS[action]] += 1
        else:
            raise found.error(number, "read, write, or another action of fio", line.strip())
    is_of_several = len({name for _, _, name, *_ in requests}) > 1
    for number, at_ns, name, action, offset, length in requests:
        place = name if is_of_several else None
        found.add(number, at_ns, offset, length, is_write=action == "write", place=place)
    return found.trace(has_times=version == _KNOWN[1] or waited_ns > 0)


def _version(found: Gathering, number: int, line: str) -> int:
    told = _FIRST.fullmatch(line)
    version = int(told[1]) if told else 0
    if version not in _KNOWN:
        raise found.error(number, "an iolog of version 2 or 3", line.strip())
    return version
