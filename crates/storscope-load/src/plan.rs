//! A run as its caller plans it: the workload, where, how long, and on which engine.

use serde::{Deserialize, Serialize};
use storscope_types::{Access, Bytes, Load, Nanos, Stream, Workload, grouped};

use crate::buffers::BufferPlan;
use crate::error::LoadError;
use crate::place::Span;
use crate::system::{MOST_THREADS, Opened, TargetSpec};
use crate::task::Limit;

/// Buffers of all workers together: locked memory that the machine then lacks elsewhere.
const MOST_MEMORY: Bytes = Bytes::from_mib(4096);

/// Of I/Os without buffers: a gigabyte.
const MOST_SLOTS: u64 = 1 << 24;

/// Everything that a run depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What is asked.
    pub workload: Workload,
    /// Of what.
    pub targets: Vec<TargetSpec>,
    /// How I/Os are made.
    #[serde(default)]
    pub engine: Engine,
    /// Draws of the generator depend on it alone.
    #[serde(default)]
    pub seed: u64,
    /// The run ends after this time...
    #[serde(default, rename = "duration_ns")]
    pub duration: Option<Nanos>,
    /// ...or when each worker has made this many I/Os...
    #[serde(default)]
    pub max_ios_per_worker: Option<u64>,
    /// ...or transferred this much, whichever is first. At least one must be given, except for rate steps.
    #[serde(default, rename = "max_bytes_per_worker")]
    pub max_bytes_per_worker: Option<Bytes>,
    /// Length of an interval.
    #[serde(default = "one_second", rename = "interval_ns")]
    pub interval: Nanos,
    /// How many I/Os of a worker may fail before the run ends with an error.
    #[serde(default)]
    pub max_failures: u64,
    /// Whether the workers, once ready, wait for [`Run::begin`](crate::Run::begin). Trials of the engine are over then,
    /// and every I/O from there on counts.
    #[serde(default)]
    pub held: bool,
}

/// How I/Os are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// An io_uring unless it is not allowed or the kernel hands its I/Os to threads.
    #[default]
    Auto,
    /// An io_uring.
    IoUring,
    /// Threads with synchronous calls.
    Threads,
}

impl Plan {
    /// Whether the plan can be run; targets are not touched.
    ///
    /// # Errors
    /// The first field that does not make sense.
    pub fn check(&self) -> Result<(), LoadError> {
        require(!self.targets.is_empty(), "targets", "at least one", "none")?;
        self.workload.check(self.targets.len())?;
        require(self.interval >= Nanos::from_millis(1), "interval_ns", "1 ms or more", &self.interval.0.to_string())?;
        let ends = self.duration.is_some() || self.max_ios_per_worker.is_some() || self.max_bytes_per_worker.is_some();
        let all_steps = self.workload.streams.iter().all(|stream| matches!(stream.load, Load::Steps { .. }));
        require(ends || all_steps, "duration_ns", "an end of time, I/Os or bytes", "none")?;
        let nulls = self.targets.iter().filter(|target| matches!(target, TargetSpec::Null { .. })).count();
        let alike = nulls == 0 || nulls == self.targets.len();
        require(alike, "targets", "null targets alone: they have an engine of their own", "others beside them")?;
        self.check_threads()?;
        if nulls > 0 { self.check_queues() } else { self.check_memory() }
    }

    /// A closed loop that is deeper than the pool of threads would not be the load that was asked for. An open one may
    /// be: what waits for a thread is late, which shows.
    fn check_threads(&self) -> Result<(), LoadError> {
        if self.engine != Engine::Threads {
            return Ok(());
        }
        for (index, stream) in self.workload.streams.iter().enumerate().filter(|(_, stream)| !stream.load.is_open()) {
            let outstanding = stream.load.slots_per_worker(stream.target_indices(self.targets.len()).len());
            let path = format!("workload.streams[{index}].load.outstanding");
            let expected = format!("at most {MOST_THREADS} I/Os per worker on all targets, as each needs a thread");
            require(outstanding <= MOST_THREADS, &path, &expected, &outstanding.to_string())?;
        }
        Ok(())
    }

    /// Null targets have no buffers, but each I/O has a place.
    fn check_queues(&self) -> Result<(), LoadError> {
        let slots = |stream: &Stream| {
            let slots = stream.load.slots_per_worker(stream.target_indices(self.targets.len()).len());
            slots as u64 * u64::from(stream.workers)
        };
        let total: u64 = self.workload.streams.iter().map(slots).sum();
        let expected = format!("at most {} outstanding I/Os in all", grouped(MOST_SLOTS));
        require(total <= MOST_SLOTS, "workload.streams", &expected, &grouped(total))
    }

    /// All buffers are in memory at the same time.
    fn check_memory(&self) -> Result<(), LoadError> {
        let bytes = |stream: &Stream| {
            let slots = stream.load.slots_per_worker(stream.target_indices(self.targets.len()).len());
            BufferPlan::new(&self.workload, stream, slots).bytes() as u64 * u64::from(stream.workers)
        };
        let total: u64 = self.workload.streams.iter().map(bytes).sum();
        let expected = format!("queues and transfers whose buffers fit into {} MiB", MOST_MEMORY.0 >> 20);
        require(total <= MOST_MEMORY.0, "workload.streams", &expected, &format!("{} MiB of them", total >> 20))
    }

    /// When a worker of the stream ends.
    #[must_use]
    pub fn limit(&self, stream: usize) -> Limit {
        let steps_end = match &self.workload.streams[stream].load {
            Load::Steps { steps, .. } => steps.iter().fold(Nanos::ZERO, |sum, step| sum.saturating_add(step.duration)),
            _ => Nanos::NEVER,
        };
        Limit {
            duration: self.duration.unwrap_or(Nanos::NEVER).min(steps_end),
            ios: self.max_ios_per_worker.unwrap_or(u64::MAX),
            bytes: self.max_bytes_per_worker.map_or(u64::MAX, |bytes| bytes.0),
        }
    }

    /// Whether any stream writes the target.
    #[must_use]
    pub fn writes_to(&self, target: usize) -> bool {
        self.workload.streams.iter().any(|stream| match &stream.access {
            Access::Copy(copy) => copy.destination as usize == target,
            access => access.writes() && stream.target_indices(self.targets.len()).contains(&(target as u32)),
        })
    }

    /// The spans that a stream uses on the open targets.
    ///
    /// # Errors
    /// When the stream's region does not lie within one of its targets, or is too small for its transfers.
    pub fn spans(&self, stream: usize, opened: &[Opened]) -> Result<Vec<Span>, LoadError> {
        let used = self.workload.streams[stream].target_indices(opened.len());
        let span = |(index, target): (usize, &Opened)| {
            if used.contains(&(index as u32)) { self.span(stream, index, target.size()) } else { Ok(Span::EMPTY) }
        };
        let spans = opened.iter().enumerate().map(span).collect::<Result<Vec<Span>, LoadError>>()?;
        self.check_copy(stream, opened, &spans)?;
        Ok(spans)
    }

    fn span(&self, stream: usize, target: usize, size: Bytes) -> Result<Span, LoadError> {
        let region = self.workload.streams[stream].region;
        let path = format!("workload.streams[{stream}].region");
        let rest = size.0.saturating_sub(region.start.0);
        let length = region.length.map_or(rest, |length| length.0);
        let [from, to, bytes] = [region.start.0, region.start.0 + length, size.0].map(grouped);
        let place = format!("bytes {from} to {to} of target {target} with {bytes}");
        require(length <= rest, &path, "a region within the target", &place)?;
        let largest = self.workload.streams[stream].access.largest().0;
        require(length >= largest, &path, &format!("room for transfers of {} bytes", grouped(largest)), &place)?;
        Ok(Span { start: region.start.0, length })
    }

    fn check_copy(&self, stream: usize, opened: &[Opened], spans: &[Span]) -> Result<(), LoadError> {
        let Access::Copy(copy) = &self.workload.streams[stream].access else { return Ok(()) };
        let longest = spans.iter().map(|span| span.length).max().unwrap_or(0);
        let (end, size) =
            (copy.destination_start.0.saturating_add(longest), opened[copy.destination as usize].size().0);
        let path = format!("workload.streams[{stream}].access.destination_start_bytes");
        require(
            end <= size,
            &path,
            &format!("room for {} bytes on target {}", grouped(longest), copy.destination),
            &grouped(size),
        )
    }
}

fn require(sound: bool, path: &str, expected: &str, found: &str) -> Result<(), LoadError> {
    if sound {
        return Ok(());
    }
    Err(LoadError::Plan { path: path.to_owned(), expected: expected.to_owned(), found: found.to_owned() })
}

fn one_second() -> Nanos {
    Nanos::SECOND
}
