//! Limits of rates: of hosts and volumes, passed in this order before the I/O goes over the link.
//!
//! Each is a set of buckets by the generic cell rate algorithm (ITU-T I.371): a bucket knows the instant at which it would
//! be as full as it gets if nothing came any more, and an I/O may pass as soon as that is no further ahead than the bucket
//! is deep. So when an I/O will pass is known when it comes, as at a station. Until the next may pass the limit counts as
//! busy: at a rate as great as is allowed, that is all the time.

use storscope_types::Nanos;
use storscope_types::design::RateLimitDesign;

use super::Array;
use super::account::Part;
use super::controller::Cost;
use super::happening::What;
use super::job::Stage;

/// Limits on the way of an I/O: of all of the host's, of its direction, and the same of the volume.
pub const RATES: usize = 4;

/// Share of a bucket that has to have come back before it is said again that it was spent.
const COMES_BACK: f64 = 0.1;

/// One figure of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bucket {
    /// Time it takes to earn what an I/O costs.
    cost: Cost,
    /// Bytes that count as one I/O; 0: the whole I/O.
    unit: u64,
    /// When it will be full if nothing comes any more.
    full_at: Nanos,
    /// Time it takes to earn what it holds; 0 of one that saves nothing.
    depth: Nanos,
}

impl Bucket {
    /// Of a rate; `per_s` in the unit of its cost.
    fn of_rate(cost: Cost, unit: u64) -> Self {
        Self { cost, unit, full_at: Nanos::ZERO, depth: Nanos::ZERO }
    }

    /// The first instant at which the next may pass.
    #[inline]
    fn opens_at(&self) -> Nanos {
        self.full_at.since(self.depth)
    }

    /// Whether it holds enough at an instant to be worth a word when it is spent again.
    fn has_come_back(&self, at: Nanos) -> bool {
        self.full_at.since(at).0 as f64 <= (1.0 - COMES_BACK) * self.depth.0 as f64
    }

    #[inline]
    fn pass(&mut self, at: Nanos, bytes: u64) {
        let count = if self.unit == 0 { 1 } else { bytes.div_ceil(self.unit).max(1) };
        let cost = Nanos(self.cost.of(0).0 * count) + self.cost.of(bytes) - self.cost.of(0);
        self.full_at = self.full_at.max(at) + cost;
    }
}

/// A limit at work.
#[derive(Debug, Clone)]
pub struct RateLimit {
    /// Index of the station at which I/Os wait for it.
    pub station: u16,
    /// As designed.
    pub design: RateLimitDesign,
    buckets: Vec<Bucket>,
    /// Whether the credits are spent when the last that came passes.
    is_spent: bool,
    /// When the first passes that waited for credits, if that has not been said.
    to_be_said_at: Nanos,
}

impl RateLimit {
    /// As designed, with I/Os waiting at this station.
    #[must_use]
    pub fn new(design: &RateLimitDesign, station: u16) -> Self {
        let ios = |rate: f64| Cost::new(1e9 / rate, 0.0);
        let bytes = |rate: f64| Cost::new(0.0, 1_024e9 / rate);
        let unit = design.io_unit.map_or(0, |unit| unit.0);
        let mut buckets = Vec::new();
        let mut add = |rate: Option<f64>, burst: Option<f64>, cost: &dyn Fn(f64) -> Cost, unit: u64| {
            let Some(rate) = rate else { return };
            let mut allowed = Bucket::of_rate(cost(rate), unit);
            if let Some(burst) = burst {
                let time = design.burst_for.unwrap_or_default().0 as f64;
                let depth = time * (burst - rate) / rate;
                allowed.depth = Nanos(depth.round() as u64);
                allowed.full_at = Nanos((depth * (1.0 - design.burst_left.unwrap_or(1.0))).round() as u64);
                buckets.push(Bucket::of_rate(cost(burst), unit));
            }
            buckets.push(allowed);
        };
        add(design.iops, design.burst_iops, &ios, unit);
        add(design.bandwidth_bytes_per_s, design.burst_bandwidth_bytes_per_s, &bytes, 0);
        Self { station, design: *design, buckets, is_spent: false, to_be_said_at: Nanos::NEVER }
    }

    /// The first instant at which the next may pass.
    fn opens_at(&self) -> Nanos {
        self.buckets.iter().map(Bucket::opens_at).max().unwrap_or_default()
    }

    /// An I/O comes. Returns the time from when it passes until the next may.
    fn pass(&mut self, now: Nanos, bytes: u64) -> Nanos {
        let at = self.opens_at().max(now);
        let saves = |bucket: &&Bucket| bucket.depth > Nanos::ZERO;
        let is_spent = at > now && self.buckets.iter().filter(saves).any(|bucket| bucket.opens_at() == at);
        if is_spent && !self.is_spent {
            self.to_be_said_at = self.to_be_said_at.min(at);
        }
        let has_come_back = || self.buckets.iter().filter(saves).all(|bucket| bucket.has_come_back(at));
        self.is_spent = is_spent || (self.is_spent && !has_come_back());
        self.buckets.iter_mut().for_each(|bucket| bucket.pass(at, bytes));
        self.opens_at().since(at)
    }
}

impl Array {
    /// Passes the limits that are left, or waits at the next.
    #[inline]
    pub(super) fn pass_rates(&mut self, place: u32) {
        let job = &self.jobs[place];
        let way = self.targets[usize::from(job.account)].rates[usize::from(job.write)];
        match (usize::from(job.rates_met)..RATES).find(|&index| way[index] < u16::MAX) {
            Some(index) => self.meet_rate(place, way[index], index as u8 + 1),
            None => self.go_in(place),
        }
    }

    fn meet_rate(&mut self, place: u32, index: u16, met: u8) {
        let job = &mut self.jobs[place];
        (job.rates_met, job.rate, job.stage) = (met, index, Stage::Allowed);
        let bytes = u64::from(job.length);
        let limit = &mut self.rates[usize::from(index)];
        let (station, occupied) = (usize::from(limit.station), limit.pass(self.now, bytes));
        let departure = self.stations[station].pass(self.now, place, occupied);
        if departure.is_next {
            self.late_tree.set(station, self.stations[station].next_event());
        }
        self.spend(place, Part::RateLimit, departure.wait);
    }

    /// A limit lets a job pass.
    pub(super) fn allowed(&mut self, place: u32) {
        let limit = &mut self.rates[usize::from(self.jobs[place].rate)];
        if self.now >= limit.to_be_said_at {
            limit.to_be_said_at = Nanos::NEVER;
            let name = self.station_names[usize::from(limit.station)].1.clone();
            self.happened(false, What::CreditsSpent { limit: name }, None);
        }
        self.pass_rates(place);
    }
}
