//! Arrivals: their rate and their distribution.

mod support;

use std::cell::RefCell;
use std::rc::Rc;

use storscope_device::{NullDevice, VirtualClock};
use storscope_load::{Arrivals, Random};
use storscope_types::{Load, Process};
use support::{GIB, Spy, ios, mix, open, reads_4k, run, task};

fn arrivals(rate_per_s: f64, process: Process, worker: u32, workers: u32) -> Arrivals {
    let load = Load::Open { rate_per_s, process, max_outstanding: 1 };
    Arrivals::of(&load, worker, workers, Random::of_worker(3, worker)).unwrap()
}

fn times_ns(mut arrivals: Arrivals, count: usize) -> Vec<f64> {
    let mut take = || {
        let next = arrivals.next_ns();
        arrivals.advance();
        next
    };
    (0..count).map(|_| take()).collect()
}

/// The Kolmogorov-Smirnov distance of gaps from the exponential distribution with this mean.
fn ks_distance(times: &[f64], mean_ns: f64) -> f64 {
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let distance = |(index, gap): (usize, &f64)| {
        let truth = 1.0 - f64::exp(-gap / mean_ns);
        (truth - index as f64 / count).abs().max((truth - (index + 1) as f64 / count).abs())
    };
    gaps.iter().enumerate().map(distance).fold(0.0, f64::max)
}

#[test]
fn poisson_gaps_are_exponential_at_every_rate() {
    const COUNT: usize = 100_000;
    for rate in [100.0, 1_000.0, 9_000.0, 60_000.0, 150_000.0, 300_000.0, 500_000.0] {
        let times = times_ns(arrivals(rate, Process::Poisson, 0, 1), COUNT);
        let distance = ks_distance(&times, 1e9 / rate);
        // The 99.9 % point of Kolmogorov's distribution is 1.95 / sqrt(n).
        assert!(distance < 1.95 / (COUNT as f64).sqrt(), "distance {distance} at {rate}/s");
        let measured = COUNT as f64 / times[COUNT - 1] * 1e9;
        assert!((measured / rate - 1.0).abs() < 4.0 / (COUNT as f64).sqrt(), "{measured}/s instead of {rate}/s");
    }
}

/// In virtual time nothing is late, so what the device gets is what was intended.
#[test]
fn what_the_generator_sends_is_exponential_at_every_rate() {
    const COUNT: u64 = 50_000;
    for rate in [100.0, 2_000.0, 9_000.0, 60_000.0, 150_000.0, 300_000.0, 500_000.0] {
        let clock = VirtualClock::default();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let device = Spy { device: NullDevice::new(clock.clone(), 64), seen: Rc::clone(&seen), clock: clock.clone() };
        let workload = mix(vec![reads_4k()], open(rate, Process::Poisson, 64));
        let outcome = run(device, clock, &task(&workload, &[GIB], ios(COUNT)));
        assert_eq!(outcome.total.all().lateness.max(), Some(0));
        let times: Vec<f64> = seen.borrow().iter().map(|(at, _)| at.0 as f64).collect();
        let distance = ks_distance(&times, 1e9 / rate);
        assert!(distance < 1.95 / (COUNT as f64).sqrt(), "distance {distance} at {rate}/s");
    }
}

#[test]
fn arrivals_of_several_workers_together_are_poisson() {
    let mut times: Vec<f64> =
        (0..4).flat_map(|worker| times_ns(arrivals(40_000.0, Process::Poisson, worker, 4), 25_000)).collect();
    times.sort_by(f64::total_cmp);
    times.truncate(90_000);
    assert!(ks_distance(&times, 25_000.0) < 1.95 / 300.0);
}

#[test]
fn the_test_itself_finds_whole_microseconds() {
    let rounded: Vec<f64> = times_ns(arrivals(300_000.0, Process::Poisson, 0, 1), 100_000)
        .iter()
        .map(|time| (time / 1_000.0).floor() * 1_000.0)
        .collect();
    assert!(ks_distance(&rounded, 1e9 / 300_000.0) > 0.1);
}

#[test]
fn fixed_arrivals_do_not_drift() {
    let times = times_ns(arrivals(300_000.0, Process::Fixed, 0, 1), 3_000_001);
    assert!((times[3_000_000] - 10e9).abs() < 1.0, "the 3,000,000th is due after 10 s, not {}", times[3_000_000]);
}

#[test]
fn fixed_arrivals_of_workers_take_turns() {
    let first = times_ns(arrivals(1_000.0, Process::Fixed, 0, 2), 3);
    let second = times_ns(arrivals(1_000.0, Process::Fixed, 1, 2), 3);
    assert_eq!(first, [0.0, 2e6, 4e6]);
    assert_eq!(second, [1e6, 3e6, 5e6]);
}
