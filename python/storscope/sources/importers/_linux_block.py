"""Names of Linux block devices: which of them is a partition of which."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

DEFAULT_LINUX_SYSTEM: Final = "linux-host"
"""System of Linux text that does not name its host, so that several such files meet; --system sets another."""

_PARTITION = re.compile(r"(.*[^0-9])([0-9]+)")


def disk_of_partition(name: str, known: Container[str]) -> str | None:
    """The disk that `name` is a partition of, when that disk is `known`; None for anything else.

    The kernel puts a 'p' between a disk name that ends in a digit and the partition's number (block/genhd.c,
    `disk_name`): sda1 is of sda, nvme0n1p2 of nvme0n1. An xvda1 without an xvda is a disk of its own.
    """
    match = _PARTITION.fullmatch(name)
    if match is None:
        return None
    stem = match[1]
    if stem.endswith("p") and stem[-2:-1].isdigit():
        stem = stem[:-1]
    elif stem[-1:].isdigit():
        return None
    return stem if stem in known else None
