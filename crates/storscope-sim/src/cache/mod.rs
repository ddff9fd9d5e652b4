//! Memory: a directory of pages, and the streams that are read ahead.

mod directory;
mod streams;

pub use directory::{Directory, State};
pub use streams::{Ahead, Streams};
