//! How far apart two distributions of response times are.
//!
//! The root mean square of the horizontal distance between the two distribution curves, the measure of Ruemmler and
//! Wilkes (1994) that DiskSim's validation uses.

use serde::Serialize;

/// Quantiles that are compared.
const QUANTILES: usize = 1000;

/// A distance between distributions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Demerit {
    /// In the unit of the times.
    pub rms: f64,
    /// As a share of the mean of the measured times.
    pub ratio: f64,
}

/// The distance of `predicted` from `measured`; both must be sorted and not empty.
#[must_use]
pub fn demerit(measured: &[f64], predicted: &[f64]) -> Demerit {
    let square = |index: usize| {
        let share = (index as f64 + 0.5) / QUANTILES as f64;
        let distance = quantile(measured, share) - quantile(predicted, share);
        distance * distance
    };
    let rms = ((0..QUANTILES).map(square).sum::<f64>() / QUANTILES as f64).sqrt();
    let mean = measured.iter().sum::<f64>() / measured.len() as f64;
    Demerit { rms, ratio: rms / mean }
}

/// The value below which a share of the sorted values lies, interpolated between neighbours.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * sorted.len() as f64 - 0.5).clamp(0.0, (sorted.len() - 1) as f64);
    let low = at as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}

#[cfg(test)]
mod tests {
    use super::demerit;

    #[test]
    fn a_shift_is_its_own_distance() {
        let measured: Vec<f64> = (0..500).map(|step| 5.0 + f64::from(step) * 0.01).collect();
        let shifted: Vec<f64> = measured.iter().map(|time| time + 0.3).collect();
        let distance = demerit(&measured, &shifted);
        assert!((distance.rms - 0.3).abs() < 1e-12);
        assert_eq!(demerit(&measured, &measured).rms, 0.0);
    }

    #[test]
    fn a_uniform_stretched_by_half_is_off_by_half_its_root_mean_square() {
        // |1.5 u - u| = u / 2, and the root mean square of a uniform is 1 / sqrt(3).
        let measured: Vec<f64> = (0..10_000).map(|step| (f64::from(step) + 0.5) / 10_000.0).collect();
        let stretched: Vec<f64> = measured.iter().map(|time| time * 1.5).collect();
        assert!((demerit(&measured, &stretched).rms - 0.5 / 3_f64.sqrt()).abs() < 1e-4);
    }
}
