//! What changes during a run: by a schedule, and by the array itself.

use storscope_types::Nanos;
use storscope_types::design::{ArrayDesign, BackgroundKind, ChangeDesign, RateLimits};

use super::Array;
use super::caching::owner_of;
use super::happening::{NoEffect, What};
use super::target::Volume;
use crate::error::SimError;

/// A change, with names resolved.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A drive of a group fails.
    DriveFails(usize, u32),
    /// A controller's volumes are written through, or no longer.
    CacheLost(usize, bool),
    /// The flash caches of a host are gone, or back.
    FlashCacheLost(String, bool),
    /// A controller fails, and I/Os sent to it wait so long.
    ControllerFails(usize, Nanos),
    /// They have waited so long, and go to another one.
    TakenOver(usize),
    /// It works again.
    ControllerReturns(usize),
    /// A volume gets another owner.
    VolumeMoves(usize, usize),
    /// A volume or a host, as its limits are named, has other ones.
    Limits(String, Box<RateLimits>),
    /// Background work starts or stops.
    Background(usize, bool),
}

/// The changes of a design in order of time.
pub fn changes_of(design: &ArrayDesign) -> Result<Vec<(Nanos, Change)>, SimError> {
    let mut changes = Vec::new();
    for (index, task) in design.background.iter().enumerate() {
        changes.extend(task.start.map(|at| (at, Change::Background(index, true))));
    }
    for (index, change) in design.changes.iter().enumerate() {
        let resolved = resolve(design, change)
            .ok_or_else(|| SimError::design(&format!("changes[{index}]"), "one change of what exists", "none"))?;
        if let Change::ControllerFails(controller, takeover) = resolved
            && takeover > Nanos::ZERO
        {
            changes.push((change.time.saturating_add(takeover), Change::TakenOver(controller)));
        }
        changes.push((change.time, resolved));
    }
    changes.sort_by_key(|change| change.0);
    Ok(changes)
}

fn resolve(design: &ArrayDesign, change: &ChangeDesign) -> Option<Change> {
    let controller = |name: &Option<String>| name.as_deref().and_then(|name| design.controller_index(name));
    let task = |name: &Option<String>| {
        name.as_deref().and_then(|name| design.background.iter().position(|task| task.name == name))
    };
    if let Some(drive) = &change.drive_fails {
        return Some(Change::DriveFails(design.group_index(&drive.group)?, drive.index));
    }
    if let Some(failure) = &change.controller_fails {
        let index = design.controller_index(&failure.controller)?;
        return Some(Change::ControllerFails(index, failure.takeover.unwrap_or_default()));
    }
    if let Some(to) = &change.volume_moves {
        return Some(Change::VolumeMoves(design.volume_index(&to.volume)?, design.controller_index(&to.to)?));
    }
    if let Some(limits) = &change.limits_change {
        let owner = limits.volume.as_ref().map(|name| format!("volume {name}"));
        let owner = owner.or_else(|| limits.host.as_ref().map(|name| format!("host {name}")));
        return owner.map(|owner| Change::Limits(owner, Box::new(limits.rate_limits())));
    }
    (controller(&change.cache_lost).map(|index| Change::CacheLost(index, true)))
        .or_else(|| controller(&change.cache_restored).map(|index| Change::CacheLost(index, false)))
        .or_else(|| change.flash_cache_lost.clone().map(|host| Change::FlashCacheLost(host, true)))
        .or_else(|| change.flash_cache_restored.clone().map(|host| Change::FlashCacheLost(host, false)))
        .or_else(|| controller(&change.controller_returns).map(Change::ControllerReturns))
        .or_else(|| task(&change.background_starts).map(|index| Change::Background(index, true)))
        .or_else(|| task(&change.background_stops).map(|index| Change::Background(index, false)))
}

impl Array {
    /// A timer is due: the first is the schedule, the others are tasks.
    pub(super) fn timer_event(&mut self, index: usize) {
        if index > 0 {
            return self.continue_task(index - 1);
        }
        self.mark_on_time();
        let mut next = self.marks.next();
        while let Some((at, change)) = self.changes.get(self.next_change) {
            if *at > self.now {
                next = next.min(*at);
                break;
            }
            let change = change.clone();
            self.next_change += 1;
            self.apply(&change);
        }
        self.late_tree.set(self.timers, next);
    }

    pub(super) fn task_leaf(&self, index: usize) -> usize {
        self.timers + 1 + index
    }

    fn apply(&mut self, change: &Change) {
        match *change {
            Change::DriveFails(group, drive) => self.fail_drive(group, drive),
            Change::CacheLost(controller, lost) => self.lose_cache(controller, lost),
            Change::FlashCacheLost(ref host, lost) => self.lose_flash_of(host, lost),
            Change::ControllerFails(controller, takeover) => {
                self.fail_controller(controller, self.now.saturating_add(takeover));
            }
            Change::TakenOver(controller) => self.end_takeover(controller),
            Change::ControllerReturns(controller) => self.return_controller(controller),
            Change::VolumeMoves(volume, to) => self.move_volume(volume, to as u16, true),
            Change::Limits(ref owner, ref limits) => self.change_limits(owner, limits),
            Change::Background(task, true) => {
                if let Err(reason) = self.start_task(task, true) {
                    self.happened(true, What::TaskStarted(self.task_names(task)), Some(reason));
                }
            }
            Change::Background(task, false) => self.stop_task(task),
        }
    }

    fn lose_cache(&mut self, controller: usize, lost: bool) {
        let cached = self.cache.as_ref().is_some_and(|memory| memory.dirty_limit > 0);
        let is_so = self.controllers[controller].cache_lost == lost;
        let has_failed = self.controllers[controller].failed;
        let reason =
            [(!cached, NoEffect::NoWriteCache), (has_failed, NoEffect::ControllerFailed), (is_so, NoEffect::AlreadySo)];
        let reason = reason.into_iter().find_map(|(is_it, reason)| is_it.then_some(reason));
        let controller_name = self.controllers[controller].name.clone();
        let what = if lost {
            What::CacheLost { controller: controller_name }
        } else {
            What::CacheRestored { controller: controller_name }
        };
        self.happened(true, what, reason);
        self.controllers[controller].cache_lost = lost;
        self.controllers[controller].is_alone &= lost;
        self.flush_what_is_exposed();
    }

    /// What is dirty of volumes whose controller lost its cache goes to the drives, and no more than that.
    pub(super) fn flush_what_is_exposed(&mut self) {
        let working = self.controllers.iter().filter(|controller| !controller.failed);
        let (lost, all) = working.fold((0, 0), |(lost, all), one| (lost + usize::from(one.cache_lost), all + 1));
        let Some(memory) = &mut self.cache else { return };
        memory.flushing = lost > 0 && lost == all;
        memory.exposing = lost > 0 && !memory.flushing;
        let (volumes, controllers) = (&self.volumes, &self.controllers);
        memory
            .expose(|group, offset| lost > 0 && controllers[usize::from(owner_of(volumes, group, offset))].cache_lost);
        self.destage();
    }

    fn move_volume(&mut self, volume: usize, to: u16, scheduled: bool) {
        let name = |index: u16| self.controllers[usize::from(index)].name.clone();
        let Volume { owner, name: volume_name, .. } = &self.volumes[volume];
        let (stays, what) =
            (*owner == to, What::VolumeMoved { volume: volume_name.clone(), from: name(*owner), to: name(to) });
        let has_failed = self.controllers[usize::from(to)].failed;
        let reason = has_failed.then_some(NoEffect::ControllerFailed).or(stays.then_some(NoEffect::AlreadySo));
        self.happened(scheduled, what, reason);
        if has_failed {
            return;
        }
        self.volumes[volume].moves += u64::from(!stays);
        (self.volumes[volume].owner, self.volumes[volume].home) = (to, None);
        if self.controllers.iter().any(|controller| controller.cache_lost) {
            self.flush_what_is_exposed();
        }
    }

    /// A drive fails; its group's rebuild starts if there is one and a place to rebuild to.
    pub(super) fn fail_drive(&mut self, group: usize, drive: u32) {
        let place = self.groups[group].first_drive + drive;
        let has_failed = self.groups[group].dead.iter().any(|dead| dead.drive == drive);
        let rebuilds = |task: &super::background::Task| task.group == group && task.kind == BackgroundKind::Rebuild;
        let rebuild = self.tasks.iter().position(rebuilds);
        let name = self.groups[group].name.clone();
        let what = |has_spare| What::DriveFailed {
            drive: format!("{name}/{drive}"),
            group: name,
            has_spare,
            has_rebuild: rebuild.is_some(),
        };
        self.drives[place as usize].drive.fail();
        let has_spare = self.groups[group].fail(drive);
        self.happened(true, what(has_spare), has_failed.then_some(NoEffect::AlreadySo));
        let gave_up = !has_failed && self.lose_beyond_redundancy(group, drive);
        if let Some(task) = rebuild.filter(|_| has_spare || gave_up) {
            // One that runs goes on to this drive by itself; one that was given up, to a drive of another set.
            let _ = self.start_task(task, false);
        }
    }

    /// Counts a read of a volume by the controller it came to, and moves the volume if most came to another one.
    pub(super) fn watch_ownership(&mut self, place: u32) {
        let Some(transition) = self.transition else { return };
        let job = &self.jobs[place];
        let index = usize::from(self.targets[usize::from(job.account)].volume);
        let volume = &mut self.volumes[index];
        volume.reads_via[usize::from(job.via)] += 1;
        if self.now.since(volume.watched_since) < transition.window {
            return;
        }
        let reads: u64 = volume.reads_via.iter().sum();
        let busiest = (0..volume.reads_via.len()).max_by_key(|&index| volume.reads_via[index]).unwrap_or(0);
        let proxied = reads - volume.reads_via[usize::from(volume.owner)];
        let moves = proxied as f64 >= transition.proxied_share * reads as f64 && busiest != usize::from(volume.owner);
        volume.reads_via.fill(0);
        volume.watched_since = self.now;
        if moves {
            self.move_volume(index, busiest as u16, false);
        }
    }
}
