//! A fit to the first part of a trace that is judged by the rest.

use super::demerit::{Demerit, demerit};
use super::mechanics::Frame;
use super::trace::TraceOp;
use super::trace_fit::{FitError, Judgement, TraceFit, from_trace_while, judge};

/// Fewest requests that can judge a fit.
const LEAST_TO_JUDGE: usize = 100;

/// A fit, and what was held back from it.
#[derive(Debug, Clone)]
pub struct HeldBack {
    /// From the first part alone.
    pub fit: TraceFit,
    /// How it predicts the rest; nothing if none was held back.
    pub on_rest: Option<Judgement>,
    /// How far the distribution of the first part, replayed as it stands, is from that of the rest: what a model must be
    /// better than to be worth more than a table.
    pub table_on_rest: Option<Demerit>,
}

/// Fits to the first `share` of a trace and predicts the rest. The drive has room for the requests of both.
///
/// # Errors
/// As [`from_trace_while`].
pub fn fit_and_predict(
    trace: &[TraceOp],
    frame: &Frame,
    share: f64,
    goes_on: &dyn Fn() -> bool,
) -> Result<HeldBack, FitError> {
    let cut = (trace.len() as f64 * share.clamp(0.0, 1.0)).floor() as usize;
    let (seen, rest) = trace.split_at(cut);
    let fit = from_trace_while(seen, &frame.around(trace), goes_on)?;
    let is_enough = rest.len() >= LEAST_TO_JUDGE;
    let on_rest = is_enough.then(|| judge(rest, &fit.design));
    let table_on_rest = is_enough.then(|| demerit(&sorted(rest), &sorted(seen)));
    Ok(HeldBack { fit, on_rest, table_on_rest })
}

fn sorted(trace: &[TraceOp]) -> Vec<f64> {
    let mut times: Vec<f64> = trace.iter().map(|op| op.service_us).collect();
    times.sort_unstable_by(f64::total_cmp);
    times
}
