//! When requests of an open loop arrive.
//!
//! The schedule is kept in f64 nanoseconds and never rounded, so that rates are exact: fio's, kept in whole
//! microseconds, runs up to 38 % too fast. What is due but not sent needs no memory: the schedule just stays behind.

use storscope_types::{Load, Process, RateStep};

use crate::random::Random;

/// The instants at which one worker's requests arrive, in nanoseconds since the run's start.
#[derive(Debug, Clone)]
pub struct Arrivals {
    process: Process,
    /// Where between two arrivals of another worker this one's fixed arrivals lie, from 0 to 1.
    turn: f64,
    random: Random,
    steps: Vec<Step>,
    current: usize,
    /// Arrivals since the start of the step.
    in_step: u64,
    next_ns: f64,
}

/// A rate until an instant.
#[derive(Debug, Clone, Copy)]
struct Step {
    gap_ns: f64,
    start_ns: f64,
    end_ns: f64,
}

impl Arrivals {
    /// The share of `worker` in the arrivals of a stream with `workers`; none for a closed loop.
    ///
    /// Poisson arrivals split into independent Poisson arrivals; fixed ones take turns.
    #[must_use]
    pub fn of(load: &Load, worker: u32, workers: u32, random: Random) -> Option<Self> {
        let (steps, process) = match load {
            Load::Closed { .. } => return None,
            Load::Open { rate_per_s, process, .. } => (vec![endless(*rate_per_s, workers)], *process),
            Load::Steps { steps, process, .. } => (consecutive(steps, workers), *process),
        };
        let turn = f64::from(worker) / f64::from(workers);
        let mut arrivals = Self { process, turn, random, steps, current: 0, in_step: 0, next_ns: 0.0 };
        arrivals.enter_step(0);
        Some(arrivals)
    }

    /// The earliest arrival that was not taken; infinite after the last step.
    #[inline]
    #[must_use]
    pub fn next_ns(&self) -> f64 {
        self.next_ns
    }

    /// The rate in force at the next arrival, per second and worker; zero after the last step.
    #[must_use]
    pub fn rate_per_s(&self) -> f64 {
        self.steps.get(self.current).map_or(0.0, |step| 1e9 / step.gap_ns)
    }

    /// Takes the next arrival.
    #[inline]
    pub fn advance(&mut self) {
        let step = self.steps[self.current];
        self.in_step += 1;
        self.next_ns = match self.process {
            Process::Fixed => step.start_ns + (self.in_step as f64 + self.turn) * step.gap_ns,
            Process::Poisson => self.next_ns + self.random.exponential() * step.gap_ns,
        };
        if self.next_ns >= step.end_ns {
            self.enter_step(self.current + 1);
        }
    }

    /// The first arrival of the step, or of a later one if it has none. Poisson arrivals have no memory, so they begin
    /// anew with a step.
    fn enter_step(&mut self, first: usize) {
        (self.current, self.in_step) = (first, 0);
        while let Some(&step) = self.steps.get(self.current) {
            let wait = match self.process {
                Process::Fixed => self.turn,
                Process::Poisson => self.random.exponential(),
            };
            self.next_ns = step.start_ns + wait * step.gap_ns;
            if self.next_ns < step.end_ns {
                return;
            }
            self.current += 1;
        }
        self.next_ns = f64::INFINITY;
    }
}

fn gap_ns(rate_per_s: f64, workers: u32) -> f64 {
    1e9 * f64::from(workers) / rate_per_s
}

fn endless(rate_per_s: f64, workers: u32) -> Step {
    Step { gap_ns: gap_ns(rate_per_s, workers), start_ns: 0.0, end_ns: f64::INFINITY }
}

fn consecutive(steps: &[RateStep], workers: u32) -> Vec<Step> {
    let mut end_ns = 0.0;
    let mut append = |step: &RateStep| {
        let start_ns = end_ns;
        end_ns += step.duration.0 as f64;
        Step { gap_ns: gap_ns(step.rate_per_s, workers), start_ns, end_ns }
    };
    steps.iter().map(&mut append).collect()
}
