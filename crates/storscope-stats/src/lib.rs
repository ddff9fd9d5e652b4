//! Latency histograms, quantiles, confidence intervals and change detection.
//!
//! [`Histogram`] takes a latency in about the time of two cache hits and keeps it within 0.8 %. The rest judges series
//! of measurements: [`warm_up`] says where a series settles, [`mean_interval`] how sure its mean is although
//! neighbours depend on each other, [`strongest_change`] where its level moves, [`line_through`] how far it
//! drifts although neighbours make up for each other.
//!
//! Beware: an interval of a series that still drifts is too narrow; ask [`warm_up`] first.

mod change;
mod histogram;
mod interval;
mod line;
mod normal;
mod warmup;

pub use change::{Change, strongest_change};
pub use histogram::{Bucket, Histogram, RELATIVE_ERROR};
pub use interval::{Interval, autocorrelation, batch_means, effective_count, mean_interval};
pub use line::{Line, line_through};
pub use normal::{normal_quantile, student_quantile};
pub use warmup::{WarmUp, warm_up, warm_up_within_half};
