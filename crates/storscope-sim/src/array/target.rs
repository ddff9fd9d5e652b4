//! Volumes, and what hosts see of them.

use storscope_types::Nanos;

use super::flash::Flash;
use super::limits::GATES;
use super::rates::RATES;

/// A volume at work.
#[derive(Debug, Clone)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Index of its group.
    pub group: u16,
    /// Where it starts in the group's space.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Index of the controller that serves it.
    pub owner: u16,
    /// Whether it may be written back.
    pub write_back: bool,
    /// Reads by the controller they came to, since `watched_since`.
    pub(super) reads_via: Vec<u64>,
    pub(super) watched_since: Nanos,
    /// How often the array has moved it.
    pub moves: u64,
    /// The controller it was taken over from, to which it returns.
    pub(super) home: Option<u16>,
    /// When its I/Os are answered again.
    pub(super) silent_until: Nanos,
    /// Whether data of it is known to be lost.
    pub(super) has_lost: bool,
}

impl Volume {
    /// Whether it lies at an offset of a group's space.
    #[must_use]
    pub fn holds(&self, group: u16, offset: u64) -> bool {
        self.group == group && (self.start..self.start + self.size).contains(&offset)
    }
}

/// A target of the load: a volume as a host sees it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The host's name.
    pub host: String,
    /// The volume's name.
    pub volume_name: String,
    /// Bytes.
    pub size: u64,
    /// Index of the volume.
    pub(super) volume: u16,
    /// The controller its I/Os are sent to; none: the owner.
    pub(super) via: Option<u16>,
    /// Queue limits of LUN, adapter and host, as indices; the ports' depend on the way. `u16::MAX`: none.
    pub(super) limits: [u16; GATES - 1],
    /// Limits of rates of reads and of writes, as indices. `u16::MAX`: none.
    pub(super) rates: [[u16; RATES]; 2],
    /// The host's flash in front of it.
    pub(super) flash: Option<Box<Flash>>,
    /// Targets of other hosts that have flash in front of the same volume.
    pub(super) flash_elsewhere: Vec<u16>,
}
