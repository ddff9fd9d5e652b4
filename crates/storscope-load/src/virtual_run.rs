//! A run in virtual time: all workers of a workload, on one thread, on one device that is simulated.
//!
//! The generators are those of a real run, so a workload means the same on a simulated array as on a real one: only the
//! device and the clock differ. A worker is woken when one of its requests is done or when it said it would send next;
//! time moves only while the device is waited for.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use storscope_device::{Clock, Completion, Device, DeviceError, FlushRequest, Request, VirtualClock};
use storscope_types::Nanos;

use crate::error::LoadError;
use crate::gather::Gathering;
use crate::generator::Generator;
use crate::plan::Plan;
use crate::result::{
    Doubt, EngineUsed, RunResult, StreamDoubt, doubts, invalid_streams, latency_bound, lateness_of_streams,
    not_told_of_all,
};
use crate::run::Finished;
use crate::tally::Interval;
use crate::task::{Ending, Limit, Task};
use crate::usage::Usage;

/// How many turns pass between two looks at the request to stop.
const TURNS_BETWEEN_LOOKS: u32 = 4096;

/// So many I/Os at one instant are no coincidence: more than any array has in flight.
const MOST_AT_ONCE: u64 = 20_000_000;

/// When a stream of the workload is active, since the run's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Its first request goes out then, or arrivals begin.
    pub start: Nanos,
    /// It sends nothing any more from then on.
    pub end: Nanos,
}

impl Lifetime {
    /// As long as the run.
    pub const WHOLE: Self = Self { start: Nanos::ZERO, end: Nanos::NEVER };
}

/// The device as one worker sees it: its tokens start at `base`.
#[derive(Debug)]
struct Port<D> {
    device: Rc<RefCell<D>>,
    base: u32,
}

impl<D: Device> Device for Port<D> {
    const EXPECTS: bool = D::EXPECTS;
    const KEEPS_DATA: bool = D::KEEPS_DATA;

    fn depth(&self) -> usize {
        self.device.borrow().depth()
    }

    #[inline]
    fn submit(&mut self, request: Request) {
        self.device.borrow_mut().submit(Request { token: self.base + request.token, ..request });
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.device.borrow_mut().flush(FlushRequest { token: self.base + flush.token, ..flush });
    }

    #[inline]
    fn expect(&mut self, target: u32, offset: u64) {
        self.device.borrow_mut().expect(target, offset);
    }

    fn wait(&mut self, _until: Nanos, _done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        unreachable!("the run waits for all its workers at once")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// Waits for what is in flight; so many I/Os had completed when it ended.
    Draining(u64),
    Ended,
}

#[derive(Debug)]
struct Member<D> {
    generator: Generator<Port<D>, VirtualClock>,
    base: u32,
    state: State,
    wake_at: Nanos,
    /// Whether it is in the list of those that something was completed for.
    is_called: bool,
}

/// A run in virtual time.
#[derive(Debug)]
pub struct VirtualRun<D> {
    plan: Plan,
    device: Rc<RefCell<D>>,
    clock: VirtualClock,
    members: Vec<Member<D>>,
    /// Token to worker.
    owner: Vec<u32>,
    done: Vec<Completion>,
    called: Vec<u32>,
    /// The least of all `wake_at`.
    earliest: Nanos,
    gathering: Gathering,
    error: Option<LoadError>,
    /// The run ends when so many more I/Os are done.
    ios_left: u64,
    /// Whether any stream flushes.
    flushes: bool,
}

/// Requests that all workers of a plan may have in flight together: what a device needs room for.
#[must_use]
pub fn slots_of(plan: &Plan) -> usize {
    let slots = |stream: &storscope_types::Stream| {
        stream.load.slots_per_worker(stream.target_indices(plan.targets.len()).len()) * stream.workers as usize
    };
    plan.workload.streams.iter().map(slots).sum()
}

impl<D: Device> VirtualRun<D> {
    /// Prepares a run of `plan`, whose targets are null targets with the sizes of the device's. `lifetimes` has one entry
    /// per stream, or none at all. The device shares `clock` and has room for [`slots_of`] requests.
    ///
    /// # Errors
    /// When the plan cannot be run.
    pub fn new(plan: Plan, lifetimes: &[Lifetime], device: D, clock: VirtualClock) -> Result<Self, LoadError> {
        plan.check()?;
        let opened = plan.targets.iter().map(|spec| spec.open(false)).collect::<Result<Vec<_>, LoadError>>()?;
        let device = Rc::new(RefCell::new(device));
        let (mut members, mut owner) = (Vec::new(), Vec::new());
        for (index, stream) in plan.workload.streams.iter().enumerate() {
            let lifetime = lifetimes.get(index).copied().unwrap_or(Lifetime::WHOLE);
            let spans = plan.spans(index, &opened)?;
            let slots = stream.load.slots_per_worker(stream.target_indices(opened.len()).len());
            for worker in 0..stream.workers {
                let global_worker = members.len() as u32;
                let task = Task {
                    workload: &plan.workload,
                    stream_index: index as u32,
                    worker,
                    global_worker,
                    spans: &spans,
                    seed: plan.seed,
                    limit: limit_of(&plan, index, lifetime),
                    interval: plan.interval,
                    start: Nanos::ZERO,
                    delay: lifetime.start,
                    max_failures: plan.max_failures,
                };
                let base = owner.len() as u32;
                owner.extend(std::iter::repeat_n(global_worker, slots));
                let generator = Generator::new(Port { device: Rc::clone(&device), base }, clock.clone(), &task);
                members.push(Member { generator, base, state: State::Running, wake_at: Nanos::ZERO, is_called: false });
            }
        }
        let (done, called) = (Vec::with_capacity(owner.len()), Vec::with_capacity(members.len()));
        let gathering = Gathering::new(members.len());
        let earliest = Nanos::ZERO;
        let (error, ios_left) = (None, u64::MAX);
        let flushes = plan.workload.streams.iter().any(|stream| stream.flush.is_some());
        Ok(Self { plan, device, clock, members, owner, done, called, earliest, gathering, error, ios_left, flushes })
    }

    /// The same, but it also ends when all workers together have done so many I/Os: those of unlike streams would use
    /// up shares of their own one after the other.
    #[must_use]
    pub fn ending_after(self, ios: u64) -> Self {
        Self { ios_left: ios.max(1), ..self }
    }

    /// Runs to the end, handing each interval to `sink` when all workers have finished it. `started_unix_ns` is the
    /// instant that the record gives to the run's start. Gives the device back with the result.
    pub fn run(
        mut self,
        started_unix_ns: u64,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(Interval),
    ) -> (Finished, Rc<RefCell<D>>) {
        let usage_before = Usage::of_process();
        if let Err(error) = self.advance(stop, sink) {
            self.error.get_or_insert(error);
        }
        self.gathering.end_all();
        self.hand_out(sink);
        let usage = Usage::of_process().since(&usage_before);
        (self.sum_up(started_unix_ns, usage), self.device)
    }

    fn advance(&mut self, stop: &AtomicBool, sink: &mut dyn FnMut(Interval)) -> Result<(), LoadError> {
        let mut now = self.clock.now();
        self.turn_due(now);
        let mut turns = 0_u32;
        let mut at_once = 0_u64;
        while !self.gathering.is_over() {
            let after = self.device.borrow_mut().wait(self.earliest, &mut self.done)?;
            at_once = if after > now { 0 } else { at_once + self.done.len() as u64 };
            now = after;
            if at_once > MOST_AT_ONCE {
                return Err(LoadError::TimeStands { ios: at_once });
            }
            self.ios_left = self.ios_left.saturating_sub(self.ios_done());
            if !self.take_alone(now) {
                self.deliver(now);
                let is_due = self.earliest <= now;
                self.turn_called(now);
                if is_due {
                    self.turn_due(now);
                    self.hand_out(sink);
                }
            }
            turns = turns.wrapping_add(1);
            if self.ios_left == 0 {
                self.end_all(now);
                self.ios_left = u64::MAX;
            }
            if self.error.is_some() || (turns.is_multiple_of(TURNS_BETWEEN_LOOKS) && stop.load(Ordering::Relaxed)) {
                self.end_all(now);
            }
        }
        Ok(())
    }

    /// I/Os among what is done: flushes that went well are none, and they alone transfer nothing.
    #[inline]
    fn ios_done(&self) -> u64 {
        let flushes = if self.flushes { self.done.iter().filter(|done| done.result == 0).count() } else { 0 };
        (self.done.len() - flushes) as u64
    }

    /// Where one I/O alone is done and its worker at most sends another in its place: nobody need be woken then.
    #[inline]
    fn take_alone(&mut self, now: Nanos) -> bool {
        let &[completion] = self.done.as_slice() else { return false };
        let member = &mut self.members[self.owner[completion.token as usize] as usize];
        let completion = Completion { token: completion.token - member.base, ..completion };
        let is_running = self.earliest > now && member.state == State::Running;
        let is_taken = is_running && member.generator.take_alone(now, &completion);
        if is_taken {
            self.done.clear();
        }
        is_taken
    }

    /// Gives each worker what is done for it.
    #[inline]
    fn deliver(&mut self, now: Nanos) {
        let Self { members, owner, done, called, gathering, error, .. } = self;
        for completion in done.drain(..) {
            let worker = owner[completion.token as usize];
            let member = &mut members[worker as usize];
            if !member.is_called {
                member.is_called = true;
                called.push(worker);
            }
            let completion = Completion { token: completion.token - member.base, ..completion };
            if let Err(failure) = member.take(worker, now, completion, gathering) {
                error.get_or_insert(failure);
                member.give_up(worker, gathering);
            }
        }
    }

    #[inline]
    fn turn_called(&mut self, now: Nanos) {
        let mut called = std::mem::take(&mut self.called);
        for &worker in &called {
            self.members[worker as usize].is_called = false;
            self.turn(worker, now);
        }
        called.clear();
        self.called = called;
    }

    /// Turns all that wanted to be woken by `now`.
    fn turn_due(&mut self, now: Nanos) {
        for worker in 0..self.members.len() as u32 {
            if self.members[worker as usize].wake_at <= now {
                self.turn(worker, now);
            }
        }
        self.earliest = self.members.iter().map(|member| member.wake_at).min().unwrap_or(Nanos::NEVER);
    }

    #[inline]
    fn turn(&mut self, worker: u32, now: Nanos) {
        let Self { members, gathering, error, earliest, .. } = self;
        let member = &mut members[worker as usize];
        let before = member.wake_at;
        if let Err(failure) = member.turn(worker, now, gathering) {
            error.get_or_insert(failure);
            member.give_up(worker, gathering);
        }
        let after = member.wake_at;
        if after < *earliest {
            *earliest = after;
        } else if before == *earliest && after > before {
            *earliest = members.iter().map(|member| member.wake_at).min().unwrap_or(Nanos::NEVER);
        }
    }

    /// Ends every worker at `now`; what is in flight is waited for.
    fn end_all(&mut self, now: Nanos) {
        for (worker, member) in self.members.iter_mut().enumerate() {
            if member.state == State::Running && member.drain(worker as u32, now, &mut self.gathering).is_err() {
                member.give_up(worker as u32, &mut self.gathering);
            }
        }
        self.earliest = Nanos::NEVER;
    }

    fn hand_out(&mut self, sink: &mut dyn FnMut(Interval)) {
        while let Some(interval) = self.gathering.take_complete() {
            sink(interval);
        }
    }

    fn sum_up(&mut self, started_unix_ns: u64, process_usage: Usage) -> Finished {
        let (total, drain, ending) = self.gathering.sum();
        let found = doubts(&total, &drain, &ending, &self.plan.workload, self.gathering.fullest());
        let doubts: Vec<Doubt> = found.into_iter().map(Doubt::in_virtual_time).collect();
        let own = lateness_of_streams(&total, &self.plan.workload).into_iter();
        let late: Vec<_> = own.map(|one| StreamDoubt { doubt: one.doubt.in_virtual_time(), ..one }).collect();
        let streams = 0..self.plan.workload.streams.len() as u32;
        let engine = |stream| EngineUsed { stream, engine: "simulated", reason: None, registered_buffers: false };
        let result = RunResult {
            started_unix_ns,
            valid: !doubts.iter().any(Doubt::invalidates),
            latency_bound: latency_bound(&doubts),
            invalid_streams: invalid_streams(&doubts, &late, &self.plan.workload),
            stream_doubts: not_told_of_all(late, &doubts),
            total,
            drain,
            ending,
            engines: streams.map(engine).collect(),
            clock: "virtual",
            process_usage,
            doubts,
        };
        Finished { result, error: self.error.take() }
    }
}

impl<D: Device> Member<D> {
    #[inline]
    fn take(
        &mut self,
        worker: u32,
        now: Nanos,
        completion: Completion,
        gathering: &mut Gathering,
    ) -> Result<(), LoadError> {
        if self.state != State::Running {
            self.generator.keep_for_drain(completion);
            return Ok(());
        }
        self.generator.end_intervals(now, &mut |interval| gathering.collect(worker, interval));
        self.generator.take(now, completion)
    }

    #[inline]
    fn turn(&mut self, worker: u32, now: Nanos, gathering: &mut Gathering) -> Result<(), LoadError> {
        match self.state {
            State::Running => {
                self.generator.end_intervals(now, &mut |interval| gathering.collect(worker, interval));
                match self.generator.step(now) {
                    Some(wake_at) => self.wake_at = wake_at,
                    None => self.drain(worker, now, gathering)?,
                }
                Ok(())
            }
            State::Draining(completed_before) => self.step_drain(worker, now, completed_before, gathering),
            State::Ended => Ok(()),
        }
    }

    fn drain(&mut self, worker: u32, now: Nanos, gathering: &mut Gathering) -> Result<(), LoadError> {
        self.wake_at = Nanos::NEVER;
        let before = self.generator.begin_drain(now, &mut |interval| gathering.collect(worker, interval));
        self.state = State::Draining(before);
        self.step_drain(worker, now, before, gathering)
    }

    fn step_drain(
        &mut self,
        worker: u32,
        now: Nanos,
        completed_before: u64,
        gathering: &mut Gathering,
    ) -> Result<(), LoadError> {
        if self.generator.step_drain(now)? {
            let mut sink = |interval| gathering.collect(worker, interval);
            let ending: Ending = self.generator.end_drain(completed_before, now, &mut sink);
            gathering.end(worker, Some(&ending));
            self.state = State::Ended;
        }
        Ok(())
    }

    fn give_up(&mut self, worker: u32, gathering: &mut Gathering) {
        (self.state, self.wake_at) = (State::Ended, Nanos::NEVER);
        gathering.end(worker, None);
    }
}

/// The plan's limit, ended by the stream's lifetime.
fn limit_of(plan: &Plan, stream: usize, lifetime: Lifetime) -> Limit {
    let limit = plan.limit(stream);
    Limit { duration: limit.duration.min(lifetime.end), ..limit }
}
