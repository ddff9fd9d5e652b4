//! The requests of a trace by what they ask of a drive.

use std::ops::Range;

use super::trace::TraceOp;
use super::trace_fit::is_read;

/// Bytes from the end of the request before within which a request is nearby.
pub const NEARBY_BYTES: u64 = 256 << 10;
/// Least requests of a class that is compared on its own.
const LEAST: usize = 40;
/// Equal slices of a distribution that are compared by their means; at most `LEAST`.
const SLICES: usize = 25;
/// What an error of the mean counts, against one of the distribution.
const MEAN_WEIGHT: f64 = 2.0;

/// For each class its requests and their measured times, sorted.
#[derive(Debug)]
pub struct Classes {
    mean_us: f64,
    requests: usize,
    all: (Vec<usize>, Vec<f64>),
    parts: Vec<(Vec<usize>, Vec<f64>)>,
}

/// Where a request lies relative to the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Exactly behind it.
    On,
    /// Around it.
    Nearby,
    /// Elsewhere.
    Far,
}

/// The step of each request; the first is far.
pub fn steps(trace: &[TraceOp]) -> Vec<Step> {
    let of_pair = |pair: &[TraceOp]| {
        let end = pair[0].offset + u64::from(pair[0].length);
        match pair[1].offset.abs_diff(end) {
            0 => Step::On,
            apart if apart < NEARBY_BYTES => Step::Nearby,
            _ => Step::Far,
        }
    };
    std::iter::once(Step::Far).chain(trace.windows(2).map(of_pair)).collect()
}

/// Splits a trace into its classes.
pub fn split(trace: &[TraceOp]) -> Classes {
    split_without(trace, 0..0)
}

/// The same classes without some of the requests.
pub fn split_without(trace: &[TraceOp], left_out: Range<usize>) -> Classes {
    let steps = steps(trace);
    let key = |index: usize| (is_read(&trace[index]), index > 0 && is_read(&trace[index - 1]), steps[index]);
    let mut keys: Vec<_> = (0..trace.len()).map(key).collect();
    let by_request = keys.clone();
    keys.sort();
    keys.dedup();
    let members = |key| (0..trace.len()).filter(|&index| by_request[index] == key).collect::<Vec<usize>>();
    let sorted_times = |members: &[usize]| sorted(members.iter().map(|&index| trace[index].service_us));
    let kept = |part: Vec<usize>| part.into_iter().filter(|index| !left_out.contains(index)).collect::<Vec<usize>>();
    let parts = keys.into_iter().map(members).filter(|part| part.len() >= LEAST).map(kept);
    let all = kept((0..trace.len()).collect());
    let times = sorted_times(&all);
    Classes {
        mean_us: all.iter().map(|&index| trace[index].service_us).sum::<f64>() / all.len() as f64,
        requests: all.len(),
        all: (all, times),
        parts: parts.map(|part| (sorted_times(&part), part)).map(|(times, part)| (part, times)).collect(),
    }
}

impl Classes {
    /// Distances of the distributions as shares of the overall mean, weighted so that their squares add up to what should
    /// be small: of all requests, of the classes by their shares, and of the means.
    pub fn residuals(&self, replays: &[Vec<f64>]) -> Vec<f64> {
        let of = |members: &[usize]| sorted(replays.iter().flat_map(|times| members.iter().map(|&index| times[index])));
        let whole = of(&self.all.0);
        let mut residuals = self.distances(&self.all.1, &whole, 1.0);
        residuals.push(MEAN_WEIGHT * (mean(&whole) - self.mean_us) / self.mean_us);
        for (members, measured) in &self.parts {
            let share = members.len() as f64 / self.requests as f64;
            residuals.extend(self.distances(measured, &of(members), share));
        }
        residuals
    }

    fn distances(&self, measured: &[f64], predicted: &[f64], share: f64) -> Vec<f64> {
        let weight = (share / SLICES as f64).sqrt() / self.mean_us;
        let slice = |slice| weight * (slice_mean(predicted, slice) - slice_mean(measured, slice));
        (0..SLICES).map(slice).collect()
    }
}

/// Mean of one of `SLICES` equal slices of sorted values; zero of one that is empty, as in a class of which nearly all was
/// left out.
fn slice_mean(sorted: &[f64], slice: usize) -> f64 {
    let bound = |slice: usize| slice * sorted.len() / SLICES;
    let values = &sorted[bound(slice)..bound(slice + 1)];
    if values.is_empty() { 0.0 } else { mean(values) }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sorted(times: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_unstable_by(f64::total_cmp);
    times
}
