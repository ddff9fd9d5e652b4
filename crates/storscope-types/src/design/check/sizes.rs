//! Sizes in messages: readable, and different where they are.

use crate::grouped;

/// Decimals that a size has, and at most has; sizes that are still alike are given in bytes.
const DECIMALS: usize = 2;
const MOST_DECIMALS: usize = 5;

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// The sizes as texts, each in the largest unit that keeps it readable, with as many decimals as tell apart those that
/// differ.
pub(crate) fn told_apart<const COUNT: usize>(sizes: [u64; COUNT]) -> [String; COUNT] {
    (DECIMALS..=MOST_DECIMALS).find(|&decimals| are_told_apart(&sizes, decimals)).map_or_else(
        || sizes.map(|bytes| format!("{} B", grouped(bytes))),
        |decimals| {
            sizes.map(|bytes| {
                let (value, unit) = scaled(bytes, decimals);
                if value.fract() == 0.0 { format!("{value} {unit}") } else { format!("{value:.decimals$} {unit}") }
            })
        },
    )
}

fn are_told_apart(sizes: &[u64], decimals: usize) -> bool {
    let texts: Vec<_> = sizes
        .iter()
        .map(|&bytes| scaled(bytes, decimals))
        .map(|(value, unit)| format!("{value:.decimals$} {unit}"))
        .collect();
    let all = || sizes.iter().zip(&texts);
    all().all(|(size, text)| all().all(|(other, other_text)| size == other || text != other_text))
}

/// The number and its unit; the next unit where rounding would give 1024 of one.
fn scaled(bytes: u64, decimals: usize) -> (f64, &'static str) {
    let most = 1_024.0 - 0.5 * 0.1_f64.powi(decimals as i32);
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= most && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1_024.0, unit + 1);
    }
    (value, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::told_apart;

    const GIB: u64 = 1 << 30;

    #[test]
    fn sizes_are_short_where_that_tells_them_apart() {
        assert_eq!(told_apart([0, 10 << 40, 3 * GIB / 2, 1_023]), ["0 B", "10 TiB", "1.50 GiB", "1023 B"]);
        assert_eq!(told_apart([279 * GIB, 279 * GIB]), ["279 GiB", "279 GiB"]);
    }

    #[test]
    fn sizes_that_differ_never_look_alike() {
        assert_eq!(told_apart([279 * GIB, 279 * GIB + (1 << 20)]), ["279 GiB", "279.001 GiB"]);
        assert_eq!(told_apart([300_000_000_000, 300_000_001_024]), ["300,000,000,000 B", "300,000,001,024 B"]);
        // Rounded to two decimals the first would be 1024.00 MiB.
        assert_eq!(told_apart([GIB - 1_024, GIB]), ["1023.999 MiB", "1 GiB"]);
        let texts = told_apart([u64::MAX, 1, 2]);
        assert_eq!(&texts[1..], ["1 B", "2 B"]);
    }
}
