//! One thread of a run: chooses its device, waits for the others, generates.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use storscope_device::{Clock, Device, DeviceError, NullDevice};
use storscope_types::{Nanos, Stream};

use crate::buffers::BufferPlan;
use crate::choice::Choice;
use crate::error::LoadError;
use crate::gate::{Gate, Meeting};
use crate::generator::{Generator, fill_pool};
use crate::place::Span;
use crate::plan::{Engine, Plan};
use crate::result::EngineUsed;
use crate::system::{
    Arena, FastClock, KernelWorkers, MOST_THREADS, Meter, Opened, PoolMeter, TargetSpec, ThreadedDevice, UringDevice,
    end_timeouts_promptly, run_promptly,
};
use crate::tally::Interval;
use crate::task::{Ending, Task};
use crate::trial::{handed_over, response};
use crate::usage::Usage;

/// From the last worker's readiness to the start.
const COUNTDOWN: Nanos = Nanos::from_millis(2);

/// What all workers of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub plan: Plan,
    pub targets: Arc<Vec<Opened>>,
    pub clock: FastClock,
    pub stop: AtomicBool,
    pub ready: Meeting,
    /// Behind the meeting; opened at once unless the plan is held.
    pub gate: Gate,
    /// Zero until all workers are ready.
    pub start: AtomicU64,
    /// Of each stream, as its first worker finds it.
    pub choices: Vec<OnceLock<Choice>>,
    /// Of the process, at the start: trials and preparations do not count.
    pub usage_before: OnceLock<Usage>,
}

/// What a worker, named by its number in the run, tells it.
#[derive(Debug)]
pub(crate) enum Message {
    /// It has finished an interval.
    Interval(u32, Box<Interval>),
    /// It has ended.
    Ended(u32, Ended),
}

/// How a worker ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub outcome: Result<Ending, LoadError>,
    pub engine: Option<EngineUsed>,
}

/// A worker before it has a device.
#[derive(Debug)]
pub(crate) struct Worker {
    pub shared: Arc<Shared>,
    pub stream: u32,
    pub worker: u32,
    pub global_worker: u32,
    pub spans: Vec<Span>,
    pub messages: Sender<Message>,
}

/// Goes through the meeting once, at the latest when it is dropped: no failure keeps the others waiting.
struct Turnstile<'a> {
    shared: &'a Shared,
    passed: bool,
}

impl Turnstile<'_> {
    /// Waits for all workers; returns the start they share.
    fn pass(&mut self) -> Nanos {
        self.passed = true;
        self.shared.ready.attend();
        self.shared.gate.pass();
        self.shared.usage_before.get_or_init(Usage::of_process);
        let start = (self.shared.clock.now() + COUNTDOWN).0;
        // The first to come sets it, the others read it.
        let kept = self.shared.start.compare_exchange(0, start, Ordering::SeqCst, Ordering::SeqCst);
        Nanos(kept.err().unwrap_or(start))
    }
}

impl Drop for Turnstile<'_> {
    fn drop(&mut self) {
        if !self.passed {
            self.pass();
        }
    }
}

impl Worker {
    /// Runs to the end and says so.
    pub fn work(self) {
        let mut engine = None;
        let outcome = self.choose_and_run(&mut engine);
        if outcome.is_err() {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        // Nobody listens any more only if the run was given up.
        let _ = self.messages.send(Message::Ended(self.global_worker, Ended { outcome, engine }));
    }

    fn choose_and_run(&self, engine: &mut Option<EngineUsed>) -> Result<Ending, LoadError> {
        let shared = Arc::clone(&self.shared);
        let mut turnstile = Turnstile { shared: &shared, passed: false };
        end_timeouts_promptly();
        if self.stream().load.is_open() {
            run_promptly();
        }
        if matches!(shared.plan.targets[0], TargetSpec::Null { .. }) {
            *engine = Some(self.engine_used("null", None, false));
            return self.run(NullDevice::new(shared.clock, self.depth()), None::<PoolMeter>, &mut turnstile);
        }
        let mut tried_ring = None;
        let reason = match self.choice(&mut tried_ring)? {
            Choice::Threads(reason) => reason,
            Choice::Ring { reason, is_handed_over } => match tried_ring.map_or_else(|| self.ring(), Ok) {
                Ok(mut ring) => {
                    ring.feed_threads_of_the_kernel(is_handed_over);
                    let has_kernel_workers = reason.is_some() || self.stream().flush.is_some();
                    let meter = has_kernel_workers.then(KernelWorkers::of_this_thread);
                    *engine = Some(self.engine_used("io_uring", reason, ring.has_registered_buffers()));
                    return self.run(ring, meter, &mut turnstile);
                }
                // Another worker has had the last memory that may be locked.
                Err(error) if shared.plan.engine == Engine::Auto => Some(not_available(&error)),
                Err(error) => return Err(error),
            },
        };
        *engine = Some(self.engine_used("threads", self.with_limit(reason), false));
        let threads = self.threads()?;
        let meter = threads.meter();
        self.run(threads, Some(meter), &mut turnstile)
    }

    /// The engine of all the stream's workers: the first to ask tries, the others wait for it. Leaves the ring that was
    /// tried, if it is the engine.
    fn choice(&self, tried_ring: &mut Option<UringDevice<FastClock>>) -> Result<Choice, LoadError> {
        if self.shared.plan.engine == Engine::Threads {
            return Ok(Choice::Threads(None));
        }
        let mut failure = None;
        let choice = self.shared.choices[self.stream as usize].get_or_init(|| {
            // After a failure the run ends, and it matters no more what the others take.
            self.try_engines(tried_ring).unwrap_or_else(|error| {
                failure = Some(error);
                Choice::PLAIN_RING
            })
        });
        failure.map_or_else(|| Ok(choice.clone()), Err)
    }

    fn try_engines(&self, tried_ring: &mut Option<UringDevice<FastClock>>) -> Result<Choice, LoadError> {
        let (shared, task) = (&self.shared, self.task(Nanos::ZERO));
        let must_be_ring = shared.plan.engine == Engine::IoUring;
        let ring = match self.ring() {
            Ok(ring) => ring,
            Err(error) if must_be_ring => return Err(error),
            Err(error) => return Ok(Choice::Threads(Some(not_available(&error)))),
        };
        if shared.targets.iter().all(|target| target.fd().is_none()) {
            *tried_ring = Some(ring);
            return Ok(Choice::PLAIN_RING);
        }
        let (mut ring, handed_over) = handed_over(ring, &shared.clock, &task, &shared.stop)?;
        if handed_over == 0.0 {
            *tried_ring = Some(ring);
            return Ok(Choice::PLAIN_RING);
        }
        if must_be_ring {
            *tried_ring = Some(ring);
            return Ok(Choice::ring_as_asked(handed_over));
        }
        // One after the other: memory is planned for one engine.
        ring.feed_threads_of_the_kernel(Choice::is_handed_over(handed_over));
        let on_ring = response(ring, &shared.clock, &task, &shared.stop)?;
        let on_threads = response(self.threads()?, &shared.clock, &task, &shared.stop)?;
        Ok(Choice::of_trial(handed_over, on_ring, on_threads))
    }

    fn ring(&self) -> Result<UringDevice<FastClock>, LoadError> {
        let shared = &self.shared;
        let ring = UringDevice::new(Arc::clone(&shared.targets), self.arena()?, self.depth(), shared.clock)?;
        if self.stream().flush.is_some() {
            ring.make_room_for_flushes();
        }
        Ok(ring)
    }

    fn threads(&self) -> Result<ThreadedDevice<FastClock>, LoadError> {
        let shared = &self.shared;
        Ok(ThreadedDevice::new(Arc::clone(&shared.targets), self.arena()?, self.depth(), shared.clock))
    }

    /// Why there are threads, and what follows if they are fewer than the I/Os that may be in flight.
    fn with_limit(&self, reason: Option<String>) -> Option<String> {
        if self.depth() <= MOST_THREADS {
            return reason;
        }
        let limit =
            format!("at most {MOST_THREADS} I/Os are under way at a time, others wait and that counts as service");
        Some(reason.map_or(limit.clone(), |reason| format!("{reason}; {limit}")))
    }

    /// `meter` tells what threads beside the worker's use, if there are any.
    fn run(
        &self,
        mut device: impl Device,
        mut meter: Option<impl Meter>,
        turnstile: &mut Turnstile<'_>,
    ) -> Result<Ending, LoadError> {
        fill_pool(&mut device, &self.task(Nanos::ZERO));
        let start = turnstile.pass();
        let mut generator = Generator::new(device, self.shared.clock, &self.task(start));
        let mut sink = |mut interval: Interval| {
            if let Some(meter) = &mut meter {
                interval.usage.add(&meter.take());
            }
            // Nobody listens any more only if the run was given up.
            let _ = self.messages.send(Message::Interval(self.global_worker, Box::new(interval)));
        };
        generator.run(&self.shared.stop, &mut sink)
    }

    fn task(&self, start: Nanos) -> Task<'_> {
        let plan = &self.shared.plan;
        Task {
            workload: &plan.workload,
            stream_index: self.stream,
            worker: self.worker,
            global_worker: self.global_worker,
            spans: &self.spans,
            seed: plan.seed,
            limit: plan.limit(self.stream as usize),
            interval: plan.interval,
            start,
            delay: Nanos::ZERO,
            max_failures: plan.max_failures,
        }
    }

    fn stream(&self) -> &Stream {
        &self.shared.plan.workload.streams[self.stream as usize]
    }

    fn depth(&self) -> usize {
        let stream = self.stream();
        stream.load.slots_per_worker(stream.target_indices(self.spans.len()).len())
    }

    fn arena(&self) -> Result<Arena, LoadError> {
        let workload = &self.shared.plan.workload;
        let plan = BufferPlan::new(workload, self.stream(), self.depth());
        Arena::new(&plan).map_err(|source| DeviceError::System { action: "memory for the I/Os", source }.into())
    }

    fn engine_used(&self, engine: &'static str, reason: Option<String>, registered_buffers: bool) -> EngineUsed {
        EngineUsed { stream: self.stream, engine, reason, registered_buffers }
    }
}

fn not_available(error: &LoadError) -> String {
    format!("io_uring is not available: {error}")
}
