//! A drive by its measured throughput: a station whose rate depends on how much is in it.
//!
//! With n requests in it, it completes them at the curve's rate for n, oldest first; between the points the rate is
//! interpolated on logarithmic scales, beyond the last it stays, below the first it is in proportion to n: the response
//! there is that of the first point, which it is at most. A closed loop with n outstanding so gets exactly what was
//! measured; mean response follows from Little's law. What a larger request has more passes after that, one request at a
//! time at the rate of the transfer, however many are in it. What is not there: where on the drive a request goes,
//! sequential access, and any effect of reads on writes but waiting.

use std::collections::VecDeque;

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::drive::{CurveDesign, CurvePoint};

use super::DriveOp;
use super::maths;
use super::variate::{Random, Spread};

/// See [`CurveDesign`].
#[derive(Debug)]
pub struct Curve {
    reads: Means,
    writes: Means,
    spread: Spread,
    block_bytes: u32,
    ns_per_byte: f64,
    random: Random,
    inside: VecDeque<DriveOp>,
    /// When what takes as long as the curve says of the oldest is over, and its transfer begins.
    found_at: Nanos,
    /// When the oldest is done.
    done_at: Nanos,
    /// How long the oldest would take alone, and how long the one done last would have.
    alone: Nanos,
    served: Nanos,
    busy: Nanos,
    busy_since: Nanos,
    /// See [`Curve::used`]; counted until `counted_at`.
    used_ns: f64,
    counted_at: Nanos,
}

/// What a direction's points say.
#[derive(Debug)]
struct Means {
    /// Mean time between completions for 1, 2, ... requests inside, up to the last point.
    ns: Vec<f64>,
    /// How many it serves side by side: the greatest rate over that of a single request.
    parallel: f64,
}

impl Curve {
    pub fn new(design: &CurveDesign, seed: u64, index: u32) -> Self {
        Self {
            reads: Means::new(&design.reads),
            writes: Means::new(design.writes.as_ref().unwrap_or(&design.reads)),
            spread: Spread::new(design.cv),
            block_bytes: u32::try_from(design.block.0).unwrap_or(u32::MAX),
            ns_per_byte: design.rate_bytes_per_s.map_or(0.0, |rate| 1e9 / rate),
            random: Random::new(seed, index),
            inside: VecDeque::with_capacity(256),
            found_at: Nanos::NEVER,
            done_at: Nanos::NEVER,
            alone: Nanos::ZERO,
            served: Nanos::ZERO,
            busy: Nanos::ZERO,
            busy_since: Nanos::NEVER,
            used_ns: 0.0,
            counted_at: Nanos::ZERO,
        }
    }

    pub fn submit(&mut self, now: Nanos, op: DriveOp) {
        self.count(now);
        self.inside.push_back(op);
        if self.inside.len() == 1 {
            self.busy_since = now;
            self.start(now);
        } else {
            self.hurry(now);
        }
    }

    /// No cache is known of it.
    pub fn is_volatile(&self) -> bool {
        false
    }

    /// A flush has nothing to do.
    pub fn flush(&mut self, now: Nanos, tag: u32) {
        self.submit(now, DriveOp { tag, direction: Direction::Write, offset: 0, length: 0 });
    }

    #[inline]
    pub fn next_event(&self) -> Nanos {
        self.done_at
    }

    pub fn advance(&mut self, now: Nanos) -> Option<u32> {
        self.count(now);
        let op = self.inside.pop_front()?;
        self.served = self.alone;
        if self.inside.is_empty() {
            self.done_at = Nanos::NEVER;
            self.busy += now.since(self.busy_since);
            self.busy_since = Nanos::NEVER;
        } else {
            self.start(now);
        }
        Some(op.tag)
    }

    pub fn queue_len(&self) -> usize {
        self.inside.len().saturating_sub(1)
    }

    pub fn in_service(&self) -> usize {
        usize::from(!self.inside.is_empty())
    }

    pub fn busy(&self, now: Nanos) -> Nanos {
        self.busy + now.since(self.busy_since)
    }

    /// For how long it worked, each instant weighted by the share of the places that were taken: of those of the oldest
    /// one's direction, or of one while that is transferred.
    pub fn used(&self, now: Nanos) -> Nanos {
        Nanos((self.used_ns + self.used_since_counted_ns(now)) as u64)
    }

    /// How long what was done last would have taken alone.
    pub fn served(&self) -> Nanos {
        self.served
    }

    fn count(&mut self, now: Nanos) {
        self.used_ns += self.used_since_counted_ns(now);
        self.counted_at = now;
    }

    fn used_since_counted_ns(&self, now: Nanos) -> f64 {
        let Some(op) = self.inside.front() else { return 0.0 };
        let found = self.found_at.min(now).since(self.counted_at).0;
        let transferred = now.since(self.counted_at).0 - found;
        let share = (self.inside.len() as f64 / self.means(op.direction).parallel).min(1.0);
        found as f64 * share + transferred as f64
    }

    fn start(&mut self, now: Nanos) {
        let Some(op) = self.inside.front() else { return };
        let means = self.means(op.direction);
        let (mean_ns, alone_ns) = (means.at(self.inside.len()), means.at(1));
        let transfer = Nanos((f64::from(op.length.saturating_sub(self.block_bytes)) * self.ns_per_byte) as u64);
        let drawn = self.spread.draw(&mut self.random);
        self.found_at = now + Nanos((mean_ns * drawn) as u64);
        self.done_at = self.found_at + transfer;
        self.alone = Nanos((alone_ns * drawn) as u64) + transfer;
    }

    /// What is left of the current service goes at the rate of the new number inside. A transfer goes on as it did.
    fn hurry(&mut self, now: Nanos) {
        let Some(op) = self.inside.front() else { return };
        let (count, means) = (self.inside.len(), self.means(op.direction));
        let ratio = means.at(count) / means.at(count - 1);
        let left = self.found_at.since(now);
        let transfer = self.done_at.since(self.found_at.max(now));
        self.found_at = now + Nanos((left.0 as f64 * ratio) as u64);
        self.done_at = self.found_at + transfer;
    }

    fn means(&self, direction: Direction) -> &Means {
        if direction == Direction::Read { &self.reads } else { &self.writes }
    }
}

impl Means {
    fn new(points: &[CurvePoint]) -> Self {
        let last = points.last().map_or(1, |point| point.qd);
        let ns = (1..=last).map(|qd| 1e9 / rate_at(points, qd)).collect();
        Self { ns, parallel: served_side_by_side(points) }
    }

    fn at(&self, count: usize) -> f64 {
        self.ns[count.min(self.ns.len()) - 1]
    }
}

/// How many requests a drive with such points serves side by side: its greatest rate over that of a single request.
pub fn served_side_by_side(points: &[CurvePoint]) -> f64 {
    let most = points.iter().map(|point| point.iops).fold(0.0, f64::max);
    points.first().map_or(1.0, |first| most / first.iops * f64::from(first.qd)).max(1.0)
}

fn rate_at(points: &[CurvePoint], qd: u32) -> f64 {
    let above = points.iter().position(|point| point.qd >= qd).unwrap_or(points.len() - 1);
    let (low, high) = (points[above.saturating_sub(1)], points[above]);
    if above == 0 || high.qd == qd {
        return high.iops * (f64::from(qd.min(high.qd)) / f64::from(high.qd));
    }
    let depth = |qd: u32| maths::ln(f64::from(qd));
    let share = (depth(qd) - depth(low.qd)) / (depth(high.qd) - depth(low.qd));
    maths::exp(maths::ln(low.iops) * (1.0 - share) + maths::ln(high.iops) * share)
}
