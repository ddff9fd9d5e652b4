//! Real storage on Linux: targets, memory, a fast clock, an io_uring and a pool of threads.

mod arena;
mod clock;
mod entrance;
mod entries;
mod memory;
mod meter;
mod promptness;
mod punt;
mod target;
mod threads;
mod uring;

pub use arena::Arena;
pub use clock::FastClock;
pub use memory::MemoryLeft;
pub use meter::{KernelWorkers, Meter};
pub(crate) use promptness::{end_timeouts_promptly, run_promptly};
pub use punt::PuntWatch;
pub use target::{Opened, TargetSpec};
pub use threads::{MOST_THREADS, PoolMeter, ThreadedDevice};
pub use uring::{MOST_IN_A_RING, UringDevice};
