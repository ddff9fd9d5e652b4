//! The array in virtual time.
//!
//! An [`Array`] is a [`Device`]: its targets are the attachments of the design (host and volume), in the design's order.
//! It lives on a [`VirtualClock`] that it moves when it is waited for. Every I/O is a job in a slab that goes through
//! stages: queue limits, links, controllers, cache, the phases of its layout, and back. Each station has one place in a
//! tournament tree of next events, so nothing is allocated per I/O and memory depends on what is in flight only.
//!
//! Simultaneous events come in the order drives, stations, timers, and within these by index; within a station in
//! sequence. Requests submitted at an instant come before the events of that instant that are still due.
//!
//! Beware: the clock must not be moved past the array by others; it catches up when it is used next.

mod account;
mod build;
mod drive_station;
mod engine;
mod group;
mod host_io;
mod issue;
mod job;
mod target;

use storscope_device::{Clock, Completion, Device, DeviceError, Request, VirtualClock};
use storscope_types::Nanos;

use crate::kernel::{Random, Slab, Station, Tournament};

pub use account::{Account, Part};
pub use build::Settings;
pub use target::{Target, Volume};

use drive_station::DriveStation;
use group::Group;
use issue::PlannedOp;
use job::Job;

/// An array that works.
#[derive(Debug)]
pub struct Array {
    clock: VirtualClock,
    now: Nanos,
    /// When statistics began.
    began: Nanos,
    /// Events handled.
    events: u64,
    tree: Tournament,
    drives: Vec<DriveStation>,
    stations: Vec<Station>,
    jobs: Slab<Job>,
    groups: Vec<Group>,
    volumes: Vec<Volume>,
    targets: Vec<Target>,
    /// One for each target, then one for what the array does by itself.
    accounts: Vec<Account>,
    random: Random,
    /// Operations about to be sent to drives.
    plan: Vec<PlannedOp>,
    done: Vec<Completion>,
    depth: usize,
}

impl Array {
    /// The targets, in order.
    #[must_use]
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Events handled so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Operations of drives that are done since statistics began.
    #[must_use]
    pub fn drive_ios(&self) -> u64 {
        self.drives.iter().map(|station| station.totals.completed).sum()
    }

    /// The instant that the array has got to.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Jobs of any kind that are under way.
    #[must_use]
    pub fn jobs_in_flight(&self) -> usize {
        self.jobs.in_use()
    }
}

impl Device for Array {
    fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    fn submit(&mut self, request: Request) {
        self.catch_up();
        self.take(request);
    }

    #[inline]
    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        let until = until.max(self.clock.now());
        while self.done.is_empty() && self.step(until) {}
        if self.done.is_empty() && until < Nanos::NEVER {
            self.now = self.now.max(until);
        }
        self.clock.sleep_until(self.now);
        done.append(&mut self.done);
        Ok(self.now)
    }
}
