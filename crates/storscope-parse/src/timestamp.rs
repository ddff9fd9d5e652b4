//! The time stamp of PDH-CSV: `MM/DD/YYYY HH:MM:SS`, with `.mmm` from perfmon.

const NS_PER_S: i64 = 1_000_000_000;

/// Nanoseconds from 1970-01-01 00:00:00 to the naive local time that `text` gives; `None` for any other form.
///
/// Years from 1970 to 2199 are taken (an `i64` of nanoseconds ends in 2262), days as they are in the Gregorian
/// calendar, no leap seconds.
pub fn parse(text: &[u8]) -> Option<i64> {
    let (stamp, rest) = text.split_at_checked(19)?;
    for (place, separator) in [(2, b'/'), (5, b'/'), (10, b' '), (13, b':'), (16, b':')] {
        if stamp[place] != separator {
            return None;
        }
    }
    let [month, day, year] = [number(&stamp[0..2])?, number(&stamp[3..5])?, number(&stamp[6..10])?];
    let [hour, minute, second] = [number(&stamp[11..13])?, number(&stamp[14..16])?, number(&stamp[17..19])?];
    let in_range = (1970..2200).contains(&year) && (1..=12).contains(&month) && hour < 24 && minute < 60 && second < 60;
    if !in_range || day < 1 || day > days_in(month, year) {
        return None;
    }
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(seconds * NS_PER_S + fraction_ns(rest)?)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, &byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

/// `.5` to `.123456789` in nanoseconds; nothing is zero.
fn fraction_ns(text: &[u8]) -> Option<i64> {
    match text {
        [] => Some(0),
        [b'.', digits @ ..] if (1..=9).contains(&digits.len()) => {
            Some(number(digits)? * 10_i64.pow(9 - digits.len() as u32))
        }
        _ => None,
    }
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let year_of_era = year % 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn takes_both_forms() {
        assert_eq!(parse(b"01/01/1970 00:00:00"), Some(0));
        assert_eq!(parse(b"12/29/2020 18:34:28.308"), Some(1_609_266_868_308_000_000));
        assert_eq!(parse(b"02/29/2000 23:59:59"), Some(951_868_799_000_000_000));
    }

    #[test]
    fn refuses_other_forms() {
        for text in [
            "3/26/2015 22:42",
            "02/29/2026 00:00:00",
            "13/01/2026 00:00:00",
            "01/01/2026 24:00:00",
            "",
            "2026-11-02 00:00:00",
            "01/01/2026 00:00:00.",
            "01/01/2026 00:00:00 PM",
            "01/01/1969 00:00:00",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_later_stamp_is_a_greater_number(day in 1..29_u32, month in 1..12_u32, year in 1970..2200_u32) {
            let at = |month: u32, day: u32| parse(format!("{month:02}/{day:02}/{year} 00:00:00").as_bytes()).unwrap();
            prop_assert!(at(month, day) < at(month + 1, 1));
            prop_assert_eq!(at(month, day) % (86_400 * NS_PER_S), 0);
        }
    }
}
