//! The event list: a tournament (winner) tree with one leaf per station.
//!
//! A station has at most one next event, so a tree of minima over the stations replaces the usual heap: nothing
//! is allocated, nothing is cancelled, and a change costs one walk to the root (Knuth, TAOCP volume 3, 5.4.1). Each key
//! is the time with the leaf's number in the low bits. So simultaneous events come in the order of their leaves, which
//! is their priority; within a station the station keeps the sequence.

use storscope_types::Nanos;

/// Children of a node: they are next to each other on one cache line.
const WIDTH: usize = 8;
const WIDTH_BITS: u32 = WIDTH.trailing_zeros();

/// The next event of each of a fixed number of stations, the earliest first.
///
/// Eight nodes next to each other are a group with one winner, which is a node of the group above: of group `n` node
/// `(n - 1) % 8` of group `(n - 1) / 8`. The winner of group 0 is the winner of all.
#[derive(Debug, Clone)]
pub struct Tournament {
    groups: Box<[[u64; WIDTH]]>,
    /// The group of the first leaves.
    leaves: usize,
    winner: u64,
    shift: u32,
}

impl Tournament {
    /// A tree in which nothing is due, for `stations` stations.
    #[must_use]
    pub fn new(stations: usize) -> Self {
        let (mut above, mut groups) = (0, 1);
        while groups * WIDTH < stations {
            (above, groups) = (above + groups, groups * WIDTH);
        }
        let shift = stations.max(2).next_power_of_two().trailing_zeros();
        let groups = vec![[u64::MAX; WIDTH]; above + groups].into_boxed_slice();
        Self { groups, leaves: above, winner: u64::MAX, shift }
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
        let (mut index, mut node) = (self.leaves + (station >> WIDTH_BITS), station % WIDTH);
        loop {
            let group = &mut self.groups[index];
            if group[node] == key {
                return;
            }
            group[node] = key;
            let [a, b, c, d, e, f, g, h] = *group;
            key = (a.min(b).min(c.min(d))).min(e.min(f).min(g.min(h)));
            if index == 0 {
                self.winner = key;
                return;
            }
            (index, node) = ((index - 1) >> WIDTH_BITS, (index - 1) % WIDTH);
        }
    }

    /// The earliest event and its station. Of none the time is [`Nanos::NEVER`].
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Nanos, usize) {
        if self.winner == u64::MAX {
            return (Nanos::NEVER, 0);
        }
        (Nanos(self.winner >> self.shift), (self.winner & ((1 << self.shift) - 1)) as usize)
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
