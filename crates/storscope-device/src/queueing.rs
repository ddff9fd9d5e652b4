//! A queue with several servers in virtual time: M/M/c when arrivals are Poisson.
//!
//! Its mean response time is known in closed form (Erlang C), so a generator that measures it differently is wrong.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use storscope_types::Nanos;

use crate::{Clock, Completion, Device, DeviceError, FlushRequest, Request, VirtualClock};

/// Keeps service times independent of arrivals that a generator draws from the same seed: without it, an M/M/1 at 30 %
/// answers 7 % too fast.
const SEED_OF_DEVICES: u64 = 0x6465_7669_6365;

/// First come, first served; service times are exponential and independent, those of flushes as well.
#[derive(Debug)]
pub struct QueueingDevice {
    clock: VirtualClock,
    random: Xoshiro256PlusPlus,
    service_mean_ns: f64,
    idle_servers: usize,
    /// Token and result.
    waiting: VecDeque<(u32, i32)>,
    /// In service: when done, order of start (so that ties keep it), what.
    serving: BinaryHeap<Reverse<(Nanos, u64, u32, i32)>>,
    started: u64,
    depth: usize,
}

impl QueueingDevice {
    /// A device with `servers` servers, `service_mean` each, and room for `depth` requests.
    #[must_use]
    pub fn new(clock: VirtualClock, servers: usize, service_mean: Nanos, depth: usize, seed: u64) -> Self {
        Self {
            clock,
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ SEED_OF_DEVICES),
            service_mean_ns: service_mean.0 as f64,
            idle_servers: servers,
            waiting: VecDeque::with_capacity(depth),
            serving: BinaryHeap::with_capacity(servers),
            started: 0,
            depth,
        }
    }

    fn start_waiting(&mut self) {
        while self.idle_servers > 0 {
            let Some((token, result)) = self.waiting.pop_front() else { return };
            self.idle_servers -= 1;
            let done_at = self.clock.now().saturating_add(self.draw_service());
            self.serving.push(Reverse((done_at, self.started, token, result)));
            self.started += 1;
        }
    }

    fn draw_service(&mut self) -> Nanos {
        let uniform = ((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        Nanos((-uniform.ln() * self.service_mean_ns).round() as u64)
    }

    fn complete_due(&mut self, done: &mut Vec<Completion>) {
        let now = self.clock.now();
        while let Some(&Reverse((at, _, token, result))) = self.serving.peek() {
            if at > now {
                return;
            }
            self.serving.pop();
            self.idle_servers += 1;
            done.push(Completion { token, result, at });
            self.start_waiting();
        }
    }
}

impl Device for QueueingDevice {
    const KEEPS_DATA: bool = false;

    fn depth(&self) -> usize {
        self.depth
    }

    fn submit(&mut self, request: Request) {
        self.waiting.push_back((request.token, request.length as i32));
        self.start_waiting();
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.waiting.push_back((flush.token, 0));
        self.start_waiting();
    }

    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        let next = self.serving.peek().map_or(Nanos::NEVER, |Reverse(first)| first.0);
        self.clock.sleep_until(next.min(until));
        self.complete_due(done);
        Ok(self.clock.now())
    }
}
