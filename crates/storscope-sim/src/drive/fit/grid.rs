//! A drive from its throughput against queue depth.
//!
//! Random requests of one size were made to one drive with 1, 2, 4, ... outstanding. What kind of drive is fitted is told by
//! the drive to start from, which also gives all that such a grid does not show. Each depth is left out once, fitted
//! without and predicted; how far the numbers then scatter says how well they are known, together with how far they move
//! with a full stroke that the grid does not show.

use serde::{Deserialize, Serialize};
use storscope_device::Direction;
use storscope_types::design::drive::{DriveDesign, MechanicalDesign};

use super::closed_loop::{ClosedLoop, Measured};
use super::mechanics::{round, rounded};
use super::numbers::FittedNumber;
use super::runs::Runs;
use super::trace_fit::FitError;
use super::{curve_depths, depths, flash_depths, full_stroke, sureness};

/// Requests of a loop while searching, and of the last comparison: errors of 0.7 and 0.3 % of the mean.
pub const REQUESTS: u32 = 10_000;
const REQUESTS_AT_LAST: u32 = 60_000;
/// Seed of the loops; the same for all, so that designs are compared on the same requests.
pub const SEED: u64 = 4;
/// A number that moves no rate by more than this when it grows by a quarter is not seen: rates are not measured better.
const LEAST_EFFECT: f64 = 0.02;

/// What a benchmark tool measured of a drive.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Random reads, by rising depth.
    pub reads: Vec<DepthPoint>,
    /// Random writes, by rising depth; may be empty.
    pub writes: Vec<DepthPoint>,
    /// Bytes of a request.
    pub block_bytes: u32,
    /// The first part of the drive, which was used; 0 to 1.
    pub span_ratio: f64,
    /// Standard deviation of the response of reads at depth 1, where it is known.
    pub latency_ns_sd: Option<f64>,
}

/// One of its points.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepthPoint {
    /// Outstanding requests.
    pub qd: u32,
    /// Completions per second.
    pub iops: f64,
}

/// A drive that was fitted to a grid.
#[derive(Debug, Clone, Serialize)]
pub struct GridFit {
    /// Its parameters.
    pub design: DriveDesign,
    /// How it does at each depth.
    pub reads: Vec<PointFit>,
    /// The same of writes.
    pub writes: Vec<PointFit>,
    /// Each number that was fitted.
    pub numbers: Vec<FittedNumber>,
}

/// A point of a grid beside what a fitted drive does there.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PointFit {
    /// Outstanding requests.
    pub qd: u32,
    /// Completions per second, measured.
    pub measured_per_s: f64,
    /// Of the drive fitted to all points.
    pub fitted_per_s: f64,
    /// Of a drive fitted without this point; nothing if it was the only one.
    pub left_out_per_s: Option<f64>,
}

impl Grid {
    /// What a drive does under the same.
    #[must_use]
    pub fn run(&self, design: &DriveDesign, direction: Direction, qd: u32, requests: u32) -> Measured {
        let (block, span_ratio) = (self.block_bytes, self.span_ratio);
        ClosedLoop { qd, direction, block, span_ratio, requests }.run(design, SEED)
    }

    fn points(&self, direction: Direction) -> &[DepthPoint] {
        match direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        }
    }

    fn without(&self, direction: Direction, index: usize) -> Self {
        let mut less = self.clone();
        match direction {
            Direction::Read => less.reads.remove(index),
            Direction::Write => less.writes.remove(index),
        };
        less
    }

    fn check(&self) -> Result<(), FitError> {
        if self.reads.is_empty() {
            return Err(FitError::NoReads);
        }
        for points in [&self.reads, &self.writes] {
            let rises = points.windows(2).all(|pair| pair[0].qd < pair[1].qd);
            let sound = |point: &DepthPoint| (1..=1024).contains(&point.qd) && (1e-3..1e9).contains(&point.iops);
            if let Some(point) = points.iter().find(|point| !rises || !sound(point)) {
                return Err(FitError::UnsoundPoint { qd: point.qd, iops: point.iops.to_string() });
            }
        }
        Ok(())
    }
}

/// Fits a drive of the kind of `base`, which gives what the grid does not show; for as long as `goes_on`.
///
/// # Errors
/// When there are no reads, when a point makes no sense, or when it was stopped.
pub fn from_grid(base: &DriveDesign, grid: &Grid, goes_on: &dyn Fn() -> bool) -> Result<GridFit, FitError> {
    grid.check()?;
    let ask = || if goes_on() { Ok(()) } else { Err(FitError::Stopped) };
    let runs = &Runs::of(grid);
    let after_reads = with_reads(base, grid, runs);
    ask()?;
    let design = tidy(with_writes(&after_reads, grid, runs));
    let (mut points, mut scatter) = (Vec::new(), Vec::new());
    for direction in [Direction::Read, Direction::Write] {
        for (index, point) in grid.points(direction).iter().enumerate() {
            ask()?;
            let less = grid.without(direction, index);
            let refitted = (!less.points(direction).is_empty()).then(|| match direction {
                Direction::Read => with_reads(base, &less, runs),
                Direction::Write => with_writes(&after_reads, &less, runs),
            });
            let rate = |design: &DriveDesign| runs.run(design, direction, point.qd, REQUESTS_AT_LAST).iops;
            points.push((
                direction,
                PointFit {
                    qd: point.qd,
                    measured_per_s: point.iops,
                    fitted_per_s: round(rate(&design)),
                    left_out_per_s: refitted.as_ref().map(|refitted| round(rate(refitted))),
                },
            ));
            scatter.extend(refitted.map(|refitted| (direction, refitted)));
        }
    }
    let of =
        |wanted: Direction| points.iter().filter(move |(direction, _)| *direction == wanted).map(|(_, point)| *point);
    let (reads, writes) = (of(Direction::Read).collect(), of(Direction::Write).collect());
    ask()?;
    let others = with_other_full_strokes(base, grid, runs);
    Ok(GridFit { numbers: numbers(&design, grid, runs, &scatter, &others), design, reads, writes })
}

/// The same reads on drives whose full stroke is another part of the mean; none where the grid shows it.
fn with_other_full_strokes(base: &DriveDesign, grid: &Grid, runs: &Runs) -> Vec<DriveDesign> {
    let DriveDesign::Mechanical(base) = base else { return Vec::new() };
    let others = if shows_full_stroke(grid) { None } else { full_stroke::others(base) };
    let fitted = |other: MechanicalDesign| DriveDesign::Mechanical(depths::with_reads(&other, grid, runs));
    others.into_iter().flatten().map(fitted).collect()
}

/// Whether the spread of responses of single reads is known, which tells it.
fn shows_full_stroke(grid: &Grid) -> bool {
    grid.latency_ns_sd.is_some() && grid.reads[0].qd == 1
}

fn with_reads(base: &DriveDesign, grid: &Grid, runs: &Runs) -> DriveDesign {
    match base {
        DriveDesign::Mechanical(base) => DriveDesign::Mechanical(depths::with_reads(base, grid, runs)),
        DriveDesign::Flash(base) => DriveDesign::Flash(flash_depths::with_reads(base, grid, runs)),
        DriveDesign::Curve(base) => DriveDesign::Curve(curve_depths::with_reads(base, grid)),
    }
}

fn with_writes(design: &DriveDesign, grid: &Grid, runs: &Runs) -> DriveDesign {
    match design {
        DriveDesign::Mechanical(design) => DriveDesign::Mechanical(depths::with_writes(design, grid, runs)),
        DriveDesign::Flash(design) => DriveDesign::Flash(flash_depths::with_writes(design, grid, runs)),
        DriveDesign::Curve(design) => DriveDesign::Curve(curve_depths::with_writes(design, grid)),
    }
}

fn tidy(design: DriveDesign) -> DriveDesign {
    match design {
        DriveDesign::Mechanical(design) => DriveDesign::Mechanical(rounded(design)),
        other => other,
    }
}

/// The geometric mean of the rates; nothing without any.
pub fn geometric_mean(points: &[DepthPoint]) -> Option<f64> {
    let logarithms = points.iter().map(|point| point.iops.ln()).sum::<f64>();
    (!points.is_empty()).then(|| (logarithms / points.len() as f64).exp())
}

// What the numbers are worth -----------------------------------------------------------------------------------------

/// What a grid shows of each kind of drive, told apart by what the direction of the points is.
fn keys(design: &DriveDesign, grid: &Grid) -> Vec<(Direction, &'static str)> {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    match design {
        DriveDesign::Mechanical(design) => {
            reads.push("seek.average_ns");
            reads.extend(shows_full_stroke(grid).then_some("seek.full_stroke_ns"));
            let is_sorted = grid.reads.iter().any(|point| point.qd > 1);
            reads.extend(["queueing.gamma", "queueing.least_depth"].into_iter().filter(|_| is_sorted));
            writes.push(match design.write_cache {
                Some(cache) if cache.window > 1 => "write_cache.window",
                _ => "write_settle_ns",
            });
        }
        DriveDesign::Flash(_) => {
            reads.extend(["read_ns", "dies", "commands_per_s"]);
            writes.push("program_ns");
            writes.extend(flash_depths::shows_accept(grid).then_some("write_accept_ns"));
        }
        DriveDesign::Curve(_) => {}
    }
    let has_writes = !grid.writes.is_empty();
    let reads = reads.into_iter().map(|key| (Direction::Read, key));
    reads.chain(writes.into_iter().filter(|_| has_writes).map(|key| (Direction::Write, key))).collect()
}

fn numbers(
    design: &DriveDesign,
    grid: &Grid,
    runs: &Runs,
    scatter: &[(Direction, DriveDesign)],
    other_strokes: &[DriveDesign],
) -> Vec<FittedNumber> {
    let number = |(direction, key): (Direction, &'static str)| {
        let value = value_at(design, key)?;
        let same = scatter.iter().filter(|(of, _)| *of == direction);
        let logarithms: Vec<Vec<f64>> =
            same.filter_map(|(_, refitted)| Some(vec![value_at(refitted, key)?.max(1e-9).ln()])).collect();
        let is_seen = effect(design, grid, runs, direction, key, value) >= LEAST_EFFECT;
        let others = other_strokes.iter().filter(|_| direction == Direction::Read);
        let moves = others.filter_map(|other| Some((value_at(other, key)?.max(1e-9) / value.max(1e-9)).ln().abs()));
        let of_stroke = moves.fold(0.0, f64::max);
        let error =
            (is_seen && logarithms.len() > 1).then(|| sureness::jackknife(&logarithms)[0][0].sqrt().hypot(of_stroke));
        let is_known = error.is_some_and(|error| error <= sureness::LARGEST_KNOWN);
        Some(FittedNumber { key, value: round(value), error_ratio: error, is_known, goes_with: None })
    };
    keys(design, grid).into_iter().filter_map(number).collect()
}

/// The largest change, on a logarithmic scale, of what was measured when a number grows by a quarter.
fn effect(design: &DriveDesign, grid: &Grid, runs: &Runs, direction: Direction, key: &str, value: f64) -> f64 {
    let larger = if key.ends_with("least_depth") || key == "dies" || key.ends_with("window") {
        (value * 1.25).round().max(value + 1.0)
    } else {
        value * 1.25
    };
    let Some(moved) = with_value(design, key, larger).filter(|moved| moved.check().is_ok()) else { return 1.0 };
    let change = |point: &DepthPoint| {
        let [there, here] = [&moved, design].map(|design| runs.run(design, direction, point.qd, REQUESTS));
        let spread = match (point.qd, grid.latency_ns_sd) {
            (1, Some(_)) => (there.latency_ns_sd / here.latency_ns_sd).ln().abs(),
            _ => 0.0,
        };
        (there.iops / here.iops).ln().abs().max(spread)
    };
    grid.points(direction).iter().map(change).fold(0.0, f64::max)
}

fn pointer(key: &str) -> String {
    format!("/{}", key.replace('.', "/"))
}

fn value_at(design: &DriveDesign, key: &str) -> Option<f64> {
    serde_json::to_value(design).ok()?.pointer(&pointer(key))?.as_f64()
}

fn with_value(design: &DriveDesign, key: &str, value: f64) -> Option<DriveDesign> {
    let mut form = serde_json::to_value(design).ok()?;
    let place = form.pointer_mut(&pointer(key))?;
    *place = if place.is_u64() { serde_json::json!(value.round() as u64) } else { serde_json::json!(value) };
    serde_json::from_value(form).ok()
}
