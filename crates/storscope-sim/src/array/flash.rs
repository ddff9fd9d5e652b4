//! A host's flash read cache in front of a volume.
//!
//! A read is answered from flash when all blocks it touches are there. Other reads go to the array and fill the flash
//! afterwards, which keeps it busy but nobody waiting except the reads behind. Writes go through: blocks they cover are
//! written to flash too, blocks they touch in part are dropped.

use storscope_types::Nanos;
use storscope_types::design::FlashCacheDesign;

use super::Array;
use super::account::Part;
use super::controller::Cost;
use super::job::Stage;
use crate::cache::{Directory, State};
use crate::kernel::NONE;

/// The flash of an attachment.
#[derive(Debug, Clone)]
pub struct Flash {
    directory: Directory,
    station: u16,
    read: Cost,
    write: Cost,
    /// Reads, and those answered from flash.
    pub reads: u64,
    /// See `reads`.
    pub hits: u64,
}

impl Flash {
    /// Empty flash with a station that is already there.
    #[must_use]
    pub fn new(design: &FlashCacheDesign, station: u16) -> Self {
        let per_kib_ns = design.bandwidth_bytes_per_s.map_or(0.0, |bandwidth| 1_024e9 / bandwidth);
        Self {
            directory: Directory::new((design.size.0 / design.block.0) as usize, design.block.0),
            station,
            read: Cost::new(design.read.0 as f64, per_kib_ns),
            write: Cost::new(design.write.0 as f64, per_kib_ns),
            reads: 0,
            hits: 0,
        }
    }

    fn hit(&mut self, offset: u64, length: u64) -> bool {
        self.reads += 1;
        let pages = self.directory.pages_of(offset, length);
        let hit = pages.clone().all(|page| self.directory.find(page).is_some());
        if hit {
            self.hits += 1;
            pages.for_each(|page| {
                if let Some(place) = self.directory.find(page) {
                    self.directory.touch(place);
                }
            });
        }
        hit
    }

    /// Keeps what was read or written. Returns whether anything was put there.
    fn keep(&mut self, offset: u64, length: u64, write: bool) -> bool {
        let mut kept = false;
        for page in self.directory.pages_of(offset, length) {
            let whole = self.directory.units(page, offset, length) == u32::MAX;
            match self.directory.find(page) {
                Some(place) if write && !whole => {
                    self.directory.unlink(place);
                    self.directory.forget(place);
                }
                Some(place) => self.directory.touch(place),
                None if whole => {
                    if let Some(place) = self.directory.add(page, State::Clean) {
                        self.directory.push_clean(place);
                    }
                }
                None => continue,
            }
            kept |= whole;
        }
        kept
    }
}

impl Array {
    /// Whether the flash of the target answers a job.
    pub(super) fn answered_by_flash(&mut self, place: u32) -> bool {
        let job = &self.jobs[place];
        let (offset, length) = (job.offset, u64::from(job.length));
        let Some(flash) = &mut self.targets[usize::from(job.account)].flash else { return false };
        if job.write || !flash.hit(offset, length) {
            return false;
        }
        let (station, service) = (usize::from(flash.station), flash.read.of(length));
        self.jobs[place].stage = Stage::FlashHit;
        self.jobs[place].from_flash = true;
        let wait = self.use_flash(station, place, service);
        self.spend(place, Part::HostFlash, wait + service);
        true
    }

    /// Puts what was read or written through to flash.
    pub(super) fn fill_flash(&mut self, place: u32) {
        let job = &self.jobs[place];
        if job.from_flash || job.lost {
            return;
        }
        let (offset, length) = (job.offset, u64::from(job.length));
        let Some(flash) = &mut self.targets[usize::from(job.account)].flash else { return };
        if flash.keep(offset, length, job.write) {
            let (station, service) = (usize::from(flash.station), flash.write.of(length));
            self.use_flash(station, NONE, service);
        }
    }

    fn use_flash(&mut self, station: usize, job: u32, service: Nanos) -> Nanos {
        let departure = self.stations[station].arrive(self.now, job, service);
        if departure.is_next {
            self.late_tree.set(station, self.stations[station].next_event());
        }
        departure.wait
    }
}
