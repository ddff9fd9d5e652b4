"""The clock of a PDH-CSV: zone, time stamps, intervals.

The first column's name is `(PDH-CSV 4.0) (zone)(minutes)` with minutes west of UTC, so UTC = local time + minutes;
typeperf leaves the zone out. Sampling drifts, so an interval is what lies between two stamps, and a stamp is the end of
its interval. A copy saved again by a spreadsheet has lost the seconds (`3/26/2015 22:42`): times are then rebuilt from
the order of the rows (`_pdh_minutes.py`), and the capture says so.

The minutes of the header are those of its beginning, and the stamps are local: over a change of summer time they jump.
A step of an hour and the usual interval, forward or back, to just after a full hour of the night is taken for it and
said [unverified: no capture over a change is at hand]. --timezone gives the changes of that zone instead, if it has the
header's minutes at the first stamp.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

import numpy as np

from storscope.domain import units
from storscope.domain.arrays import IntArray
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._local_clock import LocalClock, passes
from storscope.sources.importers._long_steps import LongSteps
from storscope.sources.importers._pdh_minutes import MinuteClock
from storscope.sources.importers._stamps import Stamps

NO_TIME: Final = np.iinfo(np.int64).min
"""What the core writes for a stamp of another form."""

_TITLE = re.compile(r"\(PDH-[CT]SV \d+(?:\.\d+)?\)(?:\s*\((?P<zone>.*)\)\s*\((?P<minutes>-?\d+)\))?\s*")
_WITH_SECONDS = ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M:%S",
                 "%m/%d/%y %H:%M:%S", "%m/%d/%Y %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f",
                 "%d.%m.%Y %H:%M:%S.%f")  # fmt: skip
_WITHOUT_SECONDS = ("%m/%d/%Y %H:%M", "%m/%d/%y %H:%M", "%m/%d/%Y %I:%M %p", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M")
_QUARTER_NS = 900 * units.NS_PER_S
_HOUR_NS: Final = 3_600 * units.NS_PER_S
_DAY_NS = 86_400 * units.NS_PER_S
_CHANGE_LATE_NS: Final = 300 * units.NS_PER_S
_CHANGE_USUAL_NS: Final = 1_800 * units.NS_PER_S
"""With longer intervals a step forward by an hour more is a sample that failed."""
_CHANGE_HOURS: Final = (23, 0, 1, 2, 3)
"""After the change of summer time it is one of these, in all zones of today (tzdata)."""
_MOST_CHANGES: Final = 4
"""That are said: two a year."""


class Clock:
    """Turns the stamps of one capture, block by block, into interval starts and lengths."""

    def __init__(self, title: str, options: ImportOptions, stamps: Stamps) -> None:
        """`stamps` knows whether the dates have the day first."""
        self._options = options
        self._stamps = stamps
        self._has_other_forms = False
        self._long_steps = LongSteps()
        match = _TITLE.fullmatch(title.strip())
        self._minutes = int(match["minutes"]) if match and match["minutes"] else None
        self._zone = match["zone"] if match else None
        self._local = LocalClock(options.zone())
        self._is_by_zone: bool | None = None
        self._previous_local: int | None = None
        self._local_step = 0
        self._minutes_now = self._minutes or 0
        self._changes: list[str] = []
        self._previous: int | None = None
        self._usual_step = 0
        self._minute_clock: MinuteClock | None = None
        self._pauses: list[tuple[int, int]] = []
        self._has_begun = False
        self.steps_back = 0
        self._said_of_zone = self._zone_words()

    def intervals(self, times: IntArray, stamps: list[tuple[int, bytes]]) -> tuple[IntArray, IntArray, IntArray]:
        """The rows of a block that have a time, and their interval starts (UTC) and lengths, all in ns.

        `times` and `stamps` are as the core gives them. Rows without a readable stamp are left out.
        """
        if self._stamps.day_first:
            _exchange_day_and_month(times)
        lacks_seconds = self._read_other_forms(times, stamps)
        rows = np.flatnonzero(times != NO_TIME)
        if not len(rows):
            return rows, rows, rows
        if lacks_seconds and not self._has_begun:
            self._minute_clock = MinuteClock(self._options.interval_s)
        self._has_begun = True
        local = times[rows]
        ends = self._in_utc(local if self._minute_clock is None else self._minute_clock.place(local))
        lengths = self._lengths(ends)
        if self._minute_clock is not None:
            beyond = lengths - self._minute_clock.step_ns
            paused = np.flatnonzero(beyond > self._minute_clock.tolerance_ns)
            self._pauses += zip(beyond[paused].tolist(), ends[paused].tolist(), strict=True)
        return rows, ends - lengths, lengths

    @property
    def words(self) -> str:
        """How times were placed."""
        return self._said_of_zone if self._minute_clock is None else f"{self._minute_clock.words}; {self._said_of_zone}"

    def advice(self, stamp: bytes) -> str:
        """What to add to the words about a stamp that is none: the option under which it is one."""
        day_first = self._stamps.day_first
        if _parse(stamp.decode("utf-8", "replace"), not day_first) is None:
            return ""
        return f" If all dates are like that, say {'--month-first' if day_first else '--day-first'}."

    def note(self, recorder: Recorder) -> None:
        """Writes down how times were placed, and doubts."""
        notes = recorder.notes
        words = self.words.replace(" throughout", " at first") if self._changes else self.words
        notes.clock = words + self._local.words + ("; dates are day first" if self._stamps.day_first else "")
        for change in self._changes[:_MOST_CHANGES]:
            recorder.warn(change)
        if self._has_other_forms and (doubt := self._stamps.doubt):
            recorder.warn(doubt)
        self._long_steps.warn(recorder)
        if self.steps_back:
            notes.warnings.append(
                f"The clock stood still or went back {self.steps_back:,} times; those intervals were given the usual "
                "length. A change from summer time, or captures joined into one file, look like that."
            )
        if self._minute_clock is not None:
            self._note_rebuilt(recorder, self._minute_clock)

    def _note_rebuilt(self, recorder: Recorder, minute_clock: MinuteClock) -> None:
        recorder.notes.warnings.append(
            "The time stamps have no seconds: the file was saved again by a spreadsheet. Times were rebuilt from "
            f"the order of the rows in steps of {minute_clock.step_ns / units.NS_PER_S:g} s. Import the original file, "
            "or say the sampling interval with --interval."
        )
        if self._pauses:
            longest_ns, end_ns = max(self._pauses)
            many = "once" if len(self._pauses) == 1 else f"{len(self._pauses):,} times"
            recorder.warn(
                f"By the minutes of the stamps sampling paused, or rows are missing, {many}; the longest time for "
                f"{units.format_span(longest_ns)} until {units.datetime_from_ns(end_ns):%Y-%m-%d %H:%M} UTC. Behind "
                "it the steps begin anew."
            )
        if doubt := minute_clock.doubt:
            recorder.warn(doubt)

    def _zone_words(self) -> str:
        if self._minutes is None:
            return self._options.zone_words()
        if self._minutes == 0 and self._zone == "UTC":
            return "UTC in the file"
        return f"zone in the file: {self._zone}, {_offset_words(self._minutes)} throughout"

    def _in_utc(self, local: IntArray) -> IntArray:
        if self._is_by_zone is None:
            self._is_by_zone = self._has_rules(int(local[0]))
        return self._by_zone(local) if self._is_by_zone else self._by_minutes(local)

    def _has_rules(self, first_local: int) -> bool:
        """Whether --timezone says when summer time begins and ends: where the file has no zone, or the same one."""
        zone = self._options.timezone
        if zone is None or self._minutes is None:
            return zone is not None
        offset_ns = first_local - _passes(first_local, zone)[0]
        if self._zone == "UTC" or offset_ns != -self._minutes * 60 * units.NS_PER_S:
            return False
        self._said_of_zone = (
            self._said_of_zone.removesuffix(" throughout") + f" at first, then by --timezone {zone.key}"
        )
        return True

    def _by_zone(self, local: IntArray) -> IntArray:
        # A zone's offset changes at full quarters of an hour, so one look-up serves all stamps of a quarter.
        quarters, which = np.unique(local // _QUARTER_NS, return_inverse=True)
        found = [_passes(int(quarter) * _QUARTER_NS, self._local.zone) for quarter in quarters]
        first: IntArray = np.array([first for first, _ in found], np.int64)[which] + local % _QUARTER_NS
        second = np.array([second for _, second in found], np.int64)[which] + local % _QUARTER_NS
        # Where no hour comes twice, the end is all that there is to remember: the last step and its instant.
        start = 0 if (second > first).any() else max(0, len(local) - 2)
        for row in range(start, len(local)):
            first[row] = self._local.place(int(first[row]), int(second[row]))
        return first

    def _by_minutes(self, local: IntArray) -> IntArray:
        """UTC by the header's minutes, or as if it were UTC; a change of summer time holds for what follows."""
        steps = np.diff(local, prepend=local[0] if self._previous_local is None else self._previous_local)
        if self._previous_local is None:
            self._local_step = self._usual(steps[steps > 0])
            steps[0] = self._local_step
        self._previous_local = int(local[-1])
        minutes: IntArray = np.full(len(local), self._minutes_now, np.int64)
        for row in np.flatnonzero(np.abs(np.abs(steps - self._local_step) - _HOUR_NS) <= _CHANGE_LATE_NS).tolist():
            after, step = int(local[row]), int(steps[row])
            if self._zone != "UTC" and self._is_change(after, step):
                self._minutes_now += -60 if step > self._local_step else 60
                minutes[row:] = self._minutes_now
                self._changes.append(self._change_words(after, is_forward=step > self._local_step))
        return local + minutes * 60 * units.NS_PER_S

    def _change_words(self, after: int, *, is_forward: bool) -> str:
        jump = f"At {units.datetime_from_ns(after):%Y-%m-%d %H:%M} the stamps jump an hour"
        offset = _offset_words(self._minutes_now) if self._minutes is not None else "an hour off what they say"
        return (
            f"{jump} {'forward' if is_forward else 'back'}, taken as a change of summer time: from there on they are "
            f"{offset}. --timezone gives the changes of a zone."
        )

    def _is_change(self, after: int, step: int) -> bool:
        """Whether the clock jumped by an hour within the usual interval that ends at `after`, at a full hour."""
        usual, extra = self._local_step, step - self._local_step
        late_ns = min(usual // 2, _CHANGE_LATE_NS)
        is_hour = abs(abs(extra) - _HOUR_NS) <= late_ns and after % _HOUR_NS <= usual + late_ns
        return is_hour and after % _DAY_NS // _HOUR_NS in _CHANGE_HOURS and (extra < 0 or usual <= _CHANGE_USUAL_NS)

    def _lengths(self, ends: IntArray) -> IntArray:
        """What lies between a stamp and the one before it; the usual step where the clock went back."""
        is_first = self._previous is None
        lengths = np.diff(ends, prepend=ends[0] if self._previous is None else self._previous)
        self._previous = int(ends[-1])
        went_back = lengths <= 0
        if is_first:
            self._usual_step = self._usual(lengths[~went_back])
            # The first row has no predecessor: the step to the second is the best that is known.
            lengths[0] = lengths[1] if len(lengths) > 1 and not went_back[1] else self._usual_step
            went_back[0] = False
        self.steps_back += int(np.count_nonzero(went_back))
        lengths[went_back] = self._usual_step
        for length, end in zip(lengths[is_first:].tolist(), ends[is_first:].tolist(), strict=True):
            self._long_steps.add(length, end)
        return lengths

    def _usual(self, lengths: IntArray) -> int:
        if self._minute_clock is not None:
            return self._minute_clock.step_ns
        if self._options.interval_s:
            return round(self._options.interval_s * units.NS_PER_S)
        return int(np.median(lengths)) if len(lengths) else 0

    def _read_other_forms(self, times: IntArray, stamps: list[tuple[int, bytes]]) -> bool:
        """Fills in what the core does not read; says whether a stamp had no seconds."""
        lacks_seconds = False
        known: dict[bytes, tuple[int, bool] | None] = {}
        for row, stamp in stamps:
            if stamp not in known:
                known[stamp] = _parse(stamp.decode("utf-8", "replace"), self._stamps.day_first)
            if (found := known[stamp]) is not None:
                times[row] = found[0]
                lacks_seconds |= not found[1]
                self._has_other_forms = True
        return lacks_seconds


def _exchange_day_and_month(times: IntArray) -> None:
    """Makes of the 4th of March the 3rd of April, in place; a day that is no month stays what it is."""
    rows = np.flatnonzero(times != NO_TIME)
    days, which = np.unique(times[rows] // _DAY_NS, return_inverse=True)
    times[rows] += np.array([_shift_ns(int(day) * _DAY_NS) for day in days], np.int64)[which]


def _shift_ns(day_ns: int) -> int:
    date = units.datetime_from_ns(day_ns)
    return units.ns_from_datetime(date.replace(month=date.day, day=date.month)) - day_ns if date.day <= 12 else 0


def _passes(local_ns: int, zone: dt.tzinfo) -> tuple[int, int]:
    return passes(units.datetime_from_ns(local_ns).replace(tzinfo=None), zone)


def _offset_words(minutes_west: int) -> str:
    hours, minutes = divmod(abs(minutes_west), 60)
    return f"UTC{'-' if minutes_west > 0 else '+'}{hours:02d}:{minutes:02d}"


def _parse(text: str, day_first: bool) -> tuple[int, bool] | None:
    """Naive local ns and whether the stamp has seconds."""
    for forms, has_seconds in ((_WITH_SECONDS, True), (_WITHOUT_SECONDS, False)):
        for form in forms:
            if day_first:
                form = form.replace("%m/%d", "%d/%m")
            try:
                moment = dt.datetime.strptime(text, form)
            except ValueError:
                continue
            if moment.year not in units.YEARS:
                return None
            return units.ns_from_datetime(moment.replace(tzinfo=dt.UTC)), has_seconds
    return None
