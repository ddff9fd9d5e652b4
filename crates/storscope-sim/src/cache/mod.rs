//! Memory: a directory of pages, the order in which dirty ones leave, and the streams that are read ahead.

mod directory;
mod elevator;
mod page;
mod streams;
mod table;

pub use directory::Directory;
pub use elevator::Elevator;
pub use page::{Page, State};
pub use streams::{Ahead, Streams};
