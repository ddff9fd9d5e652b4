//! The generator: sends what the workload asks for to a device and times every I/O three ways.
//!
//! One generator serves one worker. Its loop is: send everything that may go, wait, take everything that is done. All
//! memory is taken before the loop and when an interval begins. An I/O's submission is the instant before its batch is
//! handed over, its completion the instant the device saw it done; so for a device that works within the call, the
//! service time is that of the batch.

mod complete;
mod flush;
mod steps;

use std::sync::atomic::{AtomicBool, Ordering};

use storscope_device::{Clock, Completion, Device, Direction, Request};
use storscope_types::{Access, Nanos, Stream, Verification};

use self::flush::Flushes;
use crate::buffers::{BufferPlan, Buffers};
use crate::error::LoadError;
use crate::pace::{Pace, PaceDraws, Start};
use crate::place::Span;
use crate::random::Random;
use crate::recorder::Recorder;
use crate::stamp::Stamper;
use crate::tally::Interval;
use crate::task::{Ending, Task};
use crate::transfer::{FollowUp, Transfer, Transfers};

/// How long a stop may go unnoticed while nothing completes.
const LONGEST_WAIT: Nanos = Nanos::from_millis(100);

/// An I/O in flight, or the flush that follows it in its place.
#[derive(Debug, Clone, Copy)]
struct Slot {
    intended: Nanos,
    submitted: Nanos,
    transfer: Transfer,
    track: u32,
    buffer: u32,
    is_flushing: bool,
}

/// Runs a task on a device.
#[derive(Debug)]
pub struct Generator<D, C> {
    device: D,
    clock: C,
    transfers: Transfers,
    pace: Pace,
    buffers: Buffers,
    /// None for a stream without flushes.
    flushes: Option<Flushes>,
    stamper: Stamper,
    verify: bool,
    recorder: Recorder,
    slots: Vec<Slot>,
    /// Slots handed to the device since the last wait; none where the clock stands still meanwhile.
    batch: Vec<u32>,
    done: Vec<Completion>,
    /// Target index to cell of the recorder.
    cell_of_target: Vec<u32>,
    /// Whether each request just takes the place of one that is done, and nothing has to be known of its data.
    replaces: bool,
    start: Nanos,
    end: Nanos,
    ios_left: u64,
    bytes_left: u64,
    max_failures: u64,
    ending: Ending,
}

impl<D: Device, C: Clock> Generator<D, C> {
    /// Prepares everything but the contents of the pool, see [`fill_pool`]. The device needs room for
    /// [`Load::slots_per_worker`](storscope_types::Load::slots_per_worker) requests and the buffers of
    /// [`BufferPlan::new`].
    #[must_use]
    pub fn new(device: D, clock: C, task: &Task<'_>) -> Self {
        let stream = &task.workload.streams[task.stream_index as usize];
        let targets = stream.target_indices(task.spans.len());
        let spans: Vec<(u32, Span)> = targets.iter().map(|&index| (index, task.spans[index as usize])).collect();
        let slots = stream.load.slots_per_worker(targets.len());
        let mut random = Random::of_worker(task.seed, task.global_worker);
        let (cell_targets, cell_of_target) = cells(stream, &targets, task.spans.len());
        let (gaps, places, others) = (random.split(), random.split(), random.split());
        let draws = PaceDraws { gaps, others };
        let pace = Pace::new(stream, task.worker, targets.len(), slots, task.start + task.delay, draws);
        let transfers = Transfers::new(stream, task.worker, &spans, places);
        let flushes = Flushes::of(stream, task.spans.len());
        let is_in_time = C::STANDS_STILL && !D::KEEPS_DATA && flushes.is_none();
        Self {
            device,
            clock,
            replaces: is_in_time && pace.is_prompt() && transfers.are_alike(),
            transfers,
            pace,
            buffers: Buffers::new(&BufferPlan::new(task.workload, stream, slots)),
            recorder: Recorder::new(task.stream_index, cell_targets, flushes.is_some(), task.start, task.interval),
            flushes,
            stamper: Stamper::new(task.workload, task.global_worker),
            verify: task.workload.verification == Verification::Stamps,
            slots: vec![Slot::EMPTY; slots],
            batch: Vec::with_capacity(2 * slots),
            done: Vec::with_capacity(2 * slots),
            cell_of_target,
            start: task.start,
            end: task.start.saturating_add(task.limit.duration),
            ios_left: task.limit.ios,
            bytes_left: task.limit.bytes,
            max_failures: task.max_failures,
            ending: Ending::default(),
        }
    }

    /// Gives the device back. It has nothing in flight, unless it failed as a whole.
    #[must_use]
    pub fn into_device(self) -> D {
        self.device
    }

    /// Waits for the start and runs to the end, handing each finished interval to `sink`. The last one, marked
    /// `drain`, holds what was in flight at the end.
    ///
    /// # Errors
    /// When too many I/Os fail, data do not verify, or the device fails. Intervals are complete up to there.
    pub fn run(&mut self, stop: &AtomicBool, sink: &mut dyn FnMut(Interval)) -> Result<Ending, LoadError> {
        self.clock.sleep_until(self.start);
        let mut now = self.clock.now();
        let outcome = loop {
            if self.is_over(now, stop) {
                break Ok(());
            }
            self.send(now);
            if let Err(error) = self.wait(&mut now, sink) {
                break Err(error);
            }
        };
        let end = self.close(now, sink);
        if let Err(error) = outcome.and_then(|()| self.drain(end, now, sink)) {
            self.wait_for_the_rest(now);
            return Err(error);
        }
        Ok(self.ending)
    }

    /// Ends the last interval. Returns the instant of the end.
    fn close(&mut self, now: Nanos, sink: &mut dyn FnMut(Interval)) -> Nanos {
        let end = now.min(self.end);
        sink(self.recorder.rotate(end, self.pace.offered_per_s()));
        self.ending.elapsed = end - self.start;
        end
    }

    #[inline]
    fn is_over(&self, now: Nanos, stop: &AtomicBool) -> bool {
        let exhausted = self.ios_left == 0 || self.bytes_left == 0;
        let idle = self.recorder.in_flight() == 0 && self.batch.is_empty();
        now >= self.end || (exhausted && idle) || stop.load(Ordering::Relaxed)
    }

    /// Sends what may go out by `now`.
    #[inline]
    fn send(&mut self, now: Nanos) {
        while self.ios_left > 0 && self.bytes_left > 0 {
            let Some(start) = self.pace.next(now, &mut self.transfers) else { return };
            let transfer = self.transfers.next(start.track);
            if let Pace::Closed(closed) = &mut self.pace {
                closed.close_gate(now, &mut self.transfers);
            }
            self.ios_left -= 1;
            self.bytes_left = self.bytes_left.saturating_sub(u64::from(transfer.length));
            self.submit(start, transfer);
            if D::EXPECTS
                && let Some((target, offset)) = self.transfers.foresee()
            {
                self.device.expect(target, offset);
            }
        }
    }

    #[inline(always)]
    fn submit(&mut self, start: Start, transfer: Transfer) {
        let buffer = self.buffer_for(start.slot, &transfer);
        let (intended, track) = (start.intended, start.track as u32);
        let slot = Slot { intended, submitted: Nanos::ZERO, transfer, track, buffer, is_flushing: false };
        self.hand_over(start.slot, slot);
    }

    #[inline]
    fn buffer_for(&mut self, slot: u32, transfer: &Transfer) -> u32 {
        if !D::KEEPS_DATA {
            return 0;
        }
        if transfer.direction == Direction::Read {
            return self.buffers.of_read(slot);
        }
        let buffer = self.buffers.take();
        let memory = self.device.buffer(buffer);
        if !memory.is_empty() {
            self.stamper.prepare(&mut memory[..transfer.length as usize], transfer.target, transfer.offset);
        }
        buffer
    }

    #[inline(always)]
    fn hand_over(&mut self, token: u32, slot: Slot) {
        let Transfer { target, direction, offset, length, .. } = slot.transfer;
        self.take_place(token, slot);
        self.device.submit(Request { token, target, direction, offset, length, buffer: slot.buffer });
    }

    /// Counts what is handed to the device next, or notes it for when its batch is.
    #[inline(always)]
    fn take_place(&mut self, token: u32, slot: Slot) {
        if C::STANDS_STILL {
            let submitted = self.clock.now();
            self.slots[token as usize] = Slot { submitted, ..slot };
            self.count_submitted(1, submitted);
        } else {
            self.slots[token as usize] = slot;
            self.batch.push(token);
        }
    }

    /// Hands the batch over, waits, and takes what is done. Moves `now` to the instant after, also if an I/O failed.
    #[inline]
    fn wait(&mut self, now: &mut Nanos, sink: &mut dyn FnMut(Interval)) -> Result<(), LoadError> {
        let submitted = self.stamp_batch(*now);
        let until = self.wake_at().min(submitted.saturating_add(LONGEST_WAIT));
        *now = self.device.wait(until, &mut self.done)?;
        self.rotate_until(*now, sink);
        if *now < self.end {
            self.take_done()?;
        }
        Ok(())
    }

    /// When there is something to do even if nothing completes.
    #[inline]
    fn wake_at(&self) -> Nanos {
        let may_send = self.ios_left > 0 && self.bytes_left > 0;
        let next_start = if may_send { self.pace.wake_at() } else { Nanos::NEVER };
        next_start.min(self.recorder.boundary()).min(self.end)
    }

    #[inline]
    fn rotate_until(&mut self, now: Nanos, sink: &mut dyn FnMut(Interval)) {
        while now >= self.recorder.boundary() && self.recorder.boundary() < self.end {
            let boundary = self.recorder.boundary();
            sink(self.recorder.rotate(boundary, self.pace.offered_per_s()));
        }
    }

    /// Gives the batch its submission time. With nothing to submit there is no need to read the clock.
    #[inline]
    fn stamp_batch(&mut self, now: Nanos) -> Nanos {
        if self.batch.is_empty() {
            return now;
        }
        let submitted = self.clock.now();
        for &token in &self.batch {
            self.slots[token as usize].submitted = submitted;
        }
        self.count_submitted(self.batch.len() as u64, submitted);
        self.batch.clear();
        submitted
    }

    #[inline]
    fn count_submitted(&mut self, ios: u64, at: Nanos) {
        self.recorder.submitted(ios, at);
        self.ending.submitted += ios;
    }

    /// Waits for what is in flight, without sending more than the follow-ups it entails.
    fn drain(&mut self, end: Nanos, mut now: Nanos, sink: &mut dyn FnMut(Interval)) -> Result<(), LoadError> {
        self.count_backlog(end);
        let completed_before = self.ending.completed;
        self.take_done()?;
        while self.recorder.in_flight() > 0 || !self.batch.is_empty() {
            let submitted = self.stamp_batch(now);
            now = self.device.wait(submitted.saturating_add(LONGEST_WAIT), &mut self.done)?;
            self.take_done()?;
        }
        self.close_drain(completed_before, now, sink);
        Ok(())
    }

    /// After an error: a device that is used again must not report what this generator sent. What the device says of it
    /// is of no interest any more.
    fn wait_for_the_rest(&mut self, mut now: Nanos) {
        loop {
            while !self.done.is_empty() {
                let _ = self.take_done();
            }
            if self.recorder.in_flight() == 0 && self.batch.is_empty() {
                return;
            }
            let submitted = self.stamp_batch(now);
            match self.device.wait(submitted.saturating_add(LONGEST_WAIT), &mut self.done) {
                Ok(after) => now = after,
                Err(_) => return,
            }
        }
    }

    fn count_backlog(&mut self, end: Nanos) {
        let (unsent, first) = self.pace.backlog(end);
        self.ending.unsent = unsent;
        self.ending.oldest_unsent = first.map(|first| end - first);
    }

    fn close_drain(&mut self, completed_before: u64, now: Nanos, sink: &mut dyn FnMut(Interval)) {
        self.ending.drained = self.ending.completed - completed_before;
        let mut rest = self.recorder.rotate(now, None);
        rest.drain = true;
        sink(rest);
    }
}

/// Fills the device's buffers with what the workload writes.
pub fn fill_pool(device: &mut impl Device, task: &Task<'_>) {
    let stream = &task.workload.streams[task.stream_index as usize];
    let slots = stream.load.slots_per_worker(stream.target_indices(task.spans.len()).len());
    let plan = BufferPlan::new(task.workload, stream, slots);
    let stamper = Stamper::new(task.workload, task.global_worker);
    let mut random = Random::of_worker(task.workload.data.seed, task.global_worker);
    for buffer in Buffers::new(&plan).pool() {
        stamper.fill(device.buffer(buffer), &mut random);
    }
}

impl Slot {
    const EMPTY: Self = Self {
        intended: Nanos::ZERO,
        submitted: Nanos::ZERO,
        transfer: Transfer { target: 0, direction: Direction::Read, offset: 0, length: 0, then: FollowUp::Nothing },
        track: 0,
        buffer: 0,
        is_flushing: false,
    };
}

/// The targets that get a cell, the destination of a copy included, and each target's cell.
fn cells(stream: &Stream, targets: &[u32], count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut cells = targets.to_vec();
    if let Access::Copy(copy) = &stream.access
        && !cells.contains(&copy.destination)
    {
        cells.push(copy.destination);
    }
    let mut cell_of_target = vec![0; count];
    for (cell, &target) in cells.iter().enumerate() {
        cell_of_target[target as usize] = cell as u32;
    }
    (cells, cell_of_target)
}
