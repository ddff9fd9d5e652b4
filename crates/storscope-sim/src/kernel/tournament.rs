//! The event list: a tournament (winner) tree with one leaf per station.
//!
//! A station has at most one next event, so a tree of minima over the stations replaces the usual heap: nothing
//! is allocated, nothing is cancelled, and a change costs one walk to the root (Knuth, TAOCP volume 3, 5.4.1). Each key
//! is the time with the leaf's number in the low bits. So simultaneous events come in the order of their leaves, which
//! is their priority; within a station the station keeps the sequence.

use storscope_types::Nanos;

/// The next event of each of a fixed number of stations, the earliest first.
///
/// Each node has four children, which are next to each other on half a cache line; a wider tree has fewer levels. Nodes
/// are numbered so that the winner is the last of the first group of four, and the children of node `n` are the group
/// `n - 2`.
#[derive(Debug, Clone)]
pub struct Tournament {
    groups: Box<[[u64; 4]]>,
    first_leaf: usize,
    shift: u32,
}

const ROOT: usize = 3;

impl Tournament {
    /// A tree in which nothing is due, for `stations` stations.
    #[must_use]
    pub fn new(stations: usize) -> Self {
        let (mut leaves, mut above, mut shift) = (4, 1, 2);
        while leaves < stations {
            (above, leaves, shift) = (above + leaves, leaves * 4, shift + 2);
        }
        let first_leaf = ROOT + above;
        Self { groups: vec![[u64::MAX; 4]; (first_leaf + leaves) / 4].into_boxed_slice(), first_leaf, shift }
    }

    /// The first instant that does not fit a key: 9 years with 64 stations, 208 days with 1,024.
    #[must_use]
    pub fn horizon(&self) -> Nanos {
        Nanos(u64::MAX >> self.shift)
    }

    /// Sets the instant at which a station's next event is due; [`Nanos::NEVER`], or anything from the horizon on, is
    /// never.
    #[inline]
    pub fn set(&mut self, station: usize, at: Nanos) {
        let mut key = if at.0 >= u64::MAX >> self.shift { u64::MAX } else { at.0 << self.shift | station as u64 };
        let mut node = self.first_leaf + station;
        if self.groups[node >> 2][node & 3] == key {
            return;
        }
        loop {
            let group = &mut self.groups[node >> 2];
            group[node & 3] = key;
            if node == ROOT {
                return;
            }
            let [a, b, c, d] = *group;
            key = a.min(b).min(c.min(d));
            node = (node >> 2) + 2;
        }
    }

    /// The earliest event and its station. Of none the time is [`Nanos::NEVER`].
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Nanos, usize) {
        let key = self.groups[0][ROOT];
        if key == u64::MAX {
            return (Nanos::NEVER, 0);
        }
        (Nanos(key >> self.shift), (key & ((1 << self.shift) - 1)) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_event_is_first_and_ties_go_to_the_lower_station() {
        let mut tree = Tournament::new(5);
        assert_eq!(tree.first().0, Nanos::NEVER);
        tree.set(3, Nanos(70));
        tree.set(4, Nanos(50));
        tree.set(1, Nanos(50));
        assert_eq!(tree.first(), (Nanos(50), 1));
        tree.set(1, Nanos::NEVER);
        assert_eq!(tree.first(), (Nanos(50), 4));
        tree.set(4, Nanos(90));
        assert_eq!(tree.first(), (Nanos(70), 3));
    }

    #[test]
    fn the_tree_agrees_with_a_search_of_all_stations() {
        let mut tree = Tournament::new(77);
        let mut times = [Nanos::NEVER; 77];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (station, time) = ((state >> 33) as usize % 77, Nanos((state >> 40) % 1_000));
            times[station] = if time.0 < 100 { Nanos::NEVER } else { time };
            tree.set(station, times[station]);
            let expected = times.iter().enumerate().min_by_key(|&(index, &at)| (at, index)).expect("stations");
            if *expected.1 < Nanos::NEVER {
                assert_eq!(tree.first(), (*expected.1, expected.0));
            }
        }
    }
}
