//! Decimal numbers to `f64`, with the very bits that `str::parse` gives.
//!
//! A mantissa up to 2^53 and a power of ten up to 10^22 are both exact in an `f64`, so one division rounds once, which
//! is correct rounding (Clinger, "How to read floating point numbers accurately", PLDI 1990). Everything else is left
//! to the standard library.

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];
const EXACT_MANTISSA: u64 = 1 << 53;
/// As many digits always fit a `u64`.
const SAFE_DIGITS: usize = 19;

/// The number that `text` spells, or `None` where `str::parse::<f64>` refuses it.
pub fn parse(text: &[u8]) -> Option<f64> {
    parse_plain(text).or_else(|| std::str::from_utf8(text).ok()?.parse().ok())
}

/// Digits with at most one point and a minus: what counters look like.
fn parse_plain(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.len() > SAFE_DIGITS {
        return None;
    }
    let mut mantissa = 0_u64;
    let mut point = None;
    for (place, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => mantissa = mantissa * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(place),
            _ => return None,
        }
    }
    let decimals = point.map_or(0, |place| digits.len() - place - 1);
    if mantissa > EXACT_MANTISSA || digits.len() == usize::from(point.is_some()) {
        return None;
    }
    let value = mantissa as f64 / POWERS[decimals];
    Some(if negative { -value } else { value })
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// A number of at most six digits with a point at the start of eight bytes: its value and how many bytes it takes.
///
/// `None` when the eight bytes hold anything else, or the number does not end within them. All eight bytes are looked
/// at in one register, so no branch depends on the number's length.
#[inline]
pub(crate) fn parse_short(bytes: [u8; 8]) -> Option<(f64, usize)> {
    let word = u64::from_le_bytes(bytes);
    let offset = word ^ (ONES * 0x30);
    // The high bit of each byte that is no digit: 0x76 lifts 0x0A and above over 0x80. The mask keeps carries inside.
    let others = (((offset & (ONES * 0x7F)) + ONES * 0x76) | offset) & (ONES * 0x80);
    let point = others.trailing_zeros() / 8;
    let after = others & others.wrapping_sub(1);
    let end = after.trailing_zeros() / 8;
    if after == 0 || point == 0 || (word >> (8 * point)) as u8 != b'.' {
        return None;
    }
    let decimals = end - point - 1;
    let whole = word & ((1 << (8 * point)) - 1);
    let fraction = (word >> (8 * (point + 1))) & ((1_u64 << (8 * decimals)) - 1);
    let digits = ((whole | fraction << (8 * point)) << (8 * (9 - end))) & (ONES * 0x0F);
    Some((eight_digits(digits) as f64 / POWERS[decimals as usize], end as usize))
}

/// The number of eight digits, one in a byte, the most significant first in memory: pairs, fours, then all eight.
#[inline]
fn eight_digits(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10).wrapping_add(digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xFFFF_FFFF
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(text: &str) {
        let expected = text.parse::<f64>().ok().map(f64::to_bits);
        assert_eq!(parse(text.as_bytes()).map(f64::to_bits), expected, "{text:?}");
    }

    #[test]
    fn agrees_with_the_standard_library_on_the_edges() {
        for text in [
            "",
            ".",
            "-",
            "-.",
            "0",
            "-0",
            "-0.00",
            "0.00",
            "5.",
            ".5",
            "-.5",
            "+1",
            "1e3",
            "1.2.3",
            "1 ",
            " 1",
            "inf",
            "nan",
            "-1.#IND",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993.5",
            "0.1",
            "0.30000000000000004",
            "18446744073709551615",
            "18446744073709551616",
            "1234567890123456789.0",
            "0.0000000000000000000000001",
            "99999999999999999999999",
            "1,5",
            "0x10",
            "1_000",
            "１",
        ] {
            same(text);
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(text in "-?[0-9]{0,25}(\\.[0-9]{0,25})?(e-?[0-9]{1,3})?") {
            same(&text);
        }

        #[test]
        fn agrees_on_anything(text in "\\PC{0,12}") {
            same(&text);
        }

        #[test]
        fn reads_back_what_was_printed(value in any::<f64>().prop_filter("finite", |value| value.is_finite())) {
            prop_assert_eq!(parse(value.to_string().as_bytes()).map(f64::to_bits), Some(value.to_bits()));
        }

        #[test]
        fn short_numbers_agree_too(text in "[0-9.\",a\\-]{8}") {
            let bytes: [u8; 8] = text.as_bytes().try_into().unwrap();
            if let Some((value, length)) = parse_short(bytes) {
                prop_assert_eq!(Ok(value), text[..length].parse::<f64>());
                prop_assert!(!text.as_bytes()[length].is_ascii_digit());
            }
        }

        #[test]
        fn every_short_counter_is_taken(cents in 0_u32..1_000_000) {
            let text = format!("{:.2}\",\"0.0", f64::from(cents) / 100.0);
            let number = text.split('"').next().unwrap();
            let found = parse_short(text.as_bytes()[..8].try_into().unwrap());
            prop_assert_eq!(found, Some((number.parse().unwrap(), number.len())));
        }
    }
}
