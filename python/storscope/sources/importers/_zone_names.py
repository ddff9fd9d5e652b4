"""Abbreviations of time zones that mean one offset: EST, CEST, AEDT, but not CST (Chicago, Havana, Shanghai).

From the tz database 2025b: those that every zone which uses them puts at the same offset, from 2015 on. Before (2014f),
Australia's EST and EDT were called so as well, so that an older stamp is not told by its abbreviation.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

OFFSETS_HOURS: Final = {
    "EST": -5, "EDT": -4, "MST": -7, "MDT": -6, "PDT": -7, "AKST": -9, "AKDT": -8, "AST": -4, "ADT": -3, "HST": -10,
    "NST": -3.5, "NDT": -2.5, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "MET": 1, "MEST": 2, "EET": 2,
    "EEST": 3, "MSK": 3, "WAT": 1, "CAT": 2, "SAST": 2, "EAT": 3, "IDT": 3, "PKT": 5, "WIB": 7, "WITA": 8, "WIT": 9,
    "HKT": 8, "JST": 9, "AWST": 8, "ACST": 9.5, "ACDT": 10.5, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}  # fmt: skip
FIRST_YEAR: Final = 2015


def zone_called(abbreviation: str, moment: dt.datetime) -> dt.tzinfo | None:
    """The offset that an abbreviation means at a naive time; None where it may mean several, or is not known."""
    hours = OFFSETS_HOURS.get(abbreviation) if moment.year >= FIRST_YEAR else None
    return None if hours is None else dt.timezone(dt.timedelta(hours=hours), abbreviation)
