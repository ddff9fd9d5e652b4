//! A host's flash read cache in front of a volume.
//!
//! A read is answered from flash when all it asks for is there. Other reads go to the array and fill the flash afterwards,
//! which keeps it busy but nobody waiting except the reads behind. Writes go through, and to the flash as well.
//!
//! What another host writes is not valid any more, from its answer on: a cache of a shared volume has to be told, or it
//! would answer with old data. The message takes no time here.
//!
//! Requests are served side by side as far as the flash does, and then share one path for their bytes.
//!
//! What a host loses with its flash is only in the way of reads: writes went through. Until it is back, all of them go to the
//! array, and then it is empty. A read that the flash has begun to answer it still answers.
//!
//! A block takes its room as a whole, but what of it is there is known in 32 parts: a read smaller than a block is kept
//! as it is, and nothing more is read from the array for it. So does Linux bcache, which keeps extents of sectors in
//! write-through mode (Documentation/admin-guide/bcache.rst). Others differ: dm-cache copies whole blocks when it promotes
//! them (Documentation/admin-guide/device-mapper/cache.rst), flashcache leaves out what is smaller than a block.

use storscope_types::Nanos;
use storscope_types::design::FlashCacheDesign;

use super::Array;
use super::account::Part;
use super::controller::Link;
use super::happening::{NoEffect, What};
use super::job::Stage;
use super::report::FlashReport;
use super::target::Target;
use crate::cache::{Directory, State};
use crate::kernel::NONE;

/// The flash of an attachment.
#[derive(Debug, Clone)]
pub struct Flash {
    directory: Directory,
    station: u16,
    read: Nanos,
    write: Nanos,
    /// The way of all bytes, if it has a limit.
    transfers: Option<Link>,
    /// Whether it is gone.
    is_lost: bool,
    /// Reads, and those answered from flash.
    pub reads: u64,
    /// See `reads`.
    pub hits: u64,
    /// Blocks that others have written anew.
    outdated: u64,
}

impl Flash {
    /// Empty flash with stations that are already there.
    #[must_use]
    pub fn new(design: &FlashCacheDesign, station: u16, transfers: Option<Link>) -> Self {
        Self {
            directory: Directory::new((design.size.0 / design.block.0) as usize, design.block.0, 1),
            station,
            read: design.read,
            write: design.write,
            transfers,
            is_lost: false,
            reads: 0,
            hits: 0,
            outdated: 0,
        }
    }

    /// What it has done, and how full it is.
    #[must_use]
    pub fn report(&self) -> FlashReport {
        FlashReport {
            reads: self.reads,
            hits: self.hits,
            used_blocks: self.directory.used() as u64,
            blocks: self.directory.room() as u64,
            outdated_blocks: self.outdated,
            block_bytes: self.directory.page_bytes(),
            is_lost: self.is_lost,
        }
    }

    /// It is gone with what it held, or back.
    fn lose(&mut self, lost: bool) {
        self.is_lost = lost;
        self.directory.forget_clean(|_| true);
    }

    fn hit(&mut self, offset: u64, length: u64) -> bool {
        self.reads += 1;
        let pages = self.directory.pages_of(offset, length);
        let is_there = |page: u64| {
            let place = self.directory.find(page)?;
            Some(self.directory.units(page, offset, length) & !self.directory.page(place).valid == 0)
        };
        let hit = pages.clone().all(|page| is_there(page) == Some(true));
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
    fn keep(&mut self, offset: u64, length: u64) -> bool {
        if self.is_lost {
            return false;
        }
        let mut kept = false;
        for page in self.directory.pages_of(offset, length) {
            let units = self.directory.whole_units(page, offset, length);
            let place = match self.directory.find(page) {
                Some(place) => {
                    self.directory.touch(place);
                    Some(place)
                }
                None if units != 0 => self.new_block(page),
                None => None,
            };
            let Some(place) = place else { continue };
            self.directory.page_mut(place).valid |= units;
            kept = true;
        }
        kept
    }

    /// What another host has written is no longer as it is here.
    fn outdate(&mut self, offset: u64, length: u64) {
        for page in self.directory.pages_of(offset, length) {
            let Some(place) = self.directory.find(page) else { continue };
            let old = self.directory.units(page, offset, length);
            self.directory.page_mut(place).valid &= !old;
            if self.directory.page(place).valid == 0 {
                self.directory.unlink(place);
                self.directory.forget(place);
                self.outdated += 1;
            }
        }
    }

    fn new_block(&mut self, page: u64) -> Option<u32> {
        let place = self.directory.add(page, State::Clean)?;
        self.directory.push_clean(place);
        Some(place)
    }
}

impl Array {
    /// Whether the flash of the target answers a job.
    pub(super) fn answered_by_flash(&mut self, place: u32) -> bool {
        let job = &self.jobs[place];
        let target = &mut self.targets[usize::from(job.account)];
        let (offset, length) = (job.offset - self.volumes[usize::from(target.volume)].start, u64::from(job.length));
        let Some(flash) = &mut target.flash else { return false };
        if job.write || !flash.hit(offset, length) {
            return false;
        }
        let (station, service) = (flash.station, flash.read);
        self.jobs[place].stage = if flash.transfers.is_some() { Stage::FlashRead } else { Stage::FlashHit };
        self.jobs[place].from_flash = true;
        let wait = self.visit(place, station, service);
        self.spend(place, Part::HostFlash, wait + service);
        true
    }

    /// What the flash has found goes to the host.
    pub(super) fn transfer_from_flash(&mut self, place: u32) {
        let job = &self.jobs[place];
        let (target, length) = (&self.targets[usize::from(job.account)], u64::from(job.length));
        match target.flash.as_ref().and_then(|flash| flash.transfers) {
            Some(link) => self.cross(place, link, length, Part::HostFlash, Stage::FlashHit),
            None => self.finish(place),
        }
    }

    /// The flash caches of a host are gone, or back.
    pub(super) fn lose_flash_of(&mut self, host: &str, lost: bool) {
        let of_host = |target: &&mut Target| target.host == host;
        let mut flash = self.targets.iter_mut().filter(of_host).filter_map(|target| target.flash.as_mut());
        let is_so = flash.all(|flash| flash.is_lost == lost);
        let (host_name, reason) = (host.to_owned(), is_so.then_some(NoEffect::AlreadySo));
        let what =
            if lost { What::FlashCacheLost { host: host_name } } else { What::FlashCacheRestored { host: host_name } };
        self.happened(true, what, reason);
        if !is_so {
            let flash = self.targets.iter_mut().filter(of_host).filter_map(|target| target.flash.as_mut());
            flash.for_each(|flash| flash.lose(lost));
        }
    }

    /// What a host wrote is no longer valid in the flash of others.
    pub(super) fn outdate_flash_elsewhere(&mut self, place: u32) {
        let job = &self.jobs[place];
        if !job.write {
            return;
        }
        let index = usize::from(job.account);
        let offset = job.offset - self.volumes[usize::from(self.targets[index].volume)].start;
        for at in 0..self.targets[index].flash_elsewhere.len() {
            let other = usize::from(self.targets[index].flash_elsewhere[at]);
            if let Some(flash) = &mut self.targets[other].flash {
                flash.outdate(offset, u64::from(job.length));
            }
        }
    }

    /// Puts what was read or written through to flash.
    pub(super) fn fill_flash(&mut self, place: u32) {
        let job = &self.jobs[place];
        if job.from_flash || job.lost {
            return;
        }
        let target = &mut self.targets[usize::from(job.account)];
        let (offset, length) = (job.offset - self.volumes[usize::from(target.volume)].start, u64::from(job.length));
        let Some(flash) = &mut target.flash else { return };
        if flash.keep(offset, length) {
            let (station, service, transfers) = (flash.station, flash.write, flash.transfers);
            self.visit(NONE, station, service);
            if let Some(link) = transfers {
                self.visit(NONE, link.station, link.transfer.of(length));
            }
        }
    }
}
