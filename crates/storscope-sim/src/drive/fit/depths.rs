//! How a drive seeks and sorts, from throughput against queue depth.
//!
//! One outstanding random read, and as many as the drive does not sort yet, tell the mean seek (and, if the standard
//! deviation of its response is known, how far the full stroke is from it); how throughput grows with depth tells the
//! window. Cached random writes tell among how many of them the drive chooses. Errors are squared on a logarithmic scale.

use storscope_device::Direction;
use storscope_types::design::drive::{
    Among, DriveDesign, MechanicalDesign, QueueingDesign, SeekDesign, WriteBackOrder, WriteCacheDesign,
};
use storscope_types::{Bytes, Nanos};

use super::grid::{DepthPoint, Grid, REQUESTS, geometric_mean};
use super::runs::Runs;
use super::simplex;

/// How much faster than reads writes are that go into a cache.
const CACHED: f64 = 1.1;
/// How much more reads get done at the greatest depth than at the least for writes to tell by whether they gain as much.
const RISES: f64 = 1.2;
/// The cache of a drive that must have one: that of the catalogue's SATA drives.
const CACHE: WriteCacheDesign = WriteCacheDesign {
    size: Bytes::from_mib(16),
    extents: 256,
    accept: None,
    window: 24,
    order: WriteBackOrder::Nearest,
    batch: Some(160),
    batch_from: WriteCacheDesign::BATCH_FROM,
};
/// Most extents among which a drive is thought to choose.
const MOST_WINDOW: u32 = 64;
/// Least depths that are tried.
const LEAST_DEPTHS: std::ops::RangeInclusive<u32> = 1..=8;

/// The drive with the seek times and the sorting that the reads of a grid show; all else stays as it is given. Without a
/// standard deviation of the response at depth 1 the full stroke keeps its ratio to the mean seek; without depth 1 the mean
/// seek is told by all depths together with the sorting.
pub fn with_reads(base: &MechanicalDesign, grid: &Grid, runs: &Runs) -> MechanicalDesign {
    let bare = MechanicalDesign { queueing: None, ..base.clone() };
    let is_alone = grid.reads.iter().any(|point| point.qd == 1);
    // The seek of each number of shallow points, as many least depths have the same ones.
    let mut alone: Vec<(usize, MechanicalDesign)> = Vec::new();
    let mut sought = |count: usize| match alone.iter().find(|(of, _)| *of == count) {
        Some((_, design)) => design.clone(),
        None => {
            let iops = geometric_mean(&grid.reads[..count]).unwrap_or(1.0);
            let design = MechanicalDesign { seek: fit_seek(&bare, grid, iops, runs), ..bare.clone() };
            alone.push((count, design.clone()));
            design
        }
    };
    let is_sorted = grid.reads.iter().any(|point| point.qd > 1);
    match (is_sorted, is_alone) {
        (true, true) => {
            best_of(|least_depth| fit_gamma(&sought(shallow(grid, least_depth)), grid, least_depth, base, runs))
        }
        (true, false) => best_of(|least_depth| fit_both(&bare, grid, least_depth, base, runs)),
        (false, true) => MechanicalDesign { queueing: base.queueing, ..sought(1) },
        (false, false) => base.clone(),
    }
}

/// The best of the drives with each least depth.
fn best_of(mut sorted: impl FnMut(u32) -> (MechanicalDesign, f64)) -> MechanicalDesign {
    let mut best = sorted(*LEAST_DEPTHS.start());
    for least_depth in LEAST_DEPTHS.skip(1) {
        let one = sorted(least_depth);
        if one.1 < best.1 {
            best = one;
        }
    }
    best.0
}

/// How many of the points, by rising depth, a drive answers as it does depth 1: one request is being served, and with no
/// more than n₀ waiting there is no choice. They all tell the mean seek, which a single one tells as well as it was rounded.
fn shallow(grid: &Grid, least_depth: u32) -> usize {
    grid.reads.iter().filter(|point| point.qd <= least_depth + 1).count()
}

/// The drive with the writes of a grid. Writes that are faster than reads go into a cache; among how many dirty extents
/// the drive then chooses shows in their rate. A drive that is slower than one that chooses nothing loses the rest to each
/// write: verifying, or a turn missed now and then.
pub fn with_writes(design: &MechanicalDesign, grid: &Grid, runs: &Runs) -> MechanicalDesign {
    let Some(iops) = geometric_mean(&grid.writes) else { return design.clone() };
    let mut design = design.clone();
    match is_cached(grid) {
        Some(true) => design.write_cache = design.write_cache.or(Some(CACHE)),
        Some(false) => design.write_cache = None,
        None => {}
    }
    let Some(cache) = design.write_cache else { return with_settle(&design, grid, runs) };
    let with_window =
        |window: u32| MechanicalDesign { write_cache: Some(WriteCacheDesign { window, ..cache }), ..design.clone() };
    let writes =
        |window: u32| runs.run(&DriveDesign::Mechanical(with_window(window)), Direction::Write, 1, REQUESTS).iops;
    let unsorted = writes(1);
    if unsorted > iops {
        return MechanicalDesign { write_settle: settle(&design, unsorted, iops), ..with_window(1) };
    }
    // The rate rises with the window: halve the range, then take the nearer of the two ends.
    let (mut low, mut high) = (1, cache.extents.min(MOST_WINDOW));
    while high - low > 1 {
        let middle = low.midpoint(high);
        if writes(middle) < iops { low = middle } else { high = middle }
    }
    let off = |window: u32| (writes(window) / iops).ln().abs();
    with_window(if off(low) <= off(high) { low } else { high })
}

/// Whether writes go into a cache, by writes and reads of the same depth; None where they do not tell.
///
/// Writes into a cache are sorted whatever their depth, so that a single one is faster than a read, and more of them gain
/// nothing. Writes without one gain as reads do.
fn is_cached(grid: &Grid) -> Option<bool> {
    let beside = |write: &DepthPoint| {
        let at_most = grid.reads.iter().rev().find(|read| read.qd <= write.qd).or(grid.reads.first());
        at_most.map(|read| (write.iops, read.iops))
    };
    let (first, last) = (beside(grid.writes.first()?)?, beside(grid.writes.last()?)?);
    if first.0 > CACHED * first.1 {
        return Some(true);
    }
    let (writes, reads) = (last.0 / first.0, last.1 / first.1);
    (reads > RISES && writes.ln() > 0.5 * reads.ln()).then_some(false)
}

/// Without a cache: the settle that the writes at the least depth show.
fn with_settle(design: &MechanicalDesign, grid: &Grid, runs: &Runs) -> MechanicalDesign {
    let Some(first) = grid.writes.first() else { return design.clone() };
    let found = runs.run(&DriveDesign::Mechanical(design.clone()), Direction::Write, first.qd, REQUESTS).iops;
    MechanicalDesign { write_settle: settle(design, found, first.iops), ..design.clone() }
}

/// The settle that turns one rate of single writes into another.
fn settle(design: &MechanicalDesign, found: f64, iops: f64) -> Nanos {
    let settle_ns = design.write_settle.0 as f64 + 1e9 / iops - 1e9 / found;
    Nanos(settle_ns.clamp(0.0, 1e9) as u64)
}

fn fit_seek(design: &MechanicalDesign, grid: &Grid, iops: f64, runs: &Runs) -> SeekDesign {
    let SeekDesign::DataSheet { average, full_stroke, .. } = design.seek else { return design.seek };
    let ratio = full_stroke.0 as f64 / average.0 as f64;
    let seek_of = |point: &[f64]| scaled_seek(design.seek, point[0].exp(), point.get(1).copied());
    let cost = |point: &[f64]| {
        let measured = runs.reads(&MechanicalDesign { seek: seek_of(point), ..design.clone() }, 1, REQUESTS);
        let spread = grid.latency_ns_sd.map_or(0.0, |sd| (measured.latency_ns_sd / sd).ln());
        (measured.iops / iops).ln().powi(2) + spread * spread
    };
    let mean = (average.0 as f64).ln();
    let (start, steps) =
        if grid.latency_ns_sd.is_some() { (vec![mean, ratio], vec![0.1, 0.2]) } else { (vec![mean], vec![0.1]) };
    seek_of(&simplex::minimise(&start, &steps, 60, cost).point)
}

/// A seek curve of another mean; the full stroke keeps its ratio to it unless another is given.
fn scaled_seek(seek: SeekDesign, mean_ns: f64, ratio: Option<f64>) -> SeekDesign {
    let SeekDesign::DataSheet { track_to_track, average, full_stroke } = seek else { return seek };
    let mean_ns = mean_ns.clamp(track_to_track.0 as f64, 4e8);
    let ratio = ratio.map_or(full_stroke.0 as f64 / average.0 as f64, |ratio| ratio.clamp(1.55, 2.9));
    let full_stroke = Nanos((mean_ns * ratio) as u64);
    SeekDesign::DataSheet { track_to_track, average: Nanos(mean_ns as u64), full_stroke }
}

fn queueing(base: &MechanicalDesign, gamma: f64, least_depth: u32) -> QueueingDesign {
    let depth = base.queueing.map_or(32, |queueing| queueing.depth);
    let among = base.queueing.map_or_else(Among::default, |queueing| queueing.among);
    QueueingDesign { gamma, least_depth, depth, among }
}

/// Squares of the errors at all depths, on a logarithmic scale.
fn error_of(design: &MechanicalDesign, grid: &Grid, runs: &Runs) -> f64 {
    let error = |point: &DepthPoint| (runs.reads(design, point.qd, REQUESTS).iops / point.iops).ln().powi(2);
    grid.reads.iter().map(error).sum()
}

/// Mean seek and gamma together.
fn fit_both(
    design: &MechanicalDesign,
    grid: &Grid,
    least_depth: u32,
    base: &MechanicalDesign,
    runs: &Runs,
) -> (MechanicalDesign, f64) {
    let SeekDesign::DataSheet { average, .. } = design.seek else { return (design.clone(), f64::INFINITY) };
    let drive = |point: &[f64]| MechanicalDesign {
        seek: scaled_seek(design.seek, point[0].exp(), None),
        queueing: Some(queueing(base, point[1].clamp(0.0, 1.0), least_depth)),
        ..design.clone()
    };
    let start = [(average.0 as f64).ln(), 0.5];
    let found = simplex::minimise(&start, &[0.1, 0.15], 24, |point| error_of(&drive(point), grid, runs));
    (drive(&found.point), found.value)
}

fn fit_gamma(
    design: &MechanicalDesign,
    grid: &Grid,
    least_depth: u32,
    base: &MechanicalDesign,
    runs: &Runs,
) -> (MechanicalDesign, f64) {
    let drive = |gamma: f64| MechanicalDesign { queueing: Some(queueing(base, gamma, least_depth)), ..design.clone() };
    let mut best = (0.5, f64::INFINITY);
    for (steps, width) in [(-4_i32..=5, 0.1), (-3..=3, 0.025)] {
        let middle = best.0;
        let tried = steps
            .map(|step| (middle + f64::from(step) * width).clamp(0.0, 1.0))
            .map(|gamma| (gamma, error_of(&drive(gamma), grid, runs)));
        best = tried.chain([best]).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(best);
    }
    (drive((best.0 * 1e3_f64).round() / 1e3), best.1)
}
