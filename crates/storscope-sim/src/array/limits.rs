//! Queue limits: of the LUN, the adapter, the host and the controller's ports, passed in this order.
//!
//! An I/O that meets a full one waits there in turn and keeps the places it already has, as a command does that a host's
//! driver has queued.

use storscope_types::Nanos;

use super::Array;
use super::account::Part;
use crate::kernel::NONE;

/// Gates an I/O passes.
pub const GATES: usize = 4;

/// The last of them: the ports of the controller that it is sent to.
pub const PORTS: usize = GATES - 1;

/// Where the time of waiting at each of them goes.
const PARTS: [Part; GATES] = [Part::LunQueue, Part::AdapterQueue, Part::HostQueue, Part::PortQueue];

/// A limit and who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Most at a time.
    pub most: u32,
    /// Places taken.
    pub used: u32,
    first: u32,
    last: u32,
    /// How many have had to wait.
    pub waited: u64,
    /// How many wait.
    waiting: u32,
    changed: Nanos,
    used_area: u64,
    full: u64,
    waiting_area: u64,
}

impl Limit {
    /// Nobody there.
    #[must_use]
    pub const fn new(most: u32) -> Self {
        Self {
            most,
            used: 0,
            first: NONE,
            last: NONE,
            waited: 0,
            waiting: 0,
            changed: Nanos::ZERO,
            used_area: 0,
            full: 0,
            waiting_area: 0,
        }
    }

    /// To be called before `used` or `waiting` changes.
    #[inline]
    fn count(&mut self, now: Nanos) {
        let elapsed = now.0 - self.changed.0;
        self.used_area += u64::from(self.used) * elapsed;
        self.waiting_area += u64::from(self.waiting) * elapsed;
        self.full += if self.used >= self.most { elapsed } else { 0 };
        self.changed = now;
    }

    /// Integral of the places taken, time it was full, how many had to wait, and the integral of those waiting.
    #[must_use]
    pub fn counted(&self, now: Nanos) -> [u64; 4] {
        let mut until = *self;
        until.count(now);
        [until.used_area, until.full, until.waited, until.waiting_area]
    }

    /// Begins to count anew; who is there stays.
    pub fn restart(&mut self, now: Nanos) {
        (self.changed, self.used_area, self.full, self.waited, self.waiting_area) = (now, 0, 0, 0, 0);
    }
}

impl Array {
    /// A new host I/O stands before its first limit.
    pub(super) fn admit(&mut self, place: u32) {
        self.pass(place, 0);
    }

    fn port_limit(&self, target: usize) -> u16 {
        let target = &self.targets[target];
        let via = self.way_to(target);
        self.controllers.get(usize::from(via)).and_then(|controller| controller.limit).unwrap_or(u16::MAX)
    }

    fn limit_at(&self, place: u32, gate: usize) -> Option<usize> {
        let job = &self.jobs[place];
        let limit = if gate == PORTS { job.port } else { self.targets[usize::from(job.account)].limits[gate] };
        (limit < u16::MAX).then_some(usize::from(limit))
    }

    /// Passes the limits from a gate on, or waits at the first that is full.
    pub(super) fn pass(&mut self, place: u32, from: usize) {
        for gate in from..GATES {
            if gate == PORTS && !self.finds_ports(place) {
                self.jobs[place].gate = gate as u8;
                return self.wait_for_takeover(place);
            }
            let Some(limit) = self.limit_at(place, gate) else { continue };
            if self.limits[limit].used >= self.limits[limit].most {
                self.jobs[place].gate = gate as u8;
                return self.queue_at(place, limit);
            }
            self.limits[limit].count(self.now);
            self.limits[limit].used += 1;
        }
        self.jobs[place].gate = GATES as u8;
        self.enter(place);
    }

    /// Chooses the ports that an I/O is sent to, if somebody answers there. Until then it takes no place at any.
    #[inline]
    fn finds_ports(&mut self, place: u32) -> bool {
        let index = usize::from(self.jobs[place].account);
        if self.someone_is_silent && self.is_silent(&self.targets[index]) {
            return false;
        }
        self.jobs[place].port = self.port_limit(index);
        true
    }

    /// Those who wait for a place at the ports of a controller that has failed go to those of another one, in turn.
    pub(super) fn leave_ports(&mut self, failed: usize) {
        let Some(index) = self.controllers[failed].limit else { return };
        let limit = &mut self.limits[usize::from(index)];
        limit.count(self.now);
        limit.waiting = 0;
        limit.last = NONE;
        let mut next = std::mem::replace(&mut limit.first, NONE);
        while next != NONE {
            let place = next;
            next = self.jobs[place].next;
            self.spend(place, PARTS[PORTS], self.now - self.jobs[place].mark);
            self.pass(place, PORTS);
        }
    }

    fn queue_at(&mut self, place: u32, limit: usize) {
        (self.jobs[place].next, self.jobs[place].mark) = (NONE, self.now);
        let limit = &mut self.limits[limit];
        limit.count(self.now);
        limit.waited += 1;
        limit.waiting += 1;
        match limit.last {
            NONE => limit.first = place,
            last => self.jobs[last].next = place,
        }
        limit.last = place;
    }

    /// An answered I/O gives its places back, the last one first; who waits gets them. The job's place in the slab may
    /// be free by then, but is not used yet.
    pub(super) fn leave_limits(&mut self, place: u32) {
        for gate in (0..GATES).rev() {
            let Some(limit) = self.limit_at(place, gate) else { continue };
            let waiting = self.limits[limit].first;
            self.limits[limit].count(self.now);
            if waiting == NONE {
                self.limits[limit].used -= 1;
                continue;
            }
            self.limits[limit].waiting -= 1;
            self.limits[limit].first = self.jobs[waiting].next;
            self.spend(waiting, PARTS[gate], self.now - self.jobs[waiting].mark);
            if self.limits[limit].first == NONE {
                self.limits[limit].last = NONE;
            }
            self.released.push((waiting, gate as u8 + 1));
        }
        self.pass_released();
    }

    /// Those who got a place go on. One that is answered at once releases others: they are handled in the same loop, so
    /// that long queues do not nest.
    fn pass_released(&mut self) {
        if std::mem::replace(&mut self.releasing, true) {
            return;
        }
        while let Some((waiting, gate)) = self.released.pop() {
            self.pass(waiting, usize::from(gate));
        }
        self.releasing = false;
    }
}
