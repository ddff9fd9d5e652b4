//! Where the time of host I/Os went.

use serde::Serialize;
use storscope_stats::Histogram;
use storscope_types::Nanos;

/// A part of an I/O's time. Together they are its latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Waiting in the host because the queue limit of the LUN was reached.
    LunQueue,
    /// Because that of the adapter was.
    AdapterQueue,
    /// Because that of the host was.
    HostQueue,
    /// Because that of the controller's ports was.
    PortQueue,
    /// Waiting until another controller has taken over from one that failed.
    Takeover,
    /// Waiting because a host or a volume is not allowed more.
    RateLimit,
    /// On the host's flash.
    HostFlash,
    /// On the front-end link, waiting for it included.
    FrontEnd,
    /// Waiting for a controller.
    ControllerQueue,
    /// Being worked on by one, parity included.
    ControllerService,
    /// On the link between the controllers, waiting for it included.
    MirrorLink,
    /// Waiting for room in the write cache or for data that was being read ahead.
    CacheWait,
    /// On the back-end link, waiting for it included.
    BackEnd,
    /// Waiting for a drive.
    DriveQueue,
    /// Being served by one.
    DriveService,
    /// Waiting for the slowest of several drives or stripes.
    Join,
}

impl Part {
    /// All parts, in the order an I/O meets them.
    pub const ALL: [Self; 16] = [
        Self::LunQueue,
        Self::AdapterQueue,
        Self::HostQueue,
        Self::PortQueue,
        Self::Takeover,
        Self::RateLimit,
        Self::HostFlash,
        Self::FrontEnd,
        Self::ControllerQueue,
        Self::ControllerService,
        Self::MirrorLink,
        Self::CacheWait,
        Self::BackEnd,
        Self::DriveQueue,
        Self::DriveService,
        Self::Join,
    ];
}

/// What a host can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A flush.
    Flush,
}

impl Asked {
    /// How many there are.
    pub const COUNT: usize = 3;

    /// A read or a write.
    #[inline]
    #[must_use]
    pub const fn of(write: bool) -> Self {
        if write { Self::Write } else { Self::Read }
    }
}

/// What I/Os of one target did; in each list reads, writes and flushes.
#[derive(Debug, Clone)]
pub struct Account {
    /// Nanoseconds by part.
    pub spent: [[u64; Part::ALL.len()]; Asked::COUNT],
    /// I/Os that came.
    pub submitted: [u64; Asked::COUNT],
    /// I/Os that were answered.
    pub completed: [u64; Asked::COUNT],
    /// Of those, with an error.
    pub failed: [u64; Asked::COUNT],
    /// Bytes of those answered.
    pub bytes: [u64; Asked::COUNT],
    /// Their latencies.
    pub latency: [Histogram; Asked::COUNT],
    /// I/Os that came through another controller than the owner.
    pub proxied: [u64; Asked::COUNT],
    /// Present when counting began.
    pub present_at_start: u64,
    /// Present now.
    pub present: u64,
    /// When `present` changed.
    changed: Nanos,
    /// Integral of `present`.
    area: u64,
    /// Sum of the times I/Os were present, of those that have left.
    residence: u64,
    /// Sum of the instants from which those present are counted.
    present_since: u64,
}

impl Account {
    /// Nothing counted.
    #[must_use]
    pub fn new() -> Self {
        Self {
            spent: [[0; Part::ALL.len()]; Asked::COUNT],
            submitted: [0; Asked::COUNT],
            completed: [0; Asked::COUNT],
            failed: [0; Asked::COUNT],
            bytes: [0; Asked::COUNT],
            latency: [Histogram::new(), Histogram::new(), Histogram::new()],
            proxied: [0; Asked::COUNT],
            present_at_start: 0,
            present: 0,
            changed: Nanos::ZERO,
            area: 0,
            residence: 0,
            present_since: 0,
        }
    }

    /// Begins anew; what is under way stays.
    pub fn restart(&mut self, now: Nanos) {
        let present = self.present;
        let present_since = present * now.0;
        *self = Self { present, present_at_start: present, present_since, changed: now, ..Self::new() };
    }

    /// An I/O comes.
    #[inline]
    pub fn came(&mut self, what: Asked, now: Nanos) {
        self.count(now);
        self.present += 1;
        self.present_since += now.0;
        self.submitted[what as usize] += 1;
    }

    /// An I/O that came at `since`, or was there when counting began, is answered.
    #[inline]
    pub fn answered(&mut self, what: Asked, bytes: u32, submitted: Nanos, began: Nanos, now: Nanos) {
        self.count(now);
        self.present -= 1;
        let direction = what as usize;
        self.completed[direction] += 1;
        self.bytes[direction] += u64::from(bytes);
        self.latency[direction].record(now.0 - submitted.0);
        let since = submitted.0.max(began.0);
        self.residence += now.0 - since;
        self.present_since -= since;
    }

    #[inline]
    fn count(&mut self, now: Nanos) {
        self.area += self.present * (now.0 - self.changed.0);
        self.changed = now;
    }

    /// The integral of the number present, until now.
    #[must_use]
    pub fn area(&self, now: Nanos) -> u64 {
        self.area + self.present * now.since(self.changed).0
    }

    /// The sum of the times I/Os were present, of those still there until now: by Little's law the area.
    #[must_use]
    pub fn residence(&self, now: Nanos) -> u64 {
        self.residence + self.present * now.0 - self.present_since
    }
}

impl Default for Account {
    fn default() -> Self {
        Self::new()
    }
}
