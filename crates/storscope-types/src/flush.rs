//! Flushes: what makes written data outlive a loss of power.

use serde::{Deserialize, Serialize};

/// After each `every`-th write that a worker completed on a target a flush of that target follows.
///
/// In a closed loop it takes that write's place in the queue, and the next request of the place waits for it: a reply, and
/// what comes after the think time. In an open loop it is sent the instant the write is done. A flush covers what was
/// completed before it was sent; it is no barrier for other requests in flight. Writes of copies and replies count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flush {
    /// Writes per flush, at least one.
    pub every: u32,
    /// What is made durable.
    #[serde(default)]
    pub kind: FlushKind,
}

/// What a flush makes durable, named by its system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum FlushKind {
    /// The data, and of the rest what is needed to read them again (fdatasync(2)).
    #[default]
    #[serde(rename = "fdatasync")]
    Data,
    /// The data and all that is known of the file, times included (fsync(2)).
    #[serde(rename = "fsync")]
    Full,
}

impl FlushKind {
    /// The system call.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Data => "fdatasync",
            Self::Full => "fsync",
        }
    }
}
