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
        let (mut at, tag) = self.start(key);
        loop {
            let line = &self.lines[at];
            let mut alike = line.entries(|entry| entry & !self.place_mask == tag);
            while alike != 0 {
                let place = line.0[alike.trailing_zeros() as usize] & self.place_mask;
                if is_it(place) {
                    return Some(place);
                }
                alike &= alike - 1;
            }
            if line.0[PASSED] == 0 {
                return None;
            }
            at = self.after(at);
        }
    }

    /// Takes in a key that is not there.
    #[inline]
    pub fn insert(&mut self, key: u64, place: u32) {
        let (mut at, tag) = self.start(key);
        loop {
            let line = &mut self.lines[at];
            let free = line.entries(|entry| entry == NOTHING);
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
            let found = line.entries(|entry| entry == tag | place);
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
    /// A bit for each entry of which `is_so` holds. All words are compared, which takes fewer steps.
    #[inline]
    fn entries(&self, is_so: impl Fn(u32) -> bool) -> u32 {
        (0..WORDS).fold(0, |found, word| found | u32::from(is_so(self.0[word])) << word) & ENTRIES
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Few lines, of which keys that are alike fill several, so that searches go on over the end of the table.
        #[test]
        fn it_agrees_with_a_map(
            places in 1_usize..80,
            steps in prop::collection::vec((0_u64..120, any::<bool>()), 1..600),
        ) {
            let mut table = Table::new(places, places);
            let (mut map, mut keys) = (HashMap::new(), vec![u64::MAX; places + 1]);
            let mut free: Vec<u32> = (1..=places as u32).collect();
            for (key, is_insertion) in steps {
                // Multiples of a large number, so that most bits of the hash are the same.
                let key = key << 40;
                match (is_insertion, map.get(&key).copied()) {
                    (true, None) => if let Some(place) = free.pop() {
                        keys[place as usize] = key;
                        table.insert(key, place);
                        map.insert(key, place);
                    },
                    (false, Some(place)) => {
                        table.remove(key, place);
                        map.remove(&key);
                        keys[place as usize] = u64::MAX;
                        free.push(place);
                    }
                    _ => {}
                }
                for key in 0..120_u64 {
                    let found = table.find(key << 40, |place| keys[place as usize] == key << 40);
                    prop_assert_eq!(found, map.get(&(key << 40)).copied());
                }
            }
            for (key, place) in map {
                table.remove(key, place);
            }
            prop_assert!(table.lines.iter().all(|line| line.0 == [NOTHING; WORDS]), "nothing is left behind");
        }
    }
}
