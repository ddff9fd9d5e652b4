//! A run: its workers, its intervals as they come, its result.
//!
//! Intervals of the workers are put together as soon as all have them, so the caller can store each while the next is
//! measured. Dropping a run stops it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use storscope_device::Clock;
use storscope_types::Nanos;

use crate::error::LoadError;
use crate::plan::Plan;
use crate::recorder::empty_interval;
use crate::result::{EngineUsed, RunResult, doubts};
use crate::system::FastClock;
use crate::tally::Interval;
use crate::task::Ending;
use crate::usage::Usage;
use crate::worker::{Ended, Message, Shared, Worker};

/// More intervals than any run has.
const ENDED: u32 = u32::MAX;

/// What a run says when asked for news.
#[derive(Debug)]
pub enum News {
    /// An interval is complete.
    Interval(Box<Interval>),
    /// Nothing yet.
    Pending,
    /// The run has ended, and all its intervals were handed out.
    Finished,
}

/// What a run leaves: a result also when it ended with an error.
#[derive(Debug)]
pub struct Finished {
    /// What was measured.
    pub result: RunResult,
    /// Why it ended early.
    pub error: Option<LoadError>,
}

/// A run under way.
#[derive(Debug)]
pub struct Run {
    shared: Arc<Shared>,
    messages: Receiver<Message>,
    threads: Vec<JoinHandle<()>>,
    /// For each worker the number of intervals it has finished; all there can be once it has ended.
    progress: Vec<u32>,
    /// Intervals that not all workers have finished.
    open: BTreeMap<u32, Interval>,
    total: Option<Interval>,
    drain: Option<Interval>,
    ending: Ending,
    engines: Vec<EngineUsed>,
    error: Option<LoadError>,
    /// The instant at which the clock shows zero.
    clock_origin_unix_ns: u64,
}

impl Run {
    /// Opens the targets and starts the workers.
    ///
    /// # Errors
    /// When the plan cannot be run or a target cannot be opened. What fails later shows in [`Finished::error`].
    pub fn start(plan: Plan) -> Result<Self, LoadError> {
        plan.check()?;
        let open = |(index, spec): (usize, &crate::TargetSpec)| spec.open(plan.writes_to(index));
        let targets = plan.targets.iter().enumerate().map(open).collect::<Result<Vec<_>, LoadError>>()?;
        let streams = 0..plan.workload.streams.len();
        let spans = streams.map(|stream| plan.spans(stream, &targets)).collect::<Result<Vec<_>, LoadError>>()?;
        let workers: usize = plan.workload.streams.iter().map(|stream| stream.workers as usize).sum();
        let shared = Arc::new(Shared {
            plan,
            targets: Arc::new(targets),
            clock: FastClock::start(),
            stop: AtomicBool::new(false),
            ready: Barrier::new(workers),
            start: AtomicU64::new(0),
            usage_before: OnceLock::new(),
        });
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock_origin_unix_ns = (created.as_nanos() as u64).saturating_sub(shared.clock.now().0);
        let (messages, threads) = spawn(&shared, &spans);
        Ok(Self {
            shared,
            messages,
            threads,
            progress: vec![0; workers],
            open: BTreeMap::new(),
            total: None,
            drain: None,
            ending: Ending::default(),
            engines: Vec::new(),
            error: None,
            clock_origin_unix_ns,
        })
    }

    /// The instant intervals count from, UTC since 1970; none while workers still prepare.
    #[must_use]
    pub fn started_unix_ns(&self) -> Option<u64> {
        let start = self.shared.start.load(Ordering::SeqCst);
        (start > 0).then(|| self.clock_origin_unix_ns + start)
    }

    /// Ends the run soon; what is in flight is waited for.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// The next interval, waiting at most `patience` for it.
    pub fn next(&mut self, patience: Duration) -> News {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(interval) = self.take_complete() {
                return News::Interval(Box::new(interval));
            }
            if self.progress.iter().all(|&finished| finished == ENDED) {
                return News::Finished;
            }
            match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Message::Interval(worker, interval)) => self.collect(worker, *interval),
                Ok(Message::Ended(worker, ended)) => self.count_ended(worker, ended),
                Err(RecvTimeoutError::Timeout) => return News::Pending,
                Err(RecvTimeoutError::Disconnected) => self.count_panicked(),
            }
        }
    }

    /// Waits for the end, passing over intervals that were not asked for, and sums up.
    #[must_use]
    pub fn finish(mut self) -> Finished {
        while !matches!(self.next(Duration::from_secs(1)), News::Finished) {}
        self.join();
        let usage_before = self.shared.usage_before.get().copied().unwrap_or_default();
        let process_usage = Usage::of_process().since(&usage_before);
        let total = self.total.take().unwrap_or_else(empty_interval);
        let doubts = doubts(&total, &self.ending, &self.shared.plan.workload);
        self.engines.sort_by_key(|used| used.stream);
        self.engines.dedup();
        let result = RunResult {
            started_unix_ns: self.started_unix_ns().unwrap_or(self.clock_origin_unix_ns),
            valid: !doubts.iter().any(crate::Doubt::invalidates),
            total,
            drain: self.drain.take().unwrap_or_else(empty_interval),
            ending: self.ending,
            engines: std::mem::take(&mut self.engines),
            clock: self.shared.clock.name(),
            process_usage,
            doubts,
        };
        Finished { result, error: self.error.take() }
    }

    /// The lowest interval, if every worker that still works has finished it.
    fn take_complete(&mut self) -> Option<Interval> {
        let finished = self.progress.iter().min().copied().unwrap_or(ENDED);
        let interval = self.open.first_entry().filter(|entry| *entry.key() < finished)?.remove();
        match &mut self.total {
            Some(total) => total.merge_next(&interval),
            None => self.total = Some(interval.clone()),
        }
        Some(interval)
    }

    fn collect(&mut self, worker: u32, interval: Interval) {
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

    fn count_ended(&mut self, worker: u32, ended: Ended) {
        self.progress[worker as usize] = ENDED;
        self.engines.extend(ended.engine);
        match ended.outcome {
            Ok(ending) => self.ending.add(&ending),
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }

    /// Each worker sends its end, unless it panicked.
    fn count_panicked(&mut self) {
        self.progress.fill(ENDED);
        self.error.get_or_insert(LoadError::Panicked);
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                self.error.get_or_insert(LoadError::Panicked);
            }
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}

fn spawn(shared: &Arc<Shared>, spans: &[Vec<crate::Span>]) -> (Receiver<Message>, Vec<JoinHandle<()>>) {
    let (sender, messages) = channel();
    let mut threads = Vec::new();
    for (stream, spans) in spans.iter().enumerate() {
        for worker in 0..shared.plan.workload.streams[stream].workers {
            let worker = Worker {
                shared: Arc::clone(shared),
                stream: stream as u32,
                worker,
                global_worker: threads.len() as u32,
                spans: spans.clone(),
                messages: sender.clone(),
            };
            threads.push(std::thread::spawn(move || worker.work()));
        }
    }
    (messages, threads)
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
