//! What a storage design is made of.

pub mod drive;
