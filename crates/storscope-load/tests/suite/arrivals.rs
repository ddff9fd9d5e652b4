//! Arrivals: their rate and their distribution.

use std::cell::RefCell;
use std::rc::Rc;

use crate::support::{GIB, Spy, closed, ios, mix, open, reads_4k, run, task};
use storscope_device::{NullDevice, VirtualClock};
use storscope_load::{Arrivals, Random, Span};
use storscope_types::{Load, Nanos, Process, ThinkTime, Workload};

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
        let device = Spy {
            device: NullDevice::new(clock.clone(), 64),
            seen: Rc::clone(&seen),
            flushes: Rc::default(),
            clock: clock.clone(),
        };
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

/// Blocks of 4 KiB in a GiB.
const BLOCKS: f64 = (1 << 18) as f64;

/// When each request went out, to which target, and how far into it.
fn sent(workload: &Workload, spans: &[Span]) -> Vec<(f64, u32, f64)> {
    let clock = VirtualClock::default();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let device = Spy {
        device: NullDevice::new(clock.clone(), 64),
        seen: Rc::clone(&seen),
        flushes: Rc::default(),
        clock: clock.clone(),
    };
    run(device, clock, &task(workload, spans, ios(20_000)));
    let place = |offset: u64| (offset / 4_096) as f64 / BLOCKS;
    seen.borrow().iter().map(|(at, request)| (at.0 as f64, request.target, place(request.offset))).collect()
}

#[test]
fn arrivals_on_several_targets_reach_all_places_of_each() {
    let workload = mix(vec![reads_4k()], open(10_000.0, Process::Poisson, 64));
    let sent = sent(&workload, &[GIB; 4]);
    for target in 0..4 {
        let places: Vec<f64> = sent.iter().filter(|one| one.1 == target).map(|one| one.2).collect();
        let mut counts = [0.0; 4];
        places.iter().for_each(|place| counts[(place * 4.0) as usize] += 1.0);
        let expected = places.len() as f64 / 4.0;
        let chi_square: f64 = counts.iter().map(|count: &f64| (count - expected).powi(2) / expected).sum();
        // The 99.9 % point with three degrees of freedom.
        assert!(chi_square < 16.3, "target {target}: {counts:?}");
    }
}

#[test]
fn the_pause_after_an_io_does_not_depend_on_its_place() {
    let mut workload = mix(vec![reads_4k()], closed(1));
    workload.streams[0].think_time = Some(ThinkTime { mean: Nanos::from_millis(1), process: Process::Poisson });
    let sent = sent(&workload, &[GIB]);
    let pairs: Vec<(f64, f64)> = sent.windows(2).map(|pair| (pair[0].2, pair[1].0 - pair[0].0)).collect();
    let mean = |values: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(values).sum::<f64>() / pairs.len() as f64;
    let (places, pauses) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    let together = mean(&|pair| (pair.0 - places) * (pair.1 - pauses));
    let spread = (mean(&|pair| (pair.0 - places).powi(2)) * mean(&|pair| (pair.1 - pauses).powi(2))).sqrt();
    assert!((together / spread).abs() < 3.3 / (pairs.len() as f64).sqrt(), "{}", together / spread);
}
