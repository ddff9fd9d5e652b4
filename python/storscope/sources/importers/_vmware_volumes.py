"""Messages about volumes: heartbeats, reservations, NFS servers; and about iSCSI connections."""

from __future__ import annotations

import re
from collections.abc import Sequence

from storscope.domain.units import ns_from_ms
from storscope.sources.importers._vmware_names import adapter_of, find_device
from storscope.sources.importers._vmware_said import Message, Said

_UUID = r"[0-9a-f]{8}-[0-9a-f]{8}(?:-[0-9a-f]{4}-[0-9a-f]{12})?"
_RECLAIMED = re.compile(rf"Reclaimed (?:timed out )?heartbeat for volume (?P<uuid>{_UUID}) \((?P<name>[^)]*)\)")
_WAITING = re.compile(r"Waiting for timed out \[HB .*?\] on vol '(?P<name>[^']*)'")
_HEARTBEAT_VOB = re.compile(rf"(?P<uuid>{_UUID}) (?P<name>.+)")
_ACCESS = re.compile(rf"(?P<what>Lost|restored) access to volume (?P<uuid>{_UUID}) \((?P<name>[^)]*)\)")
_HELD = re.compile(r"Long VMFS\d* rsv time on '(?P<name>[^']*)' \(held for (?P<ms>\d+) msecs\)")
_RETRY = re.compile(r"Sync CR(?: \([^)]*\))? at (\d+)")
_NFS_SERVER = re.compile(
    r"(?P<what>[Ll]ost|[Rr]estored) connection to (?:the )?server (?P<server>\S+) mount point (?P<share>.+?),? "
    rf"mounted as (?P<uuid>{_UUID}) \(\"?(?P<name>[^\")]*)\"?\)"
)
_NFS_VOB = re.compile(rf"(?P<server>\S+) (?P<share>\S+) (?P<uuid>{_UUID}) (?P<name>.+)")
_NFS_RETRY = re.compile(r"No connection\. Retrying (?P<what>.+?) (?P<count>\d+) of (?P<of>\d+) times")
_CONNECTION = re.compile(
    r"(?P<adapter>vmhba\d+):CH:(?P<channel>\d+) T:(?P<target>\d+).*?marked \"(?P<state>OFFLINE|ONLINE)\""
)
_STOPPED = re.compile(r"iScsi connection \d+ stopped for (?P<adapter>vmhba\d+)(?P<target>:C\d+:T\d+)?")
_LOGIN_FAILED = re.compile(r"(?P<adapter>vmhba\d+) @ (?P<port>\S+) failed to login to (?P<target>\S+)")
_NOP_OUT = re.compile(r"Nop-out timeout after (?P<seconds>\d+) sec(?:onds)?(?: on connection (?P<conn>[\d:]+))?")
_KERNEL_ERROR = re.compile(r"Kernel reported iSCSI connection (?P<conn>[\d:]+) error \((?P<error>[^)]+)\)")


def heartbeat(message: Message) -> Sequence[Said]:
    """A host could not renew its mark on a VMFS volume in time, or took it up again."""
    for pattern, phase in ((_RECLAIMED, "reclaimed"), (_WAITING, "timed out")):
        if match := pattern.search(message.text):
            return (Said("datastore", match["name"], "heartbeat_lost", attributes={"phase": phase}),)
    return ()


def heartbeat_observed(message: Message) -> Sequence[Said]:
    """[esx.problem.vmfs.heartbeat.timedout] UUID NAME, and its recovery."""
    phase = (message.vob or "").rpartition(".")[2].replace("timedout", "timed out")
    match = _HEARTBEAT_VOB.match(message.text) if ".vmfs.heartbeat." in (message.vob or "") else None
    if match is None:
        return ()
    type_ = "heartbeat_recovered" if phase == "recovered" else "heartbeat_lost"
    return (Said("datastore", match["name"].strip(), type_, attributes={"phase": phase}),)


def volume_access(message: Message) -> Sequence[Said]:
    """hostd's words for a heartbeat that timed out and came back."""
    match = _ACCESS.search(message.text)
    if match is None:
        return ()
    type_ = "heartbeat_lost" if match["what"] == "Lost" else "heartbeat_recovered"
    return (Said("datastore", match["name"], type_),)


def reservation_held(message: Message) -> Sequence[Said]:
    """FS3Misc: a SCSI reservation kept the other hosts out for long."""
    match = _HELD.search(message.text)
    if match is None:
        return ()
    return (Said("datastore", match["name"], "reservation_held", ns_from_ms(float(match["ms"])), None, "ns"),)


def reservation_conflict(message: Message) -> Sequence[Said]:
    """'Sync CR at N': a command met another host's reservation and is tried again, N tries being left."""
    retry = _RETRY.search(message.text)
    if retry is None and "SCSI reservation conflict" not in message.text:
        return ()
    device = find_device(message.text)
    attributes = {"retries_left": retry[1]} if retry else {}
    return (Said("device" if device else "host", device or "", "reservation_conflict", attributes=attributes),)


def nfs_server(message: Message) -> Sequence[Said]:
    """The connection to an NFS server was lost or restored."""
    match = _NFS_SERVER.search(message.text)
    lost = match is not None and match["what"].lower() == "lost"
    if match is None and ".nfs.server." in (message.vob or ""):
        match = _NFS_VOB.match(message.text)
        lost = (message.vob or "").endswith(".disconnect")
    if match is None:
        return ()
    attributes = {"server": match["server"], "share": match["share"], "uuid": match["uuid"]}
    return (
        Said(
            "datastore", match["name"].strip(), "nfs_disconnected" if lost else "nfs_restored",
            attributes=attributes, volume_uuid=match["uuid"],
        ),
    )  # fmt: skip


def nfs_retry(message: Message) -> Sequence[Said]:
    """'No connection. Retrying synchronous write I/O 1 of 25 times': the line does not name the volume."""
    match = _NFS_RETRY.search(message.text)
    if match is None:
        return ()
    attributes = {"operation": match["what"], "try": match["count"], "tries": match["of"]}
    return (Said("host", "", "nfs_disconnected", attributes=attributes),)


def iscsi_connection(message: Message) -> Sequence[Said]:
    """iscsi_vmk and vobd: a connection went off line, came back, or could not be made."""
    if match := _CONNECTION.search(message.text):
        type_ = "iscsi_disconnected" if match["state"] == "OFFLINE" else "iscsi_connected"
        attributes = {"target": f"C{match['channel']}:T{match['target']}"}
        return (Said("adapter", match["adapter"], type_, attributes=attributes),)
    if match := _STOPPED.search(message.text):
        attributes = {"target": match["target"].lstrip(":")} if match["target"] else {}
        return (Said("adapter", match["adapter"], "iscsi_disconnected", attributes=attributes),)
    if match := _LOGIN_FAILED.search(message.text):
        attributes = {"port": match["port"], "target": match["target"], "reason": "login failed"}
        return (Said("adapter", match["adapter"], "iscsi_disconnected", attributes=attributes),)
    return ()


def iscsi_daemon(message: Message) -> Sequence[Said]:
    """iscsid: a ping within a connection was not answered, or the kernel gave a connection up."""
    if match := _NOP_OUT.search(message.text):
        attributes = {"reason": f"Nop-out timeout after {match['seconds']} s"}
    elif match := _KERNEL_ERROR.search(message.text):
        attributes = {"reason": f"error {match['error']}"}
    else:
        return ()
    if match["conn"]:
        attributes["connection"] = match["conn"]
    adapter = adapter_of(message.text[message.text.find("vmhba") :]) if "vmhba" in message.text else None
    return (Said("adapter" if adapter else "host", adapter or "", "iscsi_disconnected", attributes=attributes),)
