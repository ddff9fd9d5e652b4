//! Whether the kernel hands a ring's I/Os to threads of its own.
//!
//! It does so where the target cannot say "not now" (no `FMODE_NOWAIT`: zram, some file systems' writes, old drivers).
//! An I/O that comes alone then costs two context switches.

use super::meter::{KernelWorkers, Meter};

/// Handed over when a worker was put on a CPU for more than this share of the I/Os...
const RUNS_PER_IO: f64 = 0.3;
/// ...or worked longer than this per I/O (a worker that finds more I/Os waiting goes on without a switch).
const CPU_NS_PER_IO: f64 = 500.0;
/// Fewer I/Os than this say nothing.
const LEAST_IOS: u64 = 8;

/// Watches the kernel's workers of the calling thread's rings.
#[derive(Debug)]
pub struct PuntWatch(KernelWorkers);

impl PuntWatch {
    /// Starts to count for the calling thread.
    #[must_use]
    pub fn begin() -> Self {
        Self(KernelWorkers::of_this_thread())
    }

    /// Whether the kernel handed over most of the `ios` I/Os made since. False with fewer than eight.
    #[must_use]
    pub fn handed_over(mut self, ios: u64) -> bool {
        let work = self.0.take();
        let (runs, cpu_ns) = (work.voluntary_switches as f64, work.system.0 as f64);
        ios >= LEAST_IOS && (runs > RUNS_PER_IO * ios as f64 || cpu_ns > CPU_NS_PER_IO * ios as f64)
    }
}
