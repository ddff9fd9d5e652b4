//! A trace on an array: every request at its time, whatever the array does (open loop).
//!
//! The times of a trace count from its first record, which is submitted at once. What was submitted late because all
//! places were taken, and what goes back in time, is counted: the replay is not faithful there.

use storscope_device::{Completion, Device, DeviceError, Direction, Request};
use storscope_types::Nanos;

use crate::array::Array;

/// A request of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRecord {
    /// When it came.
    pub at: Nanos,
    /// Index of the target: an attachment of the design.
    pub target: u32,
    /// Read or write.
    pub direction: Direction,
    /// Byte offset on the target.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// A request that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// Which record, from 0.
    pub index: u64,
    /// From when it should have been submitted to its answer.
    pub latency: Nanos,
    /// Bytes, or a negative errno: -22 what does not lie on the target, -5 what failed drives have lost.
    pub result: i32,
}

/// What a replay did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceTotals {
    /// Records.
    pub submitted: u64,
    /// Answers with an error.
    pub failed: u64,
    /// Submitted late, because as many were in flight as the array takes.
    pub late: u64,
    /// Records with a time before that of their predecessor; they were submitted right after it.
    pub out_of_order: u64,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    index: u64,
    intended: Nanos,
}

struct Replay<'array, F> {
    array: &'array mut Array,
    slots: Vec<Slot>,
    free: Vec<u32>,
    done: Vec<Completion>,
    totals: TraceTotals,
    on_done: F,
}

/// Submits all records and waits for the last answer. `on_done` is told of each.
///
/// # Errors
/// Those of the device; a simulated one has none.
pub fn replay(
    array: &mut Array,
    records: impl IntoIterator<Item = TraceRecord>,
    on_done: impl FnMut(Replayed),
) -> Result<TraceTotals, DeviceError> {
    let mut replay = Replay {
        array,
        slots: Vec::new(),
        free: Vec::new(),
        done: Vec::with_capacity(256),
        totals: TraceTotals::default(),
        on_done,
    };
    let (start, mut first, mut last) = (replay.array.now(), None, Nanos::ZERO);
    for record in records {
        let first = *first.get_or_insert(record.at);
        let at = start + record.at.since(first);
        replay.totals.out_of_order += u64::from(at < last);
        last = last.max(at);
        replay.submit(record, last)?;
    }
    while replay.free.len() < replay.slots.len() {
        replay.wait(Nanos::NEVER)?;
    }
    Ok(replay.totals)
}

impl<F: FnMut(Replayed)> Replay<'_, F> {
    fn submit(&mut self, record: TraceRecord, at: Nanos) -> Result<(), DeviceError> {
        while self.array.now() < at {
            self.wait(at)?;
        }
        while self.free.is_empty() && self.slots.len() >= self.array.depth() {
            self.wait(Nanos::NEVER)?;
        }
        self.totals.late += u64::from(self.array.now() > at);
        let slot = Slot { index: self.totals.submitted, intended: at };
        let token = self.free.pop().unwrap_or_else(|| {
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        });
        self.slots[token as usize] = slot;
        self.totals.submitted += 1;
        let TraceRecord { target, direction, offset, length, .. } = record;
        self.array.submit(Request { token, target, direction, offset, length, buffer: 0 });
        Ok(())
    }

    fn wait(&mut self, until: Nanos) -> Result<(), DeviceError> {
        self.array.wait(until, &mut self.done)?;
        for completion in self.done.drain(..) {
            let slot = self.slots[completion.token as usize];
            self.free.push(completion.token);
            self.totals.failed += u64::from(completion.result < 0);
            let latency = completion.at.since(slot.intended);
            (self.on_done)(Replayed { index: slot.index, latency, result: completion.result });
        }
        Ok(())
    }
}
