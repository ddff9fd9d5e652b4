//! Where a series has warmed up: MSER-5.
//!
//! White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for simulation" (WSC 2000): over
//! means of five values each, drop the start that makes the standard error of the rest least. If that is more than
//! half of the series, it has not settled, and nothing is said.

use crate::interval::mean;

const BATCH: usize = 5;

/// What a series' start looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// The series is settled from this index on (a multiple of five).
    Settled(usize),
    /// It still moved in its second half: measure longer.
    Unsettled,
    /// Fewer than 20 values.
    TooShort,
}

/// The start to leave out of a series.
#[must_use]
pub fn warm_up(series: &[f64]) -> WarmUp {
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(mean).collect();
    if batches.len() < 4 {
        return WarmUp::TooShort;
    }
    let cut = least_error_cut(&batches, batches.len());
    if cut > batches.len() / 2 { WarmUp::Unsettled } else { WarmUp::Settled(cut * BATCH) }
}

/// The start to leave out of a series whose second half is known to be settled: the best cut within the first half,
/// though noise may make a later one look better. None of fewer than 20 values.
#[must_use]
pub fn warm_up_within_half(series: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(mean).collect();
    (batches.len() >= 4).then(|| least_error_cut(&batches, batches.len() / 2) * BATCH)
}

/// The cut with the least squared standard error of what remains. Sums run from the back, so this is linear. The last
/// batches are not candidates: a remainder of one or two has hardly any spread by accident.
fn least_error_cut(batches: &[f64], most: usize) -> usize {
    let (mut sum, mut squares) = (0.0, 0.0);
    let (mut best_cut, mut least) = (0, f64::INFINITY);
    let centre = mean(batches);
    for (cut, value) in batches.iter().map(|value| value - centre).enumerate().rev() {
        sum += value;
        squares += value * value;
        let count = (batches.len() - cut) as f64;
        let error = (squares - sum * sum / count).max(0.0) / (count * count);
        if count >= 3.0 && cut <= most && error <= least {
            (best_cut, least) = (cut, error);
        }
    }
    best_cut
}
