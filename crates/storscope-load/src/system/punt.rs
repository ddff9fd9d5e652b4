//! Whether the kernel hands a ring's I/Os to threads of its own.
//!
//! It does so where the target cannot say "not now" (no `FMODE_NOWAIT`: zram, some file systems' writes, old drivers).
//! Each I/O then costs two context switches, and a thread of ours would be cheaper. The kernel's threads belong to our
//! process, are named `iou-wrk-` and the id of the thread that owns the ring, and their schedstat counts how often each
//! was put on a CPU (Documentation/scheduler/sched-stats.rst).

use std::fs;

/// Handed over when a worker was put on a CPU for more than this share of the I/Os...
const RUNS_PER_IO: f64 = 0.3;
/// ...or worked longer than this per I/O (a worker that finds more I/Os waiting goes on without a switch).
const CPU_NS_PER_IO: f64 = 500.0;
/// Fewer I/Os than this say nothing.
const LEAST_IOS: u64 = 8;

/// Watches the kernel's workers of the calling thread's rings.
#[derive(Debug, Clone)]
pub struct PuntWatch {
    name: String,
    before: Work,
}

/// What kernel workers did.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    cpu_ns: u64,
    runs: u64,
}

impl PuntWatch {
    /// Starts to count for the calling thread.
    #[must_use]
    pub fn begin() -> Self {
        // SAFETY: the call has no arguments and cannot fail.
        let thread = unsafe { libc::gettid() };
        let name = format!("iou-wrk-{thread}");
        let before = work_of(&name);
        Self { name, before }
    }

    /// Whether the kernel handed over most of the `ios` I/Os made since. False with fewer than eight.
    #[must_use]
    pub fn handed_over(&self, ios: u64) -> bool {
        let work = work_of(&self.name);
        let runs = work.runs.saturating_sub(self.before.runs) as f64;
        let cpu_ns = work.cpu_ns.saturating_sub(self.before.cpu_ns) as f64;
        ios >= LEAST_IOS && (runs > RUNS_PER_IO * ios as f64 || cpu_ns > CPU_NS_PER_IO * ios as f64)
    }
}

fn work_of(name: &str) -> Work {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Work::default() };
    let of_name =
        |path: &std::path::PathBuf| fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim_end() == name);
    let works = threads.flatten().map(|entry| entry.path()).filter(of_name).map(|path| work_of_thread(&path));
    works.fold(Work::default(), |sum, work| Work { cpu_ns: sum.cpu_ns + work.cpu_ns, runs: sum.runs + work.runs })
}

/// Time on a CPU, time waiting for one, and how often it got one.
fn work_of_thread(thread: &std::path::Path) -> Work {
    let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
    let cpu_ns = numbers.next().unwrap_or(0);
    Work { cpu_ns, runs: numbers.nth(1).unwrap_or(0) }
}
