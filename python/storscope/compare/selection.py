"""What the two sides of a comparison may be, as text: PATH, PATH#key=value,... or key=value,...

PATH is evidence (a file, a folder, an archive) or a store. The keys narrow it down; without PATH they narrow down the
store in use. Several values of `run` are joined with '|'. A comma belongs to the value unless a key and '=' follow it,
since names of runs hold commas.

    before.csv                             everything in a file
    lab-store#run=base-*                   runs whose name fits a pattern: repeated runs of one load are one group
    lab-store#capture=1f3a                 what one capture (the beginning of its id, or its file's name) yielded
    prod#since=2026-11-20T22:00,until=2026-11-21T02:00,entity=vmhba*    counters of a running system in a time range
    run=simulation-6c00b0fd*,since=12m     a run from 12 minutes after its start on
    run=simulation-6c00b0fd*,stream=clone* some streams of a run that storscope made, on all of their targets together
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storscope.domain.errors import UsageError
from storscope.domain.moment import SINCE_START_FORM, UTC_FORM, Moment, SinceStart, moment_from_text
from storscope.domain.near_names import did_you_mean

KEYS: Final = ("run", "stream", "capture", "entity", "system", "since", "until")
_OWN_ID: Final = re.compile(r"(bench|simulation|sweep|knee)-[0-9a-f*]")
_NEXT_KEY = re.compile(rf",(?=(?:{'|'.join(KEYS)})=)")


@dataclass(frozen=True, slots=True)
class Times:
    """A range of times in nanoseconds since 1970 UTC. None is no bound."""

    since_ns: int | None = None
    until_ns: int | None = None

    @property
    def are_bounded(self) -> bool:
        """Whether only a part of the time is meant."""
        return self.since_ns is not None or self.until_ns is not None

    def take(self, start_ns: int | None, end_ns: int | None) -> bool:
        """Whether an interval lies within. One without times does only where there is no bound."""
        if not self.are_bounded:
            return True
        if start_ns is None:
            return False
        return (self.since_ns is None or start_ns >= self.since_ns) and (
            self.until_ns is None or (start_ns if end_ns is None else end_ns) <= self.until_ns
        )


@dataclass(frozen=True, slots=True)
class Selector:
    """Which part of a store is meant. None means all. Names are patterns with * and ?, or the exact name."""

    run: str | None = None
    stream: str | None = None
    capture: str | None = None
    entity: str | None = None
    system: str | None = None
    since: Moment | None = None
    until: Moment | None = None

    def takes_run(self, run: str, name: str | None, sweep: str | None = None) -> bool:
        """Whether a run of that id and name is meant; also by the id of the sweep that it is part of."""
        return self.run is None or any(_fits(text, self.run) for text in (run, name, sweep) if text)

    def takes_stream(self, name: str) -> bool:
        """Whether a stream of a run is meant."""
        return self.stream is None or _fits(name, self.stream)

    def takes_capture(self, capture: str, path: str) -> bool:
        """Whether a capture is meant: by the beginning of its id, its path or its file name."""
        if self.capture is None or capture.startswith(self.capture):
            return True
        return any(_fits(text, self.capture) for text in (path, path.replace("\\", "/").rsplit("/", 1)[-1]))

    def takes_entity(self, kind: str, entity: str) -> bool:
        """Whether an entity is meant: by its name or as 'kind/name'."""
        return self.entity is None or _fits(entity, self.entity) or _fits(f"{kind}/{entity}", self.entity)

    def takes_system(self, system: str) -> bool:
        """Whether a system is meant."""
        return self.system is None or _fits(system, self.system)

    @property
    def has_times(self) -> bool:
        """Whether only a part of the time is meant."""
        return self.since is not None or self.until is not None

    @property
    def counts_from_start(self) -> bool:
        """Whether a time is that since the start of a run."""
        return isinstance(self.since, SinceStart) or isinstance(self.until, SinceStart)

    def times(self, start_ns: int | None) -> Times | None:
        """The times that are meant of a run that started then. None if that is not known and would have to be."""
        if self.counts_from_start and start_ns is None:
            return None
        return Times(*(_since_1970(moment, start_ns or 0) for moment in (self.since, self.until)))


def _since_1970(moment: Moment | None, start_ns: int) -> int | None:
    return start_ns + moment.ns if isinstance(moment, SinceStart) else moment


@dataclass(frozen=True, slots=True)
class Side:
    """One side: where its evidence is (None: the store in use) and which part of it is meant."""

    text: str
    path: Path | None
    selector: Selector


def parse_side(text: str) -> Side:
    """The side a user means. Raises UsageError for what is neither a path nor a selection."""
    if Path(text).exists():
        return Side(text, Path(text), Selector())
    if "=" in text and text.split("=", 1)[0] in KEYS:  # before any '#', which may be of a name: fio's 'job #2'
        return Side(text, None, _selector(text, text))
    where, mark, selection = text.partition("#")
    if mark:
        return Side(text, Path(where) if where else None, _selector(selection, text))
    if "=" in text and text.split("=", 1)[0].isidentifier():
        _selector(text, text)  # refuses the key, and names the known ones
    part = "A part of a store is named STORE#run=NAME; see storscope compare --help."
    raise UsageError(
        "a file, folder, archive or store, or a selection like run=NAME",
        f"{text!r}, which does not exist",
        hint=f"Did you mean run={text}? {part}" if _OWN_ID.match(text) else part,
    )


def _selector(text: str, whole: str) -> Selector:
    names: dict[str, str] = {}
    times: dict[str, Moment] = {}
    for part in _NEXT_KEY.split(text):
        key, mark, value = part.partition("=")
        if mark and key in KEYS and not value:
            raise UsageError(f"what {key}= is to choose", "nothing behind the sign", where=whole)
        if not mark or key not in KEYS:
            raise UsageError(
                "one of " + ", ".join(f"{key}=..." for key in KEYS),
                repr(part),
                where=whole,
                hint=did_you_mean(key, KEYS),
            )
        if key in ("since", "until"):
            times[key] = _moment(value, whole)
        else:
            names[key] = value
    if "stream" in names and "entity" in names:
        raise UsageError("stream= or entity=", "both", where=whole, hint="Streams are of runs, entities have counters.")
    return Selector(since=times.get("since"), until=times.get("until"), **names)


def _moment(text: str, whole: str) -> Moment:
    try:
        return moment_from_text(text)
    except ValueError:
        raise UsageError(f"{UTC_FORM}, or of a run {SINCE_START_FORM}", repr(text), where=whole) from None


def _fits(text: str, pattern: str) -> bool:
    """The exact text, or one of the patterns joined with '|'. Brackets are text: names of devices hold them."""
    return text == pattern or any(
        text == one or fnmatch.fnmatchcase(text, one.replace("[", "[[]")) for one in pattern.split("|")
    )
