//! Intervals, warm-up and changes against closed forms and known series.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use storscope_stats::{
    Histogram, WarmUp, autocorrelation, batch_means, effective_count, line_through, mean_interval, normal_quantile,
    strongest_change, student_quantile, warm_up,
};

/// Independent standard normal values.
struct Normals(Xoshiro256PlusPlus);

impl Normals {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn next(&mut self) -> f64 {
        normal_quantile(((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64)
    }

    /// `x[n] = rho x[n-1] + e[n]`: its autocorrelation at lag k is `rho^k`, its mean 0.
    fn autoregressive(&mut self, rho: f64, count: usize) -> Vec<f64> {
        let mut value = self.next() / (1.0 - rho * rho).sqrt();
        let mut step = || {
            value = rho * value + self.next();
            value
        };
        (0..count).map(|_| step()).collect()
    }
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

#[test]
fn normal_quantiles_match_the_tables() {
    for (probability, expected) in [(0.5, 0.0), (0.975, 1.959_963_985), (0.995, 2.575_829_304), (0.01, -2.326_347_874)]
    {
        close(normal_quantile(probability), expected, 1e-8);
    }
}

#[test]
fn student_quantiles_match_the_tables() {
    // NIST/SEMATECH e-Handbook, table 1.3.6.7.2.
    let table = [
        (1.0, 12.706),
        (2.0, 4.303),
        (3.0, 3.182),
        (4.0, 2.776),
        (5.0, 2.571),
        (9.0, 2.262),
        (19.0, 2.093),
        (99.0, 1.984),
    ];
    for (degrees, expected) in table {
        close(student_quantile(0.975, degrees), expected, 1e-3);
        close(student_quantile(0.025, degrees), -expected, 1e-3);
    }
    close(student_quantile(0.995, 10.0), 3.169, 1e-3);
    assert_eq!(student_quantile(0.5, 7.0), 0.0);
}

#[test]
fn autocorrelation_and_effective_count_match_the_closed_form() {
    let series = Normals::new(1).autoregressive(0.8, 200_000);
    close(autocorrelation(&series, 1), 0.8, 0.02);
    close(autocorrelation(&series, 3), 0.512, 0.03);
    // n (1 - rho) / (1 + rho)
    close(effective_count(&series) / series.len() as f64, 0.2 / 1.8, 0.012);
}

#[test]
fn intervals_of_dependent_values_hold_the_mean_as_often_as_they_say() {
    for rho in [0.0, 0.5, 0.8] {
        let mut normals = Normals::new(42);
        let runs = 1_000;
        let held = (0..runs).filter(|_| mean_interval(&normals.autoregressive(rho, 400), 0.95).unwrap().contains(0.0));
        let coverage = held.count() as f64 / f64::from(runs);
        assert!((0.92..=0.995).contains(&coverage), "{coverage} of the intervals hold the mean at rho {rho}");
    }
}

#[test]
fn intervals_of_short_dependent_series_do_not_promise_too_much() {
    for (rho, count, least) in [(0.5, 40, 0.92), (0.8, 40, 0.88), (0.9, 80, 0.88), (0.95, 80, 0.8)] {
        let mut normals = Normals::new(7);
        let runs = 1_000;
        let held =
            (0..runs).filter(|_| mean_interval(&normals.autoregressive(rho, count), 0.95).unwrap().contains(0.0));
        let coverage = held.count() as f64 / f64::from(runs);
        assert!((least..0.99).contains(&coverage), "{coverage} of {count} values at rho {rho}");
    }
}

#[test]
fn values_that_make_up_for_each_other_are_taken_together() {
    let mut normals = Normals::new(31);
    let runs = 2_000;
    for rho in [-0.3, -0.6, -0.9] {
        let mut widths = 0.0;
        let held = (0..runs)
            .filter(|_| {
                let found = mean_interval(&normals.autoregressive(rho, 400), 0.95).unwrap();
                widths += found.half_width / f64::from(runs);
                found.contains(0.0)
            })
            .count();
        let held = held as f64 / f64::from(runs);
        assert!((0.93..=0.999).contains(&held), "{rho}: {held}");
        // The variance of the mean of an AR(1) is that of its innovations over n (1 - rho)^2.
        let true_width = 1.96 / (1.0 - rho) / 20.0;
        assert!(widths < 1.9 * true_width, "{rho}: {widths} of {true_width}");
    }
}

#[test]
fn a_cycle_shorter_than_two_values_is_none_of_the_uncertainty() {
    // A cache that is emptied every 2.5 values: all of it in one value, nothing in the others.
    let mut normals = Normals::new(7);
    let series: Vec<f64> =
        (0..200).map(|at| if (2 * at) % 5 < 2 { 1000.0 + 20.0 * normals.next() } else { 0.0 }).collect();
    let found = mean_interval(&series, 0.95).unwrap();
    assert!(found.contains(400.0));
    assert!(found.half_width < 25.0, "{}", found.half_width);
}

#[test]
fn intervals_are_not_wider_than_dependence_demands() {
    let series = Normals::new(3).autoregressive(0.0, 10_000);
    let half_width = mean_interval(&series, 0.95).unwrap().half_width;
    assert!((0.0185..0.03).contains(&half_width), "1.96 / sqrt(10000) is 0.0196, got {half_width}");
}

#[test]
fn a_constant_series_is_certain_and_a_short_one_says_nothing() {
    let interval = mean_interval(&[3.0; 50], 0.95).unwrap();
    assert_eq!((interval.mean, interval.half_width), (3.0, 0.0));
    assert_eq!(mean_interval(&[1.0; 7], 0.95), None);
}

#[test]
fn batches_leave_out_the_start() {
    assert_eq!(batch_means(&[100.0, 1.0, 3.0, 5.0, 7.0], 2), [2.0, 6.0]);
    assert!(batch_means(&[1.0], 2).is_empty());
}

#[test]
fn warm_up_finds_the_end_of_a_decay() {
    let mut normals = Normals::new(5);
    for time_constant in [5.0, 10.0, 20.0] {
        let series: Vec<f64> =
            (0..300).map(|index| 100.0 + 50.0 * f64::exp(-f64::from(index) / time_constant) + normals.next()).collect();
        let WarmUp::Settled(cut) = warm_up(&series) else { panic!("did not settle at {time_constant}") };
        let left_over = 50.0 * f64::exp(-(cut as f64) / time_constant);
        assert!(left_over < 4.0, "{left_over} left after {cut} at {time_constant}");
        assert!((cut as f64) < 10.0 * time_constant, "{cut} is far more than needed at {time_constant}");
    }
}

#[test]
fn warm_up_keeps_a_settled_series_and_rejects_a_ramp() {
    let settled: Vec<WarmUp> = (0..50).map(|seed| warm_up(&Normals::new(seed).autoregressive(0.0, 200))).collect();
    let kept = settled.iter().filter(|found| matches!(found, WarmUp::Settled(cut) if *cut <= 50)).count();
    assert!(kept >= 35, "only {kept} of 50 settled series are mostly kept");
    let ramp: Vec<f64> = (0..200).map(f64::from).collect();
    assert_eq!(warm_up(&ramp), WarmUp::Unsettled);
    assert_eq!(warm_up(&[1.0; 19]), WarmUp::TooShort);
}

#[test]
fn a_step_is_found_where_it_is() {
    let mut series = Normals::new(9).autoregressive(0.5, 300);
    series[180..].iter_mut().for_each(|value| *value += 3.0);
    let change = strongest_change(&series).unwrap();
    assert!(change.at.abs_diff(180) <= 5, "found at {}", change.at);
    assert!(change.probability_of_chance < 0.001, "{change:?}");
    close(change.after - change.before, 3.0, 0.6);
}

#[test]
fn no_more_changes_are_seen_in_noise_than_promised() {
    let mut normals = Normals::new(11);
    for (rho, count, most) in [(0.5, 300, 30), (0.8, 120, 45), (0.9, 300, 45)] {
        let alarms = (0..400)
            .filter(|_| strongest_change(&normals.autoregressive(rho, count)).unwrap().probability_of_chance < 0.05)
            .count();
        assert!(alarms <= most, "{alarms} of 400 series without a change raise an alarm at 5 %, {rho}");
    }
    assert_eq!(strongest_change(&[2.0; 30]), None);
}

#[test]
fn a_change_of_two_deviations_is_seen_in_a_minute() {
    let mut normals = Normals::new(12);
    let mut is_seen = || {
        let noise = normals.autoregressive(0.0, 60);
        let series: Vec<f64> = noise.iter().enumerate().map(|(n, x)| x + if n < 30 { 0.0 } else { 2.0 }).collect();
        strongest_change(&series).unwrap().probability_of_chance < 0.001
    };
    let seen = (0..100).filter(|_| is_seen()).count();
    assert!(seen >= 99, "{seen} of 100");
}

/// A storage that does most of its work in bursts: after each it has to gather for five to seven values. It makes up for
/// what it did too early or too late.
fn pulses(normals: &mut Normals, count: usize) -> Vec<f64> {
    let mut series: Vec<f64> = (0..count).map(|_| 1.0 + 0.02 * normals.next()).collect();
    let mut at = 3.0 + 3.0 * normals.next().clamp(-1.0, 1.0);
    while (at as usize) < count {
        series[at as usize] += 3.0;
        at += 6.0 + normals.next().clamp(-1.0, 1.0);
    }
    series
}

/// Of two neighbours one is high, one low.
fn alternating(normals: &mut Normals, count: usize) -> Vec<f64> {
    normals.autoregressive(-0.5, count)
}

#[test]
fn a_line_is_as_sure_as_it_says_also_where_neighbours_make_up_for_each_other() {
    for draw in [alternating, pulses, |normals: &mut Normals, count| normals.autoregressive(0.0, count)] {
        let mut normals = Normals::new(13);
        let lines: Vec<_> = (0..400).map(|_| line_through(&draw(&mut normals, 200)).unwrap()).collect();
        let spread = (lines.iter().map(|line| line.change.powi(2)).sum::<f64>() / 400.0).sqrt();
        let said = (lines.iter().map(|line| line.deviation.powi(2)).sum::<f64>() / 400.0).sqrt();
        assert!(spread / said < 1.2, "{spread} in truth, {said} as said");
        assert!(said / spread < 1.5, "{spread} in truth, {said} as said");
        let alarms = lines.iter().filter(|line| line.change.abs() > 2.576 * line.deviation).count();
        assert!(alarms <= 12, "{alarms} of 400 series without a drift raise an alarm at 1 %");
    }
}

#[test]
fn a_drift_that_bursts_hide_from_the_textbook_error_is_clear_to_a_line_that_knows_of_them() {
    let mut normals = Normals::new(14);
    let mut found = || {
        let noise = pulses(&mut normals, 200);
        let falling: Vec<f64> = noise.iter().enumerate().map(|(n, x)| x * (1.1 - 0.001 * n as f64)).collect();
        line_through(&falling).unwrap()
    };
    let lines: Vec<_> = (0..100).map(|_| found()).collect();
    assert!(lines.iter().filter(|line| -line.change > 2.576 * line.deviation).count() >= 95);
    assert!(lines.iter().filter(|line| -line.change > 2.576 * line.deviation_if_independent).count() <= 5);
}

#[test]
fn a_cycle_that_the_end_cuts_is_no_drift() {
    let mut normals = Normals::new(15);
    for cycle in [7.3, 25.0, 60.0] {
        for phase in 0..20 {
            let at = |n: usize| std::f64::consts::TAU * (n as f64 / cycle + f64::from(phase) / 20.0);
            let series: Vec<f64> = (0..150).map(|n| 10.0 + at(n).sin() + 0.02 * normals.next()).collect();
            let line = line_through(&series).unwrap();
            assert!(line.change.abs() < 2.576 * line.deviation, "{line:?} of a cycle of {cycle}, at {phase}");
        }
    }
}

#[test]
fn what_is_too_short_or_does_not_move_has_no_line() {
    assert_eq!(line_through(&[1.0, 3.0, 2.0].repeat(6)), None);
    assert_eq!(line_through(&[2.0; 30]), None);
    let ramp: Vec<f64> = (0..100).map(f64::from).collect();
    let line = line_through(&ramp).map_or((49.5, 99.0), |line| (line.centre, line.change));
    close(line.0, 49.5, 1e-9);
    close(line.1, 99.0, 1e-9);
}

#[test]
fn mean_of_exponential_latencies_is_exact_and_quantiles_close() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut histogram = Histogram::new();
    let mut sum = 0.0;
    for _ in 0..100_000 {
        let value = (-(((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln() * 1e6) as u64;
        sum += value as f64;
        histogram.record(value);
    }
    close(histogram.mean().unwrap(), sum / 1e5, 1e-6);
    // Theory: ln(100) ms, and the sampling error of a p99 of 1e5 values is 1 %.
    close(histogram.quantile(0.99).unwrap() as f64, 4.605e6, 0.03 * 4.605e6);
}
