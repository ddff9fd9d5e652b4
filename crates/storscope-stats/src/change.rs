//! Where the level of a series changes.
//!
//! The cumulative sum of deviations is farthest from zero at a change of the mean (Page 1954). Whether that is more
//! than chance is judged with the long-run standard deviation, widened for dependence between neighbours, against the
//! largest excursion of a Brownian bridge (Kolmogorov's distribution; Ploberger and Kramer 1992).

use crate::interval::{autoregressive, effective_count, mean, variance};

/// A change of the level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first index of the new level.
    pub at: usize,
    /// Mean before.
    pub before: f64,
    /// Mean after.
    pub after: f64,
    /// Probability that a series without a change shows one as strong: small is significant.
    pub probability_of_chance: f64,
}

/// The strongest change of level in a series of at least ten values; none when the series is shorter or constant.
#[must_use]
pub fn strongest_change(series: &[f64]) -> Option<Change> {
    if series.len() < 10 || variance(series) == 0.0 {
        return None;
    }
    let at = farthest_sum(series).0;
    let (before, after) = (mean(&series[..at]), mean(&series[at..]));
    let excursion = farthest_sum(series).1 / (series.len() as f64).sqrt() / long_run_deviation(series, at);
    Some(Change { at, before, after, probability_of_chance: kolmogorov_tail(excursion) })
}

/// The split with the largest cumulative sum of deviations, and that sum.
fn farthest_sum(series: &[f64]) -> (usize, f64) {
    let centre = mean(series);
    let mut sum = 0.0;
    let mut best = (1, 0.0);
    for (index, value) in series[..series.len() - 1].iter().enumerate() {
        sum += value - centre;
        if f64::abs(sum) > best.1 {
            best = (index + 1, f64::abs(sum));
        }
    }
    best
}

/// Of the series without the change, so that the change itself does not count as noise: by its autocorrelations or as of
/// a first-order autoregression, whichever is more. In a short series the former see too little of the dependence.
fn long_run_deviation(series: &[f64], at: usize) -> f64 {
    let (early, late) = series.split_at(at);
    let (low, high) = (mean(early), mean(late));
    let noise: Vec<f64> = early.iter().map(|value| value - low).chain(late.iter().map(|value| value - high)).collect();
    let count = noise.len() as f64;
    let by_correlation = variance(&noise) * count / effective_count(&noise);
    let (spread, worth) = autoregressive(&noise, 2);
    by_correlation.max(spread * count / worth).sqrt().max(f64::MIN_POSITIVE)
}

/// `P(sup |bridge| > x) = 2 sum (-1)^(k-1) exp(-2 k^2 x^2)`.
fn kolmogorov_tail(x: f64) -> f64 {
    if x < 0.2 {
        return 1.0;
    }
    let term = |k: i32| f64::from(1 - 2 * ((k - 1) % 2)) * (-2.0 * f64::from(k * k) * x * x).exp();
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}
