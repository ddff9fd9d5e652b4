//! Where transfers go: positions within the region of a target.
//!
//! With the meaning of Iometer: a random offset is a uniform byte of the region rounded up to the alignment, a
//! sequential one follows the previous transfer to the target; both go to the start of the region where the transfer
//! would cross its end. Rounding a uniform byte up and wrapping makes every aligned position equally likely, so we draw
//! the position.

use storscope_types::Offsets;

use crate::random::Random;
use crate::zipf::Zipf;

/// The bytes `start` to `start + length` of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Span {
    /// Nothing: a target that is not used.
    pub const EMPTY: Self = Self { start: 0, length: 0 };

    /// Where a transfer of `size` bytes at `relative` goes: there, or to the start if it would cross the end.
    #[inline]
    #[must_use]
    pub fn wrap(self, relative: u64, size: u32) -> u64 {
        if relative + u64::from(size) > self.length { self.start } else { self.start + relative }
    }
}

/// Draws aligned random positions of one target for one line of a mix.
#[derive(Debug, Clone, Copy)]
pub struct RandomPlace {
    align: u64,
    positions: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Uniform,
    /// Rank k lies at `k * stride`, modulo the number of positions: a bijection that scatters neighbours.
    Zipf {
        ranks: Zipf,
        stride: u64,
    },
    /// Shares of access and the first position and number of hot ones.
    HotSpot {
        access_share: f64,
        first: u64,
        hot: u64,
    },
}

impl RandomPlace {
    /// Positions at multiples of `align` in a region of `length` bytes, at least one.
    #[must_use]
    pub fn new(offsets: &Offsets, length: u64, align: u64) -> Self {
        let positions = (length / align).max(1);
        let kind = match *offsets {
            Offsets::Uniform => Kind::Uniform,
            Offsets::Zipf { exponent } => {
                Kind::Zipf { ranks: Zipf::new(positions, exponent), stride: scattering_stride(positions) }
            }
            Offsets::HotSpot { access_share, space_share, start_share } => {
                let hot = ((space_share * positions as f64).round() as u64).clamp(1, positions);
                let first = ((start_share * positions as f64) as u64).min(positions - hot);
                Kind::HotSpot { access_share, first, hot }
            }
        };
        Self { align, positions, kind }
    }

    /// A byte offset relative to the start of the region.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let position = match &self.kind {
            Kind::Uniform => random.below(self.positions),
            Kind::Zipf { ranks, stride } => self.scatter(ranks.draw(random), *stride),
            Kind::HotSpot { access_share, first, hot } => self.hot_or_cold(*access_share, *first, *hot, random),
        };
        position * self.align
    }

    fn scatter(&self, rank: u64, stride: u64) -> u64 {
        (u128::from(rank) * u128::from(stride) % u128::from(self.positions)) as u64
    }

    /// Cold positions are those before and after the hot ones.
    fn hot_or_cold(&self, access_share: f64, first: u64, hot: u64, random: &mut Random) -> u64 {
        let cold = self.positions - hot;
        if cold == 0 || random.unit() < access_share {
            return first + random.below(hot);
        }
        let position = random.below(cold);
        if position < first { position } else { position + hot }
    }
}

/// Near the golden section of `count` and without a common divisor, so that multiples fall apart evenly (Knuth,
/// TAOCP 6.4) and each position is hit by one rank.
fn scattering_stride(count: u64) -> u64 {
    let golden = (count as f64 * 0.618_033_988_749_895) as u64;
    (golden.max(1)..).find(|&stride| common_divisor(stride, count) == 1).unwrap_or(1)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// `offset` rounded up to a multiple of `align`.
#[inline]
#[must_use]
pub fn align_up(offset: u64, align: u64) -> u64 {
    match offset % align {
        0 => offset,
        excess => offset + (align - excess),
    }
}
