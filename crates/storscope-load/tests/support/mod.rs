//! Workloads and runs that several tests share.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::atomic::AtomicBool;

use storscope_device::{Clock, Completion, Device, DeviceError, FlushRequest, Request};
use storscope_load::{Ending, Generator, Interval, Limit, LoadError, Span, Task};
use storscope_types::{Access, AccessSpec, Bytes, Load, Nanos, Process, Stream, Workload};

pub const GIB: Span = Span { start: 0, length: 1 << 30 };

pub fn reads_4k() -> AccessSpec {
    AccessSpec::random_read(Bytes::from_kib(4))
}

pub fn mix(lines: Vec<AccessSpec>, load: Load) -> Workload {
    Workload::of("test", Stream::new(Access::Mix { lines }, load))
}

pub fn closed(outstanding: u32) -> Load {
    Load::Closed { outstanding }
}

pub fn open(rate_per_s: f64, process: Process, max_outstanding: u32) -> Load {
    Load::Open { rate_per_s, process, max_outstanding }
}

pub fn seconds(seconds: f64) -> Limit {
    Limit { duration: Nanos::from_secs_f64(seconds), ios: u64::MAX, bytes: u64::MAX }
}

pub fn ios(ios: u64) -> Limit {
    Limit { duration: Nanos::from_secs_f64(1e6), ios, bytes: u64::MAX }
}

pub fn task<'a>(workload: &'a Workload, spans: &'a [Span], limit: Limit) -> Task<'a> {
    workload.check(spans.len()).unwrap();
    Task {
        workload,
        stream_index: 0,
        worker: 0,
        global_worker: 0,
        spans,
        seed: 1,
        limit,
        interval: Nanos::SECOND,
        start: Nanos::ZERO,
        delay: Nanos::ZERO,
        max_failures: 0,
    }
}

/// What a run gave.
pub struct Outcome {
    pub intervals: Vec<Interval>,
    pub drain: Interval,
    /// All intervals without the drain.
    pub total: Interval,
    pub ending: Ending,
}

/// Runs the task and checks the laws that hold for every run.
pub fn run<D: Device, C: Clock>(device: D, clock: C, task: &Task<'_>) -> Outcome {
    let (mut intervals, ending) = try_run(device, clock, task);
    let ending = ending.unwrap();
    let drain = intervals.pop().unwrap();
    assert!(drain.drain);
    let mut total = intervals[0].clone();
    intervals[1..].iter().for_each(|next| total.merge_next(next));
    let outcome = Outcome { intervals, drain, total, ending };
    assert_conservation(&outcome);
    assert_little(&outcome);
    outcome
}

pub fn try_run<D: Device, C: Clock>(
    device: D,
    clock: C,
    task: &Task<'_>,
) -> (Vec<Interval>, Result<Ending, LoadError>) {
    let mut intervals = Vec::new();
    let mut generator = Generator::new(device, clock, task);
    let ending = generator.run(&AtomicBool::new(false), &mut |interval| intervals.push(interval));
    (intervals, ending)
}

/// No I/O appears or vanishes, in no interval.
pub fn assert_conservation(outcome: &Outcome) {
    let Outcome { intervals, drain, ending, .. } = outcome;
    let mut in_flight = 0;
    for interval in intervals.iter().chain([drain]) {
        in_flight += interval.submitted;
        in_flight -= interval.ios() + interval.flushes().ios + interval.failed();
        assert_eq!(interval.in_flight_at_end, in_flight, "in interval {}", interval.index);
    }
    assert_eq!(in_flight, 0);
    assert_eq!(ending.submitted, ending.completed + ending.failed);
    let all: Vec<_> = intervals.iter().chain([drain]).collect();
    assert_eq!(ending.submitted, all.iter().map(|interval| interval.submitted).sum::<u64>());
    assert_eq!(ending.completed, all.iter().map(|interval| interval.ios() + interval.flushes().ios).sum::<u64>());
}

/// The integral of what is in flight is the sum of the service times.
pub fn assert_little(outcome: &Outcome) {
    let mut area = 0.0;
    let mut service_sum = 0.0;
    for interval in outcome.intervals.iter().chain([&outcome.drain]) {
        area += interval.outstanding_mean * interval.duration.0 as f64;
        service_sum += (interval.all().service.sum() + interval.flushes().service.sum()) as f64;
    }
    assert!((area - service_sum).abs() <= 1e-9 * service_sum + 1.0, "area {area}, sum of service times {service_sum}");
}

/// Hands everything on and remembers the requests and flushes.
pub struct Spy<D> {
    pub device: D,
    pub seen: std::rc::Rc<std::cell::RefCell<Vec<(Nanos, Request)>>>,
    pub flushes: std::rc::Rc<std::cell::RefCell<Vec<(Nanos, FlushRequest)>>>,
    pub clock: storscope_device::VirtualClock,
}

impl<D: Device> Device for Spy<D> {
    fn depth(&self) -> usize {
        self.device.depth()
    }

    fn submit(&mut self, request: Request) {
        self.seen.borrow_mut().push((self.clock.now(), request));
        self.device.submit(request);
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.flushes.borrow_mut().push((self.clock.now(), flush));
        self.device.flush(flush);
    }

    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        self.device.wait(until, done)
    }
}
