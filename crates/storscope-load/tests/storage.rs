//! Runs on scratch files, the same on a ring and on threads.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use storscope_load::{Doubt, Engine, Finished, Interval, LoadError, News, Plan, Run, TargetSpec};
use storscope_types::{
    Access, AccessSpec, Bytes, Copy, DataPool, Flush, FlushKind, Load, Nanos, Process, Stream, Verification, Workload,
};
use tempfile::NamedTempFile;

const SIZE: u64 = 8 << 20;
/// What is left are stamps of batches that were handed over while the first of them already ended.
const LITTLE: f64 = 0.01;
/// Guards against hanging alone: machines pause.
const PATIENCE: Duration = Duration::from_secs(120);
const ENGINES: [(Engine, &str); 2] = [(Engine::IoUring, "io_uring"), (Engine::Threads, "threads")];

/// A written file; /var/tmp is on a real file system where /tmp may not be.
fn scratch(bytes: u64) -> NamedTempFile {
    let mut file = tempfile::Builder::new().prefix("storscope-test").tempfile_in("/var/tmp").unwrap();
    file.write_all(&vec![0xA5; bytes as usize]).unwrap();
    file.as_file().sync_all().unwrap();
    file
}

fn path_of(file: &NamedTempFile, direct: bool) -> TargetSpec {
    TargetSpec::Path { path: file.path().to_owned(), direct }
}

fn plan(lines: Vec<AccessSpec>, load: Load, target: TargetSpec, engine: Engine) -> Plan {
    Plan {
        workload: Workload::of("test", Stream::new(Access::Mix { lines }, load)),
        targets: vec![target],
        engine,
        seed: 1,
        duration: Some(Nanos::from_millis(300)),
        max_ios_per_worker: None,
        max_bytes_per_worker: None,
        interval: Nanos::from_millis(100),
        max_failures: 0,
        held: false,
    }
}

fn reads_4k() -> AccessSpec {
    AccessSpec::random_read(Bytes::from_kib(4))
}

fn sequential_writes() -> AccessSpec {
    AccessSpec { read_share: 0.0, random_share: 0.0, ..reads_4k() }
}

fn closed(outstanding: u32) -> Load {
    Load::Closed { outstanding }
}

fn execute(plan: Plan) -> (Vec<Interval>, Finished) {
    let mut run = Run::start(plan).unwrap();
    let mut intervals = Vec::new();
    loop {
        match run.next(PATIENCE) {
            News::Interval(interval) => intervals.push(*interval),
            News::Pending => panic!("no interval in {PATIENCE:?}"),
            News::Finished => return (intervals, run.finish()),
        }
    }
}

fn without_error(finished: Finished) -> storscope_load::RunResult {
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let ending = finished.result.ending;
    assert_eq!(ending.submitted, ending.completed + ending.failed, "conservation");
    finished.result
}

/// The whole region once from front to back, so that every block carries its stamp.
fn prefill(file: &NamedTempFile, data: DataPool, engine: Engine) {
    let mut plan = plan(vec![sequential_writes()], closed(8), path_of(file, false), engine);
    plan.workload.data = data;
    (plan.duration, plan.max_bytes_per_worker) = (None, Some(Bytes(SIZE)));
    let result = without_error(execute(plan).1);
    assert_eq!(result.total.all().bytes, SIZE);
}

fn verifying(file: &NamedTempFile, read_share: f64, data: DataPool, engine: Engine) -> Plan {
    let mut plan = plan(vec![AccessSpec { read_share, ..reads_4k() }], closed(8), path_of(file, false), engine);
    (plan.workload.data, plan.workload.verification) = (data, Verification::Stamps);
    plan
}

fn unix_ns() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
}

#[test]
fn intervals_come_while_the_run_goes_on_and_add_up_to_the_total() {
    let file = scratch(SIZE);
    for (engine, name) in ENGINES {
        for outstanding in [1, 16] {
            let plan = plan(vec![reads_4k()], closed(outstanding), path_of(&file, false), engine);
            let before = unix_ns();
            let (intervals, finished) = execute(plan);
            let after = unix_ns();
            let result = without_error(finished);
            assert_eq!(intervals.len(), 3);
            assert_eq!(intervals.iter().map(Interval::ios).sum::<u64>(), result.total.ios());
            assert_eq!(result.total.duration, Nanos::from_millis(300));
            assert_eq!(result.engines[0].engine, name);
            let parts = [&result.total, &result.drain];
            let area: f64 = parts.iter().map(|part| part.outstanding_mean * part.duration.0 as f64).sum();
            let service: f64 = parts.iter().map(|part| part.all().service.sum() as f64).sum();
            assert!((area / service - 1.0).abs() < LITTLE, "{name}: Little's law: {area} and {service}");
            assert!(result.total.usage.cpu() > Nanos::ZERO);
            let start = u128::from(result.started_unix_ns);
            let end = start + u128::from(result.total.duration.0);
            assert!(before <= start && end <= after, "{start} to {end}, within {before} to {after}");
        }
    }
}

#[test]
fn what_is_written_verifies_and_mixed_runs_keep_it_so() {
    for (engine, _) in ENGINES {
        for data in [
            DataPool::default(),
            DataPool { duplicate_ratio: 0.5, compressible_ratio: 0.5, seed: 9, ..DataPool::default() },
        ] {
            let file = scratch(SIZE);
            prefill(&file, data, engine);
            let mixed = without_error(execute(verifying(&file, 0.5, data, engine)).1);
            assert!(mixed.total.cells[0].reads.ios > 100 && mixed.total.cells[0].writes.ios > 100);
            without_error(execute(verifying(&file, 1.0, data, engine)).1);
        }
    }
}

#[test]
fn a_changed_block_is_found_and_named() {
    let file = scratch(SIZE);
    for (engine, _) in ENGINES {
        prefill(&file, DataPool::default(), engine);
        file.as_file().write_all_at(&[0; 4096], 40 * 4096).unwrap();
        let mut block = [0; 4096];
        file.as_file().read_exact_at(&mut block, 7 * 4096).unwrap();
        for (at, content, expected) in
            [(40, [0; 4096], "holds zeros"), (41, block, "carries that of byte 28,672 of target 0")]
        {
            prefill(&file, DataPool::default(), engine);
            file.as_file().write_all_at(&content, at * 4096).unwrap();
            let mut plan = verifying(&file, 1.0, DataPool::default(), engine);
            plan.duration = Some(Nanos::from_secs_f64(20.0));
            match execute(plan).1.error {
                Some(LoadError::Mismatch { target: 0, offset, found }) => {
                    assert_eq!(offset, at * 4096);
                    assert!(found.contains(expected), "{found}");
                }
                other => panic!("expected a mismatch, found {other:?}"),
            }
        }
    }
}

#[test]
fn the_pool_compresses_and_repeats_as_asked() {
    let data = DataPool { compressible_ratio: 0.25, duplicate_ratio: 0.4, ..DataPool::default() };
    let file = scratch(SIZE);
    prefill(&file, data, Engine::IoUring);
    let mut content = Vec::new();
    File::open(file.path()).unwrap().read_to_end(&mut content).unwrap();
    let zeros = content.iter().filter(|&&byte| byte == 0).count() as f64 / content.len() as f64;
    assert!((zeros - 0.254).abs() < 0.005, "a quarter and 1/256 of the rest are zeros, not {zeros}");
    let mut seen = std::collections::HashMap::new();
    content.chunks(4096).for_each(|block| *seen.entry(block).or_insert(0) += 1);
    let repeated: usize = seen.values().filter(|&&count| count > 1).sum();
    let share = repeated as f64 / (SIZE / 4096) as f64;
    assert!((share - 0.4).abs() < 0.04, "{share} of the blocks repeat");
    assert!(seen.values().filter(|&&count| count > 1).count() <= 64);
}

#[test]
fn a_copy_copies() {
    for (engine, _) in ENGINES {
        let (source, destination) = (scratch(SIZE), scratch(2 * SIZE));
        let pattern: Vec<u8> = (0..SIZE).map(|index| (index * 7 / 4096) as u8 ^ index as u8).collect();
        source.as_file().write_all_at(&pattern, 0).unwrap();
        let copy = Copy { size: Bytes(65_536), destination: 1, destination_start: Bytes(SIZE), random_share: 0.0 };
        let mut plan = plan(vec![reads_4k()], closed(4), path_of(&source, false), engine);
        plan.targets.push(path_of(&destination, false));
        let stream = Stream { targets: vec![0], ..Stream::new(Access::Copy(copy), closed(4)) };
        plan.workload = Workload::of("copy", stream);
        plan.max_bytes_per_worker = Some(Bytes(SIZE));
        plan.duration = None;
        without_error(execute(plan).1);
        let mut copied = vec![0; SIZE as usize];
        destination.as_file().read_exact_at(&mut copied, SIZE).unwrap();
        assert!(copied == pattern, "the copy differs");
    }
}

#[test]
fn flushes_follow_the_writes_on_both_engines_whatever_ends_the_run() {
    for (engine, name) in ENGINES {
        for (every, outstanding, direct) in [(1, 1, true), (3, 1, false), (2, 8, true)] {
            let file = scratch(SIZE);
            let line = AccessSpec { read_share: 0.25, ..sequential_writes() };
            let mut plan = plan(vec![line], closed(outstanding), path_of(&file, direct), engine);
            plan.workload.streams[0].flush = Some(Flush { every, kind: FlushKind::Data });
            (plan.duration, plan.max_ios_per_worker) = (None, Some(60));
            let result = without_error(execute(plan).1);
            let (writes, flushes) = (result.total.cells[0].writes.ios, result.total.flushes());
            assert_eq!((result.engines[0].engine, result.total.ios()), (name, 60));
            assert_eq!((flushes.ios, flushes.bytes), (writes / u64::from(every), 0));
            assert_eq!(
                [&flushes.response, &flushes.service, &flushes.lateness].map(|times| times.count()),
                [flushes.ios; 3]
            );
        }
    }
}

#[test]
fn a_read_only_run_opens_the_target_read_only_and_leaves_it_alone() {
    let file = scratch(SIZE);
    let mut permissions = file.as_file().metadata().unwrap().permissions();
    permissions.set_readonly(true);
    file.as_file().set_permissions(permissions).unwrap();
    let before = file.as_file().metadata().unwrap().modified().unwrap();
    without_error(execute(plan(vec![reads_4k()], closed(4), path_of(&file, true), Engine::Auto)).1);
    assert_eq!(file.as_file().metadata().unwrap().modified().unwrap(), before);
    let mut content = Vec::new();
    File::open(file.path()).unwrap().read_to_end(&mut content).unwrap();
    assert!(content.iter().all(|&byte| byte == 0xA5));
}

/// Buffered writes are handed over by some file systems, so that which engine is better has to be tried.
#[test]
fn all_workers_of_a_stream_have_one_engine_and_give_the_same_reason() {
    let file = scratch(SIZE);
    let writes = AccessSpec { read_share: 0.0, ..reads_4k() };
    let mut plan = plan(vec![writes], closed(2), path_of(&file, false), Engine::Auto);
    plan.workload.streams[0].workers = 4;
    let result = without_error(execute(plan).1);
    assert_eq!(result.engines.len(), 1, "{:?}", result.engines);
    assert!(result.total.ios() > 0);
}

#[test]
fn a_descriptor_of_the_caller_can_be_a_target_and_stays_open() {
    let file = scratch(SIZE);
    let target = TargetSpec::Fd { fd: file.as_file().as_raw_fd() };
    let result = without_error(execute(plan(vec![reads_4k()], closed(4), target, Engine::Auto)).1);
    assert!(result.total.ios() > 0);
    let mut byte = [0];
    file.as_file().read_exact_at(&mut byte, 0).unwrap();
}

#[test]
fn failed_ios_are_counted_by_errno_and_end_the_run_when_there_are_too_many() {
    let file = scratch(SIZE);
    for (engine, _) in ENGINES {
        // The descriptor is for reading only, so every write fails with EBADF.
        let reader = File::open(file.path()).unwrap();
        let target = TargetSpec::Fd { fd: reader.as_raw_fd() };
        let line = AccessSpec { read_share: 0.5, ..reads_4k() };
        let mut plan = plan(vec![line], closed(4), target, engine);
        plan.max_failures = 10;
        let finished = execute(plan).1;
        assert!(
            matches!(finished.error, Some(LoadError::Failed { failed: 11, allowed: 10, .. })),
            "{:?}",
            finished.error
        );
        assert_eq!(finished.result.total.failures[0].errno, 9);
        assert_eq!(finished.result.total.failed(), 11);
        assert!(finished.result.doubts.contains(&Doubt::Failures { failed: 11 }));
    }
}

#[test]
fn several_workers_and_streams_are_put_together_interval_by_interval() {
    let file = scratch(SIZE);
    for (engine, _) in ENGINES {
        let mut plan = plan(vec![reads_4k()], closed(4), path_of(&file, false), engine);
        plan.workload.streams[0].workers = 3;
        let lines = vec![sequential_writes()];
        plan.workload.streams.push(Stream::new(
            Access::Mix { lines },
            Load::Open { rate_per_s: 1_000.0, process: Process::Fixed, max_outstanding: 64 },
        ));
        let (intervals, finished) = execute(plan);
        let result = without_error(finished);
        assert_eq!(intervals.len(), 3);
        assert!(
            intervals.iter().all(|interval| interval.cells.len() == 2 && interval.duration == Nanos::from_millis(100))
        );
        // What was in flight at the end is of either stream; on a busy machine some of the arrivals are not sent.
        let writes = result.total.cells.iter().find(|cell| cell.stream == 1).unwrap().writes.ios;
        let (drained, unsent) = (result.ending.drained, result.ending.unsent);
        assert!(writes <= 301 && writes + unsent + drained >= 299, "{writes} and {unsent} at 1,000/s in 0.3 s");
        assert_eq!(result.total.offered_per_s, Some(1_000.0));
    }
}

#[test]
fn a_stop_ends_soon_with_what_was_measured() {
    let file = scratch(SIZE);
    let mut plan = plan(vec![reads_4k()], closed(4), path_of(&file, false), Engine::Auto);
    plan.duration = Some(Nanos::from_secs_f64(3_600.0));
    let mut run = Run::start(plan).unwrap();
    assert!(matches!(run.next(PATIENCE), News::Interval(_)));
    let stopped = Instant::now();
    run.stop();
    let result = without_error(run.finish());
    assert!(stopped.elapsed() < Duration::from_secs(30), "soon beside an hour, also on a machine that pauses");
    assert!(result.total.ios() > 0);
}

#[test]
fn the_same_rate_is_kept_on_both_engines_and_lateness_is_small_beside_a_second() {
    let file = scratch(SIZE);
    for (engine, name) in ENGINES {
        let load = Load::Open { rate_per_s: 2_000.0, process: Process::Fixed, max_outstanding: 128 };
        let mut plan = plan(vec![reads_4k()], load, path_of(&file, false), engine);
        plan.duration = Some(Nanos::SECOND);
        let result = without_error(execute(plan).1);
        let ending = result.ending;
        assert_eq!(ending.submitted + ending.unsent, 2_000, "{name}");
        assert_eq!(result.total.all().response.count() + ending.drained, ending.submitted, "{name}");
        // Where the machine pauses near the end, that less was in time is told.
        assert!(result.total.all().response.count() >= 1_900 || !result.doubts.is_empty(), "{name}: {ending:?}");
    }
}

/// What is done is replaced before the rest is prepared, so that neither the device nor the queue runs empty. The best of
/// a few runs, as other work on the machine takes places, too.
#[test]
fn a_deep_queue_stays_full() {
    let file = scratch(SIZE);
    let full = |_| {
        let result = without_error(execute(plan(vec![reads_4k()], closed(32), path_of(&file, true), Engine::Auto)).1);
        result.total.outstanding_mean
    };
    let most = (0..5).map(full).fold(0.0, f64::max);
    assert!(most > 31.0, "{most} of 32 places taken");
}

/// Reading should not write to the file system, not even the time of the reading.
#[test]
fn the_access_time_of_ours_is_left_alone() {
    let file = scratch(SIZE);
    // SAFETY: the file is open.
    let flags = || unsafe { libc::fcntl(file.as_file().as_raw_fd(), libc::F_GETFL) };
    assert_eq!(flags() & libc::O_NOATIME, 0);
    let target = TargetSpec::Fd { fd: file.as_file().as_raw_fd() };
    without_error(execute(plan(vec![reads_4k()], closed(2), target, Engine::Auto)).1);
    assert_eq!(flags() & libc::O_NOATIME, libc::O_NOATIME);
}

#[test]
fn a_plan_that_cannot_run_is_refused_before_anything_is_opened() {
    let target = TargetSpec::Path { path: "/var/tmp/storscope-does-not-exist".into(), direct: false };
    let refused = Run::start(plan(vec![], closed(1), target.clone(), Engine::Auto));
    assert!(matches!(refused, Err(LoadError::Workload(_))));
    let missing = Run::start(plan(vec![reads_4k()], closed(1), target, Engine::Auto));
    assert!(matches!(missing, Err(LoadError::Open { .. })));
    let file = scratch(4096);
    let mut too_far = plan(vec![reads_4k()], closed(1), path_of(&file, false), Engine::Auto);
    too_far.workload.streams[0].region.start = Bytes(4096);
    let mut too_large = plan(vec![reads_4k()], closed(1), path_of(&file, false), Engine::Auto);
    let line = AccessSpec { read_share: 0.0, size: Bytes::from_mib(512), ..reads_4k() };
    too_large.workload.streams[0] = Stream::new(Access::Mix { lines: vec![line] }, closed(64));
    let message = Run::start(too_large).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("MiB of them"), "{message}");
    let message = Run::start(too_far).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("streams[0].region"), "{message}");
}

#[test]
fn more_outstanding_than_threads_is_refused_in_a_closed_loop_and_said_in_an_open_one() {
    let file = scratch(SIZE);
    let message = |plan| Run::start(plan).map(|_| ()).unwrap_err().to_string();
    let deep = plan(vec![reads_4k()], closed(257), path_of(&file, false), Engine::Threads);
    let expected = "plan: workload.streams[0].load.outstanding: expected at most 256 I/Os per worker on all targets";
    assert!(message(deep.clone()).starts_with(expected), "{}", message(deep));
    let load = |max_outstanding| Load::Open { rate_per_s: 500.0, process: Process::Fixed, max_outstanding };
    for (max_outstanding, is_said) in [(256, false), (257, true)] {
        let plan = plan(vec![reads_4k()], load(max_outstanding), path_of(&file, false), Engine::Threads);
        let result = without_error(execute(plan).1);
        let reason = result.engines[0].reason.clone().unwrap_or_default();
        assert_eq!(reason.contains("at most 256 I/Os are under way"), is_said, "{reason:?}");
    }
}

#[test]
fn a_plan_round_trips_through_json() {
    let file = scratch(4096);
    let plan = plan(vec![reads_4k()], closed(3), path_of(&file, true), Engine::Threads);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

/// Trials of the engine are over when the run says that it is ready: what the target counts from there on is the run's.
#[test]
fn a_run_that_is_held_makes_no_io_until_it_may_begin() {
    let file = scratch(SIZE);
    let write = AccessSpec { read_share: 0.0, ..reads_4k() };
    let held = Plan { held: true, ..plan(vec![write], closed(4), path_of(&file, false), Engine::Auto) };
    let mut run = Run::start(held).unwrap();
    while !run.is_ready() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let content = || std::fs::read(file.path()).unwrap();
    let before = content();
    assert!(matches!(run.next(Duration::from_millis(50)), News::Pending));
    assert_eq!(run.started_unix_ns(), None);
    assert!(before == content(), "nothing was written meanwhile");
    run.begin();
    let result = without_error(run.finish());
    assert!(result.total.ios() > 0);
    assert!(before != content());
}

#[test]
fn a_run_that_is_held_can_be_stopped_or_given_up() {
    let file = scratch(SIZE);
    let held = || Plan { held: true, ..plan(vec![reads_4k()], closed(1), path_of(&file, false), Engine::Auto) };
    let run = Run::start(held()).unwrap();
    run.stop();
    assert_eq!(without_error(run.finish()).total.ios(), 0);
    drop(Run::start(held()).unwrap());
}

#[test]
fn directions_of_unlike_sizes_are_tried_apart_before_the_run() {
    let file = scratch(SIZE);
    let large_reads = AccessSpec { size: Bytes::from_kib(256), ..reads_4k() };
    let small_writes = AccessSpec { read_share: 0.0, ..reads_4k() };
    for lines in [vec![large_reads.clone(), small_writes.clone()], vec![small_writes, large_reads]] {
        let (_, finished) = execute(plan(lines, closed(70), path_of(&file, true), Engine::Auto));
        assert!(finished.error.is_none(), "{:?}", finished.error);
        let cell = &finished.result.total.cells[0];
        assert!(cell.reads.ios > 0 && cell.writes.ios > 0);
    }
}
