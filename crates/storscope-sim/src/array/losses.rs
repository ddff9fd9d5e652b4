//! What is lost when more drives fail than a layout survives.
//!
//! A set of drives (a mirror pair, the drives of a RAID 5 or 6, one span of a RAID 50 or 60, one drive of a RAID 0) with
//! more failed members than its redundancy makes up for has failed, from that instant on and as a whole: controllers take it
//! offline, and Linux md has too few members to run it (drivers/md/raid5.c:has_failed, raid10.c:enough). All volumes with
//! space on it are lost, what was rebuilt of a member before included: no product goes on with a part of a set. A member
//! counts as failed until its rebuild has ended.
//!
//! A pool has no sets. There a volume is lost if it owns a stripe of which too much is neither on a drive that works nor
//! rebuilt; other volumes live on, and the rebuild passes over what it can read no more.
//!
//! Where writes go to a log, a volume may own any stripe of the group: all volumes of it are lost then.

use storscope_types::design::{BackgroundKind, Placement};

use super::Array;
use super::group::{Dead, Group};
use super::happening::What;
use super::target::Volume;

/// Where a volume that is not lost lies in its group's space, and its index.
struct Extent {
    start: u64,
    end: u64,
    volume: usize,
}

impl Array {
    /// A drive of a group has failed: gives up its set if that has failed with it, and loses what is lost. Returns whether a
    /// rebuild was given up.
    #[cold]
    pub(super) fn lose_beyond_redundancy(&mut self, index: usize, drive: u32) -> bool {
        let group = &self.groups[index];
        if !group.map.has_rows() {
            self.lose_stripes(index, drive);
            return false;
        }
        let set = u64::from(drive) / group.map.width();
        if !group.has_failed(set) {
            return false;
        }
        let gave_up = self.give_up(index, set);
        let in_log = self.writes_to_log();
        for volume in 0..self.volumes.len() {
            let Volume { start, size, .. } = self.volumes[volume];
            let is_there = || in_log || self.groups[index].map.touches(set, start, start + size);
            if usize::from(self.volumes[volume].group) == index && is_there() {
                self.lost_data(volume, None);
            }
        }
        gave_up
    }

    /// Nothing of a set that has failed is rebuilt any more. Returns whether something was.
    fn give_up(&mut self, index: usize, set: u64) -> bool {
        let rebuilds = |task: &super::background::Task| {
            let rebuilds = task.running && task.kind == BackgroundKind::Rebuild && task.group == index;
            rebuilds && self.groups[index].set_of(task.dead) == Some(set)
        };
        let running = self.tasks.iter().position(rebuilds);
        self.groups[index].give_up(set);
        let Some(task) = running else { return false };
        self.halt_task(task);
        self.happened(false, What::TaskFailed(self.task_names(task)), None);
        true
    }

    /// Of a pool: loses the volumes that own a stripe with too little left. Whatever is lost now has a part on the drive that
    /// failed last, of which nothing is rebuilt yet.
    fn lose_stripes(&mut self, index: usize, drive: u32) {
        let (group, left) = (&self.groups[index], self.alive_in(index));
        let failed = group.dead.iter().filter(|dead| dead.is_failed()).count() as u64;
        if failed <= group.map.tolerance() {
            return;
        }
        let mut is_lost = vec![false; left.len()];
        if self.writes_to_log() {
            is_lost.fill(stripes_on(group, drive).any(|stripe| group.has_lost(stripe)));
        } else {
            find_lost(group, drive, &left, &mut is_lost);
        }
        let lost = left.iter().zip(&is_lost).filter(|(_, is_lost)| **is_lost);
        let mut volumes: Vec<usize> = lost.map(|(extent, _)| extent.volume).collect();
        volumes.sort_unstable();
        volumes.into_iter().for_each(|volume| self.lost_data(volume, None));
    }

    /// The volumes of a group that are not lost, in the order of its space.
    fn alive_in(&self, index: usize) -> Vec<Extent> {
        let lives = |volume: &Volume| usize::from(volume.group) == index && !volume.has_lost;
        let extent = |(at, one): (usize, &Volume)| Extent { start: one.start, end: one.start + one.size, volume: at };
        let mut extents: Vec<Extent> =
            self.volumes.iter().enumerate().filter(|(_, volume)| lives(volume)).map(extent).collect();
        extents.sort_unstable_by_key(|extent| extent.start);
        extents
    }

    /// Where in a log a volume's data go is not known.
    fn writes_to_log(&self) -> bool {
        self.cache.as_ref().is_some_and(|memory| memory.placement == Placement::Log)
    }
}

/// Which extents of a pool have a stripe that has lost too much with a drive.
fn find_lost(group: &Group, drive: u32, extents: &[Extent], is_lost: &mut [bool]) {
    let (bytes, mut left) = (group.map.stripe_bytes(), extents.len());
    for stripe in stripes_on(group, drive) {
        let (from, to) = (stripe * bytes, (stripe + 1) * bytes);
        let first = extents.partition_point(|extent| extent.end <= from);
        let beyond = first + extents[first..].iter().take_while(|extent| extent.start < to).count();
        let of_stripe = &mut is_lost[first..beyond];
        if of_stripe.iter().all(|is_lost| *is_lost) || !group.has_lost(stripe) {
            continue;
        }
        left -= of_stripe.iter().filter(|is_lost| !**is_lost).count();
        of_stripe.fill(true);
        if left == 0 {
            return;
        }
    }
}

/// The stripes of a pool with a part on a drive.
fn stripes_on(group: &Group, drive: u32) -> impl Iterator<Item = u64> {
    let offsets = (0..group.map.used_of_drive()).step_by(group.map.segment() as usize);
    offsets.filter_map(move |offset| group.map.unit_at(drive, offset).map(|unit| unit.0))
}

impl Group {
    /// The set of a failed drive, by its place in the list; a pool has none.
    fn set_of(&self, dead: usize) -> Option<u64> {
        let dead = self.dead.get(dead).filter(|_| self.map.has_rows())?;
        Some(u64::from(dead.drive) / self.map.width())
    }

    /// Whether more members of a set have failed than its redundancy makes up for.
    fn has_failed(&self, set: u64) -> bool {
        let of_set = |dead: &&Dead| dead.is_failed() && u64::from(dead.drive) / self.map.width() == set;
        self.dead.iter().filter(of_set).count() as u64 > self.map.tolerance()
    }

    fn give_up(&mut self, set: u64) {
        let width = self.map.width();
        let of_set = self.dead.iter_mut().filter(|dead| dead.is_failed() && u64::from(dead.drive) / width == set);
        of_set.for_each(|dead| dead.is_given_up = true);
    }
}
