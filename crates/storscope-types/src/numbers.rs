//! Numbers in texts that people read.

/// With a comma before each three digits: "726,867".
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |index: usize| if index > 0 && (digits.len() - index).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(index, digit)| format!("{}{digit}", comma(index))).collect()
}

/// With what is counted: "1 arrival", "726,867 arrivals".
#[must_use]
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::{counted, grouped};

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (726_867, "726,867"), (1_000_001, "1,000,001")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(0, "I/O", "I/Os"), "0 I/Os");
        assert_eq!(counted(1, "I/O", "I/Os"), "1 I/O");
        assert_eq!(counted(1_000, "I/O", "I/Os"), "1,000 I/Os");
    }
}
