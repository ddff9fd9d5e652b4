//! What a run gave, and whether it can be trusted.

use serde::Serialize;
use storscope_types::{Load, Nanos, Workload};

use crate::tally::Interval;
use crate::task::Ending;
use crate::usage::Usage;

/// Lateness may be this share of the response time (both p99) before the generator, not the storage, is measured.
const TOLERATED_LATENESS: f64 = 0.05;
/// Arrivals that may be left over at the end, as a share: more means that the queue grew.
const TOLERATED_UNSENT: f64 = 0.01;

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct RunResult {
    /// UTC, since 1970.
    pub started_unix_ns: u64,
    /// Sum of the intervals of all workers, without what was drained after the end.
    pub total: Interval,
    /// What was in flight at the end.
    pub drain: Interval,
    /// Counts of all workers.
    pub ending: Ending,
    /// How the I/Os of each stream were made.
    pub engines: Vec<EngineUsed>,
    /// Which clock timed them.
    pub clock: &'static str,
    /// CPU and context switches of the whole process during the run: includes kernel workers of rings, and whatever
    /// else the process did.
    pub process_usage: Usage,
    /// Why the figures may not mean what they say.
    pub doubts: Vec<Doubt>,
    /// Whether the latencies are meaningless because of a doubt.
    pub valid: bool,
}

/// How a stream's I/Os were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineUsed {
    /// The stream's index.
    pub stream: u32,
    /// `io_uring`, `threads` or `null`.
    pub engine: &'static str,
    /// Why, if it is not what was asked for or expected.
    pub reason: Option<String>,
    /// Whether the ring's buffers were registered.
    pub registered_buffers: bool,
}

/// A reason not to trust a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Doubt {
    /// The generator added too much of its own.
    GeneratorLate {
        /// Lateness, 99th percentile.
        lateness_ns_p99: u64,
        /// Response, 99th percentile.
        response_ns_p99: u64,
        /// Whether the place in the queue was missing, not the time.
        queue_was_full: bool,
    },
    /// More arrived than was sent: an open queue would grow for ever.
    Overloaded {
        /// Arrivals that were never sent.
        unsent: u64,
        /// How long the first of them had waited at the end.
        oldest_unsent_ns: u64,
    },
    /// I/Os failed; they have no latency.
    Failures {
        /// How many.
        failed: u64,
    },
    /// Nothing was measured.
    Empty,
}

impl Doubt {
    /// Whether it makes the latencies meaningless.
    #[must_use]
    pub fn invalidates(&self) -> bool {
        !matches!(self, Self::Failures { .. })
    }

    /// What it means and what to do.
    #[must_use]
    pub fn explain(&self) -> String {
        match self {
            Self::GeneratorLate { lateness_ns_p99, response_ns_p99, queue_was_full } => {
                let cause = if *queue_was_full {
                    "the queue was full; allow more outstanding I/Os or ask for less"
                } else {
                    "the generator was too slow; use more workers, or a quieter machine"
                };
                format!("I/Os left {lateness_ns_p99} ns late at p99, of a response of {response_ns_p99} ns: {cause}")
            }
            Self::Overloaded { unsent, oldest_unsent_ns } => {
                let seconds = *oldest_unsent_ns as f64 / 1e9;
                format!(
                    "{unsent} arrivals were never sent, the first waited {seconds:.3} s: the load is above what the \
                         storage does, and latency depends on how long the run is"
                )
            }
            Self::Failures { failed } => format!("{failed} I/Os failed and are in no latency"),
            Self::Empty => "no I/O completed".to_owned(),
        }
    }
}

/// What is doubtful about an interval or a total.
#[must_use]
pub fn doubts(interval: &Interval, ending: &Ending, workload: &Workload) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    doubts.extend(lateness_doubt(interval, workload));
    let arrivals = ending.submitted + ending.unsent;
    if ending.unsent as f64 > TOLERATED_UNSENT * arrivals as f64 {
        let oldest_unsent_ns = ending.oldest_unsent.unwrap_or(Nanos::ZERO).0;
        doubts.push(Doubt::Overloaded { unsent: ending.unsent, oldest_unsent_ns });
    }
    if interval.failed() > 0 {
        doubts.push(Doubt::Failures { failed: interval.failed() });
    }
    doubts
}

/// Whether lateness makes an interval or a total meaningless.
#[must_use]
pub fn lateness_doubt(interval: &Interval, workload: &Workload) -> Option<Doubt> {
    let all = interval.all();
    let (Some(lateness_ns_p99), Some(response_ns_p99)) = (all.lateness.quantile(0.99), all.response.quantile(0.99))
    else {
        return Some(Doubt::Empty);
    };
    if lateness_ns_p99 as f64 <= TOLERATED_LATENESS * response_ns_p99 as f64 {
        return None;
    }
    let queue_was_full = interval.outstanding_mean > 0.9 * open_slots(workload);
    Some(Doubt::GeneratorLate { lateness_ns_p99, response_ns_p99, queue_was_full })
}

/// Places in the queues of all open loops; none in a closed loop can be missing.
fn open_slots(workload: &Workload) -> f64 {
    let slots = workload.streams.iter().map(|stream| match stream.load {
        Load::Closed { .. } => f64::INFINITY,
        Load::Open { max_outstanding, .. } | Load::Steps { max_outstanding, .. } => {
            f64::from(max_outstanding) * f64::from(stream.workers)
        }
    });
    slots.sum()
}
