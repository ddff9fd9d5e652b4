//! Designs as people write them: TOML with units, read strictly.

mod error;
mod hints;
mod keys;
mod nearest;
mod plain_words;
mod quantity;
mod read;
mod syntax;
mod telling;
mod tree;

pub use error::DesignError;
pub use read::{complete_design, read_design};
