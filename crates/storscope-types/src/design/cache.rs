//! The memory of an array.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Memory for writes that are not yet on the drives, and for reads to come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheDesign {
    /// Bytes that are kept together; a partly filled page takes the room of a whole one. 16 KiB where absent (the
    /// default block of LSI/NetApp SANtricity arrays).
    #[serde(default = "sixteen_kib", rename = "page_bytes")]
    pub page: Bytes,
    /// Write-back. Absent: writes go through.
    #[serde(default)]
    pub write: Option<WriteBackDesign>,
    /// Reads. Absent: read data is not kept, except what prefetch needs.
    #[serde(default)]
    pub read: Option<ReadCacheDesign>,
    /// Reading ahead of sequential streams. Absent: never.
    #[serde(default)]
    pub prefetch: Option<PrefetchDesign>,
}

/// Writes that are done when they are in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteBackDesign {
    /// Memory of all controllers for it. Mirroring halves what it holds.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Whether a copy goes to the other controller, over the mirror link, before a write is done.
    #[serde(default)]
    pub mirrored: bool,
    /// Share of it that may be dirty before destaging begins.
    #[serde(default = "tenth")]
    pub low_watermark: f64,
    /// Share at which destaging is at its full speed.
    #[serde(default = "four_fifths")]
    pub high_watermark: f64,
    /// Destages at a time at full speed. Absent: four for each drive, an estimate; of flash what it serves side by side.
    #[serde(default)]
    pub destages: Option<u32>,
    /// Where destaged data goes.
    #[serde(default)]
    pub placement: Placement,
    /// Which dirty data goes first. Beside a log it does not shorten the ways of arms; it decides what leaves the memory
    /// first, and so what is found dirty by the next write.
    #[serde(default)]
    pub order: DestageOrder,
    /// Most bytes that one destage puts in a row on a drive; at least a segment. 1 MiB where absent: an estimate, about
    /// what a host sends a drive at a time (Linux: 1,280 KiB unless told otherwise, BLK_DEF_MAX_SECTORS). A log writes
    /// one stripe at a time.
    #[serde(default, rename = "run_bytes")]
    pub run: Option<Bytes>,
}

impl WriteBackDesign {
    /// Most bytes that one destage puts in a row on a drive.
    #[must_use]
    pub fn run(&self) -> Bytes {
        self.run.unwrap_or(Bytes::from_kib(1_024))
    }
}

/// Which dirty data is destaged first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DestageOrder {
    /// What has been dirty longest. The default, since with it the published points of an EVA 4400 come out; sorting is
    /// left to the drives.
    #[default]
    Age,
    /// In the order of addresses, round after round (an elevator, C-SCAN): the more is dirty, the shorter are the ways of
    /// the drives' arms (Gill and Modha, "WOW: Wise Ordering for Writes", FAST 2005).
    Address,
}

/// Where destaged data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// To its place.
    #[default]
    InPlace,
    /// Full stripes of whatever is dirty go to the next free stripe. Reads are still made from the data's own place, and
    /// cleaning is not modelled: both are sound for random reads of an array with room.
    Log,
}

/// Reads that are answered from memory: least recently used pages, or a ratio that is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadCacheDesign {
    /// Memory for it. Either this or the hit ratio.
    #[serde(default, rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// Share of reads that hit, wherever they go.
    #[serde(default)]
    pub hit_ratio: Option<f64>,
}

/// Reading ahead of sequential streams.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefetchDesign {
    /// Streams that are followed at a time for each volume; 1 to 256.
    #[serde(default = "sixteen")]
    pub streams: u32,
    /// Bytes that are read ahead of a stream.
    #[serde(rename = "depth_bytes")]
    pub depth: Bytes,
    /// Reads in sequence before it begins.
    #[serde(default = "three")]
    pub trigger: u32,
    /// Memory for what was read ahead. Absent: the depth of all streams of all volumes, four times.
    #[serde(default, rename = "size_bytes")]
    pub size: Option<Bytes>,
}

fn sixteen_kib() -> Bytes {
    Bytes::from_kib(16)
}

fn tenth() -> f64 {
    0.1
}

fn four_fifths() -> f64 {
    0.8
}

fn sixteen() -> u32 {
    16
}

fn three() -> u32 {
    3
}
