"""Units of bandwidths in headings: which letters are bytes, which are bits, and which tell neither.

`MB/s`, `kB/s` and `MBps` are bytes, `Mb/s` and `Mbps` bits: a capital beside a small letter was chosen. Where all is
small it was not: `kb/s` and `mb/s` are the bytes of whoever exports storage, which has to be said, and `kbps`, `bps`
and `b/s` may be either, so that they are none. `read_mb_per_s` and the like are names of ours: bytes.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

_UNIT: Final = re.compile(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?P<prefix>[KMGTkmgt]?)(?P<binary>[iI]?)(?P<letter>[bB])"
    r"(?P<rest>[pP][sS](?![A-Za-z])|\s*/\s*[sS](?:ec|ecs|econd|EC|ECS|ECOND)?(?![A-Za-z])"
    r"|_(?:per|PER)(?=_)|\s+(?i:per)(?=\s)|_[sS](?![A-Za-z]))"
)


class Letters(Enum):
    """What the letters of a unit are."""

    BYTES = "bytes"
    BITS = "bits"
    SMALL = "bytes, as storage has them"
    UNSURE = "bytes or bits"


def with_plain_units(text: str) -> str:
    """A heading whose bandwidths are `mb per s` or `mbit per s`; `unsure per s` where it may be either."""
    return _UNIT.sub(_plain, text)


def has_small_letters(heading: str) -> bool:
    """Whether a unit is taken as bytes though its letters could be bits: `kb/s`."""
    return any(_letters(match) is Letters.SMALL for match in _UNIT.finditer(heading))


def has_unsure_letters(heading: str) -> bool:
    """Whether a unit may be bytes or bits: `kbps`."""
    return any(_letters(match) is Letters.UNSURE for match in _UNIT.finditer(heading))


def _letters(match: re.Match[str]) -> Letters:
    prefix, rest = match["prefix"], match["rest"].strip().lower()
    if match["letter"] == "B":
        return Letters.BYTES
    if prefix.isupper():
        return Letters.UNSURE if match["binary"] else Letters.BITS
    if rest == "_per":
        return Letters.BYTES
    return Letters.UNSURE if rest == "ps" or not prefix else Letters.SMALL


def _plain(match: re.Match[str]) -> str:
    letters = _letters(match)
    scale = (match["prefix"] + match["binary"]).lower()
    unit = {Letters.BITS: f"{scale}bit", Letters.UNSURE: "unsure"}.get(letters, f"{scale}b")
    per = " per" if match["rest"].strip().lower() in ("per", "_per") else " per s"
    return f" {unit}{per} "
