//! Where data lies: from an offset in a group's space to drives and offsets on them, and what a write has to do.

mod map;
mod parity;
mod pool;

pub use map::{Map, Piece, Place};
pub use parity::{Slice, Update, UpdateKind};
pub use pool::Arrangement;
