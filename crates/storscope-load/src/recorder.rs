//! Keeps the present interval, and the integral of what is in flight.
//!
//! I/Os that are sent together and found done together have their instants in common: they are counted together, which
//! costs a fifth of counting each. Of I/Os that went out when they should have, as all do in virtual time, response and
//! service are the same: they are counted once, and put into both histograms when the interval ends.

use storscope_device::Direction;
use storscope_stats::Histogram;
use storscope_types::Nanos;

use crate::tally::{Cell, Failures, Interval, Times, count_failures};
use crate::usage::Usage;

/// Counts for one worker. All instants are the clock's; intervals are relative to the start.
#[derive(Debug)]
pub struct Recorder {
    stream: u32,
    targets: Vec<u32>,
    /// Whether the stream flushes.
    flushes: bool,
    start: Nanos,
    length: Nanos,
    boundary: Nanos,
    current: Interval,
    /// Latencies of the present interval's I/Os that went out when they should have, by cell, reads and writes.
    prompt: Vec<[Histogram; 2]>,
    /// Completed and not yet in `current`.
    alike: Alike,
    /// Where the integral of `in_flight` has got to.
    counted_to: Nanos,
    in_flight: u64,
    /// Of the present interval, in ns; below 0 when an I/O is told late that ended before the interval began.
    area: i128,
    usage_before: Usage,
}

/// I/Os that completed one after another and differ in nothing that is counted.
#[derive(Debug, Clone, Copy)]
struct Alike {
    cell: usize,
    direction: Direction,
    times: Times,
    ios: u64,
    bytes: u64,
}

impl Recorder {
    /// For a run that starts at `start` with intervals of `length`.
    #[must_use]
    pub fn new(stream: u32, targets: Vec<u32>, flushes: bool, start: Nanos, length: Nanos) -> Self {
        let current = empty(stream, &targets, flushes, 0, Nanos::ZERO);
        let usage_before = Usage::of_thread();
        let prompt = targets.iter().map(|_| Default::default()).collect();
        Self {
            stream,
            targets,
            flushes,
            start,
            length,
            boundary: start + length,
            current,
            prompt,
            alike: Alike::NONE,
            counted_to: start,
            in_flight: 0,
            area: 0,
            usage_before,
        }
    }

    /// The end of the present interval.
    #[inline]
    #[must_use]
    pub fn boundary(&self) -> Nanos {
        self.boundary
    }

    /// How many I/Os are in flight.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// I/Os were handed to the device.
    #[inline]
    pub fn submitted(&mut self, count: u64, at: Nanos) {
        self.count_to(at);
        self.in_flight += count;
        self.current.submitted += count;
    }

    /// An I/O is done. The caller sees to it that the end lies in the present interval, and calls
    /// [`Recorder::settle`] after the last of those it found done together.
    #[inline]
    pub fn completed(&mut self, cell: usize, direction: Direction, times: Times, length: u32) {
        let alike = &mut self.alike;
        if times != alike.times || cell != alike.cell || direction != alike.direction {
            self.settle();
            self.alike = Alike { cell, direction, times, ios: 0, bytes: 0 };
        }
        self.alike.ios += 1;
        self.alike.bytes += u64::from(length);
    }

    /// Counts the I/Os that are done.
    #[inline]
    pub fn settle(&mut self) {
        let Alike { cell, direction, times, ios, bytes } = self.alike;
        if ios > 0 {
            self.count(cell, direction, times, ios, bytes);
            self.alike.ios = 0;
            self.alike.bytes = 0;
        }
    }

    /// One I/O is done, and nothing need be settled.
    #[inline]
    pub fn completed_alone(&mut self, cell: usize, direction: Direction, times: Times, length: u32) {
        self.count(cell, direction, times, 1, length.into());
    }

    /// An I/O that went out when it should have is done, and another goes out in its place at the same instant.
    #[inline]
    pub fn replaced(&mut self, cell: usize, direction: Direction, submitted: Nanos, at: Nanos, length: u32) {
        self.count_to(at);
        self.current.submitted += 1;
        let tally = self.current.cells[cell].tally(direction);
        (tally.ios, tally.bytes) = (tally.ios + 1, tally.bytes + u64::from(length));
        self.prompt[cell][usize::from(direction == Direction::Write)].record((at - submitted).0);
    }

    #[inline(always)]
    fn count(&mut self, cell: usize, direction: Direction, times: Times, ios: u64, bytes: u64) {
        self.count_to(times.completed);
        self.take_back_after(times.completed, ios);
        self.in_flight -= ios;
        let tally = self.current.cells[cell].tally(direction);
        if times.intended == times.submitted {
            (tally.ios, tally.bytes) = (tally.ios + ios, tally.bytes + bytes);
            let latency = times.completed.since(times.submitted).0;
            let prompt = &mut self.prompt[cell][usize::from(direction == Direction::Write)];
            if ios == 1 { prompt.record(latency) } else { prompt.record_many(latency, ios) }
        } else {
            tally.record_many(times, ios, bytes);
        }
    }

    /// Puts the latencies of I/Os that went out when they should have where they belong.
    fn spread_prompt(&mut self) {
        for (cell, [reads, writes]) in self.current.cells.iter_mut().zip(&mut self.prompt) {
            cell.reads.add_prompt(reads);
            cell.writes.add_prompt(writes);
            reads.clear();
            writes.clear();
        }
    }

    /// A flush is done.
    pub fn flushed(&mut self, cell: usize, times: Times) {
        self.settle();
        self.count_to(times.completed);
        self.take_back_after(times.completed, 1);
        self.in_flight -= 1;
        if let Some(flushes) = &mut self.current.cells[cell].flushes {
            flushes.record(times, 0);
        }
    }

    /// An I/O or a flush failed.
    pub fn failed(&mut self, errno: i32, at: Nanos) {
        self.settle();
        self.count_to(at);
        self.take_back_after(at, 1);
        self.in_flight -= 1;
        count_failures(&mut self.current.failures, Failures { errno, count: 1 });
    }

    /// Ends the interval at `end` and begins the next.
    pub fn rotate(&mut self, end: Nanos, offered_per_s: Option<f64>) -> Interval {
        self.count_to(end);
        self.spread_prompt();
        let end = end.max(self.start + self.current.start);
        let usage = Usage::of_thread();
        let next = empty(self.stream, &self.targets, self.flushes, self.current.index + 1, end - self.start);
        self.boundary = end + self.length;
        let mut done = std::mem::replace(&mut self.current, next);
        done.duration = end - self.start - done.start;
        done.in_flight_at_end = self.in_flight;
        done.outstanding_mean =
            if done.duration == Nanos::ZERO { 0.0 } else { self.area as f64 / done.duration.0 as f64 };
        done.offered_per_s = offered_per_s;
        done.usage = usage.since(&self.usage_before);
        (self.area, self.usage_before) = (0, usage);
        done
    }

    /// Threads report completions late and in another order than they happened: what was counted beyond their end
    /// was not in flight. Over a run and its drain the integral is then that of the I/Os' own times.
    #[inline]
    fn take_back_after(&mut self, end: Nanos, ios: u64) {
        if self.counted_to > end {
            self.area -= i128::from((self.counted_to - end).0) * i128::from(ios);
        }
    }

    #[inline]
    fn count_to(&mut self, at: Nanos) {
        if at > self.counted_to {
            self.area += i128::from(self.in_flight) * i128::from((at - self.counted_to).0);
            self.counted_to = at;
        }
    }
}

impl Alike {
    const NONE: Self = Self {
        cell: 0,
        direction: Direction::Read,
        times: Times { intended: Nanos::ZERO, submitted: Nanos::ZERO, completed: Nanos::ZERO },
        ios: 0,
        bytes: 0,
    };
}

/// An interval in which nothing happened.
pub(crate) fn empty_interval() -> Interval {
    empty(0, &[], false, 0, Nanos::ZERO)
}

fn empty(stream: u32, targets: &[u32], flushes: bool, index: u32, start: Nanos) -> Interval {
    Interval {
        index,
        start,
        duration: Nanos::ZERO,
        drain: false,
        cells: targets.iter().map(|&target| Cell::flushing(stream, target, flushes)).collect(),
        submitted: 0,
        in_flight_at_end: 0,
        outstanding_mean: 0.0,
        offered_per_s: None,
        failures: Vec::with_capacity(8),
        usage: Usage::default(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Cell, whether it reads, and when it was intended, sent and done; few values, so that many are alike.
    fn completions() -> impl Strategy<Value = Vec<(usize, bool, u64, u64, u64)>> {
        prop::collection::vec((0..2_usize, any::<bool>(), 0..3_u64, 3..6_u64, 6..9_u64), 1..60)
    }

    /// The interval that these make, counted together or one by one.
    fn interval(completions: &[(usize, bool, u64, u64, u64)], one_by_one: bool) -> String {
        let mut recorder = Recorder::new(0, vec![0, 1], false, Nanos::ZERO, Nanos(100));
        recorder.submitted(completions.len() as u64, Nanos(3));
        for &(cell, reads, intended, submitted, completed) in completions {
            let direction = if reads { Direction::Read } else { Direction::Write };
            let times = Times { intended: Nanos(intended), submitted: Nanos(submitted), completed: Nanos(completed) };
            recorder.completed(cell, direction, times, 4096);
            if one_by_one {
                recorder.settle();
            }
        }
        recorder.settle();
        assert_eq!(recorder.in_flight(), 0);
        let interval = Interval { usage: Usage::default(), ..recorder.rotate(Nanos(100), None) };
        serde_json::to_string(&interval).unwrap()
    }

    proptest! {
        #[test]
        fn counting_together_is_the_same_as_counting_each(completions in completions()) {
            prop_assert_eq!(interval(&completions, false), interval(&completions, true));
        }
    }
}
