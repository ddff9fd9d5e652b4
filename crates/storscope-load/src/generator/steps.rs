//! The generator's loop in steps, for callers that wait themselves: several generators on one device in virtual time.

use storscope_device::{Clock, Completion, Device};
use storscope_types::Nanos;

use super::Generator;
use crate::error::LoadError;
use crate::tally::Interval;
use crate::task::Ending;

impl<D: Device, C: Clock> Generator<D, C> {
    /// Sends what may go out by `now`. Returns when to come back if nothing completes before; none when the task is
    /// over, see [`Generator::begin_drain`].
    #[inline]
    pub fn step(&mut self, now: Nanos) -> Option<Nanos> {
        let exhausted = self.ios_left == 0 || self.bytes_left == 0;
        let idle = self.recorder.in_flight() == 0 && self.batch.is_empty();
        if now >= self.end || (exhausted && idle) {
            return None;
        }
        self.send(now);
        self.stamp_batch(now);
        Some(self.wake_at())
    }

    /// Ends the intervals that are over by `now`.
    #[inline]
    pub fn end_intervals(&mut self, now: Nanos, sink: &mut dyn FnMut(Interval)) {
        self.rotate_until(now, sink);
    }

    /// One of its requests is done at `now`; what is done after the task's end waits for the drain. To be called after
    /// [`Generator::end_intervals`].
    ///
    /// # Errors
    /// When too many I/Os fail, or data do not verify.
    #[inline]
    pub fn take(&mut self, now: Nanos, completion: Completion) -> Result<(), LoadError> {
        if now < self.end {
            return self.complete(completion);
        }
        self.keep_for_drain(completion);
        Ok(())
    }

    /// One of its requests is done; [`Generator::step_drain`] takes it.
    pub fn keep_for_drain(&mut self, completion: Completion) {
        self.done.push(completion);
    }

    /// Ends the task at `now`: its last interval goes to `sink`, and what never was sent is counted. Returns how many
    /// I/Os had completed.
    pub fn begin_drain(&mut self, now: Nanos, sink: &mut dyn FnMut(Interval)) -> u64 {
        let end = self.close(now, sink);
        self.count_backlog(end);
        self.ending.completed
    }

    /// Takes what was kept and sends what follows from it. Returns whether nothing is in flight any more.
    ///
    /// # Errors
    /// As [`Generator::take`].
    pub fn step_drain(&mut self, now: Nanos) -> Result<bool, LoadError> {
        self.take_done()?;
        self.stamp_batch(now);
        Ok(self.recorder.in_flight() == 0)
    }

    /// The end of the drain; `completed_before` is what [`Generator::begin_drain`] said.
    pub fn end_drain(&mut self, completed_before: u64, now: Nanos, sink: &mut dyn FnMut(Interval)) -> Ending {
        self.close_drain(completed_before, now, sink);
        self.ending
    }
}
