//! Random times around a mean, the same on any machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::maths;

/// Points of the log-normal table; what is rarer than one in twice as many does not occur.
const POINTS: usize = 1024;
/// Keeps the drives' numbers apart from what others draw with the same seed.
const SEED_OF_DRIVES: u64 = 0x6472_6976_6573;

/// A stream of random numbers of one drive.
#[derive(Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of drive `index`.
    pub fn new(seed: u64, index: u32) -> Self {
        let of_drive = (u64::from(index) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ SEED_OF_DRIVES ^ of_drive))
    }

    /// Above 0 and below 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A whole number below `limit`.
    #[inline]
    pub fn below(&mut self, limit: u32) -> u32 {
        ((u64::from((self.0.next_u64() >> 32) as u32) * u64::from(limit)) >> 32) as u32
    }
}

/// Times with mean 1 and a given coefficient of variation: constant for 0, exponential for 1; between them a constant
/// and an exponential part, above 1 one of two exponentials with balanced means.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    constant: f64,
    first_share: f64,
    first_mean: f64,
    second_mean: f64,
}

impl Spread {
    /// With standard deviation over mean `cv`.
    pub fn new(cv: f64) -> Self {
        if cv <= 1.0 {
            return Self { constant: 1.0 - cv, first_share: 1.0, first_mean: cv, second_mean: cv };
        }
        let square = cv * cv;
        let first_share = 0.5 * (1.0 + ((square - 1.0) / (square + 1.0)).sqrt());
        let (first_mean, second_mean) = (0.5 / first_share, 0.5 / (1.0 - first_share));
        Self { constant: 0.0, first_share, first_mean, second_mean }
    }

    /// One time.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> f64 {
        if self.first_mean == 0.0 {
            return self.constant;
        }
        let first = self.first_share >= 1.0 || random.unit() < self.first_share;
        let mean = if first { self.first_mean } else { self.second_mean };
        self.constant - mean * maths::ln(random.unit())
    }
}

/// Log-normal times with mean 1, from a table of quantiles.
#[derive(Debug)]
pub struct LogNormal(Vec<f32>);

impl LogNormal {
    /// With standard deviation over mean `cv`.
    pub fn new(cv: f64) -> Self {
        let sigma = maths::ln(1.0 + cv * cv).sqrt();
        let quantile = |index: usize| maths::exp(sigma * maths::normal_quantile((index as f64 + 0.5) / POINTS as f64));
        let table: Vec<f64> = (0..POINTS).map(quantile).collect();
        let mean = table.iter().sum::<f64>() / POINTS as f64;
        Self(table.iter().map(|time| (time / mean) as f32).collect())
    }

    /// One time.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> f64 {
        f64::from(self.0[random.below(POINTS as u32) as usize])
    }
}
