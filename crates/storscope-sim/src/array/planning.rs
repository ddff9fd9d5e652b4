//! What the layout asks of the drives: reads, copies, stripes with parity, and what is lost.

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::ReadChoice;

use super::Array;
use super::account::Part;
use super::drive_station::DriveStation;
use super::group::Group;
use super::issue::{PlannedOp, join};
use super::job::{Job, Kind, Stage};
use crate::layout::{Map, Piece, Place, Slice, Update};

impl Array {
    /// Reads what a job asks for from the drives.
    #[inline]
    pub(super) fn read(&mut self, place: u32) {
        let (group, offset, length) = self.extent(place);
        let first = self.groups[group].map.first_piece(offset, length);
        if first.length < length {
            self.plan_reads(place, group, offset, length);
        } else if let Some(at) = self.place_to_read(group, &first) {
            let op = PlannedOp { place: at, length: length as u32 };
            return self.issue_one(place, Direction::Read, Stage::Reading, op);
        } else {
            self.plan_recovery(place, group, &first);
        }
        self.issue(place, Direction::Read, Stage::Reading);
    }

    /// Where a piece is read; nothing when that is lost.
    #[inline]
    fn place_to_read(&mut self, index: usize, piece: &Piece) -> Option<Place> {
        let group = &mut self.groups[index];
        if group.map.copies() > 1 && group.read_choice == ReadChoice::RoundRobin {
            return group.locate_next_copy(piece);
        }
        let position = self.position_to_read(index, piece);
        self.groups[index].locate(piece.stripe, position, piece.start)
    }

    /// Reads of what spans segments. What adjoins on a drive is one operation; of mirrors it is read from one copy.
    fn plan_reads(&mut self, place: u32, group: usize, offset: u64, length: u64) {
        let mut at = 0;
        while at < length {
            let piece = self.groups[group].map.first_piece(offset + at, length - at);
            let position = match self.copy_read_before(group, &piece) {
                Some(position) => position,
                None => self.position_to_read(group, &piece),
            };
            self.plan_read_at(place, group, piece, position);
            at += piece.length;
        }
        join(&mut self.plan);
    }

    /// The copy that goes on where an operation that is planned already ends.
    fn copy_read_before(&self, index: usize, piece: &Piece) -> Option<u64> {
        let group = &self.groups[index];
        if group.map.copies() == 1 {
            return None;
        }
        let before = self.plan.len().checked_sub(group.map.neighbour()?)?;
        let end = self.plan.get(before)?.end();
        (0..group.map.copies()).find(|&position| group.locate(piece.stripe, position, piece.start) == Some(end))
    }

    #[inline]
    pub(super) fn extent(&self, place: u32) -> (usize, u64, u64) {
        let job = &self.jobs[place];
        (usize::from(job.group), job.offset, u64::from(job.length))
    }

    #[inline]
    fn plan_read_at(&mut self, place: u32, group: usize, piece: Piece, position: u64) {
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
            ReadChoice::RoundRobin => group.next_copy(piece.stripe),
            ReadChoice::Primary => 0,
            ReadChoice::ShortestQueue => self.shortest_queue(index, piece),
            ReadChoice::Nearest => self.nearest(index, piece),
        }
    }

    /// The copy on the drive with fewer requests. Of queues as short it is the one that goes on where the drive was sent last,
    /// as ZFS has it (`vdev_mirror_load` in vdev_mirror.c counts that for less than a seek): in turn, both drives would pass
    /// over what the other reads.
    fn shortest_queue(&mut self, index: usize, piece: &Piece) -> u64 {
        self.copy_of_least(index, piece, |drive, place| {
            2 * u64::from(drive.present()) + u64::from(drive.last_end() != place.offset)
        })
    }

    /// The copy whose drive was sent to a place nearer by. One with nothing to do counts as being there already, before it
    /// one that is: a stream stays on a drive instead of having both pass over what the other reads. With a [sequential
    /// reader that stays](Group::keeps_streams) it does so also where that drive is busy and the other is not.
    fn nearest(&mut self, index: usize, piece: &Piece) -> u64 {
        let keeps_streams = self.groups[index].keeps_streams;
        self.copy_of_least(index, piece, |drive, place| {
            let (is_idle, goes_on) = (drive.present() == 0, drive.last_end() == place.offset);
            match (is_idle, goes_on) {
                (_, true) if is_idle || keeps_streams => 0,
                (true, _) => 1,
                (false, _) => 1 + drive.last_offset().abs_diff(place.offset),
            }
        })
    }

    /// The copy of which something is least. Of those alike it is the one whose turn it is: after a write all drives are at
    /// the same place, and with the first of them a load with writes would read nearly all there.
    fn copy_of_least(&mut self, index: usize, piece: &Piece, what: impl Fn(&DriveStation, Place) -> u64) -> u64 {
        let group = &self.groups[index];
        let of = |position: u8| {
            let place = group.locate(piece.stripe, position.into(), piece.start);
            place.map_or(u64::MAX, |place| what(&self.drives[place.drive as usize], place))
        };
        let mut chosen = group.copy_after(group.last_copy(piece.stripe));
        let (mut least, mut next) = (of(chosen), chosen);
        for _ in 1..group.map.copies() {
            next = group.copy_after(next);
            let other = of(next);
            if other < least {
                (least, chosen) = (other, next);
            }
        }
        self.groups[index].chose_copy(piece.stripe, chosen);
        u64::from(chosen)
    }

    /// A piece whose place is lost: another copy, or enough of the stripe to compute it.
    fn plan_recovery(&mut self, place: u32, group: usize, piece: &Piece) {
        let group = &self.groups[group];
        let map = &group.map;
        let mut missing = if map.copies() > 1 { 1 } else { map.data() };
        for position in map.recovery_order(piece.stripe) {
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
        let (group, offset, length) = self.extent(place);
        let mut piece = self.groups[group].map.first_piece(offset, length);
        self.plan_copies_of(place, group, &piece);
        let mut at = piece.length;
        if at == length {
            return;
        }
        while at < length {
            piece = self.groups[group].map.first_piece(offset + at, length - at);
            self.plan_copies_of(place, group, &piece);
            at += piece.length;
        }
        join(&mut self.plan);
    }

    #[inline]
    fn plan_copies_of(&mut self, place: u32, group: usize, piece: &Piece) {
        let group = &self.groups[group];
        let before = self.plan.len();
        for position in piece.index..piece.index + group.map.copies() {
            if let Some(at) = group.locate(piece.stripe, position, piece.start) {
                self.plan.push(PlannedOp { place: at, length: piece.length as u32 });
            }
        }
        if self.plan.len() == before {
            self.jobs[place].lost = true;
        }
    }

    /// Makes a job of each stripe that is written in part, and one of all full stripes between.
    fn write_stripes(&mut self, place: u32, group: usize, offset: u64, length: u64) {
        let (count, ends) = parts_of_stripes(&self.groups[group].map, offset, offset + length);
        let now = self.now;
        let job = &mut self.jobs[place];
        job.stage = Stage::WaitsForStripes;
        (job.pending, job.ops, job.mark, job.response) = (count, count, now, Nanos::ZERO);
        let (account, owner) = (job.account, job.owner);
        let mut start = offset;
        for &end in &ends[..count as usize] {
            let part = self.jobs.insert_with(|| {
                let part = Job::new(Kind::Stripe, true, account, group as u16, start, (end - start) as u32, now);
                Job { token: place, siblings: count, owner, ..part }
            });
            self.write_stripe(part);
            start = end;
        }
    }

    /// Begins the write of one stripe, or of several full ones, with what has to be read for it.
    fn write_stripe(&mut self, place: u32) {
        let (index, update) = self.update_of(place);
        let group = &self.groups[index];
        let alive = |position| group.locate(update.stripe, position, 0).is_some();
        let kind = if group.degraded {
            update.choose(&group.map, group.parity_update, alive)
        } else {
            update.choose_intact(&group.map, group.parity_update)
        };
        let plan = &mut self.plan;
        update.reads(&group.map, kind, alive, |slice| plan_slice(group, &update, slice, plan));
        let job = &mut self.jobs[place];
        job.extra = update.parity_bytes(&group.map, kind);
        if group.degraded {
            job.lost |= update.stripes(&group.map).any(|stripe| group.has_lost(stripe));
        }
        self.issue(place, Direction::Read, Stage::ReadingOld);
    }

    fn update_of(&self, place: u32) -> (usize, Update) {
        let (group, offset, length) = self.extent(place);
        let (stripe, start) = self.groups[group].map.stripe_at(offset);
        (group, Update { stripe, start, end: start + length })
    }

    /// Data and parity of a stripe, or of several full ones: then what adjoins on a drive is one operation.
    pub(super) fn plan_stripe(&mut self, place: u32) {
        let (index, update) = self.update_of(place);
        let group = &self.groups[index];
        let plan = &mut self.plan;
        if update.end <= group.map.stripe_bytes() {
            return plan_update(group, &update, plan);
        }
        for stripe in update.stripes(&group.map) {
            plan_update(group, &Update { stripe, start: 0, end: group.map.stripe_bytes() }, plan);
        }
        join(plan);
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

/// Where the parts of a write to stripes end, and how many there are: a partly written stripe, full ones, and another
/// partly written one.
#[inline]
fn parts_of_stripes(map: &Map, offset: u64, end: u64) -> (u32, [u64; 3]) {
    let stripe_bytes = map.stripe_bytes();
    let (mut count, mut ends, mut at) = (0, [0; 3], offset);
    while at < end {
        let (_, within) = map.stripe_at(at);
        let full = if within == 0 && end - at >= stripe_bytes { (end - at) / stripe_bytes } else { 0 };
        at = if full > 0 { at + full * stripe_bytes } else { end.min(at - within + stripe_bytes) };
        ends[count as usize] = at;
        count += 1;
    }
    (count, ends)
}

#[inline]
fn plan_update(group: &Group, update: &Update, plan: &mut Vec<PlannedOp>) {
    update.new_data(&group.map, |slice| plan_slice(group, update, slice, plan));
    update.parity(&group.map, |slice| plan_slice(group, update, slice, plan));
}

#[inline]
fn plan_slice(group: &Group, update: &Update, slice: Slice, plan: &mut Vec<PlannedOp>) {
    if let Some(place) = group.locate(update.stripe, slice.position, slice.start) {
        plan.push(PlannedOp { place, length: (slice.end - slice.start) as u32 });
    }
}
