"""Queue limits of hosts and ports: at which of them I/Os wait, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storscope.domain.units import format_ratio

PART_OF_LIMIT = {"lun": "lun_queue", "adapter": "adapter_queue", "host": "host_queue", "port": "port_queue"}
"""The part of an I/O's time that it waits at a limit of a kind."""
_OWNER_WORDS = {"lun": "LUN {}", "adapter": "the adapters of host {}", "host": "host {}",
                "port": "the ports of controller {}"}  # fmt: skip
_BINDS = 0.3
"""I/Os that spend so much of their time before a limit, of that before it and below it, are bound by it."""


def limit_words(limit: Mapping[str, Any]) -> str:
    """'the queue limit of LUN esx1/data (32)'."""
    return f"the queue limit of {_owner(limit)}"


def binding(limits: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The limit at which most wait, and those of its kind at which I/Os also spend much of their time.

    Nothing if none wait. By Little's law the share of the time of those that pass a limit is that of the numbers: of
    those that wait, of all that wait or are below it.
    """
    waited = [one for one in limits if one["waited"]]
    if not waited:
        return []
    most = max(waited, key=lambda one: one["waiting_mean"])
    return [most, *(one for one in waited if one is not most and one["kind"] == most["kind"] and _binds(one))]


def binding_words(limits: Sequence[Mapping[str, Any]], named_at_most: int) -> tuple[str, str]:
    """'the queue limits of LUN esx1/data (32) and LUN esx1/log (8)', and the share of the time in which they are full:
    'between 98 % and 99 %'."""
    least, most = (format_ratio(bound(one["full_ratio"] for one in limits)) for bound in (min, max))
    full = least if least == most else f"between {least} and {most}"
    if len(limits) == 1:
        return limit_words(limits[0]), full
    owners = [_owner(one) for one in limits[:named_at_most]]
    if len(limits) > named_at_most:
        owners[-1] = f"{len(limits) - named_at_most + 1} more"
    return f"the queue limits of {', '.join(owners[:-1])} and {owners[-1]}", full


def _owner(limit: Mapping[str, Any]) -> str:
    return f"{_OWNER_WORDS[limit['kind']].format(limit['name'])} ({limit['most']})"


def _binds(limit: Mapping[str, Any]) -> bool:
    waiting = limit["waiting_mean"]
    return bool(waiting >= _BINDS * (waiting + limit["used_mean"]))
