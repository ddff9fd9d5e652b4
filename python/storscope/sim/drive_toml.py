"""Drives as tables of a design file: exact, with units that people read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from storscope import _core
from storscope.domain.errors import ConfigError, StorscopeError

_UNITS: Final = (
    ("_bytes_per_s", ((10**9, "GB/s"), (10**6, "MB/s"), (10**3, "kB/s"))),
    ("_ns", ((10**6, "ms"), (10**3, "us"), (1, "ns"))),
)
_SIZES: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_FIRST: Final = ("kind", "form", "size_bytes", "turns_per_min", "seek", "track_to_track_ns", "average_ns", "qd")
"""Keys that a reader looks for first, in this order; the others follow as they come."""
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def checked_name(name: str) -> str:
    """A name that can stand in [drives.NAME]. Raises ConfigError."""
    if not _BARE_KEY.fullmatch(name):
        raise ConfigError("letters, digits, - and _", repr(name), where="--name")
    return name


def drive_table(
    name: str, design: Mapping[str, Any], *, header: Iterable[str] = (), remarks: Mapping[str, str] | None = None
) -> str:
    """The table [drives.NAME], with comments above it and, behind its lines, remarks on numbers by their JSON keys.

    It is read again before it is returned, so that what is written is what was fitted. Raises StorscopeError if not.
    """
    remarks = remarks or {}
    lines = [f"# {line}".rstrip() for line in header] + [f"[drives.{checked_name(name)}]"]
    for key, value in _in_order(design):
        said = _said({place: words for place, words in remarks.items() if place.split(".")[0] == key})
        lines.append(_pair(key, value) + (f"  # {said}" if said else ""))
    text = "\n".join(lines) + "\n"
    _check(name, design, text)
    return text


def _in_order(table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What is there, the keys of `_FIRST` in front."""
    there = [(key, value) for key, value in table.items() if value is not None]
    return sorted(there, key=lambda pair: _FIRST.index(pair[0]) if pair[0] in _FIRST else len(_FIRST))


def _said(remarks: Mapping[str, str]) -> str:
    """The remarks on one line, each with the names of what it is on where these are part of an inner table."""
    places: dict[str, list[str]] = {}
    for place, words in remarks.items():
        places.setdefault(words, []).append(plain(place.partition(".")[2]))
    return "; ".join(f"{', '.join(names)} {words}".strip() for words, names in places.items())


def plain(key: str) -> str:
    """A key without its unit, as it is written in designs."""
    suffixes = ("_bytes_per_s", "_bytes", "_ns")
    return next((key.removesuffix(suffix) for suffix in suffixes if key.endswith(suffix)), key)


def _pair(key: str, value: Any) -> str:
    """A key without its unit, and the value with it; a negative number keeps its key, since quantities have no sign."""
    if isinstance(value, int | float) and value < 0:
        return f"{key} = {json.dumps(value)}"
    for suffix, units in _UNITS:
        if key.endswith(suffix):
            return f"{key.removesuffix(suffix)} = {json.dumps(_quantity(value, units))}"
    if key.endswith("_bytes"):
        factor, unit = next(size for size in _SIZES if value % size[0] == 0)
        return f'{key.removesuffix("_bytes")} = "{value // factor} {unit}"'
    return f"{key} = {_value(value)}"


def _quantity(value: float, units: Iterable[tuple[int, str]]) -> str:
    """In the largest unit of which there is one."""
    sizes = list(units)
    factor, unit = next((size for size in sizes if abs(value) >= size[0]), sizes[-1])
    return f"{(Decimal(str(value)) / factor).normalize():f} {unit}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_pair(key, one) for key, one in _in_order(value)) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return json.dumps(value)


def _is_same(found: Any, written: Any) -> bool:
    """Whether two values are the same but for the last digit, which a unit may cost."""
    if isinstance(found, Mapping) and isinstance(written, Mapping):
        keys = set(found) | set(written)
        return all(_is_same(found.get(key), written.get(key)) for key in keys)
    if isinstance(found, list) and isinstance(written, list) and len(found) == len(written):
        return all(map(_is_same, found, written))
    if isinstance(found, float) and isinstance(written, int | float):
        return math.isclose(found, written, rel_tol=1e-12)
    return bool(found == written)


def _check(name: str, design: Mapping[str, Any], text: str) -> None:
    volume = 'volumes = [{ volume = "v" }]'
    around = (
        f'name = "check"\n{text}\n[[group]]\nname = "g"\ndrive = "{name}"\ncount = 1\nlayout = "raid0"\n'
        f'segment = "64 KiB"\n[[volume]]\nname = "v"\ngroup = "g"\nsize = "512 KiB"\n[[host]]\nname = "h"\n{volume}\n'
    )
    hint = "This is a defect of storscope; please report it with the evidence."
    try:
        found = json.loads(_core.read_design(around))["design"]["drives"][name]
    except _core.DesignError as error:
        raise StorscopeError("a table that can be read again", str(error.args), hint=hint) from None
    if not _is_same(found, design):
        raise StorscopeError("a table that reads as it was fitted", json.dumps(found), hint=hint)
