//! Rebuilding what a failed drive of a pool had: along the drive, segment by segment.
//!
//! Each segment of it belongs to another stripe, and the rest of that lies on other drives. A step takes those of a chunk
//! together: what adjoins on a drive is one read, and what goes to one drive is written at once. What lies before the chunks
//! under way is rebuilt, and read where it is now.
//!
//! Distributed sparing is there to rebuild faster: all drives read and write a part of what one held (Holland and Gibson,
//! "Parity declustering for continuous operation in redundant disk arrays", 1992; Muntz and Lui, "Performance analysis of disk
//! arrays under failure", 1990). Where some segments are read to compute one that is written, the drives that are left of N do
//! that in no less than the bytes of one x (reads + 1) / (N - 1) over the rate of a drive; seeks come on top.
//!
//! Where stripes are handed out in extents larger than a chunk, the chunks of several extents take turns.
//!
//! What has lost too much is passed over, and counts as rebuilt from then on: the volumes that own it are lost.

use std::ops::Range;

use storscope_types::design::BackgroundKind;

use super::group::Group;
use super::issue::{PlannedOp, join};

/// As many as a design may ask for.
const MOST_OUTSTANDING: u32 = 256;

/// Steps at a time, unless the design says otherwise: one; of a rebuild of a pool as many as it has drives besides the failed
/// one, so that each of them has something to write. With four times as many, idle pools are 4 to 17 % faster.
pub(super) fn usual_outstanding(kind: BackgroundKind, group: &Group) -> u32 {
    let is_spread = kind == BackgroundKind::Rebuild && !group.map.has_rows();
    if is_spread { (group.count - 1).clamp(1, MOST_OUTSTANDING) } else { 1 }
}

/// In which order the chunks of a failed drive are rebuilt: of several extents in turn. All of an extent is read from the same
/// few drives; chunk after chunk of one, the others would have nothing to do. (Arrays that hand out extents rebuild many side
/// by side, as their makers say; how many is a choice of this model: as many as steps are under way.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    /// Chunks of an extent; 1 where a chunk is one or more.
    chunks: u64,
    /// Extents that take turns.
    extents: u64,
}

impl Order {
    pub(super) fn new(extent_bytes: u64, chunk_bytes: u64, outstanding: u32) -> Self {
        let is_whole = extent_bytes.is_multiple_of(chunk_bytes);
        let chunks = if is_whole { extent_bytes / chunk_bytes } else { 1 };
        Self { chunks, extents: outstanding.max(1).into() }
    }

    /// The chunk that a step of so many takes. Each extent begins with another of its chunks, so that those beside each other
    /// in time are written to different drives. What fills no round of extents at the end goes chunk by chunk.
    pub(super) fn chunk(self, step: u64, steps: u64) -> u64 {
        let round = self.chunks * self.extents;
        let (first, within) = (step / round * round, step % round);
        if self.chunks == 1 || first + round > steps {
            return step;
        }
        let (turn, extent) = (within / self.extents, within % self.extents);
        first + extent * self.chunks + (turn + extent) % self.chunks
    }

    /// How many chunks from the first on are surely done once all steps before one are.
    pub(super) fn chunks_before(self, step: u64, steps: u64) -> u64 {
        let round = self.chunks * self.extents;
        let first = step / round * round;
        if self.chunks == 1 || first + round > steps { step } else { first }
    }
}

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
        for position in self.map.recovery_order(unit.stripe).filter(|&position| position != unit.position) {
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

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn each_chunk_has_its_turn_once_and_what_is_told_as_done_is() {
        for (extent, outstanding, steps) in [(1, 11, 100), (16, 11, 1_000), (256, 23, 20_000), (4, 1, 37), (3, 5, 15)] {
            let order = Order::new(extent << 20, 1 << 20, outstanding);
            let taken: Vec<u64> = (0..steps).map(|step| order.chunk(step, steps)).collect();
            let mut sorted = taken.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..steps), "{extent} MiB, {outstanding}");
            let mut is_done = vec![false; steps as usize];
            let mut in_a_row = 0;
            for step in 0..=steps {
                assert!(order.chunks_before(step, steps) <= in_a_row, "{extent} MiB, {outstanding}, {step}");
                if let Some(&chunk) = taken.get(step as usize) {
                    is_done[chunk as usize] = true;
                }
                while is_done.get(in_a_row as usize) == Some(&true) {
                    in_a_row += 1;
                }
            }
        }
    }

    #[test]
    fn steps_under_way_together_are_of_different_extents() {
        let order = Order::new(16 << 20, 1 << 20, 11);
        let mut extents: Vec<u64> = (0..11).map(|step| order.chunk(step, 1_000) / 16).collect();
        extents.sort_unstable();
        assert!(extents.into_iter().eq(0..11));
        assert!((0..11).map(|step| order.chunk(step, 1_000) % 16).eq(0..11), "each begins elsewhere");
    }
}
