//! A device that is an io_uring.
//!
//! One thread submits and reaps, so the ring is told so (`SINGLE_ISSUER`, `DEFER_TASKRUN`, Linux 6.1); kernels without
//! these flags get a plain ring. Files and, if the limit on locked memory allows, buffers are registered. Each wait is
//! one system call that submits everything, sleeps until a completion or a time (`EXT_ARG`, Linux 5.11), and finds all
//! completions. It never spins: on a shared machine spinning takes the CPU that the completion needs.
//!
//! Waits do not set a timer each: a timer of the ring (`IORING_OP_TIMEOUT`) covers all waits that end after it, and is
//! set again only when it has fired, so that there is never more than one. In a closed loop that is ten times a second,
//! in an open one once per arrival, where a timer per wait would be set and taken back at each completion. Very short
//! waits have timers of their own, and so have those of an open loop whose target works within the call: there the
//! kernel sets a timer only if it has to sleep.
//!
//! Of completions that are found together only a few are taken at a time, so that their successors are on their way
//! before those of the others are prepared: what one call brings together, the kernel starts at the call's end, and
//! storage that works by itself would stand still until then.
//!
//! Where the kernel hands I/Os to a thread of its own, completions are taken one at a time, and the successor is sent before
//! the next is looked at: that thread does one I/O after the other, runs dry while several are prepared for one call, and
//! has to be woken. What that brings is in docs/speed.md.
//!
//! Flushes are those of the ring, too; the kernel does each in a thread of its own (io_uring/sync.c, `REQ_F_FORCE_ASYNC`),
//! which is expected and no reason for threads of ours. How many it does at a time is raised for streams that flush.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use io_uring::squeue::Entry;
use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{IoUring, opcode};
use storscope_device::{Clock, Completion, Device, DeviceError, FlushRequest, Request};
use storscope_types::Nanos;

use super::arena::Arena;
use super::entrance::Entrance;
use super::entries::Entries;
use super::target::Opened;
use super::threads::MOST_THREADS;

/// A completion queue has 65,536 entries at most (<linux/io_uring.h>, `IORING_MAX_CQ_ENTRIES`), two for each I/O.
pub const MOST_IN_A_RING: usize = 32_768;
/// More entries would only make larger system calls.
const MOST_SUBMISSIONS: u32 = 4096;
/// Waits at least this long use the ring's timer...
const LONG_WAIT: Nanos = Nanos::from_millis(5);
/// ...and so do those of this length if the target does not work within the call.
const MIDDLING_WAIT: Nanos = Nanos(50_000);
/// Calls that submit something and come back within this time did not sleep, or hardly.
const PROMPT: Nanos = Nanos(20_000);
/// So many completions are taken at a time from targets that work by themselves. On a loop device 4 gave most IOPS at the
/// least CPU; 2 to 8 are close.
const MOST_TAKEN: usize = 4;
/// The timer's token: no request's.
const TICK: u64 = u64::MAX;
/// How long we wait for I/Os in flight before their memory is given up.
const PATIENCE: Nanos = Nanos::from_millis(30_000);

/// Files, block devices and no-ops through an io_uring.
pub struct UringDevice<C: Clock> {
    entrance: Entrance,
    ring: IoUring,
    /// Taken when the ring was full.
    pending: Vec<Entry>,
    /// With the memory of the I/Os.
    entries: Entries,
    /// Keeps the files open.
    _targets: Arc<Vec<Opened>>,
    depth: usize,
    /// In the ring.
    in_flight: usize,
    /// When the ring's timer fires; never if it is not set.
    tick_at: Nanos,
    /// The same as the kernel reads it.
    tick_instant: Box<Timespec>,
    /// Whether the last call that submitted something came back at once, as far as it was timed.
    is_prompt: bool,
    /// Whether the targets seem to do their work within the call that submits it.
    works_within_call: bool,
    /// Whether a thread of the kernel does the I/Os, and each is sent as soon as its predecessor is taken.
    feeds_thread: bool,
    clock: C,
}

impl<C: Clock> UringDevice<C> {
    /// A ring for `depth` I/Os. Call it on the thread that will use it.
    ///
    /// # Errors
    /// When the system does not allow io_uring or its use (ENOSYS, EPERM), or not one of this size (ENOMEM).
    pub fn new(targets: Arc<Vec<Opened>>, arena: Arena, depth: usize, clock: C) -> Result<Self, DeviceError> {
        let ring = build_ring(depth).map_err(|source| failed("io_uring_setup", source))?;
        if !ring.params().is_feature_ext_arg() {
            let source = io::Error::new(io::ErrorKind::Unsupported, "waiting with a timeout needs Linux 5.11");
            return Err(failed("io_uring_setup", source));
        }
        let entrance = Entrance::new(ring.as_raw_fd());
        // Some filters of containers allow a ring to be made, and forbid its use.
        entrance.send(0).map_err(|source| failed("io_uring_enter", source))?;
        let files: Vec<RawFd> = targets.iter().map(|target| target.fd().unwrap_or(-1)).collect();
        ring.submitter().register_files(&files).map_err(|source| failed("io_uring_register files", source))?;
        let pieces = arena.pieces();
        // SAFETY: the pieces are mapped until the arena is dropped, which is after the ring.
        let registered = unsafe { ring.submitter().register_buffers(&pieces) }.is_ok();
        let is_nop = targets.iter().map(|target| target.fd().is_none()).collect();
        let entries = Entries { per_piece: arena.per_piece(), arena: Some(arena), is_nop, registered };
        let pending = Vec::with_capacity(depth);
        Ok(Self {
            entrance,
            ring,
            pending,
            entries,
            _targets: targets,
            depth,
            in_flight: 0,
            tick_at: Nanos::NEVER,
            tick_instant: Box::new(Timespec::new()),
            is_prompt: true,
            works_within_call: false,
            feeds_thread: false,
            clock,
        })
    }

    /// Whether the buffers are registered: plain ones cost 0.1 to 0.3 us more per I/O.
    #[must_use]
    pub fn has_registered_buffers(&self) -> bool {
        self.entries.registered
    }

    /// Lets the kernel do as many flushes at a time as there may be, where it would do four for each CPU
    /// (io_uring/io-wq.c): others would wait, and that would count as service. If it refuses, they do.
    pub fn make_room_for_flushes(&self) {
        let bounded = self.depth.min(MOST_THREADS) as u32;
        // Zero leaves what is not bounded as it is.
        let _ = self.ring.submitter().register_iowq_max_workers(&mut [bounded, 0]);
    }

    /// Says whether the kernel hands most I/Os to threads of its own, so that each is sent at once.
    pub fn feed_threads_of_the_kernel(&mut self, is_handed_over: bool) {
        self.feeds_thread = is_handed_over;
    }

    /// Puts an entry into the ring, or keeps it for when there is room.
    #[inline(always)]
    fn push_or_keep(&mut self, entry: Entry) {
        if !self.pending.is_empty() || !self.push(&entry) {
            self.pending.push(entry);
        }
    }

    /// Puts an entry into the ring; false if that is full.
    #[inline(always)]
    fn push(&mut self, entry: &Entry) -> bool {
        // SAFETY: file and memory of the entry live until its completion: both are ours, and our drop waits.
        let pushed = unsafe { self.ring.submission().push(entry) }.is_ok();
        self.in_flight += usize::from(pushed);
        pushed
    }

    /// Moves what did not fit into the ring by submitting what fills it. If the kernel refuses for the moment, the rest
    /// stays for the next wait.
    #[cold]
    fn push_pending(&mut self) -> Result<(), DeviceError> {
        let mut moved = 0;
        while moved < self.pending.len() {
            let entry = self.pending[moved].clone();
            if self.push(&entry) {
                moved += 1;
                continue;
            }
            match self.ring.submit() {
                Ok(submitted) if submitted > 0 => {}
                Ok(_) => break,
                Err(error) if is_passing(&error) => break,
                Err(source) => return Err(failed("io_uring_enter", source)),
            }
        }
        self.pending.drain(..moved);
        Ok(())
    }

    /// Submits, and waits for one completion until `until` if that lies ahead, or until the ring's timer fires. Returns
    /// the instant after.
    #[inline]
    fn enter(&mut self, until: Nanos) -> Result<Nanos, DeviceError> {
        let submitted = self.ring.submission().len() as u32;
        if !self.ring.completion().is_empty() && (submitted == 0 || self.feeds_thread) {
            let outcome = if submitted == 0 { Ok(()) } else { self.entrance.send(submitted) };
            return self.passed(outcome);
        }
        if self.tick_at <= until {
            let outcome = self.entrance.wait(submitted);
            return self.passed(outcome);
        }
        let before = self.clock.now();
        let wait = until.since(before);
        let outcome = if self.set_timer(until, wait) {
            self.entrance.wait(submitted + 1)
        } else {
            // Also without time to wait: completions appear only to those who ask for one.
            self.entrance.wait_for(submitted, wait)
        };
        let after = self.passed(outcome)?;
        if submitted > 0 {
            self.is_prompt = after - before < PROMPT;
        }
        Ok(after)
    }

    /// The instant, unless the ring no longer works.
    #[inline]
    fn passed(&self, outcome: io::Result<()>) -> Result<Nanos, DeviceError> {
        match outcome {
            Err(error) if !is_passing(&error) => Err(failed("io_uring_enter", error)),
            _ => Ok(self.clock.now()),
        }
    }

    /// Sets the ring's timer to `until`, `wait` from now, if that is worth it. Says whether it did.
    fn set_timer(&mut self, until: Nanos, wait: Nanos) -> bool {
        let is_worth_it = wait >= LONG_WAIT || (wait >= MIDDLING_WAIT && !self.is_prompt);
        if self.tick_at == Nanos::NEVER && is_worth_it && self.push_timer(wait) {
            self.tick_at = until;
        }
        self.tick_at <= until
    }

    /// Puts a timer into the ring; false if that is full. It goes to the kernel with the I/Os before it, so it is set to
    /// an instant: a time would count only from when they have been started.
    fn push_timer(&mut self, wait: Nanos) -> bool {
        *self.tick_instant = timespec(monotonic_now() + wait);
        let instant: *const Timespec = &raw const *self.tick_instant;
        let entry = opcode::Timeout::new(instant).flags(TimeoutFlags::ABS).build().user_data(TICK);
        // SAFETY: the instant is boxed, outlives the ring, and stays as it is until the timer has fired.
        unsafe { self.ring.submission().push(&entry) }.is_ok()
    }

    /// Whether all in flight is still to be submitted, or to be taken.
    #[inline]
    fn nothing_under_way(&mut self) -> bool {
        let unsubmitted = self.ring.submission().len();
        unsubmitted > 0 && unsubmitted + self.ring.completion().len() >= self.in_flight
    }

    /// Submits without waiting, to see whether that is all it takes.
    #[cold]
    fn probe(&mut self) {
        // What cannot be submitted now is submitted by the wait that follows, which tells errors, too.
        let _ = self.entrance.send(self.ring.submission().len() as u32);
        self.works_within_call = self.ring.completion().len() >= self.in_flight;
        self.is_prompt = self.works_within_call;
    }

    #[inline]
    fn reap(&mut self, at: Nanos, done: &mut Vec<Completion>) {
        let before = done.len();
        let most = match (self.works_within_call, self.feeds_thread) {
            (true, _) => usize::MAX,
            (false, true) => 1,
            (false, false) => MOST_TAKEN,
        };
        for entry in self.ring.completion().take(most) {
            if entry.user_data() == TICK {
                self.tick_at = Nanos::NEVER;
                continue;
            }
            let pretended = (entry.user_data() >> 32) as i32;
            let result = if pretended > 0 && entry.result() == 0 { pretended } else { entry.result() };
            let token = entry.user_data() as u32;
            if let Some(arena) = &mut self.entries.arena {
                arena.take_back(token);
            }
            done.push(Completion { token, result, at });
        }
        self.in_flight -= done.len() - before;
        self.works_within_call &= self.in_flight == 0;
    }
}

impl<C: Clock> Device for UringDevice<C> {
    fn depth(&self) -> usize {
        self.depth
    }

    #[inline(always)]
    fn submit(&mut self, request: Request) {
        if let Some(arena) = &mut self.entries.arena {
            arena.lend(request.token, request.buffer);
        }
        let entry = self.entries.entry(&request);
        self.push_or_keep(entry);
    }

    fn flush(&mut self, flush: FlushRequest) {
        let entry = self.entries.flush_entry(&flush);
        self.push_or_keep(entry);
    }

    #[inline]
    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        if !self.pending.is_empty() {
            self.push_pending()?;
        }
        if !self.works_within_call && self.in_flight > MOST_TAKEN && self.nothing_under_way() {
            self.probe();
        }
        let before = done.len();
        loop {
            let timer_was_set = self.tick_at != Nanos::NEVER;
            let at = self.enter(until)?;
            self.reap(at, done);
            let timer_fired = timer_was_set && self.tick_at == Nanos::NEVER;
            if done.len() > before || at >= until || !timer_fired {
                return Ok(at);
            }
        }
    }

    fn buffer(&mut self, buffer: u32) -> &mut [u8] {
        self.entries.arena.as_mut().map_or(&mut [], |arena| arena.bytes(buffer))
    }
}

impl<C: Clock> Drop for UringDevice<C> {
    /// Waits for I/Os in flight, which use our memory. If the storage does not answer, the memory is leaked instead.
    fn drop(&mut self) {
        let deadline = self.clock.now() + PATIENCE;
        let mut done = Vec::new();
        self.pending.clear();
        while self.in_flight > 0 {
            if self.clock.now() > deadline || self.wait(deadline, &mut done).is_err() {
                std::mem::forget(self.entries.arena.take());
                return;
            }
        }
    }
}

fn build_ring(depth: usize) -> io::Result<IoUring> {
    // One more than the I/Os, for the timer.
    let entries = (depth as u32 + 1).min(MOST_SUBMISSIONS);
    let completions = (2 * depth as u32).max(2 * entries).next_power_of_two();
    let lean = || {
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_defer_taskrun().setup_submit_all().setup_cqsize(completions);
        builder
    };
    let plain = || IoUring::builder().setup_cqsize(completions).build(entries);
    // NO_SQARRAY (Linux 6.6) saves one look-up per I/O.
    let unless_unknown = |outcome: io::Result<IoUring>, next: &dyn Fn() -> io::Result<IoUring>| match outcome {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => next(),
        outcome => outcome,
    };
    let leanest = lean().setup_no_sqarray().build(entries);
    unless_unknown(unless_unknown(leanest, &|| lean().build(entries)), &plain)
}

/// The wait ended without a completion, or the kernel is short of memory for the moment.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN))
}

fn timespec(instant: Nanos) -> Timespec {
    Timespec::new().sec(instant.0 / 1_000_000_000).nsec((instant.0 % 1_000_000_000) as u32)
}

/// The clock that the kernel's timers go by.
fn monotonic_now() -> Nanos {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is ours and writable; this clock exists everywhere, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

fn failed(action: &'static str, source: io::Error) -> DeviceError {
    DeviceError::System { action, source }
}

#[cfg(test)]
mod tests {
    use storscope_device::{Direction, SystemClock};
    use storscope_types::{Bytes, FlushKind};

    use super::*;
    use crate::buffers::BufferPlan;

    fn no_ops(depth: usize) -> UringDevice<SystemClock> {
        let targets = Arc::new(vec![Opened::Nop { size: Bytes::from_mib(1) }]);
        let arena = Arena::new(&BufferPlan { size: 4096, reads: depth, writes: 0 }).unwrap();
        UringDevice::new(targets, arena, depth, SystemClock::start()).unwrap()
    }

    fn request(token: u32) -> Request {
        Request { token, target: 0, direction: Direction::Read, offset: 0, length: 4096, buffer: 0 }
    }

    #[test]
    fn a_wait_ends_when_it_should_and_not_before() {
        for (is_prompt, wait) in [(true, 300_000), (false, 300_000), (true, 7_000_000), (false, 10_000)] {
            let mut device = no_ops(4);
            device.is_prompt = is_prompt;
            let mut done = Vec::new();
            for _ in 0..20 {
                let until = device.clock.now() + Nanos(wait);
                let at = device.wait(until, &mut done).unwrap();
                assert!(at >= until && device.clock.now() >= at, "{} ns early", (until - at).0);
            }
            assert!(done.is_empty());
        }
    }

    #[test]
    fn what_works_within_the_call_is_taken_whole_and_the_rest_by_fours() {
        let (pipe, writer) = std::io::pipe().unwrap();
        let pipe = Opened::File { file: std::fs::File::from(std::os::fd::OwnedFd::from(pipe)), size: Bytes(1) };
        let targets = Arc::new(vec![Opened::Nop { size: Bytes::from_mib(1) }, pipe]);
        let arena = Arena::new(&BufferPlan { size: 4096, reads: 10, writes: 0 }).unwrap();
        let mut device = UringDevice::new(targets, arena, 10, SystemClock::start()).unwrap();
        let done_after = |requests: &[Request], device: &mut UringDevice<SystemClock>| {
            let mut done = Vec::new();
            requests.iter().for_each(|&request| device.submit(request));
            device.wait(device.clock.now() + Nanos::from_millis(200), &mut done).unwrap();
            done.len()
        };
        let no_ops: Vec<Request> = (0..10).map(request).collect();
        // A pipe does nothing by itself.
        let reads: Vec<Request> = no_ops.iter().map(|&no_op| Request { target: 1, ..no_op }).collect();

        assert_eq!(done_after(&no_ops, &mut device), 10);
        assert_eq!(done_after(&no_ops, &mut device), 10, "found without a call more");
        assert!(device.works_within_call);
        assert_eq!(done_after(&[no_ops[0], no_ops[1], reads[2]], &mut device), 2);
        assert!(!device.works_within_call, "a read is under way");
        assert_eq!(done_after(&reads[3..], &mut device), 0);
        drop(writer);
        assert_eq!([(); 3].map(|()| done_after(&[], &mut device)), [4, 4, 0], "the end of the pipe");

        // One that took long does not make them be taken by fours for ever.
        assert_eq!(done_after(&no_ops, &mut device), 10);
        device.works_within_call = false;
        assert_eq!(done_after(&[], &mut device), 0);
        for request in &no_ops {
            device.submit(*request);
        }
        let _ = device.entrance.wait(10);
        assert_eq!(done_after(&[], &mut device), 4, "they lie there");
        assert_eq!(done_after(&no_ops[..4], &mut device), 10, "all that is in flight was done or not begun");
    }

    #[test]
    fn a_thread_of_the_kernel_is_fed_one_by_one() {
        let mut device = no_ops(10);
        device.feed_threads_of_the_kernel(true);
        let (mut done, until) = (Vec::new(), device.clock.now() + Nanos::from_millis(10_000));
        (0..3).for_each(|token| device.submit(request(token)));
        for taken in 1..=5 {
            device.wait(until, &mut done).unwrap();
            assert_eq!(done.len(), taken);
            assert_eq!(device.ring.submission().len(), 0, "sent, though others lay there");
            device.submit(request(2 + taken as u32));
        }
        device.feed_threads_of_the_kernel(false);
        device.wait(until, &mut done).unwrap();
        assert_eq!(done.len(), 8, "others are taken together");
    }

    /// A timer per wait costs a microsecond and more on virtual machines.
    #[test]
    fn there_is_room_for_the_timer_beside_a_full_queue() {
        for depth in [1, 2, 7, 32] {
            let mut device = no_ops(depth);
            let until = device.clock.now() + Nanos::from_millis(10_000);
            // The first time it is seen that this works within the call, which needs no timer.
            for _ in 0..2 {
                let mut done = Vec::new();
                (0..depth as u32).for_each(|token| device.submit(request(token)));
                device.wait(until, &mut done).unwrap();
                assert_eq!(done.len(), depth);
            }
            assert_eq!(device.tick_at, until, "at depth {depth}");
        }
    }

    #[test]
    fn more_requests_than_the_ring_has_entries_are_all_done() {
        let depth = 3 * MOST_SUBMISSIONS as usize + 5;
        let mut device = no_ops(depth);
        let mut done = Vec::new();
        (0..depth as u32).for_each(|token| device.submit(request(token)));
        let until = device.clock.now() + Nanos::from_millis(10_000);
        while done.len() < depth {
            device.wait(until, &mut done).unwrap();
            assert!(device.clock.now() < until, "{} of {depth} done", done.len());
        }
        let mut tokens: Vec<u32> = done.iter().map(|completion| completion.token).collect();
        tokens.sort_unstable();
        assert!(tokens.iter().copied().eq(0..depth as u32));
    }

    /// A pipe has nothing to flush, which only the kernel's own flush can know.
    #[test]
    fn flushes_are_the_kernels_and_say_how_they_went() {
        let (pipe, _writer) = std::io::pipe().unwrap();
        let pipe = Opened::File { file: std::fs::File::from(std::os::fd::OwnedFd::from(pipe)), size: Bytes(1) };
        let file = Opened::File { file: tempfile::tempfile().unwrap(), size: Bytes(1) };
        let targets = Arc::new(vec![pipe, file, Opened::Nop { size: Bytes(1) }]);
        let arena = Arena::new(&BufferPlan { size: 4096, reads: 6, writes: 0 }).unwrap();
        let mut device = UringDevice::new(targets, arena, 6, SystemClock::start()).unwrap();
        device.make_room_for_flushes();
        for (kind, first) in [(FlushKind::Data, 0), (FlushKind::Full, 3)] {
            (0..3).for_each(|target| device.flush(FlushRequest { token: first + target, target, kind }));
        }
        let (mut done, until) = (Vec::new(), device.clock.now() + Nanos::from_millis(10_000));
        while done.len() < 6 {
            device.wait(until, &mut done).unwrap();
            assert!(device.clock.now() < until, "{} of 6 done", done.len());
        }
        done.sort_unstable_by_key(|completion| completion.token);
        let results: Vec<i32> = done.iter().map(|completion| completion.result).collect();
        assert_eq!(results, [-libc::EINVAL, 0, 0, -libc::EINVAL, 0, 0]);
    }

    /// What a ring holds open is let go at its end, not at the thread's.
    #[test]
    fn a_dropped_ring_is_no_longer_registered() {
        // A thread has room for 16 registered rings.
        for _ in 0..40 {
            assert!(no_ops(1).entrance.is_registered());
        }
    }
}
