//! A device that stands still at chosen times, in virtual time.
//!
//! It tells whether a generator sees a stall as its users would: one that stops sending while the device stands still
//! counts one late request where there were thousands (Tene, "How not to measure latency": coordinated omission).

use std::collections::VecDeque;

use storscope_types::Nanos;

use crate::{Clock, Completion, Device, DeviceError, FlushRequest, Request, VirtualClock};

/// From `start` on nothing completes for `duration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// When it begins.
    pub start: Nanos,
    /// How long it lasts.
    pub duration: Nanos,
}

impl Stall {
    fn end(self) -> Nanos {
        self.start + self.duration
    }
}

/// Serves any number of requests side by side, each in the same time and flushes in one of their own, except while it
/// stalls: what is in service then,
/// and what comes, is done when the stall is over and its service time has passed.
#[derive(Debug)]
pub struct StallingDevice {
    clock: VirtualClock,
    service: Nanos,
    flush_service: Nanos,
    stalls: Vec<Stall>,
    /// When done, token and result, in this order.
    in_service: VecDeque<(Nanos, u32, i32)>,
    depth: usize,
}

impl StallingDevice {
    /// A device with `service` per request; `stalls` in order of time and apart from each other.
    #[must_use]
    pub fn new(clock: VirtualClock, service: Nanos, stalls: Vec<Stall>, depth: usize) -> Self {
        let in_service = VecDeque::with_capacity(depth);
        Self { clock, service, flush_service: service, stalls, in_service, depth }
    }

    /// The same with `flush_service` per flush.
    #[must_use]
    pub fn with_flush_service(self, flush_service: Nanos) -> Self {
        Self { flush_service, ..self }
    }

    /// Takes what is done after `service`, in order of time; of what is done at one instant the first to come is first.
    fn start(&mut self, service: Nanos, token: u32, result: i32) {
        let done_at = self.done_at(self.clock.now(), service);
        let place = self.in_service.partition_point(|other| other.0 <= done_at);
        self.in_service.insert(place, (done_at, token, result));
    }

    /// When what starts at `start` and takes `service` is done. Stalls interrupt it.
    fn done_at(&self, start: Nanos, service: Nanos) -> Nanos {
        let interrupt = |done: Nanos, stall: &Stall| {
            if done < stall.start || start >= stall.end() {
                done
            } else {
                done + stall.end().since(stall.start.max(start))
            }
        };
        self.stalls.iter().fold(start + service, interrupt)
    }
}

impl Device for StallingDevice {
    const KEEPS_DATA: bool = false;

    fn depth(&self) -> usize {
        self.depth
    }

    fn submit(&mut self, request: Request) {
        self.start(self.service, request.token, request.length as i32);
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.start(self.flush_service, flush.token, 0);
    }

    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        let next = self.in_service.front().map_or(Nanos::NEVER, |first| first.0);
        self.clock.sleep_until(next.min(until));
        let now = self.clock.now();
        while let Some(&(at, token, result)) = self.in_service.front().filter(|first| first.0 <= now) {
            self.in_service.pop_front();
            done.push(Completion { token, result, at });
        }
        Ok(now)
    }
}
