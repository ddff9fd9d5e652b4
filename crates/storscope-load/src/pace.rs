//! When the next request goes out: from a completion (closed loop) or from an arrival (open loop).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use storscope_types::{Load, Nanos, Process, Stream, ThinkTime};

use crate::arrivals::Arrivals;
use crate::random::Random;
use crate::transfer::Transfers;

/// A request that may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The place in the queue it takes.
    pub slot: u32,
    /// Which of the worker's targets it goes to.
    pub track: usize,
    /// When it should have started.
    pub intended: Nanos,
}

/// Decides who goes next. All memory is taken at creation.
#[derive(Debug)]
pub enum Pace {
    /// A completion makes room.
    Closed(Closed),
    /// An arrival asks for a place.
    Open(Open),
}

/// What a pace draws from.
#[derive(Debug)]
pub struct PaceDraws {
    /// The gaps between arrivals.
    pub gaps: Random,
    /// The targets of arrivals, and think times.
    pub others: Random,
}

impl Pace {
    /// For one worker. `slots` is what [`Load::slots_per_worker`] says.
    #[must_use]
    pub fn new(stream: &Stream, worker: u32, tracks: usize, slots: usize, start: Nanos, draws: PaceDraws) -> Self {
        match Arrivals::of(&stream.load, worker, stream.workers, draws.gaps) {
            Some(arrivals) => Self::Open(Open::new(arrivals, &stream.load, tracks, slots, start, draws.others)),
            None => Self::Closed(Closed::new(stream.think_time, tracks, slots, start, draws.others)),
        }
    }

    /// The next request that may go out by `now`.
    #[inline]
    pub fn next(&mut self, now: Nanos, transfers: &mut Transfers) -> Option<Start> {
        match self {
            Self::Closed(closed) => closed.next(now, transfers),
            Self::Open(open) => open.next(now, transfers),
        }
    }

    /// A slot's last transfer was done at `at`.
    #[inline]
    pub fn release(&mut self, slot: u32, at: Nanos) {
        match self {
            Self::Closed(closed) => closed.release(slot, at),
            Self::Open(open) => open.free.push(slot),
        }
    }

    /// When a request may go out that may not yet, unless a completion allows it before.
    #[inline]
    #[must_use]
    pub fn wake_at(&self) -> Nanos {
        match self {
            Self::Closed(closed) => closed.wake_at(),
            Self::Open(open) => open.wake_at(),
        }
    }

    /// Whether each completion lets the next request go at once, so that none is ever ready for longer.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        matches!(self, Self::Closed(closed) if closed.think_time.is_none())
    }

    /// [`Pace::release`] of a slot of an open loop that does not wait for one, and of which nothing is due yet. Otherwise
    /// nothing happens, and it returns false.
    #[inline]
    pub fn release_early(&mut self, slot: u32, now: Nanos) -> bool {
        let Self::Open(open) = self else { return false };
        let is_early = open.due > now && !open.free.is_empty();
        if is_early {
            open.free.push(slot);
        }
        is_early
    }

    /// Whether none is ready or thinks.
    #[inline]
    #[must_use]
    pub fn is_spent(&self) -> bool {
        matches!(self, Self::Closed(closed) if closed.ready.is_empty() && closed.thinking.is_empty())
    }

    /// Arrivals per second; none in a closed loop.
    #[must_use]
    pub fn offered_per_s(&self) -> Option<f64> {
        match self {
            Self::Closed(_) => None,
            Self::Open(open) => Some(open.arrivals.rate_per_s()),
        }
    }

    /// How many requests should have started before `end` and did not, and the first of them. Ends the schedule.
    pub fn backlog(&mut self, end: Nanos) -> (u64, Option<Nanos>) {
        match self {
            Self::Closed(_) => (0, None),
            Self::Open(open) => open.backlog(end),
        }
    }
}

/// The slots of a closed loop: each belongs to a target.
#[derive(Debug)]
pub struct Closed {
    ready: VecDeque<(u32, Nanos)>,
    thinking: BinaryHeap<Reverse<(Nanos, u32)>>,
    think_time: Option<ThinkTime>,
    random: Random,
    per_target: u32,
    /// The burst's delay is over then.
    gate: Nanos,
    begun: bool,
}

impl Closed {
    fn new(think_time: Option<ThinkTime>, tracks: usize, slots: usize, start: Nanos, random: Random) -> Self {
        let mut ready = VecDeque::with_capacity(slots);
        ready.extend((0..slots as u32).map(|slot| (slot, start)));
        let thinking = BinaryHeap::with_capacity(if think_time.is_some() { slots } else { 0 });
        let per_target = (slots / tracks.max(1)).max(1) as u32;
        Self { ready, thinking, think_time, random, per_target, gate: start, begun: false }
    }

    #[inline]
    fn next(&mut self, now: Nanos, transfers: &mut Transfers) -> Option<Start> {
        if !self.thinking.is_empty() {
            self.wake_thinkers(now);
        }
        if !self.begun {
            self.begun = true;
            self.close_gate(now, transfers);
        }
        if self.gate > now {
            return None;
        }
        let (slot, ready_at) = self.ready.pop_front()?;
        // A division is slower than all the rest here, and most workers have one target.
        let track = if slot < self.per_target { 0 } else { slot / self.per_target };
        Some(Start { slot, track: track as usize, intended: ready_at.max(self.gate) })
    }

    /// Draws the next burst if the present one was sent; its delay counts from now.
    #[inline]
    pub fn close_gate(&mut self, now: Nanos, transfers: &mut Transfers) {
        let delay = transfers.begin_burst();
        if delay > Nanos::ZERO {
            self.gate = now + delay;
        }
    }

    #[inline]
    fn release(&mut self, slot: u32, at: Nanos) {
        let Some(think_time) = self.think_time else {
            self.ready.push_back((slot, at));
            return;
        };
        let thought = match think_time.process {
            Process::Fixed => think_time.mean,
            Process::Poisson => Nanos((self.random.exponential() * think_time.mean.0 as f64).round() as u64),
        };
        self.thinking.push(Reverse((at + thought, slot)));
    }

    fn wake_thinkers(&mut self, now: Nanos) {
        while let Some(&Reverse((at, slot))) = self.thinking.peek() {
            if at > now {
                return;
            }
            self.thinking.pop();
            self.ready.push_back((slot, at));
        }
    }

    fn wake_at(&self) -> Nanos {
        let gate = if self.ready.is_empty() { Nanos::NEVER } else { self.gate };
        self.thinking.peek().map_or(gate, |Reverse(first)| gate.min(first.0))
    }
}

/// The slots of an open loop: any serves any target.
#[derive(Debug)]
pub struct Open {
    arrivals: Arrivals,
    /// The next arrival as a whole instant: rounding up takes longer than all else that is done with it.
    due: Nanos,
    free: Vec<u32>,
    tracks: usize,
    turn: usize,
    process: Process,
    start: Nanos,
    random: Random,
}

impl Open {
    fn new(arrivals: Arrivals, load: &Load, tracks: usize, slots: usize, start: Nanos, random: Random) -> Self {
        let process = match load {
            Load::Open { process, .. } | Load::Steps { process, .. } => *process,
            Load::Closed { .. } => Process::Fixed,
        };
        let due = due(start, &arrivals);
        Self { arrivals, due, free: (0..slots as u32).rev().collect(), tracks, turn: 0, process, start, random }
    }

    #[inline]
    fn next(&mut self, now: Nanos, transfers: &mut Transfers) -> Option<Start> {
        let intended = self.due;
        if intended > now {
            return None;
        }
        let slot = self.free.pop()?;
        self.advance();
        transfers.begin_burst();
        Some(Start { slot, track: self.choose_track(), intended })
    }

    #[inline]
    fn advance(&mut self) {
        self.arrivals.advance();
        self.due = due(self.start, &self.arrivals);
    }

    /// Fixed arrivals visit the targets in turn, Poisson ones by chance: each target then sees the same process.
    #[inline]
    fn choose_track(&mut self) -> usize {
        if self.tracks == 1 {
            return 0;
        }
        if self.process == Process::Poisson {
            return self.random.below(self.tracks as u64) as usize;
        }
        self.turn = (self.turn + 1) % self.tracks;
        self.turn
    }

    fn wake_at(&self) -> Nanos {
        if self.free.is_empty() { Nanos::NEVER } else { self.due }
    }

    fn backlog(&mut self, end: Nanos) -> (u64, Option<Nanos>) {
        let first = Some(self.due).filter(|&due| due < end);
        let mut count = 0;
        while self.due < end {
            count += 1;
            self.advance();
        }
        (count, first)
    }
}

#[inline]
fn due(start: Nanos, arrivals: &Arrivals) -> Nanos {
    start.saturating_add(Nanos(arrivals.next_ns().ceil() as u64))
}
