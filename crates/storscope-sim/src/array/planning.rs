//! What the layout asks of the drives: reads, copies, stripes with parity, and what is lost.

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::ReadChoice;

use super::Array;
use super::account::Part;
use super::group::Group;
use super::issue::PlannedOp;
use super::job::{Job, Kind, Stage};
use crate::layout::{Piece, Slice, Update};

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
    pub(super) fn extent(&self, place: u32) -> (usize, u64, u64) {
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

    /// A drive with nothing to do counts as being there already; of two, and of two that are as near, the first.
    fn nearest(&self, index: usize, piece: &Piece) -> u64 {
        let distance = |position: u64| {
            let Some(place) = self.groups[index].locate(piece.stripe, position, piece.start) else { return u64::MAX };
            let drive = &self.drives[place.drive as usize];
            if drive.present() == 0 { 0 } else { drive.last_offset().abs_diff(place.offset) }
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
        } else {
            self.begin_write(place);
        }
    }

    /// All copies of what a job writes.
    #[inline]
    pub(super) fn plan_copies(&mut self, place: u32) {
        let (index, offset, length) = self.extent(place);
        let group = &self.groups[index];
        let copies = group.map.copies();
        let mut at = 0;
        while at < length {
            let piece = group.map.first_piece(offset + at, length - at);
            at += piece.length;
            let before = self.plan.len();
            for position in piece.index..piece.index + copies {
                if let Some(at) = group.locate(piece.stripe, position, piece.start) {
                    self.plan.push(PlannedOp { place: at, length: piece.length as u32 });
                }
            }
            if self.plan.len() == before {
                self.jobs[place].lost = true;
            }
        }
    }

    /// Makes a job of each stripe that is written.
    fn write_stripes(&mut self, place: u32, group: usize, offset: u64, length: u64) {
        let map = &self.groups[group].map;
        let stripe_bytes = map.stripe_bytes();
        let (first, last) = (map.stripe_at(offset).0, map.stripe_at(offset + length - 1).0);
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
            (part.token, part.siblings, part.owner) = (place, count, parent.owner);
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
        let job = &mut self.jobs[place];
        job.extra = update.parity_bytes(&group.map, kind);
        if group.degraded {
            let dead = (0..group.map.width()).filter(|&position| !alive(position)).count() as u64;
            job.lost |= dead > group.map.parity();
        }
        self.issue(place, Direction::Read, Stage::ReadingOld);
    }

    fn update_of(&self, place: u32) -> (usize, Update) {
        let (group, offset, length) = self.extent(place);
        let (stripe, start) = self.groups[group].map.stripe_at(offset);
        (group, Update { stripe, start, end: start + length })
    }

    /// Data and parity of a stripe.
    pub(super) fn plan_stripe(&mut self, place: u32) {
        let (index, update) = self.update_of(place);
        let group = &self.groups[index];
        let plan = &mut self.plan;
        update.new_data(&group.map, |slice| plan_slice(group, &update, slice, plan));
        update.parity(&group.map, |slice| plan_slice(group, &update, slice, plan));
    }

    /// The write of a stripe is done; perhaps that of its parent is, too.
    pub(super) fn stripe_done(&mut self, place: u32) {
        let part = &self.jobs[place];
        let (parent, lost, elapsed) = (part.token, part.lost, self.now - part.submitted);
        self.jobs.remove(place);
        let job = &mut self.jobs[parent];
        job.lost |= lost;
        job.response += elapsed;
        job.pending -= 1;
        if job.pending > 0 {
            return;
        }
        if job.ops > 1 {
            let join = (self.now - job.mark).since(Nanos(job.response.0 / u64::from(job.ops)));
            self.spend(parent, Part::Join, join);
        }
        self.data_done(parent);
    }
}

#[inline]
fn plan_slice(group: &Group, update: &Update, slice: Slice, plan: &mut Vec<PlannedOp>) {
    if let Some(place) = group.locate(update.stripe, slice.position, slice.start) {
        plan.push(PlannedOp { place, length: (slice.end - slice.start) as u32 });
    }
}
