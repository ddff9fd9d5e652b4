//! What all components have counted, at instants of the run: the difference of two marks is what was done between them.
//!
//! Marks are made at regular distances, whenever something changes, and when the load does, as far as that is known before.
//! Their number is bounded, since each holds all counters: when there are too many regular ones, every second one is
//! dropped and the distance doubles; of those at changes the first are kept.

use serde::Serialize;
use storscope_types::Nanos;

use super::Array;
use super::account::Asked;
use super::memory::MemoryTotals;
use super::reporting::of_data;

/// Regular marks that are kept. A little more than the 512 intervals into which a run is cut at most (`samples.py`): there
/// is a mark wherever an interval ends.
const MOST: usize = 520;

/// Marks at changes that are kept, and at changes of the load: more than there are phases that are told apart
/// (`phases.py`).
const MOST_AT_CHANGES: usize = 64;

/// Counters at one instant, since statistics began.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// When.
    pub time_ns: Nanos,
    /// Whether something changed then, or the load did, just after.
    pub change: bool,
    /// Of each drive: time busy, time in use (see `ComponentReport::used_ratio`), integral of the number present, done,
    /// sum of response times, reads, writes, bytes read, bytes written, time that reads wait in it, and of that for what
    /// is done for writes (0 of what is no flash).
    pub drives: Vec<[u64; 11]>,
    /// Of each other component: time of its servers, integral of the number present, done, sum of times present, came.
    pub stations: Vec<[u64; 5]>,
    /// Of each target.
    pub targets: Vec<TargetMark>,
    /// Of each queue limit: integral of the places taken, time it was full, how many waited, integral of those waiting.
    pub limits: Vec<[u64; 4]>,
    /// Of the memory.
    pub cache: Option<MemoryTotals>,
    /// Of the memory: pages that are dirty, or being destaged, at this instant.
    pub dirty_pages: u64,
    /// Of each background task: bytes of all the times it ran, steps begun and in all of the last one.
    pub tasks: Vec<[u64; 3]>,
}

/// What a target has counted; pairs are reads and writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TargetMark {
    /// Answered.
    pub completed: [u64; 2],
    /// Of these, with an error.
    pub failed: [u64; 2],
    /// Came through another controller than the owner.
    pub proxied: [u64; 2],
    /// Came.
    pub submitted: [u64; 2],
    /// Flushes that were answered.
    pub flushed: u64,
    /// Nanoseconds by part, in the order of `Part::ALL`: of reads, writes and flushes.
    pub spent: [Vec<u64>; Asked::COUNT],
    /// Reads that the host's flash was asked for, and those it answered.
    pub flash: [u64; 2],
}

/// The marks of a run.
#[derive(Debug, Clone)]
pub struct Marks {
    every: Nanos,
    next: Nanos,
    /// When the load changes, in order of time.
    planned: Vec<Nanos>,
    /// How many of these are past.
    past: usize,
    regular: usize,
    at_changes: usize,
    /// In order of time.
    pub kept: Vec<Mark>,
}

impl Marks {
    /// None yet; a distance of [`Nanos::NEVER`] makes only those at changes.
    #[must_use]
    pub fn new(every: Nanos) -> Self {
        Self { every, next: every, planned: Vec::new(), past: 0, regular: 0, at_changes: 0, kept: Vec::new() }
    }

    /// When the next one is due that is known before.
    #[must_use]
    pub fn next(&self) -> Nanos {
        self.planned.get(self.past).map_or(self.next, |planned| self.next.min(*planned))
    }

    fn plan(&mut self, instants: &[Nanos]) {
        self.planned = instants.to_vec();
        self.planned.sort_unstable();
        self.planned.dedup();
        self.planned.truncate(MOST_AT_CHANGES);
        self.past = 0;
    }

    /// Forgets all; the next regular one is due in one distance.
    pub fn restart(&mut self, now: Nanos) {
        let (planned, past) = (std::mem::take(&mut self.planned), self.past);
        *self = Self { planned, past, ..Self::new(self.every) };
        self.next = Nanos(now.0.saturating_add(self.every.0));
    }

    fn has_enough_changes(&self) -> bool {
        self.at_changes >= MOST_AT_CHANGES + self.planned.len()
    }

    /// A change at the instant of another mark needs none of its own.
    fn push(&mut self, mark: Mark) {
        if let Some(last) = self.kept.last_mut().filter(|last| last.time_ns == mark.time_ns) {
            if mark.change && !last.change {
                last.change = true;
                self.regular -= 1;
                self.at_changes += 1;
            }
            return;
        }
        self.at_changes += usize::from(mark.change);
        self.regular += usize::from(!mark.change);
        self.kept.push(mark);
        if self.regular > MOST {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.every = Nanos(self.every.0.saturating_mul(2));
        let every = self.every.0;
        self.kept.retain(|mark| mark.change || mark.time_ns.0 % every == 0);
        self.regular = self.kept.iter().filter(|mark| !mark.change).count();
        self.next = Nanos(self.next.0.next_multiple_of(every));
    }
}

impl Array {
    /// The same, with marks when the load changes: a time between two such is told apart to the nanosecond.
    #[must_use]
    pub fn marked_at(mut self, instants: &[Nanos]) -> Self {
        self.marks.plan(instants);
        self.timer_event(0);
        self
    }

    /// Makes the marks that are due.
    pub(super) fn mark_on_time(&mut self) {
        while self.marks.planned.get(self.marks.past).is_some_and(|planned| *planned <= self.now) {
            self.marks.past += 1;
            self.mark(true);
        }
        if self.now >= self.marks.next {
            self.marks.next = Nanos(self.marks.next.0.saturating_add(self.marks.every.0));
            self.mark(false);
        }
    }

    /// Notes what has been counted until now; at a change, unless there were too many.
    pub(super) fn mark(&mut self, change: bool) {
        if change && self.marks.has_enough_changes() {
            return;
        }
        let mark = self.counted(change);
        self.marks.push(mark);
    }

    fn counted(&self, change: bool) -> Mark {
        let now = self.now;
        Mark {
            time_ns: now,
            change,
            drives: self.drives.iter().map(|station| station.counted(now)).collect(),
            stations: self.stations.iter().map(|station| station_counted(&station.totals(now))).collect(),
            targets: (0..self.targets.len()).map(|index| self.target_counted(index)).collect(),
            limits: self.limits.iter().map(|limit| limit.counted(now)).collect(),
            cache: self.cache.as_ref().map(|memory| memory.totals),
            dirty_pages: self.cache.as_ref().map_or(0, |memory| memory.dirty as u64),
            tasks: self.tasks.iter().map(super::background::Task::counted_in_all).collect(),
        }
    }

    fn target_counted(&self, index: usize) -> TargetMark {
        let account = &self.accounts[index];
        let flash = self.targets[index].flash.as_ref();
        TargetMark {
            completed: of_data(account.completed),
            failed: of_data(account.failed),
            proxied: of_data(account.proxied),
            submitted: of_data(account.submitted),
            flushed: account.completed[Asked::Flush as usize],
            spent: account.spent.map(Vec::from),
            flash: flash.map_or([0, 0], |flash| [flash.reads, flash.hits]),
        }
    }
}

fn station_counted(totals: &crate::kernel::StationTotals) -> [u64; 5] {
    [totals.busy.0, totals.area, totals.departed, totals.residence, totals.arrived]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(time_ns: u64, change: bool) -> Mark {
        let (drives, stations, targets, limits, tasks) = (vec![], vec![], vec![], vec![], vec![]);
        Mark { time_ns: Nanos(time_ns), change, drives, stations, targets, limits, cache: None, dirty_pages: 0, tasks }
    }

    #[test]
    fn there_are_never_too_many_and_those_at_changes_stay() {
        let mut marks = Marks::new(Nanos(10));
        marks.push(mark(0, false));
        marks.push(mark(5, true));
        for step in 1..3_000_u64 {
            let due = marks.next;
            if due.0 == step * 10 {
                marks.next = Nanos(due.0 + marks.every.0);
                marks.push(mark(due.0, false));
            }
        }
        assert!(marks.regular <= MOST, "{}", marks.regular);
        assert!(marks.kept.iter().any(|mark| mark.change && mark.time_ns == Nanos(5)));
        let distances: Vec<u64> = marks
            .kept
            .iter()
            .filter(|mark| !mark.change)
            .map(|mark| mark.time_ns.0)
            .collect::<Vec<_>>()
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect();
        assert!(distances.iter().all(|distance| *distance == distances[0]), "{distances:?}");
    }

    #[test]
    fn a_change_of_the_load_is_due_between_regular_ones_and_a_restart_forgets_none() {
        let mut marks = Marks::new(Nanos(10));
        marks.plan(&[Nanos(25), Nanos(3), Nanos(25)]);
        assert_eq!(marks.next(), Nanos(3));
        marks.past += 1;
        assert_eq!(marks.next(), Nanos(10));
        marks.restart(Nanos(20));
        assert_eq!(marks.next(), Nanos(25));
        marks.past += 1;
        assert_eq!(marks.next(), Nanos(30));
    }

    #[test]
    fn what_changes_all_the_time_makes_no_more_marks() {
        let mut marks = Marks::new(Nanos(10));
        for step in 0..1_000_u64 {
            marks.push(mark(step * 10, false));
            for at in [step * 10, step * 10 + 3] {
                if !marks.has_enough_changes() {
                    marks.push(mark(at, true));
                }
            }
        }
        assert_eq!(marks.kept.iter().filter(|mark| mark.change).count(), MOST_AT_CHANGES);
        assert_eq!(marks.kept.len(), marks.regular + MOST_AT_CHANGES);
        assert!(marks.regular <= MOST, "{}", marks.regular);
    }
}
