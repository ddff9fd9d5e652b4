"""What Python callers ask of evidence, checked before any of it is read."""

from __future__ import annotations

import datetime as dt
import errno
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from storscope.domain.errors import UsageError
from storscope.domain.moment import SINCE_START_FORM, UTC_FORM, Moment, moment_from_text
from storscope.domain.units import NS_PER_S, PLACEHOLDER_BEFORE_NS, YEARS, ns_from_datetime
from storscope.sources.importer import ImportOptions, start_in
from storscope.store.unreachable import unreachable
from storscope.store.whole_file import check_place
from storscope.workbench.arguments import Duration, found_words, real, taken_duration_ns, whole
from storscope.workbench.brought import Reading
from storscope.workbench.import_summary import ImportSummary
from storscope.workbench.simulated import Simulated

When = str | int | dt.datetime
"""ISO 8601 or a datetime (UTC without a zone), ns since 1970, or the time since the start of a simulated run."""

MOST_SEED = 2**53 - 1
"""The greatest that readers of JSON take."""
_SIMULATED = "storscope.simulate_each gives runs that can be diagnosed and compared: simulate_each([design], workload)."


def taken_evidence(what: str, evidence: object) -> list[Path] | list[Simulated]:
    """One path or simulated run, or several of a kind, as a list. Raises UsageError for anything else, and for none."""
    if isinstance(evidence, Mapping):
        raise UsageError(what, "a mapping", hint=_SIMULATED)
    several = isinstance(evidence, Iterable) and not isinstance(evidence, str | bytes | Path | Simulated)
    found: list[object] = list(evidence) if several and isinstance(evidence, Iterable) else [evidence]
    if not found:
        raise UsageError(what, "none")
    simulated = [one for one in found if isinstance(one, Simulated)]
    if simulated and len(simulated) == len(found):
        return simulated
    if simulated:
        raise UsageError("files or simulated runs", f"both: {found_words(evidence)}", hint="Give each by itself.")
    return [_path(what, one) for one in found]


def taken_path(what: str, path: object) -> Path | None:
    """A file or folder, as a Path; None stands for what was not asked. Raises UsageError for anything else."""
    return None if path is None else _path(what, path)


def taken_page(path: object) -> Path | None:
    """A file for a page. Raises UsageError where none can be, or where something else would be lost."""
    place = taken_path("a file for the report", path)
    if place is None:
        return None
    try:
        check_place(place, is_page=True)
    except UsageError as error:
        if "--replace" not in error.hint:
            raise
        hint = "Name another file, or remove this one."
        raise UsageError(error.expected, error.found, where=error.where, hint=hint) from error
    return place


def _path(what: str, path: object) -> Path:
    if not isinstance(path, str | Path):
        raise UsageError(what, found_words(path))
    text = str(path)
    if not text or "\0" in text or "\n" in text or _is_too_long(text):
        raise UsageError(what, f"text that is no name: {found_words(path)}")
    if why := unreachable(f"{text}/."):  # pathlib drops the dot, and with it whether the folder may be entered
        raise UsageError(what, why, where=text)
    return Path(path)


def _is_too_long(text: str) -> bool:
    try:
        Path(text).exists()
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


def taken_moment(name: str, when: object) -> Moment | None:
    """A moment as callers name it; None stands for what was not asked. Raises UsageError for anything else."""
    if when is None:
        return None
    found: Moment | None = None
    if isinstance(when, dt.datetime):
        found = _instant(when)
    elif isinstance(when, str):
        found = _of_text(when)
    else:
        found = whole(when)
        found = found if isinstance(found, int) and found >= PLACEHOLDER_BEFORE_NS else None
    if found is None:
        expected = f"{UTC_FORM}, a datetime, ns since 1970, or of a simulated run {SINCE_START_FORM}"
        raise UsageError(expected, found_words(when), where=name)
    return found


def _instant(moment: dt.datetime) -> int | None:
    if moment.year not in YEARS:  # also pandas' NaT, which calls itself one
        return None
    return ns_from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC))


def _of_text(text: str) -> Moment | None:
    try:
        return moment_from_text(text)
    except ValueError:
        return None


def taken_share(name: str, share: object, least: float, most: float) -> float:
    """A ratio from `least` to `most`, or text like '5%'. Raises UsageError for anything else."""
    what = f"a share like 0.05 or '5%', from {100 * least:g} % to {100 * most:g} %"
    ratio = _share(share) if isinstance(share, str) else real(f"{name}: {what}", share)
    if ratio is None or not least <= ratio <= most:
        raise UsageError(what, found_words(share), where=name)
    return ratio


def _share(text: str) -> float | None:
    number = text.strip()
    try:
        return float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        return None


def taken_text(name: str, text: object) -> str | None:
    """A text; None stands for what was not asked. Raises UsageError for anything else."""
    if text is None or (isinstance(text, str) and text):
        return text
    raise UsageError("a text", found_words(text), where=name)


def taken_reading(
    *, as_format: str | None = None, timezone: str | zoneinfo.ZoneInfo | None = None, system: str | None = None,
    start: str | dt.datetime | None = None, interval: Duration | None = None, year: int | None = None,
    day_first: bool | None = None, keep_first: bool = False, told: Callable[[ImportSummary], None] | None = None,
) -> Reading:  # fmt: skip
    """How evidence is read, of what callers say about it. Raises UsageError for what cannot be."""
    zone = _zone(timezone)
    for name, flag in (("day_first", day_first), ("keep_first", keep_first)):
        if flag not in (None, True, False):
            raise UsageError("True or False", found_words(flag), where=name)
    interval_ns = taken_duration_ns(interval)
    options = ImportOptions(
        timezone=zone,
        start=start_in(_start(start), zone),
        interval_s=None if interval_ns is None else interval_ns / NS_PER_S,
        system=taken_text("system", system),
        year=_year(year),
        day_first=day_first,
        keep_first=bool(keep_first),
    )
    return Reading(options=options, as_format=taken_text("as_format", as_format), told=told)


def refuse_reading(reading: Reading, read: str) -> None:
    """Raises UsageError if something is said about evidence where none is read, but what `read` names."""
    said = [*(["as_format"] if reading.as_format else []), *(reading.options or ImportOptions()).as_text()]
    if said:
        raise UsageError(
            f"evidence to read for {', '.join(said).replace('interval_s', 'interval')}", read,
            hint="That was read before, or made; what is said of a file has no effect on it.",
        )  # fmt: skip


def _zone(timezone: object) -> zoneinfo.ZoneInfo | None:
    if timezone is None or isinstance(timezone, zoneinfo.ZoneInfo):
        return timezone
    try:
        if isinstance(timezone, str):
            return zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise UsageError("an IANA zone like 'Europe/Berlin' or 'UTC'", found_words(timezone), where="timezone")


def _year(year: object) -> int | None:
    taken = None if year is None else whole(year)
    if year is not None and taken not in YEARS:
        raise UsageError(f"a year from {YEARS.start} to {YEARS.stop - 1}", found_words(year), where="year")
    return taken


def _start(start: object) -> dt.datetime | None:
    if start is None:
        return None
    try:
        moment = dt.datetime.fromisoformat(start) if isinstance(start, str) else start
    except ValueError:
        moment = None
    if not isinstance(moment, dt.datetime) or moment.year not in YEARS:
        expected = "a time like 2026-11-20T22:00 or 2026-11-20T22:00+01:00, or a datetime"
        raise UsageError(expected, found_words(start), where="start")
    return moment
