"""Messages about latency: the host compares with its own past, and says so in microseconds.

The device line is written when latency is 30 times the level of the last such line, or has doubled since it (Broadcom
KB 318927). It is therefore a statement about a ratio; the absolute value decides whether it matters. The number after
the module's name is a line of VMware's source and differs between builds, so it is never matched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from storscope.domain.units import ns_from_us
from storscope.sources.importers._vmware_said import Message, Said, device_or_volume

_CHANGE = re.compile(
    r"(?P<nfs>NFS volume|[Dd]evice)\s+:?\s*(?P<name>.+?) performance has (?P<what>deteriorated|improved)\. "
    r"I/O latency (?:increased|reduced|decreased) from (?:average value of )?"
    r"(?P<from>\d+)\s*(?:microseconds|\(us\)|us) to (?P<to>\d+)\s*(?:microseconds|\(us\)|us)"
    r"(?:\. Exceeded threshold (?P<threshold>\d+)\(us\))?"
)
_ABOVE = re.compile(
    r"NFS volume (?P<name>.+?) average I/O latency (?P<to>\d+)\(us\) has exceeded threshold (?P<threshold>\d+)\(us\)"
    r"(?: for last (?P<minutes>\d+) minutes)?"
)


def latency_changed(message: Message) -> Sequence[Said]:
    """'performance has deteriorated' and 'improved', of devices and NFS volumes."""
    match = _CHANGE.search(message.text)
    if match is None:
        return ()
    kind, name = ("datastore", match["name"]) if match["nfs"] == "NFS volume" else device_or_volume(match["name"])
    return (
        Said(
            kind, name, f"latency_{match['what']}", ns_from_us(float(match["to"])), ns_from_us(float(match["from"])),
            "ns", _threshold(match["threshold"]),
        ),
    )  # fmt: skip


def latency_above_threshold(message: Message) -> Sequence[Said]:
    """The NFS client's third form, which knows no earlier value."""
    match = _ABOVE.search(message.text)
    if match is None:
        return ()
    attributes = _threshold(match["threshold"]) | ({"minutes": match["minutes"]} if match["minutes"] else {})
    value = ns_from_us(float(match["to"]))
    return (Said("datastore", match["name"], "latency_deteriorated", value, None, "ns", attributes),)


def _threshold(us: str | None) -> dict[str, str]:
    return {"threshold_ns": f"{int(us) * 1000}"} if us else {}
