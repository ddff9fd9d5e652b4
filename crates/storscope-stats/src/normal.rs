//! Quantiles of the normal and of Student's distribution.

use std::f64::consts::FRAC_PI_2;

/// The standard normal quantile; relative error below 1.2e-9.
///
/// P. J. Acklam's rational approximation ("An algorithm for computing the inverse normal cumulative distribution
/// function", 2003).
///
/// # Panics
/// When `probability` is not strictly between 0 and 1.
#[must_use]
pub fn normal_quantile(probability: f64) -> f64 {
    assert!(probability > 0.0 && probability < 1.0, "a probability strictly between 0 and 1, not {probability}");
    if probability > 0.5 {
        return -normal_quantile(1.0 - probability);
    }
    const TAIL: f64 = 0.024_25;
    if probability < TAIL { lower_tail(probability) } else { centre(probability) }
}

fn lower_tail(probability: f64) -> f64 {
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] =
        [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416, 1.0];
    let q = (-2.0 * probability.ln()).sqrt();
    polynomial(&C, q) / polynomial(&D, q)
}

fn centre(probability: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    let q = probability - 0.5;
    let r = q * q;
    polynomial(&A, r) * q / polynomial(&B, r)
}

/// Student's quantile with `degrees` of freedom, which may be a fraction.
///
/// Exact for one and two degrees; otherwise G. W. Hill, "Algorithm 396: Student's t-quantiles" (CACM 1970), within 2e-4
/// of the tables from three degrees on.
///
/// # Panics
/// When `probability` is not strictly between 0 and 1 or `degrees` is below 1.
#[must_use]
pub fn student_quantile(probability: f64, degrees: f64) -> f64 {
    assert!(degrees >= 1.0, "at least one degree of freedom, not {degrees}");
    if probability < 0.5 {
        return -student_quantile(1.0 - probability, degrees);
    }
    let tails = 2.0 * (1.0 - probability);
    if tails >= 1.0 {
        0.0
    } else if degrees == 1.0 {
        (tails * FRAC_PI_2).tan().recip()
    } else if degrees == 2.0 {
        (2.0 / (tails * (2.0 - tails)) - 2.0).sqrt()
    } else {
        hill(tails, degrees)
    }
}

/// The names are those of the paper.
fn hill(p: f64, n: f64) -> f64 {
    let a = 1.0 / (n - 0.5);
    let b = (48.0 / a).powi(2) / 2304.0 * 48.0;
    let mut c = ((20_700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    let d = ((94.5 / (b + c) - 3.0) / b + 1.0) * (a * FRAC_PI_2).sqrt() * n;
    let mut y = (d * p).powf(2.0 / n);
    if y <= 0.05 + a {
        y = ((1.0 / (((n + 6.0) / (n * y) - 0.089 * d - 0.822) * (n + 2.0) * 3.0) + 0.5 / (n + 4.0)) * y - 1.0)
            * (n + 1.0)
            / (n + 2.0)
            + 1.0 / y;
        return (n * y).sqrt();
    }
    let mut x = normal_quantile(p * 0.5);
    y = x * x;
    if n < 5.0 {
        c += 0.3 * (n - 4.5) * (x + 0.6);
    }
    c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b;
    y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
    x = a * y * y;
    (n * x.exp_m1()).sqrt()
}

/// Coefficients from the highest power down.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}
