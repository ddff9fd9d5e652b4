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
/// less than several. While searching, to end with, and to judge.
const REPLICAS: u32 = 4;
const REPLICAS_AT_LAST: u32 = 12;
const REPLICAS_TO_JUDGE: u32 = 16;
/// Rounds for all starts, and for how many leaders how many more.
const ROUNDS_FOR_ALL: usize = 4;
const LEADERS: usize = 5;
const ROUNDS_FOR_LEADERS: usize = 5;
/// Rounds and evaluations to end with.
const ROUNDS_AT_LAST: usize = 20;
const EVALUATIONS_AT_LAST: usize = 800;
/// Steps in the logarithm of the segment's size when habits are tried again.
const SEGMENT_STEPS: [f64; 2] = [0.0, 1.4];

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
    let mut predicted = replays(trace, design, REPLICAS_TO_JUDGE).concat();
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
        let both = |habit: Habit| [false, true].map(|hidden| guess.seen_or_hidden(habit, hidden).point(habit));
        let starts = habits.iter().flat_map(|&habit| both(habit).map(|point| (habit, point)));
        let rough = self.best_of(starts.collect());
        // A habit tried from a poor start may have lost for that alone: try all again from the best.
        let steps = |habit: Habit| SEGMENT_STEPS.map(|step| (habit, with_segment(&rough.1.point, step)));
        let (habit, better) = self.best_of(habits.iter().flat_map(|&habit| steps(habit)).collect());
        let last = self.polish(habit, &better.point);
        let design = Guess::from_point(&last, habit).design(habit, self.size_bytes);
        let parameters = STEPS.len() as u32 + 1;
        TraceFit { on_itself: judge(self.trace, &design), design, parameters }
    }

    /// The best of the starts: a few rounds for all, more for those that lead then. There must be one.
    fn best_of(&self, starts: Vec<(Habit, Vec<f64>)>) -> (Habit, Minimum) {
        let further = |(habit, start): (Habit, Vec<f64>), rounds| {
            let found = minimise(&start, &STEPS, rounds, |point| self.residuals(habit, point, REPLICAS));
            (habit, found)
        };
        let mut tried: Vec<_> = starts.into_iter().map(|start| further(start, ROUNDS_FOR_ALL)).collect();
        tried.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
        tried.truncate(LEADERS);
        let leaders = tried.into_iter().map(|(habit, found)| further((habit, found.point), ROUNDS_FOR_LEADERS));
        let better = |a: (Habit, Minimum), b: (Habit, Minimum)| if b.1.value < a.1.value { b } else { a };
        let none = (habits::plain(false), Minimum { point: vec![0.0; STEPS.len()], value: f64::INFINITY });
        leaders.fold(none, better)
    }

    /// The end of the search, on more replicas: squares first, then the simplex, which minds noise less.
    fn polish(&self, habit: Habit, start: &[f64]) -> Vec<f64> {
        let residuals = |point: &[f64]| self.residuals(habit, point, REPLICAS_AT_LAST);
        let squares = minimise(start, &STEPS, ROUNDS_AT_LAST, residuals);
        let cost = |point: &[f64]| residuals(point).iter().map(|residual| residual * residual).sum::<f64>();
        simplex::minimise(&squares.point, &STEPS, EVALUATIONS_AT_LAST, cost).point
    }

    fn residuals(&self, habit: Habit, point: &[f64], replicas: u32) -> Vec<f64> {
        let design = Guess::from_point(point, habit).design(habit, self.size_bytes);
        if DriveDesign::Mechanical(design.clone()).check().is_err() {
            return vec![f64::INFINITY];
        }
        self.classes.residuals(&replays(self.trace, &design, replicas))
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
