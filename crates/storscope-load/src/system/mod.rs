//! Real storage on Linux: targets, memory, a fast clock, an io_uring and a pool of threads.

mod arena;
mod clock;
mod punt;
mod target;
mod threads;
mod uring;

pub use arena::Arena;
pub use clock::FastClock;
pub use punt::PuntWatch;
pub(crate) use punt::timer_slack_to_least;
pub use target::{Opened, TargetSpec};
pub use threads::ThreadedDevice;
pub use uring::UringDevice;
