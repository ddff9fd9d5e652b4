//! The load generator: closed and open loop, every I/O timed three ways, on io_uring or threads.
//!
//! A [`Run`] carries out a [`Plan`] on files and block devices: it starts the workers, hands out each interval when it is
//! complete, and sums up in a [`RunResult`]. Underneath, a [`Generator`] runs one worker's share of a [`Workload`](storscope_types::Workload) on a
//! [`Device`](storscope_device::Device): the null device, a simulated one in virtual time, an io_uring.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod arrivals;
mod buffers;
mod choice;
mod error;
mod follow;
mod gate;
mod gather;
mod generator;
mod pace;
mod place;
mod plan;
mod random;
mod recorder;
mod result;
mod run;
mod stamp;
mod system;
mod tally;
mod task;
mod transfer;
mod trial;
mod usage;
mod virtual_run;
mod worker;
mod zipf;

pub use arrivals::Arrivals;
pub use buffers::BufferPlan;
pub use error::{FailedIo, LoadError};
pub use follow::{Followed, Following};
pub use generator::{Generator, fill_pool};
pub use place::{RandomPlace, Span};
pub use plan::{Engine, Plan};
pub use random::{Chance, Random};
pub use result::{
    Doubt, EngineUsed, LatencyBound, RunResult, StreamDoubt, doubts, invalid_streams, latency_bound, lateness_doubts,
    lateness_of_streams, not_told_of_all,
};
pub use run::{Finished, News, Run};
pub use stamp::Stamper;
pub use system::{FastClock, MemoryLeft, Opened, PuntWatch, TargetSpec};
pub use tally::{Cell, Failures, Interval, Tally, Times};
pub use task::{Ending, Limit, Task};
pub use transfer::{FollowUp, Transfer, Transfers};
pub use usage::Usage;
pub use virtual_run::{Lifetime, VirtualRun, slots_of};
pub use zipf::Zipf;
