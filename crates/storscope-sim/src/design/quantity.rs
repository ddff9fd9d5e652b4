//! Quantities with their unit: "512 KiB", "15 ms", "2m30s", "400 MB/s", "70 %".
//!
//! Sizes are binary whatever the letter, as storage tools take them (fio(1)): "8k" and "8 KB" are 8,192 bytes, as in
//! workloads. Rates are decimal, as links and drives are sold, unless the unit says "KiB/s". Bits are spelt out, "8 Gbit/s":
//! a small b means bits to some and bytes to others, so it is neither.

/// What a number measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Nanoseconds.
    Duration,
    /// Bytes.
    Size,
    /// Bytes per second.
    Rate,
    /// A ratio, from per cent.
    Ratio,
    /// "m" is minutes or MiB.
    DurationOrSize,
}

impl Dimension {
    /// How names of fields end that hold it.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Duration => "_ns",
            Self::Size | Self::DurationOrSize => "_bytes",
            Self::Rate => "_bytes_per_s",
            Self::Ratio => "",
        }
    }
}

/// Value in nanoseconds, bytes, bytes per second or as a ratio; of the ambiguous "m" the number itself.
pub fn parse(text: &str) -> Option<(f64, Dimension)> {
    let text = text.trim();
    let (number, unit) = text.split_at(end_of_number(text));
    let (number, unit) = (self::number(number)?, unit.trim());
    if unit.is_empty() {
        return None;
    }
    if unit.contains(|letter: char| letter.is_ascii_digit()) {
        let parts = parts_ns(text).filter(|parts| parts.is_sorted_by(|one, next| one.unit_ns > next.unit_ns))?;
        return Some((parts.iter().map(|part| part.number * part.unit_ns).sum(), Dimension::Duration));
    }
    let (factor, dimension) = duration(unit).or_else(|| rate(unit)).or_else(|| size(unit)).or_else(|| other(unit))?;
    Some((number * factor, dimension))
}

/// Whether a text is a duration of several parts whose units come twice, or after a smaller one, as in "30s2m".
pub fn has_units_out_of_order(text: &str) -> bool {
    parts_ns(text.trim()).is_some_and(|parts| parts.len() > 1) && parse(text).is_none()
}

fn end_of_number(text: &str) -> usize {
    text.find(|letter: char| !(letter.is_ascii_digit() || "._,".contains(letter))).unwrap_or(text.len())
}

/// "2m" of "2m30s".
struct Part {
    number: f64,
    unit_ns: f64,
}

/// The parts of a duration like "2m30s", in which "m" is minutes, in any order.
fn parts_ns(mut text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    while !text.is_empty() {
        let (number, rest) = text.split_at(end_of_number(text));
        let (unit, rest) = rest.split_at(rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len()));
        let unit_ns = if unit.trim() == "m" { 60e9 } else { duration(unit.trim())?.0 };
        parts.push(Part { number: self::number(number)?, unit_ns });
        text = rest;
    }
    Some(parts)
}

/// A number whose thousands may be parted by commas. A comma before other than three digits is a decimal one to some and
/// a slip to others, so it is neither.
fn number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(',').skip(1);
    let sound = parts.all(|part| part.len() == 3) && !fraction.contains(',');
    text.replace(['_', ','], "").parse().ok().filter(|_| sound)
}

fn duration(unit: &str) -> Option<(f64, Dimension)> {
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" => 1e9,
        "min" => 60e9,
        "h" => 3_600e9,
        "d" => 86_400e9,
        _ => return None,
    };
    Some((factor, Dimension::Duration))
}

fn size(unit: &str) -> Option<(f64, Dimension)> {
    let lower = unit.to_ascii_lowercase();
    if unit != lower && unit.ends_with('b') {
        return None; // Tb, Gib: a small b behind a capital letter means bits
    }
    let power = match lower.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        "p" | "pb" | "pib" => 5,
        _ => return None,
    };
    Some((1_024_f64.powi(power), Dimension::Size))
}

fn rate(unit: &str) -> Option<(f64, Dimension)> {
    let amount = unit.strip_suffix("/s")?;
    let (prefix, bytes) = match amount.strip_suffix("bit") {
        Some(prefix) => (prefix, 0.125),
        None => (amount.strip_suffix('B')?, 1.0),
    };
    let base = if prefix.ends_with('i') { 1_024_f64 } else { 1_000.0 };
    let power = match prefix.trim_end_matches('i').to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    Some((bytes * base.powi(power), Dimension::Rate))
}

fn other(unit: &str) -> Option<(f64, Dimension)> {
    match unit {
        "%" => Some((0.01, Dimension::Ratio)),
        "m" => Some((1.0, Dimension::DurationOrSize)),
        "M" => Some((1_024.0 * 1_024.0, Dimension::Size)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_mean_what_workloads_mean_by_them() {
        for (text, value, dimension) in [
            ("8k", 8_192.0, Dimension::Size),
            ("512 KiB", 524_288.0, Dimension::Size),
            ("1.5 GB", 1.5 * 1_073_741_824.0, Dimension::Size),
            ("2 TB", 2.0 * 1_099_511_627_776.0, Dimension::Size),
            ("2 tib", 2.0 * 1_099_511_627_776.0, Dimension::Size),
            ("512 b", 512.0, Dimension::Size),
            ("512 B", 512.0, Dimension::Size),
            ("4M", 4_194_304.0, Dimension::Size),
            ("15 ms", 15e6, Dimension::Duration),
            ("50us", 50e3, Dimension::Duration),
            ("2 min", 120e9, Dimension::Duration),
            ("2m30s", 150e9, Dimension::Duration),
            ("1h30m", 5_400e9, Dimension::Duration),
            ("1 d 2 h 0.5 s", 93_600.5e9, Dimension::Duration),
            ("400 MB/s", 400e6, Dimension::Rate),
            ("1 MiB/s", 1_048_576.0, Dimension::Rate),
            ("8 Gbit/s", 1e9, Dimension::Rate),
            ("70 %", 0.7, Dimension::Ratio),
            ("4m", 4.0, Dimension::DurationOrSize),
            ("1,500 GB", 1_500.0 * 1_073_741_824.0, Dimension::Size),
            ("1,000,000.5 KiB", 1_000_000.5 * 1_024.0, Dimension::Size),
        ] {
            let (found, kind) = parse(text).expect(text);
            assert!((found - value).abs() < 1e-9 * value && kind == dimension, "{text}: {found} {kind:?}");
        }
        for text in [
            "sata",
            "15",
            "k",
            "raid10",
            "8 parsecs",
            "80 Mb/s",
            "80 mb/s",
            "",
            "2,5 TB",
            "2.5,5 TB",
            "1,5000 KB",
            "4 Tb",
            "4 Tib",
            "4 tbb",
            "4 tiib",
            "4 ti",
            "4 i",
            "4 ib",
            "4 bb",
            "4 mi",
            "30s2m",
            "5m5m",
            "2m30",
            "2m 30 KB",
            "1 KB 30 s",
        ] {
            assert_eq!(parse(text), None, "{text}");
            assert_eq!(has_units_out_of_order(text), ["30s2m", "5m5m"].contains(&text), "{text}");
        }
    }
}
