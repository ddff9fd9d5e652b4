//! Several workers on one simulated device, against one worker alone and against closed forms.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{GIB, closed, mix, open, reads_4k, run, seconds, task};
use storscope_device::{QueueingDevice, Stall, StallingDevice, VirtualClock};
use storscope_load::{Doubt, Engine, Interval, Lifetime, Plan, RunResult, TargetSpec, VirtualRun, slots_of};
use storscope_types::{AccessSpec, Bytes, Copy, Load, Nanos, Process, ThinkTime, Workload};

fn plan(workload: Workload, targets: usize, duration_s: f64) -> Plan {
    Plan {
        workload,
        targets: vec![TargetSpec::Null { size_bytes: Bytes(1 << 30) }; targets],
        engine: Engine::Auto,
        seed: 1,
        duration: Some(Nanos::from_secs_f64(duration_s)),
        max_ios_per_worker: None,
        max_bytes_per_worker: None,
        interval: Nanos::SECOND,
        max_failures: 0,
        held: false,
    }
}

/// Runs a plan on a queue with `servers` servers of 1 ms.
fn simulate(plan: Plan, lifetimes: &[Lifetime], servers: usize) -> (RunResult, Vec<Interval>) {
    let clock = VirtualClock::default();
    let device = QueueingDevice::new(clock.clone(), servers, Nanos(1_000_000), slots_of(&plan), 7);
    let mut intervals = Vec::new();
    let run = VirtualRun::new(plan, lifetimes, device, clock).unwrap();
    let (finished, _) = run.run(0, &AtomicBool::new(false), &mut |interval| intervals.push(interval));
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let ios: u64 = intervals.iter().map(Interval::ios).sum();
    assert_eq!(ios, finished.result.total.ios());
    assert_eq!(finished.result.ending.completed, ios + finished.result.drain.ios());
    assert_eq!(finished.result.ending.submitted, finished.result.ending.completed);
    (finished.result, intervals)
}

#[test]
fn one_worker_does_exactly_what_it_does_alone() {
    for load in [closed(8), open(3_500.0, Process::Poisson, 64)] {
        let workload = mix(vec![reads_4k()], load);
        let clock = VirtualClock::default();
        let device = QueueingDevice::new(clock.clone(), 4, Nanos(1_000_000), 64, 7);
        let alone = run(device, clock, &task(&workload, &[GIB], seconds(10.0)));
        let (result, intervals) = simulate(plan(workload, 1, 10.0), &[], 4);
        assert_eq!(intervals.len(), 10);
        assert_eq!(result.ending, alone.ending);
        let (ours, theirs) = (result.total.all(), alone.total.all());
        assert_eq!(ours.response.sum(), theirs.response.sum());
        assert_eq!(ours.lateness.sum(), theirs.lateness.sum());
    }
}

/// The machine repairman (Gross and Harris, "Fundamentals of Queueing Theory", 2.7): 30 users think for 20 ms each, one
/// server takes 1 ms.
#[test]
fn thinking_users_are_served_as_the_machine_repairman_says() {
    let mut workload = mix(vec![reads_4k()], closed(1));
    workload.streams[0].workers = 30;
    workload.streams[0].think_time = Some(ThinkTime { mean: Nanos(20_000_000), process: Process::Poisson });
    let (result, _) = simulate(plan(workload, 1, 2_000.0), &[], 1);
    let (users, ratio) = (30_u32, 1.0 / 20.0);
    let (mut term, mut sum) = (1.0, 1.0);
    for waiting in 0..users {
        term *= f64::from(users - waiting) * ratio;
        sum += term;
    }
    let expected_per_s = (1.0 - 1.0 / sum) * 1_000.0;
    let rate = result.total.ios() as f64 / 2_000.0;
    assert!((rate / expected_per_s - 1.0).abs() < 0.01, "{rate} against {expected_per_s} per second");
}

#[test]
fn an_end_by_ios_is_that_of_all_workers_together() {
    let mut workload = mix(vec![reads_4k()], closed(8));
    workload.streams.push(mix(vec![reads_4k()], open(10.0, Process::Fixed, 64)).streams[0].clone());
    let plan = plan(workload, 1, 1_000.0);
    let clock = VirtualClock::default();
    let device = QueueingDevice::new(clock.clone(), 4, Nanos(1_000_000), slots_of(&plan), 7);
    let run = VirtualRun::new(plan, &[], device, clock).unwrap().ending_after(20_000);
    let (finished, _) = run.run(0, &AtomicBool::new(false), &mut |_| {});
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let result = finished.result;
    assert_eq!(result.total.ios(), 20_000);
    assert!((1..=9).contains(&result.drain.ios()), "{} were in flight", result.drain.ios());
    let seconds = result.ending.elapsed.0 as f64 / 1e9;
    assert!((result.total.ios() as f64 / seconds - 4_000.0).abs() < 80.0, "four servers of 1 ms: {seconds} s");
    let slow = result.total.cells.iter().filter(|cell| cell.stream == 1).map(|cell| cell.reads.ios).sum::<u64>() as f64;
    assert!((slow - 10.0 * seconds).abs() <= 1.5, "{slow} of the slow stream in {seconds} s");
}

#[test]
fn null_targets_need_no_memory_for_buffers_but_queues_have_an_end() {
    let large_writes = AccessSpec { size: Bytes::from_mib(1), read_share: 0.0, ..reads_4k() };
    let check = |workers| {
        let mut workload = mix(vec![large_writes.clone()], closed(20_000));
        workload.streams[0].workers = workers;
        plan(workload, 1, 1.0).check()
    };
    assert!(check(1).is_ok(), "20 GiB that nobody needs");
    let error = check(1_000).unwrap_err().to_string();
    assert!(error.contains("at most 16,777,216 outstanding I/Os in all, found 20,000,000"), "{error}");
}

#[test]
fn workers_share_one_server_fairly_and_all_intervals_have_the_same_grid() {
    let mut workload = mix(vec![reads_4k()], closed(2));
    workload.streams[0].workers = 5;
    workload.streams.push(mix(vec![reads_4k()], closed(10)).streams[0].clone());
    let (result, intervals) = simulate(plan(workload, 2, 20.0), &[], 1);
    assert_eq!(intervals.len(), 20);
    assert!(intervals.iter().enumerate().all(|(index, interval)| interval.index as usize == index));
    // 5 workers x 2 and 1 x 10, each on 2 targets: of first come, first served, both streams get one half.
    let of = |stream| -> u64 {
        result.total.cells.iter().filter(|cell| cell.stream == stream).map(|cell| cell.reads.ios).sum()
    };
    assert!((of(0) as f64 / of(1) as f64 - 1.0).abs() < 0.01);
    assert!((result.total.outstanding_mean - 40.0).abs() < 0.01);
}

#[test]
fn a_stream_is_active_in_its_lifetime_only() {
    let mut workload = mix(vec![reads_4k()], open(100.0, Process::Fixed, 16));
    workload.streams.push(mix(vec![reads_4k()], closed(4)).streams[0].clone());
    let hog = Lifetime { start: Nanos(3_000_000_000), end: Nanos(6_000_000_000) };
    let (_, intervals) = simulate(plan(workload, 1, 10.0), &[Lifetime::WHOLE, hog], 1);
    for interval in &intervals {
        let of_hog: u64 = interval.cells.iter().filter(|cell| cell.stream == 1).map(|cell| cell.reads.ios).sum();
        assert_eq!(of_hog > 0, (3..6).contains(&interval.index), "in interval {}", interval.index);
        let of_other: u64 = interval.cells.iter().filter(|cell| cell.stream == 0).map(|cell| cell.reads.ios).sum();
        assert!((95..=105).contains(&of_other), "{of_other}");
    }
}

#[test]
fn copies_write_what_they_read() {
    let mut workload = mix(vec![reads_4k()], closed(4));
    let copy = Copy { size: Bytes(65_536), destination: 1, destination_start: Bytes(0), random_share: 0.0 };
    workload.streams[0].access = storscope_types::Access::Copy(copy);
    workload.streams[0].targets = vec![0];
    workload.streams[0].workers = 3;
    let (result, _) = simulate(plan(workload, 2, 10.0), &[], 2);
    let reads: u64 = result.total.cells.iter().chain(&result.drain.cells).map(|cell| cell.reads.ios).sum();
    let writes: u64 = result.total.cells.iter().chain(&result.drain.cells).map(|cell| cell.writes.ios).sum();
    assert_eq!(reads, writes);
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_did() {
    let plan = plan(mix(vec![reads_4k()], closed(4)), 1, 1e6);
    let clock = VirtualClock::default();
    let device = QueueingDevice::new(clock.clone(), 4, Nanos(1_000_000), 4, 7);
    let stop = AtomicBool::new(false);
    let mut seen = 0;
    let run = VirtualRun::new(plan, &[], device, clock).unwrap();
    let (finished, _) = run.run(0, &stop, &mut |_| {
        seen += 1;
        stop.store(seen >= 5, Ordering::Relaxed);
    });
    assert!((5..=8).contains(&seen), "{seen} intervals");
    assert!(finished.result.total.ios() > 15_000);
}

#[test]
fn a_load_that_cannot_be_served_is_doubted_as_in_a_real_run() {
    let workload =
        mix(vec![reads_4k()], Load::Open { rate_per_s: 2_000.0, process: Process::Poisson, max_outstanding: 8 });
    let (result, _) = simulate(plan(workload, 1, 10.0), &[], 1);
    assert!(!result.valid);
    assert!(result.ending.unsent > 9_000);
}

/// 300 arrivals a second for ten seconds, 20 ms each, on a device that stands still now and then.
fn with_stalls(stalls: Vec<Stall>) -> RunResult {
    let plan = plan(mix(vec![reads_4k()], open(300.0, Process::Poisson, 1024)), 1, 10.0);
    let clock = VirtualClock::default();
    let device = StallingDevice::new(clock.clone(), Nanos::from_millis(20), stalls, 1024);
    let run = VirtualRun::new(plan, &[], device, clock).unwrap();
    run.run(0, &AtomicBool::new(false), &mut |_| {}).0.result
}

#[test]
fn a_stall_that_outlasts_the_run_is_doubted_since_no_latency_has_it() {
    let from = |start_s, duration_s| {
        vec![Stall { start: Nanos::from_secs_f64(start_s), duration: Nanos::from_secs_f64(duration_s) }]
    };
    let result = with_stalls(from(8.0, 3.0));
    assert!(!result.valid);
    let [Doubt::Unanswered { waiting, arrivals, oldest_ns, response_ns_p99 }] = result.doubts[..] else {
        panic!("{:?}", result.doubts)
    };
    assert_eq!(arrivals, result.ending.submitted);
    assert_eq!(waiting, result.ending.drained);
    assert!((500..=700).contains(&waiting), "2 s at 300/s: {waiting}");
    assert!((2_900_000_000..=3_020_000_000).contains(&oldest_ns), "the whole stall: {oldest_ns}");
    assert!(response_ns_p99 < 21_000_000, "{response_ns_p99}");
    // One that is over before the end is in the latencies, and a short one at the end moves no p99.
    for stalls in [vec![], from(5.0, 3.0), from(9.95, 0.1)] {
        let result = with_stalls(stalls);
        assert!(result.valid, "{:?}", result.doubts);
    }
}

/// An M/M/4 at 70 % for three seconds: what is in flight at the end waits long now and then, by chance.
#[test]
fn what_is_in_flight_at_any_end_is_no_stall() {
    for seed in 0..50 {
        let mut plan = plan(mix(vec![reads_4k()], open(280.0, Process::Poisson, 1024)), 1, 3.0);
        plan.seed = seed;
        let clock = VirtualClock::default();
        let device = QueueingDevice::new(clock.clone(), 4, Nanos(10_000_000), 1024, seed);
        let run = VirtualRun::new(plan, &[], device, clock).unwrap();
        let (finished, _) = run.run(0, &AtomicBool::new(false), &mut |_| {});
        assert_eq!(finished.result.doubts, [], "seed {seed}");
    }
}

#[test]
fn a_queue_that_grows_to_the_end_is_doubted_also_where_there_is_room_for_it() {
    let (result, _) = simulate(plan(mix(vec![reads_4k()], open(1_200.0, Process::Poisson, 32_768)), 1, 10.0), &[], 1);
    assert_eq!(result.ending.unsent, 0);
    assert!(matches!(result.doubts[..], [Doubt::Unanswered { .. }]), "{:?}", result.doubts);
}

#[test]
fn a_load_that_takes_no_time_ends_in_words_and_not_never() {
    let plan = plan(mix(vec![reads_4k()], closed(4)), 1, 1.0);
    let clock = VirtualClock::default();
    let device = QueueingDevice::new(clock.clone(), 4, Nanos::ZERO, 4, 7);
    let run = VirtualRun::new(plan, &[], device, clock).unwrap();
    let (finished, _) = run.run(0, &AtomicBool::new(false), &mut |_| {});
    let error = finished.error.expect("time stands still").to_string();
    assert!(error.contains("were done at one instant"), "{error}");
    assert!(error.contains("cost_per_op"), "{error}");
}
