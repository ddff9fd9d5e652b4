//! Pools: stripes spread pseudo-randomly over all drives (declustering).
//!
//! In each round the drives are put into a random order and cut into as many sets as fit; after a fixed number of rounds
//! the arrangement repeats further in. Drives used least so far go first, so that all hold nearly the same (Muntz and Lui
//! 1990 describe declustered parity; HP EVA and 3PAR spread chunks like this). What is stored is a table of some tens of
//! kilobytes, however large the drives are.
//!
//! Ignored: the redundant storage sets of 6 to 11 drives within which an EVA keeps a stripe.

use storscope_types::design::{POOL_ROUNDS, Shape};

use super::map::Place;
use crate::kernel::{Divisor, Random};

/// Draws of arrangements are apart from all others.
const PURPOSE: u64 = 0x706f_6f6c;

/// Which drives the stripes of a pool lie on.
#[derive(Debug, Clone)]
pub struct Arrangement {
    /// For each round, set and position: the drive, and which of its slots of the cycle.
    table: Box<[(u16, u16)]>,
    sets: Divisor,
    width: usize,
    slots: u64,
    segment: u64,
}

impl Arrangement {
    /// For `drives` drives.
    #[must_use]
    pub fn new(drives: u32, shape: &Shape, segment: u64, seed: u64) -> Self {
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
        let sets = Divisor::new(shape.sets);
        Self { table: table.into_boxed_slice(), sets, width: shape.width() as usize, slots: shape.slots, segment }
    }

    /// Where a position of a stripe starts.
    #[inline]
    #[must_use]
    pub fn place(&self, stripe: u64, position: u64) -> Place {
        let (round, set) = self.sets.split(stripe);
        let (cycle, round) = (round / POOL_ROUNDS, round % POOL_ROUNDS);
        let row = (round * self.sets.value() + set) as usize;
        let (drive, slot) = self.table[row * self.width + position as usize];
        Place { drive: u32::from(drive), offset: (cycle * self.slots + u64::from(slot)) * self.segment }
    }
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
