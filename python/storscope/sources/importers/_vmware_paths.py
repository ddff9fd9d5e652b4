"""Messages about paths and devices that come and go.

vobd and hostd say the same in the same words; vmkernel has its own. "esx.problem.storage.*" events: ESX message
catalogue, vSphere 4 to 8. Lines of the kernel's StorageApdHandler are read in the words of ESXi 5 ("APD Start for ident
[ID]!") and of 6 to 8 ("APD start for 0xADDRESS [ID]"); those of its time-out and exit are [unverified]: from memory, no
log is at hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from storscope.sources.importers._vmware_names import (
    DEVICE_ID,
    ESX3_PATH_NAME,
    PATH_NAME,
    device_name,
    find_device,
    is_device,
)
from storscope.sources.importers._vmware_said import Message, Said, datastores_in, device_or_volume

_PATH_CHANGE = re.compile(rf"[Pp]ath ({PATH_NAME}) is (down|active again|up)")
_STORAGE_DEVICE = re.compile(r"storage device (\S+)")
_PATH_STATE = re.compile(rf"scsiPath ({PATH_NAME}) changed state from")
_IN_DOUBT = re.compile(rf'(?:device|path) "({DEVICE_ID}|{PATH_NAME})" (?:is blocked|.*?state in doubt)')
_TRIGGERED = re.compile(rf"PDL error \(([^)]*)\) - path ({PATH_NAME}) device (\S+)")
_NO_GOOD_PATH = re.compile(rf"Cannot find a path to device ({ESX3_PATH_NAME}) in a good state")
_APD = re.compile(
    r"(?:identifier|[Dd]evice|filesystem)\s+\[?(?P<name>[^\s\]]+)\]? has (?P<what>entered|exited) the All Paths Down"
    r"(?P<timeout> Timeout)?"
)
_APD_KERNEL = re.compile(
    r"StorageApdHandler: \d+: APD (?P<what>start|exit|timeout)(?: event)? for (?:ident|0x[0-9a-f]+):? "
    r"\[(?P<name>[^\s\]]+)\]",
    re.IGNORECASE,
)
_LOST = re.compile(rf"[Dd]evice\s*:?\s*({DEVICE_ID}) (?:has been removed or )?is permanently inaccessible")
_LOST_KERNEL = re.compile(rf"[Pp]ermanently inaccessible device\s*:?\s*({DEVICE_ID})")

_STATE_BY_VOB: Final = {"dead": "path_dead", "on": "path_up"}
_APD_TYPES: Final = {"start": "apd_start", "exit": "apd_end", "timeout": "apd_timeout"}


def path_changed(message: Message) -> Sequence[Said]:
    """'Path P is down', 'is active again'; with the last path the device is gone, with the first it is back."""
    match = _PATH_CHANGE.search(message.text)
    if match is None:
        return ()
    device = _STORAGE_DEVICE.search(message.text)
    name = device_name(device[1]) if device and is_device(device_name(device[1])) else None
    attributes = datastores_in(message.text) | ({"device": name} if name else {})
    down = match[2] == "down"
    said = [Said("path", match[1], "path_dead" if down else "path_up", attributes=attributes, device=name)]
    if name and re.search(r"(?:Lost connectivity|Connectivity) to storage device", message.text):
        said.append(Said("device", name, "apd_start" if down else "apd_end", attributes=datastores_in(message.text)))
    return said


def path_state(message: Message) -> Sequence[Said]:
    """[vob.scsi.scsipath.pathstate.dead] scsiPath P changed state from on."""
    match = _PATH_STATE.search(message.text)
    type_ = _STATE_BY_VOB.get((message.vob or "").rpartition(".")[2])
    return (Said("path", match[1], type_),) if match and type_ else ()


def in_doubt(message: Message) -> Sequence[Said]:
    """nmp_DeviceRequestFastDeviceProbe: the host no longer trusts what it knows of a device's paths."""
    match = _IN_DOUBT.search(message.text)
    if match is None:
        return ()
    if is_device(match[1]):
        return (Said("device", device_name(match[1]), "path_in_doubt"),)
    return (Said("path", match[1], "path_in_doubt", device=find_device(message.text)),)


def path_evaluated(message: Message) -> Sequence[Said]:
    """nmp_PathDetermineFailure: an error on one path makes the host probe it."""
    match = _TRIGGERED.search(message.text)
    if match is None:
        return ()
    device = device_name(match[3])
    attributes = {"sense": match[1].replace("/", " "), "device": device}
    return (Said("path", match[2], "path_in_doubt", attributes=attributes, device=device),)


def no_good_path(message: Message) -> Sequence[Said]:
    """ESX 3: no path to a device in a good state."""
    match = _NO_GOOD_PATH.search(message.text)
    return (Said("path", match[1], "path_in_doubt"),) if match else ()


def all_paths_down(message: Message) -> Sequence[Said]:
    """A device or an NFS volume lost all its paths, or had one again; after 140 s the host gives up ('Timeout')."""
    match = _APD.search(message.text)
    if match is None:
        return ()
    kind, name = device_or_volume(match["name"])
    if match["timeout"]:
        return (Said(kind, name, "apd_timeout"),)
    return (Said(kind, name, "apd_start" if match["what"] == "entered" else "apd_end"),)


def apd_handled(message: Message) -> Sequence[Said]:
    """The kernel's own words for the same: 'StorageApdHandler: 1204: APD start for 0x4304d8b0a2c0 [naa.60]'."""
    match = _APD_KERNEL.search(message.text)
    if match is None:
        return ()
    kind, name = device_or_volume(match["name"])
    return (Said(kind, name, _APD_TYPES[match["what"].lower()]),)


def device_lost(message: Message) -> Sequence[Said]:
    """The array said that the device is gone for good (permanent device loss)."""
    match = _LOST.search(message.text) or _LOST_KERNEL.search(message.text)
    if match is None:
        return ()
    return (Said("device", device_name(match[1]), "device_lost", attributes=datastores_in(message.text)),)
