"""What a log message says: the value that message rules return and the reader records."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from storscope.sources.importers._vmware_names import device_name, is_device

_VOB = re.compile(r"\[((?:vob|esx)\.[\w.]+)\]\s*")
_QUOTED = re.compile(r'"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Message:
    """A message and, for lines of vobd, the identifier of the observation it reports ('esx.problem....')."""

    text: str
    vob: str | None = None

    @classmethod
    def of(cls, text: str) -> Message:
        """Splits the observation's identifier and the correlator before it from the words."""
        match = _VOB.search(text)
        return cls(text[match.end() :], match[1]) if match else cls(text)


@dataclass(frozen=True, slots=True)
class Said:
    """An event in the making. `kind` 'host' with an empty name is the host that logged the line."""

    kind: str
    name: str
    type: str
    value: float | None = None
    baseline: float | None = None
    unit: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    device: str | None = None
    """For a path: the device it leads to, where the line says so."""
    volume_uuid: str | None = None
    """For a volume named by its name: its UUID, where the line says it too."""
    occurrence: str = ""
    """What tells this occurrence from another of the same kind at the same time (a command's address)."""


Rule = Callable[[Message], Sequence[Said]]
"""Reads a message; nothing when it says something else."""


def device_or_volume(name: str) -> tuple[str, str]:
    """Kind and name for an identifier that may be a device's or a volume's."""
    if is_device(name):
        return "device", device_name(name)
    return "datastore", name


def datastores_in(text: str) -> dict[str, str]:
    """The attribute `datastores` from 'Affected datastores: "a", "b".'; empty when none is named."""
    _, found, rest = text.partition("atastores")
    names = [name for name in _QUOTED.findall(rest) if name] if found else []
    return {"datastores": ", ".join(names)} if names else {}
