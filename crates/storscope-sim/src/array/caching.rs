//! Reads and writes of hosts through the array's memory, and reading ahead.

use super::Array;
use super::account::Part;
use super::job::{Job, Kind, Stage};
use super::memory::Memory;
use crate::cache::{Ahead, State};
use crate::kernel::NONE;

/// What memory says about a read.
enum Lookup {
    Hit,
    Miss,
    /// This page is being loaded.
    Coming(u32),
}

impl Array {
    /// A host's read: from memory, from what is being read ahead, or from the drives.
    pub(super) fn read_cached(&mut self, place: u32) {
        let job = &self.jobs[place];
        let (group, offset, length) = (job.group, job.offset, u64::from(job.length));
        let Some(memory) = &mut self.cache else { return self.read(place) };
        let lookup = match memory.hit_ratio {
            Some(ratio) if self.random.happens(ratio) => Lookup::Hit,
            _ => look_up(memory, group, offset, length),
        };
        let ahead = self.follow_stream(place, offset, length);
        match lookup {
            Lookup::Hit => self.hit(place, false),
            Lookup::Miss => self.miss(place),
            Lookup::Coming(page) => self.wait_for_page(place, page),
        }
        if let Some(ahead) = ahead {
            self.read_ahead(group, ahead);
        }
    }

    fn hit(&mut self, place: u32, waited: bool) {
        if let Some(memory) = &mut self.cache {
            memory.totals.reads += 1;
            memory.totals.read_hits += 1;
            memory.totals.read_ahead_waits += u64::from(waited);
        }
        self.answer(place);
    }

    fn miss(&mut self, place: u32) {
        if let Some(memory) = &mut self.cache {
            memory.totals.reads += 1;
        }
        self.read(place);
    }

    #[inline]
    fn follow_stream(&mut self, place: u32, offset: u64, length: u64) -> Option<Ahead> {
        if self.cache.as_ref().is_none_or(|memory| memory.streams.is_empty()) {
            return None;
        }
        let volume = usize::from(self.targets[usize::from(self.jobs[place].account)].volume);
        let memory = self.cache.as_mut()?;
        let ahead = memory.streams.get_mut(volume)?.read(offset, offset + length)?;
        let end = self.volumes[volume].start + self.volumes[volume].size;
        (ahead.start < end).then_some(Ahead { start: ahead.start, end: ahead.end.min(end) })
    }

    fn wait_for_page(&mut self, place: u32, page: u32) {
        let Some(memory) = &mut self.cache else { return };
        let job = &mut self.jobs[place];
        (job.stage, job.mark) = (Stage::WaitsForPage, self.now);
        job.next = std::mem::replace(&mut memory.directory.page_mut(page).waiting, place);
    }

    /// Reads ahead in one go, as far as there is memory for it.
    fn read_ahead(&mut self, group: u16, ahead: Ahead) {
        let Some(memory) = &mut self.cache else { return };
        let length = ahead.end - ahead.start;
        let pages = memory.directory.pages_of(ahead.start, length);
        let count = (pages.end - pages.start) as usize;
        memory.make_room(count);
        if memory.clean + count > memory.clean_limit {
            return;
        }
        for page in pages {
            let key = Memory::key(group, page);
            if memory.directory.find(key).is_none() && memory.directory.add(key, State::Loading).is_some() {
                memory.clean += 1;
            }
        }
        memory.totals.read_ahead_bytes += length;
        let mut job = Job::new(Kind::Prefetch, false, self.own_account(), group, ahead.start, length as u32, self.now);
        job.owner = self.owner_at(group, ahead.start);
        let place = self.jobs.insert(job);
        self.read(place);
    }

    /// What was read ahead is there, unless it is lost: who waits for it looks again.
    pub(super) fn prefetch_done(&mut self, place: u32) {
        let job = self.jobs[place];
        self.jobs.remove(place);
        let Some(memory) = &mut self.cache else { return };
        let mut woken = NONE;
        for page in memory.directory.pages_of(job.offset, u64::from(job.length)) {
            let Some(at) = memory.directory.find(Memory::key(job.group, page)) else { continue };
            if !job.lost {
                let units = memory.directory.units(page, job.offset, u64::from(job.length));
                memory.directory.page_mut(at).valid |= units;
            }
            if memory.directory.page(at).state() == State::Loading {
                memory.directory.push_clean(at);
            }
            woken = join(&mut self.jobs, std::mem::replace(&mut memory.directory.page_mut(at).waiting, NONE), woken);
        }
        while woken != NONE {
            let waiter = woken;
            woken = self.jobs[waiter].next;
            self.look_again(waiter);
        }
    }

    fn look_again(&mut self, place: u32) {
        let job = &self.jobs[place];
        let (group, offset, length, since) = (job.group, job.offset, u64::from(job.length), job.mark);
        self.spend(place, Part::CacheWait, self.now - since);
        let Some(memory) = &mut self.cache else { return };
        match look_up(memory, group, offset, length) {
            Lookup::Hit => self.hit(place, true),
            Lookup::Miss => self.miss(place),
            Lookup::Coming(page) => self.wait_for_page(place, page),
        }
    }

    /// A read that missed stays in memory.
    pub(super) fn keep_read(&mut self, place: u32) {
        let job = &self.jobs[place];
        let (group, offset, length) = (job.group, job.offset, u64::from(job.length));
        if let Some(memory) = &mut self.cache {
            memory.keep(group, offset, length);
        }
    }

    /// A host's write: into memory if it may, else through to the drives.
    pub(super) fn write_cached(&mut self, place: u32) {
        let job = &self.jobs[place];
        let (group, offset, length) = (job.group, job.offset, u64::from(job.length));
        let allowed = self.may_write_back(place);
        let Some(memory) = &mut self.cache else { return self.write(place) };
        // What does not fit into a quarter of the memory is better off on the drives.
        if !allowed || length.div_ceil(memory.directory.page_bytes()) as usize > memory.dirty_limit / 4 {
            memory.totals.writes_through += 1;
            return self.write(place);
        }
        if memory.waiting.0 != NONE || !memory.has_room(group, offset, length) {
            memory.totals.full_waits += 1;
            return self.wait_for_room(place);
        }
        self.accept(place);
        self.destage();
    }

    pub(super) fn may_write_back(&self, place: u32) -> bool {
        let job = &self.jobs[place];
        let volume = &self.volumes[usize::from(self.targets[usize::from(job.account)].volume)];
        let lost = self.controllers.get(usize::from(job.owner)).is_some_and(|controller| controller.cache_lost);
        volume.write_back && !lost
    }

    fn wait_for_room(&mut self, place: u32) {
        let Some(memory) = &mut self.cache else { return };
        let job = &mut self.jobs[place];
        (job.stage, job.mark, job.next) = (Stage::WaitsForRoom, self.now, NONE);
        match memory.waiting.1 {
            NONE => memory.waiting.0 = place,
            last => self.jobs[last].next = place,
        }
        memory.waiting.1 = place;
        self.destage();
    }

    /// The data goes into memory, and to the other controller if it is mirrored; then the host has its answer.
    fn accept(&mut self, place: u32) {
        let job = &self.jobs[place];
        let (group, offset, length, owner) = (job.group, job.offset, u64::from(job.length), job.owner);
        let Some(memory) = &mut self.cache else { return };
        memory.put(group, offset, length);
        if memory.exposing && self.controllers[usize::from(owner)].cache_lost {
            // It waited for room when the cache was lost.
            memory.directory.pages_of(offset, length).for_each(|page| memory.expose_page(Memory::key(group, page)));
        }
        let is_mirrored = memory.mirrored;
        match self.way_of_copies(owner) {
            Some(link) if is_mirrored => self.cross(place, link, length, Part::MirrorLink, Stage::Mirrored),
            _ => self.answer(place),
        }
    }

    /// Lets those in who wait for room, in turn.
    pub(super) fn let_in(&mut self) {
        while let Some(memory) = &mut self.cache {
            let place = memory.waiting.0;
            if place == NONE {
                return;
            }
            let job = &self.jobs[place];
            if !memory.has_room(job.group, job.offset, u64::from(job.length)) {
                return;
            }
            memory.waiting.0 = job.next;
            if job.next == NONE {
                memory.waiting.1 = NONE;
            }
            let waited = self.now - job.mark;
            self.spend(place, Part::CacheWait, waited);
            self.accept(place);
        }
    }

    /// The account of what the array does by itself.
    pub(super) fn own_account(&self) -> u16 {
        (self.accounts.len() - 1) as u16
    }

    /// The controller of the volume at an offset of a group's space; where none is, the first that works.
    pub(super) fn owner_at(&self, group: u16, offset: u64) -> u16 {
        if self.controllers.len() < 2 {
            return 0;
        }
        let owner = owner_of(&self.volumes, group, offset);
        if self.controllers[usize::from(owner)].failed { self.next_working(owner).unwrap_or(owner) } else { owner }
    }
}

/// The controller of that of these volumes which lies at an offset of a group's space.
pub(super) fn owner_of(volumes: &[super::Volume], group: u16, offset: u64) -> u16 {
    volumes.iter().find(|volume| volume.holds(group, offset)).map_or(0, |volume| volume.owner)
}

/// Whether all of a read is in memory.
#[inline]
fn look_up(memory: &mut Memory, group: u16, offset: u64, length: u64) -> Lookup {
    let pages = memory.directory.pages_of(offset, length);
    let mut coming = None;
    for page in pages.clone() {
        let Some(place) = memory.directory.find(Memory::key(group, page)) else { return Lookup::Miss };
        let found = memory.directory.page(place);
        if found.state() == State::Loading {
            coming = Some(place);
        } else if memory.directory.units(page, offset, length) & !found.valid != 0 {
            return Lookup::Miss;
        }
    }
    if let Some(page) = coming {
        return Lookup::Coming(page);
    }
    for page in pages {
        if let Some(place) = memory.directory.find(Memory::key(group, page))
            && memory.directory.page(place).state() == State::Clean
        {
            memory.directory.touch(place);
        }
    }
    Lookup::Hit
}

/// Puts a list of waiting jobs, last come first, before another in the order they came.
fn join(jobs: &mut crate::kernel::Slab<Job>, mut list: u32, mut rest: u32) -> u32 {
    while list != NONE {
        let next = jobs[list].next;
        jobs[list].next = rest;
        (rest, list) = (list, next);
    }
    rest
}
