//! A trace on an array: its requests at their times whatever the array does (open loop), or each after an earlier one
//! was answered (closed loop).
//!
//! The times of a trace count from its first record, which is submitted at once. What was submitted late because all
//! places were taken, and what goes back in time, is counted: the replay is not faithful there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use storscope_device::{Completion, Device, DeviceError, Direction, Request};
use storscope_types::Nanos;

use crate::array::Array;

/// A request of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRecord {
    /// When it came; a closed loop does not look at it.
    pub at: Nanos,
    /// How long after its answer a closed loop sends the next; an open one does not look at it.
    pub think: Nanos,
    /// Index of the target: an attachment of the design.
    pub target: u32,
    /// Read or write.
    pub direction: Direction,
    /// Byte offset on the target.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// When the records of a trace are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At their times.
    Open,
    /// So many at once; each answer lets the next go after the think time of what was answered.
    Closed {
        /// At least one.
        outstanding: u32,
    },
}

/// Records of one origin, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceStream {
    /// When they go.
    pub pace: Pace,
    /// What goes.
    pub records: Vec<TraceRecord>,
}

/// A request that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// Of which stream, from 0.
    pub stream: u32,
    /// Which record of it, from 0.
    pub index: u64,
    /// The record.
    pub record: TraceRecord,
    /// When it should have been submitted.
    pub intended: Nanos,
    /// When it was.
    pub submitted: Nanos,
    /// When it was answered.
    pub completed: Nanos,
    /// Bytes, or a negative errno: -22 what does not lie on the target, -5 what failed drives have lost.
    pub result: i32,
}

impl Replayed {
    /// From when it should have been submitted to its answer.
    #[must_use]
    pub fn latency(&self) -> Nanos {
        self.completed.since(self.intended)
    }
}

/// What a replay did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceTotals {
    /// Records that were submitted.
    pub submitted: u64,
    /// Answers with an error.
    pub failed: u64,
    /// Submitted late, because as many were in flight as the array takes.
    pub late: u64,
    /// Records with a time before that of their predecessor; they were submitted right after it.
    pub out_of_order: u64,
}

/// Who follows a replay.
pub trait Follower {
    /// A record was handed to the array.
    fn submitted(&mut self, at: Nanos);
    /// A record was answered.
    fn done(&mut self, replayed: Replayed);
    /// Whether more is to be submitted at `now`; once it says no, what is in flight is waited for.
    fn goes_on(&mut self, now: Nanos) -> bool;
}

/// Follows the answers alone, to the last record.
impl<F: FnMut(Replayed)> Follower for F {
    fn submitted(&mut self, _at: Nanos) {}

    fn done(&mut self, replayed: Replayed) {
        self(replayed);
    }

    fn goes_on(&mut self, _now: Nanos) -> bool {
        true
    }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    stream: u32,
    index: u64,
    intended: Nanos,
    submitted: Nanos,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Records that have been given a time so far.
    given: usize,
    /// Records submitted.
    sent: usize,
    first: Nanos,
    last: Nanos,
}

struct Replay<'run, F> {
    array: &'run mut Array,
    streams: &'run [TraceStream],
    places: Vec<Place>,
    /// What is to be submitted when, by stream; at most one of an open stream.
    due: BinaryHeap<Reverse<(Nanos, u32)>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    done: Vec<Completion>,
    totals: TraceTotals,
    follower: &'run mut F,
}

/// Submits the records of all streams side by side and waits for the last answer.
///
/// # Errors
/// Those of the device; a simulated one has none.
pub fn replay<F: Follower>(
    array: &mut Array,
    streams: &[TraceStream],
    follower: &mut F,
) -> Result<TraceTotals, DeviceError> {
    let start = array.now();
    let first_of = |stream: &TraceStream| match stream.pace {
        Pace::Open => stream.records.first().map(|record| record.at),
        Pace::Closed { .. } => None,
    };
    let first = streams.iter().filter_map(first_of).min().unwrap_or(Nanos::ZERO);
    let mut replay = Replay {
        array,
        streams,
        places: vec![Place { first, last: start, ..Place::default() }; streams.len()],
        due: BinaryHeap::new(),
        slots: Vec::new(),
        free: Vec::new(),
        done: Vec::with_capacity(256),
        totals: TraceTotals::default(),
        follower,
    };
    for (index, stream) in streams.iter().enumerate() {
        match stream.pace {
            Pace::Open => replay.give_open(index as u32, start),
            Pace::Closed { outstanding } => (0..outstanding).for_each(|_| replay.give_closed(index as u32, start)),
        }
    }
    replay.run(start)?;
    Ok(replay.totals)
}

impl<F: Follower> Replay<'_, F> {
    fn run(&mut self, start: Nanos) -> Result<(), DeviceError> {
        loop {
            let mut now = self.array.now();
            while let Some(&Reverse((at, stream))) = self.due.peek() {
                if at > now || (self.free.is_empty() && self.slots.len() >= self.array.depth()) {
                    break;
                }
                self.due.pop();
                if !self.follower.goes_on(now) {
                    self.due.clear();
                    break;
                }
                self.submit(stream, at, start);
                now = self.array.now();
            }
            let in_flight = self.slots.len() - self.free.len();
            match self.due.peek() {
                None if in_flight == 0 => return Ok(()),
                Some(&Reverse((at, _))) if at > now => self.wait(at)?,
                _ => self.wait(Nanos::NEVER)?,
            }
        }
    }

    /// The time of an open stream's next record.
    fn give_open(&mut self, stream: u32, start: Nanos) {
        let place = &mut self.places[stream as usize];
        if let Some(record) = self.streams[stream as usize].records.get(place.given) {
            let at = start + record.at.since(place.first);
            self.totals.out_of_order += u64::from(at < place.last);
            place.last = place.last.max(at);
            place.given += 1;
            self.due.push(Reverse((place.last, stream)));
        }
    }

    /// A closed stream may send one more from `at` on.
    fn give_closed(&mut self, stream: u32, at: Nanos) {
        let place = &mut self.places[stream as usize];
        if place.given < self.streams[stream as usize].records.len() {
            place.given += 1;
            self.due.push(Reverse((at, stream)));
        }
    }

    fn submit(&mut self, stream: u32, at: Nanos, start: Nanos) {
        let now = self.array.now();
        self.totals.late += u64::from(now > at);
        let place = &mut self.places[stream as usize];
        let index = place.sent;
        place.sent += 1;
        let slot = Slot { stream, index: index as u64, intended: at, submitted: now };
        let token = self.free.pop().unwrap_or_else(|| {
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        });
        self.slots[token as usize] = slot;
        self.totals.submitted += 1;
        let TraceRecord { target, direction, offset, length, .. } = self.streams[stream as usize].records[index];
        self.follower.submitted(now);
        self.array.submit(Request { token, target, direction, offset, length, buffer: 0 });
        if self.streams[stream as usize].pace == Pace::Open {
            self.give_open(stream, start);
        }
    }

    fn wait(&mut self, until: Nanos) -> Result<(), DeviceError> {
        let mut done = std::mem::take(&mut self.done);
        let waited = self.array.wait(until, &mut done);
        for completion in done.drain(..) {
            let Slot { stream, index, intended, submitted } = self.slots[completion.token as usize];
            self.free.push(completion.token);
            self.totals.failed += u64::from(completion.result < 0);
            let record = self.streams[stream as usize].records[index as usize];
            let (completed, result) = (completion.at, completion.result);
            self.follower.done(Replayed { stream, index, record, intended, submitted, completed, result });
            if self.streams[stream as usize].pace != Pace::Open {
                self.give_closed(stream, completed + record.think);
            }
        }
        self.done = done;
        waited.map(|_| ())
    }
}
