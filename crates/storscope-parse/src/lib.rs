//! Fast readers for counter files that are too wide or too long for Python.
//!
//! [`WideCsv`] reads wide counter CSV: `esxtop -b`, and what perfmon, relog and typeperf write (PDH-CSV 4.0, PDH-TSV
//! 4.0). The first column is a time stamp, every other cell a number, and a host has ten thousand columns and more.
//!
//! It supports names with or without quotes, separators, parentheses and doubled quotes inside quoted names, LF and
//! CRLF, a UTF-8 byte-order mark, blank lines, cells that are blank or no number (counted, never zero), rows shorter or
//! longer than the header (counted), several captures one after another in a file (see [`WideCsv::section_end`]).
//! It refuses lines longer and headers wider than [`Limits`]. Beware: a line feed always ends the line, also between
//! quotes; UTF-16 has to be transcoded by the caller; the bytes of names are handed on as they are.
//!
//! The file is read with positional reads into small buffers and not mapped into memory: a capture that is truncated
//! while it is read then yields an error where a mapping would kill the process, and the file's pages do not count as
//! memory of ours.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod block;
mod cells;
mod decimal;
mod error;
mod header;
mod reader;
mod source;
mod timestamp;

pub use block::{Block, NO_SLOT, NO_TIME, Plan, Tally};
pub use decimal::parse as parse_decimal;
pub use error::ReadError;
pub use header::Header;
pub use reader::{Limits, WideCsv};
pub use source::Source;
pub use timestamp::parse as parse_timestamp;
