//! Counts I/Os that something else submits, a trace for example, into the same intervals as those of a run.

use storscope_device::Direction;
use storscope_types::Nanos;

use crate::recorder::empty_interval;
use crate::result::{Doubt, EngineUsed, RunResult, latency_bound};
use crate::run::Finished;
use crate::tally::{Cell, Failures, Interval, Times, count_failures};
use crate::task::Ending;
use crate::usage::Usage;

/// An I/O that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// The stream's index.
    pub stream: u32,
    /// The target's index.
    pub target: u32,
    /// Read or write; traces have no flushes.
    pub direction: Direction,
    /// Its instants, since the start.
    pub times: Times,
    /// Bytes, or a negative errno.
    pub result: i32,
}

/// Intervals of a run that others drive. Instants never go back.
#[derive(Debug)]
pub struct Following {
    length: Nanos,
    /// What completes after it is drained.
    end: Nanos,
    current: Interval,
    /// In flight times time, in the current interval.
    area: f64,
    in_flight: u64,
    last: Nanos,
    total: Option<Interval>,
    drain: Interval,
    ending: Ending,
}

impl Following {
    /// Intervals of `length` until `end`, or until [`finish`](Self::finish) when that is sooner.
    #[must_use]
    pub fn new(length: Nanos, end: Nanos) -> Self {
        let drain = Interval { drain: true, ..empty_interval() };
        let ending = Ending::default();
        let (current, total) = (empty_interval(), None);
        Self { length, end, current, area: 0.0, in_flight: 0, last: Nanos::ZERO, total, drain, ending }
    }

    /// An I/O was handed to the device at `at`.
    pub fn submitted(&mut self, at: Nanos, sink: &mut dyn FnMut(Interval)) {
        self.advance(at, sink);
        self.in_flight += 1;
        self.current.submitted += 1;
        self.ending.submitted += 1;
    }

    /// An I/O is done.
    pub fn done(&mut self, io: Followed, sink: &mut dyn FnMut(Interval)) {
        self.advance(io.times.completed, sink);
        self.in_flight -= 1;
        let is_late = io.times.completed > self.end;
        let interval = if is_late { &mut self.drain } else { &mut self.current };
        self.ending.drained += u64::from(is_late);
        let Ok(bytes) = u32::try_from(io.result) else {
            self.ending.failed += 1;
            count_failures(&mut interval.failures, Failures { errno: -io.result, count: 1 });
            return;
        };
        self.ending.completed += 1;
        let (stream, target) = (io.stream, io.target);
        let cells = &mut interval.cells;
        let at = cells.iter().position(|cell| (cell.stream, cell.target) == (stream, target)).unwrap_or_else(|| {
            cells.push(Cell::new(stream, target));
            cells.len() - 1
        });
        cells[at].tally(io.direction).record(io.times, bytes);
    }

    /// Ends it at `now`, or at its end when that was sooner.
    #[must_use]
    pub fn finish(
        mut self,
        started_unix_ns: u64,
        streams: u32,
        now: Nanos,
        sink: &mut dyn FnMut(Interval),
    ) -> Finished {
        self.advance(now, sink);
        let end = now.min(self.end);
        if end > self.current.start {
            self.close(end, sink);
        }
        self.ending.elapsed = end;
        let total = self.total.take().unwrap_or_else(empty_interval);
        let mut doubts = Vec::new();
        if total.ios() == 0 {
            doubts.push(Doubt::Empty);
        }
        if total.failed() > 0 {
            doubts.push(Doubt::Failures { failed: total.failed() });
        }
        let engine = |stream| EngineUsed { stream, engine: "simulated", reason: None, registered_buffers: false };
        let result = RunResult {
            started_unix_ns,
            valid: !doubts.iter().any(Doubt::invalidates),
            latency_bound: latency_bound(&doubts),
            invalid_streams: if total.ios() == 0 { (0..streams).collect() } else { Vec::new() },
            stream_doubts: Vec::new(),
            total,
            drain: self.drain,
            ending: self.ending,
            engines: (0..streams).map(engine).collect(),
            clock: "virtual",
            process_usage: Usage::default(),
            doubts,
        };
        Finished { result, error: None }
    }

    /// An I/O at the very end of an interval belongs to it, as it completed within.
    fn advance(&mut self, now: Nanos, sink: &mut dyn FnMut(Interval)) {
        loop {
            let boundary = (self.current.start + self.length).min(self.end);
            if now <= boundary || self.current.start >= self.end {
                break;
            }
            self.close(boundary, sink);
        }
        if self.current.start < self.end {
            self.pass(now);
        }
    }

    fn pass(&mut self, now: Nanos) {
        self.area += self.in_flight as f64 * now.since(self.last).0 as f64;
        self.last = now;
    }

    fn close(&mut self, at: Nanos, sink: &mut dyn FnMut(Interval)) {
        self.pass(at);
        let next = Interval { index: self.current.index + 1, start: at, ..empty_interval() };
        let mut closed = std::mem::replace(&mut self.current, next);
        closed.duration = at.since(closed.start);
        closed.in_flight_at_end = self.in_flight;
        closed.outstanding_mean = self.area / closed.duration.0 as f64;
        self.area = 0.0;
        match &mut self.total {
            Some(total) => total.merge_next(&closed),
            None => self.total = Some(closed.clone()),
        }
        sink(closed);
    }
}
