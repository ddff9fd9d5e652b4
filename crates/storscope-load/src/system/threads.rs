//! A device that is a pool of threads with pread(2), pwrite(2), fdatasync(2) and fsync(2).
//!
//! For systems that do not allow io_uring, and for targets where the kernel hands I/Os of a ring to threads of its own and
//! these do worse, as with one I/O at a time. With room for one I/O it is done by the caller's thread. Threads are started
//! when needed, up to [`MOST_THREADS`]; beyond that I/Os wait in the pool, and that waiting counts as service.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use storscope_device::{Clock, Completion, Device, DeviceError, Direction, FlushRequest, Request};
use storscope_types::{FlushKind, Nanos};

use super::arena::Arena;
use super::meter::Meter;
use super::target::Opened;
use crate::error::no_thread;
use crate::usage::Usage;

/// More would only wait for the scheduler.
pub const MOST_THREADS: usize = 256;

/// A system call that is ready to be made. Until it is complete only the kernel touches the buffer.
#[derive(Debug, Clone, Copy)]
struct Call {
    token: u32,
    fd: RawFd,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Transfer { direction: Direction, offset: u64, length: u32, memory: *mut u8 },
    Flush(FlushKind),
}

// SAFETY: the memory outlives the threads, which are joined before it goes. No thread makes a reference to it: several
// calls may have the kernel write to one buffer at a time, where nobody looks at what is read.
unsafe impl Send for Call {}

#[derive(Debug, Default)]
struct Pool {
    calls: Mutex<Calls>,
    called: Condvar,
    done: Mutex<Vec<Completion>>,
    completed: Condvar,
}

#[derive(Debug, Default)]
struct Calls {
    waiting: VecDeque<Call>,
    idle: usize,
    closing: bool,
    /// What the threads used, each up to its last call.
    usage: Usage,
}

/// What the threads of a device use, for whoever no longer has the device.
#[derive(Debug)]
pub struct PoolMeter {
    pool: Arc<Pool>,
    told: Usage,
}

impl Meter for PoolMeter {
    /// Without calls that are under way.
    fn take(&mut self) -> Usage {
        let usage = lock(&self.pool.calls).usage;
        let since = usage.since(&self.told);
        self.told = usage;
        since
    }
}

/// Files and block devices through synchronous calls.
#[derive(Debug)]
pub struct ThreadedDevice<C> {
    clock: C,
    targets: Arc<Vec<Opened>>,
    arena: Arena,
    depth: usize,
    pending: Vec<Call>,
    pool: Arc<Pool>,
    threads: Vec<JoinHandle<()>>,
}

impl<C: Clock + Copy + Send + 'static> ThreadedDevice<C> {
    /// For `depth` I/Os at a time.
    #[must_use]
    pub fn new(targets: Arc<Vec<Opened>>, arena: Arena, depth: usize, clock: C) -> Self {
        let pool = Arc::new(Pool::default());
        lock(&pool.calls).waiting.reserve(depth);
        lock(&pool.done).reserve(depth);
        Self { clock, targets, arena, depth, pending: Vec::with_capacity(depth), pool, threads: Vec::new() }
    }

    /// What tells the cost of its threads.
    #[must_use]
    pub fn meter(&self) -> PoolMeter {
        PoolMeter { pool: Arc::clone(&self.pool), told: Usage::default() }
    }

    /// With one I/O at a time no thread is worth its wake-up.
    fn do_all_here(&mut self, done: &mut Vec<Completion>) {
        for call in self.pending.drain(..) {
            done.push(call.make(&self.clock));
        }
    }

    fn hand_over(&mut self) -> Result<(), DeviceError> {
        let mut calls = lock(&self.pool.calls);
        let count = self.pending.len();
        calls.waiting.extend(self.pending.drain(..));
        let missing = calls.waiting.len().saturating_sub(calls.idle);
        drop(calls);
        let room = MOST_THREADS.min(self.depth) - self.threads.len();
        let started = (0..missing.min(room)).try_for_each(|_| self.start_thread());
        (0..count).for_each(|_| self.pool.called.notify_one());
        started
    }

    fn start_thread(&mut self) -> Result<(), DeviceError> {
        let (pool, clock) = (Arc::clone(&self.pool), self.clock);
        let wanted = MOST_THREADS.min(self.depth);
        let thread = Builder::new()
            .spawn(move || work(&pool, &clock))
            .map_err(|source| no_thread("outstanding I/Os", wanted, self.threads.len(), &source))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Whether calls wait for threads that could not be started.
    fn is_stuck(&self) -> bool {
        self.threads.is_empty() && !lock(&self.pool.calls).waiting.is_empty()
    }

    fn collect(&self, until: Nanos, done: &mut Vec<Completion>) {
        let mut ready = lock(&self.pool.done);
        while ready.is_empty() {
            let left = until.since(self.clock.now());
            if left == Nanos::ZERO {
                return;
            }
            let patience = Duration::from_nanos(left.0);
            ready = self.pool.completed.wait_timeout(ready, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        done.append(&mut ready);
    }
}

impl<C: Clock + Copy + Send + 'static> Device for ThreadedDevice<C> {
    fn depth(&self) -> usize {
        self.depth
    }

    fn submit(&mut self, request: Request) {
        let fd = self.targets[request.target as usize].fd().unwrap_or(-1);
        assert!(request.length as usize <= self.arena.buffer_size(), "{} bytes do not fit", request.length);
        self.arena.lend(request.token, request.buffer);
        let Request { token, direction, offset, length, buffer, .. } = request;
        let memory = self.arena.pointer(buffer);
        self.pending.push(Call { token, fd, what: What::Transfer { direction, offset, length, memory } });
    }

    fn flush(&mut self, flush: FlushRequest) {
        let fd = self.targets[flush.target as usize].fd().unwrap_or(-1);
        self.pending.push(Call { token: flush.token, fd, what: What::Flush(flush.kind) });
    }

    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        let before = done.len();
        if self.depth == 1 && !self.pending.is_empty() {
            self.do_all_here(done);
        } else if self.depth == 1 {
            self.clock.sleep_until(until);
        } else {
            if !self.pending.is_empty() {
                self.hand_over()?;
            } else if self.is_stuck() {
                self.start_thread()?;
            }
            self.collect(until, done);
        }
        done[before..].iter().for_each(|completion| self.arena.take_back(completion.token));
        Ok(self.clock.now())
    }

    fn buffer(&mut self, buffer: u32) -> &mut [u8] {
        self.arena.bytes(buffer)
    }
}

impl<C> Drop for ThreadedDevice<C> {
    /// Calls that were made finish; those still waiting are not made.
    fn drop(&mut self) {
        let mut calls = lock(&self.pool.calls);
        calls.closing = true;
        calls.waiting.clear();
        drop(calls);
        self.pool.called.notify_all();
        for thread in self.threads.drain(..) {
            // A panicked thread holds nothing of ours any more.
            let _ = thread.join();
        }
    }
}

impl Call {
    fn make<C: Clock>(self, clock: &C) -> Completion {
        let Self { token, fd, what } = self;
        let outcome = match what {
            What::Transfer { direction, offset, length, memory } => {
                let (memory, length, offset) = (memory.cast(), length as usize, offset as libc::off_t);
                match direction {
                    // SAFETY: the memory has that many bytes, as `submit` checks, and no reference to it exists until the
                    // call is complete; that another call writes to it as well changes nothing that anybody looks at.
                    Direction::Read => unsafe { libc::pread(fd, memory, length, offset) },
                    // SAFETY: as for reading; a write's buffer is its own.
                    Direction::Write => unsafe { libc::pwrite(fd, memory, length, offset) },
                }
            }
            // SAFETY: the call takes a descriptor alone, which the targets keep open.
            What::Flush(FlushKind::Data) => (unsafe { libc::fdatasync(fd) }) as isize,
            // SAFETY: as above.
            What::Flush(FlushKind::Full) => (unsafe { libc::fsync(fd) }) as isize,
        };
        let errno = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        let result = if outcome < 0 { -errno() } else { outcome as i32 };
        Completion { token, result, at: clock.now() }
    }
}

fn work<C: Clock>(pool: &Pool, clock: &C) {
    let mut used = Usage::default();
    while let Some(call) = next_call(pool, &mut used) {
        let completion = call.make(clock);
        let mut done = lock(&pool.done);
        done.push(completion);
        let first = done.len() == 1;
        drop(done);
        if first {
            pool.completed.notify_one();
        }
    }
}

/// `used` is what the thread has told of its usage.
fn next_call(pool: &Pool, used: &mut Usage) -> Option<Call> {
    let usage = Usage::of_thread();
    let mut calls = lock(&pool.calls);
    calls.usage.add(&usage.since(used));
    *used = usage;
    loop {
        if calls.closing {
            return None;
        }
        if let Some(call) = calls.waiting.pop_front() {
            return Some(call);
        }
        calls.idle += 1;
        calls = pool.called.wait(calls).unwrap_or_else(PoisonError::into_inner);
        calls.idle -= 1;
    }
}

/// A thread that panicked cannot have left our plain data half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use storscope_device::SystemClock;
    use storscope_types::Bytes;

    use super::*;
    use crate::buffers::BufferPlan;

    /// A pipe has nothing to flush, which only the system call itself can know.
    #[test]
    fn flushes_are_system_calls_and_say_how_they_went() {
        for depth in [1, 2] {
            let (pipe, _writer) = std::io::pipe().unwrap();
            let pipe = Opened::File { file: std::fs::File::from(std::os::fd::OwnedFd::from(pipe)), size: Bytes(1) };
            let file = Opened::File { file: tempfile::tempfile().unwrap(), size: Bytes(1) };
            let arena = Arena::new(&BufferPlan { size: 4096, reads: depth, writes: 0 }).unwrap();
            let clock = SystemClock::start();
            let mut device = ThreadedDevice::new(Arc::new(vec![pipe, file]), arena, depth, clock);
            for (kind, target, result) in
                [(FlushKind::Data, 0, -libc::EINVAL), (FlushKind::Full, 0, -libc::EINVAL), (FlushKind::Data, 1, 0)]
            {
                device.flush(FlushRequest { token: 0, target, kind });
                let mut done = Vec::new();
                device.wait(clock.now() + Nanos::from_millis(10_000), &mut done).unwrap();
                assert_eq!(done.iter().map(|completion| completion.result).collect::<Vec<_>>(), [result]);
            }
        }
    }
}
