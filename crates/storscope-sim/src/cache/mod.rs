//! Memory: a directory of pages, and the streams that are read ahead.

mod directory;
mod page;
mod streams;

pub use directory::Directory;
pub use page::State;
pub use streams::{Ahead, Streams};
