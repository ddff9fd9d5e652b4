//! What it takes to write a part of a stripe with parity.
//!
//! Read-modify-write reads the old data and the old parity, reconstruct-write the data that is not written; a full
//! stripe reads nothing. The choice is by the number of reads, so that RAID 5 reconstructs from about half a stripe on
//! (the threshold of DiskSim's "RMW vs. reconstruct" parameter; Patterson, Gibson and Katz 1988 for the phases). On a
//! stripe with failed drives what they held is computed from the others.

use storscope_types::design::ParityUpdate;

use super::map::{Map, Place};

/// A run of bytes of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Position in the stripe.
    pub position: u64,
    /// First byte within the segment.
    pub start: u64,
    /// Byte after the last.
    pub end: u64,
}

/// How the parity is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateKind {
    /// Everything is new.
    FullStripe,
    /// From the old data and the old parity.
    ReadModifyWrite,
    /// From the data that is not written.
    ReconstructWrite,
    /// From as much of what is left as computes the rest: the stripe has lost what is partly written.
    Recover,
    /// No parity is left to update.
    NoParity,
}

/// A write to a part of one stripe, or to several full ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// The first stripe.
    pub stripe: u64,
    /// First byte within the stripe's data.
    pub start: u64,
    /// Byte after the last; beyond the stripe's data where the next ones are written in full, too.
    pub end: u64,
}

impl Update {
    /// The stripes that are written.
    pub fn stripes(&self, map: &Map) -> std::ops::Range<u64> {
        self.stripe..self.stripe + (self.end / map.stripe_bytes()).max(1)
    }

    /// The part of a data segment that is written; empty when start is not below end.
    fn covered(&self, map: &Map, index: u64) -> (u64, u64) {
        let base = index * map.segment();
        (self.start.max(base) - base, self.end.clamp(base, base + map.segment()) - base)
    }

    #[inline]
    fn touched(&self, map: &Map) -> std::ops::RangeInclusive<u64> {
        map.segment_at(self.start).0..=map.segment_at(self.end - 1).0
    }

    /// The parts of a parity segment that change: one, or two when the end of one data segment and the beginning of the
    /// next are written and leave a gap.
    #[inline]
    fn changed(&self, map: &Map) -> [(u64, u64); 2] {
        let segment = map.segment();
        let ((first, from), (last, last_byte)) = (map.segment_at(self.start), map.segment_at(self.end - 1));
        let to = last_byte + 1;
        if first == last {
            [(from, to), (0, 0)]
        } else if last == first + 1 && to < from {
            [(0, to), (from, segment)]
        } else {
            [(0, segment), (0, 0)]
        }
    }

    /// The new data.
    pub fn new_data(&self, map: &Map, mut emit: impl FnMut(Slice)) {
        for index in self.touched(map) {
            let (start, end) = self.covered(map, index);
            emit(Slice { position: map.position_of_data(self.stripe, index), start, end });
        }
    }

    /// The parity that changes.
    pub fn parity(&self, map: &Map, mut emit: impl FnMut(Slice)) {
        for (start, end) in self.changed(map).into_iter().filter(|range| range.0 < range.1) {
            for index in 0..map.parity() {
                emit(Slice { position: map.position_of_parity(self.stripe, index), start, end });
            }
        }
    }

    /// The data beside the new that the changed parity covers, too.
    fn other_data(&self, map: &Map, mut emit: impl FnMut(Slice)) {
        for (from, to) in self.changed(map).into_iter().filter(|range| range.0 < range.1) {
            for index in 0..map.data() {
                let position = map.position_of_data(self.stripe, index);
                let (start, end) = self.covered(map, index);
                if start >= end || end <= from || start >= to {
                    emit(Slice { position, start: from, end: to });
                    continue;
                }
                if start > from {
                    emit(Slice { position, start: from, end: start });
                }
                if end < to {
                    emit(Slice { position, start: end, end: to });
                }
            }
        }
    }

    /// How the parity of a stripe that has lost nothing is made: [`Update::choose`] without going through all positions.
    #[inline]
    #[must_use]
    pub fn choose_intact(&self, map: &Map, policy: ParityUpdate) -> UpdateKind {
        if self.start == 0 && self.end >= map.stripe_bytes() {
            return UpdateKind::FullStripe;
        }
        let prefers_modify = match policy {
            _ if map.parity() == 0 => return UpdateKind::NoParity,
            ParityUpdate::Cheaper => self.modify_is_cheaper(map),
            ParityUpdate::ReadModifyWrite => true,
            ParityUpdate::ReconstructWrite => false,
        };
        if prefers_modify { UpdateKind::ReadModifyWrite } else { UpdateKind::ReconstructWrite }
    }

    /// Whether read-modify-write does not read more slices than reconstruct-write. Of data segments that are not written
    /// the latter reads one slice for each range of the parity that changes.
    #[inline]
    fn modify_is_cheaper(&self, map: &Map) -> bool {
        let touched = self.touched(map);
        let written = touched.end() - touched.start() + 1;
        if written == 1 {
            return 1 + map.parity() < map.data();
        }
        let ranges = self.changed(map).into_iter().filter(|range| range.0 < range.1);
        let (mut modify, mut reconstruct) = (written, 0);
        for (from, to) in ranges {
            modify += map.parity();
            reconstruct += map.data() - written;
            for index in touched.clone() {
                let (start, end) = self.covered(map, index);
                let apart = start >= end || end <= from || start >= to;
                reconstruct += if apart { 1 } else { u64::from(start > from) + u64::from(end < to) };
            }
        }
        modify <= reconstruct
    }

    /// How the parity is made, with `alive` telling which positions can be used.
    pub fn choose(&self, map: &Map, policy: ParityUpdate, alive: impl Fn(u64) -> bool) -> UpdateKind {
        if self.start == 0 && self.end >= map.stripe_bytes() {
            return UpdateKind::FullStripe;
        }
        let parity_left = (0..map.parity()).any(|index| alive(map.position_of_parity(self.stripe, index)));
        if !parity_left {
            return UpdateKind::NoParity;
        }
        let (modify, modify_sound) = self.cost(|emit| self.new_data(map, emit), &alive);
        let (reconstruct, reconstruct_sound) = self.cost(|emit| self.other_data(map, emit), &alive);
        let parity = self.cost(|emit| self.parity(map, emit), &alive).0;
        let prefers_modify = match policy {
            ParityUpdate::Cheaper => modify + parity <= reconstruct,
            ParityUpdate::ReadModifyWrite => true,
            ParityUpdate::ReconstructWrite => false,
        };
        match (modify_sound, reconstruct_sound) {
            (true, sound) if prefers_modify || !sound => UpdateKind::ReadModifyWrite,
            (_, true) => UpdateKind::ReconstructWrite,
            (_, false) => UpdateKind::Recover,
        }
    }

    /// How many slices are read, and whether all of them can be.
    fn cost(&self, slices: impl FnOnce(&mut dyn FnMut(Slice)), alive: &impl Fn(u64) -> bool) -> (u64, bool) {
        let (mut count, mut sound) = (0, true);
        slices(&mut |slice| {
            if alive(slice.position) {
                count += 1;
            } else {
                sound = false;
            }
        });
        (count, sound)
    }

    /// What has to be read first, with `alive` telling which positions can be used. Slices on others are emitted as well, but
    /// where what is lost is computed: from as many segments as a stripe has data.
    pub fn reads(&self, map: &Map, kind: UpdateKind, alive: impl Fn(u64) -> bool, mut emit: impl FnMut(Slice)) {
        match kind {
            UpdateKind::FullStripe | UpdateKind::NoParity => {}
            UpdateKind::ReadModifyWrite => {
                self.new_data(map, &mut emit);
                self.parity(map, &mut emit);
            }
            UpdateKind::ReconstructWrite => self.other_data(map, emit),
            UpdateKind::Recover => {
                for (start, end) in self.changed(map).into_iter().filter(|range| range.0 < range.1) {
                    let left = map.recovery_order(self.stripe).filter(|&position| alive(position));
                    left.take(map.data() as usize).for_each(|position| emit(Slice { position, start, end }));
                }
            }
        }
    }

    /// Bytes that go through the parity computation: the new data and what was read for it.
    #[must_use]
    pub fn parity_bytes(&self, map: &Map, kind: UpdateKind) -> u64 {
        if kind == UpdateKind::ReadModifyWrite {
            let parity: u64 = self.changed(map).into_iter().map(|(from, to)| to - from).sum();
            return 2 * (self.end - self.start) + parity * map.parity();
        }
        let mut bytes = if kind == UpdateKind::NoParity { 0 } else { self.end - self.start };
        self.reads(map, kind, |_| true, |slice| bytes += slice.end - slice.start);
        bytes
    }
}

impl Slice {
    /// Where it lies.
    #[inline]
    #[must_use]
    pub fn place(&self, map: &Map, stripe: u64) -> Place {
        let segment = map.place(stripe, self.position);
        Place { drive: segment.drive, offset: segment.offset + self.start }
    }
}
