//! What was measured in an interval.

use serde::Serialize;
use storscope_device::Direction;
use storscope_stats::Histogram;
use storscope_types::Nanos;

use crate::usage::Usage;

/// I/Os of one direction, or flushes, each timed three ways.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Tally {
    /// How many completed.
    pub ios: u64,
    /// What they transferred; nothing by flushes.
    pub bytes: u64,
    /// From the instant the I/O should have started to its completion: what a user waits.
    pub response: Histogram,
    /// From submission to completion: what the device takes.
    pub service: Histogram,
    /// From the instant the I/O should have started to its submission: what the generator and its queue add.
    pub lateness: Histogram,
}

/// The three instants of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When it should have started.
    pub intended: Nanos,
    /// When it was handed to the device.
    pub submitted: Nanos,
    /// When it was done.
    pub completed: Nanos,
}

impl Tally {
    /// Counts one I/O.
    #[inline]
    pub fn record(&mut self, times: Times, length: u32) {
        self.record_many(times, 1, u64::from(length));
    }

    /// Counts `ios` I/Os that have their instants in common and transferred `bytes` together.
    #[inline]
    pub fn record_many(&mut self, times: Times, ios: u64, bytes: u64) {
        self.ios += ios;
        self.bytes += bytes;
        self.response.record_many(times.completed.since(times.intended).0, ios);
        self.service.record_many(times.completed.since(times.submitted).0, ios);
        self.lateness.record_many(times.submitted.since(times.intended).0, ios);
    }

    /// Adds the latencies of I/Os that are counted, and went out when they should have.
    pub fn add_prompt(&mut self, latencies: &Histogram) {
        self.response.merge(latencies);
        self.service.merge(latencies);
        self.lateness.record_many(0, latencies.count());
    }

    /// Adds what another tally counted.
    pub fn merge(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lateness.merge(&other.lateness);
    }
}

/// I/Os of one stream on one target.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// The stream's index.
    pub stream: u32,
    /// The target's index.
    pub target: u32,
    /// Reads.
    pub reads: Tally,
    /// Writes.
    pub writes: Tally,
    /// Flushes, which are no I/Os beside; none of a stream that asks for none.
    pub flushes: Option<Tally>,
}

impl Cell {
    /// An empty cell.
    #[must_use]
    pub fn new(stream: u32, target: u32) -> Self {
        Self { stream, target, reads: Tally::default(), writes: Tally::default(), flushes: None }
    }

    /// An empty cell of a stream that flushes, if it `flushes`.
    #[must_use]
    pub fn flushing(stream: u32, target: u32, flushes: bool) -> Self {
        Self { flushes: flushes.then(Tally::default), ..Self::new(stream, target) }
    }

    /// Whether it made nothing, and is not one that tells of flushes.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.reads.ios == 0 && self.writes.ios == 0 && self.flushes.is_none()
    }

    /// The tally of a direction.
    #[inline]
    pub fn tally(&mut self, direction: Direction) -> &mut Tally {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }

    /// Adds a cell of the same stream and target.
    pub fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        match (&mut self.flushes, &other.flushes) {
            (Some(own), Some(other)) => own.merge(other),
            (own @ None, other) => own.clone_from(other),
            (Some(_), None) => {}
        }
    }
}

/// Failed I/Os with the same errno; a short transfer counts as errno 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Failures {
    /// What the system said.
    pub errno: i32,
    /// How often.
    pub count: u64,
}

/// What happened from `start` on for `duration`; times are relative to the run's start.
#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    /// Counts from 0; all workers share the grid.
    pub index: u32,
    /// Its start.
    #[serde(rename = "start_ns")]
    pub start: Nanos,
    /// Its length; shorter than the others when the run ended in it.
    #[serde(rename = "duration_ns")]
    pub duration: Nanos,
    /// Whether it holds what was still in flight when the run ended. It does not count in the total.
    pub drain: bool,
    /// I/Os per stream and target.
    pub cells: Vec<Cell>,
    /// I/Os and flushes handed to the device.
    pub submitted: u64,
    /// I/Os and flushes in flight at the end.
    pub in_flight_at_end: u64,
    /// Mean number of I/Os and flushes in flight.
    pub outstanding_mean: f64,
    /// Arrivals per second the plan asked for at the end of the interval; null in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Failed I/Os and flushes.
    pub failures: Vec<Failures>,
    /// CPU and context switches of the workers' threads.
    pub usage: Usage,
}

impl Interval {
    /// Reads and writes that completed.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.cells.iter().map(|cell| cell.reads.ios + cell.writes.ios).sum()
    }

    /// The I/Os of one stream, as those of the only one. What is only counted in sum stays that of all streams.
    pub(crate) fn of_stream(&self, stream: u32) -> Self {
        let own = self.cells.iter().filter(|cell| cell.stream == stream);
        let cells = own.map(|cell| Cell { stream: 0, ..cell.clone() }).collect();
        Self { cells, failures: self.failures.clone(), ..*self }
    }

    /// All flushes together.
    #[must_use]
    pub fn flushes(&self) -> Tally {
        let mut all = Tally::default();
        self.cells.iter().filter_map(|cell| cell.flushes.as_ref()).for_each(|flushes| all.merge(flushes));
        all
    }

    /// Failed I/Os and flushes.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.iter().map(|failures| failures.count).sum()
    }

    /// All cells and both directions together, without flushes.
    #[must_use]
    pub fn all(&self) -> Tally {
        let mut all = Tally::default();
        self.cells.iter().for_each(|cell| {
            all.merge(&cell.reads);
            all.merge(&cell.writes);
        });
        all
    }

    /// Adds what another worker did in the same interval.
    pub fn merge_worker(&mut self, other: &Self) {
        self.merge_counts(other);
        self.duration = self.duration.max(other.duration);
        self.outstanding_mean += other.outstanding_mean;
        self.in_flight_at_end += other.in_flight_at_end;
        self.offered_per_s = sum_of_present(self.offered_per_s, other.offered_per_s);
    }

    /// Adds the interval that follows.
    pub fn merge_next(&mut self, next: &Self) {
        self.merge_counts(next);
        let area = |interval: &Self| interval.outstanding_mean * interval.duration.0 as f64;
        let areas = area(self) + area(next);
        self.duration += next.duration;
        self.outstanding_mean = if self.duration == Nanos::ZERO { 0.0 } else { areas / self.duration.0 as f64 };
        self.in_flight_at_end = next.in_flight_at_end;
        self.offered_per_s = next.offered_per_s.or(self.offered_per_s);
    }

    fn merge_counts(&mut self, other: &Self) {
        for (place, cell) in other.cells.iter().enumerate() {
            let is_same = |own: &Cell| (own.stream, own.target) == (cell.stream, cell.target);
            // Mostly both have the same cells in the same order, of which there may be thousands.
            let place = if self.cells.get(place).is_some_and(is_same) {
                Some(place)
            } else {
                self.cells.iter().position(is_same)
            };
            match place {
                Some(place) => self.cells[place].merge(cell),
                None => self.cells.push(cell.clone()),
            }
        }
        self.submitted += other.submitted;
        self.usage.add(&other.usage);
        for failures in &other.failures {
            count_failures(&mut self.failures, *failures);
        }
    }
}

/// Adds to the failures of the same errno.
pub(crate) fn count_failures(list: &mut Vec<Failures>, failures: Failures) {
    match list.iter_mut().find(|known| known.errno == failures.errno) {
        Some(known) => known.count += failures.count,
        None => list.push(failures),
    }
}

fn sum_of_present(left: Option<f64>, right: Option<f64>) -> Option<f64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left + right),
        (left, right) => left.or(right),
    }
}
