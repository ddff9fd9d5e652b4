//! Least squares by Levenberg (1944) and Marquardt (1963), with derivatives from differences.
//!
//! Made for residuals with some noise: differences are taken over the given steps, which are large against the noise.

/// Tries of a round, each with four times the damping.
const TRIES: usize = 12;

/// The best point found and the sum of its squared residuals.
#[derive(Debug, Clone)]
pub struct Minimum {
    pub point: Vec<f64>,
    pub value: f64,
}

/// Minimises the sum of squares of what `residuals` returns, from `start`, in at most `rounds` rounds. The first entry of
/// a point that cannot be evaluated must be infinite.
pub fn minimise(start: &[f64], steps: &[f64], rounds: usize, residuals: impl Fn(&[f64]) -> Vec<f64>) -> Minimum {
    let mut search = Search { steps, damping: 0.1, point: start.to_vec(), residuals: residuals(start) };
    for _ in 0..rounds {
        if !search.round(&residuals) {
            break;
        }
    }
    Minimum { value: sum_of_squares(&search.residuals), point: search.point }
}

struct Search<'a> {
    steps: &'a [f64],
    damping: f64,
    point: Vec<f64>,
    residuals: Vec<f64>,
}

impl Search<'_> {
    /// One derivative and as many tries as it takes to get better. Returns whether it got better.
    fn round(&mut self, residuals: &impl Fn(&[f64]) -> Vec<f64>) -> bool {
        let slopes: Vec<Vec<f64>> = (0..self.point.len()).map(|axis| self.slope(axis, residuals)).collect();
        let before = sum_of_squares(&self.residuals);
        for _ in 0..TRIES {
            let moved = self.moved(&slopes);
            let there = residuals(&moved);
            if sum_of_squares(&there) < before {
                (self.point, self.residuals) = (moved, there);
                self.damping = (self.damping * 0.3).max(1e-4);
                return true;
            }
            self.damping *= 4.0;
        }
        false
    }

    /// How the residuals change over one step of an axis, from both sides.
    fn slope(&self, axis: usize, residuals: &impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
        let at = |share: f64| {
            let mut point = self.point.clone();
            point[axis] += share * self.steps[axis];
            residuals(&point)
        };
        let (low, high) = (at(-0.5), at(0.5));
        let slope = |(low, high): (&f64, &f64)| if low.is_finite() && high.is_finite() { high - low } else { 0.0 };
        low.iter().zip(&high).map(slope).collect()
    }

    /// The point where the linear model is least, damped.
    fn moved(&self, slopes: &[Vec<f64>]) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let count = slopes.len();
        let mut system: Vec<Vec<f64>> = (0..count)
            .map(|row| {
                let mut line: Vec<f64> = slopes.iter().map(|slope| dot(&slopes[row], slope)).collect();
                line[row] += self.damping * line[row] + 1e-12;
                line.push(-dot(&slopes[row], &self.residuals));
                line
            })
            .collect();
        let change = solve(&mut system);
        let limited = change.iter().map(|steps| steps.clamp(-5.0, 5.0));
        self.point.iter().zip(self.steps).zip(limited).map(|((at, step), steps)| at + step * steps).collect()
    }
}

fn sum_of_squares(residuals: &[f64]) -> f64 {
    residuals.iter().map(|residual| residual * residual).sum()
}

/// Gauss and Jordan; the damped matrix is positive definite, so no pivots are sought.
pub fn solve(system: &mut [Vec<f64>]) -> Vec<f64> {
    let count = system.len();
    for pivot in 0..count {
        let head = system[pivot].clone();
        for (row, line) in system.iter_mut().enumerate() {
            if row != pivot {
                let factor = line[pivot] / head[pivot];
                line.iter_mut().zip(&head).for_each(|(value, of_head)| *value -= factor * of_head);
            }
        }
    }
    (0..count).map(|row| system[row][count] / system[row][row]).collect()
}

#[cfg(test)]
mod tests {
    use super::minimise;

    #[test]
    fn the_bottom_of_a_bent_valley_is_found() {
        let rosenbrock = |at: &[f64]| vec![1.0 - at[0], 10.0 * (at[1] - at[0] * at[0])];
        let found = minimise(&[-1.2, 1.0], &[0.01, 0.01], 2_000, rosenbrock);
        assert!((found.point[0] - 1.0).abs() < 0.01 && (found.point[1] - 1.0).abs() < 0.02, "{found:?}");
    }
}
