//! Flushes: which writes they follow, and what goes on when they are done.

use storscope_device::{Clock, Completion, Device, FlushRequest};
use storscope_types::{FlushKind, Stream};

use super::{Generator, Slot};
use crate::error::LoadError;
use crate::tally::Times;
use crate::transfer::FollowUp;

/// Counts the writes of a worker that flushes.
#[derive(Debug)]
pub(super) struct Flushes {
    every: u32,
    kind: FlushKind,
    /// For each target the completed writes that no flush has followed.
    unflushed: Vec<u32>,
}

impl Flushes {
    /// For a worker of `stream` with so many targets in all; none if it does not flush.
    pub fn of(stream: &Stream, targets: usize) -> Option<Self> {
        stream.flush.map(|flush| Self { every: flush.every, kind: flush.kind, unflushed: vec![0; targets] })
    }

    /// Counts a write that is done. Says whether a flush follows it.
    fn follows_write(&mut self, target: u32) -> bool {
        let unflushed = &mut self.unflushed[target as usize];
        *unflushed += 1;
        let follows = *unflushed >= self.every;
        if follows {
            *unflushed = 0;
        }
        follows
    }
}

impl<D: Device, C: Clock> Generator<D, C> {
    /// Sends the flush that follows a write, in its place and the instant it is done. Says whether one follows.
    pub(super) fn flush_after(&mut self, completion: Completion) -> bool {
        let slot = self.slots[completion.token as usize];
        let target = slot.transfer.target;
        let Some(flushes) = &mut self.flushes else { return false };
        if !flushes.follows_write(target) {
            return false;
        }
        let flush = FlushRequest { token: completion.token, target, kind: flushes.kind };
        self.take_place(completion.token, Slot { intended: completion.at, is_flushing: true, ..slot });
        self.device.flush(flush);
        true
    }

    /// A flush is done: what waited for it goes on, the rest of the write's transaction or the next request.
    pub(super) fn flushed(&mut self, completion: Completion) -> Result<(), LoadError> {
        let slot = self.slots[completion.token as usize];
        if completion.result != 0 {
            return self.fail(completion, slot);
        }
        let times = Times { intended: slot.intended, submitted: slot.submitted, completed: completion.at };
        self.recorder.flushed(self.cell_of_target[slot.transfer.target as usize] as usize, times);
        self.ending.completed += 1;
        match slot.transfer.then {
            FollowUp::Nothing => self.pace.release(completion.token, completion.at),
            then => self.follow_up(completion, then),
        }
        Ok(())
    }

    /// The system call of its flushes.
    pub(super) fn flush_kind(&self) -> FlushKind {
        self.flushes.as_ref().map(|flushes| flushes.kind).unwrap_or_default()
    }
}
