//! Makes the calling thread wake when it should, without privileges and without spinning.

/// `struct sched_attr` up to the fields of Linux 3.14 (sched_setattr(2)).
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// The least slice that the scheduler takes.
const LEAST_SLICE_NS: u64 = 100_000;

/// Timeouts end without the default slack of 50 us (prctl(2), `PR_SET_TIMERSLACK`).
pub fn end_timeouts_promptly() {
    // SAFETY: the option takes one number; 1 ns is the least.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// The scheduler gives the thread short slices: one that asks for little at a time gets it sooner than the CPU-bound
/// beside it (EEVDF, Linux 6.12). Where the system refuses, lateness is greater; it is measured, so nothing is hidden.
///
/// That is for open loops. In a closed loop nothing is due at a time, and a thread that interrupts what completes its
/// I/Os on the same CPU, as a loop device's workers do, takes them one by one: a third more CPU and longer latencies.
pub fn run_promptly() {
    let size = size_of::<SchedAttr>() as u32;
    let mut attributes = SchedAttr::default();
    // SAFETY: `attributes` is writable and `size` is its size; 0 is the calling thread.
    let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if known == 0 && attributes.policy == libc::SCHED_OTHER as u32 {
        attributes.size = size;
        attributes.runtime_ns = LEAST_SLICE_NS;
        // SAFETY: the kernel only reads `attributes`, which lives during the call; 0 is the calling thread.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }
}
