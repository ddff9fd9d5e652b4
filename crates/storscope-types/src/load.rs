//! How much is asked: outstanding I/Os (closed loop) or arrivals (open loop).

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// The load of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// A completion makes room for the next request: throughput follows the storage.
    Closed {
        /// Outstanding I/Os per worker and target.
        outstanding: u32,
    },
    /// Requests arrive whether or not earlier ones are done; latency counts from the arrival.
    Open {
        /// Arrivals per second, of all workers of the stream together. Replies and copies' writes do not count.
        rate_per_s: f64,
        /// How arrivals are spaced.
        #[serde(default)]
        process: Process,
        /// Most I/Os in flight per worker. What arrives above it waits, and its waiting is counted.
        #[serde(default = "default_outstanding")]
        max_outstanding: u32,
    },
    /// Open loop with one rate after another; the run ends after the last step.
    Steps {
        /// The steps, in order.
        steps: Vec<RateStep>,
        /// How arrivals are spaced.
        #[serde(default)]
        process: Process,
        /// Most I/Os in flight per worker.
        #[serde(default = "default_outstanding")]
        max_outstanding: u32,
    },
}

impl Load {
    /// Most I/Os one worker may have in flight on `targets` targets.
    #[must_use]
    pub fn slots_per_worker(&self, targets: usize) -> usize {
        match self {
            Self::Closed { outstanding } => *outstanding as usize * targets,
            Self::Open { max_outstanding, .. } | Self::Steps { max_outstanding, .. } => *max_outstanding as usize,
        }
    }

    /// Whether arrivals, not completions, make requests.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Closed { .. })
    }
}

/// A rate that holds for a while.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Arrivals per second of the whole stream.
    pub rate_per_s: f64,
    /// How long.
    #[serde(rename = "duration_ns")]
    pub duration: Nanos,
}

/// How arrivals are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// Equal gaps.
    Fixed,
    /// Exponential gaps: what many independent users look like.
    #[default]
    Poisson,
}

/// What a user does between a completion and the next request (closed loop only).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThinkTime {
    /// Its mean.
    #[serde(rename = "mean_ns")]
    pub mean: Nanos,
    /// Constant with `fixed`, exponential with `poisson`.
    #[serde(default)]
    pub process: Process,
}

fn default_outstanding() -> u32 {
    1024
}
