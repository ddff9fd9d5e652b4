//! Random draws of the simulation: one independent stream per purpose, all from one seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::drive::maths::ln;

/// Keeps draws apart from those a load generator makes from the same seed.
const SEED_OF_ARRAYS: u64 = 0x6172_7261_7973;

/// xoshiro256++ (Blackman and Vigna 2019).
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Draws for one purpose: they depend on nothing but `seed` and `purpose`, whatever else is drawn.
    #[must_use]
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mixed = (seed ^ SEED_OF_ARRAYS).wrapping_add(purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Uniform in 0 to `bound - 1` (Lemire 2019, without rejection: the bias is below `bound / 2^64`).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform strictly between 0 and 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1_u64 << 53) as f64)
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -ln(self.unit())
    }

    /// Whether an event of this probability happens.
    #[inline]
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Puts the items into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
