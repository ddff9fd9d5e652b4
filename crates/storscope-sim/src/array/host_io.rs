//! The way of a host's I/O through the array.

use storscope_device::{Completion, Direction, Request};

use super::Array;
use super::job::{Job, Kind, Stage};

/// EINVAL of Linux: the request does not lie within the target.
const INVALID: i32 = -22;
/// EIO of Linux: too many drives have failed.
const LOST: i32 = -5;

impl Array {
    /// A request comes.
    #[inline]
    pub(super) fn take(&mut self, request: Request) {
        let write = request.direction == Direction::Write;
        let target = &self.targets[request.target as usize];
        if request.length == 0 || request.offset.saturating_add(u64::from(request.length)) > target.size {
            self.done.push(Completion { token: request.token, result: INVALID, at: self.now });
            return;
        }
        let volume = &self.volumes[usize::from(target.volume)];
        let (offset, group) = (volume.start + request.offset, volume.group);
        let mut job = Job::new(Kind::Host, write, request.target as u16, group, offset, request.length, self.now);
        job.token = request.token;
        self.accounts[request.target as usize].came(write, self.now);
        let place = self.jobs.insert(job);
        self.decoded(place);
    }

    /// The array knows what is asked.
    #[inline]
    fn decoded(&mut self, place: u32) {
        if self.jobs[place].write {
            self.write(place);
        } else {
            self.read(place);
        }
    }

    /// A job leaves a station.
    #[inline]
    pub(super) fn proceed(&mut self, place: u32) {
        match self.jobs[place].stage {
            Stage::Decoded => self.decoded(place),
            _ => self.finish(place),
        }
    }

    /// The data of a job is read, or is safe.
    #[inline]
    pub(super) fn data_done(&mut self, place: u32) {
        match self.jobs[place].kind {
            Kind::Host => self.finish(place),
            Kind::Stripe => self.stripe_done(place),
            Kind::Destage | Kind::Prefetch | Kind::Background => self.jobs.remove(place),
        }
    }

    /// The host has its answer.
    #[inline]
    fn finish(&mut self, place: u32) {
        let job = self.jobs[place];
        self.jobs.remove(place);
        let account = &mut self.accounts[usize::from(job.account)];
        account.answered(job.write, job.length, job.submitted, self.began, self.now);
        let result = if job.lost { LOST } else { job.length as i32 };
        self.done.push(Completion { token: job.token, result, at: self.now });
    }
}
