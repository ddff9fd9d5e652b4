//! What waits for the arm, oldest first, laid out for choosing.
//!
//! Choosing looks at cylinder and angle of many requests, so these lie in columns of their own and are compared in single
//! precision, several at a time. Only the choice is so: times are computed in double precision afterwards.

use super::DriveOp;
use super::arm::{Aim, Stretch};
use super::window::View;

/// Requests compared in one step.
const LANES: usize = 8;
/// Room from the start; more makes the line grow.
const ROOM: usize = 256;
/// Places given up at the front before the line moves there again. The lines of many drives together have to fit the
/// processor's caches: with 46 drives that walked through all of their room, half of the time went into waiting for
/// memory.
const CLOSE_UP: usize = 8;

/// The waiting requests. Those before `first` are gone; the columns have `LANES` entries more than there are requests, so
/// that the last step may read beyond them.
#[derive(Debug)]
pub struct Line {
    first: usize,
    requests: Vec<Waiting>,
    cylinders: Vec<f32>,
    angles: Vec<f32>,
    before_turns: Vec<f32>,
}

/// A request and where it has to go.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// The request.
    pub op: DriveOp,
    /// Where its bytes lie.
    pub stretch: Stretch,
    /// What it needs beyond the seek before the head can wait for its sector.
    pub before_ns: f64,
}

impl Line {
    /// Nobody waits.
    pub fn new() -> Self {
        let column = || {
            let mut column = Vec::with_capacity(ROOM + LANES);
            column.resize(LANES, 0.0);
            column
        };
        Self {
            first: 0,
            requests: Vec::with_capacity(ROOM),
            cylinders: column(),
            angles: column(),
            before_turns: column(),
        }
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.requests.len() - self.first
    }

    /// The last in line.
    #[inline]
    pub fn push(&mut self, waiting: Waiting, turns_per_ns: f64) {
        if self.requests.len() == self.requests.capacity() {
            self.close_up();
        }
        let end = self.requests.len();
        self.cylinders[end] = waiting.stretch.start.cylinder as f32;
        self.angles[end] = waiting.stretch.start.angle as f32;
        self.before_turns[end] = (waiting.before_ns * turns_per_ns) as f32;
        self.requests.push(waiting);
        for column in [&mut self.cylinders, &mut self.angles, &mut self.before_turns] {
            column.push(0.0);
        }
    }

    /// A request by its place in line.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Waiting> {
        self.requests.get(self.first + index)
    }

    /// Takes out a request that is there; those before it keep their order.
    #[inline]
    pub fn remove(&mut self, index: usize) -> Waiting {
        let (first, at) = (self.first, self.first + index);
        let taken = self.requests[at];
        if index > 0 {
            self.requests.copy_within(first..at, first + 1);
            for column in [&mut self.cylinders, &mut self.angles, &mut self.before_turns] {
                column.copy_within(first..at, first + 1);
            }
        }
        self.drop_first();
        taken
    }

    /// Takes out a request that is there; the first takes its place in line.
    #[inline]
    pub fn swap_remove(&mut self, index: usize) -> Waiting {
        let (first, at) = (self.first, self.first + index);
        let taken = self.requests[at];
        self.requests[at] = self.requests[first];
        for column in [&mut self.cylinders, &mut self.angles, &mut self.before_turns] {
            column[at] = column[first];
        }
        self.drop_first();
        taken
    }

    #[inline]
    fn drop_first(&mut self) {
        self.first += 1;
        if self.first == self.requests.len() {
            self.clear();
        } else if self.first >= CLOSE_UP && self.first >= self.len() {
            self.close_up();
        }
    }

    /// The one in view that the arm reaches first.
    #[inline]
    pub fn nearest(&self, view: View, aim: &Aim) -> usize {
        let until_last = view.size.min(view.seen - view.from);
        let near = self.nearest_of(view.from, until_last, aim);
        if until_last == view.size {
            return near.0;
        }
        let from_front = self.nearest_of(0, view.size - until_last, aim);
        if from_front.1 < near.1 { from_front.0 } else { near.0 }
    }

    /// Of `count` requests from a place in line on, which is reached first and in how many turns.
    #[inline]
    fn nearest_of(&self, from: usize, count: usize, aim: &Aim) -> (usize, f32) {
        let mut least_turns = [f32::INFINITY; LANES];
        let mut nearest = [0_u32; LANES];
        for step in (0..count).step_by(LANES) {
            let turns = self.turns_to(self.first + from + step, aim);
            for lane in 0..LANES {
                let index = (step + lane) as u32;
                let nearer = (turns[lane] < least_turns[lane]) & (index < count as u32);
                least_turns[lane] = if nearer { turns[lane] } else { least_turns[lane] };
                nearest[lane] = if nearer { index } else { nearest[lane] };
            }
        }
        let best = (1..LANES).fold(0, |best, lane| if least_turns[lane] < least_turns[best] { lane } else { best });
        (from + nearest[best] as usize, least_turns[best])
    }

    #[inline]
    fn turns_to(&self, at: usize, aim: &Aim) -> [f32; LANES] {
        let mut turns = [0.0; LANES];
        let cylinders = &self.cylinders[at..at + LANES];
        let angles = &self.angles[at..at + LANES];
        let before = &self.before_turns[at..at + LANES];
        for lane in 0..LANES {
            turns[lane] = aim.turns_to(cylinders[lane], angles[lane], before[lane]);
        }
        turns
    }

    fn clear(&mut self) {
        self.first = 0;
        self.requests.clear();
        for column in [&mut self.cylinders, &mut self.angles, &mut self.before_turns] {
            column.truncate(LANES);
        }
    }

    /// Moves the line to the front of its memory.
    fn close_up(&mut self) {
        let (first, end) = (self.first, self.requests.len());
        self.requests.drain(..first);
        for column in [&mut self.cylinders, &mut self.angles, &mut self.before_turns] {
            column.drain(..first);
            column.truncate(end - first + LANES);
        }
        self.first = 0;
    }
}
