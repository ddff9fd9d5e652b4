//! What a simulation found: figures of every component, and where the time went.

use serde::Serialize;
use storscope_stats::Histogram;
use storscope_types::design::{BackgroundKind, RateLimitDesign};

use super::account::Part;
use super::happening::Happening;
use super::marks::Mark;
use super::memory::MemoryTotals;
use super::rates::CreditsReport;

/// Everything that was found since statistics began. Means over no events are absent.
#[derive(Debug, Clone, Serialize)]
pub struct ArrayReport {
    /// The design's name.
    pub name: String,
    /// When statistics began.
    pub start_ns: u64,
    /// For how long they were kept.
    pub duration_ns: u64,
    /// Events handled since the beginning of the run.
    pub events: u64,
    /// Operations of drives.
    pub drive_ios: u64,
    /// The parts of an I/O's time, in the order in which marks have them.
    pub parts: [Part; Part::ALL.len()],
    /// Hosts' views of volumes.
    pub targets: Vec<TargetReport>,
    /// Drives, controllers, links, flash.
    pub components: Vec<ComponentReport>,
    /// Index of the component of which the greatest share was in use. Absent when of none a tenth was.
    pub bottleneck: Option<usize>,
    /// Queue limits of LUNs, adapters, hosts and ports.
    pub limits: Vec<LimitReport>,
    /// The memory, if there is any.
    pub cache: Option<CacheReport>,
    /// The volumes.
    pub volumes: Vec<VolumeReport>,
    /// Background work.
    pub background: Vec<TaskReport>,
    /// What happened beside I/Os, in order of time.
    pub happenings: Vec<Happening>,
    /// How many more of them there were.
    pub happenings_left_out: u64,
    /// What was counted until certain instants, the last of them the end. Drives and others are in the order of
    /// `components`.
    pub marks: Vec<Mark>,
    /// The queues of drives over time.
    pub queue: QueueMatrix,
}

/// What hosts saw of one volume. Pairs are reads and writes.
#[derive(Debug, Clone, Serialize)]
pub struct TargetReport {
    /// The host.
    pub host: String,
    /// The volume.
    pub volume: String,
    /// I/Os that were submitted.
    pub submitted: [u64; 2],
    /// I/Os that were answered.
    pub completed: [u64; 2],
    /// Of these, with an error.
    pub failed: [u64; 2],
    /// Bytes.
    pub bytes: [u64; 2],
    /// I/Os in flight, queue limits included, on average.
    pub outstanding_mean: f64,
    /// Share of I/Os that came through another controller than the owner.
    pub proxied_share: Option<f64>,
    /// Latencies of reads.
    pub reads: LatencyReport,
    /// Latencies of writes.
    pub writes: LatencyReport,
    /// Flushes, if there were any. They count nowhere else but in `outstanding_mean`.
    pub flushes: Option<FlushReport>,
    /// The host's flash.
    pub flash: Option<FlashReport>,
}

/// Flushes.
#[derive(Debug, Clone, Serialize)]
pub struct FlushReport {
    /// Those that came.
    pub submitted: u64,
    /// Those that were answered.
    pub completed: u64,
    /// Of these, with an error.
    pub failed: u64,
    /// Their latencies.
    #[serde(flatten)]
    pub latency: LatencyReport,
}

/// Latencies of one direction and where they come from.
#[derive(Debug, Clone, Serialize)]
pub struct LatencyReport {
    /// All of them.
    pub histogram: Histogram,
    /// Quantiles 0.5, 0.95, 0.99 and 0.999.
    pub quantiles_ns: Option<[u64; 4]>,
    /// Mean time per I/O in each part that took any.
    pub parts: Vec<PartReport>,
}

/// A part of the latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PartReport {
    /// Which.
    pub part: Part,
    /// Mean over all answered I/Os, those that did not meet it included.
    pub mean_ns: f64,
}

/// A host's flash read cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FlashReport {
    /// Reads since the beginning of the run.
    pub reads: u64,
    /// Of these, answered from flash.
    pub hits: u64,
    /// Blocks that something is kept in, at the end.
    pub used_blocks: u64,
    /// Most of them.
    pub blocks: u64,
    /// Blocks of which nothing was valid any more since another host had written them, since the beginning of the run.
    pub outdated_blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Whether the host has lost it, at the end.
    pub is_lost: bool,
}

/// What a component is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// A drive.
    Drive,
    /// A controller's processors.
    Controller,
    /// One direction of the link between hosts and a controller.
    FrontEndLink,
    /// The link between a controller and the drives.
    BackEndLink,
    /// The link between controllers.
    MirrorLink,
    /// Flash of a host.
    Flash,
    /// What a host or a volume is allowed; busy until it allows the next I/O.
    RateLimit,
}

/// A component by the figures every queueing station has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentReport {
    /// What it is.
    pub kind: ComponentKind,
    /// Its name; of a drive, that of its group and its number in it.
    pub name: String,
    /// The group of a drive.
    pub group: Option<String>,
    /// Servers side by side; 1 of drives.
    pub servers: u32,
    /// Whether it waits for another drive to fail.
    pub is_spare: bool,
    /// Operations that it serves side by side: its servers, or what a drive can do at a time.
    pub parallel: f64,
    /// Share of the time its servers worked; of a drive, that it was not idle.
    pub busy_ratio: f64,
    /// Share of what it can do at a time that was in use: 1 only if it worked on `parallel` operations all the time.
    pub used_ratio: f64,
    /// Operations per second that were done.
    pub throughput_per_s: f64,
    /// Operations present on average, those in service included.
    pub queue_mean: f64,
    /// Most operations present.
    pub queue_max: u64,
    /// Mean time of an operation, waiting included.
    pub response_ns_mean: Option<f64>,
    /// Bytes that came to a drive, reads and writes.
    pub bytes: Option<[u64; 2]>,
    /// Operations that came to a drive, reads and writes.
    pub operations: Option<[u64; 2]>,
    /// Of flash: for how long reads that came have to wait in the drive, in nanoseconds, and of that for what its dies do
    /// for writes.
    pub read_waits_ns: Option<[u64; 2]>,
    /// What a limit of rates allows.
    pub allows: Option<RateLimitDesign>,
    /// The credits of a limit of rates.
    pub credits: Vec<CreditsReport>,
}

/// Whose queue limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// A volume as one host sees it.
    Lun,
    /// The adapters of a host.
    Adapter,
    /// All of a host.
    Host,
    /// The ports of a controller.
    Port,
}

/// A queue limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitReport {
    /// Whose.
    pub kind: LimitKind,
    /// Its owner's name.
    pub name: String,
    /// Most at a time.
    pub most: u32,
    /// Places taken on average.
    pub used_mean: f64,
    /// Share of the time that all were taken.
    pub full_ratio: f64,
    /// I/Os that had to wait for a place.
    pub waited: u64,
    /// I/Os waiting for one on average.
    pub waiting_mean: f64,
}

/// The array's memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CacheReport {
    /// Counts.
    #[serde(flatten)]
    pub totals: MemoryTotals,
    /// Share of reads answered from memory.
    pub read_hit_ratio: Option<f64>,
    /// Share of written pages that were dirty already.
    pub absorbed_ratio: Option<f64>,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Most pages that may be dirty.
    pub dirty_limit_pages: u64,
    /// Dirty pages at the end.
    pub dirty_pages: u64,
    /// Most pages that are kept for reads.
    pub clean_limit_pages: u64,
    /// Those at the end.
    pub clean_pages: u64,
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VolumeReport {
    /// Its name.
    pub name: String,
    /// The controller that serves it at the end; absent without controllers.
    pub owner: Option<String>,
    /// How often it got another owner, by the schedule or by the array itself.
    pub moves: u64,
}

/// Background work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: BackgroundKind,
    /// Its group.
    pub group: String,
    /// The most that it may do; absent if it has no limit.
    pub rate_bytes_per_s: Option<f64>,
    /// Bytes rebuilt, moved or read, of the present or the last time it ran.
    pub bytes: u64,
    /// Whether it goes on.
    pub running: bool,
    /// Share of its work that has been begun, of the present or the last time it ran; absent if it never did.
    pub done_ratio: Option<f64>,
    /// When it last began.
    pub started_ns: Option<u64>,
    /// When it was done; absent if it is not.
    pub finished_ns: Option<u64>,
}

/// The number of operations at each drive over time. One list per drive, in the order of components.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueueMatrix {
    /// When the first slice began.
    pub start_ns: u64,
    /// Length of a slice.
    pub slice_ns: u64,
    /// Mean number in each slice.
    pub mean: Vec<Vec<f32>>,
    /// Most in each slice.
    pub max: Vec<Vec<u32>>,
}
