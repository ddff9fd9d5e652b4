//! Rebuilding what a failed drive of a pool had: along the drive, segment by segment.
//!
//! Each segment of it belongs to another stripe, and the rest of that lies on other drives. A step takes those of a chunk
//! together: what adjoins on a drive is one read, and what goes to one drive is written at once. What lies before the chunks
//! under way is rebuilt, and read where it is now.
//!
//! What has lost too much is passed over, and counts as rebuilt from then on: the volumes that own it are lost.

use std::ops::Range;

use super::group::Group;
use super::issue::{PlannedOp, join};

/// A segment of a failed drive: where it lay, and what it is of its stripe.
#[derive(Debug, Clone, Copy)]
struct Unit {
    offset: u64,
    stripe: u64,
    position: u64,
}

impl Group {
    /// Plans what is read to compute a range of a failed drive, which is known by its place in the list. Returns the first
    /// stripe that is rebuilt, and how many bytes are.
    pub(super) fn plan_recovery_of(&self, dead: usize, range: Range<u64>, plan: &mut Vec<PlannedOp>) -> (u64, u64) {
        let (mut first, mut bytes) = (None, 0);
        for unit in self.units(dead, range) {
            if self.plan_recovery_of_unit(&unit, plan) {
                first = first.or(Some(unit.stripe));
                bytes += self.map.segment();
            }
        }
        join(plan);
        (first.unwrap_or(0), bytes)
    }

    /// Plans where it is written to.
    pub(super) fn plan_rebuilt(&self, dead: usize, range: Range<u64>, plan: &mut Vec<PlannedOp>) {
        for unit in self.units(dead, range) {
            let before = plan.len();
            let is_there = self.plan_recovery_of_unit(&unit, plan);
            plan.truncate(before);
            if let Some(place) = self.spare_place(&self.dead[dead], unit.offset).filter(|_| is_there) {
                plan.push(PlannedOp { place, length: self.map.segment() as u32 });
            }
        }
        join(plan);
    }

    /// Plans the reads of as much of a stripe as computes one of its segments; none if too little is left, which is told.
    fn plan_recovery_of_unit(&self, unit: &Unit, plan: &mut Vec<PlannedOp>) -> bool {
        let before = plan.len();
        let mut missing = if self.map.copies() > 1 { 1 } else { self.map.data() };
        for position in self.recovery_order(unit.stripe).filter(|&position| position != unit.position) {
            if missing == 0 {
                break;
            }
            if let Some(place) = self.locate(unit.stripe, position, 0) {
                plan.push(PlannedOp { place, length: self.map.segment() as u32 });
                missing -= 1;
            }
        }
        if missing > 0 {
            plan.truncate(before);
        }
        missing == 0
    }

    /// The segments of a range of a failed drive that belong to stripes.
    fn units(&self, dead: usize, range: Range<u64>) -> impl Iterator<Item = Unit> {
        let (drive, end) = (self.dead[dead].drive, range.end.min(self.map.used_of_drive()));
        let unit = move |offset| {
            let (stripe, position) = self.map.unit_at(drive, offset)?;
            Some(Unit { offset, stripe, position })
        };
        (range.start..end).step_by(self.map.segment() as usize).filter_map(unit)
    }
}
