//! How sure a mean is when neighbouring values depend on each other.
//!
//! Latencies of neighbouring seconds are alike, so the textbook error `s / sqrt(n)` is too small, often by a factor of
//! three. Three remedies: batch means (Law and Kelton, "Simulation Modeling and Analysis", section on fixed-sample-size
//! procedures), the effective number of independent values from the initial positive sequence of autocorrelations
//! (Geyer, "Practical Markov chain Monte Carlo", 1992), and the closed form for a first-order autoregression with its
//! correlation freed from the bias of short series (Kendall, "Note on bias in the estimation of autocorrelation", 1954).
//! [`mean_interval`] takes the widest, after it has put neighbours together that make up for each other.

use crate::student_quantile;

/// Batches that Schmeiser (1982) found to be enough: more gain little once batches are independent.
const BATCHES: usize = 20;
/// Standard errors (`1 / sqrt(n)`) below zero at which a correlation of neighbours is no chance.
const CLEARLY_BELOW: f64 = 2.0;

/// A mean and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean of the series.
    pub mean: f64,
    /// Half the width of the interval around it.
    pub half_width: f64,
    /// How many independent values the series is worth.
    pub effective_count: f64,
}

impl Interval {
    /// Half width as a share of the mean; infinite for a mean of zero.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        if self.mean == 0.0 { f64::INFINITY } else { self.half_width / self.mean.abs() }
    }

    /// Whether the interval holds `value`.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }
}

/// The interval of the mean of a settled series at `confidence` (0.95), robust to dependence between neighbours.
///
/// None with fewer than eight values: nothing can be said about their dependence then.
#[must_use]
pub fn mean_interval(series: &[f64], confidence: f64) -> Option<Interval> {
    if series.len() < 8 {
        return None;
    }
    let (half_width, effective_count) = widest(series, confidence);
    let half_width = joined(series).map_or(half_width, |joined| half_width.min(widest(&joined, confidence).0));
    Some(Interval { mean: mean(series), half_width, effective_count })
}

/// Half the width by the most careful of the three remedies, and how many independent values the series is worth.
fn widest(series: &[f64], confidence: f64) -> (f64, f64) {
    let effective = effective_count(series);
    let by_correlation = half_width(variance(series), effective, confidence);
    let batches = batch_means(series, BATCHES.min(series.len() / 4));
    let by_batches = half_width(variance(&batches), batches.len() as f64, confidence);
    let (spread, worth) = autoregressive(series, 1);
    let by_autoregression = half_width(spread, worth, confidence);
    (by_correlation.max(by_batches).max(by_autoregression), effective.min(worth))
}

/// Means of neighbours two by two, again and again, while these are clearly one high, one low: None if they never are.
///
/// A cache that is emptied once a second shows seconds of everything and seconds of nothing, and a mean that hardly moves
/// from minute to minute: values that make up for each other are to be taken together, for none of the remedies counts
/// a series for more than it has values. At least as many means are left as there are batches.
fn joined(series: &[f64]) -> Option<Vec<f64>> {
    let mut found: Option<Vec<f64>> = None;
    loop {
        let now = found.as_deref().unwrap_or(series);
        let count = now.len();
        if count < 2 * BATCHES || autocorrelation(now, 1) > -CLEARLY_BELOW / (count as f64).sqrt() {
            return found;
        }
        found = Some(batch_means(now, count / 2));
    }
}

/// Variance of a value and the effective number of values, if the series is a first-order autoregression of which the
/// means of so many parts were taken off, one if none were.
///
/// Values that are alike also spread less around their own mean than around the true one, and seem to be less alike than
/// they are; both are put right here, for each mean that was taken off.
pub(crate) fn autoregressive(series: &[f64], parts: u32) -> (f64, f64) {
    let (count, parts) = (series.len() as f64, f64::from(parts));
    let found = autocorrelation(series, 1);
    let rho = (found + parts * (1.0 + 3.0 * found) / count).clamp(0.0, 0.99);
    let around_means = 1.0 - variance_of_mean(rho, count / parts);
    let whole = variance(series) * (count - 1.0) / count / around_means.max(1.0 / count);
    (whole, 1.0 / variance_of_mean(rho, count))
}

/// Of the mean of so many values of variance 1 whose correlation is `rho` to the power of their distance.
fn variance_of_mean(rho: f64, count: f64) -> f64 {
    let tail = 2.0 * rho * (1.0 - rho.powf(count)) / (count * (1.0 - rho).powi(2));
    ((1.0 + rho) / (1.0 - rho) - tail) / count
}

/// Means of `batches` equal runs of the series; what does not fill a batch is left out at the start, where a series is
/// least settled.
#[must_use]
pub fn batch_means(series: &[f64], batches: usize) -> Vec<f64> {
    let length = series.len().checked_div(batches).unwrap_or(0);
    if length == 0 {
        return Vec::new();
    }
    series[series.len() - length * batches..].chunks(length).map(mean).collect()
}

/// The correlation of the series with itself `lag` values later; zero for a constant series.
#[must_use]
pub fn autocorrelation(series: &[f64], lag: usize) -> f64 {
    let centre = mean(series);
    let spread: f64 = series.iter().map(|value| (value - centre).powi(2)).sum();
    if spread == 0.0 || lag >= series.len() {
        return 0.0;
    }
    let pairs = series.iter().zip(&series[lag..]);
    pairs.map(|(early, late)| (early - centre) * (late - centre)).sum::<f64>() / spread
}

/// How many independent values would give a mean as sure as this series does: `n / (1 + 2 sum of autocorrelations)`.
///
/// The sum ends where two neighbouring autocorrelations no longer add up to more than zero. Between 2 and n.
#[must_use]
pub fn effective_count(series: &[f64]) -> f64 {
    let count = series.len() as f64;
    let pairs =
        (1..series.len() / 2).step_by(2).map(|lag| autocorrelation(series, lag) + autocorrelation(series, lag + 1));
    let sum: f64 = pairs.take_while(|pair| *pair > 0.0).sum();
    (count / (1.0 + 2.0 * sum)).clamp(2.0_f64.min(count), count)
}

fn half_width(variance: f64, count: f64, confidence: f64) -> f64 {
    let degrees = (count - 1.0).max(1.0);
    student_quantile(0.5 + confidence / 2.0, degrees) * (variance / count).sqrt()
}

pub(crate) fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len() as f64
}

pub(crate) fn variance(series: &[f64]) -> f64 {
    let centre = mean(series);
    series.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (series.len() as f64 - 1.0).max(1.0)
}
