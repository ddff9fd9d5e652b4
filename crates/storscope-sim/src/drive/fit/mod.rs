//! Parameters of a drive from measurements of it.
//!
//! [`from_trace`] takes the response times of single requests, one after another, and finds a mechanical drive that
//! answers like that; [`fit_and_predict`] holds back a part of them to judge it by. [`from_grid`] takes throughput against
//! queue depth and finds how a drive sorts, or how many of its dies work at once.
//!
//! Beware: a fit says what the drive did under what was measured. Where nothing was measured (other sizes, other parts of
//! the drive) only the physics carries it.

mod classes;
pub mod closed_loop;
mod curve_depths;
mod demerit;
mod depths;
mod flash_depths;
mod full_stroke;
mod grid;
mod habits;
mod held_back;
mod levenberg;
mod mechanics;
mod numbers;
mod replay;
mod runs;
mod simplex;
mod start;
mod sureness;
mod trace;
mod trace_fit;

pub use demerit::{Demerit, demerit};
pub use grid::{DepthPoint, Grid, GridFit, PointFit, from_grid};
pub use held_back::{HeldBack, fit_and_predict};
pub use mechanics::Frame;
pub use numbers::FittedNumber;
pub use replay::replay;
pub use trace::{TraceError, TraceOp, parse};
pub use trace_fit::{FitError, Judgement, TraceFit, from_trace, from_trace_while, judge};
