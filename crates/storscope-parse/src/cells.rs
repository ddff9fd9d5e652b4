//! The cells of one row, read from left to right.

use crate::decimal;

/// Marks of what is no number. All are NaN; the bits say why, until a value reaches the caller.
pub(crate) mod mark {
    const NAN: u64 = 0x7FF8_0000_0000_0000;
    /// Nothing, or spaces between quotes: perfmon's first sample of a rate.
    pub(crate) const BLANK: u64 = NAN | 1;
    /// Text.
    pub(crate) const UNPARSABLE: u64 = NAN | 2;
    /// The row ended before this column.
    pub(crate) const MISSING: u64 = NAN | 3;
    /// A number if its comma is a decimal one, which it is not here.
    pub(crate) const COMMA: u64 = NAN | 5;
    /// The line is no row at all.
    pub(crate) const NO_ROW: u64 = NAN | 4;
}

/// A position in a row.
pub(crate) struct Cells<'a> {
    text: &'a [u8],
    /// The first byte of the next cell; beyond the text when there is none.
    position: usize,
    no_row: bool,
    separator: u8,
    /// `"0.00"` and the separator: what most cells of a wide capture hold.
    zero: u64,
    decimal_comma: bool,
}

/// All bytes of a word but the last in memory.
const SEVEN_BYTES: u64 = u64::MAX >> 8;

impl<'a> Cells<'a> {
    /// The cells of `text`, a line with or without its end. Spaces before that are no part of the last cell: an editor may
    /// leave them behind its closing quote.
    pub(crate) fn new(text: &'a [u8], separator: u8, decimal_comma: bool) -> Self {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let spaces = text.iter().rev().take_while(|&&byte| byte == b' ').count();
        let text = &text[..text.len() - spaces];
        let zero = u64::from_le_bytes([b'"', b'0', b'.', b'0', b'0', b'"', separator, 0]);
        Self { zero, text, position: 0, no_row: false, separator, decimal_comma }
    }

    /// No cells, in which none is missing: a line that is no row.
    pub(crate) fn of_no_row() -> Self {
        Self { no_row: true, position: 1, ..Self::new(b"", b',', false) }
    }

    /// The number in the next cell, or a NaN with one of the bits in [`mark`].
    #[inline]
    pub(crate) fn number(&mut self) -> f64 {
        if let Some(window) = self.text[self.position.min(self.text.len())..].first_chunk::<10>() {
            let start = u64::from_le_bytes(*window.first_chunk().expect("ten bytes hold eight"));
            if start & SEVEN_BYTES == self.zero {
                self.position += 7;
                return 0.0;
            }
            let quoted = usize::from(window[0] == b'"');
            let bytes = *window[quoted..].first_chunk().expect("nine or ten bytes hold eight");
            if let Some((value, length)) = decimal::parse_short(bytes) {
                let end = quoted + length;
                let closed = quoted == 0 || window[end] == b'"';
                if closed && window[end + quoted] == self.separator {
                    self.position += end + quoted + 1;
                    return value;
                }
            }
        }
        self.any_number()
    }

    /// A number of any length, and what is none.
    fn any_number(&mut self) -> f64 {
        let Some(text) = self.text() else {
            return f64::from_bits(if self.no_row { mark::NO_ROW } else { mark::MISSING });
        };
        let text = text.trim_ascii();
        if text.is_empty() {
            return f64::from_bits(mark::BLANK);
        }
        // "inf" and "nan" are spelled by broken tools and measured by none.
        let value = decimal::parse(text).filter(|value| value.is_finite());
        match value.or_else(|| with_decimal_comma(text)) {
            Some(_) if value.is_none() && !self.decimal_comma => f64::from_bits(mark::COMMA),
            Some(value) => value,
            None => f64::from_bits(mark::UNPARSABLE),
        }
    }

    /// The text of the next cell, without the quotes around it; `None` after the last one.
    ///
    /// What stands between the closing quote and the separator belongs to the cell, so that it is not taken for a
    /// number; a quote that is not closed reaches to the end of the line.
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.position..)?;
        let length = match rest {
            [b'"', inner @ ..] => 1 + closing_quote(inner),
            _ => 0,
        };
        let end = rest[length..].iter().position(|&byte| byte == self.separator).map_or(rest.len(), |end| length + end);
        self.position += end + 1;
        let cell = &rest[..end];
        Some(cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell))
    }

    /// How many cells are left; none of them is read.
    pub(crate) fn count_rest(mut self) -> u64 {
        std::iter::from_fn(|| self.text()).count() as u64
    }
}

/// The number that `text` spells with a comma for the point.
fn with_decimal_comma(text: &[u8]) -> Option<f64> {
    let comma = text.iter().position(|&byte| byte == b',')?;
    let mut pointed = text.to_vec();
    pointed[comma] = b'.';
    decimal::parse(&pointed)
}

/// How many bytes belong to the quoted text with its closing quote; doubled quotes do not close it.
fn closing_quote(inner: &[u8]) -> usize {
    let mut position = 0;
    while let Some(length) = inner[position..].iter().position(|&byte| byte == b'"') {
        position += length + 1;
        if inner.get(position) != Some(&b'"') {
            return position;
        }
        position += 1;
    }
    inner.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(text: &str, decimal_comma: bool) -> Vec<f64> {
        let mut cells = Cells::new(text.as_bytes(), b',', decimal_comma);
        let mut found = Vec::new();
        while found.last().map(|value: &f64| value.to_bits()) != Some(mark::MISSING) {
            found.push(cells.number());
        }
        found.pop();
        found
    }

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn tells_numbers_blanks_and_text_apart() {
        let found = numbers("\"0.00\",12.5,\" \",,\"-1.#IND\",\"1e3\",\"7\",inf,\"1\"2,-0.5\r\n", false);
        let text = f64::from_bits(mark::UNPARSABLE);
        let blank = f64::from_bits(mark::BLANK);
        assert_eq!(bits(&found), bits(&[0.0, 12.5, blank, blank, text, 1000.0, 7.0, text, text, -0.5]));
    }

    #[test]
    fn a_separator_at_the_end_opens_a_blank_cell() {
        assert_eq!(bits(&numbers("1.00,", false)), bits(&[1.0, f64::from_bits(mark::BLANK)]));
    }

    #[test]
    fn takes_a_decimal_comma_where_the_file_has_it() {
        assert_eq!(numbers("\"1,5\",\"0,25\"", true), [1.5, 0.25]);
        assert_eq!(bits(&numbers("\"1,5\"", false)), [mark::COMMA]);
        assert_eq!(bits(&numbers("\"1,234,5\",\"a,5\",\"1,234.5\"", false)), [mark::UNPARSABLE; 3]);
    }

    #[test]
    fn an_open_quote_reaches_to_the_end_of_the_line() {
        assert_eq!(bits(&numbers("1.0,\"2,3\n", false)), bits(&[1.0, f64::from_bits(mark::UNPARSABLE)]));
    }

    #[test]
    fn spaces_behind_the_last_quote_are_no_part_of_the_cell() {
        assert_eq!(numbers("\"1.50\",\"2.25\"  \r\n", false), [1.5, 2.25]);
        assert_eq!(numbers("\"1.50\",2.25  ", false), [1.5, 2.25]);
    }

    proptest! {
        #[test]
        fn numbers_survive_in_any_company(
            values in prop::collection::vec((any::<bool>(), prop_oneof![
                (0_u32..2_000_000).prop_map(|cents| format!("{:.2}", f64::from(cents) / 100.0)),
                any::<i32>().prop_map(|number| number.to_string()),
                (-1e12_f64..1e12).prop_map(|number| format!("{number:.6}")),
            ]), 1..20)
        ) {
            let text: Vec<_> = values.iter()
                .map(|(quoted, text)| if *quoted { format!("\"{text}\"") } else { text.clone() }).collect();
            let expected: Vec<f64> = values.iter().map(|(_, text)| text.parse().unwrap()).collect();
            prop_assert_eq!(bits(&numbers(&text.join(","), false)), bits(&expected));
        }

        #[test]
        fn any_bytes_have_as_many_cells_as_are_counted(text in "[0-9.,\"a ]{0,40}") {
            let count = Cells::new(text.as_bytes(), b',', false).count_rest();
            prop_assert_eq!(numbers(&text, false).len() as u64, count);
        }
    }
}
