//! Where pages are, by their keys.
//!
//! A hash table of processor cache lines. A line has 15 entries, each a place with some bits of the key's hash above it, so
//! that a search reads one line and no page but, nearly always, the right one; the table and the pages are larger than the
//! processor's caches. What finds its line full goes to the next, and the lines it passes count it, so that searches know
//! when to stop and nothing has to be moved or marked when it leaves.

use super::page::prefetch;

/// Words of a line: its entries, then how many went on to the next line since this one was full.
const WORDS: usize = 16;
/// The word with that count.
const PASSED: usize = WORDS - 1;
/// The bits of the entries among those of all words.
const ENTRIES: u32 = (1 << PASSED) - 1;
/// The entry of nothing. No page has the first place: that is the end of a list.
const NOTHING: u32 = 0;

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([u32; WORDS]);

/// Keys and places.
#[derive(Debug, Clone)]
pub struct Table {
    lines: Box<[Line]>,
    /// The bits of an entry that are the place.
    place_mask: u32,
}

impl Table {
    /// Room for so many places, from 1 up to `most_place`.
    pub fn new(places: usize, most_place: usize) -> Self {
        // A third to two thirds full.
        let lines = places.div_ceil(10).next_power_of_two();
        let place_mask = ((most_place + 1).next_power_of_two() - 1) as u32;
        Self { lines: vec![Line([NOTHING; WORDS]); lines].into_boxed_slice(), place_mask }
    }

    /// The line where the search for a key begins, and what is in its entry above the place.
    #[inline]
    fn start(&self, key: u64) -> (usize, u32) {
        // Fibonacci hashing (Knuth, TAOCP volume 3, 6.4).
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((hash >> 32) as usize & (self.lines.len() - 1), hash as u32 & !self.place_mask)
    }

    /// Brings the line where the search for a key begins into the processor's cache.
    #[inline]
    pub fn warm(&self, key: u64) {
        prefetch(&self.lines[self.start(key).0]);
    }

    /// The place of a key: of those that may be it the one of which `is_it` holds.
    #[inline]
    pub fn find(&self, key: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let (start, tag) = self.start(key);
        // Of a small table every line may have been passed.
        for step in 0..self.lines.len() {
            let line = &self.lines[(start + step) & (self.lines.len() - 1)];
            let mut alike = line.entries(!self.place_mask, tag);
            while alike != 0 {
                let place = line.0[alike.trailing_zeros() as usize] & self.place_mask;
                if is_it(place) {
                    return Some(place);
                }
                alike &= alike - 1;
            }
            if line.0[PASSED] == 0 {
                break;
            }
        }
        None
    }

    /// Takes in a key that is not there.
    #[inline]
    pub fn insert(&mut self, key: u64, place: u32) {
        let (mut at, tag) = self.start(key);
        loop {
            let line = &mut self.lines[at];
            let free = line.entries(u32::MAX, NOTHING);
            if free != 0 {
                line.0[free.trailing_zeros() as usize] = tag | place;
                return;
            }
            line.0[PASSED] += 1;
            at = self.after(at);
        }
    }

    /// Takes out a key that is there.
    #[inline]
    pub fn remove(&mut self, key: u64, place: u32) {
        let (mut at, tag) = self.start(key);
        loop {
            let line = &mut self.lines[at];
            let found = line.entries(u32::MAX, tag | place);
            if found != 0 {
                line.0[found.trailing_zeros() as usize] = NOTHING;
                return;
            }
            line.0[PASSED] -= 1;
            at = self.after(at);
        }
    }

    #[inline]
    fn after(&self, line: usize) -> usize {
        (line + 1) & (self.lines.len() - 1)
    }
}

impl Line {
    /// The entries that have a value under a mask, a bit each.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn entries(&self, mask: u32, value: u32) -> u32 {
        use std::arch::x86_64::{
            __m128i, _mm_and_si128, _mm_cmpeq_epi32, _mm_load_si128, _mm_movemask_epi8, _mm_packs_epi16,
            _mm_packs_epi32, _mm_set1_epi32,
        };
        let quarters: *const __m128i = self.0.as_ptr().cast();
        // SAFETY: SSE2 is part of x86-64, and a line is four times as long as what is loaded and aligned to all of it.
        let found = unsafe {
            let (mask, value) = (_mm_set1_epi32(mask as i32), _mm_set1_epi32(value as i32));
            let alike = |at| _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128(quarters.add(at)), mask), value);
            let (low, high) = (_mm_packs_epi32(alike(0), alike(1)), _mm_packs_epi32(alike(2), alike(3)));
            _mm_movemask_epi8(_mm_packs_epi16(low, high))
        };
        found as u32 & ENTRIES
    }

    /// The entries that have a value under a mask, a bit each.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    fn entries(&self, mask: u32, value: u32) -> u32 {
        (0..WORDS).fold(0, |found, word| found | u32::from(self.0[word] & mask == value) << word) & ENTRIES
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use proptest::prelude::*;

    /// A table beside a map of the same, and the key at each place.
    struct Both {
        table: Table,
        map: HashMap<u64, u32>,
        keys: Vec<u64>,
        free: Vec<u32>,
    }

    impl Both {
        fn new(places: usize) -> Self {
            let free = (1..=places as u32).collect();
            Self { table: Table::new(places, places), map: HashMap::new(), keys: vec![u64::MAX; places + 1], free }
        }

        /// Takes a key in, or out if it is there.
        fn turn(&mut self, key: u64) {
            if let Some(place) = self.map.remove(&key) {
                self.table.remove(key, place);
                self.keys[place as usize] = u64::MAX;
                self.free.push(place);
            } else if let Some(place) = self.free.pop() {
                self.table.insert(key, place);
                self.keys[place as usize] = key;
                self.map.insert(key, place);
            }
        }

        fn agree_on(&self, key: u64) -> bool {
            let found = self.table.find(key, |place| self.keys[place as usize] == key);
            found == self.map.get(&key).copied()
        }

        /// Takes everything out. Returns whether nothing is left behind.
        fn empty(mut self) -> bool {
            let keys: Vec<u64> = self.map.keys().copied().collect();
            keys.into_iter().for_each(|key| self.turn(key));
            self.table.lines.iter().all(|line| line.0 == [NOTHING; WORDS])
        }

        /// Keys whose search begins at a line.
        fn keys_of_line(&self, line: usize) -> impl Iterator<Item = u64> {
            (0_u64..).filter(move |&key| self.table.start(key).0 == line)
        }
    }

    proptest! {
        /// Keys that spread over all lines, and keys that all begin at the same: the first are multiples of 1, the last
        /// of so large a number that most bits of their hashes are the same.
        #[test]
        fn it_agrees_with_a_map(
            places in 1_usize..80,
            shift in prop_oneof![Just(0_u32), Just(40)],
            keys in prop::collection::vec(0_u64..120, 1..600),
        ) {
            let mut both = Both::new(places);
            for key in keys {
                both.turn(key << shift);
                prop_assert!((0..120).all(|key| both.agree_on(key << shift)));
            }
            prop_assert!(both.empty(), "nothing is left behind");
        }
    }

    #[test]
    fn a_search_ends_where_every_line_was_passed() {
        let mut both = Both::new(20);
        assert_eq!(both.table.lines.len(), 2);
        let of_line = |both: &Both, line| both.keys_of_line(line).take(17).collect::<Vec<_>>();
        let [first, second] = [0, 1].map(|line| of_line(&both, line));
        // One of the first line goes on to the second; then the first is emptied and one of the second goes on to it.
        first[..16].iter().for_each(|&key| both.turn(key));
        first[..15].iter().for_each(|&key| both.turn(key));
        second[..15].iter().for_each(|&key| both.turn(key));
        assert!(both.table.lines.iter().all(|line| line.0[PASSED] == 1));
        assert!(first.iter().chain(&second).all(|&key| both.agree_on(key)));
        assert!(both.empty(), "nothing is left behind");
    }
}
