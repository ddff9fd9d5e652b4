"""Abbreviations of time zones that mean one offset: EST, CEST, AEDT, but not CST (Chicago, Havana, Shanghai).

From the tz database 2025b: those that every zone which uses them puts at the same offset, from 2015 on. Before (2014f),
Australia's EST and EDT were called so as well, so that an older stamp is not told by its abbreviation.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

OFFSETS_HOURS: Final = {
    "EST": -5, "EDT": -4, "MST": -7, "MDT": -6, "PDT": -7, "AKST": -9, "AKDT": -8, "AST": -4, "ADT": -3, "HST": -10,
    "NST": -3.5, "NDT": -2.5, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "MET": 1, "MEST": 2, "EET": 2,
    "EEST": 3, "MSK": 3, "WAT": 1, "CAT": 2, "SAST": 2, "EAT": 3, "IDT": 3, "PKT": 5, "WIB": 7, "WITA": 8, "WIT": 9,
    "HKT": 8, "JST": 9, "AWST": 8, "ACST": 9.5, "ACDT": 10.5, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}  # fmt: skip
FIRST_YEAR: Final = 2015
_OF_SEVERAL: Final = ("PST", "CST", "IST", "SST", "GST", "WST")
"""Abbreviations that mean several offsets."""
_SAID: Final = re.compile(
    r"[\s_]*\(?\s*(?<![A-Za-z])(?P<zone>(?i:UTC|GMT)(?:\s*[+-]\d\d?(?::?\d\d)?)?"
    rf"|{'|'.join((*OFFSETS_HOURS, *_OF_SEVERAL))})\s*\)?$"
)


def zone_called(abbreviation: str, moment: dt.datetime) -> dt.tzinfo | None:
    """The offset that an abbreviation means at a naive time; None where it may mean several, or is not known."""
    hours = OFFSETS_HOURS.get(abbreviation) if moment.year >= FIRST_YEAR else None
    return None if hours is None else dt.timezone(dt.timedelta(hours=hours), abbreviation)


def zone_word_of(text: str) -> tuple[str, str | None]:
    """A text and the zone at its end, apart: 'Time (UTC)' -> Time, UTC; '10:05 GMT+1', 'timestamp (EST)'."""
    match = _SAID.search(text.strip())
    return (text, None) if match is None else (text.strip()[: match.start()], re.sub(r"\s", "", match["zone"]).upper())


def fixed_zone(word: str) -> dt.tzinfo | None:
    """The offset that UTC, GMT and what is counted from them mean; None for an abbreviation."""
    match = re.fullmatch(r"(?:UTC|GMT)(?:(?P<sign>[+-])(?P<hours>\d\d?):?(?P<minutes>\d\d)?)?", word)
    if match is None:
        return None
    minutes = int(match["hours"] or 0) * 60 + int(match["minutes"] or 0)
    if minutes >= 24 * 60:
        return None
    return dt.timezone(dt.timedelta(minutes=-minutes if match["sign"] == "-" else minutes))
