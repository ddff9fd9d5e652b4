//! A mechanical drive from a trace of single requests.
//!
//! A regression over far reads gives the seek curve and, by its scatter, the time of a turn; from there the simplex moves
//! all numbers at once, for each habit a drive may have. What is compared are the distributions of response times, of all
//! requests and of each class (reads and writes; following on, nearby, far), since a drive can be right on the whole and
//! wrong in every part.

use std::cell::Cell;

use serde::Serialize;
use storscope_device::Direction;
use storscope_types::design::drive::{DriveDesign, MechanicalDesign};
use thiserror::Error;

use super::demerit::{Demerit, demerit};
use super::levenberg::{Minimum, minimise};
use super::mechanics::{Frame, Guess, Habit, SEGMENT_AXIS, STEPS, rounded};
use super::numbers::{self, FittedNumber};
use super::replay::replay;
use super::sureness::Sureness;
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
    /// Each number with its unit, and how far it may be off.
    pub numbers: Vec<FittedNumber>,
}

/// A drive against a trace.
#[derive(Debug, Clone, Copy, Serialize)]
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
    /// A grid without reads.
    #[error("grid: expected random reads at one or more depths, found none")]
    NoReads,
    /// A point of a grid that cannot be.
    #[error("grid: expected depths that rise from 1 to 1024 and 0.001 to 1e9 per second, found {iops} at depth {qd}")]
    UnsoundPoint {
        /// Outstanding requests.
        qd: u32,
        /// Completions per second.
        iops: String,
    },
    /// Whoever waits for it does not want to any more.
    #[error("the fit was stopped")]
    Stopped,
}

/// Finds a mechanical drive with at least `size_bytes` that answers like the trace.
///
/// # Errors
/// When the trace is too short, or shows no seeks.
pub fn from_trace(trace: &[TraceOp], size_bytes: u64) -> Result<TraceFit, FitError> {
    from_trace_while(trace, &Frame::of_size(size_bytes), &|| true)
}

/// The same for a drive of which more is known, for as long as `goes_on`, which is asked several times a second.
///
/// # Errors
/// As above, and when it was stopped.
pub fn from_trace_while(trace: &[TraceOp], frame: &Frame, goes_on: &dyn Fn() -> bool) -> Result<TraceFit, FitError> {
    if trace.len() < LEAST_REQUESTS {
        return Err(FitError::TooShort { found: trace.len() });
    }
    let frame = frame.around(trace);
    let fitting = Fitting { trace, frame, classes: classes::split(trace), goes_on, is_stopped: Cell::new(false) };
    let guess = start::guess(trace, frame.size_bytes)?;
    let (habit, point) = fitting.search(&guess);
    let numbers = fitting.numbers(habit, &point);
    if fitting.is_stopped.get() {
        return Err(FitError::Stopped);
    }
    let design = rounded(Guess::from_point(&point, habit).design(habit, &frame));
    let parameters = STEPS.len() as u32 + 1;
    Ok(TraceFit { on_itself: judge(trace, &design), design, parameters, numbers })
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
    frame: Frame,
    classes: classes::Classes,
    goes_on: &'a dyn Fn() -> bool,
    is_stopped: Cell<bool>,
}

impl Fitting<'_> {
    /// The habit and the point that fit best.
    fn search(&self, guess: &Guess) -> (Habit, Vec<f64>) {
        let habits = habits::of(self.trace);
        let both = |habit: Habit| [false, true].map(|hidden| guess.seen_or_hidden(habit, hidden).point(habit));
        let starts = habits.iter().flat_map(|&habit| both(habit).map(|point| (habit, point)));
        let rough = self.best_of(starts.collect());
        // A habit tried from a poor start may have lost for that alone: try all again from the best.
        let steps = |habit: Habit| SEGMENT_STEPS.map(|step| (habit, with_segment(&rough.1.point, step)));
        let (habit, better) = self.best_of(habits.iter().flat_map(|&habit| steps(habit)).collect());
        (habit, self.polish(habit, &better.point))
    }

    /// What each number is worth, from the trace without one of its parts at a time.
    fn numbers(&self, habit: Habit, point: &[f64]) -> Vec<FittedNumber> {
        let replayed = |point: &[f64]| self.replayed(habit, point, REPLICAS_AT_LAST);
        let sureness = Sureness::of(self.trace, point, &STEPS, replayed);
        numbers::of_mechanics(&Guess::from_point(point, habit).design(habit, &self.frame), habit, &sureness)
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
        let replayed = self.replayed(habit, point, replicas);
        replayed.map_or_else(|| vec![f64::INFINITY], |replays| self.classes.residuals(&replays))
    }

    /// What the drive of a point does; nothing if there is none, or once the fit is stopped.
    fn replayed(&self, habit: Habit, point: &[f64], replicas: u32) -> Option<Vec<Vec<f64>>> {
        if self.is_stopped.get() || !(self.goes_on)() {
            self.is_stopped.set(true);
            return None;
        }
        let design = Guess::from_point(point, habit).design(habit, &self.frame);
        DriveDesign::Mechanical(design.clone()).check().ok()?;
        Some(replays(self.trace, &design, replicas))
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
