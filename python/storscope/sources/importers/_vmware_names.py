"""Names that ESX and ESXi give to things, shared by the log and the configuration importer.

A device is named by its identifier (`naa.`, `eui.`, `t10.`, `mpx.`), a path by its runtime name
(`vmhba33:C0:T0:L6`; ESX 3: `vmhba1:0:6`), an adapter by `vmhbaN`. "Identifying storage devices", vSphere Storage guide.
"""

from __future__ import annotations

import re
from typing import Final

DEVICE_ID: Final = r"(?:naa|eui|t10|mpx|nvme|uuid|symm|vml)\.[^\s\"'\[\],;()]+"
"""An identifier; it may contain colons (`mpx.vmhba1:C0:T0:L0`), so what follows it is cut by `device_name`."""
PATH_NAME: Final = r"vmhba\d+:C\d+:T\d+:L\d+"
ESX3_PATH_NAME: Final = r"vmhba\d+:\d+:\d+(?::\d+)?"

_ADAPTER = re.compile(r"vmhba\d+")
_DEVICE = re.compile(DEVICE_ID)
_PARTITION = re.compile(r"(?<!:L\d):\d+$")


def device_name(text: str) -> str:
    """The identifier without a partition number or the punctuation of a sentence: 'naa.60:1' -> 'naa.60'."""
    name = text.rstrip(".:")
    return name if name.startswith("mpx.") else _PARTITION.sub("", name)


def find_device(text: str) -> str | None:
    """The first device identifier in `text`."""
    match = _DEVICE.search(text)
    return device_name(match[0]) if match else None


def is_device(name: str) -> bool:
    """True for a device identifier, false for the UUID or the name of a volume."""
    return _DEVICE.fullmatch(name) is not None


def adapter_of(path: str) -> str | None:
    """The adapter of a path: 'vmhba33:C0:T0:L6' -> 'vmhba33'."""
    match = _ADAPTER.match(path)
    return match[0] if match else None
