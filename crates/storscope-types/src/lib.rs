//! Units and workloads: plain values without I/O and without a clock.
//!
//! A [`Workload`] says what is asked of the storage. It is what Iometer files, fio jobs and the built-in workloads
//! become, and what the load generator and the simulator run. It serialises to JSON; fields with a default may be left
//! out, unknown fields are refused. [`Workload::check`] says what cannot be run, with the path of the field.
//!
//! Beware: a workload that parsed is not yet sound. The generator calls `check` first; other readers should, too.

mod access;
mod check;
mod data;
pub mod design;
mod flush;
mod load;
mod numbers;
mod offsets;
mod units;
mod workload;

pub use access::{Access, AccessSpec, Copy};
pub use check::WorkloadError;
pub use data::{DataPool, Verification};
pub use flush::{Flush, FlushKind};
pub use load::{Load, Process, RateStep, ThinkTime};
pub use numbers::{counted, grouped};
pub use offsets::{Offsets, Region, Starts};
pub use units::{Bytes, Nanos};
pub use workload::{Stream, Workload};
