//! Work that an array does by itself, and changes during a run.

use serde::{Deserialize, Serialize};

use super::rate_limit::{RateLimitDesign, RateLimits};
use crate::{Bytes, Nanos};

/// Background work on a group, a chunk at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackgroundDesign {
    /// Its name, so that a change can start it.
    pub name: String,
    /// What it does.
    pub kind: BackgroundKind,
    /// The group.
    pub group: String,
    /// When it starts. Absent: when a change starts it; a rebuild also starts when a drive of the group fails.
    #[serde(default, rename = "start_ns")]
    pub start: Option<Nanos>,
    /// Bytes of each drive that one step handles. Absent: a segment, of a rebuild or a scrub at least 1 MiB.
    #[serde(default, rename = "chunk_bytes")]
    pub chunk: Option<Bytes>,
    /// Steps at a time; 1 to 256. Absent: 1; of a rebuild of a pool as many as it has drives besides the failed one.
    #[serde(default)]
    pub outstanding: Option<u32>,
    /// Throttle: most bytes per second that are rebuilt, moved or checked. Absent: as fast as the drives allow.
    #[serde(default)]
    pub rate_bytes_per_s: Option<f64>,
    /// Share of the group's space to be handled; of a restripe, the share of data that has to move.
    #[serde(default = "whole")]
    pub share: f64,
}

/// What background work does with each chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackgroundKind {
    /// Reads what is left of a stripe and writes what the failed drive had to the spare.
    Rebuild,
    /// Reads a segment and writes it to another drive: levelling after drives were added.
    Restripe,
    /// Reads all of a stripe.
    Scrub,
}

/// A change at an instant of the run: just one of the optional fields is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeDesign {
    /// When.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// A drive fails. What it has accepted it still finishes.
    #[serde(default)]
    pub drive_fails: Option<DriveOfGroup>,
    /// The writes of the volumes of this controller go through: its battery or its cache is gone.
    #[serde(default)]
    pub cache_lost: Option<String>,
    /// They are cached again.
    #[serde(default)]
    pub cache_restored: Option<String>,
    /// The flash caches of this host are gone, with what they held: its reads go to the array.
    #[serde(default)]
    pub flash_cache_lost: Option<String>,
    /// They are back, and empty.
    #[serde(default)]
    pub flash_cache_restored: Option<String>,
    /// A controller fails: another one takes over its volumes.
    #[serde(default)]
    pub controller_fails: Option<ControllerFailure>,
    /// A controller that failed is back, and gets its volumes back.
    #[serde(default)]
    pub controller_returns: Option<String>,
    /// A volume gets another owner.
    #[serde(default)]
    pub volume_moves: Option<VolumeMove>,
    /// What a volume or a host is allowed is another.
    #[serde(default)]
    pub limits_change: Option<LimitsChange>,
    /// Background work of this name starts.
    #[serde(default)]
    pub background_starts: Option<String>,
    /// Background work of this name stops.
    #[serde(default)]
    pub background_stops: Option<String>,
}

/// A drive by its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveOfGroup {
    /// The group.
    pub group: String,
    /// Its place in it, from 0.
    pub index: u32,
}

/// The limits of rates of a volume or a host from an instant on. One that is left out is lifted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsChange {
    /// The volume; this or a host is given.
    #[serde(default)]
    pub volume: Option<String>,
    /// The host.
    #[serde(default)]
    pub host: Option<String>,
    /// What it is allowed. Absent: no limit.
    #[serde(default)]
    pub limit: Option<RateLimitDesign>,
    /// The same of its reads.
    #[serde(default)]
    pub read_limit: Option<RateLimitDesign>,
    /// The same of its writes.
    #[serde(default)]
    pub write_limit: Option<RateLimitDesign>,
}

impl LimitsChange {
    /// The limits from then on.
    #[must_use]
    pub fn rate_limits(&self) -> RateLimits {
        RateLimits { all: self.limit, reads: self.read_limit, writes: self.write_limit }
    }
}

/// A controller that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerFailure {
    /// The controller.
    pub controller: String,
    /// How long I/Os sent to it wait, until hosts and the other controllers have noticed. Absent: no time.
    #[serde(default, rename = "takeover_ns")]
    pub takeover: Option<Nanos>,
}

/// A volume and where it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeMove {
    /// The volume.
    pub volume: String,
    /// The controller that gets it.
    pub to: String,
}

fn whole() -> f64 {
    1.0
}
