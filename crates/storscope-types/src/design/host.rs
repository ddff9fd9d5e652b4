//! Hosts and what is attached to them.

use serde::{Deserialize, Serialize};

use super::rate_limit::{RateLimitDesign, RateLimits};
use crate::{Bytes, Nanos};

/// A host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostDesign {
    /// Its name.
    pub name: String,
    /// The volumes it uses; each is a target of the load.
    #[serde(alias = "volume")]
    pub volumes: Vec<AttachmentDesign>,
    /// Most I/Os of the host in flight at the array. Absent: no limit.
    #[serde(default)]
    pub queue_limit: Option<u32>,
    /// Most I/Os of its adapter in flight at the array, where that is less. Absent: no limit.
    #[serde(default)]
    pub adapter_queue_limit: Option<u32>,
    /// What it is allowed on all its volumes together, whatever the array could do. Absent: no limit.
    #[serde(default)]
    pub limit: Option<RateLimitDesign>,
    /// The same of its reads.
    #[serde(default)]
    pub read_limit: Option<RateLimitDesign>,
    /// The same of its writes.
    #[serde(default)]
    pub write_limit: Option<RateLimitDesign>,
}

impl HostDesign {
    /// Its limits of rates.
    #[must_use]
    pub fn rate_limits(&self) -> RateLimits {
        RateLimits { all: self.limit, reads: self.read_limit, writes: self.write_limit }
    }
}

/// A volume as a host sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachmentDesign {
    /// The volume.
    pub volume: String,
    /// The controller that I/Os are sent to. Absent: the owner, also after the volume has moved.
    #[serde(default)]
    pub via: Option<String>,
    /// Queue depth of the LUN: most I/Os in flight at the array. Absent: no limit.
    #[serde(default)]
    pub queue_limit: Option<u32>,
    /// A flash read cache of the host in front of the volume. Absent: none.
    #[serde(default)]
    pub flash_cache: Option<FlashCacheDesign>,
}

/// A read cache on flash in the host. Writes go through, and to the flash as well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashCacheDesign {
    /// Its size.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Bytes that take their room together: a power of two from 512 bytes to 128 KiB. What of a block is there is known in
    /// 32 parts.
    #[serde(default = "eight_kib", rename = "block_bytes")]
    pub block: Bytes,
    /// Time to read one request from the flash.
    #[serde(default = "hundred_micros", rename = "read_ns")]
    pub read: Nanos,
    /// Time to write one request to it; nobody waits for it but the reads behind it.
    #[serde(default = "fifty_micros", rename = "write_ns")]
    pub write: Nanos,
    /// Requests the flash serves side by side; 1 to 64.
    #[serde(default = "eight")]
    pub parallel: u32,
    /// Rate of all its transfers together. Absent: no limit.
    #[serde(default)]
    pub bandwidth_bytes_per_s: Option<f64>,
}

fn eight_kib() -> Bytes {
    Bytes::from_kib(8)
}

fn hundred_micros() -> Nanos {
    Nanos::from_micros(100)
}

fn fifty_micros() -> Nanos {
    Nanos::from_micros(50)
}

fn eight() -> u32 {
    8
}
