//! What happened during a run that is no I/O: by the schedule, or by the array itself.

use serde::Serialize;
use storscope_types::Nanos;
use storscope_types::design::{BackgroundKind, RateLimitDesign};

use super::Array;
use super::rates::Counted;

/// More are only counted.
const MOST: usize = 4_096;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Happening {
    /// When.
    pub time_ns: Nanos,
    /// Whether the design or its schedule asked for it; otherwise the array did it by itself.
    pub scheduled: bool,
    /// What.
    #[serde(flatten)]
    pub what: What,
    /// Why it made no difference; absent when it did.
    pub no_effect: Option<NoEffect>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// A drive failed.
    DriveFailed {
        /// Its group.
        group: String,
        /// Its name.
        drive: String,
        /// Whether its data can be rebuilt, on a spare or in free space.
        has_spare: bool,
        /// Whether a rebuild of the group is in the design.
        has_rebuild: bool,
    },
    /// A volume is lost: more drives have failed than its group's redundancy makes up for.
    DataLost {
        /// The volume.
        volume: String,
        /// Its group.
        group: String,
        /// The failed drives of it that are not rebuilt.
        drives: Vec<String>,
        /// What was lost with a controller's cache, if that is the reason.
        cache: Option<LostCache>,
    },
    /// Background work began.
    TaskStarted(TaskNames),
    /// It ended by itself.
    TaskFinished(TaskNames),
    /// It was stopped.
    TaskStopped(TaskNames),
    /// A rebuild was given up: more of its set has failed than can be rebuilt.
    TaskFailed(TaskNames),
    /// A controller's volumes are written through from now on.
    CacheLost {
        /// The controller.
        controller: String,
    },
    /// They are written back again.
    CacheRestored {
        /// The controller.
        controller: String,
    },
    /// The flash caches of a host are gone, with what they held.
    FlashCacheLost {
        /// The host.
        host: String,
    },
    /// They are back, and empty.
    FlashCacheRestored {
        /// The host.
        host: String,
    },
    /// A controller failed; another one takes over.
    ControllerFailed {
        /// The controller.
        controller: String,
        /// The one that its volumes go to.
        to: String,
        /// How long they do not answer.
        takeover_ns: Nanos,
        /// Its volumes.
        volumes: Vec<String>,
    },
    /// I/Os that were sent to a failed controller are answered by another one from now on.
    ControllerReplaced {
        /// The controller that failed.
        controller: String,
        /// The one that has taken over.
        to: String,
    },
    /// It works again.
    ControllerReturned {
        /// The controller.
        controller: String,
        /// The volumes that it gets back.
        volumes: Vec<String>,
    },
    /// Another controller serves a volume.
    VolumeMoved {
        /// The volume.
        volume: String,
        /// The controller before.
        from: String,
        /// The controller from now on.
        to: String,
    },
    /// A volume or a host is allowed something else from now on.
    LimitChanged {
        /// Whose limit.
        limit: String,
        /// What was allowed; nothing: no limit.
        from: Option<RateLimitDesign>,
        /// What is.
        to: Option<RateLimitDesign>,
    },
    /// The credits of a limit of rates are spent: no more than is allowed without them from now on.
    CreditsSpent {
        /// Whose limit.
        limit: String,
        /// Of what the credits were.
        counted: Counted,
    },
}

/// What hosts had been told was written, and only a failed controller had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostCache {
    /// The controller.
    pub controller: String,
    /// Bytes of the volume.
    pub bytes: u64,
}

/// Background work by its names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskNames {
    /// Its name.
    pub task: String,
    /// What it does.
    pub work: BackgroundKind,
    /// Its group.
    pub group: String,
    /// The drive that is rebuilt.
    pub drive: Option<String>,
    /// Bytes done until now.
    pub bytes: u64,
}

/// Why something made no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoEffect {
    /// It was so already.
    AlreadySo,
    /// No drive of the group has failed.
    NothingFailed,
    /// A drive has failed, and there is nowhere to rebuild it to.
    NoSpare,
    /// All that failed is rebuilt.
    Rebuilt,
    /// What it would read is lost.
    TooMuchLost,
    /// There is no write cache.
    NoWriteCache,
    /// The controller it is about has failed.
    ControllerFailed,
}

/// What happened so far.
#[derive(Debug, Clone, Default)]
pub struct Happenings {
    /// In order of time.
    pub kept: Vec<Happening>,
    /// How many more there were.
    pub left_out: u64,
}

impl Array {
    /// Writes down what happens now. What counts so far is marked, unless it happens all the time, so that the time before
    /// can be told from that after.
    pub(super) fn happened(&mut self, scheduled: bool, what: What, no_effect: Option<NoEffect>) {
        if self.happenings.kept.len() >= MOST {
            self.happenings.left_out += 1;
            return;
        }
        if no_effect.is_none() {
            self.mark(true);
        }
        self.happenings.kept.push(Happening { time_ns: self.now, scheduled, what, no_effect });
    }

    /// Data of a volume is lost, which is told once. From then on all of its I/Os fail.
    #[cold]
    pub(super) fn lost_data(&mut self, volume: usize, cache: Option<LostCache>) {
        if std::mem::replace(&mut self.volumes[volume].has_lost, true) {
            return;
        }
        let volume = &self.volumes[volume];
        let group = &self.groups[usize::from(volume.group)];
        let drives = group.dead.iter().filter(|dead| dead.is_failed());
        let what = What::DataLost {
            volume: volume.name.clone(),
            group: group.name.clone(),
            cache,
            drives: drives.map(|dead| format!("{}/{}", group.name, dead.drive)).collect(),
        };
        self.happened(false, what, None);
    }
}
