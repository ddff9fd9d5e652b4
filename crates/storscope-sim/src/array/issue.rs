//! Drive operations: planning them by the layout, sending them, and gathering them again.

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::ReadChoice;

use super::Array;
use super::account::Part;
use super::group::Group;
use super::job::{Job, Kind, Stage};
use crate::drive::DriveOp;
use crate::layout::{Piece, Place, Slice, Update, UpdateKind};

/// An operation that is to be sent to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedOp {
    /// Where; the drive's index is that of the array.
    pub place: Place,
    /// Bytes.
    pub length: u32,
}

impl Array {
    /// Reads what a job asks for from the drives.
    #[inline]
    pub(super) fn read(&mut self, place: u32) {
        let (group, offset, length) = self.extent(place);
        let first = self.groups[group].map.first_piece(offset, length);
        if first.length == length {
            self.plan_read(place, group, first);
        } else {
            let mut at = 0;
            while at < length {
                let piece = self.groups[group].map.first_piece(offset + at, length - at);
                self.plan_read(place, group, piece);
                at += piece.length;
            }
        }
        self.issue(place, Direction::Read, Stage::Reading);
    }

    #[inline]
    fn extent(&self, place: u32) -> (usize, u64, u64) {
        let job = &self.jobs[place];
        (usize::from(job.group), job.offset, u64::from(job.length))
    }

    #[inline]
    fn plan_read(&mut self, place: u32, group: usize, piece: Piece) {
        let position = self.position_to_read(group, &piece);
        match self.groups[group].locate(piece.stripe, position, piece.start) {
            Some(at) => self.plan.push(PlannedOp { place: at, length: piece.length as u32 }),
            None => self.plan_recovery(place, group, &piece),
        }
    }

    #[inline]
    fn position_to_read(&mut self, index: usize, piece: &Piece) -> u64 {
        let group = &mut self.groups[index];
        if group.map.copies() == 1 {
            return group.map.position_of_data(piece.stripe, piece.index);
        }
        match group.read_choice {
            ReadChoice::RoundRobin => {
                group.turn += 1;
                group.turn & 1
            }
            ReadChoice::Primary => 0,
            ReadChoice::ShortestQueue => self.shortest_queue(index, piece),
            ReadChoice::Nearest => self.nearest(index, piece),
        }
    }

    fn shortest_queue(&self, index: usize, piece: &Piece) -> u64 {
        let queue = |position: u64| {
            let place = self.groups[index].locate(piece.stripe, position, piece.start);
            place.map_or(u32::MAX, |place| self.drives[place.drive as usize].present())
        };
        u64::from(queue(1) < queue(0))
    }

    fn nearest(&self, index: usize, piece: &Piece) -> u64 {
        let distance = |position: u64| {
            let place = self.groups[index].locate(piece.stripe, position, piece.start);
            place.map_or(u64::MAX, |place| self.drives[place.drive as usize].last_offset().abs_diff(place.offset))
        };
        u64::from(distance(1) < distance(0))
    }

    /// A piece whose place is lost: another copy, or enough of the stripe to compute it.
    fn plan_recovery(&mut self, place: u32, group: usize, piece: &Piece) {
        let group = &self.groups[group];
        let map = &group.map;
        let mut missing = if map.copies() > 1 { 1 } else { map.data() };
        for position in 0..map.width() {
            if missing == 0 {
                break;
            }
            if let Some(at) = group.locate(piece.stripe, position, piece.start) {
                self.plan.push(PlannedOp { place: at, length: piece.length as u32 });
                missing -= 1;
            }
        }
        let job = &mut self.jobs[place];
        if map.copies() == 1 {
            job.degraded = true;
            job.extra += piece.length * map.data();
        }
        job.lost |= missing > 0;
    }

    /// Writes what a job brings to the drives.
    #[inline]
    pub(super) fn write(&mut self, place: u32) {
        let (group, offset, length) = self.extent(place);
        if self.groups[group].map.parity() > 0 {
            self.write_stripes(place, group, offset, length);
            return;
        }
        self.plan_copies(place);
        self.issue(place, Direction::Write, Stage::Writing);
    }

    /// All copies of what a job writes.
    #[inline]
    fn plan_copies(&mut self, place: u32) {
        let (group, offset, length) = self.extent(place);
        let group = &self.groups[group];
        let copies = group.map.copies();
        for piece in group.map.pieces(offset, length) {
            let before = self.plan.len();
            for copy in 0..copies {
                let position = piece.index + copy;
                if let Some(at) = group.locate(piece.stripe, position, piece.start) {
                    self.plan.push(PlannedOp { place: at, length: piece.length as u32 });
                }
            }
            self.jobs[place].lost |= self.plan.len() == before;
        }
    }

    /// Makes a job of each stripe that is written.
    fn write_stripes(&mut self, place: u32, group: usize, offset: u64, length: u64) {
        let stripe_bytes = self.groups[group].map.stripe_bytes();
        let (first, last) = (offset / stripe_bytes, (offset + length - 1) / stripe_bytes);
        let count = (last - first + 1) as u32;
        let now = self.now;
        let job = &mut self.jobs[place];
        job.stage = Stage::WaitsForStripes;
        (job.pending, job.ops, job.mark, job.response) = (count, count, now, Nanos::ZERO);
        let parent = *job;
        for stripe in first..=last {
            let start = offset.max(stripe * stripe_bytes);
            let end = (offset + length).min((stripe + 1) * stripe_bytes);
            let mut part = Job::new(Kind::Stripe, true, parent.account, parent.group, start, (end - start) as u32, now);
            (part.token, part.siblings, part.owner) = (place, parent.siblings * count, parent.owner);
            let part = self.jobs.insert(part);
            self.write_stripe(part);
        }
    }

    /// Begins the write of one stripe with what has to be read for it.
    fn write_stripe(&mut self, place: u32) {
        let (index, update) = self.update_of(place);
        let group = &self.groups[index];
        let alive = |position| !group.degraded || group.locate(update.stripe, position, 0).is_some();
        let kind = update.choose(&group.map, group.parity_update, alive);
        let plan = &mut self.plan;
        update.reads(&group.map, kind, |slice| plan_slice(group, &update, slice, plan));
        let lacking = kind == UpdateKind::ReadAll && (plan.len() as u64) < group.map.data();
        let job = &mut self.jobs[place];
        job.extra = update.parity_bytes(&group.map, kind);
        job.lost |= lacking;
        self.issue(place, Direction::Read, Stage::ReadingOld);
    }

    fn update_of(&self, place: u32) -> (usize, Update) {
        let (group, offset, length) = self.extent(place);
        let stripe_bytes = self.groups[group].map.stripe_bytes();
        let (stripe, start) = (offset / stripe_bytes, offset % stripe_bytes);
        (group, Update { stripe, start, end: start + length })
    }

    /// Writes data and parity of a stripe.
    pub(super) fn write_new(&mut self, place: u32) {
        let (index, update) = self.update_of(place);
        let group = &self.groups[index];
        let plan = &mut self.plan;
        update.new_data(&group.map, |slice| plan_slice(group, &update, slice, plan));
        update.parity(&group.map, |slice| plan_slice(group, &update, slice, plan));
        self.issue(place, Direction::Write, Stage::Writing);
    }

    /// Sends what is planned. Without anything to send the phase is over at once.
    #[inline]
    pub(super) fn issue(&mut self, place: u32, direction: Direction, stage: Stage) {
        let now = self.now;
        let count = self.plan.len() as u32;
        let job = &mut self.jobs[place];
        job.stage = stage;
        (job.pending, job.ops, job.mark) = (count, count, now);
        (job.response, job.service) = (Nanos::ZERO, Nanos::ZERO);
        for op in &self.plan {
            let index = op.place.drive as usize;
            let op = DriveOp { tag: place, direction, offset: op.place.offset, length: op.length };
            let next = self.drives[index].submit(now, op);
            self.tree.set(index, next);
        }
        self.plan.clear();
        if count == 0 {
            self.drives_done(place);
        }
    }

    /// All operations of a phase are done.
    #[inline]
    pub(super) fn drives_done(&mut self, place: u32) {
        self.account_phase(place);
        match self.jobs[place].stage {
            Stage::ReadingOld => self.write_new(place),
            _ => self.data_done(place),
        }
    }

    /// Splits the time of a phase into waiting for drives, being served, and waiting for the slowest.
    #[inline]
    fn account_phase(&mut self, place: u32) {
        let job = &self.jobs[place];
        if job.ops == 0 {
            return;
        }
        let elapsed = self.now - job.mark;
        let ops = u64::from(job.ops);
        let (response, service) =
            if ops == 1 { (job.response.0, job.service.0) } else { (job.response.0 / ops, job.service.0 / ops) };
        let job = *job;
        self.spend(&job, Part::DriveQueue, Nanos(response - service));
        self.spend(&job, Part::DriveService, Nanos(service));
        self.spend(&job, Part::Join, elapsed - Nanos(response));
    }

    /// Adds to where the time of a job's host I/O went.
    #[inline]
    pub(super) fn spend(&mut self, job: &Job, part: Part, time: Nanos) {
        let share = if job.siblings == 1 { time } else { Nanos(time.0 / u64::from(job.siblings)) };
        self.accounts[usize::from(job.account)].spend(job.write, part, share);
    }

    /// The write of a stripe is done; perhaps that of its parent is, too.
    pub(super) fn stripe_done(&mut self, place: u32) {
        let part = self.jobs[place];
        self.jobs.remove(place);
        let now = self.now;
        let parent = &mut self.jobs[part.token];
        parent.lost |= part.lost;
        parent.response += now - part.submitted;
        parent.pending -= 1;
        if parent.pending > 0 {
            return;
        }
        let job = *parent;
        let join = (now - job.mark).since(Nanos(job.response.0 / u64::from(job.ops)));
        self.spend(&job, Part::Join, join);
        self.data_done(part.token);
    }
}

fn plan_slice(group: &Group, update: &Update, slice: Slice, plan: &mut Vec<PlannedOp>) {
    if let Some(place) = group.locate(update.stripe, slice.position, slice.start) {
        plan.push(PlannedOp { place, length: (slice.end - slice.start) as u32 });
    }
}
