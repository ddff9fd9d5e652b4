//! Where a host's I/O comes in and where it is answered.

use storscope_device::{Completion, Direction, Request};

use super::Array;
use super::job::{Job, Kind};

/// EINVAL of Linux: the request does not lie within the target.
const INVALID: i32 = -22;
/// EIO of Linux: too many drives have failed.
const LOST: i32 = -5;

impl Array {
    /// A request comes.
    #[inline]
    pub(super) fn take(&mut self, request: Request) {
        let write = request.direction == Direction::Write;
        let index = request.target as usize;
        let fits = |size: u64| request.length > 0 && request.offset.saturating_add(request.length.into()) <= size;
        let Some(target) = self.targets.get(index).filter(|target| fits(target.size)) else {
            self.done.push(Completion { token: request.token, result: INVALID, at: self.now });
            return;
        };
        let volume = &self.volumes[usize::from(target.volume)];
        let (offset, group) = (volume.start + request.offset, volume.group);
        let has_flash = target.flash.is_some();
        let now = self.now;
        self.accounts[index].came(write, now);
        let place = self.jobs.insert_with(|| {
            let job = Job::new(Kind::Host, write, index as u16, group, offset, request.length, now);
            Job { token: request.token, ..job }
        });
        if has_flash && self.answered_by_flash(place) {
            return;
        }
        if self.limits.is_empty() { self.enter(place) } else { self.admit(place) }
    }

    /// The array knows what is asked.
    #[inline]
    pub(super) fn decoded(&mut self, place: u32) {
        match (self.cache.is_some(), self.jobs[place].write) {
            (false, false) => self.read(place),
            (false, true) => self.write(place),
            (true, false) => self.read_cached(place),
            (true, true) => self.write_cached(place),
        }
    }

    /// The drives have done what a host asked for.
    #[inline]
    pub(super) fn host_data_done(&mut self, place: u32) {
        if self.keeps_reads && !self.jobs[place].write {
            self.keep_read(place);
        }
        self.answer(place);
    }

    /// The host has its answer.
    #[inline]
    pub(super) fn finish(&mut self, place: u32) {
        let job = &self.jobs[place];
        let index = usize::from(job.account);
        let volume = usize::from(self.targets[index].volume);
        let has_failed = job.lost || self.volumes[volume].has_lost;
        let result = if has_failed { LOST } else { job.length as i32 };
        let account = &mut self.accounts[index];
        account.answered(job.write, job.length, job.submitted, self.began, self.now);
        account.failed[usize::from(job.write)] += u64::from(has_failed);
        self.done.push(Completion { token: job.token, result, at: self.now });
        let admitted = job.gate > 0;
        if has_failed {
            self.lost_data(volume);
        }
        if self.targets[index].flash.is_some() {
            self.fill_flash(place);
        }
        self.jobs.remove(place);
        if admitted {
            self.leave_limits(place);
        }
    }
}
