//! What one worker is to do, and how it ended.

use serde::Serialize;
use storscope_types::{Nanos, Workload};

use crate::place::Span;

/// What one worker is to do.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Which of its streams.
    pub stream_index: u32,
    /// Which worker of the stream.
    pub worker: u32,
    /// Which worker of all streams: seeds differ by it.
    pub global_worker: u32,
    /// Index and region of every target, as [`Stream::targets`](storscope_types::Stream::targets) counts them.
    pub spans: &'a [Span],
    /// Seed of the run.
    pub seed: u64,
    /// When it ends.
    pub limit: Limit,
    /// Length of an interval.
    pub interval: Nanos,
    /// When it starts: intervals count from there.
    pub start: Nanos,
    /// How long after that the first request may go out, or arrivals begin.
    pub delay: Nanos,
    /// How many I/Os and flushes may fail.
    pub max_failures: u64,
}

/// When a worker ends: at the first of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// After this time.
    pub duration: Nanos,
    /// After this many I/Os, all of them completed. Replies, writes of copies and flushes do not count; they follow all the
    /// same.
    pub ios: u64,
    /// After this many bytes, all of them transferred.
    pub bytes: u64,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// I/Os and flushes handed to the device.
    pub submitted: u64,
    /// I/Os and flushes that completed well, those drained at the end included.
    pub completed: u64,
    /// I/Os and flushes that failed.
    pub failed: u64,
    /// I/Os and flushes that completed after the end.
    pub drained: u64,
    /// Arrivals of the run that were never sent.
    pub unsent: u64,
    /// How long the first of them had waited at the end.
    #[serde(rename = "oldest_unsent_ns")]
    pub oldest_unsent: Option<Nanos>,
    /// When it ended, since the start.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
}
