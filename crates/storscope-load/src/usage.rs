//! What the generator itself costs: CPU time and context switches, from getrusage(2).

use serde::Serialize;
use storscope_types::Nanos;

/// CPU time and context switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// In user space.
    #[serde(rename = "user_ns")]
    pub user: Nanos,
    /// In the kernel on our behalf.
    #[serde(rename = "system_ns")]
    pub system: Nanos,
    /// Context switches because we waited.
    pub voluntary_switches: u64,
    /// Context switches because somebody else was to run.
    pub involuntary_switches: u64,
}

impl Usage {
    /// Of the calling thread since it began.
    #[must_use]
    pub fn of_thread() -> Self {
        Self::of(libc::RUSAGE_THREAD)
    }

    /// Of the whole process, kernel workers of its rings included.
    #[must_use]
    pub fn of_process() -> Self {
        Self::of(libc::RUSAGE_SELF)
    }

    fn of(who: libc::c_int) -> Self {
        // SAFETY: rusage is plain numbers, for which zeros are valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is ours and writable for the whole call. With these arguments the call cannot fail.
        unsafe { libc::getrusage(who, &raw mut usage) };
        Self {
            user: nanos(usage.ru_utime),
            system: nanos(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        }
    }

    /// What came on top of `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.since(earlier.user),
            system: self.system.since(earlier.system),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
        }
    }

    /// Adds another thread's or interval's.
    pub fn add(&mut self, other: &Self) {
        self.user += other.user;
        self.system += other.system;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }

    /// User and system time.
    #[must_use]
    pub fn cpu(&self) -> Nanos {
        self.user + self.system
    }
}

fn nanos(time: libc::timeval) -> Nanos {
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000)
}
