//! What is written: a pool of blocks with chosen compressibility, stamped so that each names its place.
//!
//! A stamp is 16 bytes at the head of each stamp unit (at most 4 KiB): the scrambled place, then a number that never
//! repeats. The scramble is a bijection, so a misplaced block tells where it belongs. The other sectors of a unit begin
//! with a word of their own, since arrays look for duplicates in blocks of 512 bytes, too. Which blocks are duplicates
//! depends on the place alone: a share of places hold one of a few contents, whole to the last byte, whoever writes
//! them and however often. Every unit, and so every transfer, has the same share of zeros, at its end; these are alike.

use storscope_types::{DataPool, Workload, grouped};

use crate::error::LoadError;
use crate::random::Random;

/// The least that an array compares.
const SECTOR: usize = 512;
const STAMP: usize = 16;
/// Smaller units are not stamped.
const LEAST_UNIT: usize = 2 * STAMP;
/// Keeps what unique units are made of apart from what the pool was filled with.
const SEED_OF_NOISE: u64 = 0x006e_6f69_7365;
/// A place is a byte offset in the low 56 bits and a target above.
const OFFSET_BITS: u32 = 56;

/// Fills, stamps and checks buffers.
#[derive(Debug)]
pub struct Stamper {
    seed: u64,
    unit: usize,
    /// Bytes of each unit before its zeros.
    noise: usize,
    compressible_ratio: f64,
    duplicate_below: u64,
    /// What is one of the duplicates, or none; a power of two.
    duplicate_block: u64,
    duplicates: Vec<Box<[u8]>>,
    /// The first words of all their units, in order.
    duplicate_words: Vec<u64>,
    /// What unique units are made of where a duplicate was in their buffer.
    random: Random,
    sequence: u64,
}

impl Stamper {
    /// For one worker of the workload; no two workers use the same sequence numbers.
    #[must_use]
    pub fn new(workload: &Workload, worker: u32) -> Self {
        let data = &workload.data;
        let wanted = if data.duplicate_ratio > 0.0 { data.duplicate_contents } else { 0 };
        let unit = workload.stamp_unit().0 as usize;
        let duplicates: Vec<_> = (0..wanted).map(|content| duplicate_content(data, unit, content)).collect();
        Self {
            seed: scramble(data.seed ^ 0x7374_6f72_7363_6f70),
            unit,
            noise: noise_length(unit, data.compressible_ratio),
            compressible_ratio: data.compressible_ratio,
            duplicate_block: data.duplicate_block.0,
            duplicate_below: (data.duplicate_ratio * 2.0_f64.powi(64)) as u64,
            duplicate_words: first_words(&duplicates, unit),
            duplicates,
            random: Random::of_worker(scramble(data.seed ^ SEED_OF_NOISE), worker),
            sequence: u64::from(worker) << 48,
        }
    }

    /// Fills a buffer of the pool, once, before the run.
    pub fn fill(&self, buffer: &mut [u8], random: &mut Random) {
        fill_units(buffer, self.unit, self.compressible_ratio, random);
    }

    /// Makes `buffer` what is written to `offset` of `target`.
    #[inline]
    pub fn prepare(&mut self, buffer: &mut [u8], target: u32, offset: u64) {
        if self.unit < LEAST_UNIT {
            return;
        }
        let mut place = offset;
        for unit in buffer.chunks_exact_mut(self.unit) {
            match self.duplicate_of(target, place) {
                Some(content) => self.copy_duplicate(unit, content, place),
                None => self.stamp_unique(unit, target, place),
            }
            place += self.unit as u64;
        }
    }

    /// Whether `buffer`, read from `offset` of `target`, holds what belongs there.
    ///
    /// # Errors
    /// [`LoadError::Mismatch`] with the first block that does not.
    pub fn check(&self, buffer: &[u8], target: u32, offset: u64) -> Result<(), LoadError> {
        let mut place = offset;
        for unit in buffer.chunks_exact(self.unit) {
            let sound = match self.duplicate_of(target, place) {
                Some(content) => unit == self.duplicate_slice(content, place),
                None => word(unit) == self.place_stamp(target, place),
            };
            if !sound {
                return Err(LoadError::Mismatch { target, offset: place, found: self.describe(unit) });
            }
            place += self.unit as u64;
        }
        Ok(())
    }

    fn duplicate_of(&self, target: u32, offset: u64) -> Option<usize> {
        if self.duplicates.is_empty() {
            return None;
        }
        let draw = scramble(place(target, offset / self.duplicate_block) ^ self.seed.rotate_left(32));
        (draw < self.duplicate_below).then(|| (scramble(draw) % self.duplicates.len() as u64) as usize)
    }

    fn duplicate_slice(&self, content: usize, offset: u64) -> &[u8] {
        let within = (offset % self.duplicate_block) as usize;
        &self.duplicates[content][within..within + self.unit]
    }

    fn copy_duplicate(&self, unit: &mut [u8], content: usize, offset: u64) {
        unit.copy_from_slice(self.duplicate_slice(content, offset));
    }

    /// The rest of the unit keeps what the pool left in it, unless an earlier duplicate is there; the number makes it
    /// unique, and each of its sectors.
    #[inline]
    fn stamp_unique(&mut self, unit: &mut [u8], target: u32, offset: u64) {
        if self.duplicate_words.binary_search(&word(unit)).is_ok() {
            self.draw_anew(unit);
        }
        unit[..8].copy_from_slice(&self.place_stamp(target, offset).to_le_bytes());
        unit[8..STAMP].copy_from_slice(&self.sequence.to_le_bytes());
        self.number_sectors(unit);
        self.sequence += 1;
    }

    /// Gives each sector of noise but the first, which has the stamp, a head of its own: one store for each, and what
    /// two sectors have by chance in common (1 in 2^61) is 8 bytes of 512.
    #[inline]
    fn number_sectors(&self, unit: &mut [u8]) {
        let own = scramble(self.sequence);
        for (index, sector) in (0..).zip(unit[..self.noise].chunks_mut(SECTOR)).skip(1) {
            if let Some(head) = sector.first_chunk_mut::<8>() {
                *head = (own ^ index).to_le_bytes();
            }
        }
    }

    /// Drawing costs a microsecond for 4 KiB, which is why it is done only where a duplicate was.
    fn draw_anew(&mut self, unit: &mut [u8]) {
        fill_noise(&mut unit[..self.noise], &mut self.random);
    }

    #[inline]
    fn place_stamp(&self, target: u32, offset: u64) -> u64 {
        scramble(place(target, offset) ^ self.seed)
    }

    fn describe(&self, unit: &[u8]) -> String {
        if unit.iter().all(|&byte| byte == 0) {
            return "holds zeros: it was never written, or the write was lost".to_owned();
        }
        let origin = unscramble(word(unit)) ^ self.seed;
        let (target, offset) = (origin >> OFFSET_BITS, origin & ((1 << OFFSET_BITS) - 1));
        if target < 256 && offset % self.unit as u64 == 0 && offset < 1 << 50 {
            return format!("carries that of byte {} of target {target}", grouped(offset));
        }
        format!("begins with {:016x}, no stamp of this seed", word(unit))
    }
}

fn place(target: u32, offset: u64) -> u64 {
    (u64::from(target) << OFFSET_BITS) | offset
}

fn word(unit: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&unit[..8]);
    u64::from_le_bytes(bytes)
}

/// Random bytes, then zeros, in each unit.
fn fill_units(buffer: &mut [u8], unit: usize, compressible_ratio: f64, random: &mut Random) {
    for unit in buffer.chunks_mut(unit.max(LEAST_UNIT)) {
        let (noise, zeros) = unit.split_at_mut(noise_length(unit.len(), compressible_ratio));
        fill_noise(noise, random);
        zeros.fill(0);
    }
}

fn noise_length(unit: usize, compressible_ratio: f64) -> usize {
    ((1.0 - compressible_ratio) * unit as f64).round() as usize
}

fn fill_noise(noise: &mut [u8], random: &mut Random) {
    let mut words = noise.chunks_exact_mut(8);
    words.by_ref().for_each(|word| word.copy_from_slice(&random.bits().to_le_bytes()));
    let rest = words.into_remainder();
    rest.copy_from_slice(&random.bits().to_le_bytes()[..rest.len()]);
}

fn duplicate_content(data: &DataPool, unit: usize, content: u32) -> Box<[u8]> {
    let mut block = vec![0; data.duplicate_block.0 as usize].into_boxed_slice();
    let mut random = Random::of_worker(scramble(data.seed) ^ u64::from(content), 0);
    fill_units(&mut block, unit, data.compressible_ratio, &mut random);
    block
}

fn first_words(duplicates: &[Box<[u8]>], unit: usize) -> Vec<u64> {
    let mut words: Vec<u64> =
        duplicates.iter().flat_map(|block| block.chunks_exact(unit.max(LEAST_UNIT)).map(word)).collect();
    words.sort_unstable();
    words
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014; constants by Stafford): a bijection.
#[inline]
fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Undoes [`scramble`]: each shift is undone by repeating it, each factor by its inverse modulo 2^64.
fn unscramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 31) ^ (x >> 62)).wrapping_mul(0x3196_42b2_d24d_8ec3);
    x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(0x96de_1b17_3f11_9089);
    x ^ (x >> 30) ^ (x >> 60)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use storscope_types::{Access, AccessSpec, Bytes, Load, Stream};

    use super::*;

    /// What is written to so many places one after another, by way of eight buffers.
    fn written(size: u64, data: DataPool, transfers: u64) -> Vec<Vec<u8>> {
        let line = AccessSpec { read_share: 0.0, ..AccessSpec::random_read(Bytes(size)) };
        let stream = Stream::new(Access::Mix { lines: vec![line] }, Load::Closed { outstanding: 1 });
        let mut stamper = Stamper::new(&Workload { data, ..Workload::of("test", stream) }, 0);
        let mut random = Random::of_worker(data.seed, 0);
        let mut buffers = vec![vec![0; size.next_multiple_of(4096) as usize]; 8];
        buffers.iter_mut().for_each(|buffer| stamper.fill(buffer, &mut random));
        let mut write = |turn: u64| {
            let buffer = &mut buffers[turn as usize % 8][..size as usize];
            stamper.prepare(buffer, 0, turn * size);
            buffer.to_vec()
        };
        (0..transfers).map(&mut write).collect()
    }

    fn zeros(bytes: &[u8]) -> f64 {
        bytes.iter().filter(|&&byte| byte == 0).count() as f64 / bytes.len() as f64
    }

    #[test]
    fn every_transfer_is_as_compressible_as_asked_whatever_its_size() {
        for duplicate_ratio in [0.0, 0.5] {
            let data = DataPool { compressible_ratio: 0.5, duplicate_ratio, ..DataPool::default() };
            for size in [512, 1_024, 2_048, 4_096, 6_144, 65_536] {
                for transfer in written(size, data, 100) {
                    // Of the other half 1 in 256 is zero by chance.
                    let share = zeros(&transfer);
                    assert!((share - 0.502).abs() < 0.025, "{share} of {size} bytes");
                }
            }
        }
    }

    #[test]
    fn a_unique_block_has_nothing_of_a_duplicate_that_was_in_its_buffer() {
        let data = DataPool { duplicate_ratio: 0.5, ..DataPool::default() };
        let blocks = written(4_096, data, 4_000);
        let mut seen = HashMap::new();
        blocks.iter().for_each(|block| *seen.entry(block).or_insert(0) += 1);
        let tails = |is_wanted: fn(u32) -> bool| -> HashSet<&[u8]> {
            let wanted = blocks.iter().filter(|&block| is_wanted(seen[block]));
            wanted.map(|block| &block[STAMP..]).collect()
        };
        let (repeated, unique) = (tails(|times| times > 1), tails(|times| times == 1));
        assert_eq!(repeated.len(), 64);
        assert!(unique.len() > 500, "{} different ones", unique.len());
        assert!(unique.is_disjoint(&repeated));
    }

    /// Blocks of this size, each as one text.
    fn share_of_repeats(transfers: &[Vec<u8>], block: usize) -> f64 {
        let all = transfers.concat();
        let mut seen = HashSet::new();
        let blocks = all.chunks_exact(block);
        let count = blocks.len() as f64;
        blocks.filter(|&one| !seen.insert(one)).count() as f64 / count
    }

    /// Whoever compares blocks of the chosen size finds the share that was asked for, also through smaller transfers.
    #[test]
    fn duplicates_are_whole_blocks_of_the_chosen_size() {
        for (block, size) in [(4_096, 65_536), (16_384, 65_536), (65_536, 65_536), (65_536, 4_096), (16_384, 8_192)] {
            let duplicate_block = Bytes(block);
            let data = DataPool { duplicate_ratio: 0.3, duplicate_contents: 8, duplicate_block, ..DataPool::default() };
            let transfers = written(size, data, 2_000 * block.max(size) / size);
            let share = |block: u64| share_of_repeats(&transfers, block as usize);
            assert!((share(block) - 0.3).abs() < 0.035, "{} of {block} by {size}", share(block));
            assert!(share(2 * block) < 0.12, "{} of twice {block} by {size}", share(2 * block));
        }
    }

    #[test]
    fn what_is_unique_is_so_for_arrays_that_compare_sectors() {
        for compressible_ratio in [0.0, 0.4] {
            let data = DataPool { compressible_ratio, ..DataPool::default() };
            let blocks = written(65_536, data, 100);
            let sectors: Vec<&[u8]> = blocks.iter().flat_map(|block| block.chunks_exact(SECTOR)).collect();
            let distinct: HashSet<_> = sectors.iter().filter(|sector| zeros(sector) < 1.0).collect();
            let noise = sectors.len() as f64 * (1.0 - compressible_ratio);
            assert!(distinct.len() as f64 >= noise, "{} of {noise}", distinct.len());
        }
    }

    #[test]
    fn the_scramble_is_undone() {
        let mut random = Random::of_worker(1, 0);
        for _ in 0..1_000 {
            let value = random.bits();
            assert_eq!(unscramble(scramble(value)), value);
        }
    }
}
