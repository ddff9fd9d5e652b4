//! A controller fails and another one takes over; it returns.
//!
//! What a failed controller has begun it still finishes, as a drive does. I/Os that come later wait until hosts and the other
//! controllers have noticed, then go to the next one that works. What only the failed one had in memory is gone: clean
//! pages are read anew, and a write cache without copies takes data with it. One that is left alone cannot mirror, so it
//! writes through where writes are mirrored.

use storscope_types::Nanos;

use super::Array;
use super::account::Part;
use super::caching::owner_of;
use super::happening::{LostCache, NoEffect, What};
use super::limits::PORTS;
use super::memory::Memory;
use super::target::Target;
use crate::kernel::NONE;

impl Array {
    /// A controller fails; I/Os that are sent to it wait until an instant.
    pub(super) fn fail_controller(&mut self, failing: usize, until: Nanos) {
        let next = self.next_working(failing as u16);
        let has_failed = self.controllers[failing].failed;
        let (Some(next), false) = (next, has_failed) else {
            let what = self.failure(failing, failing as u16, Nanos::ZERO, &[]);
            return self.happened(true, what, Some(NoEffect::AlreadySo));
        };
        let taken: Vec<usize> = self.volumes_of(failing).collect();
        let hosts_send = self.targets.iter().any(|target| target.via == Some(failing as u16));
        // Nobody notices that one is silent to which nothing is sent.
        let until = if taken.is_empty() && !hosts_send { self.now } else { until };
        self.happened(true, self.failure(failing, next, until.since(self.now), &taken), None);
        self.lose_what_has_no_copy(failing, &taken);
        self.forget_clean_pages(failing);
        self.controllers[failing].failed = true;
        self.controllers[failing].silent_until = until;
        self.someone_is_silent |= until > self.now;
        for volume in &mut self.volumes {
            volume.reads_via.fill(0);
        }
        for volume in taken {
            let volume = &mut self.volumes[volume];
            volume.home.get_or_insert(failing as u16);
            // One that was taken over from another one that failed may wait for that longer.
            (volume.owner, volume.moves) = (next, volume.moves + 1);
            volume.silent_until = volume.silent_until.max(until);
        }
        self.fit_memory();
        if self.working() == 1 && self.cache.as_ref().is_some_and(|memory| memory.mirrored) {
            self.write_through_alone(usize::from(next));
        }
        self.flush_what_is_exposed();
        self.leave_ports(failing);
    }

    /// A controller that failed works again: its volumes come back, and writes are mirrored again.
    pub(super) fn return_controller(&mut self, returning: usize) {
        let back = |volume: &super::Volume| volume.home == Some(returning as u16);
        let volumes: Vec<usize> = (0..self.volumes.len()).filter(|&index| back(&self.volumes[index])).collect();
        let names = volumes.iter().map(|&index| self.volumes[index].name.clone()).collect();
        let what = What::ControllerReturned { controller: self.controllers[returning].name.clone(), volumes: names };
        let is_so = !self.controllers[returning].failed;
        self.happened(true, what, is_so.then_some(NoEffect::AlreadySo));
        if is_so {
            return;
        }
        self.controllers[returning].failed = false;
        self.controllers[returning].silent_until = Nanos::ZERO;
        for volume in volumes {
            let volume = &mut self.volumes[volume];
            (volume.owner, volume.home, volume.silent_until) = (returning as u16, None, Nanos::ZERO);
            volume.moves += 1;
        }
        self.fit_memory();
        for controller in 0..self.controllers.len() {
            if std::mem::replace(&mut self.controllers[controller].is_alone, false) {
                self.controllers[controller].cache_lost = false;
                let controller = self.controllers[controller].name.clone();
                self.happened(false, What::CacheRestored { controller }, None);
            }
        }
        self.flush_what_is_exposed();
        self.end_silence();
    }

    /// The instant has come at which a failed controller's I/Os go to another one.
    pub(super) fn end_takeover(&mut self, failed: usize) {
        let is_due = self.controllers[failed].failed && self.controllers[failed].silent_until == self.now;
        if let Some(next) = self.next_working(failed as u16).filter(|_| is_due) {
            let name = |index: usize| self.controllers[index].name.clone();
            let what = What::ControllerReplaced { controller: name(failed), to: name(usize::from(next)) };
            self.happened(false, what, None);
            // Told once, also where the schedule lets it fail again meanwhile.
            self.controllers[failed].silent_until = Nanos::ZERO;
        }
        self.end_silence();
    }

    fn end_silence(&mut self) {
        let is_silent = |until: Nanos| until > self.now;
        self.someone_is_silent = self.controllers.iter().any(|controller| is_silent(controller.silent_until));
        let mut next = std::mem::replace(&mut self.silenced, (NONE, NONE)).0;
        while next != NONE {
            let place = next;
            next = self.jobs[place].next;
            let waited = self.now - self.jobs[place].mark;
            self.spend(place, Part::Takeover, waited);
            let job = &self.jobs[place];
            match (usize::from(job.gate), job.rates_met) {
                (PORTS, _) => self.pass(place, PORTS),
                (_, 0) => self.enter(place),
                _ => self.go_in(place),
            }
        }
    }

    /// Whether nobody answers I/Os of a target now: its volume's controller has failed, or the one they are sent to.
    #[cold]
    pub(super) fn is_silent(&self, target: &Target) -> bool {
        let sent_to = target.via.map(|via| self.controllers[usize::from(via)].silent_until);
        let of_volume = self.volumes[usize::from(target.volume)].silent_until;
        of_volume.max(sent_to.unwrap_or_default()) > self.now
    }

    /// A host I/O waits until somebody answers; it has the places that its host gives, and none at ports.
    #[cold]
    pub(super) fn wait_for_takeover(&mut self, place: u32) {
        (self.jobs[place].mark, self.jobs[place].next) = (self.now, NONE);
        match self.silenced.1 {
            NONE => self.silenced.0 = place,
            last => self.jobs[last].next = place,
        }
        self.silenced.1 = place;
    }

    /// The controller that I/Os of a target are sent to: the one it names, if that works, else the owner.
    #[inline]
    pub(super) fn way_to(&self, target: &Target) -> u16 {
        let owner = self.volumes[usize::from(target.volume)].owner;
        target.via.filter(|via| !self.controllers[usize::from(*via)].failed).unwrap_or(owner)
    }

    /// The next controller in the design that works, other than this one.
    #[inline]
    pub(super) fn next_working(&self, than: u16) -> Option<u16> {
        let count = self.controllers.len() as u16;
        let mut next = than;
        loop {
            next = if next + 1 < count { next + 1 } else { 0 };
            if next == than || count < 2 {
                return None;
            }
            if !self.controllers[usize::from(next)].failed {
                return Some(next);
            }
        }
    }

    fn working(&self) -> usize {
        self.controllers.iter().filter(|controller| !controller.failed).count()
    }

    fn volumes_of(&self, controller: usize) -> impl Iterator<Item = usize> {
        let owned = move |index: &usize| usize::from(self.volumes[*index].owner) == controller;
        (0..self.volumes.len()).filter(owned)
    }

    fn failure(&self, failing: usize, next: u16, takeover: Nanos, volumes: &[usize]) -> What {
        What::ControllerFailed {
            controller: self.controllers[failing].name.clone(),
            to: self.controllers[usize::from(next)].name.clone(),
            takeover_ns: takeover,
            volumes: volumes.iter().map(|&index| self.volumes[index].name.clone()).collect(),
        }
    }

    /// Volumes with writes that nobody but the failed controller had are lost.
    fn lose_what_has_no_copy(&mut self, failing: usize, taken: &[usize]) {
        let Some(memory) = self.cache.as_ref().filter(|memory| !memory.mirrored) else { return };
        let mut bytes = vec![0; self.volumes.len()];
        memory.each_dirty(|key, offset, length| {
            let group = Memory::group_and_page(key).0;
            let volumes = taken.iter().filter(|&&index| self.volumes[index].holds(group, offset));
            volumes.for_each(|&index| bytes[index] += length);
        });
        for &volume in taken.iter().filter(|&&index| bytes[index] > 0) {
            let controller = self.controllers[failing].name.clone();
            self.lost_data(volume, Some(LostCache { controller, bytes: bytes[volume] }));
        }
    }

    fn forget_clean_pages(&mut self, failing: usize) {
        let volumes = &self.volumes;
        let Some(memory) = &mut self.cache else { return };
        memory.forget_clean(|group, offset| usize::from(owner_of(volumes, group, offset)) == failing);
    }

    /// Memory is what the controllers that work have.
    fn fit_memory(&mut self) {
        let (working, all) = (self.working(), self.controllers.len());
        if let Some(memory) = &mut self.cache {
            memory.fit(working, all);
        }
        self.let_in();
    }

    fn write_through_alone(&mut self, controller: usize) {
        if std::mem::replace(&mut self.controllers[controller].cache_lost, true) {
            return;
        }
        self.controllers[controller].is_alone = true;
        let controller = self.controllers[controller].name.clone();
        self.happened(false, What::CacheLost { controller }, None);
    }
}
