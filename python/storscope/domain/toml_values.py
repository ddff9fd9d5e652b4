"""How a value that is no TOML would be written: what to try, for messages."""

from __future__ import annotations

import re

from storscope.domain.toml_places import Place

QUOTES = "\u201c\u201d\u201e\u201f\u2018\u2019\u00ab\u00bb\"'`"
"""What people put around texts; the straight ones are those of TOML."""
_WORDS = {"true": ("true", "yes", "on", "y"), "false": ("false", "no", "off", "n"), "inf": ("infinity", "inf")}
_NONE = ("none", "null", "nil", "-")


def how_written(place: Place) -> str:
    """What to write in place of the value there."""
    written, plain = place.written, plain_of(place.written)
    before = f"{place.key} = " if place.key else ""
    if not written:
        return "The value stands behind the =, on the same line; a key without one is left out."
    if written.startswith("("):
        return "A list stands in [ ]."
    if written.startswith("="):
        return f"One = is enough: {before}{written.lstrip('= ')}."
    if written[0] not in QUOTES:
        if plain.lower() in _NONE:
            return "A key without a value is left out."
        word = next((value for value, words in _WORDS.items() if plain.lower() in words), None)
        if word is not None:
            return f"Write {before}{word}."
    return _as_number(before, plain) or f'Texts, and numbers with a unit, stand in quotes: {before}"{plain}".'


def _as_number(before: str, plain: str) -> str:
    """'' of what is not nearly a number."""
    found = ""
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", plain):
        found = f"No number has a comma: {before}{plain.replace(',', '')}."
    elif re.fullmatch(r"[+-]?\d+,\d+", plain):
        found = f"A number has a point: {before}{plain.replace(',', '.')}."
    elif re.fullmatch(r"[+-]?0\d+", plain):
        found = f"No number begins with 0: {before}{int(plain)}."
    elif re.fullmatch(r"[+-]?(\.\d+|\d+\.)", plain):
        found = f"A point has digits on both sides: {before}{float(plain)}."
    elif re.match(r"\d{4}-\d{1,2}-\d{1,2}", plain):
        found = "A date is one that exists, as 2026-11-22 or 2026-11-22T10:30:00Z; a text stands in quotes."
    return found


def plain_of(written: str) -> str:
    """A value without quotes of any kind around it."""
    return written.strip(QUOTES + ";").strip()


def place_of_value(place: Place) -> int:
    """The offset at which the value begins, behind blanks."""
    text = place.text[place.item : place.offset]
    return place.item + len(text) - len(text.lstrip())
