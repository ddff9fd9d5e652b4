"""Messages about SCSI commands that failed, and about resets.

    ScsiDeviceIO: N: Cmd(0xADDRESS) 0xOPCODE, CmdSN 0x.. from world W to dev "ID" failed H:0x0 D:0x2 P:0x0 Valid ...
    NMP: nmp_ThrottleLogForDevice:N: Cmd 0xOPCODE (0xADDRESS, W) to dev "ID" on path "PATH" Failed: H:0x0 D:0x8 P:0x0
    NMP: nmp_CompleteCommandForPath: Command 0xOPCODE (0xADDRESS) to NMP device "ID" failed on physical path "PATH" H:..
    StorageMonitor: N: vmhba1:0:3:0 status = 24/0 0x0 0x0 0x0                     ESX 3: device/host status in decimal

Host, device and plug-in status: "Interpreting SCSI sense codes in VMware ESXi", Broadcom KB 289902. Device status 0x2
is a check condition, explained by the sense data; many of them are harmless (0x5 0x20 0x0: opcode not supported). A
device that answers has a path that works: a failure is one of the path when the host status says so, or when the NMP
then tries another path (Act:FAILOVER) or probes this one (Act:EVAL).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from storscope.sources.importers._vmware_names import ESX3_PATH_NAME, device_name
from storscope.sources.importers._vmware_said import Message, Said

_STATUS = re.compile(r"\bH:(0x[0-9a-fA-F]+) D:(0x[0-9a-fA-F]+) P:(0x[0-9a-fA-F]+)")
_SENSE = re.compile(r"sense data: (0x[0-9a-fA-F]+) (0x[0-9a-fA-F]+) (0x[0-9a-fA-F]+)")
_DEVICE = re.compile(r'dev(?:ice)? "([^"]+)"')
_PATH = re.compile(r'path "([^"]+)"')
_COMMAND = re.compile(
    r"(?:Cmd\((?P<address1>0x[0-9a-fA-F]+)\) (?P<opcode1>0x[0-9a-fA-F]+)"
    r"|(?:Cmd|Command) (?P<opcode2>0x[0-9a-fA-F]+)(?: \((?P<address2>0x[0-9a-fA-F]+))?)"
)
_ACTION = re.compile(r"\bAct:\s?([A-Z]+)")
_WORLD = re.compile(r"from world (\d+)|\(0x[0-9a-fA-F]+, (\d+)\)")
_OLD_STATUS = re.compile(
    rf"StorageMonitor: \d+: (?P<path>{ESX3_PATH_NAME}) status = (?P<device>\d+)/(?P<host>\d+)"
    r" (0x[0-9a-fA-F]+) (0x[0-9a-fA-F]+) (0x[0-9a-fA-F]+)"
)
_ABORT = re.compile(r"(?P<adapter>vmhba\d+):CH:(?P<channel>\d+) T:(?P<target>\d+) L:(?P<lun>\d+)")
_VM_RESET = re.compile(r"\(?(vscsi\d+:\d+)\)?: ?Reset request on .*?\(vmm\d+:([^)]+)\)")

_HOST_STATUS: Final = {0x5: "command_aborted", 0x8: "bus_reset"}
_DEVICE_STATUS: Final = {0x8: "device_busy", 0x18: "reservation_conflict", 0x28: "task_set_full"}
_PATH_ACTIONS: Final = {"FAILOVER", "EVAL"}

AWAITS_STATUS = re.compile(r'nmp_ThrottleLogForDevice.* on path "[^"]+" Failed:\s*$')
"""ESXi 7 and 8 print the status of a failed command on a line of its own, after this one."""


def command_failed(message: Message) -> Sequence[Said]:
    """A command that came back with a status other than good."""
    status = _STATUS.search(message.text)
    if status is None:
        return ()
    host, device, plugin = status.groups()
    path = _PATH.search(message.text)
    attributes = {"host_status": host, "device_status": device, "plugin_status": plugin}
    sense = _SENSE.search(message.text)
    if sense is not None and any(int(part, 16) for part in sense.groups()):
        attributes["sense"] = " ".join(sense.groups())
    if action := _ACTION.search(message.text):
        attributes["action"] = action[1]
    of_path = path is not None and (int(host, 16) != 0 or attributes.get("action") in _PATH_ACTIONS)
    type_ = event_type(int(host, 16), int(device, 16), of_path=of_path)
    return (_failed(message.text, type_, path[1] if path else None, attributes),)


def event_type(host: int, device: int, *, of_path: bool) -> str:
    """The event for a pair of statuses; a path's failure without a type of its own is tried elsewhere."""
    return _HOST_STATUS.get(host) or _DEVICE_STATUS.get(device) or ("path_failed_io" if of_path else "scsi_error")


def _failed(text: str, type_: str, path: str | None, attributes: dict[str, str]) -> Said:
    address = ""
    if command := _COMMAND.search(text):
        attributes["opcode"] = command["opcode1"] or command["opcode2"]
        address = command["address1"] or command["address2"] or ""
    if world := _WORLD.search(text):
        attributes["world"] = world[1] or world[2]
    if path:
        attributes["path"] = path
    device = _DEVICE.search(text)
    if device is not None:
        return Said("device", device_name(device[1]), type_, attributes=attributes, occurrence=address)
    kind, name = ("path", path) if path else ("host", "")
    return Said(kind, name, type_, attributes=attributes, occurrence=address)


def old_status(message: Message) -> Sequence[Said]:
    """ESX 3: the path, then device and host status in decimal, then sense key, code and qualifier."""
    match = _OLD_STATUS.search(message.text)
    if match is None:
        return ()
    host, device = int(match["host"]), int(match["device"])
    attributes = {"host_status": hex(host), "device_status": hex(device)}
    sense = match.groups()[3:]
    if any(int(part, 16) for part in sense):
        attributes["sense"] = " ".join(sense)
    return (Said("path", match["path"], event_type(host, device, of_path=host != 0), attributes=attributes),)


def task_aborted(message: Message) -> Sequence[Said]:
    """iscsi_vmk: a task management request 'Abort Task' that was sent or timed out."""
    match = _ABORT.search(message.text)
    if match is None or "Abort Task" not in message.text:
        return ()
    path = f"{match['adapter']}:C{match['channel']}:T{match['target']}:L{match['lun']}"
    answer = {"answer": "timed out"} if "timed out" in message.text else {}
    return (Said("path", path, "command_aborted", attributes=answer),)


def vm_reset(message: Message) -> Sequence[Said]:
    """VSCSI: a virtual machine reset its disk, as guests do when a command takes too long."""
    match = _VM_RESET.search(message.text)
    if match is None:
        return ()
    return (Said("vm", match[2], "bus_reset", attributes={"vm_disk": match[1]}),)
