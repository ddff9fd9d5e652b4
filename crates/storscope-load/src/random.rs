//! Random draws: one generator per worker, all from one seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The draws of a worker: xoshiro256++ (Blackman and Vigna 2019).
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Draws that depend on nothing but `seed` and `worker`; those of different workers do not overlap within 2^192
    /// draws.
    #[must_use]
    pub fn of_worker(seed: u64, worker: u32) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..worker).for_each(|_| generator.long_jump());
        Self(generator)
    }

    /// Draws for another purpose of the same worker, which do not overlap with its own for 2^128 draws. Only one generator
    /// of a worker may be split: what is split off jumps as far, onto the next that was.
    #[must_use]
    pub fn split(&mut self) -> Self {
        let other = self.clone();
        self.0.jump();
        other
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0 to `bound - 1`. By multiplication (Lemire 2019) without rejection: the bias is below
    /// `bound / 2^64`, 1e-8 for an exabyte of sectors.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform strictly between 0 and 1, with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * (1.0 / (1_u64 << 53) as f64)
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}

/// An event with a fixed probability. Certain and impossible ones draw nothing.
#[derive(Debug, Clone, Copy)]
pub struct Chance {
    threshold: u64,
    certain: bool,
}

impl Chance {
    /// With `probability` from 0 to 1.
    #[must_use]
    pub fn new(probability: f64) -> Self {
        Self { threshold: (probability * 2.0_f64.powi(64)) as u64, certain: probability >= 1.0 }
    }

    /// Whether it happens this time.
    #[inline]
    pub fn happens(self, random: &mut Random) -> bool {
        self.certain || (self.threshold > 0 && random.bits() < self.threshold)
    }
}
