//! What can go wrong, each with its place in the file.

use thiserror::Error;

/// An error of a reader. Lines count from 1, bytes from 0.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("cannot read at byte {offset}: {source}")]
    Io {
        /// Where in the file.
        offset: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// Nothing but blank lines.
    #[error("no header: the file has no line that is not blank")]
    NoHeader,
    /// A line over the limit: no such capture exists, or its line ends were lost.
    #[error("line {line} (from byte {offset}) is longer than {limit} bytes")]
    LineTooLong {
        /// The line.
        line: u64,
        /// Its first byte.
        offset: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// More columns than the limit.
    #[error("the header in line {line} has more than {limit} columns")]
    TooManyColumns {
        /// The line.
        line: u64,
        /// The limit.
        limit: usize,
    },
    /// A quoted name without its closing quote.
    #[error("the quote that opens at byte {offset} in the header is not closed in line {line}")]
    UnclosedQuote {
        /// The line.
        line: u64,
        /// Where the quote is.
        offset: u64,
    },
    /// The file became shorter while it was read.
    #[error("the file ends before byte {offset}, which it had a moment ago")]
    Shrunk {
        /// The byte that was expected.
        offset: u64,
    },
    /// The caller's buffers or plan do not fit the block: a mistake in the program, not in the file.
    #[error("{what}: expected {expected} elements, found {found}")]
    WrongShape {
        /// Which argument.
        what: &'static str,
        /// The length it should have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
}
