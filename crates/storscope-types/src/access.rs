//! What each request looks like: Iometer's access specification lines, and copies.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// One line of a mix, with the meaning Iometer gives it (IOGrunt: IOAccess.cpp, IOTargetDisk.cpp).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessSpec {
    /// Bytes of a transfer.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Weight of the line: its share of *bursts*, not of bytes. Shares need not add up to one; they are scaled.
    #[serde(default = "one")]
    pub share: f64,
    /// Probability that a transfer reads, drawn for each transfer.
    #[serde(default = "one")]
    pub read_share: f64,
    /// Probability that a transfer goes to a random offset, drawn for each transfer. The others go to the offset of
    /// the target's previous transfer plus that transfer's size, shared by all outstanding I/Os of a worker.
    #[serde(default = "one")]
    pub random_share: f64,
    /// Wait before each burst of this line; completions are handled meanwhile.
    #[serde(default, rename = "delay_ns")]
    pub delay: Nanos,
    /// Transfers per burst, sent without waiting except for a free place in the queue.
    #[serde(default = "one_transfer")]
    pub burst: u32,
    /// Offsets are multiples of this, counted from the start of the region. Zero: multiples of the transfer size.
    ///
    /// Iometer's zero means the sector size; its importer writes 512 then.
    #[serde(default, rename = "align_bytes")]
    pub align: Bytes,
    /// If not zero, each transfer is followed by one of the opposite direction with this size. The pair is a
    /// transaction and keeps its place in the queue until the second is done.
    #[serde(default, rename = "reply_bytes")]
    pub reply: Bytes,
}

impl AccessSpec {
    /// Random reads of `size`, aligned to their size, one per burst; change what differs.
    #[must_use]
    pub fn random_read(size: Bytes) -> Self {
        Self {
            size,
            share: 1.0,
            read_share: 1.0,
            random_share: 1.0,
            delay: Nanos::ZERO,
            burst: 1,
            align: Bytes::ZERO,
            reply: Bytes::ZERO,
        }
    }

    /// The alignment in force: never zero for a line with a size.
    #[must_use]
    pub fn effective_align(&self) -> Bytes {
        if self.align == Bytes::ZERO { self.size } else { self.align }
    }
}

/// A copy stream: each read is followed by a write of the same bytes at the same place of the destination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copy {
    /// Bytes of a read, and of the write that follows it.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Index of the target that is written. It may be the one that is read, with another start.
    pub destination: u32,
    /// Where the copy of the region's first byte goes.
    #[serde(default, rename = "destination_start_bytes")]
    pub destination_start: Bytes,
    /// Probability that a read goes to a random offset; zero copies from front to back.
    #[serde(default)]
    pub random_share: f64,
}

/// What a stream asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Access {
    /// A weighted mix of lines.
    Mix {
        /// The lines; Iometer allows 100.
        lines: Vec<AccessSpec>,
    },
    /// A copy.
    Copy(Copy),
}

impl Access {
    /// The largest transfer in bytes.
    #[must_use]
    pub fn largest(&self) -> Bytes {
        match self {
            Self::Mix { lines } => lines.iter().map(|line| line.size.max(line.reply)).max().unwrap_or_default(),
            Self::Copy(copy) => copy.size,
        }
    }

    /// Whether any request reads.
    #[must_use]
    pub fn reads(&self) -> bool {
        match self {
            Self::Mix { lines } => lines.iter().any(|line| line.read_share > 0.0 || line.reply > Bytes::ZERO),
            Self::Copy(_) => true,
        }
    }

    /// Whether any request writes. A stream that does not write never needs more than a read-only target.
    #[must_use]
    pub fn writes(&self) -> bool {
        match self {
            Self::Mix { lines } => lines.iter().any(|line| line.read_share < 1.0 || line.reply > Bytes::ZERO),
            Self::Copy(_) => true,
        }
    }
}

fn one() -> f64 {
    1.0
}

fn one_transfer() -> u32 {
    1
}
