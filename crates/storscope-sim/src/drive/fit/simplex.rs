//! Nelder and Mead's simplex (1965), with the coefficients for many dimensions of Gao and Han (2012).

/// The best point found, its value, and the evaluations it took.
#[derive(Debug, Clone)]
pub struct Minimum {
    pub point: Vec<f64>,
    pub value: f64,
}

/// Minimises `cost` from `start` with first steps of the given sizes. Stops after about `evaluations`, or when the simplex
/// agrees to one part in 100,000.
pub fn minimise(start: &[f64], steps: &[f64], evaluations: usize, mut cost: impl FnMut(&[f64]) -> f64) -> Minimum {
    let mut simplex = first_simplex(start, steps, &mut cost);
    let mut used = simplex.len();
    while used < evaluations && !has_settled(&simplex) {
        used += improve(&mut simplex, &mut cost);
    }
    sort(&mut simplex);
    simplex.swap_remove(0)
}

fn first_simplex(start: &[f64], steps: &[f64], cost: &mut impl FnMut(&[f64]) -> f64) -> Vec<Minimum> {
    let mut simplex = vec![Minimum { point: start.to_vec(), value: cost(start) }];
    for (axis, step) in steps.iter().enumerate() {
        let mut point = start.to_vec();
        point[axis] += step;
        simplex.push(Minimum { value: cost(&point), point });
    }
    simplex
}

fn has_settled(simplex: &[Minimum]) -> bool {
    let values = simplex.iter().map(|corner| corner.value);
    let (least, most) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    most - least <= 1e-5 * least
}

fn sort(simplex: &mut [Minimum]) {
    simplex.sort_by(|a, b| a.value.total_cmp(&b.value));
}

/// One step; returns the evaluations it took.
fn improve(simplex: &mut [Minimum], cost: &mut impl FnMut(&[f64]) -> f64) -> usize {
    sort(simplex);
    let last = simplex.len() - 1;
    let dimensions = last as f64;
    let centre = centre(&simplex[..last]);
    let mut try_at = |factor: f64, worst: &[f64]| {
        let point: Vec<f64> = centre.iter().zip(worst).map(|(middle, far)| middle + factor * (middle - far)).collect();
        Minimum { value: cost(&point), point }
    };
    let worst = simplex[last].clone();
    let reflected = try_at(1.0, &worst.point);
    if reflected.value < simplex[0].value {
        let expanded = try_at(1.0 + 2.0 / dimensions, &worst.point);
        simplex[last] = if expanded.value < reflected.value { expanded } else { reflected };
        return 2;
    }
    if reflected.value < simplex[last - 1].value {
        simplex[last] = reflected;
        return 1;
    }
    let inward = 0.75 - 0.5 / dimensions;
    let contracted = try_at(if reflected.value < worst.value { inward } else { -inward }, &worst.point);
    if contracted.value < worst.value.min(reflected.value) {
        simplex[last] = contracted;
        return 2;
    }
    2 + shrink(simplex, 1.0 - 1.0 / dimensions, cost)
}

fn centre(corners: &[Minimum]) -> Vec<f64> {
    let count = corners.len() as f64;
    (0..corners[0].point.len())
        .map(|axis| corners.iter().map(|corner| corner.point[axis]).sum::<f64>() / count)
        .collect()
}

fn shrink(simplex: &mut [Minimum], factor: f64, cost: &mut impl FnMut(&[f64]) -> f64) -> usize {
    let best = simplex[0].point.clone();
    for corner in &mut simplex[1..] {
        for (coordinate, target) in corner.point.iter_mut().zip(&best) {
            *coordinate = target + factor * (*coordinate - target);
        }
        corner.value = cost(&corner.point);
    }
    simplex.len() - 1
}

#[cfg(test)]
mod tests {
    use super::minimise;

    #[test]
    fn the_bottom_of_a_bent_valley_is_found() {
        let rosenbrock = |at: &[f64]| (1.0 - at[0]).powi(2) + 100.0 * (at[1] - at[0] * at[0]).powi(2);
        let found = minimise(&[-1.2, 1.0], &[0.5, 0.5], 2_000, rosenbrock);
        assert!((found.point[0] - 1.0).abs() < 0.01 && (found.point[1] - 1.0).abs() < 0.02, "{found:?}");
    }
}
