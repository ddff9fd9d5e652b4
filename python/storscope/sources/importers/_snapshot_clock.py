"""The clock of a file of snapshots: its time lines, or --interval where it has none, and the steps between them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions, broken
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._time_lines import LineTime, time_of_line

_DOUBTED_BELOW_NS: Final = 20 * units.NS_PER_S


@dataclass
class SnapshotClock:
    """Places snapshots in time and says what is doubted about it."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    what: str
    """What the snapshots are of: '/proc/diskstats'."""
    capture: str
    """The command of which the loop consists: 'cat /proc/diskstats'."""
    advice: str = ""
    """What else to try where a snapshot has no time."""
    _clock: LocalClock = field(init=False)

    def __post_init__(self) -> None:
        """The clock of times without a zone."""
        self._clock = LocalClock(self.options.zone())

    def line(self, line: str) -> LineTime | None:
        """The instant a time line names; None for any other line."""
        time = time_of_line(line, self._clock)
        if time is not None:
            self._doubt_zone(time.word)
        return time

    def rebuilt(self, before: LineTime | None) -> LineTime:
        """The time of a snapshot that has none: --interval after the one `before`. Raises without --interval."""
        if not self.options.interval_s:
            raise broken(
                self.evidence, f"a line with the time before each snapshot of {self.what}", "none",
                hint="Give --interval (and --start), or capture with 'date -u +%FT%T.%NZ' before each "
                f"'{self.capture.split()[0]}'.{self.advice}",
            )  # fmt: skip
        self.recorder.notes.clock = (
            f"no times in the source; rebuilt from row order, {'--start' if self.options.start else '1970'}, "
            f"--interval {self.options.interval_s:g} s"
        )
        if before is not None:
            return LineTime(before.ns + round(self.options.interval_s * units.NS_PER_S), True, False)
        start = self.options.start or dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        placed = start if start.tzinfo else start.replace(tzinfo=self.options.zone())
        return LineTime(units.ns_from_datetime(placed), True, False)

    def note(self, time: LineTime) -> None:
        """Says how the times were placed, by the first snapshot."""
        self.recorder.notes.clock = self.recorder.notes.clock or (
            "zone in the file" if time.zoned else self.options.zone_words()
        )

    def span_ns(self, before: LineTime, now: LineTime) -> int | None:
        """The time between two snapshots; None, and counted, where the clock did not advance."""
        span_ns = now.ns - before.ns
        if span_ns <= 0:
            self.recorder.omit("snapshots whose clock did not advance")
            if span_ns < 0:
                self.recorder.warn(
                    "The clock went back between two snapshots; their times overlap. The end of summer time looks like "
                    "that: say the zone with --timezone."
                )
            return None
        if before.whole_seconds and span_ns < _DOUBTED_BELOW_NS:
            self.recorder.warn(
                f"The time lines are in whole seconds, so rates over {span_ns / units.NS_PER_S:g} s may be wrong by "
                f"{units.NS_PER_S / span_ns:.0%}. Capture with: date -u +%FT%T.%NZ"
            )
        return span_ns

    def finish(self, snapshots: int) -> None:
        """After the last of so many snapshots. Raises when there was none."""
        if snapshots == 0:
            raise broken(
                self.evidence, f"lines of {self.what} after a time line", "none",
                hint=f"Capture with: while true; do date -u +%FT%T.%NZ; {self.capture}; sleep 10; done",
            )  # fmt: skip
        if self.recorder.notes.clock:
            self.recorder.notes.clock += self._clock.words

    def _doubt_zone(self, word: str | None) -> None:
        if word is None or word in self._clock.abbreviations:
            return
        zone = self.options.timezone
        taken = f"which is not {zone.key}; its times were taken as {zone.key}" if zone else "taken as UTC"
        why = "" if zone else " Several zones are called so, or none: name it with --timezone."
        self.recorder.warn(f"The time lines say {word}, {taken}.{why}")
