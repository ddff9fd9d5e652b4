//! The array's memory: how much of it is dirty, who waits for room, and what it has done.

use std::collections::VecDeque;

use serde::Serialize;
use storscope_types::design::{ArrayDesign, CacheDesign, DestageOrder, Placement};

use super::Volume;
use super::group::Group;
use super::sharing::Sharing;
use crate::cache::{Directory, Elevator, Page, State, Streams};
use crate::kernel::{Divisor, NONE};

/// The cache of the array.
#[derive(Debug, Clone)]
pub struct Memory {
    /// The pages.
    pub directory: Directory,
    elevator: Elevator,
    /// Most dirty pages; 0: writes go through.
    pub dirty_limit: usize,
    /// Most clean pages, those being loaded included.
    pub clean_limit: usize,
    /// Pages that are dirty or being destaged.
    pub dirty: usize,
    /// Clean pages, and those being loaded.
    pub clean: usize,
    /// Pages of all controllers: most dirty and most clean ones.
    of_all: (usize, usize),
    watermarks: (f64, f64),
    low: usize,
    /// From the low watermark to the high one.
    range: Divisor,
    /// Destages under way.
    pub sharing: Sharing,
    most_destages: usize,
    /// Whether everything dirty is to be destaged, whatever the watermarks say.
    pub flushing: bool,
    /// Whether what is dirty of some volumes alone is, since their controller lost its cache and others have theirs.
    pub exposing: bool,
    /// Keys of these pages by group, what was dirty longest first. Some may have gone to the drives with others.
    exposed: Vec<VecDeque<u64>>,
    /// Whether a copy of each write goes to the other controller.
    pub mirrored: bool,
    /// Where destaged data goes.
    pub placement: Placement,
    /// The next stripe of the log, for each group.
    pub log_head: Vec<u64>,
    /// Share of reads that hit, where that is given.
    pub hit_ratio: Option<f64>,
    /// Streams of each volume; empty without prefetch.
    pub streams: Vec<Streams>,
    /// First and last of the jobs that wait for room.
    pub waiting: (u32, u32),
    /// What it has done.
    pub totals: MemoryTotals,
}

/// What the cache has done since statistics began. Pages are those of the design.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MemoryTotals {
    /// Reads of which it was found out whether they hit: those that wait for what is being read ahead are not yet.
    pub reads: u64,
    /// Reads answered from memory.
    pub read_hits: u64,
    /// Reads that waited for what was being read ahead; they count as hits, too.
    pub read_ahead_waits: u64,
    /// Writes that were done when they were in memory.
    pub writes: u64,
    /// Pages of these.
    pub written_pages: u64,
    /// Pages of these that were dirty already: their drives were spared a write.
    pub absorbed_pages: u64,
    /// Writes that had to wait because memory was full.
    pub full_waits: u64,
    /// Writes that went through.
    pub writes_through: u64,
    /// Writes to the layout that destaged.
    pub destages: u64,
    /// Pages they took.
    pub destaged_pages: u64,
    /// Bytes read ahead.
    pub read_ahead_bytes: u64,
    /// Most dirty pages at a time.
    pub most_dirty_pages: u64,
}

impl Memory {
    /// Empty memory for an array with so many drives and groups.
    #[must_use]
    pub fn new(design: &CacheDesign, array: &ArrayDesign, groups: &[Group], volumes: &[Volume]) -> Self {
        let destages = groups.iter().map(Group::destages).sum();
        let page = design.page.0;
        let write = design.write.as_ref();
        let halved = |size: u64| if write.is_some_and(|write| write.mirrored) { size / 2 } else { size };
        let dirty_limit = write.map_or(0, |write| (halved(write.size.0) / page) as usize);
        let watermarks = write.map_or((1.0, 1.0), |write| (write.low_watermark, write.high_watermark));
        let (low, range) = between(dirty_limit, watermarks);
        let clean_limit = clean_bytes(design, array).div_ceil(page) as usize;
        let sorted = write.is_some_and(|write| write.order == DestageOrder::Address);
        let elevator = Elevator::new((0..groups.len()).map(|group| used_pages(group, volumes, page)), sorted);
        let run = write.map_or(0, |write| write.run().0);
        Self {
            directory: Directory::new(dirty_limit + clean_limit + 64, page, elevator.zones()),
            elevator,
            sharing: Sharing::new(groups, run, dirty_limit as u64 / 8 * page),
            dirty_limit,
            clean_limit,
            dirty: 0,
            clean: 0,
            of_all: (dirty_limit, clean_limit),
            watermarks,
            low,
            range,
            most_destages: write.and_then(|write| write.destages).map_or(destages, |most| most as usize),
            flushing: false,
            exposing: false,
            exposed: vec![VecDeque::new(); groups.len()],
            mirrored: write.is_some_and(|write| write.mirrored),
            placement: write.map_or(Placement::InPlace, |write| write.placement),
            log_head: vec![0; array.groups.len()],
            hit_ratio: design.read.and_then(|read| read.hit_ratio),
            streams: design
                .prefetch
                .iter()
                .flat_map(|design| array.volumes.iter().map(|_| Streams::new(design)))
                .collect(),
            waiting: (NONE, NONE),
            totals: MemoryTotals::default(),
        }
    }

    /// So many of all controllers work: memory is theirs. One that is left alone mirrors nothing, so that all it has is of use.
    pub fn fit(&mut self, working: usize, all: usize) {
        let (dirty, clean) = self.of_all;
        let copies = if self.mirrored { 2 } else { 1 };
        // Never less than a quarter, which is what a write that waits for room may take.
        self.dirty_limit = (dirty * copies.min(all) * working / all / copies.min(working)).max(dirty / 4);
        self.clean_limit = clean * working / all;
        (self.low, self.range) = between(self.dirty_limit, self.watermarks);
        self.make_room(0);
    }

    /// Tells of each dirty page its key, where in its group it begins to be dirty, and how many bytes are to the end of that.
    pub fn each_dirty(&self, mut tell: impl FnMut(u64, u64, u64)) {
        for list in 0..self.elevator.zones() {
            for page in self.directory.dirty_pages(list) {
                let (from, to) = self.directory.span(Self::group_and_page(page.key()).1, page.dirty);
                tell(page.key(), from, to - from);
            }
        }
    }

    /// Forgets the clean pages that `is_gone` tells by group and offset.
    pub fn forget_clean(&mut self, is_gone: impl Fn(u16, u64) -> bool) {
        let page_bytes = self.directory.page_bytes();
        let gone = |page: &Page| {
            let (group, number) = Self::group_and_page(page.key());
            is_gone(group, number * page_bytes)
        };
        self.clean -= self.directory.forget_clean(gone);
    }

    /// The key of a page of a group.
    #[inline]
    #[must_use]
    pub const fn key(group: u16, page: u64) -> u64 {
        (group as u64) << 44 | page
    }

    /// The group and the page of a key.
    #[inline]
    #[must_use]
    pub const fn group_and_page(key: u64) -> (u16, u64) {
        ((key >> 44) as u16, key & ((1 << 44) - 1))
    }

    /// Prepares for a page that will be looked up when the controller has worked on the I/O.
    #[inline]
    pub fn warm(&self, group: u16, offset: u64) {
        self.directory.warm(Self::key(group, self.directory.pages_of(offset, 1).start));
    }

    /// The group to which another destage should begin.
    #[inline]
    #[must_use]
    pub fn group_to_destage(&mut self) -> Option<u16> {
        if self.exposing && self.has_exposed() {
            let is_next = |group: usize| !self.exposed[group].is_empty();
            let may_begin = self.sharing.underway() < self.most_destages;
            return if may_begin { self.sharing.next(self.most_destages, is_next, |_| None) } else { None };
        }
        let allowed = self.destages_allowed();
        if self.sharing.underway() >= allowed {
            return None;
        }
        let age = |group| self.elevator.peek(group).and_then(|zone| self.directory.age_of_oldest(zone));
        self.sharing.next(allowed, |group| self.elevator.dirty(group) > 0, age)
    }

    /// How many destages there should be: none below the low watermark, as many as may be from the high one on, and in
    /// proportion between.
    #[inline]
    fn destages_allowed(&self) -> usize {
        if self.flushing {
            return self.most_destages;
        }
        if self.dirty <= self.low {
            return 0;
        }
        let over = self.dirty - self.low;
        (1 + self.range.split((self.most_destages * over) as u64).0 as usize).min(self.most_destages)
    }

    /// Lists what is dirty of those volumes whose controller lost its cache, as `is_lost` tells by group and offset.
    pub fn expose(&mut self, is_lost: impl Fn(u16, u64) -> bool) {
        let mut exposed = std::mem::take(&mut self.exposed);
        exposed.iter_mut().for_each(VecDeque::clear);
        self.each_dirty(|key, from, _| {
            let group = Self::group_and_page(key).0;
            if is_lost(group, from) {
                exposed[usize::from(group)].push_back(key);
            }
        });
        self.exposed = exposed;
    }

    /// A page became dirty of a volume whose controller lost its cache.
    pub fn expose_page(&mut self, key: u64) {
        self.exposed[usize::from(Self::group_and_page(key).0)].push_back(key);
    }

    fn has_exposed(&mut self) -> bool {
        let mut any = false;
        for group in 0..self.exposed.len() as u16 {
            // Of each: what is on its way is forgotten.
            any |= self.first_exposed(group).is_some();
        }
        any
    }

    /// The page of a group that is exposed longest. Those that are on their way are forgotten.
    fn first_exposed(&mut self, group: u16) -> Option<u32> {
        let directory = &self.directory;
        let is_dirty = |place: &u32| directory.page(*place).state() == State::Dirty;
        let keys = &mut self.exposed[usize::from(group)];
        while let Some(&key) = keys.front() {
            let found = directory.find(key).filter(is_dirty);
            if found.is_some() {
                return found;
            }
            keys.pop_front();
        }
        None
    }

    /// The dirty page of a group that goes next.
    #[inline]
    pub fn next_dirty(&mut self, group: u16) -> Option<u32> {
        if self.exposing
            && let Some(place) = self.first_exposed(group)
        {
            return Some(place);
        }
        self.directory.oldest_dirty(self.elevator.next(usize::from(group))?)
    }

    /// A dirty page is on its way to the drives.
    #[inline]
    pub fn begin_to_destage(&mut self, place: u32) {
        self.directory.unlink(place);
        let page = self.directory.page_mut(place);
        page.set_state(State::Destaging);
        page.dirty = 0;
        let (group, number) = Self::group_and_page(page.key());
        self.elevator.left(usize::from(group), number);
    }

    /// Brings what the next destage of a group needs into the processor's cache.
    #[inline]
    pub fn warm_destages(&mut self, group: u16) {
        if let Some(list) = self.elevator.next(usize::from(group)) {
            self.directory.warm_destages(list);
        }
    }

    #[inline]
    fn push_dirty(&mut self, place: u32) {
        let (group, number) = Self::group_and_page(self.directory.page(place).key());
        let list = self.elevator.came(usize::from(group), number);
        self.directory.push_dirty(place, list);
    }

    /// Whether a write of these pages has room now.
    #[must_use]
    pub fn has_room(&self, group: u16, offset: u64, length: u64) -> bool {
        let pages = self.directory.pages_of(offset, length);
        let count = (pages.end - pages.start) as usize;
        if self.dirty + count <= self.dirty_limit {
            return true;
        }
        let is_new = |page: &u64| {
            let found = self.directory.find(Self::key(group, *page));
            found.is_none_or(|place| !matches!(self.directory.page(place).state(), State::Dirty | State::Destaging))
        };
        self.dirty + pages.filter(is_new).count() <= self.dirty_limit
    }

    /// Puts written data into memory, where there is room for it.
    pub fn put(&mut self, group: u16, offset: u64, length: u64) {
        for page in self.directory.pages_of(offset, length) {
            let units = self.directory.units(page, offset, length);
            let key = Self::key(group, page);
            let Some(place) = self.dirty_page(key) else { continue };
            let page = self.directory.page_mut(place);
            page.dirty |= units;
            page.valid |= units;
            self.totals.written_pages += 1;
        }
        self.totals.writes += 1;
        self.totals.most_dirty_pages = self.totals.most_dirty_pages.max(self.dirty as u64);
    }

    /// The place of a page that becomes, or is, dirty.
    #[inline]
    fn dirty_page(&mut self, key: u64) -> Option<u32> {
        let Some(place) = self.directory.find(key) else {
            let place = self.directory.add(key, State::Dirty)?;
            self.push_dirty(place);
            self.dirty += 1;
            return Some(place);
        };
        match self.directory.page(place).state() {
            State::Dirty => self.totals.absorbed_pages += 1,
            State::Destaging => {
                // The first write since it began makes it dirty anew; a second one finds it so.
                self.totals.absorbed_pages += u64::from(self.directory.page(place).dirty != 0);
            }
            State::Clean => {
                self.directory.unlink(place);
                self.push_dirty(place);
                (self.dirty, self.clean) = (self.dirty + 1, self.clean - 1);
            }
            State::Loading => {
                self.push_dirty(place);
                (self.dirty, self.clean) = (self.dirty + 1, self.clean - 1);
            }
        }
        Some(place)
    }

    /// Keeps what was read from the drives.
    pub fn keep(&mut self, group: u16, offset: u64, length: u64) {
        for page in self.directory.pages_of(offset, length) {
            let units = self.directory.units(page, offset, length);
            let key = Self::key(group, page);
            match self.directory.find(key) {
                Some(place) => {
                    self.directory.page_mut(place).valid |= units;
                    if self.directory.page(place).state() == State::Clean {
                        self.directory.touch(place);
                    }
                }
                None => self.keep_new(key, units),
            }
        }
    }

    fn keep_new(&mut self, key: u64, units: u32) {
        self.make_room(1);
        if self.clean >= self.clean_limit {
            return;
        }
        if let Some(place) = self.directory.add(key, State::Clean) {
            self.directory.page_mut(place).valid = units;
            self.directory.push_clean(place);
            self.clean += 1;
        }
    }

    /// Forgets clean pages until so many more fit, as far as possible.
    pub fn make_room(&mut self, pages: usize) {
        while self.clean + pages > self.clean_limit && self.directory.evict() {
            self.clean -= 1;
        }
    }

    /// A page has been destaged. It is dirty again if it was written meanwhile.
    pub fn destaged(&mut self, place: u32) {
        if self.directory.page(place).dirty != 0 {
            return self.push_dirty(place);
        }
        self.dirty -= 1;
        if self.directory.page(place).waiting != NONE {
            // It was written while it was being loaded, which goes on.
            self.directory.page_mut(place).set_state(State::Loading);
            self.clean += 1;
            return;
        }
        if self.clean_limit == 0 {
            return self.directory.forget(place);
        }
        self.directory.push_clean(place);
        self.clean += 1;
        self.make_room(0);
    }
}

/// The low watermark, and how many pages the high one is above it.
fn between(dirty_limit: usize, (low, high): (f64, f64)) -> (usize, Divisor) {
    let at = |share: f64| (dirty_limit as f64 * share) as usize;
    (at(low), Divisor::new(at(high).saturating_sub(at(low)).max(1) as u64))
}

/// The pages of a group that volumes use: the first, and the one after the last.
fn used_pages(group: usize, volumes: &[Volume], page: u64) -> (u64, u64) {
    let of_group = || volumes.iter().filter(|volume| usize::from(volume.group) == group);
    let start = of_group().map(|volume| volume.start / page).min().unwrap_or(0);
    (start, of_group().map(|volume| (volume.start + volume.size).div_ceil(page)).max().unwrap_or(0))
}

/// What is kept for reads and for reading ahead.
fn clean_bytes(design: &CacheDesign, array: &ArrayDesign) -> u64 {
    let read = design.read.and_then(|read| read.size).map_or(0, |size| size.0);
    let ahead = design.prefetch.map_or(0, |prefetch| {
        let all = u64::from(prefetch.streams) * array.volumes.len() as u64 * prefetch.depth.0;
        prefetch.size.map_or(4 * all, |size| size.0)
    });
    read + ahead
}
