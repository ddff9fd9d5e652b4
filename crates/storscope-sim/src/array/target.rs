//! Volumes, and what hosts see of them.

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
}
