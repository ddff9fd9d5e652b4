//! Limits of rates: what a volume or a host is allowed, whatever the array could do.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// A limit of the rate of I/Os, of bytes, or of both: the size of a cloud volume, the quality of service of an array, the
/// share of a virtual machine.
///
/// I/Os pass one after the other, each at the earliest instant that all figures allow; those that come too fast wait in
/// turn. An I/O that comes alone does not wait. With a burst there is a bucket of credits that fills at the allowed rate
/// and holds what the burst takes beyond it in `burst_for`; while there are credits, I/Os pass at the rate of the burst.
/// That is the leaky bucket of ITU-T I.371 (GCRA), and what providers describe: gp2 of AWS has 5.4 million credits, so its
/// burst of 3,000 I/Os per second lasts 5.4 million / (3,000 - allowed rate) seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimitDesign {
    /// I/Os per second. Absent: no limit.
    #[serde(default)]
    pub iops: Option<f64>,
    /// Bytes per second. Absent: no limit.
    #[serde(default)]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Bytes up to which an I/O counts as one; a larger one counts as several. Absent: every I/O counts as one.
    #[serde(default, rename = "io_unit_bytes")]
    pub io_unit: Option<Bytes>,
    /// I/Os per second while there are credits. Absent: as without.
    #[serde(default)]
    pub burst_iops: Option<f64>,
    /// Bytes per second while there are credits. Absent: as without.
    #[serde(default)]
    pub burst_bandwidth_bytes_per_s: Option<f64>,
    /// How long a full bucket lasts at the rate of the burst.
    #[serde(default, rename = "burst_for_ns")]
    pub burst_for: Option<Nanos>,
    /// Share of the bucket that is filled when the run begins. Absent: all of it.
    #[serde(default)]
    pub burst_left: Option<f64>,
}

/// The limits of a volume or a host: of all its I/Os, and of each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateLimits {
    /// Of reads and writes together.
    pub all: Option<RateLimitDesign>,
    /// Of reads.
    pub reads: Option<RateLimitDesign>,
    /// Of writes.
    pub writes: Option<RateLimitDesign>,
}

impl RateLimits {
    /// Each with the name of its key.
    pub fn by_key(&self) -> impl Iterator<Item = (&'static str, RateLimitDesign)> {
        let keys = [("limit", self.all), ("read_limit", self.reads), ("write_limit", self.writes)];
        keys.into_iter().filter_map(|(key, limit)| limit.map(|limit| (key, limit)))
    }
}
