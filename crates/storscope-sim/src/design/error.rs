//! What is wrong with a design, and where.

use std::fmt;

/// A design that cannot be read or simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesignError {
    /// Line of the text, from 1; of something that is missing, that of the table it belongs to.
    pub line: Option<u32>,
    /// Column, from 1, in characters.
    pub column: Option<u32>,
    /// The key as it is written, as in `group[0].segment`.
    pub key: String,
    /// What would be sound.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// What to try.
    pub hint: Option<String>,
}

impl fmt::Display for DesignError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(formatter, "line {line}, column {column}: ")?;
        }
        if !self.key.is_empty() {
            write!(formatter, "{}: ", self.key)?;
        }
        write!(formatter, "expected {}, found {}", self.expected, self.found)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(formatter, "; {hint}"))
    }
}

impl std::error::Error for DesignError {}
