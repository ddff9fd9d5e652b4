//! Puts the intervals of all workers together, each as soon as all have finished it.

use std::collections::BTreeMap;

use storscope_types::Nanos;

use crate::recorder::empty_interval;
use crate::tally::Interval;
use crate::task::Ending;

/// More intervals than any run has.
const ENDED: u32 = u32::MAX;

/// Intervals and ends of the workers of a run.
#[derive(Debug)]
pub(crate) struct Gathering {
    /// For each worker the number of intervals it has finished; all there can be once it has ended.
    progress: Vec<u32>,
    /// How many have ended.
    ended: usize,
    /// Intervals that not all workers have finished.
    open: BTreeMap<u32, Interval>,
    total: Option<Interval>,
    drain: Option<Interval>,
    ending: Ending,
    /// Mean number in flight of the interval in which it was greatest.
    fullest: f64,
}

impl Gathering {
    /// Of so many workers.
    pub fn new(workers: usize) -> Self {
        Self {
            progress: vec![0; workers],
            ended: 0,
            open: BTreeMap::new(),
            total: None,
            drain: None,
            ending: Ending::default(),
            fullest: 0.0,
        }
    }

    /// Whether all workers have ended.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.ended == self.progress.len()
    }

    /// A worker has finished an interval.
    pub fn collect(&mut self, worker: u32, interval: Interval) {
        if interval.drain {
            match &mut self.drain {
                Some(drain) => drain.merge_worker(&interval),
                None => self.drain = Some(interval),
            }
            return;
        }
        self.progress[worker as usize] = interval.index + 1;
        match self.open.get_mut(&interval.index) {
            Some(known) => known.merge_worker(&interval),
            None => {
                self.open.insert(interval.index, interval);
            }
        }
    }

    /// A worker has ended; without an ending it failed.
    pub fn end(&mut self, worker: u32, ending: Option<&Ending>) {
        let before = std::mem::replace(&mut self.progress[worker as usize], ENDED);
        self.ended += usize::from(before != ENDED);
        if let Some(ending) = ending {
            self.ending.add(ending);
        }
    }

    /// No worker will say anything more.
    pub fn end_all(&mut self) {
        self.progress.fill(ENDED);
        self.ended = self.progress.len();
    }

    /// The lowest interval, if every worker that still works has finished it.
    pub fn take_complete(&mut self) -> Option<Interval> {
        let finished = self.progress.iter().min().copied().unwrap_or(ENDED);
        let interval = self.open.first_entry().filter(|entry| *entry.key() < finished)?.remove();
        self.fullest = self.fullest.max(interval.outstanding_mean);
        match &mut self.total {
            Some(total) => total.merge_next(&interval),
            None => self.total = Some(interval.clone()),
        }
        Some(interval)
    }

    /// Mean number in flight of the interval in which it was greatest: a queue that was full for a part of the run is
    /// seen there, and not in the mean of all of it.
    #[inline]
    pub fn fullest(&self) -> f64 {
        self.fullest
    }

    /// All intervals taken together, what was drained after the end, and the counts.
    pub fn sum(&mut self) -> (Interval, Interval, Ending) {
        let taken = |interval: &mut Option<Interval>| interval.take().unwrap_or_else(empty_interval);
        (taken(&mut self.total), taken(&mut self.drain), self.ending)
    }
}

impl Ending {
    fn add(&mut self, other: &Self) {
        self.submitted += other.submitted;
        self.completed += other.completed;
        self.failed += other.failed;
        self.drained += other.drained;
        self.unsent += other.unsent;
        self.oldest_unsent = self.oldest_unsent.max(other.oldest_unsent);
        self.elapsed = Nanos(self.elapsed.0.max(other.elapsed.0));
    }
}
