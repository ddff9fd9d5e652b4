//! How the groups of an array share its destages.

use super::group::Group;
use crate::kernel::Divisor;

/// Most bytes of a destage, whatever the number of drives.
const MOST_BYTES: u64 = 1 << 30;

/// The destages under way, counted in segments of data: what is written side by side.
#[derive(Debug, Clone)]
pub struct Sharing {
    groups: Vec<Share>,
    underway: usize,
}

/// A group's part.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Of what all groups destage at a time.
    part: f64,
    underway: usize,
    /// One destage stays within a window of so many bytes of the group's space.
    window: Divisor,
}

impl Sharing {
    /// Of these groups; `run` and `most` limit the window as in [`crate::layout::Map::window`].
    #[must_use]
    pub fn new(groups: &[Group], run: u64, most: u64) -> Self {
        let all: usize = groups.iter().map(Group::destages).sum();
        let share = |group: &Group| Share {
            part: group.destages() as f64 / all as f64,
            underway: 0,
            window: Divisor::new(group.map.window(run, most.min(MOST_BYTES))),
        };
        Self { groups: groups.iter().map(share).collect(), underway: 0 }
    }

    /// All that is under way.
    #[inline]
    #[must_use]
    pub fn underway(&self) -> usize {
        self.underway
    }

    /// Bytes of a group's space that one destage stays within.
    #[inline]
    #[must_use]
    pub fn window(&self, group: u16) -> Divisor {
        self.groups[usize::from(group)].window
    }

    /// A destage of so many segments begins.
    #[inline]
    pub fn begins(&mut self, group: u16, segments: usize) {
        self.underway += segments;
        self.groups[usize::from(group)].underway += segments;
    }

    /// It is done.
    #[inline]
    pub fn ends(&mut self, group: u16, segments: usize) {
        self.underway -= segments;
        self.groups[usize::from(group)].underway -= segments;
    }

    /// Of the groups with something dirty that have less than their share of what is allowed, the one that lacks most; of
    /// those that lack as much, as all do that have nothing under way, the one of which `age` tells most.
    #[inline]
    pub fn next(
        &self,
        allowed: usize,
        is_dirty: impl Fn(usize) -> bool,
        age: impl Fn(usize) -> Option<u32>,
    ) -> Option<u16> {
        if self.groups.len() == 1 {
            return is_dirty(0).then_some(0);
        }
        let (mut best, mut least, mut oldest) = (None, f64::INFINITY, None);
        for (index, group) in self.groups.iter().enumerate() {
            let (load, limit) = (group.underway as f64 / group.part, allowed as f64);
            if load > least || (load >= limit && group.underway > 0) || !is_dirty(index) {
                continue;
            }
            let age = age(index);
            if load < least || age > oldest {
                (best, least, oldest) = (Some(index as u16), load, age);
            }
        }
        best
    }
}
