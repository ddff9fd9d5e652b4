"""The outside of a VMware log line: when, which host, which program; the rest is the message.

    Aug 15 06:33:41 esx01 vmkernel: 12:03:04:05.678 cpu4:4100)NMP: ...                  ESX 3 and 4, no year
    2012-10-25T16:01:54.286Z cpu2:8054)WARNING: ScsiDeviceIO: ...                       ESXi 5 to 8
    2023-05-03T09:11:22.123Z Wa(180) vmkwarning: cpu2:2097180)WARNING: ...              ESXi 7 and 8
    2013-08-15T06:33:41.170Z: [scsiCorrelator] 3016us: [esx.problem...] ...             vobd
    [2011-08-16 07:31:44.157 3B67CB90 info 'ha-eventmgr'] Event 84 : ...                hostd of ESX 4
    <181>Oct 25 18:01:54 10.0.0.9 2012-10-25T16:01:54.286Z esx01 vmkernel: cpu2: ...    forwarded, received by rsyslog
    cpu51:2098041)WARNING: ScsiDeviceIO: ...                                            pasted, no time at all

Where a line has two times the one with a zone counts, being the host's own; where it has two host names, the inner.
What grep, findstr or pdsh print before a line (file, number, host) and blanks are taken off.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from storscope.domain.units import NS_PER_S, YEARS
from storscope.sources.importers._local_clock import LocalClock

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_PROGRAMS = r"(?:vmkernel|vmkwarning|vmkalert|vobd|[Hh]ostd|vpxa|[Vv]pxa|iscsid|vmkiscsid|storageRM|vmkeventd|syslog)"
_SEVERITY = r"(?:[A-Z][a-z]\(\d+\)!?\s+)?"
_PRIORITY = re.compile(r"<\d{1,3}>(?:1\s+)?")
_ISO_STAMP = re.compile(
    r"\[?(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?:?(?:\s+|$)"
)
_SYSLOG_STAMP = re.compile(
    rf"({'|'.join(MONTHS)})\s+(\d{{1,2}})\s+(?:(\d{{4}})\s+)?(\d\d):(\d\d):(\d\d)(?:[.,](\d{{1,9}}))?:?(?:\s+|$)"
)
_TIME = (
    rf"(?:<\d{{1,3}}>(?:1\s)?)?(?:\[?\d{{4}}-\d\d-\d\d[T ]|(?:{'|'.join(MONTHS)})\s+\d{{1,2}}\s+(?:\d{{4}}\s+)?)"
    r"\d\d:\d\d:\d\d"
)
_BEFORE = re.compile(rf"\s*(?:\S{{1,255}}?(?:[:-](?={_TIME}|cpu\d+:\d+[ )])|:[ \t]+(?={_TIME})))?")
"""What is before the line itself, where it can be told by the time or the processor behind it."""
_PROGRAM = re.compile(rf"{_SEVERITY}({_PROGRAMS})(?:\[[^\]]*\])?(?::\s*|\s+(?:\d+|-)\s+\S+\s+-\s+)")
_REPEATED = r"-*\s?(?:last )?message repeated"
_HOST = re.compile(
    r"(?!last message)([A-Za-z0-9][\w.-]*)\s+"
    rf"(?={_SEVERITY}{_PROGRAMS}(?:\[[^\]]*\])?[: ]|\d{{4}}-\d\d-\d\dT|{_REPEATED})"
)
_MOST_PARTS = 8
_TYPICAL = re.compile(
    r"cpu\d+:\d+(?: opID=\w+)?\)"
    rf"|^(?:<\d+>)?[^\[\]{{}}\"]{{0,100}}\b{_SEVERITY}(?:vmkernel|vmkwarning|vmkalert|vobd|[Hh]ostd)(?:\[[^\]]*\])?:\s"
    r"|^\S+: \[\w+Correlator\] \d+us: \[(?:vob|esx)\."
    r"|\[Originator@\d+ sub="
    r"|'ha-eventmgr'\]"
    r"|(?:Device|NFS volume) \S+ performance has (?:deteriorated|improved)\. I/O latency "
    r"|NFS volume .+ average I/O latency \d+\(us\) has exceeded"
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time as it is printed. `year` and `zone` are None where the line does not carry them."""

    year: int | None
    month: int
    day: int
    hour: int
    minute: int
    second: int
    fraction_ns: int
    zone: str | None

    def time_ns(self, year: int, clock: LocalClock) -> int | None:
        """The instant, in `year` and on `clock` where the line has no zone; None for what is no date or time."""
        if (self.year or year) not in YEARS:
            return None
        try:
            moment = dt.datetime(
                self.year or year, self.month, self.day, self.hour, self.minute, min(self.second, 59),
                tzinfo=_zone(self.zone),
            )  # fmt: skip
        except ValueError:
            return None
        leap_ns = NS_PER_S if self.second == 60 else 0
        return clock.instant(moment) + self.fraction_ns + leap_ns


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line taken apart."""

    stamp: Stamp | None
    host: str | None
    program: str | None
    message: str


def parse_line(text: str) -> LogLine:
    """Takes the outside off. Whatever is not recognised stays in the message."""
    text = bare(text)
    priority = _PRIORITY.match(text)
    position = priority.end() if priority else 0
    stamp: Stamp | None = None
    host: str | None = None
    program: str | None = None
    for _ in range(_MOST_PARTS):
        if match := _ISO_STAMP.match(text, position):
            stamp = _better(stamp, _iso(match))
        elif match := _SYSLOG_STAMP.match(text, position):
            stamp = _better(stamp, _syslog(match))
        elif match := _PROGRAM.match(text, position):
            program = match[1].lower()
        elif stamp is not None and program is None and (match := _HOST.match(text, position)):
            host = match[1]
        else:
            break
        position = match.end()
    return LogLine(stamp, None if host == "localhost" else host, program, text[position:])


def bare(text: str) -> str:
    """The line as the host wrote it, without what grep and the like print before it."""
    if text[:1] == "<" or _ISO_STAMP.match(text) or _SYSLOG_STAMP.match(text) or _PROGRAM.match(text):
        return text
    before = _BEFORE.match(text)
    return text[before.end() :] if before else text


def is_log_line(text: str) -> bool:
    """True for a line that only a VMware log has."""
    return _TYPICAL.search(bare(text)) is not None


def stamp_without_year(text: str) -> Stamp | None:
    """The time at the start of a line when it is of the kind without a year, and nothing better follows it."""
    stamp = parse_line(text).stamp
    return stamp if stamp is not None and stamp.year is None else None


def _better(old: Stamp | None, new: Stamp) -> Stamp:
    if old is None or (new.zone is not None and old.zone is None) or (new.year is not None and old.year is None):
        return new
    return old


def _iso(match: re.Match[str]) -> Stamp:
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    return Stamp(year, month, day, hour, minute, second, _fraction_ns(match[7]), match[8])


def _syslog(match: re.Match[str]) -> Stamp:
    year = int(match[3]) if match[3] else None
    day, hour, minute, second = int(match[2]), int(match[4]), int(match[5]), int(match[6])
    return Stamp(year, MONTHS.index(match[1]) + 1, day, hour, minute, second, _fraction_ns(match[7]), None)


def _fraction_ns(digits: str | None) -> int:
    return int(digits.ljust(9, "0")) if digits else 0


def _zone(text: str | None) -> dt.tzinfo | None:
    if text is None:
        return None
    if text == "Z":
        return dt.UTC
    sign = -1 if text[0] == "-" else 1
    return dt.timezone(sign * dt.timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))
