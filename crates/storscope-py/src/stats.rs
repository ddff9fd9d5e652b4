//! What a series says: where it has settled, how sure its mean is, where its level changes or drifts.

use pyo3::prelude::*;
use storscope_stats as stats;

/// The index that a series is settled from; none when it is not, or is too short to tell.
#[pyfunction]
pub fn warm_up(py: Python<'_>, series: Vec<f64>) -> Option<usize> {
    match py.detach(|| stats::warm_up(&series)) {
        stats::WarmUp::Settled(index) => Some(index),
        stats::WarmUp::Unsettled | stats::WarmUp::TooShort => None,
    }
}

/// The best cut within the first half; none of a series that is too short.
#[pyfunction]
pub fn warm_up_within_half(py: Python<'_>, series: Vec<f64>) -> Option<usize> {
    py.detach(|| stats::warm_up_within_half(&series))
}

/// Mean, half width and effective count; none when it is too short.
#[pyfunction]
pub fn mean_interval(py: Python<'_>, series: Vec<f64>, confidence: f64) -> Option<(f64, f64, f64)> {
    let interval = py.detach(|| stats::mean_interval(&series, confidence))?;
    Some((interval.mean, interval.half_width, interval.effective_count))
}

/// First index of the new level, mean before, mean after, probability of chance; none when it is short or constant.
#[pyfunction]
pub fn strongest_change(py: Python<'_>, series: Vec<f64>) -> Option<(usize, f64, f64, f64)> {
    let change = py.detach(|| stats::strongest_change(&series))?;
    Some((change.at, change.before, change.after, change.probability_of_chance))
}

/// Middle of the line of least squares, its change from end to end, the standard deviation of that, and what it would be
/// of independent values; none when the series is short or constant.
#[pyfunction]
pub fn line_through(py: Python<'_>, series: Vec<f64>) -> Option<(f64, f64, f64, f64)> {
    let line = py.detach(|| stats::line_through(&series))?;
    Some((line.centre, line.change, line.deviation, line.deviation_if_independent))
}
