//! Which engine does a stream's I/Os on these targets: tried before the run.
//!
//! A ring is the better engine where the kernel does its I/Os itself. File systems may do reads at once and hand writes to
//! threads, or the reverse, so directions are tried apart. Where some are handed over, it depends: a thread of ours that
//! does one I/O at a time is twenty times as quick as a ring whose kernel thread must be woken for each; writes to one
//! file by the dozen wait for each other in any case, and a kernel thread that does them in a row does twice as many as
//! threads that hand the file to each other. So both are tried then, and the mean response decides, that of a closed loop
//! being its depth by its rate (Little's law).
//! Flushes are left out: the kernel hands those of a ring to a thread always (io_uring/sync.c, `REQ_F_FORCE_ASYNC`).

use std::sync::atomic::AtomicBool;

use storscope_device::{Clock, Device};
use storscope_types::{Access, AccessSpec, Bytes, Nanos, Stream, Workload};

use crate::error::LoadError;
use crate::generator::{Generator, fill_pool};
use crate::system::PuntWatch;
use crate::task::{Limit, Task};

/// How long each direction is tried, and with how many I/Os.
const LONGEST: Nanos = Nanos::from_millis(200);
const MOST_IOS: u64 = 256;
/// Bytes a direction may move, unless so few I/Os would say nothing.
const MOST_BYTES: Bytes = Bytes::from_mib(16);
/// An engine is timed longer: what it does in a few milliseconds differs by half.
const MOST_TIMED_IOS: u64 = 16_384;
const MOST_TIMED_BYTES: Bytes = Bytes::from_mib(64);
/// And several times, since a disturbance makes one of them slow.
const TIMES: usize = 3;
const LEAST_IOS: u64 = 8;
/// Draws of the trial differ from the run's.
const SEED: u64 = 0x0074_7269_616c;

/// Tries the device with I/Os of the task. Returns it, and the share of them that the kernel hands to threads.
///
/// # Errors
/// What ends the trial: the run draws other I/Os, so it need not show there again.
pub(crate) fn handed_over<D: Device, C: Clock + Clone>(
    mut device: D,
    clock: &C,
    task: &Task<'_>,
    stop: &AtomicBool,
) -> Result<(D, f64), LoadError> {
    let mut handed_over = 0.0;
    for (stream, share) in directions(&unflushed(task)) {
        let watch = PuntWatch::begin();
        let tried;
        (device, tried) = try_out(device, clock, task, stream, (MOST_IOS, MOST_BYTES), stop)?;
        handed_over += if watch.handed_over(tried.completed) { share } else { 0.0 };
    }
    Ok((device, handed_over))
}

/// The mean response of the task's I/Os on the device, of several trials the least. None if no I/O was completed.
///
/// # Errors
/// As [`handed_over`].
pub(crate) fn response<D: Device, C: Clock + Clone>(
    mut device: D,
    clock: &C,
    task: &Task<'_>,
    stop: &AtomicBool,
) -> Result<Option<Nanos>, LoadError> {
    let mut least = None;
    for _ in 0..TIMES {
        let tried;
        (device, tried) = try_out(device, clock, task, unflushed(task), (MOST_TIMED_IOS, MOST_TIMED_BYTES), stop)?;
        let mean = tried.response_ns.checked_div(u128::from(tried.completed)).map(|mean| Nanos(mean as u64));
        least = [least, mean].into_iter().flatten().min();
    }
    Ok(least)
}

/// What a trial counted.
struct Tried {
    completed: u64,
    /// Of all of them together.
    response_ns: u128,
}

/// Runs one of the task's streams for a moment on the device, and gives that back.
fn try_out<D: Device, C: Clock + Clone>(
    mut device: D,
    clock: &C,
    task: &Task<'_>,
    stream: Stream,
    (ios, bytes): (u64, Bytes),
    stop: &AtomicBool,
) -> Result<(D, Tried), LoadError> {
    let bytes = bytes.0.max(LEAST_IOS * stream.access.largest().0);
    let mut streams = task.workload.streams.clone();
    streams[task.stream_index as usize] = stream;
    let workload = Workload { streams, ..task.workload.clone() };
    let task = Task {
        workload: &workload,
        start: clock.now(),
        limit: Limit { duration: LONGEST.min(task.limit.duration), ios, bytes },
        seed: task.seed ^ SEED,
        max_failures: u64::MAX,
        ..*task
    };
    fill_pool(&mut device, &task);
    let mut tried = Tried { completed: 0, response_ns: 0 };
    let mut trial = Generator::new(device, clock.clone(), &task);
    trial.run(stop, &mut |interval| {
        for tally in interval.cells.iter().flat_map(|cell| [&cell.reads, &cell.writes]) {
            tried.completed += tally.ios;
            tried.response_ns += tally.response.sum();
        }
    })?;
    Ok((trial.into_device(), tried))
}

fn unflushed(task: &Task<'_>) -> Stream {
    Stream { flush: None, ..task.workload.streams[task.stream_index as usize].clone() }
}

/// Streams of one direction each, and their shares of the I/Os. What replies or copies has both in one.
fn directions(stream: &Stream) -> Vec<(Stream, f64)> {
    let Access::Mix { lines } = &stream.access else { return vec![(stream.clone(), 1.0)] };
    let weight = |line: &AccessSpec| line.share * f64::from(line.burst);
    let all: f64 = lines.iter().map(weight).sum();
    let reads = lines.iter().map(|line| weight(line) * line.read_share).sum::<f64>() / all;
    if lines.iter().any(|line| line.reply > Bytes::ZERO) || !(reads > 0.0 && reads < 1.0) {
        return vec![(stream.clone(), 1.0)];
    }
    let only = |is_read: bool| {
        // All lines stay, since buffers are as large as the largest wants.
        let read_share = f64::from(u8::from(is_read));
        let has_some = |line: &AccessSpec| if is_read { line.read_share > 0.0 } else { line.read_share < 1.0 };
        let share = |line: &AccessSpec| if has_some(line) { line.share } else { 0.0 };
        let line = |line: &AccessSpec| AccessSpec { read_share, share: share(line), ..line.clone() };
        let lines = lines.iter().map(line).collect();
        Stream { access: Access::Mix { lines }, ..stream.clone() }
    };
    vec![(only(true), reads), (only(false), 1.0 - reads)]
}

#[cfg(test)]
mod tests {
    use storscope_device::{Completion, DeviceError, FlushRequest, NullDevice, Request, StallingDevice, VirtualClock};
    use storscope_types::{Flush, FlushKind, Load, Verification};

    use super::*;
    use crate::place::Span;

    /// Answers after the trial's end, with blocks that were never written.
    struct Blank {
        device: StallingDevice,
        block: [u8; 4096],
    }

    impl Device for Blank {
        fn depth(&self) -> usize {
            self.device.depth()
        }

        fn submit(&mut self, request: Request) {
            self.device.submit(request);
        }

        fn flush(&mut self, flush: FlushRequest) {
            self.device.flush(flush);
        }

        fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
            self.device.wait(until, done)
        }

        fn buffer(&mut self, _buffer: u32) -> &mut [u8] {
            &mut self.block
        }
    }

    #[test]
    fn a_wrong_block_that_comes_after_the_trials_end_is_told_at_once() {
        let clock = VirtualClock::default();
        let workload = Workload { verification: Verification::Stamps, ..Workload::of("test", stream(&[(1, 1.0, 0)])) };
        let task = task(&workload);
        let late = StallingDevice::new(clock.clone(), LONGEST + LONGEST, Vec::new(), 1);
        let device = Blank { device: late, block: [0; 4096] };
        let outcome = handed_over(device, &clock, &task, &AtomicBool::new(false));
        assert!(matches!(outcome.map(|_| ()), Err(LoadError::Mismatch { .. })));
    }

    /// Sees to it that nothing is flushed.
    struct Unflushed<D>(D);

    impl<D: Device> Device for Unflushed<D> {
        const KEEPS_DATA: bool = D::KEEPS_DATA;

        fn depth(&self) -> usize {
            self.0.depth()
        }

        fn submit(&mut self, request: Request) {
            self.0.submit(request);
        }

        fn flush(&mut self, flush: FlushRequest) {
            panic!("{flush:?}");
        }

        fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
            self.0.wait(until, done)
        }
    }

    /// The kernel hands each to a thread, so that a stream which flushes each write would never be on a ring.
    #[test]
    fn flushes_are_not_tried() {
        let clock = VirtualClock::default();
        for lines in [vec![(1, 0.0, 0)], vec![(1, 0.5, 0)], vec![(1, 0.5, 512)]] {
            let flushing = Stream { flush: Some(Flush { every: 1, kind: FlushKind::Data }), ..stream(&lines) };
            let workload = Workload::of("test", flushing);
            let task = task(&workload);
            let device = Unflushed(NullDevice::new(clock.clone(), 1));
            handed_over(device, &clock, &task, &AtomicBool::new(false)).map(|_| ()).unwrap();
        }
    }

    /// A second of its first stream on one target.
    fn task(workload: &Workload) -> Task<'_> {
        Task {
            workload,
            stream_index: 0,
            worker: 0,
            global_worker: 0,
            spans: &[Span { start: 0, length: 1 << 30 }],
            seed: 1,
            limit: Limit { duration: Nanos::SECOND, ios: u64::MAX, bytes: u64::MAX },
            interval: Nanos::SECOND,
            start: Nanos::ZERO,
            delay: Nanos::ZERO,
            max_failures: 0,
        }
    }

    fn stream(lines: &[(u32, f64, u64)]) -> Stream {
        let line = |&(burst, read_share, reply): &(u32, f64, u64)| AccessSpec {
            burst,
            read_share,
            reply: Bytes(reply),
            ..AccessSpec::random_read(Bytes::from_kib(4))
        };
        Stream::new(Access::Mix { lines: lines.iter().map(line).collect() }, Load::Closed { outstanding: 1 })
    }

    /// Read shares of the lines that each part draws from, and its share of the I/Os.
    fn parts(lines: &[(u32, f64, u64)]) -> Vec<(Vec<f64>, f64)> {
        let read_shares = |stream: Stream| match stream.access {
            Access::Mix { lines } => lines.iter().filter(|line| line.share > 0.0).map(|line| line.read_share).collect(),
            Access::Copy(_) => Vec::new(),
        };
        directions(&stream(lines)).into_iter().map(|(stream, share)| (read_shares(stream), share)).collect()
    }

    #[test]
    fn a_mix_is_tried_by_directions_and_each_counts_by_its_transfers() {
        assert_eq!(parts(&[(1, 0.75, 0)]), [(vec![1.0], 0.75), (vec![0.0], 0.25)]);
        // A burst of three reads for each write.
        assert_eq!(parts(&[(3, 1.0, 0), (1, 0.0, 0)]), [(vec![1.0], 0.75), (vec![0.0], 0.25)]);
        assert_eq!(parts(&[(1, 1.0, 0), (1, 0.5, 0)]), [(vec![1.0, 1.0], 0.75), (vec![0.0], 0.25)]);
    }

    #[test]
    fn one_direction_and_what_replies_are_tried_as_they_are() {
        assert_eq!(parts(&[(1, 0.0, 0), (2, 0.0, 0)]), [(vec![0.0, 0.0], 1.0)]);
        assert_eq!(parts(&[(1, 0.5, 512)]), [(vec![0.5], 1.0)]);
    }
}
