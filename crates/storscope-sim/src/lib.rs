//! The array simulator: discrete events in virtual time.
//!
//! Same seed, same bytes, on any machine. Nothing here reads a clock, opens a file or allocates per I/O.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod array;
mod cache;
pub mod design;
pub mod drive;
mod error;
pub mod kernel;
pub mod layout;
mod replay;

pub use array::{Array, Settings};
pub use design::{DesignError, complete_design, read_design};
pub use error::SimError;
pub use replay::{Follower, Pace, Replayed, TraceRecord, TraceStream, TraceTotals, replay};
