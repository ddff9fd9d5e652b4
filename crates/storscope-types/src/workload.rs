//! The workload: what is asked of the storage.

use serde::{Deserialize, Serialize};

use crate::{Access, Bytes, DataPool, Flush, Load, Offsets, Region, Starts, ThinkTime, Verification};

/// What is asked of the storage: one stream or several at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Where it comes from: a file, a paper, a specification.
    #[serde(default)]
    pub source: Option<String>,
    /// The streams.
    pub streams: Vec<Stream>,
    /// What is written.
    #[serde(default)]
    pub data: DataPool,
    /// Whether reads are checked.
    #[serde(default)]
    pub verification: Verification,
}

/// Requests of one kind under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Its name, to tell it from the others.
    #[serde(default)]
    pub name: String,
    /// What a request looks like.
    pub access: Access,
    /// How many there are.
    pub load: Load,
    /// Pause between a completion and the next request of the same place in the queue; closed loop only.
    #[serde(default)]
    pub think_time: Option<ThinkTime>,
    /// Flushes that follow its writes.
    #[serde(default)]
    pub flush: Option<Flush>,
    /// Where random requests go.
    #[serde(default)]
    pub offsets: Offsets,
    /// The part of each target that is used.
    #[serde(default)]
    pub region: Region,
    /// Indices of the targets; empty means all.
    #[serde(default)]
    pub targets: Vec<u32>,
    /// Threads, each with its own queue, offsets and draws.
    #[serde(default = "one")]
    pub workers: u32,
    /// Where the workers begin.
    #[serde(default)]
    pub starts: Starts,
}

impl Stream {
    /// A stream of `access` under `load` on all targets, uniform offsets, one worker.
    #[must_use]
    pub fn new(access: Access, load: Load) -> Self {
        Self {
            name: String::new(),
            access,
            load,
            think_time: None,
            flush: None,
            offsets: Offsets::Uniform,
            region: Region::default(),
            targets: Vec::new(),
            workers: 1,
            starts: Starts::Together,
        }
    }

    /// The targets in use among `count`, as indices.
    #[must_use]
    pub fn target_indices(&self, count: usize) -> Vec<u32> {
        if self.targets.is_empty() { (0..count as u32).collect() } else { self.targets.clone() }
    }
}

impl Workload {
    /// A workload of one stream, without verification.
    #[must_use]
    pub fn of(name: &str, stream: Stream) -> Self {
        Self {
            name: name.to_owned(),
            source: None,
            streams: vec![stream],
            data: DataPool::default(),
            verification: Verification::None,
        }
    }

    /// Bytes that carry one stamp: the greatest unit, up to 4 KiB, that every offset and size is a multiple of, so that
    /// no transfer covers a part of one.
    #[must_use]
    pub fn stamp_unit(&self) -> Bytes {
        let units = self.streams.iter().flat_map(stream_units).filter(|&bytes| bytes > 0);
        Bytes(units.fold(4096, greatest_common_divisor))
    }

    /// Whether any stream writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.streams.iter().any(|stream| stream.access.writes())
    }
}

fn stream_units(stream: &Stream) -> Vec<u64> {
    let mut units = vec![stream.region.start.0];
    match &stream.access {
        Access::Mix { lines } => {
            units.extend(lines.iter().flat_map(|line| [line.size.0, line.effective_align().0, line.reply.0]));
        }
        Access::Copy(copy) => units.extend([copy.size.0, copy.destination_start.0]),
    }
    units
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn one() -> u32 {
    1
}
