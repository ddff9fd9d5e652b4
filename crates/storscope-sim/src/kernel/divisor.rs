//! Division by a number that stays the same: a shift, or one multiplication.

/// A divisor prepared for many dividends.
///
/// Powers of two are shifts. Others multiply by the reciprocal of 64 bits, rounded up: m = (2^64 + e) / d with 0 < e < d.
/// Then n·m / 2^64 = n/d + n·e / (d·2^64), which has the same whole part as n/d as long as n·e < 2^64 (Granlund and
/// Montgomery 1994). Larger dividends are divided as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divisor {
    value: u64,
    reciprocal: u64,
    /// The greatest dividend for which multiplying is exact.
    most: u64,
    /// Of a power of two; 64 for others.
    shift: u32,
}

impl Divisor {
    /// Of `value`, which is not zero.
    ///
    /// # Panics
    /// Of zero.
    #[must_use]
    pub fn new(value: u64) -> Self {
        assert!(value > 0, "nothing can be divided by zero");
        if value.is_power_of_two() {
            return Self { value, reciprocal: 0, most: 0, shift: value.trailing_zeros() };
        }
        let reciprocal = u64::MAX / value + 1;
        Self { value, reciprocal, most: u64::MAX / reciprocal.wrapping_mul(value), shift: 64 }
    }

    /// What was prepared.
    #[inline]
    #[must_use]
    pub const fn value(self) -> u64 {
        self.value
    }

    /// Quotient and remainder.
    #[inline]
    #[must_use]
    pub fn split(self, dividend: u64) -> (u64, u64) {
        if self.shift < 64 {
            return (dividend >> self.shift, dividend & (self.value - 1));
        }
        let quotient = if dividend <= self.most {
            ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64
        } else {
            dividend / self.value
        };
        (quotient, dividend - quotient * self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quotient_and_remainder_are_those_of_the_machine(
            value in prop_oneof![1_u64..100, 1..u64::from(u32::MAX), 1..=u64::MAX],
            dividend in prop_oneof![0_u64..1_000, 0..=u64::from(u32::MAX), 0..=u64::MAX],
        ) {
            prop_assert_eq!(Divisor::new(value).split(dividend), (dividend / value, dividend % value));
        }
    }

    #[test]
    fn the_last_dividend_that_is_multiplied_is_exact() {
        for value in [3, 5, 7, 23, 45, 641, 2_949_120, (1 << 32) - 1, (1 << 40) + 1, u64::MAX / 2, u64::MAX] {
            let divisor = Divisor::new(value);
            for dividend in [divisor.most - 1, divisor.most, divisor.most.saturating_add(1)] {
                assert_eq!(divisor.split(dividend), (dividend / value, dividend % value), "{dividend} / {value}");
            }
        }
    }

    #[test]
    fn the_edges_of_32_bits_are_exact() {
        let top = u64::from(u32::MAX);
        for value in [1, 2, 3, 5, 7, 23, 641, top - 1, top] {
            for dividend in [0, 1, value - 1, value, value + 1, top - 1, top, top + 1] {
                assert_eq!(Divisor::new(value).split(dividend), (dividend / value, dividend % value));
            }
        }
    }
}
