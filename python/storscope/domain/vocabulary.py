"""Names of facts and event types that rules read: the contract between importers and rules.

An importer may record any other fact under the source's own name; no rule will miss or misread it.
"""

from __future__ import annotations

from typing import Final

SIMULATED_FACT: Final = "simulated drive operations"
"""A fact of an array that was simulated: how many operations its drives did."""

FACTS: Final[dict[str, dict[str, str]]] = {
    "host": {
        "lro_enabled": "large receive offload of the network stack: true or false",
        "target_portal": "address:port of an iSCSI target portal the host discovers",
        "software_iscsi_queue_depth": "LUN queue depth of the software iSCSI initiator",
        "disk_max_io_size_kib": "largest I/O the host passes on (ESX: Disk.DiskMaxIOSize)",
    },
    "array": {SIMULATED_FACT: "what the drives of a simulated array did; measured ones have none"},
    "adapter": {
        "delayed_ack": "delayed TCP acknowledgement of the iSCSI adapter: true or false",
        "login_timeout_s": "iSCSI login timeout",
        "iscsi_kind": "'software', 'dependent' (traffic goes past the NIC's counters) or 'independent'",
        "driver": "the adapter's driver",
    },
    "port": {
        "ip_address": "IPv4 address of the VMkernel port",
        "netmask": "IPv4 netmask",
        "mtu": "bytes",
        "mac_address": "MAC of the port",
        "uplink_mac_address": "MAC of the NIC behind it, as the iSCSI port binding shows it",
        "iscsi_bound": "'true' when the port is bound to an iSCSI adapter",
        "compliant": "the hypervisor's own verdict on the binding: 'compliant' or not",
        "rx_packets": "packets received since the counter was reset",
        "tx_packets": "packets sent since the counter was reset",
        "link_up": "true or false",
        "speed_mbit": "link speed in Mbit/s",
        "nic_driver": "driver of the NIC behind the port",
        "path_status": "as the port binding shows it: 'active', 'last path', 'unused', ...",
    },
    "portgroup": {"active_uplinks": "comma-separated NICs", "standby_uplinks": "comma-separated NICs", "vlan": "id"},
    "vswitch": {"mtu": "bytes", "uplinks": "comma-separated NICs"},
    "nic": {"mtu": "bytes", "link_up": "true or false", "speed_mbit": "Mbit/s", "driver": "name"},
    "device": {
        "path_policy": "VMW_PSP_RR, VMW_PSP_FIXED, VMW_PSP_MRU; multipath: the policy's name",
        "array_type": "the storage array type plug-in: VMW_SATP_EQL, ...; else vendor and product",
        "round_robin_iops": "I/Os sent down one path before the next is taken",
        "round_robin_bytes": "bytes sent down one path before the next is taken",
        "use_ano": "true when non-optimised paths are used while optimised ones work",
        "queue_limit": "operations the device queue admits",
        "reservation_conflicts": "count since the counter was reset",
        "media": "'ssd', 'flash', 'nvme', 'hdd'",
        "rotational": "1 or 0 as the kernel says",
        "size_bytes": "capacity",
    },
    "path": {
        "state": "'active', 'standby', 'dead', 'off', 'disabled'",
        "group_state": "'active', 'active unoptimized', 'enabled', 'standby'",
        "preferred": "true or false",
    },
    "vdisk": {
        "online_to": "the owning controller",
        "write_mode": "'write-back', 'write-through'; vendors abbreviate",
        "raid": "layout as the array names it",
        "media": "as for device",
        "outstanding": "configured operations in flight",
    },
    "controller": {
        "cache_battery": "'good', 'degraded', 'failed'",
        "write_cache": "'enabled', 'disabled'",
        "state": "'normal', 'failed'",
    },
    "rate_limit": {"allowed": "I/Os and bytes per second, in words"},
    "disk_group": {"media": "as for device, of all its drives"},
    "disk": {"media": "as for device", "rpm": "revolutions per minute", "state": "'normal', 'failed', 'spare', ..."},
}
"""Entity kind -> fact name -> meaning."""

EVENTS: Final[dict[str, str]] = {
    "latency_deteriorated": "latency rose from `baseline` to `value` (ns) by the host's relative trigger",
    "latency_improved": "latency fell from `baseline` to `value` (ns)",
    "scsi_error": "a command failed; attributes host_status, device_status, plugin_status, sense, opcode",
    "command_aborted": "a command was aborted (host status 0x5)",
    "bus_reset": "a reset (host status 0x8)",
    "task_set_full": "the target refused a command for a full queue (device status 0x28)",
    "device_busy": "the target was busy (device status 0x8)",
    "reservation_conflict": "device status 0x18 or a lock conflict on a shared file system",
    "reservation_held": "a reservation was held for `value` ns",
    "path_dead": "a path went down",
    "path_up": "a path came back",
    "path_failed_io": "a command failed on a path and is tried elsewhere; attribute path",
    "path_in_doubt": "the host doubts a path or device and probes it",
    "apd_start": "all paths to a device are down",
    "apd_end": "all-paths-down ended",
    "apd_timeout": "all paths were down for so long that the host fails I/O fast from now on",
    "device_lost": "permanent device loss",
    "heartbeat_lost": "a datastore heartbeat timed out or was reclaimed",
    "heartbeat_recovered": "a datastore heartbeat that had timed out goes on",
    "nfs_disconnected": "no connection to an NFS server",
    "nfs_restored": "the connection to an NFS server is back",
    "iscsi_disconnected": "an iSCSI connection or session went off line; Nop-out timeouts too",
    "iscsi_connected": "an iSCSI connection came on line",
    "limit_changed": "what a rate_limit allows is another from now on; attribute allowed, in words",
    "ownership_changed": "a vdisk moved to the other controller; attribute owner",
    "cache_policy_changed": "the write cache's policy changed; attribute policy",
    "battery_changed": "the cache battery's state changed; attribute state",
    "controller_failed": "a controller failed; attribute to: the one that takes over",
    "controller_returned": "a controller that had failed works again",
    "data_lost": "data of a volume is lost; attribute with: drives, more than its group survives, or cache",
    "disk_failed": "a drive failed or was taken out",
    "array_event": "what else the log of an array says; attributes work and state ('running') of a scrub",
    "rebuild_started": "a rebuild, levelling or restripe began; attribute work: rebuild or restripe, if it is known",
    "rebuild_finished": "it ended; attribute as before",
}
"""Event type -> meaning."""

DEFAULT_ESXI_SYSTEM: Final = "esxi-host"
"""System of ESXi text that does not name its host, so that outputs pasted into several files meet."""

UNNAMED_SYSTEMS: Final = frozenset({DEFAULT_ESXI_SYSTEM, "linux-host", "fio-host", "eva", "msa-array", "counter-table"})
"""Systems of sources that do not name their host or array. What is imported beside them may tell (workbench)."""
