//! Logarithm, exponential and normal quantile from basic arithmetic alone.
//!
//! The platform's own differ in the last bit between libraries, and a simulation must give the same bytes everywhere.
//! Relative errors: `ln` and `exp` below 1e-14, `normal_quantile` below 2e-9.
//!
//! Also what the standard library does with more care than numbers without NaN need, at a multiple of the cost.

/// The greater of two numbers. `f64::max` also passes over a NaN, which takes six instructions more.
#[inline]
pub fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The whole part of a number from 0 to below 2^63. A cast to `u64` is two conversions and a choice on plain x86-64.
#[inline]
pub fn whole(value: f64) -> u64 {
    value as i64 as u64
}

/// Natural logarithm of what is above zero: the exponent, and 2·artanh((m−1)/(m+1)) of the mantissa.
pub fn ln(value: f64) -> f64 {
    let bits = value.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | (1023_u64 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    // |ratio| <= 0.1716: twelve terms leave less than 1e-19.
    let series = (0..12).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * ratio * series
}

/// e to the power of `value`: halved until small, Taylor, squared back through the exponent.
pub fn exp(value: f64) -> f64 {
    let whole = (value / std::f64::consts::LN_2 + if value < 0.0 { -0.5 } else { 0.5 }) as i64;
    let rest = value - whole as f64 * std::f64::consts::LN_2;
    // |rest| <= 0.3466: sixteen terms leave less than 1e-20.
    let series = (1..=16).rev().fold(1.0, |sum, term| 1.0 + sum * rest / f64::from(term));
    let exponent = whole.clamp(-1022, 1023);
    series * f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The standard normal quantile of a probability between 0 and 1, by Acklam's rational approximations (2003; relative
/// error below 1.2e-9).
pub fn normal_quantile(probability: f64) -> f64 {
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
    let tail = |share: f64| {
        let root = (-2.0 * ln(share)).sqrt();
        polynomial(&C, root) / polynomial(&D, root)
    };
    if probability < 0.024_25 {
        tail(probability)
    } else if probability > 1.0 - 0.024_25 {
        -tail(1.0 - probability)
    } else {
        let centred = probability - 0.5;
        let square = centred * centred;
        centred * polynomial(&A, square) / polynomial(&B, square)
    }
}

fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::{exp, ln, normal_quantile};

    #[test]
    fn logarithm_and_exponential_agree_with_the_library_to_fourteen_digits() {
        for step in 1..2_000 {
            let value = f64::from(step) * 0.037;
            assert!((ln(value) - value.ln()).abs() <= 1e-14 * value.ln().abs().max(1.0), "ln {value}");
            let power = value - 37.0;
            assert!((exp(power) / power.exp() - 1.0).abs() < 1e-13, "exp {power}");
        }
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (probability, quantile) in
            [(0.5, 0.0), (0.975, 1.959_963_984_540), (0.01, -2.326_347_874_041), (0.999, 3.090_232_306_168)]
        {
            assert!((normal_quantile(probability) - quantile).abs() < 1e-8, "{probability}");
        }
    }
}
