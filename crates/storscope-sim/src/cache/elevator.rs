//! In which order dirty pages go to the drives: in that of their addresses, round after round (C-SCAN), group by group.
//!
//! The part of a group's space that volumes use is cut into at most 4,096 zones of equal size. A round takes from each
//! zone what was dirty when it came there, oldest first, then goes to the next zone with dirty pages. So a page costs the
//! same few steps however many are dirty, memory is bounded, and what is out of order is no further apart than a zone.
//! That arrays destage in address order is described by Gill and Modha ("WOW: Wise Ordering for Writes", FAST 2005; their
//! recency bit is left out). With one zone for each group pages leave in the order in which they became dirty.

/// Most zones of a group.
const ZONES: u64 = 4_096;

/// The zones of all groups.
#[derive(Debug, Clone)]
pub struct Elevator {
    rounds: Vec<Round>,
    /// Dirty pages of each zone.
    counts: Box<[u32]>,
}

/// The zones of one group, and how far its round has got.
#[derive(Debug, Clone)]
struct Round {
    /// The first page that volumes use.
    start: u64,
    /// Binary logarithm of the pages of a zone.
    shift: u32,
    /// The group's first zone.
    first: u32,
    zones: u32,
    /// The zone the round is at, and how many pages it may still take there.
    at: u32,
    left: u32,
    /// Dirty pages of the group.
    dirty: u32,
    /// Which zones have any, a bit each.
    marks: Box<[u64]>,
}

impl Elevator {
    /// Nothing dirty in groups of which these pages (first, and the one after the last) are used. `sorted`: in the order
    /// of addresses, else by age.
    #[must_use]
    pub fn new(used: impl Iterator<Item = (u64, u64)>, sorted: bool) -> Self {
        let mut first = 0;
        let round = |(start, end): (u64, u64)| {
            let pages = end.saturating_sub(start).max(1);
            let shift = if sorted { pages.div_ceil(ZONES).next_power_of_two().trailing_zeros() } else { 63 };
            let zones = ((pages - 1) >> shift) as u32 + 1;
            let marks = vec![0; zones.div_ceil(64) as usize].into_boxed_slice();
            first += zones;
            Round { start, shift, first: first - zones, zones, at: 0, left: 0, dirty: 0, marks }
        };
        let rounds: Vec<Round> = used.map(round).collect();
        Self { rounds, counts: vec![0; first as usize].into_boxed_slice() }
    }

    /// Zones of all groups.
    #[must_use]
    pub fn zones(&self) -> u32 {
        self.counts.len() as u32
    }

    /// Dirty pages of a group.
    #[inline]
    #[must_use]
    pub fn dirty(&self, group: usize) -> u32 {
        self.rounds[group].dirty
    }

    /// A page of a group has become dirty. Returns its zone.
    #[inline]
    pub fn came(&mut self, group: usize, page: u64) -> u32 {
        let round = &mut self.rounds[group];
        let zone = round.zone(page);
        round.marks[zone as usize / 64] |= 1 << (zone % 64);
        round.dirty += 1;
        self.counts[(round.first + zone) as usize] += 1;
        round.first + zone
    }

    /// A page of a group is on its way to the drives.
    #[inline]
    pub fn left(&mut self, group: usize, page: u64) {
        let round = &mut self.rounds[group];
        let zone = round.zone(page);
        round.dirty -= 1;
        if zone == round.at {
            round.left = round.left.saturating_sub(1);
        }
        let count = &mut self.counts[(round.first + zone) as usize];
        *count -= 1;
        if *count == 0 {
            round.marks[zone as usize / 64] &= !(1 << (zone % 64));
        }
    }

    /// The zone of a group from which the next page is taken; of a group without dirty pages there is none.
    #[inline]
    pub fn next(&mut self, group: usize) -> Option<u32> {
        let zone = self.peek(group)?;
        let round = &mut self.rounds[group];
        if round.is_over(&self.counts) {
            round.at = zone - round.first;
            round.left = self.counts[zone as usize];
        }
        Some(zone)
    }

    /// The same, of a group from which nothing may be taken yet: what becomes dirty there meanwhile still counts.
    #[inline]
    #[must_use]
    pub fn peek(&self, group: usize) -> Option<u32> {
        let round = &self.rounds[group];
        let at = || if round.is_over(&self.counts) { round.marked_after(round.at) } else { round.at };
        (round.dirty > 0).then(|| round.first + at())
    }
}

impl Round {
    /// Whether all is taken that the round takes where it is.
    #[inline]
    fn is_over(&self, counts: &[u32]) -> bool {
        self.left == 0 || counts[(self.first + self.at) as usize] == 0
    }

    #[inline]
    fn zone(&self, page: u64) -> u32 {
        (page.saturating_sub(self.start) >> self.shift).min(u64::from(self.zones - 1)) as u32
    }

    /// The next zone with dirty pages, of which there is one; after the last comes the first.
    fn marked_after(&self, zone: u32) -> u32 {
        let (word, bit) = (zone as usize / 64, zone % 64);
        let above = self.marks[word] & u64::MAX.checked_shl(bit + 1).unwrap_or(0);
        if above != 0 {
            return word as u32 * 64 + above.trailing_zeros();
        }
        let words = self.marks.len();
        let later = (word + 1..words).chain(0..=word).find(|&word| self.marks[word] != 0);
        later.map_or(zone, |word| word as u32 * 64 + self.marks[word].trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drain(elevator: &mut Elevator, pages: &mut Vec<u64>) -> Vec<u32> {
        let mut zones = Vec::new();
        while let Some(zone) = elevator.next(0) {
            let of_zone = pages.iter().position(|page| page / 16 == u64::from(zone)).expect("a page of the zone");
            elevator.left(0, pages.remove(of_zone));
            zones.push(zone);
        }
        zones
    }

    proptest! {
        #[test]
        fn a_round_goes_up_and_forgets_nothing(mut pages in prop::collection::vec(0_u64..65_536, 1..200)) {
            let mut elevator = Elevator::new(std::iter::once((0, 65_536)), true);
            let mut expected: Vec<u32> = pages.iter().map(|&page| elevator.came(0, page)).collect();
            expected.sort_unstable_by_key(|&zone| if zone == 0 { u32::MAX } else { zone });
            prop_assert_eq!(drain(&mut elevator, &mut pages), expected);
            prop_assert_eq!((elevator.dirty(0), pages.len()), (0, 0));
        }
    }

    #[test]
    fn what_becomes_dirty_behind_the_round_waits_for_the_next_one() {
        let mut elevator = Elevator::new(std::iter::once((0, 65_536)), true);
        for page in [100, 200, 5_000] {
            elevator.came(0, page);
        }
        let zone = elevator.next(0).expect("dirty");
        elevator.left(0, 100);
        elevator.came(0, 101);
        assert_eq!(elevator.next(0), Some(200 / 16), "what came to {zone} later waits");
        elevator.left(0, 200);
        elevator.left(0, 5_000);
        assert_eq!(elevator.next(0), Some(zone));
    }

    #[test]
    fn by_age_a_group_is_one_zone_and_groups_are_apart() {
        let mut elevator = Elevator::new([(0, 1 << 30), (0, 1 << 30)].into_iter(), false);
        assert_eq!(elevator.zones(), 2);
        elevator.came(1, 77);
        assert_eq!((elevator.next(0), elevator.next(1)), (None, Some(1)));
    }
}
