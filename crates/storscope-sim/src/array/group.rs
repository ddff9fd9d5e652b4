//! A disk group at work: its layout, which drives have failed, and where their data is now.

use storscope_types::Bytes;
use storscope_types::design::{GroupDesign, Layout, ParityUpdate, ReadChoice};

use super::background::USUAL_CHUNK_BYTES;
use crate::kernel::Random;
use crate::layout::{Map, Piece, Place};

/// A group of drives.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Where data lies.
    pub map: Map,
    /// Index of its first drive in the array.
    pub first_drive: u32,
    /// Its drives without the spares.
    pub count: u32,
    /// Usable bytes of each drive.
    pub drive_size: u64,
    /// Which copy is read.
    pub read_choice: ReadChoice,
    /// Whether the nearest copy of what goes on where a drive was sent last is on that drive, also while the other is idle:
    /// so does Linux md with RAID 1 (drivers/md/raid1.c, `is_sequential` in `choose_best_rdev`), but not with RAID 10.
    pub keeps_streams: bool,
    /// How parity is updated.
    pub parity_update: ParityUpdate,
    /// Bytes of a journal entry; 0: none.
    pub journal_bytes: u32,
    /// Share of writes that need one.
    pub journal_share: f64,
    /// Whether any drive has failed.
    pub degraded: bool,
    /// Failed drives.
    pub dead: Vec<Dead>,
    /// Spares not in use, by index in the array.
    pub spares: Vec<u32>,
    distributed_from: Option<u64>,
    /// What is rebuilt to one drive before the next takes its turn, where the spare is distributed.
    run: u64,
    /// The copy that was read last, by the drive of the first one.
    turns: Box<[u8]>,
    /// What is destaged to one of its drives at a time, unless the design says how much in all.
    destages_per_drive: usize,
}

/// Destages per drive with an arm: enough to sort, and not so many that reads wait behind them. Flash takes as many as it
/// serves side by side.
const DESTAGES_PER_ARM: usize = 4;

/// A drive that has failed.
#[derive(Debug, Clone, Copy)]
pub struct Dead {
    /// Its place in the group.
    pub drive: u32,
    /// Where its data goes.
    pub spare: Spare,
    /// What lies below this offset has been rebuilt.
    pub rebuilt: u64,
    /// How many drives before it are rebuilt to the free parts of others.
    before: u64,
    /// Whether the rest cannot be rebuilt.
    pub is_given_up: bool,
}

impl Dead {
    /// Whether a rebuild has not put all of it elsewhere.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        self.rebuilt < u64::MAX
    }
}

/// Where the data of a failed drive goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spare {
    /// Nowhere: there is no spare.
    None,
    /// To another drive, by index in the array.
    Drive(u32),
    /// To the free parts of all others.
    Distributed,
}

impl Group {
    /// A group at work whose drives start at `first_drive`. Each serves `parallel` operations side by side.
    #[must_use]
    pub fn new(design: &GroupDesign, drive_size: Bytes, parallel: f64, first_drive: u32, seed: u64) -> Self {
        let kept = (drive_size.0 as f64 * (1.0 - design.spare_share)) as u64;
        let distributed = design.layout == Layout::Pool && design.spare_share > 0.0;
        let map = Map::new(design, drive_size, seed);
        Self {
            name: design.name.clone(),
            turns: vec![(map.copies() - 1) as u8; design.count as usize].into_boxed_slice(),
            map,
            first_drive,
            count: design.count,
            drive_size: drive_size.0,
            read_choice: design.read_choice.unwrap_or_default(),
            keeps_streams: design.layout == Layout::Raid1,
            parity_update: design.parity_update.unwrap_or_default(),
            journal_bytes: design.journal.map_or(0, |journal| journal.size.0 as u32),
            journal_share: design.journal.map_or(0.0, |journal| journal.share),
            degraded: false,
            dead: Vec::new(),
            spares: (0..design.spares).map(|spare| first_drive + design.count + spare).collect(),
            distributed_from: distributed.then_some(kept),
            run: run_of(design.segment.0, drive_size.0 - kept),
            destages_per_drive: DESTAGES_PER_ARM.max(parallel.ceil() as usize),
        }
    }

    /// What is destaged to all of its drives at a time, the spares included.
    #[must_use]
    pub fn destages(&self) -> usize {
        (self.count as usize + self.spares.len()) * self.destages_per_drive
    }

    /// The copy of a mirrored stripe whose turn it is. Each mirror has turns of its own: with common ones a sequential
    /// read over an even number of them would read the same copy of each forever.
    #[inline]
    pub fn next_copy(&mut self, stripe: u64) -> u64 {
        let next = self.copy_after(self.last_copy(stripe));
        self.chose_copy(stripe, next);
        u64::from(next)
    }

    /// The copy of a mirrored stripe that was read last.
    #[inline]
    #[must_use]
    pub fn last_copy(&self, stripe: u64) -> u8 {
        self.turns[self.map.place(stripe, 0).drive as usize]
    }

    /// The copy whose turn it is after another one.
    #[inline]
    #[must_use]
    pub fn copy_after(&self, copy: u8) -> u8 {
        after(copy, self.map.copies())
    }

    /// A copy is read, whosever turn it is.
    #[inline]
    pub fn chose_copy(&mut self, stripe: u64, copy: u8) {
        self.turns[self.map.place(stripe, 0).drive as usize] = copy;
    }

    /// Where the copy of a piece whose turn it is can be read now: [`Group::locate`] of [`Group::next_copy`], in one step
    /// where the copies lie side by side.
    #[inline]
    pub fn locate_next_copy(&mut self, piece: &Piece) -> Option<Place> {
        if self.degraded || !self.map.has_rows() {
            let position = self.next_copy(piece.stripe);
            return self.locate(piece.stripe, position, piece.start);
        }
        let first = self.map.place(piece.stripe, 0);
        let turn = &mut self.turns[first.drive as usize];
        *turn = after(*turn, self.map.copies());
        let drive = self.first_drive + first.drive + u32::from(*turn);
        Some(Place { drive, offset: first.offset + piece.start })
    }

    /// Where a position of a stripe can be read and written now, `start` bytes into the segment; nothing when it is
    /// lost. The drive's index is that of the array.
    #[inline]
    #[must_use]
    pub fn locate(&self, stripe: u64, position: u64, start: u64) -> Option<Place> {
        let place = self.map.place(stripe, position);
        let offset = place.offset + start;
        if self.degraded {
            return self.relocate(Place { drive: place.drive, offset });
        }
        Some(Place { drive: self.first_drive + place.drive, offset })
    }

    /// Whether more of a stripe is lost than its redundancy makes up for.
    #[must_use]
    pub fn has_lost(&self, stripe: u64) -> bool {
        let dead = (0..self.map.width()).filter(|&position| self.locate(stripe, position, 0).is_none()).count();
        dead as u64 > self.map.tolerance()
    }

    /// Where what lay at a place of the group is now.
    fn relocate(&self, place: Place) -> Option<Place> {
        let Some(dead) = self.dead.iter().find(|dead| dead.drive == place.drive) else {
            return Some(Place { drive: self.first_drive + place.drive, offset: place.offset });
        };
        if place.offset < dead.rebuilt { self.spare_place(dead, place.offset) } else { None }
    }

    /// Where the data at an offset of a failed drive is rebuilt to.
    #[must_use]
    pub fn spare_place(&self, dead: &Dead, offset: u64) -> Option<Place> {
        match dead.spare {
            Spare::None => None,
            Spare::Drive(drive) => Some(Place { drive, offset }),
            Spare::Distributed => self.distributed_place(dead, offset),
        }
    }

    /// A place in the free part of another drive: run after run the next drive, so that what is rebuilt together is written
    /// together, and all drives get as much. Where one has failed, another that works is drawn.
    ///
    /// Ignored: neighbours of the stripe are not avoided, and what was rebuilt to a drive that fails later counts as being on
    /// another one at once. Both matter for safety, not for speed.
    fn distributed_place(&self, dead: &Dead, offset: u64) -> Option<Place> {
        let from = self.distributed_from?;
        let (count, others) = (u64::from(self.count), u64::from(self.count) - 1);
        let (run, within) = (offset / self.run, offset % self.run);
        let works = |drive: &u32| self.dead.iter().all(|dead| dead.drive != *drive);
        let mut drive = ((u64::from(dead.drive) + 1 + run % others.max(1)) % count) as u32;
        if !works(&drive) {
            (0..self.count).find(works)?;
            let mut random = Random::new(u64::from(dead.drive) << 40 | run, 1);
            drive = std::iter::repeat_with(|| random.below(count) as u32).find(works)?;
        }
        let runs = self.map.used_of_drive().div_ceil(self.run).div_ceil(others.max(1));
        let slot = (dead.before * runs + run / others.max(1)) % ((self.drive_size - from) / self.run).max(1);
        let offset = from + slot * self.run + within;
        Some(Place { drive: self.first_drive + drive, offset: offset.min(self.drive_size - self.map.segment()) })
    }

    /// Whether the free parts of the drives that are left hold what another one that fails kept, and those before it.
    fn has_room_for_another(&self, kept: u64) -> bool {
        let rebuilt = self.dead.iter().filter(|dead| dead.spare == Spare::Distributed).count() as u64 + 1;
        let left = u64::from(self.count) - self.dead.len() as u64 - 1;
        left * (self.drive_size - kept) >= rebuilt * kept
    }

    /// A drive fails. Returns whether its data can be rebuilt somewhere.
    pub fn fail(&mut self, drive: u32) -> bool {
        if self.dead.iter().any(|dead| dead.drive == drive) {
            return false;
        }
        let spare = match (self.distributed_from, self.spares.is_empty()) {
            (Some(kept), _) if self.has_room_for_another(kept) => Spare::Distributed,
            (None, false) => Spare::Drive(self.spares.remove(0)),
            _ => Spare::None,
        };
        let before = self.dead.iter().filter(|dead| dead.spare == Spare::Distributed).count() as u64;
        self.dead.push(Dead { drive, spare, rebuilt: 0, before, is_given_up: false });
        self.degraded = true;
        spare != Spare::None
    }
}

/// The copy whose turn it is after one of so many.
#[inline]
fn after(copy: u8, copies: u64) -> u8 {
    if u64::from(copy) + 1 < copies { copy + 1 } else { 0 }
}

/// Whole segments in the free part of a drive that are written in a row: a chunk of a rebuild, if there is as much room.
fn run_of(segment: u64, free: u64) -> u64 {
    (USUAL_CHUNK_BYTES.min(free) / segment).max(1) * segment
}
