//! The generator's loop in steps, for callers that wait themselves: several generators on one device in virtual time.

use storscope_device::{Clock, Completion, Device, Request};
use storscope_types::Nanos;

use super::Generator;
use crate::error::LoadError;
use crate::tally::{Interval, Times};
use crate::task::Ending;
use crate::transfer::{Drawn, FollowUp, Transfer};

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

    /// [`Generator::take`] and [`Generator::step`] in one go, in the middle of an interval, where nothing more is to be done
    /// than this: of a closed loop of requests that are alike, one takes the place of the one that is done; of an open
    /// loop one is done. Returns false, and has done nothing, where there may be more.
    #[inline]
    pub fn take_alone(&mut self, now: Nanos, completion: &Completion) -> bool {
        let slot = &self.slots[completion.token as usize];
        let goes_on = C::STANDS_STILL && !D::KEEPS_DATA && self.ios_left > 0 && self.bytes_left > 0;
        let is_within = now < self.recorder.boundary().min(self.end);
        let is_prompt = completion.at == now && slot.intended == slot.submitted;
        if !(goes_on && is_within && is_prompt && completion.result == slot.transfer.length as i32) {
            return false;
        }
        if self.replaces && self.pace.is_spent() {
            self.replace(now, completion.token);
            return true;
        }
        let is_last = slot.transfer.then == FollowUp::Nothing && self.flushes.is_none();
        if !(is_last && self.pace.release_early(completion.token, now)) {
            return false;
        }
        let Transfer { target, direction, length, .. } = slot.transfer;
        let times = Times { intended: slot.intended, submitted: slot.submitted, completed: now };
        self.recorder.completed_alone(self.cell_of_target[target as usize] as usize, direction, times, length);
        self.ending.completed += 1;
        true
    }

    /// Counts a request that is done and sends the next one.
    #[inline(always)]
    fn replace(&mut self, now: Nanos, token: u32) {
        let slot = &mut self.slots[token as usize];
        let Transfer { target, direction, length, .. } = slot.transfer;
        let cell = self.cell_of_target[target as usize] as usize;
        self.recorder.replaced(cell, direction, slot.submitted, now, length);
        self.ending.completed += 1;
        self.ending.submitted += 1;
        self.ios_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(length));
        let Drawn { direction, offset } = self.transfers.next_alike();
        (slot.intended, slot.submitted) = (now, now);
        (slot.transfer.direction, slot.transfer.offset) = (direction, offset);
        self.device.submit(Request { token, target, direction, offset, length, buffer: 0 });
        if D::EXPECTS {
            let (target, offset) = self.transfers.foresee_alike();
            self.device.expect(target, offset);
        }
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
