//! What recording a latency costs, ours beside hdrhistogram's with three digits: nanoseconds per record, the median of
//! nine rounds over exponential latencies.

use std::hint::black_box;
use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use storscope_stats::Histogram;

const COUNT: usize = 1 << 16;
const ROUNDS: usize = 9;

fn main() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let latencies: Vec<u64> = (0..COUNT).map(|_| (-uniform(random.next_u64()).ln() * 100_000.0) as u64 + 1).collect();
    let mut ours = Histogram::new();
    let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 40, 3).expect("sound bounds");
    println!("storscope-stats {:.2} ns", median_cost(&latencies, |latency| ours.record(latency)));
    println!("hdrhistogram    {:.2} ns", median_cost(&latencies, |latency| theirs.saturating_record(latency)));
    black_box((ours.count(), theirs.len()));
}

fn median_cost(latencies: &[u64], mut record: impl FnMut(u64)) -> f64 {
    let mut round = || {
        let start = Instant::now();
        latencies.iter().for_each(|&latency| record(black_box(latency)));
        start.elapsed().as_nanos() as f64 / latencies.len() as f64
    };
    let mut costs: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    costs.sort_by(f64::total_cmp);
    costs[ROUNDS / 2]
}
