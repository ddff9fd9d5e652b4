//! Sending operations to drives, gathering them, and what comes between the phases of a job.

use storscope_device::Direction;
use storscope_types::Nanos;

use super::Array;
use super::account::Part;
use super::job::{Kind, Stage};
use crate::drive::DriveOp;
use crate::layout::Place;

/// An operation that is to be sent to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedOp {
    /// Where; the drive's index is that of the array.
    pub place: Place,
    /// Bytes.
    pub length: u32,
}

impl PlannedOp {
    /// Where it ends.
    #[inline]
    #[must_use]
    pub fn end(&self) -> Place {
        Place { drive: self.place.drive, offset: self.place.offset + u64::from(self.length) }
    }
}

/// Makes one operation of those that adjoin, or overlap, on a drive.
pub(super) fn join(plan: &mut Vec<PlannedOp>) {
    plan.sort_unstable_by_key(|op| op.place);
    plan.dedup_by(|next, op| {
        let adjoins = next.place.drive == op.place.drive && next.place.offset <= op.end().offset;
        if adjoins {
            op.length = (next.end().offset.max(op.end().offset) - op.place.offset) as u32;
        }
        adjoins
    });
}

impl Array {
    /// Sends what is planned. Without anything to send the phase is over at once.
    #[inline]
    pub(super) fn issue(&mut self, place: u32, direction: Direction, stage: Stage) {
        let plan = std::mem::take(&mut self.plan);
        let count = plan.len() as u32;
        let mut moved = 0;
        for op in &plan {
            moved += u64::from(op.length);
            self.send(place, direction, op);
        }
        self.plan = plan;
        self.plan.clear();
        self.begin_phase(place, stage, count, moved);
        if count == 0 {
            self.phase_over(place);
        }
    }

    /// Sends the only operation of a phase, without a plan.
    #[inline]
    pub(super) fn issue_one(&mut self, place: u32, direction: Direction, stage: Stage, op: PlannedOp) {
        self.send(place, direction, &op);
        self.begin_phase(place, stage, 1, u64::from(op.length));
    }

    #[inline]
    fn send(&mut self, place: u32, direction: Direction, op: &PlannedOp) {
        let index = op.place.drive as usize;
        let op = DriveOp { tag: place, direction, offset: op.place.offset, length: op.length };
        let next = self.drives[index].submit(self.now, op);
        self.tree.set(index, next);
    }

    /// Has drives empty their caches.
    #[cold]
    pub(super) fn issue_flush(&mut self, place: u32, drives: &[u32]) {
        for &index in drives {
            let next = self.drives[index as usize].flush(self.now, place);
            self.tree.set(index as usize, next);
        }
        self.begin_phase(place, Stage::Flushing, drives.len() as u32, 0);
        if drives.is_empty() {
            self.phase_over(place);
        }
    }

    #[inline]
    fn begin_phase(&mut self, place: u32, stage: Stage, count: u32, moved: u64) {
        let now = self.now;
        let job = &mut self.jobs[place];
        job.stage = stage;
        (job.pending, job.ops, job.mark, job.moved) = (count, count, now, moved);
        (job.response, job.service) = (Nanos::ZERO, Nanos::ZERO);
    }

    /// All operations of a phase are done.
    #[inline]
    pub(super) fn drives_done(&mut self, place: u32) {
        self.account_phase(place);
        self.phase_over(place);
    }

    #[inline]
    fn phase_over(&mut self, place: u32) {
        match self.jobs[place].stage {
            Stage::Reading | Stage::ReadingOld => self.bring_back(place),
            Stage::Journalling => self.send_write(place),
            _ => self.data_done(place),
        }
    }

    /// What was read crosses the back-end link.
    #[inline]
    fn bring_back(&mut self, place: u32) {
        let job = &self.jobs[place];
        match self.back_end(job.owner) {
            Some([_, link]) if job.moved > 0 => {
                let moved = job.moved;
                self.cross(place, link, moved, Part::BackEnd, Stage::ReadBack);
            }
            _ => self.read_back(place),
        }
    }

    #[inline]
    fn back_end(&self, owner: u16) -> Option<[super::controller::Link; 2]> {
        self.controllers.get(usize::from(owner)).and_then(|controller| controller.back)
    }

    /// What was read is with the controller, which may have to compute: parity, or what was lost.
    #[inline]
    pub(super) fn read_back(&mut self, place: u32) {
        let job = &self.jobs[place];
        let next = match (job.kind, job.degraded) {
            (Kind::Stripe, _) => Stage::ParityReady,
            (_, true) => Stage::Recovered,
            _ => return self.data_done(place),
        };
        let (owner, bytes) = (job.owner, job.extra);
        match self.controllers.get(usize::from(owner)).filter(|_| bytes > 0).map(|controller| controller.parity) {
            Some(cost) if !cost.is_nothing() => self.work(place, owner, cost, bytes, next),
            _ => {
                self.jobs[place].stage = next;
                self.proceed(place);
            }
        }
    }

    /// The first phase of writing: a journal entry on each drive that will be written, where there is a journal.
    #[inline]
    pub(super) fn begin_write(&mut self, place: u32) {
        let index = usize::from(self.jobs[place].group);
        let (bytes, share) = (self.groups[index].journal_bytes, self.groups[index].journal_share);
        if bytes == 0 || !(share >= 1.0 || self.random.happens(share)) {
            return self.send_write(place);
        }
        self.plan_write(place);
        let end = self.groups[index].drive_size - u64::from(bytes);
        for op in &mut self.plan {
            *op = PlannedOp { place: Place { drive: op.place.drive, offset: end }, length: bytes };
        }
        self.plan.sort_unstable_by_key(|op| op.place.drive);
        self.plan.dedup();
        self.issue(place, Direction::Write, Stage::Journalling);
    }

    /// What is written crosses the back-end link.
    #[inline]
    pub(super) fn send_write(&mut self, place: u32) {
        let Some([link, _]) = self.back_end(self.jobs[place].owner) else { return self.write_now(place) };
        self.plan_write(place);
        let bytes = self.plan.iter().map(|op| u64::from(op.length)).sum();
        self.plan.clear();
        self.cross(place, link, bytes, Part::BackEnd, Stage::WriteSent);
    }

    /// The last phase of writing.
    #[inline]
    pub(super) fn write_now(&mut self, place: u32) {
        self.plan_write(place);
        self.issue(place, Direction::Write, Stage::Writing);
    }

    #[inline]
    fn plan_write(&mut self, place: u32) {
        match self.jobs[place].kind {
            Kind::Stripe => self.plan_stripe(place),
            Kind::Background => self.plan_background_write(place),
            Kind::Host | Kind::Destage | Kind::Prefetch => self.plan_copies(place),
        }
    }

    /// Splits the time of a phase into waiting for drives, being served, and waiting for the slowest.
    #[inline]
    fn account_phase(&mut self, place: u32) {
        let job = &self.jobs[place];
        let elapsed = (self.now - job.mark).0;
        let ops = u64::from(job.ops);
        let (response, service) = (shared(job.response.0, ops), shared(job.service.0, ops));
        let join = if ops > 1 { elapsed - response } else { 0 };
        let spent = [
            (Part::DriveQueue, Nanos(response - service)),
            (Part::DriveService, Nanos(service)),
            (Part::Join, Nanos(join)),
        ];
        self.spend_each(place, spent);
    }

    /// Adds to where the time of a job's host I/O went.
    #[inline]
    pub(super) fn spend(&mut self, place: u32, part: Part, time: Nanos) {
        self.spend_each(place, [(part, time)]);
    }

    /// Adds to several parts at a time.
    #[inline]
    pub(super) fn spend_each<const PARTS: usize>(&mut self, place: u32, times: [(Part, Nanos); PARTS]) {
        let job = &self.jobs[place];
        let siblings = u64::from(job.siblings);
        let spent = &mut self.accounts[usize::from(job.account)].spent[job.asked as usize];
        for (part, time) in times {
            spent[part as usize] += shared(time.0, siblings);
        }
    }
}

/// Time over a number, which is mostly 1 or 2: a division takes as long as all else here.
#[inline]
fn shared(time: u64, number: u64) -> u64 {
    match number {
        1 => time,
        2 => time / 2,
        _ => time / number,
    }
}
