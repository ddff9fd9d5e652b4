//! What threads beside a worker's own use on its behalf.
//!
//! The kernel's threads of a ring belong to our process, are named `iou-wrk-` and the id of the thread that owns the ring,
//! and their schedstat counts how long and how often each was on a CPU (Documentation/scheduler/sched-stats.rst).

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use storscope_types::Nanos;

use crate::usage::Usage;

/// What threads beside a worker's own use.
pub trait Meter {
    /// CPU time and context switches of all of them since it was asked before.
    fn take(&mut self) -> Usage;
}

/// The kernel's workers of the rings of one thread.
#[derive(Debug)]
pub struct KernelWorkers {
    name: String,
    /// Every thread of the process that was there when last looked, and what it had done if it is one of them.
    known: HashMap<String, Option<Work>>,
}

/// What a kernel worker did.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    cpu_ns: u64,
    runs: u64,
}

impl KernelWorkers {
    /// Counts from now for the calling thread.
    #[must_use]
    pub fn of_this_thread() -> Self {
        // SAFETY: the call has no arguments and cannot fail.
        let thread = unsafe { libc::gettid() };
        let mut workers = Self { name: format!("iou-wrk-{thread}"), known: HashMap::new() };
        workers.take();
        workers
    }

    fn is_one(&self, thread: &Path) -> bool {
        fs::read_to_string(thread.join("comm")).is_ok_and(|comm| comm.trim_end() == self.name)
    }
}

impl Meter for KernelWorkers {
    /// Each time one was put on a CPU counts as a voluntary switch: it had nothing to do before. What one did after this
    /// was asked last and before it ended is not known.
    fn take(&mut self) -> Usage {
        let mut usage = Usage::default();
        let mut known = HashMap::new();
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        for (id, path) in threads.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())) {
            let before = match self.known.remove(&id) {
                Some(known) => known,
                None => self.is_one(&path).then(Work::default),
            };
            let work = before.map(|before| {
                let now = Work::of_thread(&path).unwrap_or(before);
                usage.system += Nanos(now.cpu_ns.saturating_sub(before.cpu_ns));
                usage.voluntary_switches += now.runs.saturating_sub(before.runs);
                now
            });
            known.insert(id, work);
        }
        self.known = known;
        usage
    }
}

impl Work {
    /// Time on a CPU, time waiting for one, and how often it got one; none if the thread has ended.
    fn of_thread(thread: &Path) -> Option<Self> {
        let text = fs::read_to_string(thread.join("schedstat")).ok()?;
        let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
        let cpu_ns = numbers.next()?;
        Some(Self { cpu_ns, runs: numbers.nth(1)? })
    }
}
