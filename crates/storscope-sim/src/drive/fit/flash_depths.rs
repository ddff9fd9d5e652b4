//! The dies, times and limits of a flash drive from its throughput against queue depth.
//!
//! One outstanding read tells the time of a die, growth with depth how many work at once, the plateau what the controller
//! passes. Steady writes tell the time to program, given how many pages move for each one written: only their product shows.
//! Where more writes at a time get more done, few of them tell how long each takes to be accepted.

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::drive::{DriveDesign, FlashDesign};

use super::grid::{DepthPoint, Grid, REQUESTS, geometric_mean};
use super::runs::Runs;
use super::simplex;

/// Numbers of dies that are tried, as drives have them.
const DIES: [u32; 13] = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256];
/// Evaluations for each number of dies.
const EVALUATIONS: usize = 30;
/// Growth with depth, as a power of it, below which the last depths are the plateau.
const FLAT: f64 = 0.15;
/// How much more the most writes at a time get done than the fewest for these to wait for the drive and not for its dies.
const RISES: f64 = 1.2;
/// Rounds of the secant that finds the time to program.
const ROUNDS: u32 = 8;

/// The drive with what the reads show.
pub fn with_reads(base: &FlashDesign, grid: &Grid, runs: &Runs) -> FlashDesign {
    let fitted = DIES.map(|dies| fit_times(base, grid, dies, runs));
    let best = fitted.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    best.map_or_else(|| base.clone(), |(design, _)| design)
}

/// The drive with the time to program that gives the mean of the writes, and where they rise with depth also the time to
/// accept each.
pub fn with_writes(design: &FlashDesign, grid: &Grid, runs: &Runs) -> FlashDesign {
    let (Some(mean), Some(deepest)) = (geometric_mean(&grid.writes), grid.writes.last()) else {
        return design.clone();
    };
    if !shows_accept(grid) {
        return with_program(design, deepest.qd, mean, runs);
    }
    let start = with_program(&with_accept(design, grid, runs), deepest.qd, deepest.iops, runs);
    let drive = |point: &[f64]| FlashDesign {
        write_accept: Nanos(point[0].exp().clamp(1.0, 1e9) as u64),
        program: Nanos(point[1].exp().clamp(1e3, 1e9) as u64),
        ..start.clone()
    };
    let cost = |point: &[f64]| {
        let drive = DriveDesign::Flash(drive(point));
        let rate = |qd: u32| runs.run(&drive, Direction::Write, qd, REQUESTS).iops;
        grid.writes.iter().map(|point: &DepthPoint| (rate(point.qd) / point.iops).ln().powi(2)).sum::<f64>()
    };
    let begin = [start.write_accept, start.program].map(|time| (time.0.max(1) as f64).ln());
    drive(&simplex::minimise(&begin, &[0.1, 0.1], EVALUATIONS, cost).point)
}

/// Whether writes rise with depth, so that the fewest tell how long the drive takes to accept one.
pub fn shows_accept(grid: &Grid) -> bool {
    let [first, .., last] = grid.writes.as_slice() else { return false };
    last.iops > RISES * first.iops
}

/// The drive that accepts writes as quickly as the fewest at a time were done.
fn with_accept(design: &FlashDesign, grid: &Grid, runs: &Runs) -> FlashDesign {
    let Some(first) = grid.writes.first() else { return design.clone() };
    // Dies that take no time: what is left is the way there.
    let quick = FlashDesign { program: Nanos(1), write_amplification: 1.0, ..design.clone() };
    let found = runs.run(&DriveDesign::Flash(quick), Direction::Write, first.qd, REQUESTS).iops;
    let each_ns = |iops: f64| 1e9 * f64::from(first.qd) / iops;
    let accept_ns = design.write_accept.0 as f64 + each_ns(first.iops) - each_ns(found);
    FlashDesign { write_accept: Nanos(accept_ns.clamp(1.0, 1e9) as u64), ..design.clone() }
}

/// The drive with the time to program with which so many writes at a time are done at a rate.
fn with_program(design: &FlashDesign, qd: u32, iops: f64, runs: &Runs) -> FlashDesign {
    let with = |ns: f64| FlashDesign { program: Nanos(ns as u64), ..design.clone() };
    let mut program_ns = design.program.0 as f64;
    for _ in 0..ROUNDS {
        let drive = DriveDesign::Flash(with(program_ns));
        let found = runs.run(&drive, Direction::Write, qd, REQUESTS).iops;
        // Time over pages: what is too fast by a tenth must take a tenth longer, moves included.
        let moves = design.write_amplification;
        let page_ns = program_ns * moves + design.read.0 as f64 * (moves - 1.0);
        program_ns = ((page_ns * found / iops - design.read.0 as f64 * (moves - 1.0)) / moves).clamp(1e3, 1e9);
    }
    with(program_ns)
}

/// Whether the last depths are as fast as the ones before.
fn has_plateau(grid: &Grid) -> bool {
    let [.., before, last] = grid.reads.as_slice() else { return false };
    (last.iops / before.iops).ln() < FLAT * f64::from(last.qd).ln() - FLAT * f64::from(before.qd).ln()
}

/// Time of a die and limit of the controller for a number of dies, and the error that is left. A limit that was not reached
/// is put out of the way.
fn fit_times(base: &FlashDesign, grid: &Grid, dies: u32, runs: &Runs) -> (FlashDesign, f64) {
    let most = grid.reads.iter().map(|point| point.iops).fold(0.0, f64::max);
    let is_limited = has_plateau(grid);
    let beyond = base.commands_per_s.map(|limit| limit.max(2.0 * most));
    let drive = |point: &[f64]| FlashDesign {
        dies,
        read: Nanos(point[0].exp().clamp(100.0, 1e9) as u64),
        commands_per_s: if is_limited { Some(point[1].exp().clamp(1.0, 1e8).round()) } else { beyond },
        ..base.clone()
    };
    let cost = |point: &[f64]| {
        let drive = DriveDesign::Flash(drive(point));
        let rate = |qd: u32| runs.run(&drive, Direction::Read, qd, REQUESTS / 2).iops;
        grid.reads.iter().map(|point: &DepthPoint| (rate(point.qd) / point.iops).ln().powi(2)).sum::<f64>()
    };
    let first = grid.reads.first().map_or(base.read.0 as f64, |point| 0.9e9 * f64::from(point.qd) / point.iops);
    let axes = if is_limited { 2 } else { 1 };
    let found = simplex::minimise(&[first.ln(), (1.02 * most).ln()][..axes], &[0.1, 0.05][..axes], EVALUATIONS, cost);
    (drive(&found.point), found.value)
}
