//! Whether any of a drive's segments can be near an address, without looking at them.
//!
//! Addresses are cut into chunks of at least four times what counts as near, so that a segment and what is near it lie on
//! two chunks in a row. Of each segment the number of the first is kept, in 16 bits, so that sixteen of them are half a
//! cache line and take ten instructions. Some addresses that are near none are taken to be near one, never the reverse.

/// Numbers compared in one step.
const LANES: usize = 16;
/// The least chunk: numbers repeat after 64 GiB or more.
const LEAST_CHUNK_BITS: u32 = 20;

/// Where segments are, roughly.
#[derive(Debug)]
pub struct Neighbourhood {
    /// The first of the two chunks of each segment.
    firsts: Box<[[u16; LANES]]>,
    /// The segments that need more than two, a bit each.
    wide: u64,
    chunk_bits: u32,
    reach: u64,
}

impl Neighbourhood {
    /// Of up to 64 segments. What is at most `reach` bytes away is near.
    pub fn new(segments: usize, reach: u64) -> Self {
        let chunk_bits = reach.saturating_mul(4).checked_next_power_of_two().map_or(63, u64::trailing_zeros);
        let firsts = vec![[0; LANES]; segments.div_ceil(LANES)].into_boxed_slice();
        Self { firsts, wide: 0, chunk_bits: chunk_bits.max(LEAST_CHUNK_BITS), reach }
    }

    /// Whether any segment may hold a byte or be near it.
    #[inline(always)]
    pub fn may_be_near(&self, byte: u64) -> bool {
        let chunk = (byte >> self.chunk_bits) as u16;
        self.firsts.iter().any(|firsts| any_is_on(firsts, chunk)) || self.wide > 0
    }

    /// Whether any segment may overlap the bytes from `start` to before `end`.
    #[inline]
    pub fn may_overlap(&self, start: u64, end: u64) -> bool {
        let (first, last) = (start >> self.chunk_bits, (end - 1) >> self.chunk_bits);
        self.may_be_near(start) || (last > first && (last > first + 1 || self.may_be_near(end - 1)))
    }

    /// A segment now lies within the bytes from `start` to `end`.
    #[inline]
    pub fn set(&mut self, segment: usize, start: u64, end: u64) {
        let first = start.saturating_sub(self.reach) >> self.chunk_bits;
        let last = end.saturating_add(self.reach) >> self.chunk_bits;
        self.firsts[segment / LANES][segment % LANES] = first as u16;
        let is_wide = last > first + 1;
        self.wide = (self.wide & !(1 << segment)) | u64::from(is_wide) << segment;
    }
}

/// Whether a chunk is one of the two of any of these segments.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn any_is_on(firsts: &[u16; LANES], chunk: u16) -> bool {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi16, _mm_setzero_si128,
        _mm_srli_epi16, _mm_sub_epi16,
    };
    let halves: *const __m128i = firsts.as_ptr().cast();
    // SAFETY: SSE2 is part of x86-64, and the array is two times as long as what is loaded, without need of alignment.
    unsafe {
        let chunk = _mm_set1_epi16(chunk as i16);
        let is_on = |half| {
            let beyond = _mm_sub_epi16(chunk, _mm_loadu_si128(half));
            _mm_cmpeq_epi16(_mm_srli_epi16::<1>(beyond), _mm_setzero_si128())
        };
        _mm_movemask_epi8(_mm_or_si128(is_on(halves), is_on(halves.add(1)))) != 0
    }
}

/// Whether a chunk is one of the two of any of these segments.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn any_is_on(firsts: &[u16; LANES], chunk: u16) -> bool {
    firsts.iter().fold(false, |on, &first| on | (chunk.wrapping_sub(first) < 2))
}

#[cfg(test)]
mod tests {
    use super::Neighbourhood;
    use proptest::prelude::*;

    const REACH: u64 = 500_000;

    proptest! {
        #[test]
        fn nothing_near_is_ever_missed(
            segments in prop::collection::vec((0..40_usize, 0..400_000_000_000_u64, 0..3_000_000_u64), 1..200),
            at in prop::collection::vec((0..40_usize, 0..8_000_000_u64, 1..9_000_000_u64), 1..50),
        ) {
            let mut near = Neighbourhood::new(40, REACH);
            let mut plain = [(0, 0); 40];
            for (segment, start, length) in segments {
                near.set(segment, start, start + length);
                plain[segment] = (start, start + length);
            }
            for (segment, beside, length) in at {
                let byte = (plain[segment].0 + beside).saturating_sub(4_000_000);
                let is_near = |&(start, end): &(u64, u64)| start <= byte + REACH && byte <= end + REACH && end > start;
                prop_assert!(near.may_be_near(byte) || !plain.iter().any(is_near));
                let overlaps = |&(start, end): &(u64, u64)| start < byte + length && byte < end;
                prop_assert!(near.may_overlap(byte, byte + length) || !plain.iter().any(overlaps));
            }
        }
    }

    #[test]
    fn what_is_far_from_all_is_seen_to_be() {
        let mut near = Neighbourhood::new(16, REACH);
        (0..16_u64)
            .for_each(|segment| near.set(segment as usize, segment * 3_000_000_000, segment * 3_000_000_000 + REACH));
        let far = (0..1_000_u64).filter(|step| !near.may_be_near(1_000_000_000 + step * 97_777_777));
        assert!(far.count() > 990);
    }
}
