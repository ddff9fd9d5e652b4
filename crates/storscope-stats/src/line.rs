//! The line of least squares through a series, and how far noise tilts it.
//!
//! The noise around the line is taken for an autoregression: the autoregressive method of simulation output analysis
//! (Fishman, "Concepts and Methods in Discrete Event Digital Simulation", 1973; Law and Kelton, "Simulation Modeling and
//! Analysis"), its coefficients by the recursion of Levinson and Durbin (Durbin, "The fitting of time-series models",
//! 1960), its order by Akaike's criterion as put right for short series (Hurvich and Tsai, "Regression and time series
//! model selection in small samples", 1989). Of it follow the correlations at all distances, and of these the variance of
//! the slope without further approximation (Grenander and Rosenblatt, "Statistical Analysis of Stationary Time Series",
//! 1957), so that a cycle that the series' end cuts counts for what it is.
//!
//! Unlike the remedies of interval.rs, which count a series for no more than it has values, this knows of noise that comes
//! round: one high is made up for by the lows behind it, and mean and slope are surer than they look.
//!
//! Beware: fitted correlations of values that stay alike for long are too small (Kendall 1954); there interval.rs is the
//! more careful. Prefer this where `deviation` is less than `deviation_if_independent`.

/// Of so many values the model may have one coefficient at most.
const VALUES_PER_COEFFICIENT: usize = 4;

/// A line through a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// The line in the middle of the series: its mean.
    pub centre: f64,
    /// From the first value to the last.
    pub change: f64,
    /// Standard deviation of the change, of noise as it is around the line.
    pub deviation: f64,
    /// What it would be if neighbours had nothing to do with each other.
    pub deviation_if_independent: f64,
}

/// The line through a series of at least twenty values; none when it is shorter or constant.
#[must_use]
pub fn line_through(series: &[f64]) -> Option<Line> {
    if series.len() < 20 {
        return None;
    }
    let weights = weights_of_change(series.len());
    let centre = series.iter().sum::<f64>() / series.len() as f64;
    let change: f64 = series.iter().zip(&weights).map(|(value, weight)| (value - centre) * weight).sum();
    let times = (0..series.len()).map(|index| time_of(index, series.len()));
    let noise: Vec<f64> = series.iter().zip(times).map(|(value, time)| value - centre - change * time).collect();
    let covariances = modelled_covariances(&noise)?;
    let terms: Vec<f64> = covariances.iter().enumerate().map(|(lag, one)| one * products(&weights, lag)).collect();
    let variance = terms[0] + 2.0 * terms[1..].iter().sum::<f64>();
    Some(Line { centre, change, deviation: variance.max(0.0).sqrt(), deviation_if_independent: terms[0].sqrt() })
}

/// From -0.5 to 0.5.
fn time_of(index: usize, count: usize) -> f64 {
    index as f64 / (count - 1) as f64 - 0.5
}

/// What each value counts for in the line's change from end to end.
fn weights_of_change(count: usize) -> Vec<f64> {
    let times: Vec<f64> = (0..count).map(|index| time_of(index, count)).collect();
    let squares = products(&times, 0);
    times.iter().map(|time| time / squares).collect()
}

/// Of values with those so much later.
fn products(series: &[f64], lag: usize) -> f64 {
    series.iter().zip(&series[lag..]).map(|(early, late)| early * late).sum()
}

/// Covariances at all distances within noise of mean zero, as of the autoregression that fits it: the measured ones as far
/// as its order, and what follows of them.
fn modelled_covariances(noise: &[f64]) -> Option<Vec<f64>> {
    let count = noise.len();
    // The greatest order that is tried: as by default in `ar` of S and R.
    let most = ((10.0 * (count as f64).log10()) as usize).min(count / VALUES_PER_COEFFICIENT);
    let mut covariances: Vec<f64> = (0..=most).map(|lag| products(noise, lag) / count as f64).collect();
    let coefficients = autoregression(&covariances, count)?;
    covariances.truncate(coefficients.len() + 1);
    while covariances.len() < count {
        let latest = covariances.iter().rev();
        let next = coefficients.iter().zip(latest).map(|(coefficient, one)| coefficient * one).sum();
        covariances.push(next);
    }
    Some(covariances)
}

/// The coefficients, that of the nearest value first: none of independent values. Without any noise there is no model.
fn autoregression(covariances: &[f64], count: usize) -> Option<Vec<f64>> {
    let mut unexplained = covariances[0];
    if unexplained <= 0.0 {
        return None;
    }
    let mut coefficients: Vec<f64> = Vec::new();
    let mut best = (criterion(unexplained, 0, count), Vec::new());
    for order in 1..covariances.len() {
        let earlier = coefficients.iter().zip(covariances[1..order].iter().rev());
        let known: f64 = earlier.map(|(coefficient, one)| coefficient * one).sum();
        let reflection = (covariances[order] - known) / unexplained;
        unexplained *= 1.0 - reflection * reflection;
        if unexplained <= 0.0 {
            break;
        }
        let mirrored: Vec<f64> = coefficients.iter().rev().copied().collect();
        coefficients.iter_mut().zip(&mirrored).for_each(|(one, other)| *one -= reflection * other);
        coefficients.push(reflection);
        let found = criterion(unexplained, order, count);
        if found < best.0 {
            best = (found, coefficients.clone());
        }
    }
    Some(best.1)
}

/// What the best order makes least.
fn criterion(unexplained: f64, order: usize, count: usize) -> f64 {
    let (order, count) = (order as f64, count as f64);
    count * unexplained.ln() + 2.0 * (order + 1.0) * count / (count - order - 2.0)
}
