//! Making the report from what was counted.

use storscope_types::Nanos;

use super::Array;
use super::account::{Account, Asked, Part};
use super::report::{
    ArrayReport, CacheReport, ComponentKind, ComponentReport, FlushReport, LatencyReport, LimitKind, LimitReport,
    PartReport, QueueMatrix, TargetReport, TaskReport, VolumeReport,
};
use crate::error::SimError;

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
        self.mark(false);
        let components = self.component_reports();
        let busiest = (0..components.len()).max_by(|&left, &right| {
            components[left].used_ratio.total_cmp(&components[right].used_ratio).then(right.cmp(&left))
        });
        Ok(ArrayReport {
            name: self.name.clone(),
            start_ns: self.began.0,
            duration_ns: (now - self.began).0,
            events: self.events,
            drive_ios: self.drive_ios(),
            parts: Part::ALL,
            targets: (0..self.targets.len()).map(|index| self.target_report(index)).collect(),
            bottleneck: busiest.filter(|&index| components[index].used_ratio >= 0.1),
            components,
            limits: self.limit_reports(),
            cache: self.cache_report(),
            volumes: self.volume_reports(),
            background: self.tasks.iter().map(|task| task_report(task, &self.groups[task.group].name)).collect(),
            happenings: self.happenings.kept.clone(),
            happenings_left_out: self.happenings.left_out,
            marks: self.marks.kept.clone(),
            queue: self.queue_matrix(),
        })
    }

    fn target_report(&self, index: usize) -> TargetReport {
        let (target, account) = (&self.targets[index], &self.accounts[index]);
        let submitted = of_data(account.submitted);
        TargetReport {
            host: target.host.clone(),
            volume: target.volume_name.clone(),
            submitted,
            completed: of_data(account.completed),
            failed: of_data(account.failed),
            bytes: of_data(account.bytes),
            outstanding_mean: per_time(account.area(self.now) as f64, self.now - self.began),
            proxied_share: ratio(of_data(account.proxied).iter().sum(), submitted.iter().sum()),
            reads: latency_report(account, Asked::Read),
            writes: latency_report(account, Asked::Write),
            flushes: (account.submitted[FLUSH] + account.completed[FLUSH] > 0).then(|| FlushReport {
                submitted: account.submitted[FLUSH],
                completed: account.completed[FLUSH],
                failed: account.failed[FLUSH],
                latency: latency_report(account, Asked::Flush),
            }),
            flash: target.flash.as_ref().map(|flash| flash.report()),
        }
    }

    fn component_reports(&self) -> Vec<ComponentReport> {
        let drives = self.groups.iter().flat_map(|group| {
            let spares = self.spares_of(group.first_drive);
            (0..group.count + spares).map(move |index| {
                let place = group.first_drive + index;
                self.drive_report(&group.name, place, index, index >= group.count)
            })
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

    fn drive_report(&self, group: &str, place: u32, index: u32, is_spare: bool) -> ComponentReport {
        let station = &self.drives[place as usize];
        let (totals, time) = (&station.totals, self.now - self.began);
        ComponentReport {
            kind: ComponentKind::Drive,
            name: format!("{group}/{index}"),
            group: Some(group.to_owned()),
            servers: 1,
            is_spare,
            parallel: station.parallel(),
            busy_ratio: per_time(station.busy(self.now).0 as f64, time),
            used_ratio: per_time(station.used(self.now).0 as f64, time),
            throughput_per_s: per_time(totals.completed as f64 * 1e9, time),
            queue_mean: per_time(station.area(self.now) as f64, time),
            queue_max: u64::from(station.most()),
            response_ns_mean: ratio(totals.response, totals.completed),
            bytes: Some(totals.bytes),
            operations: Some(totals.submitted),
            read_waits_ns: station.read_waits(),
            allows: None,
            credits: Vec::new(),
        }
    }

    fn station_report(&self, index: usize) -> ComponentReport {
        let (kind, name) = &self.station_names[index];
        let totals = self.stations[index].totals(self.now);
        let busy_ratio = per_time(totals.busy.0 as f64 / totals.servers as f64, totals.time);
        let limit = self.rates.iter().find(|limit| usize::from(limit.station) == index);
        ComponentReport {
            kind: *kind,
            name: name.clone(),
            group: None,
            servers: totals.servers as u32,
            is_spare: false,
            parallel: totals.servers as f64,
            busy_ratio,
            used_ratio: busy_ratio,
            throughput_per_s: per_time(totals.departed as f64 * 1e9, totals.time),
            queue_mean: per_time(totals.area as f64, totals.time),
            queue_max: totals.most as u64,
            response_ns_mean: ratio(totals.residence, totals.arrived),
            bytes: None,
            operations: None,
            read_waits_ns: None,
            allows: limit.and_then(|limit| limit.design),
            credits: limit.map_or_else(Vec::new, |limit| limit.credits(self.now)),
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
            clean_limit_pages: memory.clean_limit as u64,
            clean_pages: memory.clean as u64,
            totals,
        })
    }

    fn limit_reports(&self) -> Vec<LimitReport> {
        let time = self.now - self.began;
        let report = |(limit, (kind, name)): (&super::Limit, &(LimitKind, String))| {
            let [used, full, waited, waiting] = limit.counted(self.now);
            LimitReport {
                kind: *kind,
                name: name.clone(),
                most: limit.most,
                used_mean: per_time(used as f64, time),
                full_ratio: per_time(full as f64, time),
                waited,
                waiting_mean: per_time(waiting as f64, time),
            }
        };
        self.limits.iter().zip(&self.limit_names).map(report).collect()
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

const FLUSH: usize = Asked::Flush as usize;

/// Of reads and of writes.
pub(super) fn of_data(counts: [u64; Asked::COUNT]) -> [u64; 2] {
    [counts[Asked::Read as usize], counts[Asked::Write as usize]]
}

fn latency_report(account: &Account, asked: Asked) -> LatencyReport {
    let direction = asked as usize;
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

fn task_report(task: &super::background::Task, group: &str) -> TaskReport {
    let [bytes, begun, all] = task.counted();
    TaskReport {
        name: task.name.clone(),
        kind: task.kind,
        group: group.to_owned(),
        rate_bytes_per_s: task.rate_bytes_per_s,
        bytes,
        running: task.running,
        done_ratio: task.started.and_then(|_| ratio(begun, all)),
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
