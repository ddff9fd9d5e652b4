//! The dies, times and limits of a flash drive from its throughput against queue depth.
//!
//! One outstanding read tells the time of a die, growth with depth how many work at once, the plateau what the controller
//! passes. Steady writes tell the time to program, given how many pages move for each one written: only their product shows.

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
/// Rounds of the secant that finds the time to program.
const ROUNDS: u32 = 8;

/// The drive with what the reads show.
pub fn with_reads(base: &FlashDesign, grid: &Grid, runs: &Runs) -> FlashDesign {
    let fitted = DIES.map(|dies| fit_times(base, grid, dies, runs));
    let best = fitted.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    best.map_or_else(|| base.clone(), |(design, _)| design)
}

/// The drive with the time to program that gives the mean of the writes.
pub fn with_writes(design: &FlashDesign, grid: &Grid, runs: &Runs) -> FlashDesign {
    let (Some(wanted), Some(deepest)) = (geometric_mean(&grid.writes), grid.writes.last()) else {
        return design.clone();
    };
    let with_program = |ns: f64| FlashDesign { program: Nanos(ns as u64), ..design.clone() };
    let mut program_ns = design.program.0 as f64;
    for _ in 0..ROUNDS {
        let drive = DriveDesign::Flash(with_program(program_ns));
        let found = runs.run(&drive, Direction::Write, deepest.qd, REQUESTS).iops;
        // Time over pages: what is too fast by a tenth must take a tenth longer, moves included.
        let moves = design.write_amplification;
        let page_ns = program_ns * moves + design.read.0 as f64 * (moves - 1.0);
        program_ns = ((page_ns * found / wanted - design.read.0 as f64 * (moves - 1.0)) / moves).clamp(1e3, 1e9);
    }
    with_program(program_ns)
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
