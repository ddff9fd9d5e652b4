//! What a simulation found: figures of every component, where the time went, and whether the books balance.

use serde::Serialize;
use storscope_stats::Histogram;
use storscope_types::Nanos;
use storscope_types::design::BackgroundKind;

use super::Array;
use super::account::{Account, Part};
use super::memory::MemoryTotals;
use crate::error::SimError;

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
    /// Hosts' views of volumes.
    pub targets: Vec<TargetReport>,
    /// Drives, controllers, links, flash.
    pub components: Vec<ComponentReport>,
    /// Index of the component with the highest busy ratio. Absent when nothing was busy for a tenth of the time.
    pub bottleneck: Option<usize>,
    /// The memory, if there is any.
    pub cache: Option<CacheReport>,
    /// The volumes.
    pub volumes: Vec<VolumeReport>,
    /// Background work.
    pub background: Vec<TaskReport>,
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
    /// The host's flash.
    pub flash: Option<FlashReport>,
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
    /// Share of the time its servers worked.
    pub busy_ratio: f64,
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
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VolumeReport {
    /// Its name.
    pub name: String,
    /// The controller that serves it at the end; absent without controllers.
    pub owner: Option<String>,
    /// How often the array has moved it by itself.
    pub moves: u64,
}

/// Background work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: BackgroundKind,
    /// Bytes rebuilt, moved or read since the beginning of the run.
    pub bytes: u64,
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

impl Array {
    /// What was found until now.
    ///
    /// # Errors
    /// When a law is violated: the figures must not be used.
    pub fn report(&mut self) -> Result<ArrayReport, SimError> {
        self.catch_up();
        let now = self.now;
        self.end_slices(now);
        self.check_laws()?;
        let components = self.component_reports();
        let busiest = (0..components.len()).max_by(|&left, &right| {
            components[left].busy_ratio.total_cmp(&components[right].busy_ratio).then(right.cmp(&left))
        });
        Ok(ArrayReport {
            name: self.name.clone(),
            start_ns: self.began.0,
            duration_ns: (now - self.began).0,
            events: self.events,
            drive_ios: self.drive_ios(),
            targets: (0..self.targets.len()).map(|index| self.target_report(index)).collect(),
            bottleneck: busiest.filter(|&index| components[index].busy_ratio >= 0.1),
            components,
            cache: self.cache_report(),
            volumes: self.volume_reports(),
            background: self.tasks.iter().map(task_report).collect(),
            queue: self.queue_matrix(),
        })
    }

    fn target_report(&self, index: usize) -> TargetReport {
        let (target, account) = (&self.targets[index], &self.accounts[index]);
        let submitted: u64 = account.submitted.iter().sum();
        TargetReport {
            host: target.host.clone(),
            volume: target.volume_name.clone(),
            submitted: account.submitted,
            completed: account.completed,
            failed: account.failed,
            bytes: account.bytes,
            outstanding_mean: per_time(account.area(self.now) as f64, self.now - self.began),
            proxied_share: ratio(account.proxied.iter().sum(), submitted),
            reads: latency_report(account, 0),
            writes: latency_report(account, 1),
            flash: target.flash.as_ref().map(|flash| FlashReport { reads: flash.reads, hits: flash.hits }),
        }
    }

    fn component_reports(&self) -> Vec<ComponentReport> {
        let drives = self.groups.iter().flat_map(|group| {
            let spares = self.spares_of(group.first_drive);
            (0..group.count + spares).map(move |index| self.drive_report(&group.name, group.first_drive, index))
        });
        let stations = (0..self.stations.len()).map(|index| self.station_report(index));
        drives.chain(stations).collect()
    }

    /// Drives between the end of a group's own and the next group.
    fn spares_of(&self, first_drive: u32) -> u32 {
        let all = self.drives.len() as u32;
        let next = self.groups.iter().map(|group| group.first_drive).find(|&first| first > first_drive).unwrap_or(all);
        let own = self.groups.iter().find(|group| group.first_drive == first_drive).map_or(0, |group| group.count);
        next - first_drive - own
    }

    fn drive_report(&self, group: &str, first: u32, index: u32) -> ComponentReport {
        let station = &self.drives[(first + index) as usize];
        let (totals, time) = (&station.totals, self.now - self.began);
        ComponentReport {
            kind: ComponentKind::Drive,
            name: format!("{group}/{index}"),
            group: Some(group.to_owned()),
            servers: 1,
            busy_ratio: per_time(station.busy(self.now).0 as f64, time),
            throughput_per_s: per_time(totals.completed as f64 * 1e9, time),
            queue_mean: per_time(station.area(self.now) as f64, time),
            queue_max: u64::from(station.most()),
            response_ns_mean: ratio(totals.response, totals.completed),
            bytes: Some(totals.bytes),
            operations: Some(totals.submitted),
        }
    }

    fn station_report(&self, index: usize) -> ComponentReport {
        let (kind, name) = &self.station_names[index];
        let totals = self.stations[index].totals(self.now);
        ComponentReport {
            kind: *kind,
            name: name.clone(),
            group: None,
            servers: totals.servers as u32,
            busy_ratio: per_time(totals.busy.0 as f64 / totals.servers as f64, totals.time),
            throughput_per_s: per_time(totals.departed as f64 * 1e9, totals.time),
            queue_mean: per_time(totals.area as f64, totals.time),
            queue_max: totals.most as u64,
            response_ns_mean: ratio(totals.residence, totals.arrived),
            bytes: None,
            operations: None,
        }
    }

    fn cache_report(&self) -> Option<CacheReport> {
        let memory = self.cache.as_ref()?;
        let totals = memory.totals;
        Some(CacheReport {
            read_hit_ratio: ratio(totals.read_hits, totals.reads),
            absorbed_ratio: ratio(totals.absorbed_pages, totals.written_pages),
            page_bytes: memory.directory.page_bytes(),
            dirty_limit_pages: memory.dirty_limit as u64,
            dirty_pages: memory.dirty as u64,
            totals,
        })
    }

    fn volume_reports(&self) -> Vec<VolumeReport> {
        let report = |volume: &super::Volume| VolumeReport {
            name: volume.name.clone(),
            owner: self.controllers.get(usize::from(volume.owner)).map(|controller| controller.name.clone()),
            moves: volume.moves,
        };
        self.volumes.iter().map(report).collect()
    }

    fn queue_matrix(&self) -> QueueMatrix {
        let width = self.slices.width().0 as f64;
        let drives = 0..self.drives.len();
        let means = |drive| self.slices.of_drive(drive).map(|cell| (cell.area as f64 / width) as f32).collect();
        let most = |drive| self.slices.of_drive(drive).map(|cell| cell.most).collect();
        QueueMatrix {
            start_ns: self.slices.start().0,
            slice_ns: self.slices.width().0,
            mean: drives.clone().map(means).collect(),
            max: drives.map(most).collect(),
        }
    }
}

fn latency_report(account: &Account, direction: usize) -> LatencyReport {
    let histogram = account.latency[direction].clone();
    let completed = account.completed[direction];
    let quantiles = [0.5, 0.95, 0.99, 0.999].map(|share| histogram.quantile(share).unwrap_or(0));
    let part = |part: Part| {
        let spent = account.spent[direction][part as usize];
        (spent > 0 && completed > 0).then(|| PartReport { part, mean_ns: spent as f64 / completed as f64 })
    };
    LatencyReport {
        quantiles_ns: (completed > 0).then_some(quantiles),
        parts: Part::ALL.into_iter().filter_map(part).collect(),
        histogram,
    }
}

fn task_report(task: &super::background::Task) -> TaskReport {
    TaskReport {
        name: task.name.clone(),
        kind: task.kind,
        bytes: task.bytes,
        started_ns: task.started.map(|at| at.0),
        finished_ns: task.finished.map(|at| at.0),
    }
}

/// A quantity per nanosecond of a time; 0 of no time.
fn per_time(quantity: f64, time: Nanos) -> f64 {
    if time == Nanos::ZERO { 0.0 } else { quantity / time.0 as f64 }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
