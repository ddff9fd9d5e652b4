//! Which pages are in memory, in which state, and which of them goes next.
//!
//! A hash table over a fixed pool of pages. Clean pages are in a list by last use, dirty ones in one of
//! several lists by the time they became dirty. A page is divided into 32 units; masks tell which of them are valid and which are dirty.
//! Memory grows up to the number of pages, never beyond.

use super::page::{Page, State, prefetch};
use super::table::Table;
use crate::kernel::Divisor;

/// Ends of the list of clean pages, the one used last first.
const CLEAN: u32 = 0;
/// Ends of the first list of dirty pages, the one dirty longest first; those of the others follow.
const DIRTY: u32 = 1;
/// Units of a page.
const UNITS: u64 = 32;

/// The pages in memory.
#[derive(Debug, Clone)]
pub struct Directory {
    table: Table,
    pages: Vec<Page>,
    free: Vec<u32>,
    most: usize,
    /// Of `pages`, those that are no pages but the ends of lists.
    ends: usize,
    /// Pages that became dirty so far; it wraps around.
    turns: u32,
    page: Divisor,
    unit: Divisor,
}

impl Directory {
    /// Room for `pages` pages of `page_bytes` each, with so many lists of dirty ones.
    #[must_use]
    pub fn new(pages: usize, page_bytes: u64, lists: u32) -> Self {
        let ends = 1 + lists as usize;
        let most = pages + ends;
        let mut directory = Self {
            table: Table::new(pages, most),
            pages: Vec::new(),
            free: Vec::new(),
            most,
            ends,
            turns: 0,
            page: Divisor::new(page_bytes),
            unit: Divisor::new(page_bytes.div_ceil(UNITS)),
        };
        for end in CLEAN..DIRTY + lists {
            directory.pages.push(Page::end(end));
        }
        directory
    }

    /// Most pages.
    #[must_use]
    pub fn room(&self) -> usize {
        self.most - self.ends
    }

    /// Pages that are there.
    #[must_use]
    pub fn used(&self) -> usize {
        self.pages.len() - self.ends - self.free.len()
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.page.value()
    }

    /// The pages of an extent: the first, and the one after the last.
    #[inline]
    #[must_use]
    pub fn pages_of(&self, offset: u64, length: u64) -> std::ops::Range<u64> {
        self.page.split(offset).0..self.page.split(offset + length - 1).0 + 1
    }

    /// The units of a page that an extent covers, partly covered ones included.
    #[inline]
    #[must_use]
    pub fn units(&self, page: u64, offset: u64, length: u64) -> u32 {
        let base = page * self.page.value();
        let start = offset.max(base) - base;
        let end = (offset + length).min(base + self.page.value()) - base;
        let (first, last) = (self.unit.split(start).0, self.unit.split(end - 1).0);
        (u32::MAX >> (UNITS - 1 - last)) & (u32::MAX << first)
    }

    /// The units of a page that an extent covers from end to end.
    #[must_use]
    pub fn whole_units(&self, page: u64, offset: u64, length: u64) -> u32 {
        let base = page * self.page.value();
        let start = offset.max(base) - base;
        let end = (offset + length).min(base + self.page.value()) - base;
        let (first, behind) = (self.unit.split(start + self.unit.value() - 1).0, self.unit.split(end).0);
        if first >= behind { 0 } else { (u32::MAX >> (UNITS - behind)) & (u32::MAX << first) }
    }

    /// The bytes of a page from its first to after its last unit of a mask.
    #[must_use]
    pub fn span(&self, page: u64, mask: u32) -> (u64, u64) {
        let base = page * self.page.value();
        let first = u64::from(mask.trailing_zeros());
        let last = UNITS - u64::from(mask.leading_zeros());
        (base + first * self.unit.value(), base + (last * self.unit.value()).min(self.page.value()))
    }

    /// Brings the beginning of the search for a page into the processor's cache.
    #[inline]
    pub fn warm(&self, key: u64) {
        self.table.warm(key);
    }

    /// Brings what will be needed of the next pages to go into the processor's cache, one step further with each call:
    /// a directory is larger than that cache, and the pages to go are those not touched for longest.
    fn warm_evictions(&self, oldest: u32) {
        let next = self.pages[oldest as usize].before;
        let page = &self.pages[next as usize];
        self.warm(page.key());
        prefetch(&self.pages[page.before as usize]);
    }

    /// The same for the dirty pages of a list and what is beside them.
    #[inline]
    pub fn warm_destages(&self, list: u32) {
        let page = &self.pages[self.pages[(DIRTY + list) as usize].after as usize];
        self.warm(page.key().wrapping_sub(1));
        self.warm(page.key() + 1);
        prefetch(&self.pages[page.after as usize]);
    }

    /// The place of a page.
    #[inline]
    #[must_use]
    pub fn find(&self, key: u64) -> Option<u32> {
        self.table.find(key, |place| self.pages[place as usize].key() == key)
    }

    /// A page by its place.
    #[inline]
    #[must_use]
    pub fn page(&self, place: u32) -> &Page {
        &self.pages[place as usize]
    }

    /// A page by its place, to change its masks and its waiting jobs.
    #[inline]
    pub fn page_mut(&mut self, place: u32) -> &mut Page {
        &mut self.pages[place as usize]
    }

    /// Takes a place for a page that is not there, from the clean page not used for longest when there is no other. Of
    /// nothing but dirty pages there is none. The page is in no list.
    pub fn add(&mut self, key: u64, state: State) -> Option<u32> {
        let place = self.take_place()?;
        self.table.insert(key, place);
        self.pages[place as usize] = Page::new(key, state);
        Some(place)
    }

    fn take_place(&mut self) -> Option<u32> {
        if let Some(place) = self.free.pop() {
            return Some(place);
        }
        if self.pages.len() < self.most {
            self.pages.push(Page::EMPTY);
            return Some((self.pages.len() - 1) as u32);
        }
        self.evict();
        self.free.pop()
    }

    /// Forgets the clean page not used for longest. Returns whether there was one.
    pub fn evict(&mut self) -> bool {
        let oldest = self.pages[CLEAN as usize].before;
        if oldest == CLEAN {
            return false;
        }
        self.warm_evictions(oldest);
        self.unlink(oldest);
        self.forget(oldest);
        true
    }

    /// Forgets the clean pages of which `is_gone` is true. Returns how many there were.
    pub fn forget_clean(&mut self, is_gone: impl Fn(&Page) -> bool) -> usize {
        let (mut next, mut count) = (self.pages[CLEAN as usize].after, 0);
        while next != CLEAN {
            let place = next;
            next = self.pages[place as usize].after;
            if is_gone(&self.pages[place as usize]) {
                self.unlink(place);
                self.forget(place);
                count += 1;
            }
        }
        count
    }

    /// Forgets a page that is in no list.
    pub fn forget(&mut self, place: u32) {
        self.table.remove(self.pages[place as usize].key(), place);
        self.free.push(place);
    }

    /// Takes a page out of its list.
    #[inline]
    pub fn unlink(&mut self, place: u32) {
        let Page { before, after, .. } = self.pages[place as usize];
        self.pages[before as usize].after = after;
        self.pages[after as usize].before = before;
    }

    /// Makes a page that is in no list the clean page used last.
    #[inline]
    pub fn push_clean(&mut self, place: u32) {
        self.pages[place as usize].set_state(State::Clean);
        self.link_after(CLEAN, place);
    }

    /// Makes a page that is in no list the last of a list of dirty ones.
    #[inline]
    pub fn push_dirty(&mut self, place: u32, list: u32) {
        let page = &mut self.pages[place as usize];
        page.set_state(State::Dirty);
        page.turn = self.turns;
        self.turns = self.turns.wrapping_add(1);
        let last = self.pages[(DIRTY + list) as usize].before;
        self.link_after(last, place);
    }

    /// A clean page is used.
    #[inline]
    pub fn touch(&mut self, place: u32) {
        if self.pages[CLEAN as usize].after != place {
            self.unlink(place);
            self.link_after(CLEAN, place);
        }
    }

    /// The page of a list that is dirty longest.
    #[inline]
    #[must_use]
    pub fn oldest_dirty(&self, list: u32) -> Option<u32> {
        let oldest = self.pages[(DIRTY + list) as usize].after;
        (oldest != DIRTY + list).then_some(oldest)
    }

    /// How many pages became dirty since the one of a list that is dirty longest; none of an empty list.
    #[inline]
    #[must_use]
    pub fn age_of_oldest(&self, list: u32) -> Option<u32> {
        self.oldest_dirty(list).map(|place| self.turns.wrapping_sub(self.pages[place as usize].turn))
    }

    /// The dirty pages of a list, what is dirty longest first.
    pub fn dirty_pages(&self, list: u32) -> impl Iterator<Item = &Page> {
        let after = move |place: &u32| {
            let next = self.pages[*place as usize].after;
            (next != DIRTY + list).then_some(next)
        };
        std::iter::successors(self.oldest_dirty(list), after).map(|place| &self.pages[place as usize])
    }

    #[inline]
    fn link_after(&mut self, before: u32, place: u32) {
        let after = std::mem::replace(&mut self.pages[before as usize].after, place);
        self.pages[after as usize].before = place;
        self.pages[place as usize].before = before;
        self.pages[place as usize].after = after;
    }

    /// Puts a page that is in no list before a chain of such pages.
    pub fn chain(&mut self, place: u32, rest: u32) {
        self.pages[place as usize].after = rest;
    }

    /// The page after this one in a chain.
    #[must_use]
    pub fn chained(&self, place: u32) -> u32 {
        self.pages[place as usize].after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clean_page_not_used_for_longest_goes_first() {
        let mut directory = Directory::new(3, 16_384, 1);
        for key in [1, 2, 3] {
            let place = directory.add(key, State::Clean).expect("room");
            directory.push_clean(place);
        }
        directory.touch(directory.find(1).expect("there"));
        let place = directory.add(4, State::Clean).expect("2 goes");
        directory.push_clean(place);
        assert!(directory.find(2).is_none());
        assert!([1, 3, 4].iter().all(|&key| directory.find(key).is_some()));
    }

    #[test]
    fn dirty_pages_stay_and_leave_in_their_order() {
        let mut directory = Directory::new(2, 16_384, 1);
        for key in [7, 8] {
            let place = directory.add(key, State::Dirty).expect("room");
            directory.push_dirty(place, 0);
        }
        assert!(directory.add(9, State::Dirty).is_none(), "nothing but dirty pages");
        let oldest = directory.oldest_dirty(0).expect("two");
        assert_eq!(directory.page(oldest).key(), 7);
    }

    #[test]
    fn units_cover_what_they_touch() {
        let directory = Directory::new(2, 16_384, 1);
        assert_eq!(directory.units(0, 0, 16_384), u32::MAX);
        assert_eq!(directory.units(1, 16_384, 512), 1);
        assert_eq!(directory.units(0, 16_383, 2), 1 << 31);
        assert_eq!(directory.units(1, 16_383, 2), 1);
        assert_eq!(directory.span(1, 0b110), (16_384 + 512, 16_384 + 1_536));
        assert_eq!(directory.whole_units(0, 0, 16_384), u32::MAX);
        assert_eq!(directory.whole_units(0, 100, 1_000), 0b10);
        assert_eq!(directory.whole_units(1, 16_383, 513), 1);
        assert_eq!(directory.whole_units(0, 16_000, 2_000), 0);
    }
}
