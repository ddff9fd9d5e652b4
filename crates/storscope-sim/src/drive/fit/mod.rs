//! Parameters of a drive from measurements of it.
//!
//! [`from_trace`] takes the response times of single requests, one after another, and finds a mechanical drive that
//! answers like that. [`from_depths`] takes throughput against queue depth and finds how a drive sorts.
//!
//! Beware: a fit says what the drive did under what was measured. Where nothing was measured (other sizes, other parts of
//! the drive) only the physics carries it.

mod classes;
pub mod closed_loop;
mod demerit;
mod depths;
mod habits;
mod levenberg;
mod mechanics;
mod replay;
mod simplex;
mod start;
mod trace;
mod trace_fit;

pub use demerit::{Demerit, demerit};
pub use depths::{DepthFit, DepthPoint, from_depths, window_from_writes};
pub use replay::replay;
pub use trace::{TraceError, TraceOp, parse};
pub use trace_fit::{FitError, Judgement, TraceFit, from_trace, judge};
