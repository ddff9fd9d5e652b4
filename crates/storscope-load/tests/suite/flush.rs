//! Flushes: which writes they follow, what they hold up, and that they are counted apart. In virtual time, so exactly.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use crate::support::{GIB, Outcome, Spy, closed, ios, mix, open, reads_4k, run, task, try_run};
use storscope_device::{
    Completion, Device, DeviceError, Direction, FlushRequest, QueueingDevice, Request, StallingDevice, VirtualClock,
};
use storscope_load::{Engine, FailedIo, Lifetime, Limit, LoadError, Plan, Span, TargetSpec, VirtualRun, slots_of};
use storscope_types::{
    Access, AccessSpec, Bytes, Copy, Flush, FlushKind, Load, Nanos, Process, Stream, ThinkTime, Workload,
};

const WRITE: Nanos = Nanos(100_000);
const FLUSH: Nanos = Nanos(300_000);

fn writes_4k() -> AccessSpec {
    AccessSpec { read_share: 0.0, random_share: 0.0, ..reads_4k() }
}

fn flushing(every: u32, lines: Vec<AccessSpec>, load: Load) -> Workload {
    let mut workload = mix(lines, load);
    workload.streams[0].flush = Some(Flush { every, kind: FlushKind::Data });
    workload
}

fn device(clock: &VirtualClock) -> StallingDevice {
    StallingDevice::new(clock.clone(), WRITE, Vec::new(), 1024).with_flush_service(FLUSH)
}

/// What a device that takes known times was asked, in order: when, and a read, a write or a flush of which target.
fn asked(workload: &Workload, targets: usize, limit: Limit) -> (Vec<(u64, &'static str, u32)>, Outcome) {
    let clock = VirtualClock::default();
    let (seen, flushes) = (Rc::new(RefCell::new(Vec::new())), Rc::new(RefCell::new(Vec::new())));
    let spy =
        Spy { device: device(&clock), seen: Rc::clone(&seen), flushes: Rc::clone(&flushes), clock: clock.clone() };
    let outcome = run(spy, clock, &task(workload, &vec![GIB; targets], limit));
    let word = |direction| if direction == Direction::Read { "read" } else { "write" };
    let transfer = |(at, request): &(Nanos, Request)| (at.0, word(request.direction), request.target);
    let flush = |(at, flush): &(Nanos, FlushRequest)| (at.0, "flush", flush.target);
    let mut all: Vec<_> = seen.take().iter().map(transfer).chain(flushes.take().iter().map(flush)).collect();
    all.sort_by_key(|&(at, ..)| at);
    (all, outcome)
}

fn lasting(duration_ns: u64) -> Limit {
    Limit { duration: Nanos(duration_ns), ios: u64::MAX, bytes: u64::MAX }
}

#[test]
fn a_place_holds_a_write_and_its_flush_so_the_rate_is_one_over_both() {
    for (every, cycle_ns) in [(1, 400_000), (4, 700_000), (10, 1_300_000)] {
        let workload = flushing(every, vec![writes_4k()], closed(1));
        let cycles = 1_000;
        // A moment longer, since what is done at the very end belongs to the drain.
        let (_, outcome) = asked(&workload, 1, lasting(cycles * cycle_ns + 1));
        let (all, flushes) = (outcome.total.all(), outcome.total.flushes());
        assert_eq!((all.ios, flushes.ios), (cycles * u64::from(every), cycles));
        assert_eq!((all.bytes, flushes.bytes), (all.ios * 4096, 0));
        assert_eq!((all.response.max(), all.response.min()), (Some(WRITE.0), Some(WRITE.0)));
        assert_eq!((flushes.response.max(), flushes.service.min()), (Some(FLUSH.0), Some(FLUSH.0)));
        assert_eq!(flushes.lateness.max(), Some(0));
    }
}

#[test]
fn each_interval_counts_its_own_flushes() {
    let workload = flushing(1, vec![writes_4k()], closed(1));
    let (_, outcome) = asked(&workload, 1, lasting(3_000_000_001));
    let of_each: Vec<(u64, u64)> =
        outcome.intervals.iter().map(|interval| (interval.ios(), interval.flushes().ios)).collect();
    // A flush that ends with an interval belongs to the next.
    assert_eq!(of_each, [(2500, 2499), (2500, 2500), (2500, 2500), (0, 1)]);
    assert!((outcome.total.outstanding_mean - 1.0).abs() < 1e-6, "the place is never empty");
}

#[test]
fn a_stream_without_flushes_has_none_not_zero() {
    let (asked_for, outcome) = asked(&mix(vec![writes_4k()], closed(1)), 1, ios(10));
    assert!(asked_for.iter().all(|&(_, what, _)| what == "write"));
    assert!(outcome.total.cells[0].flushes.is_none());
}

#[test]
fn the_next_request_of_the_place_waits_for_the_flush_and_thinks_after_it() {
    let mut workload = flushing(2, vec![writes_4k()], closed(1));
    workload.streams[0].think_time = Some(ThinkTime { mean: Nanos(50_000), process: Process::Fixed });
    let (asked, _) = asked(&workload, 1, ios(3));
    assert_eq!(
        asked,
        [(0, "write", 0), (150_000, "write", 0), (250_000, "flush", 0), (600_000, "write", 0)],
        "the third is not flushed"
    );
}

#[test]
fn other_places_go_on_beside_a_flush() {
    let (asked, _) = asked(&flushing(3, vec![writes_4k()], closed(2)), 1, ios(6));
    let expected = [
        (0, "write", 0),
        (0, "write", 0),
        (100_000, "write", 0),
        (100_000, "write", 0),
        (200_000, "write", 0),
        (200_000, "flush", 0),
        (300_000, "write", 0),
        (400_000, "flush", 0),
    ];
    assert_eq!(asked, expected);
}

#[test]
fn writes_are_counted_by_target_and_reads_not_at_all() {
    let line = AccessSpec { read_share: 0.5, ..writes_4k() };
    let workload = flushing(5, vec![line], closed(3));
    let (asked, outcome) = asked(&workload, 3, ios(3_000));
    for target in 0..3 {
        let count = |what| asked.iter().filter(|&&(_, which, of)| which == what && of == target).count() as u64;
        assert!(count("read") > 300);
        assert_eq!(count("flush"), count("write") / 5);
        let cell = &outcome.total.cells[target as usize];
        assert_eq!(cell.flushes.as_ref().map(|flushes| flushes.ios), Some(count("flush")));
    }
}

#[test]
fn in_an_open_loop_a_flush_goes_out_the_instant_its_write_is_done() {
    let workload = flushing(1, vec![writes_4k()], open(1_000.0, Process::Fixed, 64));
    let (asked, outcome) = asked(&workload, 1, ios(1_000));
    let instants = |what| asked.iter().filter(|asked| asked.1 == what).map(|asked| asked.0).collect::<Vec<u64>>();
    let (writes, flushes) = (instants("write"), instants("flush"));
    assert_eq!(writes.len(), 1_000);
    assert_eq!(flushes, writes.iter().map(|at| at + WRITE.0).collect::<Vec<u64>>());
    let times = outcome.total.flushes();
    assert_eq!((times.response.max(), times.lateness.max()), (Some(FLUSH.0), Some(0)));
}

/// The flush holds the place that the next arrival needs.
#[test]
fn without_a_free_place_arrivals_wait_for_the_flush() {
    let workload = flushing(1, vec![writes_4k()], open(4_000.0, Process::Fixed, 1));
    let (asked, _) = asked(&workload, 1, lasting(1_000_000));
    assert_eq!(asked.iter().map(|(at, ..)| *at).collect::<Vec<_>>()[..5], [0, 100_000, 400_000, 500_000, 800_000]);
}

#[test]
fn copies_flush_the_target_they_write() {
    let copy = Copy { size: Bytes(65_536), destination: 1, destination_start: Bytes(0), random_share: 0.0 };
    let mut stream = Stream::new(Access::Copy(copy), closed(1));
    (stream.targets, stream.flush) = (vec![0], Some(Flush { every: 2, kind: FlushKind::Full }));
    let (asked, outcome) = asked(&Workload::of("copy", stream), 2, ios(3));
    let whats: Vec<(&str, u32)> = asked.iter().map(|&(_, what, target)| (what, target)).collect();
    let pair = [("read", 0), ("write", 1)];
    assert_eq!(whats, [&pair[..], &pair, &[("flush", 1)], &pair].concat());
    let flushes: u64 =
        outcome.total.cells.iter().filter(|cell| cell.target == 1).map(|cell| cell.flushes.as_ref().unwrap().ios).sum();
    assert_eq!(flushes, 1);
}

#[test]
fn a_reply_that_writes_is_flushed_and_one_that_reads_waits_for_the_flush_of_its_write() {
    for (read_share, order) in [(1.0, ["read", "write", "flush"]), (0.0, ["write", "flush", "read"])] {
        let line = AccessSpec { read_share, reply: Bytes(512), align: Bytes(512), ..writes_4k() };
        let (asked, _) = asked(&flushing(1, vec![line], closed(1)), 1, ios(4));
        let whats: Vec<&str> = asked.iter().map(|&(_, what, _)| what).collect();
        assert_eq!(whats, order.repeat(4));
        assert!(
            asked.windows(2).all(|pair| pair[1].0 - pair[0].0 == if pair[0].1 == "flush" { FLUSH.0 } else { WRITE.0 })
        );
    }
}

#[test]
fn limits_count_reads_and_writes_and_the_flush_of_the_last_is_made() {
    let workload = flushing(1, vec![writes_4k()], closed(4));
    let (_, outcome) = asked(&workload, 1, ios(10));
    assert_eq!((outcome.total.ios(), outcome.total.flushes().ios), (10, 10));
    assert_eq!(outcome.ending.submitted, 20);
    let (_, outcome) = asked(&workload, 1, Limit { bytes: 10 * 4096, ..ios(u64::MAX) });
    assert_eq!((outcome.total.ios(), outcome.total.flushes().ios), (10, 10));
}

fn plan(workload: Workload) -> Plan {
    Plan {
        workload,
        targets: vec![TargetSpec::Null { size_bytes: Bytes(1 << 30) }],
        engine: Engine::Auto,
        seed: 1,
        duration: Some(Nanos::SECOND),
        max_ios_per_worker: None,
        max_bytes_per_worker: None,
        interval: Nanos::SECOND,
        max_failures: 0,
        held: false,
    }
}

#[test]
fn workers_in_virtual_time_flush_apart_and_no_flush_counts_for_the_end_by_ios() {
    let mut workload = flushing(1, vec![writes_4k()], closed(1));
    workload.streams[0].workers = 3;
    let (plan, clock) = (plan(workload), VirtualClock::default());
    let run = VirtualRun::new(plan, &[Lifetime::WHOLE], device(&clock), clock).unwrap().ending_after(30);
    let (finished, _) = run.run(0, &AtomicBool::new(false), &mut |_| {});
    assert!(finished.error.is_none() && finished.result.doubts.is_empty(), "{finished:?}");
    let (total, drain) = (finished.result.total, finished.result.drain);
    assert_eq!((total.ios(), total.flushes().ios, drain.flushes().ios), (30, 27, 3));
    assert_eq!(finished.result.ending.elapsed, Nanos(9 * 400_000 + 100_000));
}

/// Fails the writes or the flushes with EIO.
struct Failing {
    device: QueueingDevice,
    fails_flushes: bool,
    flushing: Vec<bool>,
}

impl Device for Failing {
    const KEEPS_DATA: bool = false;

    fn depth(&self) -> usize {
        self.device.depth()
    }

    fn submit(&mut self, request: Request) {
        self.flushing[request.token as usize] = false;
        self.device.submit(request);
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.flushing[flush.token as usize] = true;
        self.device.flush(flush);
    }

    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        let before = done.len();
        let now = self.device.wait(until, done);
        let failed = done[before..].iter_mut().filter(|done| self.flushing[done.token as usize] == self.fails_flushes);
        failed.for_each(|completion| completion.result = -5);
        now
    }
}

fn failing(fails_flushes: bool, clock: &VirtualClock) -> Failing {
    let device = QueueingDevice::new(clock.clone(), 1, WRITE, 16, 1);
    Failing { device, fails_flushes, flushing: vec![false; 16] }
}

#[test]
fn a_flush_that_fails_counts_as_a_failed_io_and_says_what_it_was() {
    let clock = VirtualClock::default();
    let workload = flushing(2, vec![writes_4k()], closed(1));
    let spans = [Span { start: 0, length: 1 << 30 }];
    let task = storscope_load::Task { max_failures: 2, ..task(&workload, &spans, ios(1_000)) };
    let (intervals, outcome) = try_run(failing(true, &clock), clock, &task);
    let error = outcome.unwrap_err();
    assert!(matches!(error, LoadError::Failed { failed: 3, last: FailedIo::Flush(FlushKind::Data), .. }), "{error:?}");
    let said =
        "3 I/Os failed, 2 are allowed; the last was a flush (fdatasync) of target 0: Input/output error (os error 5)";
    assert_eq!(error.to_string(), said);
    let total = &intervals[0];
    assert_eq!((total.ios(), total.flushes().ios, total.failed()), (6, 0, 3), "what was written counts");
    assert_eq!(total.failures[0].errno, 5);
}

#[test]
fn no_flush_follows_a_write_that_failed() {
    let clock = VirtualClock::default();
    let workload = flushing(1, vec![writes_4k()], closed(1));
    let task = storscope_load::Task { max_failures: 1_000, ..task(&workload, &[GIB], ios(50)) };
    let (intervals, outcome) = try_run(failing(false, &clock), clock, &task);
    assert_eq!(outcome.unwrap().failed, 50);
    assert_eq!((intervals[0].ios(), intervals[0].flushes().ios), (0, 0));
}

/// A place and its flush hold one slot, so a device needs no more room.
#[test]
fn flushes_need_no_slots_of_their_own() {
    assert_eq!(slots_of(&plan(flushing(1, vec![writes_4k()], closed(7)))), 7);
}
