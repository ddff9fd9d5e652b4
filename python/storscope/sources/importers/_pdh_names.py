r"""Counter paths of PDH-CSV: `\\host\Group(instance)\Counter`.

An instance may hold spaces, colons, commas, parentheses and backslashes (`Virtual Disk(SQL02 (df09cdf2):scsi0:0)`,
`LogicalDisk(C:\mnt)`). So the host ends at the third backslash, the counter begins after the last one, the group ends
before the first parenthesis and the instance at the last.
"""

from __future__ import annotations

from typing import NamedTuple

LOCAL_HOSTS = frozenset({"", ".", "local", "localhost"})
"""How esxtop run on the host itself, and paths without a host, call it."""


class Place(NamedTuple):
    """What a counter belongs to."""

    host: str
    group: str
    instance: str


def place_of(place: str) -> Place:
    """Takes the part before the counter apart."""
    host = ""
    if place.startswith("\\\\"):
        host, _, place = place[2:].partition("\\")
    place = place.lstrip("\\")
    group, parenthesis, instance = place.partition("(")
    if not parenthesis:
        return Place(host, place, "")
    return Place(host, group, instance[: instance.rfind(")")] if ")" in instance else instance)


def decoded(names: list[bytes]) -> list[str]:
    """The names as text: UTF-8, or, where one is not, all of them in Windows-1252 (perfmon's ANSI files)."""
    try:
        return [name.decode("utf-8") for name in names]
    except UnicodeDecodeError:
        return [name.decode("cp1252", "replace") for name in names]
