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
mod background;
mod build;
mod caching;
mod changes;
mod controller;
mod destage;
mod drive_station;
mod engine;
mod flash;
mod front;
mod group;
mod happening;
mod host_io;
mod issue;
mod job;
mod laws;
mod limits;
mod losses;
mod marks;
mod memory;
mod planning;
mod rates;
mod rebuild;
mod report;
mod reporting;
mod sharing;
mod slices;
mod takeover;
mod target;

use storscope_device::{Clock, Completion, Device, DeviceError, FlushRequest, Request, VirtualClock};
use storscope_types::Nanos;
use storscope_types::design::TransitionDesign;

use crate::kernel::{Random, Slab, Station, Tournament};

pub use account::Part;
pub use build::Settings;
pub use happening::{Happening, NoEffect, TaskNames, What};
pub use marks::{Mark, TargetMark};
pub use memory::MemoryTotals;
pub use rates::{Counted, CreditsReport};
pub use report::{
    ArrayReport, CacheReport, ComponentKind, ComponentReport, FlashReport, FlushReport, LatencyReport, LimitKind,
    LimitReport, PartReport, QueueMatrix, TargetReport, TaskReport, VolumeReport,
};
pub use target::{Target, Volume};

use account::Account;
use background::Task;
use changes::Change;
use controller::{Controller, Link};
use drive_station::DriveStation;
use group::Group;
use happening::Happenings;
use issue::PlannedOp;
use job::Job;
use limits::Limit;
use marks::Marks;
use memory::Memory;
use rates::RateLimit;
use slices::Slices;

/// An array that works.
#[derive(Debug)]
pub struct Array {
    name: String,
    clock: VirtualClock,
    now: Nanos,
    /// When statistics began.
    began: Nanos,
    /// Events handled.
    events: u64,
    /// Next events of drives, and of stations and timers: two trees, since few of the latter change often.
    tree: Tournament,
    late_tree: Tournament,
    drives: Vec<DriveStation>,
    stations: Vec<Station>,
    station_names: Vec<(ComponentKind, String)>,
    /// First timer in the tree of stations: the schedule, then the tasks.
    timers: usize,
    jobs: Slab<Job>,
    groups: Vec<Group>,
    volumes: Vec<Volume>,
    targets: Vec<Target>,
    controllers: Vec<Controller>,
    /// From controllers to those behind them in the design, and back: one link twice if it carries one direction at a time.
    mirror: Option<[Link; 2]>,
    cache: Option<Box<Memory>>,
    /// Whether reads that missed stay in memory.
    keeps_reads: bool,
    limits: Vec<Limit>,
    limit_names: Vec<(LimitKind, String)>,
    rates: Vec<RateLimit>,
    /// Jobs that have got a place, and the gate they go on from.
    released: Vec<(u32, u8)>,
    releasing: bool,
    /// First and last of the jobs that wait until another controller has taken over.
    silenced: (u32, u32),
    someone_is_silent: bool,
    tasks: Vec<Task>,
    changes: Vec<(Nanos, Change)>,
    next_change: usize,
    transition: Option<TransitionDesign>,
    watches_ownership: bool,
    /// One for each target, then one for what the array does by itself.
    accounts: Vec<Account>,
    slices: Slices,
    marks: Marks,
    happenings: Happenings,
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

    /// How long a run may be: so much of what the event list can tell that what is under way at its end is done, too.
    #[must_use]
    pub fn longest(&self) -> Nanos {
        Nanos(self.tree.horizon().min(self.late_tree.horizon()).0 / 8 * 7)
    }

    /// Jobs of any kind that are under way.
    #[must_use]
    pub fn jobs_in_flight(&self) -> usize {
        self.jobs.in_use()
    }

    /// Begins all statistics anew, at the end of a warm-up. What is under way stays and is counted from now on.
    pub fn restart_statistics(&mut self) {
        self.catch_up();
        let now = self.now;
        self.began = now;
        self.drives.iter_mut().for_each(|station| station.restart(now));
        self.stations.iter_mut().for_each(|station| station.restart(now));
        self.accounts.iter_mut().for_each(|account| account.restart(now));
        self.slices.restart(now);
        self.limits.iter_mut().for_each(|limit| limit.restart(now));
        self.marks.restart(now);
        if let Some(memory) = &mut self.cache {
            memory.totals = MemoryTotals::default();
        }
        self.mark(false);
    }
}

impl Device for Array {
    const EXPECTS: bool = true;
    const KEEPS_DATA: bool = false;

    fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    fn submit(&mut self, request: Request) {
        self.catch_up();
        self.take(request);
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.catch_up();
        self.take_flush(flush);
    }

    #[inline]
    fn expect(&mut self, target: u32, offset: u64) {
        if let (Some(memory), Some(target)) = (&self.cache, self.targets.get(target as usize)) {
            let volume = &self.volumes[usize::from(target.volume)];
            memory.warm(volume.group, volume.start + offset);
        }
    }

    #[inline]
    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        let until = until.max(self.clock.now());
        while self.done.is_empty() && self.step(until) {}
        if self.done.is_empty() && until < Nanos::NEVER {
            self.pass_to(until);
        }
        self.clock.sleep_until(self.now);
        if done.is_empty() {
            std::mem::swap(done, &mut self.done);
        } else {
            done.append(&mut self.done);
        }
        Ok(self.now)
    }
}
