//! Limits of rates: of hosts and volumes, passed in this order before the I/O goes over the link.
//!
//! Each is a set of buckets by the generic cell rate algorithm (ITU-T I.371): a bucket knows the instant at which it would
//! be as full as it gets if nothing came any more, and an I/O may pass as soon as that is no further ahead than the bucket
//! is deep. So when an I/O will pass is known when it comes, as at a station. Until the next may pass the limit counts as
//! busy: at a rate as great as is allowed, that is all the time.

use serde::Serialize;
use storscope_types::Nanos;
use storscope_types::design::{RateLimitDesign, RateLimits};

use super::Array;
use super::account::Part;
use super::controller::Cost;
use super::happening::{NoEffect, What};
use super::job::Stage;

/// Limits on the way of an I/O: of all of the host's, of its direction, and the same of the volume.
pub const RATES: usize = 4;

/// Sequential streams that are told apart where a limit puts their I/Os together.
const STREAMS: usize = 8;

/// Share of a bucket that has to have come back before it is said again that it was spent.
const COMES_BACK: f64 = 0.1;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// I/Os, large ones as several.
    Ios,
    /// Bytes.
    Bytes,
}

/// One figure of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bucket {
    /// What it counts.
    counts: Counted,
    /// Time it takes to earn what an I/O costs.
    cost: Cost,
    /// Bytes that count as one I/O; 0: the whole I/O.
    unit: u64,
    /// When it will be full if nothing comes any more.
    full_at: Nanos,
    /// Time it takes to earn what it holds; 0 of one that saves nothing.
    depth: Nanos,
    /// Share of that it held at first.
    at_first: f64,
    /// Whether its credits are spent when the last that came passes.
    is_spent: bool,
    /// When the first passes that waited for its credits, if that has not been said.
    to_be_said_at: Nanos,
}

impl Bucket {
    /// Of a rate, by what one I/O or byte costs; saves nothing.
    fn of_rate(counts: Counted, rate: f64, unit: u64) -> Self {
        let cost = match counts {
            Counted::Ios => Cost::new(1e9 / rate, 0.0),
            Counted::Bytes => Cost::new(0.0, 1_024e9 / rate),
        };
        let (full_at, depth, to_be_said_at) = (Nanos::ZERO, Nanos::ZERO, Nanos::NEVER);
        Self { counts, cost, unit, full_at, depth, at_first: 1.0, is_spent: false, to_be_said_at }
    }

    /// Holds what a burst takes beyond the rate in a time, filled to a share.
    fn saves(self, rate: f64, burst: f64, time: Nanos, at_first: f64) -> Self {
        let depth = time.0 as f64 * (burst - rate) / rate;
        let full_at = Nanos((depth * (1.0 - at_first)).round() as u64);
        Self { depth: Nanos(depth.round() as u64), full_at, at_first, is_spent: at_first == 0.0, ..self }
    }

    /// Share of what it holds that is there.
    fn left(&self, now: Nanos) -> f64 {
        (1.0 - self.full_at.since(now).0 as f64 / self.depth.0 as f64).max(0.0)
    }

    /// The first instant at which the next may pass.
    #[inline]
    fn opens_at(&self) -> Nanos {
        self.full_at.since(self.depth)
    }

    /// An I/O that came at `now` will pass at `at`: is it the first that waits for credits?
    fn notes(&mut self, now: Nanos, at: Nanos) {
        if self.depth == Nanos::ZERO {
            return;
        }
        let is_spent = at > now && self.opens_at() == at;
        if is_spent && !self.is_spent {
            self.to_be_said_at = self.to_be_said_at.min(at);
        }
        self.is_spent = is_spent || (self.is_spent && self.left(at) < COMES_BACK);
    }

    #[inline]
    fn pass(&mut self, at: Nanos, bytes: u64, goes_on: bool) {
        let one = self.cost.of(0);
        let ios = match (self.unit, goes_on) {
            (0, _) => one,
            (unit, true) => Nanos((u128::from(one.0) * u128::from(bytes) / u128::from(unit)) as u64),
            (unit, false) => Nanos(one.0 * bytes.div_ceil(unit).max(1)),
        };
        self.full_at = self.full_at.max(at) + ios + self.cost.of(bytes) - one;
    }
}

/// Where the last I/Os ended, of a few streams side by side.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    /// Of each the account, the direction and the offset after its last byte.
    ends: [(u16, bool, u64); STREAMS],
    /// The place that was longest without one that went on.
    oldest: usize,
}

impl Ends {
    /// Whether an I/O begins where an earlier one ended.
    fn goes_on(&mut self, (account, write, from): (u16, bool, u64), bytes: u64) -> bool {
        let to = (account, write, from + bytes);
        if let Some(end) = self.ends.iter_mut().find(|end| **end == (account, write, from)) {
            *end = to;
            return bytes > 0;
        }
        self.ends[self.oldest] = to;
        self.oldest = (self.oldest + 1) % STREAMS;
        false
    }
}

/// A limit at work.
#[derive(Debug, Clone)]
pub struct RateLimit {
    /// Index of the station at which I/Os wait for it.
    pub station: u16,
    /// As designed; nothing of one that a change brings, or has lifted.
    pub design: Option<RateLimitDesign>,
    buckets: Vec<Bucket>,
    /// If it puts sequential I/Os together.
    ends: Option<Ends>,
}

/// The credits of a limit: of its I/Os or of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CreditsReport {
    /// Of what they are.
    pub counted: Counted,
    /// How long it takes to earn all that are kept.
    pub earned_in_ns: Nanos,
    /// Share of them that was there when the run began.
    pub at_first: f64,
    /// Share that is there.
    pub left: f64,
}

impl RateLimit {
    /// As designed, with I/Os waiting at this station; what is not limited passes at once.
    #[must_use]
    pub fn new(design: Option<&RateLimitDesign>, station: u16) -> Self {
        let Some(design) = design else { return Self { station, design: None, buckets: Vec::new(), ends: None } };
        let unit = design.io_unit.map_or(0, |unit| unit.0);
        let ios = (Counted::Ios, design.iops, design.burst_iops, unit);
        let bytes = (Counted::Bytes, design.bandwidth_bytes_per_s, design.burst_bandwidth_bytes_per_s, 0);
        let mut buckets = Vec::new();
        for (counts, rate, burst, unit) in [ios, bytes] {
            let Some(rate) = rate else { continue };
            let mut allowed = Bucket::of_rate(counts, rate, unit);
            if let Some(burst) = burst {
                let (time, at_first) = (design.burst_for.unwrap_or_default(), design.burst_left.unwrap_or(1.0));
                allowed = allowed.saves(rate, burst, time, at_first);
                buckets.push(Bucket::of_rate(counts, burst, unit));
            }
            buckets.push(allowed);
        }
        let ends = design.merge_sequential.then(Ends::default);
        Self { station, design: Some(*design), buckets, ends }
    }

    /// Another limit in its place, whose credits begin as it says.
    fn change(&mut self, now: Nanos, to: Option<RateLimitDesign>) {
        *self = Self::new(to.as_ref(), self.station);
        for bucket in self.buckets.iter_mut().filter(|bucket| bucket.full_at > Nanos::ZERO) {
            bucket.full_at += now;
        }
    }

    /// Its credits, if it keeps any.
    #[must_use]
    pub fn credits(&self, now: Nanos) -> Vec<CreditsReport> {
        let report = |bucket: &Bucket| CreditsReport {
            counted: bucket.counts,
            earned_in_ns: bucket.depth,
            at_first: bucket.at_first,
            left: bucket.left(now),
        };
        self.buckets.iter().filter(|bucket| bucket.depth > Nanos::ZERO).map(report).collect()
    }

    /// The first instant at which the next may pass.
    fn opens_at(&self) -> Nanos {
        self.buckets.iter().map(Bucket::opens_at).max().unwrap_or_default()
    }

    /// An I/O of an account comes, in a direction from an offset on. Returns the time from when it passes until the next may.
    fn pass(&mut self, now: Nanos, place: (u16, bool, u64), bytes: u64) -> Nanos {
        let at = self.opens_at().max(now);
        let goes_on = self.ends.as_mut().is_some_and(|ends| ends.goes_on(place, bytes));
        for bucket in &mut self.buckets {
            bucket.notes(now, at);
            bucket.pass(at, bytes, goes_on);
        }
        self.opens_at().since(at)
    }

    /// Credits that are spent by now, which has not been said; each is told once.
    fn spent_by(&mut self, now: Nanos) -> Option<Counted> {
        let bucket = self.buckets.iter_mut().find(|bucket| now >= bucket.to_be_said_at)?;
        bucket.to_be_said_at = Nanos::NEVER;
        Some(bucket.counts)
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
        let (bytes, from) = (u64::from(job.length), (job.account, job.write, job.offset));
        let limit = &mut self.rates[usize::from(index)];
        let (station, occupied) = (usize::from(limit.station), limit.pass(self.now, from, bytes));
        let departure = self.stations[station].pass(self.now, place, occupied);
        if departure.is_next {
            self.late_tree.set(station, self.stations[station].next_event());
        }
        self.spend(place, Part::RateLimit, departure.wait);
    }

    /// A volume or a host is allowed something else from now on. Those who wait pass as if they came now.
    pub(super) fn change_limits(&mut self, owner: &str, limits: &RateLimits) {
        let mut is_so = true;
        for (suffix, to) in [("", limits.all), (" reads", limits.reads), (" writes", limits.writes)] {
            let name = format!("{owner}{suffix}");
            let named = |limit: &RateLimit| self.station_names[usize::from(limit.station)].1 == name;
            let Some(index) = self.rates.iter().position(named) else { continue };
            let from = self.rates[index].design;
            if from != to {
                is_so = false;
                self.rates[index].change(self.now, to);
                self.pass_anew(index);
                self.happened(true, What::LimitChanged { limit: name, from, to }, None);
            }
        }
        if is_so {
            let what = What::LimitChanged { limit: owner.to_owned(), from: limits.all, to: limits.all };
            self.happened(true, what, Some(NoEffect::AlreadySo));
        }
    }

    /// Lets those who wait at a limit come to it once more.
    fn pass_anew(&mut self, index: usize) {
        let (now, limit) = (self.now, &mut self.rates[index]);
        let (station, jobs, accounts) = (usize::from(limit.station), &self.jobs, &mut self.accounts);
        let service = |place| {
            let job = &jobs[place];
            limit.pass(now, (job.account, job.write, job.offset), u64::from(job.length))
        };
        let moved = |place, was: Nanos, to: Nanos| {
            let job = &jobs[place];
            let spent = &mut accounts[usize::from(job.account)].spent[job.asked as usize][Part::RateLimit as usize];
            *spent = (*spent + to.0).saturating_sub(was.0);
        };
        self.stations[station].begin_anew(now, service, moved);
        self.late_tree.set(station, self.stations[station].next_event());
    }

    /// A limit lets a job pass.
    pub(super) fn allowed(&mut self, place: u32) {
        let index = usize::from(self.jobs[place].rate);
        while let Some(counted) = self.rates[index].spent_by(self.now) {
            let limit = self.station_names[usize::from(self.rates[index].station)].1.clone();
            self.happened(false, What::CreditsSpent { limit, counted }, None);
        }
        self.pass_rates(place);
    }
}
