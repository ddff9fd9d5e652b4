//! Where a host's I/O comes in and where it is answered.

use storscope_device::{Completion, Direction, FlushRequest, Request};

use super::Array;
use super::account::Asked;
use super::group::Spare;
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
        self.accounts[index].came(Asked::of(write), now);
        let place = self.jobs.insert_with(|| {
            let job = Job::new(Kind::Host, write, index as u16, group, offset, request.length, now);
            Job { token: request.token, ..job }
        });
        if has_flash && self.answered_by_flash(place) {
            return;
        }
        if self.limits.is_empty() { self.enter(place) } else { self.admit(place) }
    }

    /// A flush comes.
    pub(super) fn take_flush(&mut self, flush: FlushRequest) {
        let index = flush.target as usize;
        let Some(target) = self.targets.get(index) else {
            self.done.push(Completion { token: flush.token, result: INVALID, at: self.now });
            return;
        };
        let volume = &self.volumes[usize::from(target.volume)];
        let (offset, group, now) = (volume.start, volume.group, self.now);
        self.accounts[index].came(Asked::Flush, now);
        let place = self.jobs.insert_with(|| {
            let job = Job::new(Kind::Host, true, index as u16, group, offset, 0, now);
            Job { token: flush.token, asked: Asked::Flush, ..job }
        });
        if self.limits.is_empty() { self.enter(place) } else { self.admit(place) }
    }

    /// What is in the array's memory is safe there. Where writes go through, it is what the drives say is.
    fn flush_drives(&mut self, place: u32) {
        let writes_back = self.cache.as_ref().is_some_and(|memory| memory.dirty_limit > 0);
        if writes_back && self.may_write_back(place) {
            return self.answer(place);
        }
        let group = &self.groups[usize::from(self.jobs[place].group)];
        let own = group.first_drive..group.first_drive + group.count;
        let spares = group.dead.iter().filter_map(|dead| match dead.spare {
            Spare::Drive(index) => Some(index),
            Spare::None | Spare::Distributed => None,
        });
        let holds = |&index: &u32| {
            let drive = &self.drives[index as usize].drive;
            drive.is_volatile() && !drive.is_failed()
        };
        let drives: Vec<u32> = own.chain(spares).filter(holds).collect();
        self.issue_flush(place, &drives);
    }

    /// The array knows what is asked.
    #[inline]
    pub(super) fn decoded(&mut self, place: u32) {
        if self.jobs[place].asked == Asked::Flush {
            return self.flush_drives(place);
        }
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
        account.answered(job.asked, job.length, job.submitted, self.began, self.now);
        account.failed[job.asked as usize] += u64::from(has_failed);
        self.done.push(Completion { token: job.token, result, at: self.now });
        let (admitted, moved_data) = (job.gate > 0, job.asked != Asked::Flush);
        if has_failed {
            self.lost_data(volume, None);
        }
        if moved_data && self.targets[index].flash.is_some() {
            self.fill_flash(place);
        }
        if moved_data && !self.targets[index].flash_elsewhere.is_empty() {
            self.outdate_flash_elsewhere(place);
        }
        self.jobs.remove(place);
        if admitted {
            self.leave_limits(place);
        }
    }
}
