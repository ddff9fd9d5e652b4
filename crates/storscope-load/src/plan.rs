//! A run as its caller plans it: the workload, where, how long, and on which engine.

use serde::{Deserialize, Serialize};
use storscope_types::{Access, Bytes, Load, Nanos, Stream, Workload, grouped};

use crate::buffers::BufferPlan;
use crate::error::LoadError;
use crate::place::Span;
use crate::system::{MOST_IN_A_RING, MOST_THREADS, MemoryLeft, Opened, TargetSpec};
use crate::task::Limit;

/// Buffers of all workers together: locked memory that the machine then lacks elsewhere.
const MOST_MEMORY: Bytes = Bytes::from_mib(4096);

/// What a run takes beside its buffers, the threads' stacks and its figures, with room to spare.
const SPARED_MEMORY: Bytes = Bytes::from_mib(64);

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
    /// ...or when each worker has made this many I/Os, whose replies, copies and flushes come beside...
    #[serde(default)]
    pub max_ios_per_worker: Option<u64>,
    /// ...or transferred this much, whichever is first. At least one must be given, except for rate steps.
    #[serde(default, rename = "max_bytes_per_worker")]
    pub max_bytes_per_worker: Option<Bytes>,
    /// Length of an interval.
    #[serde(default = "one_second", rename = "interval_ns")]
    pub interval: Nanos,
    /// How many I/Os and flushes of a worker may fail before the run ends with an error.
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
    /// An io_uring, unless it is not allowed, or the kernel hands its I/Os to threads and ours are the better ones.
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
        let alike = self.is_of_nulls() || !self.targets.iter().any(is_null);
        require(alike, "targets", "null targets alone: they have an engine of their own", "others beside them")?;
        self.check_threads()?;
        if self.is_of_nulls() {
            return self.check_queues();
        }
        self.check_rings()?;
        self.check_memory()
    }

    fn is_of_nulls(&self) -> bool {
        self.targets.iter().all(is_null)
    }

    /// The I/Os of a worker on all its targets are in one ring. An open loop has no more than that on one.
    fn check_rings(&self) -> Result<(), LoadError> {
        for (index, stream) in self.workload.streams.iter().enumerate() {
            let Load::Closed { outstanding } = stream.load else { continue };
            let targets = stream.target_indices(self.targets.len()).len();
            let slots = stream.load.slots_per_worker(targets);
            let path = format!("workload.streams[{index}].load.outstanding");
            let expected = format!("at most {} I/Os per worker on all targets", grouped(MOST_IN_A_RING as u64));
            let found = format!("{} on each of {targets}", grouped(u64::from(outstanding)));
            require(slots <= MOST_IN_A_RING, &path, &expected, &found)?;
        }
        Ok(())
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
        self.check_buffers(MOST_MEMORY, &format!("{} MiB", mib(MOST_MEMORY)))
    }

    /// Whether memory has room for the buffers. What the kernel cannot give when they are touched ends the process.
    ///
    /// # Errors
    /// When it has not. Where the system does not tell what is left, that is not known.
    pub fn check_left(&self, left: Option<&MemoryLeft>) -> Result<(), LoadError> {
        let Some(left) = left else { return Ok(()) };
        let room = Bytes(left.bytes.0.saturating_sub(SPARED_MEMORY.0));
        self.check_buffers(room, &format!("the {} MiB of memory that are left to {}", mib(room), left.whose))
    }

    fn check_buffers(&self, room: Bytes, words: &str) -> Result<(), LoadError> {
        let needed = self.buffer_bytes();
        let expected = format!(
            "queues and transfers whose buffers fit into {words} (fewer I/Os in flight, which max_outstanding bounds in \
             an open loop, smaller transfers or fewer workers)"
        );
        require(needed <= room, "workload.streams", &expected, &format!("{} MiB of them", mib(needed)))
    }

    /// Memory for the data of the I/Os of all workers; null targets need none.
    #[must_use]
    pub fn buffer_bytes(&self) -> Bytes {
        if self.is_of_nulls() {
            return Bytes::ZERO;
        }
        let bytes = |stream: &Stream| {
            let slots = stream.load.slots_per_worker(stream.target_indices(self.targets.len()).len());
            BufferPlan::new(&self.workload, stream, slots).bytes() as u64 * u64::from(stream.workers)
        };
        Bytes(self.workload.streams.iter().map(bytes).fold(0, u64::saturating_add))
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

fn is_null(target: &TargetSpec) -> bool {
    matches!(target, TargetSpec::Null { .. })
}

/// Grouped, for sentences.
fn mib(bytes: Bytes) -> String {
    grouped(bytes.0 >> 20)
}

fn one_second() -> Nanos {
    Nanos::SECOND
}

#[cfg(test)]
mod tests {
    use storscope_types::AccessSpec;

    use super::*;

    const SIZE: Bytes = Bytes::from_mib(64);

    /// Writes of 1 MiB to `targets` that do nothing.
    fn plan(load: Load, targets: Vec<TargetSpec>) -> Plan {
        let line = AccessSpec { read_share: 0.0, ..AccessSpec::random_read(Bytes::from_mib(1)) };
        Plan {
            workload: Workload::of("test", Stream::new(Access::Mix { lines: vec![line] }, load)),
            targets,
            engine: Engine::Auto,
            seed: 1,
            duration: Some(Nanos::SECOND),
            max_ios_per_worker: None,
            max_bytes_per_worker: None,
            interval: Nanos::SECOND,
            max_failures: 0,
            held: false,
        }
    }

    #[test]
    fn a_worker_has_no_more_in_flight_on_all_its_targets_than_a_ring_holds() {
        let mut deep = plan(Load::Closed { outstanding: 16_385 }, vec![TargetSpec::Nop { size_bytes: SIZE }; 2]);
        let Access::Mix { lines } = &mut deep.workload.streams[0].access else { panic!("a mix") };
        lines[0].size = Bytes::from_kib(4);
        assert_eq!(
            deep.check().unwrap_err().to_string(),
            "plan: workload.streams[0].load.outstanding: expected at most 32,768 I/Os per worker on all targets, found \
             16,385 on each of 2"
        );
        deep.workload.streams[0].targets = vec![1];
        deep.check().unwrap();
        deep.workload.streams[0].targets = Vec::new();
        deep.targets = vec![TargetSpec::Null { size_bytes: SIZE }; 2];
        deep.check().unwrap();
    }

    #[test]
    fn what_memory_has_no_room_for_is_refused_and_says_whose_limit_that_is() {
        let load = Load::Open { rate_per_s: 10.0, process: storscope_types::Process::Poisson, max_outstanding: 1024 };
        let large = plan(load, vec![TargetSpec::Nop { size_bytes: SIZE }]);
        large.check().unwrap();
        assert_eq!(large.buffer_bytes(), Bytes::from_mib(1025), "one of them for reads");
        let left = |mib| MemoryLeft { bytes: Bytes::from_mib(mib), whose: "the control group /a".to_owned() };
        let refused = large.check_left(Some(&left(1088))).unwrap_err().to_string();
        assert!(refused.starts_with("plan: workload.streams: expected queues and transfers whose buffers fit into"));
        assert!(refused.contains("the 1,024 MiB of memory that are left to the control group /a"), "{refused}");
        assert!(refused.ends_with("found 1,025 MiB of them"), "{refused}");
        large.check_left(Some(&left(1089))).unwrap();
        large.check_left(None).unwrap();
        let nulls = Plan { targets: vec![TargetSpec::Null { size_bytes: SIZE }], ..large };
        nulls.check_left(Some(&left(0))).unwrap();
    }
}
