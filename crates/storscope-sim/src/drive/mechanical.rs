//! A drive with platters.

use std::collections::VecDeque;

use storscope_types::Nanos;
use storscope_types::design::drive::MechanicalDesign;

use super::DriveOp;
use super::geometry::{Geometry, Place, fraction};
use super::seek::SeekCurve;

/// See [`MechanicalDesign`].
#[derive(Debug)]
pub struct Mechanical {
    geometry: Geometry,
    seek: SeekCurve,
    turn_ns: f64,
    turns_per_ns: f64,
    overhead_ns: f64,
    phase_turns: f64,
    head: Place,
    waiting: VecDeque<DriveOp>,
    serving: Option<DriveOp>,
    done_at: Nanos,
    busy: Nanos,
}

impl Mechanical {
    pub fn new(design: &MechanicalDesign, seed: u64, index: u32) -> Self {
        let geometry = Geometry::new(design);
        let turn_ns = 60e9 / design.turns_per_min;
        Self {
            seek: SeekCurve::new(&design.seek, geometry.cylinders()),
            geometry,
            turn_ns,
            turns_per_ns: 1.0 / turn_ns,
            overhead_ns: design.overhead.0 as f64,
            phase_turns: fraction((seed % 1000) as f64 * 0.618 + f64::from(index) * 0.754_877_666),
            head: Place::default(),
            waiting: VecDeque::with_capacity(64),
            serving: None,
            done_at: Nanos::NEVER,
            busy: Nanos::ZERO,
        }
    }

    pub fn submit(&mut self, now: Nanos, op: DriveOp) {
        self.waiting.push_back(op);
        if self.serving.is_none() {
            self.start(now);
        }
    }

    pub fn next_event(&self) -> Nanos {
        self.done_at
    }

    pub fn advance(&mut self, now: Nanos) -> Option<u32> {
        let done = self.serving.take()?;
        self.done_at = Nanos::NEVER;
        self.start(now);
        Some(done.tag)
    }

    pub fn queue_len(&self) -> usize {
        self.waiting.len()
    }

    pub fn in_service(&self) -> usize {
        usize::from(self.serving.is_some())
    }

    pub fn busy(&self, now: Nanos) -> Nanos {
        if self.serving.is_some() { self.busy.since(self.done_at.since(now)) } else { self.busy }
    }

    fn start(&mut self, now: Nanos) {
        let Some(op) = self.waiting.pop_front() else { return };
        let start = self.geometry.place(op.offset);
        let end = self.geometry.place(op.offset + u64::from(op.length));
        let seek = self.overhead_ns + self.seek.time_ns((start.cylinder - self.head.cylinder).abs());
        let under_head = self.phase_turns + (now.0 as i64 as f64 + seek) * self.turns_per_ns;
        let wait = fraction(start.angle + 1.0 - fraction(under_head)) * self.turn_ns;
        let service = Nanos((seek + wait + self.geometry.transfer_ns(&start, &end, op.length)) as u64);
        self.head = end;
        self.serving = Some(op);
        self.done_at = now + service;
        self.busy += service;
    }
}
