//! One thread of a run: chooses its device, waits for the others, generates.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use storscope_device::{Clock, Device, DeviceError, NullDevice};
use storscope_types::{Nanos, Stream};

use crate::buffers::BufferPlan;
use crate::error::LoadError;
use crate::gate::{Gate, Meeting};
use crate::generator::{Generator, fill_pool};
use crate::place::Span;
use crate::plan::{Engine, Plan};
use crate::result::EngineUsed;
use crate::system::{
    Arena, FastClock, MOST_THREADS, Opened, PoolMeter, TargetSpec, ThreadedDevice, UringDevice, end_timeouts_promptly,
    run_promptly,
};
use crate::tally::Interval;
use crate::task::{Ending, Task};
use crate::trial::try_out;
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
            return self.run(NullDevice::new(shared.clock, self.depth()), None, &mut turnstile);
        }
        let reason = match self.try_ring()? {
            Ok(ring) => {
                *engine = Some(self.engine_used("io_uring", None, ring.has_registered_buffers()));
                return self.run(ring, None, &mut turnstile);
            }
            Err(reason) => reason,
        };
        *engine = Some(self.engine_used("threads", self.with_limit(reason), false));
        let threads = ThreadedDevice::new(Arc::clone(&shared.targets), self.arena()?, self.depth(), shared.clock);
        let meter = threads.meter();
        self.run(threads, Some(meter), &mut turnstile)
    }

    /// A ring, or why there is none.
    fn try_ring(&self) -> Result<Result<UringDevice<FastClock>, Option<String>>, LoadError> {
        let engine = self.shared.plan.engine;
        if engine == Engine::Threads {
            return Ok(Err(None));
        }
        let ring =
            match UringDevice::new(Arc::clone(&self.shared.targets), self.arena()?, self.depth(), self.shared.clock) {
                Ok(ring) => ring,
                Err(error) if engine == Engine::Auto => {
                    return Ok(Err(Some(format!("io_uring is not available: {error}"))));
                }
                Err(error) => return Err(error.into()),
            };
        if self.stream().flush.is_some() {
            ring.make_room_for_flushes();
        }
        if engine == Engine::IoUring || self.shared.targets.iter().all(|target| target.fd().is_none()) {
            return Ok(Ok(ring));
        }
        let shared = &self.shared;
        let (ring, is_handed_over) = try_out(ring, &shared.clock, &self.task(Nanos::ZERO), &shared.stop)?;
        if is_handed_over {
            return Ok(Err(Some("the kernel hands most of this target's ring I/Os to threads of its own".to_owned())));
        }
        Ok(Ok(ring))
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

    /// `meter` tells what the device's own threads use, if it has any.
    fn run(
        &self,
        mut device: impl Device,
        mut meter: Option<PoolMeter>,
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
