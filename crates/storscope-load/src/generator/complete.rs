//! What happens when an I/O is done.

use storscope_device::{Clock, Completion, Device, Direction};
use storscope_types::counted;

use super::{Generator, Slot};
use crate::error::{FailedIo, LoadError};
use crate::pace::Start;
use crate::tally::Times;
use crate::transfer::{FollowUp, Transfer};

impl<D: Device, C: Clock> Generator<D, C> {
    /// Takes what the device reported, up to the first error; what was behind it is left for the next call.
    #[inline]
    pub(super) fn take_done(&mut self) -> Result<(), LoadError> {
        let mut done = std::mem::take(&mut self.done);
        let mut taken = 0;
        let outcome = done.iter().try_for_each(|completion| {
            taken += 1;
            self.complete(*completion)
        });
        self.recorder.settle();
        done.drain(..taken);
        self.done = done;
        outcome
    }

    #[inline]
    pub(super) fn complete(&mut self, completion: Completion) -> Result<(), LoadError> {
        let slot = &self.slots[completion.token as usize];
        if slot.is_flushing {
            return self.flushed(completion);
        }
        let Transfer { target, direction, offset, length, then } = slot.transfer;
        let buffer = slot.buffer;
        if completion.result != length as i32 {
            return self.fail(completion, *slot);
        }
        let times = Times { intended: slot.intended, submitted: slot.submitted, completed: completion.at };
        let cell = self.cell_of_target[target as usize] as usize;
        if C::STANDS_STILL {
            self.recorder.completed_alone(cell, direction, times, length);
        } else {
            self.recorder.completed(cell, direction, times, length);
        }
        self.ending.completed += 1;
        if direction == Direction::Write {
            self.return_buffer(buffer);
            if self.flushes.is_some() && self.flush_after(completion) {
                return Ok(());
            }
        } else if D::KEEPS_DATA && self.verify {
            let memory = self.device.buffer(buffer);
            self.stamper.check(&memory[..(length as usize).min(memory.len())], target, offset)?;
        }
        match then {
            FollowUp::Nothing => self.pace.release(completion.token, completion.at),
            then => self.follow_up(completion, then),
        }
        Ok(())
    }

    /// Sends the dependent transfer: it should start the instant the first is done.
    pub(super) fn follow_up(&mut self, completion: Completion, then: FollowUp) {
        let slot = self.slots[completion.token as usize];
        let start = Start { slot: completion.token, track: slot.track as usize, intended: completion.at };
        match then {
            FollowUp::Nothing => {}
            FollowUp::Reply(length) => {
                let transfer = self.transfers.reply(start.track, slot.transfer.direction.opposite(), length);
                self.submit(start, transfer);
            }
            FollowUp::CopyTo { target, offset } => {
                let write =
                    Transfer { target, offset, direction: Direction::Write, then: FollowUp::Nothing, ..slot.transfer };
                let copied = Slot { intended: completion.at, transfer: write, ..slot };
                self.hand_over(completion.token, copied);
            }
        }
    }

    /// Buffers of copies are those of their reads.
    #[inline]
    fn return_buffer(&mut self, buffer: u32) {
        if D::KEEPS_DATA && self.buffers.is_of_pool(buffer) {
            self.buffers.give_back(buffer);
        }
    }

    /// An I/O failed, or a flush: then its write has counted, and what waited for it never goes.
    pub(super) fn fail(&mut self, completion: Completion, slot: Slot) -> Result<(), LoadError> {
        let Transfer { target, direction, offset, length, .. } = slot.transfer;
        self.recorder.failed((-completion.result).max(0), completion.at);
        self.ending.failed += 1;
        if direction == Direction::Write && !slot.is_flushing {
            self.return_buffer(slot.buffer);
        }
        self.pace.release(completion.token, completion.at);
        if self.ending.failed <= self.max_failures {
            return Ok(());
        }
        let (failed, allowed) = (self.ending.failed, self.max_failures);
        let last = if slot.is_flushing {
            FailedIo::Flush(self.flush_kind())
        } else {
            FailedIo::Transfer { direction, offset, length }
        };
        Err(LoadError::Failed { failed, allowed, last, target, reason: reason(completion.result) })
    }
}

fn reason(result: i32) -> String {
    if result < 0 {
        return std::io::Error::from_raw_os_error(-result).to_string();
    }
    format!("only {} transferred", counted(u64::from(result.unsigned_abs()), "byte was", "bytes were"))
}
