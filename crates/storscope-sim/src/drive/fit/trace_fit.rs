//! A mechanical drive from a trace of single requests.
//!
//! A regression over far reads gives the seek curve and, by its scatter, the time of a turn; from there the simplex moves
//! all numbers at once, for each habit a drive may have. What is compared are the distributions of response times, of all
//! requests and of each class (reads and writes; following on, nearby, far), since a drive can be right on the whole and
//! wrong in every part.

use storscope_device::Direction;
use storscope_types::design::drive::{DriveDesign, MechanicalDesign};
use thiserror::Error;

use super::demerit::{Demerit, demerit};
use super::levenberg::{Minimum, minimise};
use super::mechanics::{Guess, Habit, SEGMENT_AXIS, STEPS};
use super::replay::replay;
use super::trace::TraceOp;
use super::{classes, habits, simplex, start};

/// Fewest requests from which something can be told.
const LEAST_REQUESTS: usize = 500;
/// Drives on which a trace is replayed together: where a far request's sector stands is chance, and one replay of it says
/// less than several.
const REPLICAS: u32 = 4;
/// Steps in the logarithm of the segment's size when habits are tried again.
const SEGMENT_STEPS: [f64; 2] = [0.0, 1.4];
/// Rounds to tell habits apart, rounds and evaluations to end with.
const ROUNDS_PER_HABIT: usize = 5;
const ROUNDS_AT_LAST: usize = 25;
const EVALUATIONS_AT_LAST: usize = 2_000;

/// A fitted drive.
#[derive(Debug, Clone)]
pub struct TraceFit {
    /// Its parameters.
    pub design: MechanicalDesign,
    /// How many were chosen from the trace.
    pub parameters: u32,
    /// How it does on the trace it was fitted to.
    pub on_itself: Judgement,
}

/// A drive against a trace.
#[derive(Debug, Clone, Copy)]
pub struct Judgement {
    /// Requests compared.
    pub requests: usize,
    /// Mean of what was measured.
    pub measured_us_mean: f64,
    /// Mean of what the drive predicts.
    pub predicted_us_mean: f64,
    /// Distance of the distributions, in microseconds and as a share of the measured mean.
    pub demerit: Demerit,
}

impl Judgement {
    /// How far the predicted mean is off, as a share of the measured one.
    #[must_use]
    pub fn mean_error_ratio(&self) -> f64 {
        self.predicted_us_mean / self.measured_us_mean - 1.0
    }
}

/// A trace no drive can be fitted to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FitError {
    /// Too short.
    #[error("trace: expected at least {LEAST_REQUESTS} requests, found {found}")]
    TooShort {
        /// Requests there are.
        found: usize,
    },
    /// Without the reads that show the seek curve.
    #[error(
        "trace: expected at least {least} reads far from the request before, found {found}; they show the seek curve"
    )]
    NoFarReads {
        /// How many are needed.
        least: usize,
        /// How many there are.
        found: usize,
    },
}

/// Finds a mechanical drive with at least `size_bytes` that answers like the trace.
///
/// # Errors
/// When the trace is too short, or shows no seeks.
pub fn from_trace(trace: &[TraceOp], size_bytes: u64) -> Result<TraceFit, FitError> {
    if trace.len() < LEAST_REQUESTS {
        return Err(FitError::TooShort { found: trace.len() });
    }
    let most = trace.iter().map(|op| op.offset + u64::from(op.length)).max().unwrap_or(0);
    let fitting = Fitting { trace, size_bytes: size_bytes.max(most), classes: classes::split(trace) };
    let guess = start::guess(trace, fitting.size_bytes)?;
    Ok(fitting.run(&guess))
}

/// How a drive does on a trace.
#[must_use]
pub fn judge(trace: &[TraceOp], design: &MechanicalDesign) -> Judgement {
    let mut measured: Vec<f64> = trace.iter().map(|op| op.service_us).collect();
    let mut predicted = replays(trace, design, 4 * REPLICAS).concat();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let (measured_us_mean, predicted_us_mean) = (mean(&measured), mean(&predicted));
    measured.sort_by(f64::total_cmp);
    predicted.sort_by(f64::total_cmp);
    let demerit = demerit(&measured, &predicted);
    Judgement { requests: trace.len(), measured_us_mean, predicted_us_mean, demerit }
}

/// Replays on drives that differ in how their tracks are laid against each other.
fn replays(trace: &[TraceOp], design: &MechanicalDesign, count: u32) -> Vec<Vec<f64>> {
    let mut design = design.clone();
    let shift_ns = design.head_switch.0 / 97;
    let mut once = |index: u32| {
        let times = replay(trace, &DriveDesign::Mechanical(design.clone()), index);
        design.head_switch.0 += shift_ns;
        times
    };
    (0..count).map(&mut once).collect()
}

struct Fitting<'a> {
    trace: &'a [TraceOp],
    size_bytes: u64,
    classes: classes::Classes,
}

impl Fitting<'_> {
    fn run(&self, guess: &Guess) -> TraceFit {
        let habits = habits::of(self.trace);
        let starts =
            habits.iter().flat_map(|&habit| [false, true].map(|hidden| (habit, guess.seen_or_hidden(habit, hidden))));
        let rough = self.best_of(starts.map(|(habit, start)| (habit, start.point(habit))));
        // A habit tried from a poor start may have lost for that alone: try all again from the best.
        let again =
            habits.iter().flat_map(|&habit| SEGMENT_STEPS.map(|step| (habit, with_segment(&rough.1.point, step))));
        let (habit, better) = self.best_of(again.chain([(rough.0, rough.1.point.clone())]));
        let first = self.minimise(habit, &better.point, ROUNDS_AT_LAST);
        let cost = |point: &[f64]| self.residuals(habit, point).iter().map(|residual| residual * residual).sum::<f64>();
        let last = simplex::minimise(&first.point, &STEPS, EVALUATIONS_AT_LAST, cost);
        let design = Guess::from_point(&last.point, habit).design(habit, self.size_bytes);
        let parameters = STEPS.len() as u32 + 1;
        TraceFit { on_itself: judge(self.trace, &design), design, parameters }
    }

    /// The best after a few rounds from each start. There must be one.
    fn best_of(&self, starts: impl Iterator<Item = (Habit, Vec<f64>)>) -> (Habit, Minimum) {
        let tried = starts.map(|(habit, start)| (habit, self.minimise(habit, &start, ROUNDS_PER_HABIT)));
        let better = |a: (Habit, Minimum), b: (Habit, Minimum)| if b.1.value < a.1.value { b } else { a };
        let none = (habits::plain(false), Minimum { point: Vec::new(), value: f64::INFINITY });
        tried.fold(none, better)
    }

    fn minimise(&self, habit: Habit, start: &[f64], rounds: usize) -> Minimum {
        minimise(start, &STEPS, rounds, |point| self.residuals(habit, point))
    }

    fn residuals(&self, habit: Habit, point: &[f64]) -> Vec<f64> {
        let design = Guess::from_point(point, habit).design(habit, self.size_bytes);
        if DriveDesign::Mechanical(design.clone()).check().is_err() {
            return vec![f64::INFINITY];
        }
        self.classes.residuals(&replays(self.trace, &design, REPLICAS))
    }
}

fn with_segment(point: &[f64], step: f64) -> Vec<f64> {
    let mut point = point.to_vec();
    point[SEGMENT_AXIS] += step;
    point
}

/// Whether a request follows on, is nearby or far from the one before.
pub(super) fn is_read(op: &TraceOp) -> bool {
    op.direction == Direction::Read
}
