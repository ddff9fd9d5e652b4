//! Work that the array does by itself: rebuild, restripe, scrub. A step at a time, throttled.
//!
//! A step handles a chunk of some rows of one set of drives, or a stripe of a pool; a rebuild of a pool goes along the failed
//! drive (see `rebuild`). Rebuild reads what is needed of the survivors, computes, and writes to the spare; scrub reads
//! everything; restripe reads a segment and writes it to another drive of the group, chosen at random, at the same offset.
//!
//! What a rebuild of a pool can read no more it passes over; a set of drives with too little left is given up when its drives
//! fail (see `losses`).
//!
//! Ignored: that data has moved after a restripe. Reads and writes still go to the old place.

use std::ops::Range;

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::{BackgroundDesign, BackgroundKind};

use super::Array;
use super::group::{Dead, Group, Spare};
use super::happening::{NoEffect, TaskNames, What};
use super::issue::PlannedOp;
use super::job::{Job, Kind, Stage};
use super::rebuild::{Order, usual_outstanding};
use crate::kernel::Random;
use crate::layout::Place;

/// Bytes of a drive in a step of a rebuild or a scrub, unless the design says otherwise: with a segment of 64 KiB at a time
/// an idle drive of 7,200 rpm would be rebuilt at 7 MB/s, a tenth of what arrays do.
pub(super) const USUAL_CHUNK_BYTES: u64 = 1 << 20;

/// Background work.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: BackgroundKind,
    /// Index of the group.
    pub group: usize,
    chunk: u64,
    /// In which order what a failed drive of a pool held is rebuilt.
    order: Order,
    outstanding: u32,
    /// The most that it may do.
    pub rate_bytes_per_s: Option<f64>,
    share: f64,
    active: u32,
    /// Steps that are not done, of what is rebuilt now.
    under_way: Vec<u64>,
    cursor: u64,
    end: u64,
    next_at: Nanos,
    /// Whether it goes on.
    pub running: bool,
    /// Bytes rebuilt, moved or read.
    pub bytes: u64,
    /// Bytes of the times it ran before.
    bytes_before: u64,
    /// When it began and ended last.
    pub started: Option<Nanos>,
    /// See `started`.
    pub finished: Option<Nanos>,
    /// The failed drive that is rebuilt, by its place in the group's list.
    pub(super) dead: usize,
}

impl Task {
    /// Work that has not begun.
    #[must_use]
    pub fn new(design: &BackgroundDesign, index: usize, group: &Group) -> Self {
        let segment = group.map.segment();
        let in_chunks = design.kind == BackgroundKind::Rebuild || group.map.has_rows();
        let usual = if design.kind == BackgroundKind::Restripe { segment } else { segment.max(USUAL_CHUNK_BYTES) };
        let chunk = design.chunk.map_or(usual, |chunk| chunk.0);
        let rows = if in_chunks { (chunk / segment).max(1) } else { 1 };
        let outstanding = design.outstanding.unwrap_or_else(|| usual_outstanding(design.kind, group));
        Self {
            name: design.name.clone(),
            kind: design.kind,
            group: index,
            chunk: rows * segment,
            order: Order::new(group.map.extent_of_drive(), rows * segment, outstanding),
            outstanding,
            rate_bytes_per_s: design.rate_bytes_per_s,
            share: design.share,
            active: 0,
            under_way: Vec::with_capacity(outstanding as usize),
            cursor: 0,
            end: 0,
            next_at: Nanos::ZERO,
            running: false,
            bytes: 0,
            bytes_before: 0,
            started: None,
            finished: None,
            dead: 0,
        }
    }

    /// Steps of the whole group.
    fn steps(&self, group: &Group) -> u64 {
        let map = &group.map;
        if self.goes_along_drive(group) {
            return (map.used_of_drive().div_ceil(self.chunk) as f64 * self.share).ceil() as u64;
        }
        let rows_of_chunk = self.chunk / map.segment();
        let blocks = map.stripes() / map.sets() / rows_of_chunk;
        let all = match self.kind {
            BackgroundKind::Rebuild => blocks,
            BackgroundKind::Scrub => blocks * map.sets(),
            BackgroundKind::Restripe => blocks * map.sets() * map.width(),
        };
        (all as f64 * self.share) as u64
    }

    /// Whether its steps are those along a failed drive of a pool.
    fn goes_along_drive(&self, group: &Group) -> bool {
        self.kind == BackgroundKind::Rebuild && !group.map.has_rows()
    }

    /// What a step along a failed drive takes of it.
    fn range(&self, step: u64) -> Range<u64> {
        let chunk = self.order.chunk(step, self.end);
        chunk * self.chunk..(chunk + 1) * self.chunk
    }

    /// The stripe another step begins with; of a rebuild, of a failed drive by its place in the list.
    fn stripe(&self, step: u64, dead: usize, group: &Group) -> u64 {
        let map = &group.map;
        let rows_of_chunk = self.chunk / map.segment();
        let (block, set) = match self.kind {
            BackgroundKind::Rebuild => {
                (step, group.dead.get(dead).map_or(0, |dead| u64::from(dead.drive) / map.width()))
            }
            BackgroundKind::Scrub => (step / map.sets(), step % map.sets()),
            BackgroundKind::Restripe => (step / map.width() / map.sets(), step / map.width() % map.sets()),
        };
        map.stripe_of(block * rows_of_chunk, set)
    }

    /// Bytes, steps begun, steps in all, of the present or the last time it ran.
    #[must_use]
    pub fn counted(&self) -> [u64; 3] {
        [self.bytes, self.cursor, self.end]
    }

    /// The same, with the bytes of all the times it ran: a count that only grows.
    #[must_use]
    pub fn counted_in_all(&self) -> [u64; 3] {
        [self.bytes_before + self.bytes, self.cursor, self.end]
    }

    /// What a step counts as that handles so many bytes of each drive it reads, of which there are so many.
    fn bytes_of_step(&self, bytes: u64, reads: u64) -> u64 {
        if self.kind == BackgroundKind::Scrub { bytes * reads } else { bytes * reads.min(1) }
    }

    fn pace(&self, bytes: u64, reads: u64) -> Nanos {
        let seconds = |rate: f64| self.bytes_of_step(bytes, reads) as f64 / rate;
        self.rate_bytes_per_s.map_or(Nanos::ZERO, |rate| Nanos::from_secs_f64(seconds(rate)))
    }
}

impl Array {
    /// Starts a task from the beginning, or tells why there is nothing to do.
    pub(super) fn start_task(&mut self, index: usize, scheduled: bool) -> Result<(), NoEffect> {
        let task = &mut self.tasks[index];
        let group = &self.groups[task.group];
        if task.running {
            return Err(NoEffect::AlreadySo);
        }
        if task.kind == BackgroundKind::Rebuild {
            task.dead = to_rebuild(group)?;
        }
        task.bytes_before += task.bytes;
        (task.running, task.cursor, task.bytes, task.next_at) = (true, 0, 0, self.now);
        task.under_way.clear();
        (task.started, task.finished) = (Some(self.now), None);
        task.end = task.steps(group);
        self.happened(scheduled, What::TaskStarted(self.task_names(index)), None);
        self.continue_task(index);
        Ok(())
    }

    /// A task by its names.
    pub(super) fn task_names(&self, index: usize) -> TaskNames {
        let task = &self.tasks[index];
        let group = &self.groups[task.group];
        let dead = group.dead.get(task.dead).filter(|_| task.kind == BackgroundKind::Rebuild);
        TaskNames {
            task: task.name.clone(),
            work: task.kind,
            group: group.name.clone(),
            drive: dead.map(|dead| format!("{}/{}", group.name, dead.drive)),
            bytes: task.bytes,
        }
    }

    /// Stops a task; steps under way are finished.
    pub(super) fn stop_task(&mut self, index: usize) {
        let reason = (!self.tasks[index].running).then_some(NoEffect::AlreadySo);
        self.happened(true, What::TaskStopped(self.task_names(index)), reason);
        self.halt_task(index);
    }

    /// Begins no more steps of a task.
    pub(super) fn halt_task(&mut self, index: usize) {
        self.tasks[index].running = false;
        self.late_tree.set(self.task_leaf(index), Nanos::NEVER);
    }

    /// Begins as many steps as may be.
    pub(super) fn continue_task(&mut self, index: usize) {
        let leaf = self.task_leaf(index);
        self.late_tree.set(leaf, Nanos::NEVER);
        loop {
            let task = &mut self.tasks[index];
            if !task.running || task.active >= task.outstanding {
                return;
            }
            if task.cursor >= task.end {
                return self.end_task(index);
            }
            if task.next_at > self.now {
                let at = task.next_at;
                return self.late_tree.set(leaf, at);
            }
            let step = task.cursor;
            self.begin_step(index, step);
        }
    }

    fn end_task(&mut self, index: usize) {
        let task = &mut self.tasks[index];
        if task.active > 0 {
            return;
        }
        (task.running, task.finished) = (false, Some(self.now));
        let (kind, group, dead) = (task.kind, task.group, task.dead);
        self.happened(false, What::TaskFinished(self.task_names(index)), None);
        if kind == BackgroundKind::Rebuild {
            self.groups[group].dead[dead].rebuilt = u64::MAX;
            // Most often there is no other drive to rebuild.
            let _ = self.start_task(index, false);
        }
    }

    fn begin_step(&mut self, index: usize, step: u64) {
        let task = &self.tasks[index];
        let (group, dead, goes_along) = (task.group, task.dead, task.goes_along_drive(&self.groups[task.group]));
        let (stripe, bytes) = if goes_along {
            self.groups[group].plan_recovery_of(dead, task.range(step), &mut self.plan)
        } else {
            let (stripe, bytes) = (task.stripe(step, dead, &self.groups[group]), task.chunk);
            self.plan_step(index, step, stripe);
            (stripe, bytes)
        };
        let task = &mut self.tasks[index];
        task.next_at = self.now + task.pace(bytes, self.plan.len() as u64);
        task.cursor += 1;
        task.active += 1;
        task.under_way.push(step);
        let rebuilds = task.kind == BackgroundKind::Rebuild;
        let mut job = Job::new(Kind::Background, false, self.own_account(), group as u16, step, bytes as u32, self.now);
        (job.token, job.via) = (index as u32, dead as u16);
        let map = &self.groups[group].map;
        job.owner = self.owner_at(group as u16, stripe * map.stripe_bytes());
        if rebuilds && map.parity() > 0 {
            job.degraded = true;
            job.extra = bytes * map.data();
        }
        let place = self.jobs.insert(job);
        self.issue(place, Direction::Read, Stage::Reading);
    }

    /// Plans what a step reads of sets of drives, or of a stripe.
    fn plan_step(&mut self, index: usize, step: u64, stripe: u64) {
        let task = &self.tasks[index];
        let group = &self.groups[task.group];
        let map = &group.map;
        let length = task.chunk as u32;
        let plan = &mut self.plan;
        let mut read = |position| {
            let found = group.locate(stripe, position, 0);
            plan.extend(found.map(|place| PlannedOp { place, length }));
            found.is_some()
        };
        match task.kind {
            BackgroundKind::Scrub => (0..map.width()).for_each(|position| {
                read(position);
            }),
            BackgroundKind::Restripe => {
                read(step % map.width());
            }
            BackgroundKind::Rebuild => {
                // A set that has too little left is given up before.
                let mut missing = if map.copies() > 1 { 1 } else { map.data() };
                let own = position_of_dead(group, stripe, task.dead);
                for position in map.recovery_order(stripe).filter(|&position| Some(position) != own) {
                    if missing > 0 && read(position) {
                        missing -= 1;
                    }
                }
            }
        }
    }

    /// What lies before the steps that are not done is rebuilt.
    fn step_done(&mut self, index: usize, step: u64) {
        let task = &mut self.tasks[index];
        if let Some(place) = task.under_way.iter().position(|&one| one == step) {
            task.under_way.swap_remove(place);
        }
        if task.kind == BackgroundKind::Rebuild {
            let first = task.under_way.iter().copied().min().unwrap_or(task.cursor);
            let group = &mut self.groups[task.group];
            let chunks = if group.map.has_rows() { first } else { task.order.chunks_before(first, task.end) };
            let dead = &mut group.dead[task.dead];
            dead.rebuilt = dead.rebuilt.max(chunks * task.chunk);
        }
    }

    /// What a step writes.
    pub(super) fn plan_background_write(&mut self, place: u32) {
        let job = &self.jobs[place];
        let (task, dead) = (&self.tasks[job.token as usize], usize::from(job.via));
        let group = &self.groups[task.group];
        if task.goes_along_drive(group) {
            return group.plan_rebuilt(dead, task.range(job.offset), &mut self.plan);
        }
        let stripe = task.stripe(job.offset, dead, group);
        let to = match task.kind {
            BackgroundKind::Scrub => None,
            BackgroundKind::Rebuild => place_of_dead(group, stripe, dead),
            BackgroundKind::Restripe => another_drive(group, stripe, job.offset),
        };
        self.plan.extend(to.map(|place| PlannedOp { place, length: task.chunk as u32 }));
    }

    /// The reads or the write of a step are done.
    pub(super) fn background_done(&mut self, place: u32) {
        let job = &mut self.jobs[place];
        let index = job.token as usize;
        if !job.write && self.tasks[index].kind != BackgroundKind::Scrub && job.ops > 0 {
            job.write = true;
            return self.send_write(place);
        }
        let (step, dead, bytes) = (job.offset, usize::from(job.via), u64::from(job.length));
        let (useful, began_before) = (u64::from(job.ops), job.ops > 0 || job.write);
        self.jobs.remove(place);
        let task = &mut self.tasks[index];
        task.active -= 1;
        // A step of a set that was given up may end when another drive is rebuilt already.
        if dead == task.dead {
            task.bytes += task.bytes_of_step(bytes, useful);
            self.step_done(index, step);
        }
        // A step that can read nothing ends while it begins.
        if began_before {
            self.continue_task(index);
        }
    }
}

/// The failed drive that waits to be rebuilt, or why there is none.
fn to_rebuild(group: &Group) -> Result<usize, NoEffect> {
    let waits = |dead: &Dead| dead.rebuilt < u64::MAX && dead.spare != Spare::None && !dead.is_given_up;
    group.dead.iter().position(waits).ok_or(match group.dead.as_slice() {
        [] => NoEffect::NothingFailed,
        dead if dead.iter().any(|dead| dead.is_given_up) => NoEffect::TooMuchLost,
        dead if dead.iter().any(|dead| dead.spare == Spare::None) => NoEffect::NoSpare,
        _ => NoEffect::Rebuilt,
    })
}

fn position_of_dead(group: &Group, stripe: u64, dead: usize) -> Option<u64> {
    let drive = group.dead.get(dead)?.drive;
    (0..group.map.width()).find(|&position| group.map.place(stripe, position).drive == drive)
}

fn place_of_dead(group: &Group, stripe: u64, dead: usize) -> Option<Place> {
    let position = position_of_dead(group, stripe, dead)?;
    group.spare_place(group.dead.get(dead)?, group.map.place(stripe, position).offset)
}

/// Another drive of the group that works, at the same offset.
fn another_drive(group: &Group, stripe: u64, step: u64) -> Option<Place> {
    let from = group.map.place(stripe, step % group.map.width());
    let first = Random::new(step, 2).below(u64::from(group.count)) as u32;
    let works = |drive: &u32| *drive != from.drive && group.dead.iter().all(|dead| dead.drive != *drive);
    let drive = (0..group.count).map(|turn| (first + turn) % group.count).find(works)?;
    Some(Place { drive: group.first_drive + drive, offset: from.offset })
}
