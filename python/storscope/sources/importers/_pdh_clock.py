"""The clock of a PDH-CSV: zone, time stamps, intervals.

The first column's name is `(PDH-CSV 4.0) (zone)(minutes)` with minutes west of UTC, so UTC = local time + minutes;
typeperf leaves the zone out. Sampling drifts, so an interval is what lies between two stamps, and a stamp is the end of
its interval. A copy saved again by a spreadsheet has lost the seconds (`3/26/2015 22:42`): times are then rebuilt from
the order of the rows, and the capture says so.
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
from storscope.sources.importers._long_steps import LongSteps
from storscope.sources.importers._stamps import Stamps

NO_TIME: Final = np.iinfo(np.int64).min
"""What the core writes for a stamp of another form."""

_TITLE = re.compile(r"\(PDH-[CT]SV \d+(?:\.\d+)?\)(?:\s*\((?P<zone>.*)\)\s*\((?P<minutes>-?\d+)\))?\s*")
_WITH_SECONDS = ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M:%S",
                 "%m/%d/%y %H:%M:%S", "%m/%d/%Y %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f")  # fmt: skip
_WITHOUT_SECONDS = ("%m/%d/%Y %H:%M", "%m/%d/%y %H:%M", "%m/%d/%Y %I:%M %p", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M")
_GUESSED_STEP_S = 5.0
"""esxtop's own delay when none is given (esxtop(1): 5 seconds)."""
_QUARTER_NS = 900 * units.NS_PER_S
_DAY_NS = 86_400 * units.NS_PER_S


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
        self._previous: int | None = None
        self._usual_step = 0
        self._rebuilt: tuple[int, int] | None = None
        self._rows = 0
        self.steps_back = 0
        self.words = self._zone_words()

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
        if self._rebuilt is None and lacks_seconds and self._rows == 0:
            self._rebuild(times[rows])
        if self._rebuilt is not None:
            first, step = self._rebuilt
            ends = self._in_utc(first + step * (self._rows + np.arange(len(rows))))
            lengths = np.full(len(rows), step)
        else:
            ends = self._in_utc(times[rows])
            lengths = self._lengths(ends)
        self._rows += len(rows)
        return rows, ends - lengths, lengths

    def advice(self, stamp: bytes) -> str:
        """What to add to the words about a stamp that is none: the option under which it is one."""
        day_first = self._stamps.day_first
        if _parse(stamp.decode("utf-8", "replace"), not day_first) is None:
            return ""
        return f" If all dates are like that, say {'--month-first' if day_first else '--day-first'}."

    def note(self, recorder: Recorder) -> None:
        """Writes down how times were placed, and doubts."""
        notes = recorder.notes
        notes.clock = self.words + ("; dates are day first" if self._stamps.day_first else "")
        if self._has_other_forms and (doubt := self._stamps.doubt):
            recorder.warn(doubt)
        self._long_steps.warn(recorder)
        if self.steps_back:
            notes.warnings.append(
                f"The clock stood still or went back {self.steps_back:,} times; those intervals were given the usual "
                "length. A change from summer time, or captures joined into one file, look like that."
            )
        if self._rebuilt is not None:
            notes.warnings.append(
                "The time stamps have no seconds: the file was saved again by a spreadsheet. Times were rebuilt from "
                f"the order of the rows in steps of {self._rebuilt[1] / units.NS_PER_S:g} s. Import the original file, "
                "or say the sampling interval with --interval."
            )

    def _zone_words(self) -> str:
        if self._minutes is None:
            return self._options.zone_words()
        if self._minutes == 0 and self._zone == "UTC":
            return "UTC in the file"
        hours, minutes = divmod(abs(self._minutes), 60)
        sign = "-" if self._minutes > 0 else "+"
        return f"zone in the file: {self._zone}, UTC{sign}{hours:02d}:{minutes:02d} throughout"

    def _in_utc(self, local: IntArray) -> IntArray:
        if self._minutes is not None:
            return local + self._minutes * 60 * units.NS_PER_S
        # A zone's offset changes at full quarters of an hour, so one look-up serves all stamps of a quarter.
        quarters, which = np.unique(local // _QUARTER_NS, return_inverse=True)
        zone = self._options.zone()
        shifted = [_local_to_utc(int(quarter) * _QUARTER_NS, zone) for quarter in quarters]
        return np.asarray(shifted, np.int64)[which] + local % _QUARTER_NS

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

    def _rebuild(self, minutes: IntArray) -> None:
        """Fits equal steps to stamps in full minutes: the steps between the first change of minute and the last."""
        changes = np.flatnonzero(np.diff(minutes)) + 1
        said = self._options.interval_s
        if said:
            step, source = round(said * units.NS_PER_S), "--interval"
        elif len(changes) > 1:
            first, last = changes[0], changes[-1]
            # To the millisecond: a fit knows no more.
            mean_ms = int(minutes[last] - minutes[first]) / int(last - first) / units.NS_PER_MS
            step, source = round(mean_ms) * units.NS_PER_MS, "counted per minute"
        else:
            step, source = round(_GUESSED_STEP_S * units.NS_PER_S), "a guess"
        anchor = int(changes[0]) if len(changes) else 0
        self._rebuilt = (int(minutes[anchor]) - anchor * step, step)
        seconds = step / units.NS_PER_S
        self.words = f"rebuilt from row order, {seconds:g} s steps ({source}); {self._zone_words()}"


def _exchange_day_and_month(times: IntArray) -> None:
    """Makes of the 4th of March the 3rd of April, in place; a day that is no month stays what it is."""
    rows = np.flatnonzero(times != NO_TIME)
    days, which = np.unique(times[rows] // _DAY_NS, return_inverse=True)
    times[rows] += np.array([_shift_ns(int(day) * _DAY_NS) for day in days], np.int64)[which]


def _shift_ns(day_ns: int) -> int:
    date = units.datetime_from_ns(day_ns)
    return units.ns_from_datetime(date.replace(month=date.day, day=date.month)) - day_ns if date.day <= 12 else 0


def _local_to_utc(local_ns: int, zone: dt.tzinfo) -> int:
    moment = units.datetime_from_ns(local_ns).replace(tzinfo=zone)
    return units.ns_from_datetime(moment)


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
