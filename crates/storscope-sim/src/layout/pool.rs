//! Pools: extents spread pseudo-randomly over all drives (declustering).
//!
//! In each round the drives are put into a random order and cut into as many sets as fit; after a fixed number of rounds
//! the arrangement repeats further in. Drives used least so far go first, so that all hold nearly the same (Muntz and Lui
//! 1990 describe declustered parity; HP EVA and 3PAR spread chunks like this). Each repeat gives the drives other parts in
//! it, in one of several orders from any drive on, so that every drive shares stripes with every other about as often, and
//! what a failed one held is read from all alike. What is stored is tables of some tens of kilobytes, however large the
//! drives are.
//!
//! A stripe is handed out by itself, from the outer edge of the drives on; or, if the design gives its size, an extent of
//! several rows of stripes on the same drives is. Then the repeats of each set are taken in an order of steps by the golden
//! ratio of how many there are, from a random one on (Fibonacci hashing; Knuth, The Art of Computer Programming, volume 3,
//! 6.4), and the sets of each repeat in another order, so that two streams do not visit the drives in step: any stretch of
//! addresses is spread evenly over the part of the drives that is used, as volumes are that grew beside each other.
//!
//! Ignored: the redundant storage sets of 6 to 11 drives within which an EVA keeps a stripe.

use storscope_types::design::{GroupDesign, POOL_ROUNDS, Shape};

use super::map::Place;
use crate::kernel::{Divisor, Random};

/// Draws of arrangements are apart from all others.
const PURPOSE: u64 = 0x706f_6f6c;

/// Which drives the stripes of a pool lie on.
#[derive(Debug, Clone)]
pub struct Arrangement {
    /// For each round, set and position: the drive, and which of its slots of the cycle.
    table: Box<[(u16, u16)]>,
    /// For each drive and slot of the cycle: what has it in the table. The inverse of the table.
    owners: Box<[u32]>,
    sets: Divisor,
    width: usize,
    slots: u64,
    segment: u64,
    rows: Divisor,
    drives: Divisor,
    /// Orders of the drives, one after the other.
    orders: Box<[u16]>,
    scattered: Option<Scattered>,
}

/// The order in which the repeats of the sets are used.
#[derive(Debug, Clone)]
struct Scattered {
    /// How many repeats hold data, and the step from one to the next.
    repeats: Divisor,
    step: u64,
    /// Where each set of each round begins.
    first: Box<[u32]>,
    /// Sets of a repeat, and numbers without a divisor in common with it: steps from one set to the next.
    sets: Divisor,
    steps: Box<[u64]>,
}

/// Nothing has a slot of a drive that is left over.
const NOBODY: u32 = u32::MAX;

/// Orders in which the sets of a repeat are visited, and in which drives have parts in it, each from any of them on.
const ORDERS: usize = 64;

impl Arrangement {
    /// For a group of this shape.
    #[must_use]
    pub fn new(group: &GroupDesign, shape: &Shape, seed: u64) -> Self {
        let drives = group.count;
        let mut random = Random::new(seed, PURPOSE);
        let mut used = vec![0_u16; drives as usize];
        let per_round = (shape.sets * shape.width()) as usize;
        let mut table = Vec::with_capacity(per_round * POOL_ROUNDS as usize);
        for _ in 0..POOL_ROUNDS {
            for drive in order_of_round(&used, per_round, &mut random) {
                table.push((drive, used[usize::from(drive)]));
                used[usize::from(drive)] += 1;
            }
        }
        let mut arrangement = Self {
            owners: owners(&table, drives, shape.slots),
            drives: Divisor::new(u64::from(drives)),
            orders: orders(drives as u16, &mut random),
            table: table.into_boxed_slice(),
            sets: Divisor::new(shape.sets),
            width: shape.width() as usize,
            slots: shape.slots,
            segment: group.segment.0,
            rows: Divisor::new(shape.rows),
            scattered: None,
        };
        if group.extent.is_some() {
            arrangement.scatter(shape.stripes, &mut random);
        }
        arrangement
    }

    /// Rows of an extent.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows.value()
    }

    /// Uses the repeats that so many stripes take in another order.
    fn scatter(&mut self, stripes: u64, random: &mut Random) {
        let of_a_repeat = self.sets.value() * POOL_ROUNDS * self.rows.value();
        let repeats = stripes.div_ceil(of_a_repeat).clamp(1, u64::from(u32::MAX));
        let sets = self.sets.value() * POOL_ROUNDS;
        let first = (0..sets).map(|_| random.below(repeats) as u32).collect();
        let steps = (0..ORDERS).map(|_| prime_to(sets, random.below(sets))).collect();
        let (repeats, step) = (Divisor::new(repeats), golden_step(repeats));
        self.scattered = Some(Scattered { repeats, step, first, sets: Divisor::new(sets), steps });
    }

    /// Only so many stripes, from the first on, hold volumes: extents lie mixed in the part of the drives that those take.
    pub fn restrict(&mut self, stripes: u64) {
        let Some(scattered) = &mut self.scattered else { return };
        let of_a_repeat = self.sets.value() * POOL_ROUNDS * self.rows.value();
        let repeats = stripes.div_ceil(of_a_repeat).clamp(1, scattered.repeats.value());
        scattered.first.iter_mut().for_each(|first| *first = (u64::from(*first) % repeats) as u32);
        (scattered.repeats, scattered.step) = (Divisor::new(repeats), golden_step(repeats));
    }

    /// Where a position of a stripe starts.
    #[inline]
    #[must_use]
    pub fn place(&self, stripe: u64, position: u64) -> Place {
        let (extent, within) = self.rows.split(stripe);
        let (round, set) = self.sets.split(extent);
        let (cycle, round) = (round / POOL_ROUNDS, round % POOL_ROUNDS);
        let row = round * self.sets.value() + set;
        let (cycle, row) = self.scattered.as_ref().map_or((cycle, row), |scattered| scattered.place(cycle, row));
        let (part, slot) = self.table[row as usize * self.width + position as usize];
        let segment = (cycle * self.slots + u64::from(slot)) * self.rows.value() + within;
        Place { drive: self.drive_of(cycle, u64::from(part)), offset: segment * self.segment }
    }

    /// The stripe, and the position of it, that has a segment of a drive: the inverse of [`Arrangement::place`]. Nothing has
    /// a segment that is left over.
    #[must_use]
    pub fn unit_at(&self, drive: u32, offset: u64) -> Option<(u64, u64)> {
        let (extent, within) = self.rows.split(offset / self.segment);
        let (cycle, slot) = (extent / self.slots, extent % self.slots);
        let owner = self.owners[(self.part_of(cycle, drive) * self.slots + slot) as usize];
        if owner == NOBODY {
            return None;
        }
        let (row, position) = (u64::from(owner) / self.width as u64, u64::from(owner) % self.width as u64);
        let (cycle, row) = self.scattered.as_ref().map_or((cycle, row), |scattered| scattered.origin(cycle, row));
        Some(((cycle * POOL_ROUNDS * self.sets.value() + row) * self.rows.value() + within, position))
    }

    /// Bytes of each drive that so many stripes take, whole repeats.
    #[must_use]
    pub const fn used_of_drive(&self, stripes: u64) -> u64 {
        let of_a_repeat = self.sets.value() * POOL_ROUNDS * self.rows.value();
        stripes.div_ceil(of_a_repeat) * self.slots * self.rows.value() * self.segment
    }

    /// The drive that has a part in a repeat of the arrangement.
    #[inline]
    fn drive_of(&self, cycle: u64, part: u64) -> u32 {
        let (order, turn) = turn_of(cycle);
        let place = self.drives.split(part + turn).1;
        u32::from(self.orders[(order * self.drives.value() + place) as usize])
    }

    /// The part that a drive has in a repeat of the arrangement.
    fn part_of(&self, cycle: u64, drive: u32) -> u64 {
        let ((order, turn), drives) = (turn_of(cycle), self.drives.value());
        let order = &self.orders[(order * drives) as usize..((order + 1) * drives) as usize];
        let place = order.iter().position(|&one| u32::from(one) == drive).expect("each order has all drives");
        self.drives.split(place as u64 + drives - self.drives.split(turn).1).1
    }
}

/// Which order of the drives a repeat has, and from which of them on.
#[inline]
const fn turn_of(cycle: u64) -> (u64, u64) {
    let draw = cycle.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((draw >> 48) % ORDERS as u64, draw >> 32 & 0xffff)
}

impl Scattered {
    /// Which repeat, and which set of it, is used in place of another. What lies beyond those that are used stays where it
    /// is.
    #[inline]
    fn place(&self, cycle: u64, row: u64) -> (u64, u64) {
        if cycle >= self.repeats.value() {
            return (cycle, row);
        }
        let (draw, step) = self.step_of(cycle);
        let row = self.sets.split(row * step + draw).1;
        (self.repeats.split(cycle * self.step + u64::from(self.first[row as usize])).1, row)
    }

    /// In place of which repeat, and which set of it, another is used: the inverse of [`Scattered::place`].
    fn origin(&self, cycle: u64, row: u64) -> (u64, u64) {
        let (repeats, sets) = (self.repeats.value(), self.sets.value());
        if cycle >= repeats {
            return (cycle, row);
        }
        let before = cycle + repeats - u64::from(self.first[row as usize]);
        let cycle = self.repeats.split(before % repeats * inverse(self.step, repeats)).1;
        let (draw, step) = self.step_of(cycle);
        (cycle, self.sets.split((row + sets - draw % sets) % sets * inverse(step, sets)).1)
    }

    /// From where on the sets of a repeat are visited, and in which steps.
    #[inline]
    fn step_of(&self, cycle: u64) -> (u64, u64) {
        let draw = cycle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (draw, self.steps[draw as usize % ORDERS])
    }
}

/// The inverse of a table of drives and slots.
fn owners(table: &[(u16, u16)], drives: u32, slots: u64) -> Box<[u32]> {
    let mut owners = vec![NOBODY; drives as usize * slots as usize];
    for (place, &(drive, slot)) in table.iter().enumerate() {
        owners[usize::from(drive) * slots as usize + usize::from(slot)] = place as u32;
    }
    owners.into_boxed_slice()
}

/// What multiplied by a number leaves 1 of `count`, with which it has no divisor in common (the extended Euclidean
/// algorithm; Knuth, volume 2, 4.5.2).
fn inverse(number: u64, count: u64) -> u64 {
    let (mut left, mut right) = ((number % count) as i64, count as i64);
    let (mut of_left, mut of_right) = (1_i64, 0_i64);
    while left > 1 {
        let quotient = right / left;
        (left, right) = (right - quotient * left, left);
        (of_left, of_right) = (of_right - quotient * of_left, of_left);
    }
    of_left.rem_euclid(count as i64) as u64
}

/// The number nearest to the golden ratio of `count` that has no divisor in common with it, so that steps of it reach all.
fn golden_step(count: u64) -> u64 {
    prime_to(count, (count as f64 * 0.618_033_988_749_894_9) as u64)
}

/// The number nearest to another that has no divisor in common with `count`.
fn prime_to(count: u64, near: u64) -> u64 {
    let is_prime_to = |step: &u64| *step > 0 && greatest_common_divisor(*step, count) == 1;
    (0..=count).flat_map(|away| [near + away, near.saturating_sub(away)]).find(is_prime_to).unwrap_or(1)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Random orders of the drives.
fn orders(drives: u16, random: &mut Random) -> Box<[u16]> {
    let mut orders = Vec::with_capacity(usize::from(drives) * ORDERS);
    for _ in 0..ORDERS {
        let mut order: Vec<u16> = (0..drives).collect();
        random.shuffle(&mut order);
        orders.append(&mut order);
    }
    orders.into_boxed_slice()
}

/// The drives of a round in random order, without those used most if not all are needed.
fn order_of_round(used: &[u16], needed: usize, random: &mut Random) -> Vec<u16> {
    let mut order: Vec<u16> = (0..used.len() as u16).collect();
    random.shuffle(&mut order);
    order.sort_by_key(|&drive| used[usize::from(drive)]);
    order.truncate(needed);
    random.shuffle(&mut order);
    order
}
