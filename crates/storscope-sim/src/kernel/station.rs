//! A station whose service times are known on arrival: controllers and links.
//!
//! First come, first served by `c` servers means that a job starts at the later of now and the instant the first server
//! is free. So its departure is known when it arrives, and one event per job is enough. After the service a job may
//! take a fixed time to get across (the latency of a link), which occupies nobody.
//!
//! Beware: with several servers a short job may overtake a long one; the ring is kept in order of departure.

use std::collections::VecDeque;

use storscope_types::Nanos;

/// What happens to a job that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Time until a server takes it.
    pub wait: Nanos,
    /// Whether it is the next to leave, so that the event list must know.
    pub is_next: bool,
}

/// Servers with one queue, and what is known about them.
#[derive(Debug, Clone)]
pub struct Station {
    /// When each server is free: a ring in order of time, which begins at `first_free`.
    free_at: Box<[Nanos]>,
    first_free: usize,
    latency: Nanos,
    /// Instant of departure and job, in order.
    ring: VecDeque<(Nanos, u32)>,
    since: Nanos,
    changed: Nanos,
    area: u64,
    arrived: u64,
    departed: u64,
    service: u64,
    idle: u64,
    residence: u64,
    most: usize,
}

/// What a station has done since its statistics began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StationTotals {
    /// How long it has been watched.
    pub time: Nanos,
    /// Jobs that came.
    pub arrived: u64,
    /// Jobs that left.
    pub departed: u64,
    /// Jobs there at the beginning.
    pub present_at_start: u64,
    /// Servers.
    pub servers: usize,
    /// Server time spent until now.
    pub busy: Nanos,
    /// Server time not used until now.
    pub idle: Nanos,
    /// Integral of the number present, in nanoseconds.
    pub area: u64,
    /// Sum over all jobs of the time they were present, until now.
    pub residence: u64,
    /// Most jobs present.
    pub most: usize,
}

impl Station {
    /// Idle servers.
    #[must_use]
    pub fn new(servers: usize, latency: Nanos) -> Self {
        Self {
            free_at: vec![Nanos::ZERO; servers.max(1)].into_boxed_slice(),
            first_free: 0,
            latency,
            ring: VecDeque::with_capacity(256),
            since: Nanos::ZERO,
            changed: Nanos::ZERO,
            area: 0,
            arrived: 0,
            departed: 0,
            service: 0,
            idle: 0,
            residence: 0,
            most: 0,
        }
    }

    /// A job comes and needs `service` of a server.
    #[inline]
    pub fn arrive(&mut self, now: Nanos, job: u32, service: Nanos) -> Departure {
        self.admit(now, job, service, service + self.latency)
    }

    /// A job comes that needs no server: it waits for nobody, and only gets across.
    pub fn get_across(&mut self, now: Nanos, job: u32) -> Departure {
        let leave = now + self.latency;
        self.count(now);
        self.arrived += 1;
        self.residence += self.latency.0;
        let is_next = self.enqueue(leave, job);
        self.most = self.most.max(self.ring.len());
        Departure { wait: Nanos::ZERO, is_next }
    }

    /// A job comes, keeps a server from others for `service`, but leaves when it is its turn: a gate.
    #[inline]
    pub fn pass(&mut self, now: Nanos, job: u32, service: Nanos) -> Departure {
        self.admit(now, job, service, Nanos::ZERO)
    }

    /// A job comes that leaves `stay` after it was taken by a server.
    #[inline(always)]
    fn admit(&mut self, now: Nanos, job: u32, service: Nanos, stay: Nanos) -> Departure {
        let free_at = self.free_at[self.first_free];
        let start = free_at.max(now);
        self.idle += now.since(free_at.max(self.since)).0;
        self.occupy(start + service);
        let leave = start + stay;
        self.count(now);
        self.arrived += 1;
        self.service += service.0;
        self.residence += leave.0 - now.0;
        let is_next = self.enqueue(leave, job);
        self.most = self.most.max(self.ring.len());
        Departure { wait: start - now, is_next }
    }

    /// The server that is free first is so again at `done`. That is mostly the last of all.
    #[inline]
    fn occupy(&mut self, done: Nanos) {
        let (mut place, last) = (self.first_free, self.free_at.len() - 1);
        self.first_free = if place == last { 0 } else { place + 1 };
        while place != self.first_free {
            let before = if place == 0 { last } else { place - 1 };
            if self.free_at[before] <= done {
                break;
            }
            self.free_at[place] = self.free_at[before];
            place = before;
        }
        self.free_at[place] = done;
    }

    /// Keeps the ring in order of departure, ties in order of arrival. Returns whether the job is first.
    #[inline]
    fn enqueue(&mut self, leave: Nanos, job: u32) -> bool {
        let mut place = self.ring.len();
        let overtakes = self.ring.back().is_some_and(|last| last.0 > leave);
        self.ring.push_back((leave, job));
        while overtakes && place > 0 && self.ring[place - 1].0 > leave {
            self.ring.swap(place, place - 1);
            place -= 1;
        }
        place == 0
    }

    /// All who wait at a gate are let through anew, in their order: what kept them, or the next to come, counts no more.
    /// `service` says how long each keeps those behind it; `moved` learns when it would have left and when it does now.
    ///
    /// Only of a station with one server.
    pub fn begin_anew(
        &mut self,
        now: Nanos,
        mut service: impl FnMut(u32) -> Nanos,
        mut moved: impl FnMut(u32, Nanos, Nanos),
    ) {
        debug_assert_eq!(self.free_at.len(), 1, "a gate");
        self.service -= self.free_at[0].since(now).0;
        self.free_at[0] = self.free_at[0].min(now);
        for place in 0..self.ring.len() {
            let (was, job) = self.ring[place];
            let (start, keeps) = (self.free_at[0].max(now), service(job));
            self.free_at[0] = start + keeps;
            self.service += keeps.0;
            self.residence = self.residence + start.0 - was.0;
            self.ring[place].0 = start;
            moved(job, was, start);
        }
    }

    /// When the next job leaves.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Nanos {
        self.ring.front().map_or(Nanos::NEVER, |first| first.0)
    }

    /// The job that leaves now.
    #[inline]
    pub fn leave(&mut self, now: Nanos) -> Option<u32> {
        self.count(now);
        self.departed += 1;
        self.ring.pop_front().map(|first| first.1)
    }

    #[inline]
    fn count(&mut self, now: Nanos) {
        self.area += (now.0 - self.changed.0) * self.ring.len() as u64;
        self.changed = now;
    }

    /// Time to get across after the service.
    #[inline]
    #[must_use]
    pub fn latency(&self) -> Nanos {
        self.latency
    }

    /// Jobs present.
    #[must_use]
    pub fn present(&self) -> usize {
        self.ring.len()
    }

    /// Begins to count anew; jobs stay.
    pub fn restart(&mut self, now: Nanos) {
        let pending: u64 = self.free_at.iter().map(|free| free.since(now).0).sum();
        (self.since, self.changed, self.area) = (now, now, 0);
        (self.arrived, self.departed, self.most) = (0, 0, self.ring.len());
        self.service = pending;
        self.idle = 0;
        self.residence = self.ring.iter().map(|job| job.0.since(now).0).sum();
    }

    /// What was counted until `now`.
    #[must_use]
    pub fn totals(&self, now: Nanos) -> StationTotals {
        let pending: u64 = self.free_at.iter().map(|free| free.since(now).0).sum();
        let unspent: u64 = self.ring.iter().map(|job| job.0.since(now).0).sum();
        let present = self.ring.len() as u64;
        StationTotals {
            time: now.since(self.since),
            arrived: self.arrived,
            departed: self.departed,
            present_at_start: (self.departed + present).saturating_sub(self.arrived),
            servers: self.free_at.len(),
            busy: Nanos(self.service.saturating_sub(pending)),
            idle: Nanos(self.idle + self.free_at.iter().map(|&free| now.since(free.max(self.since)).0).sum::<u64>()),
            area: self.area + now.since(self.changed).0 * present,
            residence: self.residence.saturating_sub(unspent),
            most: self.most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_server_serves_in_order_and_the_latency_occupies_nobody() {
        let mut station = Station::new(1, Nanos(5));
        assert_eq!(station.arrive(Nanos(0), 1, Nanos(10)), Departure { wait: Nanos(0), is_next: true });
        assert_eq!(station.arrive(Nanos(4), 2, Nanos(10)), Departure { wait: Nanos(6), is_next: false });
        assert_eq!(station.next_event(), Nanos(15));
        assert_eq!(station.leave(Nanos(15)), Some(1));
        assert_eq!(station.next_event(), Nanos(25));
        let totals = station.totals(Nanos(25));
        assert_eq!((totals.busy, totals.arrived, totals.departed), (Nanos(20), 2, 1));
    }

    #[test]
    fn with_two_servers_a_short_job_overtakes() {
        let mut station = Station::new(2, Nanos::ZERO);
        station.arrive(Nanos(0), 1, Nanos(100));
        assert!(station.arrive(Nanos(0), 2, Nanos(10)).is_next);
        assert_eq!(station.arrive(Nanos(5), 3, Nanos(10)).wait, Nanos(5));
        assert_eq!(station.leave(Nanos(10)), Some(2));
        assert_eq!(station.leave(Nanos(20)), Some(3));
        assert_eq!(station.leave(Nanos(100)), Some(1));
    }

    proptest! {
        #[test]
        fn the_server_that_is_free_first_takes_the_next_job(
            servers in 1_usize..9,
            jobs in prop::collection::vec((0_u64..30, 0_u64..200), 1..100),
        ) {
            let mut station = Station::new(servers, Nanos::ZERO);
            let (mut free_at, mut now, mut idle) = (vec![0; servers], 0, 0);
            for (gap, service) in jobs {
                now += gap;
                let first = free_at.iter_mut().min().expect("servers");
                let start = now.max(*first);
                idle += start - *first;
                *first = start + service;
                prop_assert_eq!(station.arrive(Nanos(now), 0, Nanos(service)).wait, Nanos(start - now));
            }
            let idle_still = free_at.iter().map(|&free| now.saturating_sub(free)).sum::<u64>();
            prop_assert_eq!(station.totals(Nanos(now)).idle, Nanos(idle + idle_still));
        }
    }

    #[test]
    fn the_integral_of_the_number_present_is_the_sum_of_the_times_present() {
        let mut station = Station::new(1, Nanos(3));
        let (mut now, mut job) = (Nanos::ZERO, 0);
        while now < Nanos(90) {
            let next_arrival = Nanos(u64::from(job) * 7);
            now = next_arrival.min(station.next_event());
            if now == next_arrival {
                station.arrive(now, job, Nanos(11));
                job += 1;
            } else {
                station.leave(now);
            }
        }
        let totals = station.totals(now);
        assert!(totals.area > 0 && totals.area == totals.residence, "{totals:?}");
        assert_eq!(totals.busy, now);
    }
}
