//! The header: names between separators, quoted or not.

use memchr::memchr;

use crate::error::ReadError;

/// The first line that is not blank: the names of the columns, as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// One name a column, without the quotes around it; doubled quotes are single. The first is the clock's.
    pub names: Vec<Vec<u8>>,
    /// What separates cells: a comma, a tab or a semicolon.
    pub separator: u8,
    /// The line it is in.
    pub line: u64,
}

impl Header {
    /// Splits `text`, which starts at byte `offset` of the file and has no line end.
    pub(crate) fn parse(text: &[u8], line: u64, offset: u64, max_columns: usize) -> Result<Self, ReadError> {
        let unclosed = |at: usize| ReadError::UnclosedQuote { line, offset: offset + at as u64 };
        let mut separator = None;
        let mut names = Vec::new();
        let mut position = 0;
        loop {
            if names.len() == max_columns {
                return Err(ReadError::TooManyColumns { line, limit: max_columns });
            }
            let (name, end) = match text.get(position) {
                Some(b'"') => quoted(text, position).ok_or_else(|| unclosed(position))?,
                _ => unquoted(text, position, separator),
            };
            names.push(name);
            let Some(&found) = text.get(end) else { break };
            let separator = *separator.get_or_insert(if b",\t;".contains(&found) { found } else { b',' });
            // What stands between a closing quote and the separator belongs to nothing.
            let Some(skipped) = memchr(separator, &text[end..]) else {
                break;
            };
            position = end + skipped + 1;
        }
        Ok(Self { names, separator: separator.unwrap_or(b','), line })
    }
}

/// The name whose quote opens at `start`, and the byte after the quote that closes it.
fn quoted(text: &[u8], start: usize) -> Option<(Vec<u8>, usize)> {
    let mut name = Vec::new();
    let mut position = start + 1;
    loop {
        let length = memchr(b'"', &text[position..])?;
        name.extend_from_slice(&text[position..position + length]);
        position += length + 1;
        if text.get(position) != Some(&b'"') {
            return Some((name, position));
        }
        name.push(b'"');
        position += 1;
    }
}

fn unquoted(text: &[u8], start: usize, separator: Option<u8>) -> (Vec<u8>, usize) {
    let rest = &text[start..];
    let length = match separator {
        Some(separator) => memchr(separator, rest),
        None => rest.iter().position(|byte| b",\t;".contains(byte)),
    };
    let end = start + length.unwrap_or(rest.len());
    (text[start..end].to_vec(), end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<String> {
        let header = Header::parse(text.as_bytes(), 1, 0, 100).unwrap();
        header.names.into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
    }

    #[test]
    fn keeps_separators_and_doubled_quotes_inside_quotes() {
        assert_eq!(
            names(r#""(PDH-CSV 4.0)","\\h\Virtual Disk(a, b (x):scsi0:0)\Reads/sec","say ""hi""""#),
            ["(PDH-CSV 4.0)", r"\\h\Virtual Disk(a, b (x):scsi0:0)\Reads/sec", "say \"hi\""]
        );
    }

    #[test]
    fn takes_names_without_quotes_and_tabs() {
        assert_eq!(names("(PDH-CSV 4.0),a b,c"), ["(PDH-CSV 4.0)", "a b", "c"]);
        assert_eq!(names("\"t\"\t\"a,b\"\t\"c\""), ["t", "a,b", "c"]);
        assert_eq!(names("t,,"), ["t", "", ""]);
    }

    #[test]
    fn says_where_a_quote_was_not_closed() {
        let error = Header::parse(b"\"t\",\"abc", 7, 100, 10).unwrap_err();
        assert!(matches!(error, ReadError::UnclosedQuote { line: 7, offset: 104 }), "{error}");
    }

    #[test]
    fn refuses_more_columns_than_the_limit() {
        assert!(matches!(Header::parse(b"a,b,c", 1, 0, 2), Err(ReadError::TooManyColumns { limit: 2, .. })));
    }

    proptest! {
        #[test]
        fn what_was_quoted_comes_back(wanted in prop::collection::vec("[^\\n\\r]{0,8}", 1..6)) {
            let text: Vec<_> = wanted.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
            prop_assert_eq!(names(&text.join(",")), wanted);
        }
    }
}
