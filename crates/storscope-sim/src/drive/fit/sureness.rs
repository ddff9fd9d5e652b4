//! How well a trace tells each number of a fit.
//!
//! The trace is taken without one of its parts at a time, and the numbers move by one step of least squares to where they
//! would fit what is left (the infinitesimal jackknife of Jaeckel, 1972, by parts). Parts that follow each other in time
//! carry what changes over time too. It says nothing of what the model itself leaves out.

use super::classes;
use super::levenberg::solve;
use super::trace::TraceOp;

/// Parts of a trace.
const PARTS: usize = 20;
/// A number that moves the distance by less than this share of the mean when it doubles is not seen.
const LEAST_SEEN: f64 = 1e-3;
/// Standard error of a logarithm up to which a number counts as known: about a quarter of it.
pub const LARGEST_KNOWN: f64 = 0.25;
/// Correlation from which two numbers are known better together than each.
const TOGETHER: f64 = 0.9;

/// What is known of the numbers of a point.
#[derive(Debug, Clone)]
pub struct Sureness {
    /// Standard error of each coordinate; nothing of one that the trace does not show.
    errors: Vec<Option<f64>>,
    covariance: Vec<Vec<f64>>,
}

impl Sureness {
    /// At a point, given what the drive of a point does; nothing is known if it does nothing.
    pub fn of(
        trace: &[TraceOp],
        point: &[f64],
        steps: &[f64],
        replayed: impl Fn(&[f64]) -> Option<Vec<Vec<f64>>>,
    ) -> Self {
        let unknown = Self { errors: vec![None; point.len()], covariance: vec![vec![0.0; point.len()]; point.len()] };
        let whole = classes::split(trace);
        let Some(there) = replayed(point) else { return unknown };
        let slope = |axis: usize| {
            let at = |share: f64| {
                let mut moved = point.to_vec();
                moved[axis] += share * steps[axis];
                replayed(&moved).map(|replays| whole.residuals(&replays))
            };
            let (low, high) = (at(-0.5)?, at(0.5)?);
            Some(low.iter().zip(&high).map(|(low, high)| (high - low) / steps[axis]).collect::<Vec<f64>>())
        };
        let slopes: Vec<Option<Vec<f64>>> = (0..point.len()).map(slope).collect();
        let is_seen =
            |slope: &Option<Vec<f64>>| slope.as_ref().is_some_and(|slope| dot(slope, slope).sqrt() > LEAST_SEEN);
        let seen: Vec<usize> = (0..point.len()).filter(|&axis| is_seen(&slopes[axis])).collect();
        let of_seen: Vec<&Vec<f64>> = seen.iter().filter_map(|&axis| slopes[axis].as_ref()).collect();
        let moves: Vec<Vec<f64>> = (0..PARTS)
            .map(|part| {
                let bound = |part: usize| part * trace.len() / PARTS;
                step(&of_seen, &classes::split_without(trace, bound(part)..bound(part + 1)).residuals(&there))
            })
            .collect();
        let small = jackknife(&moves);
        let mut found = unknown;
        for (row, &axis) in seen.iter().enumerate() {
            found.errors[axis] = Some(small[row][row].sqrt());
            for (column, &other) in seen.iter().enumerate() {
                found.covariance[axis][other] = small[row][column];
            }
        }
        found
    }

    /// Standard error of a coordinate; nothing when the trace does not show it.
    pub fn error(&self, axis: usize) -> Option<f64> {
        self.errors[axis]
    }

    /// Whether the trace tells the coordinate.
    pub fn is_known(&self, axis: usize) -> bool {
        self.errors[axis].is_some_and(|error| error <= LARGEST_KNOWN)
    }

    /// The coordinate that this one goes with, if one does.
    pub fn partner(&self, axis: usize) -> Option<usize> {
        let own = self.errors[axis]?;
        let correlation = |other: usize| {
            let error = self.errors[other].filter(|error| other != axis && *error > 0.0 && own > 0.0)?;
            Some((other, (self.covariance[axis][other] / (own * error)).abs()))
        };
        let best = (0..self.errors.len()).filter_map(correlation).max_by(|a, b| a.1.total_cmp(&b.1));
        best.filter(|(_, correlation)| *correlation >= TOGETHER).map(|(other, _)| other)
    }
}

/// The step of least squares from where the residuals are.
fn step(slopes: &[&Vec<f64>], residuals: &[f64]) -> Vec<f64> {
    let line = |row: &&Vec<f64>| {
        let mut line: Vec<f64> = slopes.iter().map(|slope| dot(row, slope)).collect();
        line.push(-dot(row, residuals));
        line
    };
    let mut system: Vec<Vec<f64>> = slopes.iter().map(line).collect();
    for (row, line) in system.iter_mut().enumerate() {
        line[row] *= 1.0 + 1e-6; // two numbers that act quite alike must not make it singular
    }
    solve(&mut system)
}

/// Covariance of an estimate from those without one part each.
pub fn jackknife(estimates: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = estimates.len() as f64;
    let axes = estimates.first().map_or(0, Vec::len);
    let mean = |axis: usize| estimates.iter().map(|estimate| estimate[axis]).sum::<f64>() / count;
    let means: Vec<f64> = (0..axes).map(mean).collect();
    let product = |row: usize, column: usize| {
        let apart = |estimate: &Vec<f64>| (estimate[row] - means[row]) * (estimate[column] - means[column]);
        estimates.iter().map(apart).sum::<f64>() * (count - 1.0) / count
    };
    (0..axes).map(|row| (0..axes).map(|column| product(row, column)).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::jackknife;

    #[test]
    fn the_jackknife_of_a_mean_is_its_textbook_error() {
        // Of a mean of n values the jackknife gives exactly s² / n (Tukey, 1958).
        let values = [3.0, 5.0, 4.0, 8.0, 1.0];
        let total: f64 = values.iter().sum();
        let without: Vec<Vec<f64>> = values.iter().map(|value| vec![(total - value) / 4.0]).collect();
        let mean = total / 5.0;
        let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / 4.0;
        assert!((jackknife(&without)[0][0] - variance / 5.0).abs() < 1e-12);
    }
}
