"""Controller events of an HP EVA, exported as plain text or CSV.

UNVERIFIED: no real export was at hand; the phrases are those of field reports ("changed Battery Cache policy") and of
the vendor's event descriptions. Expected: one event a line, a date and time first (or in its own cells), then text:

    2009-11-20 22:00:20  Controller A changed Battery Cache policy to write-through
    20-Nov-2009 22:00:21 Virtual disk vmfs01 moved to controller B
    11/20/2009 10:00:22 PM,Warning,"Battery assembly 1 has transitioned to the degraded state"
    20.11.2009 22:00:23 Controller B changed Battery Cache policy to write-back

What a phrase says becomes an event of the vocabulary; every other line with a time is kept as 'array_event'. Lines
without a time continue the event above them. Times are the array's or the management server's local time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._date_order import DateOrder
from storscope.sources.importers._evaperf import DEFAULT_EVA_SYSTEM
from storscope.sources.importers._evaperf_row import controller_name, friendly
from storscope.sources.importers._evaperf_rows import csv_cells
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._stamps import Stamps

_STAMP = re.compile(
    r"\s*[\"'\[]?(?P<stamp>\d{4}[-/]\d\d?[-/]\d\d?[T ,;]+\d\d?:\d\d:\d\d"
    r"|\d\d?[-. ][A-Za-z]{3}[-. ]\d{4}[ ,;]+\d\d?:\d\d:\d\d(?: ?[AP]M)?"
    r"|\d\d?(?P<between>[/.])\d\d?(?P=between)\d{4}[ ,;]+\d\d?:\d\d:\d\d(?: ?[AP]M)?)"
    r"(?:[.,]\d{1,6})?(?P<zone>Z|[+-]\d\d:?\d\d)?[\"'\]]?"
    r"(?P<rest>[\s,;|:-].*|)",
    re.IGNORECASE,
)
_MONTH = re.compile(r"(\d\d?)[-. ]([A-Za-z]{3})[-. ](\d{4})")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SEVERITIES: Final = frozenset(
    ("informational", "information", "info", "notice", "warning", "minor", "major", "critical", "error", "fatal",
     "undetermined", "normal")
)  # fmt: skip

_REBUILDING = re.compile(r"rebuild|reconstruct", re.IGNORECASE)
_MOVING = re.compile(r"level+ing|restrip|migration", re.IGNORECASE)
"""Data moves to other drives of its group: none of it is in danger, as it is during a rebuild."""
_WORK = r"(?:rebuild|reconstruct\w*|level+ing|restrip\w*|migration)\b.*"
_EVENTS: Final = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("cache_policy_changed", r"cache policy|write.?back cache (?:has been )?(?:en|dis)abled"),
        ("cache_policy_changed", r"cache .*write.?(?:through|back)"),
        (
            "ownership_changed",
            r"owning controller|(?:moved|transferred|failed over) to (?:the )?(?:other |partner )?contr",
        ),
        ("ownership_changed", r"ownership .*(?:changed|transferred|moved)|implicit lun transition"),
        ("rebuild_finished", _WORK + r"(?:complet|finish|ended)"),
        ("rebuild_started", _WORK + r"(?:start|began|begun|initiat)"),
        ("disk_failed", r"(?:disk|drive)\b.*(?:failed|failure|removed|inoperative|predict)"),
        ("battery_changed", r"batter(?:y|ies)"),
    )
)
"""Tried in this order: a line about the policy of the battery-backed cache is about the policy."""
_TELLING = re.compile(
    r"battery cache policy|owning controller|moved to controller|(?:battery|disk|controller)\b.*\btransitioned",
    re.IGNORECASE,
)
_USUAL = re.compile(r"controller|virtual disk|disk group|physical disk|battery", re.IGNORECASE)
_POLICY = re.compile(r"write.?through|write.?back|disabled|enabled", re.IGNORECASE)
_STATE = re.compile(r"\b(good|normal|degraded|failed|discharged|charging|low|missing|removed|working)\b", re.IGNORECASE)
_CONTROLLER = re.compile(r"\bcontroller\s+[\"']?([A-Z0-9][\w-]*)[\"']?", re.IGNORECASE)
_NEW_OWNER = re.compile(r"\bto\s+(?:the\s+)?(?:controller\s+)?[\"']?([A-Z0-9][\w-]*)[\"']?\s*[.)]?\s*$", re.IGNORECASE)
_VDISK = re.compile(
    r"\b(?:virtual disk|vdisk|lun|volume)\s+(?:\"([^\"]+)\"|'([^']+)'"
    r"|(\\[^,;]*?)(?=\s+(?:has|was|moved|is|owning|ownership|changed|transferred|transitioned)\b)|([^\s,;:]+))",
    re.IGNORECASE,
)
_DISK = re.compile(
    r"\b(?:physical disk|disk drive|disk|drive)\s+(?:\"([^\"]+)\"|(?:in )?((?:bay )?\d[\w-]*|[\w-]*\d[\w-]*))",
    re.IGNORECASE,
)
_LONGEST_TEXT: Final = 4_000
"""An event's text is cut there: a longer one is a file pasted into a line."""
_GROUP = re.compile(r"\bdisk group\s+(?:\"([^\"]+)\"|([^\s,;:.]+))", re.IGNORECASE)


@dataclass(frozen=True)
class _Line:
    stamp: str
    severity: str | None
    text: str


def _recognise(head: Head) -> float:
    lines = [line for line in head.lines[:1000] if line.strip()]
    events = list(_events(lines, None))
    if len(events) < max(1, len(lines) // 3):
        return 0.0
    if not any(_TELLING.search(event.text) for event in events):
        return 0.0
    usual = sum(bool(_USUAL.search(event.text)) for event in events)
    return 0.85 if usual >= len(events) / 4 else 0.4


def _events(lines: Iterable[str], recorder: Recorder | None) -> Iterator[_Line]:
    """Every event; a line without a time is added to the event above it."""
    current: _Line | None = None
    for line in lines:
        match = _STAMP.match(line)
        if match is None:
            if current is not None and line.strip():
                current = _Line(current.stamp, current.severity, f"{current.text} {line.strip()}"[:_LONGEST_TEXT])
            elif line.strip() and recorder:
                recorder.omit("lines before the first event")
            continue
        if current is not None:
            yield current
        current = _line(match)
    if current is not None:
        yield current


def _line(match: re.Match[str]) -> _Line:
    stamp = _MONTH.sub(_numeric_month, re.sub(r"[T,; ]+", " ", match["stamp"].upper(), count=1)) + (match["zone"] or "")
    rest = match["rest"].strip()[:_LONGEST_TEXT]
    if match["rest"][:1] not in (",", ";", "|"):
        words = rest.split(None, 1)
        if len(words) == 2 and words[0].strip("[]:").lower() in _SEVERITIES:
            return _Line(stamp, words[0].strip("[]:").lower(), words[1])
        return _Line(stamp, None, rest)
    delimiter = match["rest"][0]
    cells = [cell.strip() for cell in csv_cells(rest[1:], delimiter)]
    severity = next((cell.lower() for cell in cells if cell.lower() in _SEVERITIES), None)
    return _Line(stamp, severity, ", ".join(cell for cell in cells if cell and cell.lower() not in _SEVERITIES))


def _numeric_month(match: re.Match[str]) -> str:
    month = _MONTHS.index(match[2].lower()) + 1 if match[2].lower() in _MONTHS else 0
    return f"{match[3]}-{month:02d}-{int(match[1]):02d}"


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    system = options.system or DEFAULT_EVA_SYSTEM
    recorder.notes.tool, recorder.notes.system = "HP EVA controller events", system
    stamps = Stamps(options, glibc_habits=False, order=DateOrder(is_regular=False))
    first = last = None
    for event in _events(Evidence(evidence.path, evidence.name).lines(), None):
        stamps.learn(event.stamp)
        first, last = first or event.stamp, event.stamp
    clock = LocalClock(options.zone(), jumbled=True)
    newest_first = _is_later(stamps, first, last)
    count = 0
    for event in _events(evidence.lines(), recorder):
        count += 1
        if newest_first:
            clock.previous_ns = None
        _record(recorder, options, stamps, clock, system, event)
    if not count:
        raise broken(
            evidence, "lines that begin with a date and a time, then the event's text", "none",
            hint="Export the controller event log as text or CSV.",
        )  # fmt: skip
    if recorder.notes.clock:
        recorder.notes.clock += clock.words
    if doubt := stamps.doubt:
        recorder.warn(doubt)


def _is_later(stamps: Stamps, first: str | None, last: str | None) -> bool:
    """Whether the first event of a log is later than the last: then going back is its way."""
    told = [moment.replace(tzinfo=None) for stamp in (first, last) if stamp and (moment := stamps.moment(stamp, None))]
    return len(told) == 2 and told[0] > told[1]


def _record(
    recorder: Recorder, options: ImportOptions, stamps: Stamps, clock: LocalClock, system: str, event: _Line
) -> None:
    moment = stamps.moment(event.stamp, None)
    if moment is None:
        recorder.omit("events with a date that does not exist")
        return
    recorder.notes.clock = recorder.notes.clock or ("zone in the file" if moment.tzinfo else options.zone_words())
    kind = next((name for name, pattern in _EVENTS if pattern.search(event.text)), "array_event")
    attributes = dict(_attributes(kind, event.text))
    if event.severity:
        attributes["severity"] = event.severity
    entity = _entity(system, kind, event.text)
    recorder.event(entity, clock.instant(moment), kind, event.text, attributes=attributes)
    if entity.kind in ("controller", "disk_group"):
        recorder.link(entity, "member_of", EntityRef(system, "array", system))


def _attributes(kind: str, text: str) -> Mapping[str, str]:
    if kind == "cache_policy_changed" and (policies := _POLICY.findall(text)):
        return {"policy": policies[-1].lower().replace(" ", "-")}
    if kind == "battery_changed" and (states := _STATE.findall(text)):
        return {"state": states[-1].lower()}
    if kind.startswith("rebuild") and _MOVING.search(text) and not _REBUILDING.search(text):
        return {"work": "restripe"}
    if kind == "ownership_changed":
        owner = _NEW_OWNER.search(text)
        controllers = _CONTROLLER.findall(text)
        found = owner[1] if owner else controllers[-1] if controllers else None
        return {"owner": controller_name(found) or found} if found else {}
    return {}


def _entity(system: str, kind: str, text: str) -> EntityRef:
    """What the event is about, by the kind of event; the array when the line names nothing."""
    patterns: tuple[tuple[str, re.Pattern[str]], ...] = (("controller", _CONTROLLER),)
    if kind == "ownership_changed":
        patterns = (("vdisk", _VDISK), ("controller", _CONTROLLER))
    elif kind == "disk_failed":
        patterns = (("disk", _DISK),)
    elif kind.startswith("rebuild"):
        patterns = (("disk_group", _GROUP), ("disk", _DISK))
    elif kind == "array_event":
        patterns = (("vdisk", _VDISK), ("disk_group", _GROUP), ("controller", _CONTROLLER))
    for entity_kind, pattern in patterns:
        if match := pattern.search(text):
            name = next((group for group in match.groups() if group), "")
            if name and name.lower() not in ("has", "was", "is", "for", "of", "to", "battery", "group"):
                return EntityRef(system, entity_kind, friendly(name.strip()) or name)
    return EntityRef(system, "array", system)


IMPORTER = Importer(
    name="eva_events",
    title="HP EVA controller events, text or CSV",
    supports="lines with a date (2009-11-20, 20-Nov-2009, 11/20/2009 or 20.11.2009), a time and a text, with or "
    "without severity; UNVERIFIED",
    how_to_capture="Command View EVA: array, View events, Controller event log, save as text",
    recognise=_recognise,
    read=_read,
    carries=(
        "events cache_policy_changed, battery_changed, ownership_changed, disk_failed, rebuild_started",
        "rebuild_finished; all others as array_event",
    ),
    never={"performance": "events say what happened, not how fast"},
)
