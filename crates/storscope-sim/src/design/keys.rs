//! Keys that do not exist where they stand: what was probably meant.
//!
//! Storage has several words for most things. Those that engineers use are told in the words of designs; other keys get
//! the nearest that there is, if it is a slip away.

use super::nearest::nearest;

/// How names of fields end, and what belongs there.
pub const WITH_UNIT: [(&str, &str); 3] = [
    ("_bytes_per_s", "a rate with a unit, such as \"400 MB/s\""),
    ("_bytes", "a size, such as \"64 KiB\""),
    ("_ns", "a duration with a unit, such as \"5 ms\""),
];

/// Units that people put at the end of names, and how they are written behind the number.
const UNITS: [(&str, &str); 22] = [
    ("_mb_per_s", "MB/s"),
    ("_mb_s", "MB/s"),
    ("_mbs", "MB/s"),
    ("_mbps", "Mbit/s"),
    ("_gbps", "Gbit/s"),
    ("_gbit", "Gbit/s"),
    ("_k", "KiB"),
    ("_kb", "KiB"),
    ("_kib", "KiB"),
    ("_mb", "MiB"),
    ("_mib", "MiB"),
    ("_gb", "GiB"),
    ("_gib", "GiB"),
    ("_tb", "TiB"),
    ("_tib", "TiB"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_sec", "s"),
    ("_min", "min"),
    ("_pct", "%"),
    ("_percent", "%"),
];

/// Keys of designs, and other words for them. The first counts that exists where the word stands.
const WORDS: [(&str, &[&str]); 81] = [
    ("segment", &["stripe", "stripe_size", "stripe_unit", "stripe_depth", "strip", "strip_size"]),
    ("segment", &["chunk", "chunk_size", "segment_size", "block_size"]),
    ("chunk", &["segment", "stripe", "block", "block_size", "step", "chunk_size"]),
    ("extent", &["page", "page_size", "chunklet", "extent_size", "slice"]),
    ("page", &["page_size", "block", "block_size", "cache_block"]),
    ("block", &["block_size", "bs", "page", "page_size"]),
    ("size", &["capacity", "lun_size", "volume_size", "disk_size", "memory", "space"]),
    ("count", &["disks", "drives", "num_disks", "num_drives", "disk_count", "drive_count", "number", "members"]),
    ("drive", &["disk", "disk_type", "drive_type", "media", "model"]),
    ("drives", &["disk", "disks"]),
    ("kind", &["type", "media", "what"]),
    ("preset", &["type", "kind", "protocol"]),
    ("layout", &["raid", "raid_level", "raid_type", "raidlevel", "level", "type"]),
    ("redundancy", &["vraid", "protection", "parity"]),
    ("copies", &["replicas", "replication", "replica_count", "mirrors", "ways"]),
    ("parity", &["parities", "parity_drives", "parity_disks", "parity_count", "coding_chunks"]),
    ("spares", &["spare", "hot_spare", "hot_spares", "hotspare", "hotspares"]),
    ("width", &["set_width", "set_size", "drives_per_set", "disks_per_set", "span", "raid_width"]),
    ("group", &["groups", "pool", "disk_group", "diskgroup", "raid_group", "aggregate", "on"]),
    ("volumes", &["luns", "vdisks"]),
    ("volume", &["volumes", "lun", "luns", "vdisk", "virtual_disk", "disk", "name"]),
    ("volumes", &["lun", "disks"]),
    ("proxied_share", &["share", "ratio", "threshold"]),
    ("commands_per_s", &["iops", "max_iops"]),
    ("limit", &["qos", "cap", "throttle", "throttling", "rate_limit", "limits", "max"]),
    ("limit", &["iops", "max_iops", "iops_limit", "limit_iops", "bandwidth", "max_bandwidth", "bandwidth_limit"]),
    ("limit", &["throughput", "max_throughput", "provisioned_iops", "provisioned_throughput", "io_limit"]),
    ("read_limit", &["read_iops", "read_bandwidth", "max_read_iops", "read_iops_limit", "riops", "rbps"]),
    ("write_limit", &["write_iops", "write_bandwidth", "max_write_iops", "write_iops_limit", "wiops", "wbps"]),
    ("iops", &["max_iops", "iops_limit", "ops", "ops_per_s", "rate", "provisioned_iops", "baseline_iops", "base_iops"]),
    ("burst_iops", &["max_burst_iops", "burst", "iops_burst", "burst_limit", "max_iops"]),
    ("burst_bandwidth", &["burst_throughput", "max_burst_bandwidth", "bandwidth_burst", "burst"]),
    ("burst_for", &["burst_time", "burst_duration", "burst_seconds", "duration", "credits", "burst_credits"]),
    ("io_unit", &["io_size", "unit", "max_io_size", "block", "size_of_io", "per"]),
    ("background", &["task", "tasks", "job", "jobs", "rebuild", "scrub", "maintenance"]),
    ("at", &["change", "event", "events", "failure", "failures"]),
    ("power_loss_protection", &["plp", "capacitors", "capacitor", "power_fail_protection", "supercap", "protected"]),
    ("program", &["write", "write_time", "program_time", "write_latency"]),
    ("read", &["read_time", "read_latency"]),
    ("host", &["server", "servers", "client", "initiator"]),
    ("controller", &["sp", "storage_processor", "node", "canister"]),
    ("owner", &["controller", "sp", "node", "preferred", "preferred_owner", "preferred_controller", "default_owner"]),
    ("via", &["controller", "sp", "node", "path", "owner", "port"]),
    ("start", &["offset", "lba", "begin", "starts"]),
    ("write_back", &["writeback", "cached", "caching", "cache", "write_cache", "write_through"]),
    ("flash_cache", &["cache", "flash", "ssd_cache", "read_cache"]),
    ("write_cache", &["cache", "buffer", "cache_size"]),
    ("write", &["write_cache", "write_back", "writeback"]),
    ("read", &["read_cache"]),
    ("prefetch", &["read_ahead", "readahead"]),
    ("mirrored", &["mirror", "mirroring"]),
    ("mirror", &["interconnect", "inter_controller", "cmi", "controllers"]),
    ("front_end", &["frontend", "front", "host", "hosts", "host_ports"]),
    ("back_end", &["backend", "back", "loops", "drives", "disks", "sas"]),
    ("duplex", &["full_duplex", "bidirectional", "both_ways"]),
    ("servers", &["cpus", "cpu", "cores", "processors", "threads"]),
    ("turns_per_min", &["rpm", "rotation", "spindle_speed", "speed"]),
    ("bandwidth", &["speed", "rate", "throughput", "bandwidth_limit", "max_bandwidth", "provisioned_throughput"]),
    ("rate", &["bandwidth", "speed", "throughput", "max_rate", "limit", "throttle"]),
    ("queueing", &["ncq", "tcq", "queue", "queue_depth", "qd"]),
    ("queue_limit", &["queue_depth", "qd", "queue", "depth", "lun_queue_depth", "max_queue", "iodepth", "port_queue"]),
    ("adapter_queue_limit", &["hba_queue_depth", "adapter_queue_depth", "hba_queue_limit"]),
    ("depth", &["queue_depth", "qd", "size"]),
    ("outstanding", &["queue_depth", "qd", "depth", "parallel", "threads", "streams"]),
    ("interface_rate", &["interface", "link", "interface_speed", "bus", "link_rate"]),
    ("overhead", &["latency", "command_overhead", "controller_overhead"]),
    ("latency", &["delay", "rtt", "overhead"]),
    ("cost_per_op", &["cost", "overhead", "latency", "cost_per_io", "time_per_io"]),
    ("average", &["avg", "mean", "average_seek"]),
    ("full_stroke", &["full", "max", "maximum"]),
    ("track_to_track", &["track", "min", "minimum", "single_track"]),
    ("time", &["at", "when", "start"]),
    ("drive_fails", &["fail", "fails", "drive_failure", "fail_drive", "disk_fails", "drive_fail", "failure"]),
    (
        "controller_fails",
        &["controller_failure", "controller_fail", "fail_controller", "sp_fails", "node_fails", "failover"],
    ),
    ("flash_cache_lost", &["flash_lost", "flash_fails", "flash_cache_fails", "host_cache_lost", "ssd_cache_lost"]),
    ("flash_cache_restored", &["flash_restored", "flash_returns", "flash_cache_returns", "host_cache_restored"]),
    ("controller_returns", &["controller_return", "controller_restored", "controller_back", "failback", "sp_returns"]),
    ("takeover", &["failover", "failover_time", "takeover_time", "takes", "after", "delay", "duration"]),
    ("index", &["drive", "disk", "number", "slot"]),
    ("to", &["controller", "owner", "target"]),
    ("outer_rate", &["rate", "transfer_rate", "sustained_rate", "media_rate", "throughput", "bandwidth"]),
];

/// A key that does not exist: its name here, and what was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// The key that exists.
    pub key: String,
    /// The unit that its value wants, if that stood in the name.
    pub unit: Option<&'static str>,
}

/// What a key stands for that is none of those that exist in its table, if that can be told.
pub fn guess(written: &str, known: &[String]) -> Option<Guess> {
    let lower = written.to_lowercase().replace('-', "_");
    let whole = meant(&lower, known).map(|key| Guess { key: key.to_owned(), unit: None });
    let without_unit = || {
        UNITS.iter().find_map(|&(suffix, unit)| {
            let key = meant(lower.strip_suffix(suffix)?, known)?;
            Some(Guess { key: key.to_owned(), unit: Some(unit) })
        })
    };
    let slip = || nearest(&lower, names(known)).map(|key| Guess { key: key.to_owned(), unit: None });
    whole.or_else(without_unit).or_else(slip)
}

/// The key that a word says, itself or in other words.
fn meant<'known>(word: &str, known: &'known [String]) -> Option<&'known str> {
    let of_table = |key: &str| names(known).find(|name| *name == key);
    let synonym = || WORDS.iter().filter(|(_, words)| words.contains(&word)).find_map(|(key, _)| of_table(key));
    of_table(word).or_else(synonym)
}

/// The keys of a table as they are written in TOML.
pub fn names(known: &[String]) -> impl Iterator<Item = &str> {
    known.iter().map(|name| plain(name))
}

/// A name without its unit, as it is written in TOML.
pub fn plain(name: &str) -> &str {
    WITH_UNIT.iter().find_map(|unit| name.strip_suffix(unit.0)).unwrap_or(name)
}
