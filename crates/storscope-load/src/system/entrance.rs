//! io_uring_enter(2), as lean as the kernel allows it.
//!
//! The ring is registered with the kernel (`IORING_REGISTER_RING_FDS`, Linux 5.18), which saves the look-up of its
//! descriptor at each call; older kernels get the descriptor. The registration is the calling thread's.

use std::io;
use std::marker::PhantomData;
use std::os::fd::RawFd;

use storscope_types::Nanos;

// <linux/io_uring.h>
const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;
const ENTER_GETEVENTS: libc::c_uint = 1 << 0;
const ENTER_EXT_ARG: libc::c_uint = 1 << 3;
const ENTER_REGISTERED_RING: libc::c_uint = 1 << 4;

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingUpdate {
    offset: u32,
    reserved: u32,
    fd: u64,
}

/// `struct __kernel_timespec`.
#[repr(C)]
struct KernelTimespec {
    seconds: i64,
    nanos: i64,
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct GeteventsArg {
    sigmask: u64,
    sigmask_size: u32,
    min_wait_usec: u32,
    timespec: u64,
}

/// How a ring is entered on the thread that made this, which it stays on: on another one the index would be that of another
/// ring. Drop it before the ring.
#[derive(Debug)]
pub struct Entrance {
    fd: RawFd,
    /// The ring's index among those registered, if it is.
    registered: Option<RawFd>,
    /// What the kernel is called with: the index or the descriptor, and a flag that tells which.
    ring: RawFd,
    flags: libc::c_uint,
    _not_send: PhantomData<*const ()>,
}

impl Entrance {
    /// For the ring with this descriptor, on the calling thread only.
    #[must_use]
    pub fn new(fd: RawFd) -> Self {
        let mut update = RingUpdate { offset: u32::MAX, reserved: 0, fd: fd as u64 };
        // SAFETY: the kernel reads one `update`, which lives during the call, and writes the index it chose to it.
        let done = unsafe { libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_RING_FDS, &raw mut update, 1) };
        if done == 1 {
            let index = update.offset as RawFd;
            let flags = ENTER_REGISTERED_RING;
            return Self { fd, registered: Some(index), ring: index, flags, _not_send: PhantomData };
        }
        Self { fd, registered: None, ring: fd, flags: 0, _not_send: PhantomData }
    }

    /// Whether the kernel knows the ring by an index.
    #[cfg(test)]
    pub fn is_registered(&self) -> bool {
        self.registered.is_some()
    }

    /// Submits `count` entries and comes back.
    ///
    /// # Errors
    /// What the system says.
    #[inline]
    pub fn send(&self, count: u32) -> io::Result<()> {
        // SAFETY: without an argument the kernel reads nothing of ours but the ring.
        check(unsafe { libc::syscall(libc::SYS_io_uring_enter, self.ring, count, 0, self.flags, 0, 0) })
    }

    /// Submits `count` entries and waits for a completion.
    ///
    /// # Errors
    /// What the system says; ETIME is not among it.
    #[inline]
    pub fn wait(&self, count: u32) -> io::Result<()> {
        let flags = self.flags | ENTER_GETEVENTS;
        // SAFETY: without an argument the kernel reads nothing of ours but the ring.
        check(unsafe { libc::syscall(libc::SYS_io_uring_enter, self.ring, count, 1, flags, 0, 0) })
    }

    /// Submits `count` entries and waits for a completion, at most for `patience`; zero just looks.
    ///
    /// # Errors
    /// ETIME if none came, or what else the system says.
    #[inline]
    pub fn wait_for(&self, count: u32, patience: Nanos) -> io::Result<()> {
        let timespec =
            KernelTimespec { seconds: (patience.0 / 1_000_000_000) as i64, nanos: (patience.0 % 1_000_000_000) as i64 };
        let timespec = (&raw const timespec) as u64;
        let argument = GeteventsArg { sigmask: 0, sigmask_size: 0, min_wait_usec: 0, timespec };
        let flags = self.flags | ENTER_GETEVENTS | ENTER_EXT_ARG;
        let (argument, size) = (&raw const argument, size_of::<GeteventsArg>());
        // SAFETY: argument and timespec have the kernel's layout and live during the call, which only reads them.
        check(unsafe { libc::syscall(libc::SYS_io_uring_enter, self.ring, count, 1, flags, argument, size) })
    }
}

impl Drop for Entrance {
    /// A registered ring would live as long as the thread, and keep the targets open.
    fn drop(&mut self) {
        if let Some(index) = self.registered {
            let mut update = RingUpdate { offset: index as u32, reserved: 0, fd: 0 };
            // SAFETY: the kernel reads one `update`, which lives during the call.
            unsafe { libc::syscall(libc::SYS_io_uring_register, self.fd, UNREGISTER_RING_FDS, &raw mut update, 1) };
        }
    }
}

#[inline]
fn check(outcome: libc::c_long) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
