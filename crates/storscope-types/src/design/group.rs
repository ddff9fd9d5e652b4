//! Disk groups and the volumes on them.

use serde::{Deserialize, Serialize};

use super::rate_limit::{RateLimitDesign, RateLimits};
use crate::Bytes;

/// Drives under one layout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupDesign {
    /// Its name.
    pub name: String,
    /// The kind of its drives: a name of the design's drives or of the catalogue.
    pub drive: String,
    /// Drives that hold data, mirrors or parity.
    pub count: u32,
    /// Drives that wait for one of those to fail. A pool keeps its spare distributed, so it has none.
    #[serde(default)]
    pub spares: u32,
    /// How data lies on the drives.
    pub layout: Layout,
    /// Bytes on one drive before the next is used: segment, stripe unit, chunk.
    #[serde(default = "segment_64_kib", rename = "segment_bytes")]
    pub segment: Bytes,
    /// Drives of one parity set, parity included: of RAID 50, RAID 60 and pools.
    #[serde(default)]
    pub width: Option<u32>,
    /// What protects the data of a pool.
    #[serde(default)]
    pub redundancy: Option<Redundancy>,
    /// Copies of the data of a mirror, the data itself included. Absent: two.
    #[serde(default)]
    pub copies: Option<u32>,
    /// Parity segments of a stripe of RAID 6, RAID 60 or such a pool: three of RAID-TP and RAID-Z3, more of erasure codes.
    /// Absent: two.
    #[serde(default)]
    pub parity: Option<u32>,
    /// Bytes of a drive that a pool hands out at a time (chunklet, physical segment, page): the stripes of an extent lie row
    /// by row on the same drives, and extents of all volumes lie mixed in the part of the drives that volumes use. Absent:
    /// stripes are handed out one by one, from the outer edge on.
    #[serde(default, rename = "extent_bytes")]
    pub extent: Option<Bytes>,
    /// Share of each drive that a pool keeps free for the data of failed drives.
    #[serde(default)]
    pub spare_share: f64,
    /// Which copy of a mirror is read. Absent: the nearest.
    #[serde(default)]
    pub read_choice: Option<ReadChoice>,
    /// How partly written stripes get their parity. Absent: as it needs fewer reads.
    #[serde(default)]
    pub parity_update: Option<ParityUpdate>,
    /// A write that must be on the drives before the data may be. Absent: none.
    #[serde(default)]
    pub journal: Option<JournalDesign>,
}

/// How data lies on the drives of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Striped.
    Raid0,
    /// Mirrors, one after the other.
    Raid1,
    /// Striped over mirrors.
    Raid10,
    /// One parity, rotated (left symmetric).
    Raid5,
    /// Two parities or more, rotated.
    Raid6,
    /// Striped over RAID 5 sets.
    Raid50,
    /// Striped over RAID 6 sets.
    Raid60,
    /// Sets spread pseudo-randomly over all drives.
    Pool,
}

/// What protects the data of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redundancy {
    /// Nothing.
    Raid0,
    /// Copies.
    Raid1,
    /// One parity.
    Raid5,
    /// Two parities or more.
    Raid6,
}

/// Which copy of a mirror is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadChoice {
    /// In turn.
    RoundRobin,
    /// The one with fewer requests.
    ShortestQueue,
    /// One that is idle, or else the one whose last request was nearer, as Linux md does
    /// (drivers/md/raid10.c:read_balance); a sequential reader stays on a drive. The default, as it is nearest to what was
    /// measured (docs/arrays.md).
    #[default]
    Nearest,
    /// Always the first.
    Primary,
}

/// How partly written stripes get their parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParityUpdate {
    /// What needs fewer reads; read-modify-write when equal.
    #[default]
    Cheaper,
    /// From the old data and the old parity.
    ReadModifyWrite,
    /// From the data that is not written.
    ReconstructWrite,
}

/// A write before the data: a bitmap of dirty regions or a journal entry, on each drive that is written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalDesign {
    /// Bytes of it.
    #[serde(default = "four_kib", rename = "size_bytes")]
    pub size: Bytes,
    /// Share of writes that need one: a bitmap need not be written for a region that is marked already.
    #[serde(default = "always")]
    pub share: f64,
}

/// A volume, also called LUN or virtual disk: a contiguous part of a group's space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeDesign {
    /// Its name.
    pub name: String,
    /// The group it lies on.
    pub group: String,
    /// Its size.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Where it starts in the group's space. Absent: after the volume before it on the same group.
    #[serde(default, rename = "start_bytes")]
    pub start: Option<Bytes>,
    /// The controller that serves it. Absent: the first.
    #[serde(default)]
    pub owner: Option<String>,
    /// Whether writes are done when they are in the cache.
    #[serde(default = "yes")]
    pub write_back: bool,
    /// What it is allowed, whatever the array could do. Absent: no limit.
    #[serde(default)]
    pub limit: Option<RateLimitDesign>,
    /// The same of its reads.
    #[serde(default)]
    pub read_limit: Option<RateLimitDesign>,
    /// The same of its writes.
    #[serde(default)]
    pub write_limit: Option<RateLimitDesign>,
}

impl VolumeDesign {
    /// Its limits of rates.
    #[must_use]
    pub fn rate_limits(&self) -> RateLimits {
        RateLimits { all: self.limit, reads: self.read_limit, writes: self.write_limit }
    }
}

fn segment_64_kib() -> Bytes {
    Bytes::from_kib(64)
}

fn four_kib() -> Bytes {
    Bytes::from_kib(4)
}

fn always() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}
