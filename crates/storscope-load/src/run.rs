//! A run: its workers, its intervals as they come, its result.
//!
//! Intervals of the workers are put together as soon as all have them, so the caller can store each while the next is
//! measured. Dropping a run stops it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use storscope_device::Clock;

use crate::error::{LoadError, no_thread};
use crate::gate::{Gate, Meeting};
use crate::gather::Gathering;
use crate::plan::Plan;
use crate::result::{
    EngineUsed, RunResult, doubts, invalid_streams, latency_bound, lateness_of_streams, not_told_of_all,
};
use crate::system::{FastClock, MemoryLeft};
use crate::tally::Interval;
use crate::usage::Usage;
use crate::worker::{Ended, Message, Shared, Worker};

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
    gathering: Gathering,
    engines: Vec<EngineUsed>,
    error: Option<LoadError>,
    /// The instant at which the clock shows zero.
    clock_origin_unix_ns: u64,
}

impl Run {
    /// Opens the targets and starts the workers.
    ///
    /// # Errors
    /// When the plan cannot be run, its buffers find no memory, a target cannot be opened or a worker has no thread. What
    /// fails later shows in [`Finished::error`].
    pub fn start(plan: Plan) -> Result<Self, LoadError> {
        plan.check()?;
        plan.check_left(MemoryLeft::now().as_ref())?;
        let open = |(index, spec): (usize, &crate::TargetSpec)| spec.open(plan.writes_to(index));
        let targets = plan.targets.iter().enumerate().map(open).collect::<Result<Vec<_>, LoadError>>()?;
        let streams = 0..plan.workload.streams.len();
        let spans = streams.map(|stream| plan.spans(stream, &targets)).collect::<Result<Vec<_>, LoadError>>()?;
        let choices = (0..plan.workload.streams.len()).map(|_| OnceLock::new()).collect();
        let workers: usize = plan.workload.streams.iter().map(|stream| stream.workers as usize).sum();
        let shared = Arc::new(Shared {
            plan,
            targets: Arc::new(targets),
            clock: FastClock::start(),
            stop: AtomicBool::new(false),
            ready: Meeting::of(workers),
            gate: Gate::default(),
            start: AtomicU64::new(0),
            choices,
            usage_before: OnceLock::new(),
        });
        if !shared.plan.held {
            shared.gate.open();
        }
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock_origin_unix_ns = (created.as_nanos() as u64).saturating_sub(shared.clock.now().0);
        let (messages, threads) = spawn(&shared, &spans, workers)?;
        Ok(Self {
            shared,
            messages,
            threads,
            gathering: Gathering::new(workers),
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

    /// Whether all workers are ready: trials of the engine are over, no I/O is in flight.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.gate.is_reached()
    }

    /// Lets the workers of a plan that is [`held`](Plan::held) start, now or as soon as they are ready.
    pub fn begin(&self) {
        self.shared.gate.open();
    }

    /// Ends the run soon; what is in flight is waited for.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.gate.open();
    }

    /// The next interval, waiting at most `patience` for it.
    pub fn next(&mut self, patience: Duration) -> News {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(interval) = self.gathering.take_complete() {
                return News::Interval(Box::new(interval));
            }
            if self.gathering.is_over() {
                return News::Finished;
            }
            match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Message::Interval(worker, interval)) => self.gathering.collect(worker, *interval),
                Ok(Message::Ended(worker, ended)) => self.count_ended(worker, ended),
                Err(RecvTimeoutError::Timeout) => return News::Pending,
                Err(RecvTimeoutError::Disconnected) => self.count_panicked(),
            }
        }
    }

    /// Waits for the end, passing over intervals that were not asked for, and sums up. A run that was held begins.
    #[must_use]
    pub fn finish(mut self) -> Finished {
        self.begin();
        while !matches!(self.next(Duration::from_secs(1)), News::Finished) {}
        self.join();
        let usage_before = self.shared.usage_before.get().copied().unwrap_or_default();
        let process_usage = Usage::of_process().since(&usage_before);
        let (total, drain, ending) = self.gathering.sum();
        let workload = &self.shared.plan.workload;
        let doubts = doubts(&total, &drain, &ending, workload, self.gathering.fullest());
        let late = lateness_of_streams(&total, workload);
        self.engines.sort_by_key(|used| used.stream);
        self.engines.dedup();
        let result = RunResult {
            started_unix_ns: self.started_unix_ns().unwrap_or(self.clock_origin_unix_ns),
            valid: !doubts.iter().any(crate::Doubt::invalidates),
            latency_bound: latency_bound(&doubts),
            invalid_streams: invalid_streams(&doubts, &late, workload),
            stream_doubts: not_told_of_all(late, &doubts),
            total,
            drain,
            ending,
            engines: std::mem::take(&mut self.engines),
            clock: self.shared.clock.name(),
            process_usage,
            doubts,
        };
        Finished { result, error: self.error.take() }
    }

    fn count_ended(&mut self, worker: u32, ended: Ended) {
        self.engines.extend(ended.engine);
        self.gathering.end(worker, ended.outcome.as_ref().ok());
        if let Err(error) = ended.outcome {
            self.error.get_or_insert(error);
        }
    }

    /// Each worker sends its end, unless it panicked.
    fn count_panicked(&mut self) {
        self.gathering.end_all();
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

type Spawned = (Receiver<Message>, Vec<JoinHandle<()>>);

/// Starts all workers, or ends those that started.
fn spawn(shared: &Arc<Shared>, spans: &[Vec<crate::Span>], wanted: usize) -> Result<Spawned, LoadError> {
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
            match Builder::new().spawn(move || worker.work()) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    let found = threads.len();
                    end_early(shared, threads, wanted);
                    return Err(no_thread("workers", wanted, found, &source).into());
                }
            }
        }
    }
    Ok((messages, threads))
}

/// Ends the workers that started when not all of those that are wanted can.
fn end_early(shared: &Shared, threads: Vec<JoinHandle<()>>, wanted: usize) {
    shared.stop.store(true, Ordering::Relaxed);
    shared.ready.excuse(wanted - threads.len());
    shared.gate.open();
    for thread in threads {
        // What it did is of no interest any more.
        let _ = thread.join();
    }
}
