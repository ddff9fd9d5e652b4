//! The load generator: closed and open loop, every I/O timed three ways, on io_uring or threads.
//!
//! A [`Generator`] runs one worker's share of a [`Workload`](storscope_types::Workload) on a
//! [`Device`](storscope_device::Device): the null device, a simulated one in virtual time, an io_uring.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod arrivals;
mod buffers;
mod error;
mod generator;
mod pace;
mod place;
mod random;
mod recorder;
mod stamp;
mod tally;
mod transfer;
mod usage;
mod zipf;

pub use arrivals::Arrivals;
pub use buffers::BufferPlan;
pub use error::LoadError;
pub use generator::{Ending, Generator, Limit, Task};
pub use place::{RandomPlace, Span};
pub use random::{Chance, Random};
pub use stamp::Stamper;
pub use tally::{Cell, Failures, Interval, Tally, Times};
pub use transfer::{FollowUp, Transfer, Transfers};
pub use usage::Usage;
pub use zipf::Zipf;
