//! The traits [`Device`] and [`Clock`], a null device, and devices in virtual time for tests of truth.
//!
//! A device takes requests and gives back completions, in any order. Time belongs to a clock that device and caller
//! share: on real storage it runs by itself, in a simulation waiting moves it. So one generator drives an io_uring and a
//! simulated array alike.
//!
//! Beware: devices in virtual time are for one thread.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod clock;
mod device;
mod null;
mod queueing;
mod stalling;

pub use clock::{Clock, SystemClock, VirtualClock};
pub use device::{Completion, Device, DeviceError, Direction, FlushRequest, Request};
pub use null::NullDevice;
pub use queueing::QueueingDevice;
pub use stalling::{Stall, StallingDevice};
