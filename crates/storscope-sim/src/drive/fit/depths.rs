//! How a drive seeks and sorts, from throughput against queue depth.
//!
//! One outstanding random read tells the mean seek (and, if the standard deviation of its response is known, how far the
//! full stroke is from it); how throughput grows with depth tells the window. Cached random writes tell among how many of
//! them the drive chooses. Errors are squared on a logarithmic scale.

use storscope_types::Nanos;
use storscope_types::design::drive::{Among, DriveDesign, MechanicalDesign, QueueingDesign, SeekDesign};

use super::closed_loop::{ClosedLoop, Measured};
use super::simplex;

/// Requests of a loop while searching, and of the last comparison: errors of 0.7 and 0.3 % of the mean.
const REQUESTS: u32 = 10_000;
const REQUESTS_AT_LAST: u32 = 60_000;
/// Seed of the loops; the same for all, so that designs are compared on the same requests.
const SEED: u64 = 4;
/// Least depths that are tried.
const LEAST_DEPTHS: std::ops::RangeInclusive<u32> = 1..=8;

/// What a benchmark tool measured with random reads of 4 KiB over the whole drive.
#[derive(Debug, Clone, Copy)]
pub struct DepthPoint {
    /// Outstanding requests.
    pub qd: u32,
    /// Completions per second.
    pub iops: f64,
}

/// A fitted drive and how far it is off at each depth.
#[derive(Debug, Clone)]
pub struct DepthFit {
    /// Its parameters.
    pub design: MechanicalDesign,
    /// For each point, what the drive does there.
    pub predicted: Vec<Measured>,
}

/// Finds the seek times and the sorting of a drive whose other parameters are given. Without a standard deviation of the
/// response at depth 1 the full stroke keeps its ratio to the mean seek.
#[must_use]
pub fn from_depths(base: &MechanicalDesign, reads: &[DepthPoint], latency_ns_sd: Option<f64>) -> DepthFit {
    let mut design = MechanicalDesign { queueing: None, ..base.clone() };
    if let Some(first) = reads.iter().find(|point| point.qd == 1) {
        design.seek = fit_seek(&design, first.iops, latency_ns_sd);
    }
    let sorted = |least_depth: u32| fit_gamma(&design, reads, least_depth, base);
    let best = LEAST_DEPTHS.map(sorted).min_by(|a, b| a.1.total_cmp(&b.1));
    design.queueing = best.map(|(queueing, _)| queueing);
    let predicted = reads.iter().map(|point| run(&design, point.qd, REQUESTS_AT_LAST)).collect();
    DepthFit { design, predicted }
}

/// Among how many dirty extents a drive with a write cache chooses, given its random writes per second. A drive that is
/// slower than one that chooses nothing loses the rest to each write: verifying, or a turn missed now and then.
#[must_use]
pub fn window_from_writes(design: &MechanicalDesign, iops: f64) -> MechanicalDesign {
    let with_window = |window: u32| {
        let mut design = design.clone();
        if let Some(cache) = &mut design.write_cache {
            cache.window = window;
        }
        design
    };
    let writes =
        |window: u32| ClosedLoop::writes(1, REQUESTS).run(&DriveDesign::Mechanical(with_window(window)), SEED).iops;
    let most = design.write_cache.map_or(1, |cache| cache.extents).min(64);
    let unsorted = writes(1);
    if unsorted > iops {
        let lost_ns = 1e9 / iops - 1e9 / unsorted;
        let write_settle = Nanos(design.write_settle.0 + lost_ns as u64);
        return MechanicalDesign { write_settle, ..with_window(1) };
    }
    let off = |window: u32| (window, (writes(window) / iops).ln().abs());
    let best = (1..=most).map(off).min_by(|a, b| a.1.total_cmp(&b.1));
    with_window(best.map_or(1, |(window, _)| window))
}

fn run(design: &MechanicalDesign, qd: u32, requests: u32) -> Measured {
    ClosedLoop::reads(qd, requests).run(&DriveDesign::Mechanical(design.clone()), SEED)
}

fn fit_seek(design: &MechanicalDesign, iops: f64, latency_ns_sd: Option<f64>) -> SeekDesign {
    let SeekDesign::DataSheet { track_to_track, average, full_stroke } = design.seek else { return design.seek };
    let ratio = full_stroke.0 as f64 / average.0 as f64;
    let seek_of = |point: &[f64]| {
        let mean_ns = point[0].exp().max(track_to_track.0 as f64);
        let ratio = point.get(1).map_or(ratio, |ratio| ratio.clamp(1.55, 2.9));
        let full_stroke = Nanos((mean_ns * ratio) as u64);
        SeekDesign::DataSheet { track_to_track, average: Nanos(mean_ns as u64), full_stroke }
    };
    let cost = |point: &[f64]| {
        let measured = run(&MechanicalDesign { seek: seek_of(point), ..design.clone() }, 1, REQUESTS);
        let spread = latency_ns_sd.map_or(0.0, |sd| (measured.latency_ns_sd / sd).ln());
        (measured.iops / iops).ln().powi(2) + spread * spread
    };
    let mean = (average.0 as f64).ln();
    let (start, steps) =
        if latency_ns_sd.is_some() { (vec![mean, ratio], vec![0.1, 0.2]) } else { (vec![mean], vec![0.1]) };
    seek_of(&simplex::minimise(&start, &steps, 60, cost).point)
}

fn fit_gamma(
    design: &MechanicalDesign,
    reads: &[DepthPoint],
    least_depth: u32,
    base: &MechanicalDesign,
) -> (QueueingDesign, f64) {
    let depth = base.queueing.map_or(32, |queueing| queueing.depth);
    let among = base.queueing.map_or_else(Among::default, |queueing| queueing.among);
    let queueing = |gamma: f64| QueueingDesign { gamma, least_depth, depth, among };
    let error = |gamma: f64| {
        let design = MechanicalDesign { queueing: Some(queueing(gamma)), ..design.clone() };
        let error = |point: &DepthPoint| (run(&design, point.qd, REQUESTS).iops / point.iops).ln().powi(2);
        reads.iter().filter(|point| point.qd > 1).map(error).sum::<f64>()
    };
    let mut best = (0.5, f64::INFINITY);
    for (steps, width) in [(-4_i32..=5, 0.1), (-3..=3, 0.025)] {
        let middle = best.0;
        let tried =
            steps.map(|step| (middle + f64::from(step) * width).clamp(0.0, 1.0)).map(|gamma| (gamma, error(gamma)));
        best = tried.chain([best]).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(best);
    }
    (queueing(best.0), best.1)
}
