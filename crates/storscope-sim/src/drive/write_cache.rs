//! The buffer of a mechanical drive for writes: extents that are dirty until the arm has time.
//!
//! Adjacent writes join one extent, writes into an extent are absorbed. What is not there: forced writes, a time after which
//! data is written at the latest, and loss on power failure.

use storscope_types::design::drive::{WriteBackOrder, WriteCacheDesign};

use super::arm::Stretch;

/// Addresses are told apart by chunks of 64 KiB when it is asked whether an extent can be near at all.
const CHUNK_BITS: u32 = 16;
/// Counters of the chunks: a power of two, several times the usual number of extents.
const COUNTER_BITS: u32 = 11;

/// The dirty extents, oldest first.
#[derive(Debug)]
pub struct WriteCache {
    /// Those before `head` are gone.
    extents: Vec<Extent>,
    head: usize,
    /// How many extents touch the chunks that share a counter: where it is zero, no extent has to be looked at.
    touching: Vec<u16>,
    window: usize,
    most_extents: usize,
    most_bytes: u64,
    dirty_bytes: u64,
    /// Extents of a batch, the writes that must wait for one, and what is left of the present one.
    batch: usize,
    batch_from: usize,
    batch_left: usize,
    order: WriteBackOrder,
}

/// What has to be written to the media in one go.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extent {
    /// Where it starts.
    pub stretch: Stretch,
    /// Behind its last byte.
    pub end: u64,
}

impl WriteCache {
    /// An empty cache.
    pub fn new(design: &WriteCacheDesign) -> Self {
        let most_extents = design.extents as usize;
        Self {
            extents: Vec::with_capacity(2 * most_extents + 1),
            head: 0,
            touching: vec![0; 1 << COUNTER_BITS],
            window: design.window as usize,
            most_extents,
            most_bytes: design.size.0,
            dirty_bytes: 0,
            batch: design.batch_extents() as usize,
            batch_from: design.batch_from as usize,
            batch_left: 0,
            order: design.order,
        }
    }

    /// Begins a batch if none is under way, if it is places that are short, and enough writes wait. Where bytes are short,
    /// as with sequential streams, extents go one at a time: they would be small behind a batch.
    #[inline]
    pub fn batch_for(&mut self, writes_waiting: usize) {
        let live = self.live().len();
        if self.batch_left == 0 && writes_waiting >= self.batch_from && live >= self.most_extents {
            self.batch_left = self.batch.min(live);
        }
    }

    /// Whether all is on the media.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.dirty_bytes == 0
    }

    /// Whether the drive takes no write until a batch is written back.
    #[inline]
    pub fn is_in_batch(&self) -> bool {
        self.batch_left > 0
    }

    /// How the next extent is chosen.
    #[inline]
    pub fn order(&self) -> WriteBackOrder {
        self.order
    }

    /// The extent that starts at a byte or next behind it, or else the first of all.
    pub fn next_by_address(&self, from: u64) -> Option<usize> {
        let live = self.live().iter().enumerate();
        // Those before `from` are a whole turn of the address space away.
        live.min_by_key(|(_, extent)| extent.stretch.offset.wrapping_sub(from)).map(|(index, _)| index)
    }

    /// One of the extents, oldest first.
    #[inline]
    pub fn extent(&self, index: usize) -> &Extent {
        &self.live()[index]
    }

    /// Takes a write if there is room. `place` finds where a new extent starts.
    #[inline]
    pub fn take(&mut self, start: u64, end: u64, place: impl FnOnce(u64) -> Stretch) -> bool {
        let is_near = self.is_near(start);
        if is_near && self.live().iter().any(|extent| extent.stretch.offset <= start && end <= extent.end) {
            return true;
        }
        let bytes = end - start;
        // A write larger than the cache passes through it when it is empty.
        let room = self.dirty_bytes + bytes <= self.most_bytes || self.dirty_bytes == 0;
        if !room {
            return false;
        }
        let before = if is_near { self.live().iter().position(|extent| extent.end == start) } else { None };
        if let Some(index) = before {
            self.extents[self.head + index].end = end;
            self.touch((start >> CHUNK_BITS) + 1, end >> CHUNK_BITS, u16::wrapping_add);
        } else if self.live().len() < self.most_extents {
            self.push(Extent { stretch: place(start), end });
            self.touch(start >> CHUNK_BITS, end >> CHUNK_BITS, u16::wrapping_add);
        } else {
            return false;
        }
        self.dirty_bytes += bytes;
        true
    }

    /// Whether the bytes are all in one dirty extent.
    #[inline]
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.is_near(start) && self.live().iter().any(|extent| extent.stretch.offset <= start && end <= extent.end)
    }

    /// The extents among which the arm chooses.
    #[inline]
    pub fn candidates(&self) -> &[Extent] {
        let live = self.live();
        &live[..self.window.min(live.len())]
    }

    /// Hands an extent to the arm. Its bytes are free only when [`WriteCache::written`] says so.
    pub fn remove(&mut self, index: usize) -> Extent {
        let extent = self.extents[self.head + index];
        self.extents.copy_within(self.head..self.head + index, self.head + 1);
        self.head += 1;
        self.batch_left = self.batch_left.saturating_sub(1);
        self.touch(extent.stretch.offset >> CHUNK_BITS, extent.end >> CHUNK_BITS, u16::wrapping_sub);
        extent
    }

    /// An extent is on the media.
    pub fn written(&mut self, extent: &Extent) {
        self.dirty_bytes -= extent.end - extent.stretch.offset;
    }

    #[inline]
    fn live(&self) -> &[Extent] {
        &self.extents[self.head..]
    }

    /// Appends; what is gone makes room once it is as much as what may be there.
    #[inline]
    fn push(&mut self, extent: Extent) {
        if self.head >= self.most_extents {
            self.extents.drain(..self.head);
            self.head = 0;
        }
        self.extents.push(extent);
    }

    /// Whether an extent may hold the byte, or end before it.
    #[inline]
    fn is_near(&self, byte: u64) -> bool {
        self.touching[counter(byte >> CHUNK_BITS)] > 0
    }

    /// Counts an extent in or out of the chunks from `first` to `last`.
    #[inline]
    fn touch(&mut self, first: u64, last: u64, count: impl Fn(u16, u16) -> u16) {
        for chunk in first..=last {
            let counter = &mut self.touching[counter(chunk)];
            *counter = count(*counter, 1);
        }
    }
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, 6.4).
#[inline]
fn counter(chunk: u64) -> usize {
    (chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - COUNTER_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::{Extent, WriteCache};
    use crate::drive::arm::Stretch;
    use storscope_types::Bytes;
    use storscope_types::design::drive::{WriteBackOrder, WriteCacheDesign};

    /// The same by looking at every extent every time.
    #[derive(Default)]
    struct Plain {
        extents: Vec<(u64, u64)>,
        dirty: u64,
    }

    impl Plain {
        fn take(&mut self, start: u64, end: u64, most: usize, most_bytes: u64) -> bool {
            if self.holds(start, end) {
                return true;
            }
            if self.dirty > 0 && self.dirty + end - start > most_bytes {
                return false;
            }
            if let Some(extent) = self.extents.iter_mut().find(|extent| extent.1 == start) {
                extent.1 = end;
            } else if self.extents.len() < most {
                self.extents.push((start, end));
            } else {
                return false;
            }
            self.dirty += end - start;
            true
        }

        fn holds(&self, start: u64, end: u64) -> bool {
            self.extents.iter().any(|extent| extent.0 <= start && end <= extent.1)
        }
    }

    #[test]
    fn what_is_passed_over_makes_no_difference() {
        let design = WriteCacheDesign {
            size: Bytes::from_mib(1),
            extents: 16,
            accept: None,
            window: 4,
            order: WriteBackOrder::Nearest,
            batch: None,
            batch_from: 3,
        };
        let (mut cache, mut plain) = (WriteCache::new(&design), Plain::default());
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..100_000 {
            let start = draw(256) * 16_384;
            let end = start + (1 + draw(8)) * 16_384;
            assert_eq!(cache.holds(start, end), plain.holds(start, end));
            let place = |offset| Stretch { offset, ..Stretch::default() };
            assert_eq!(cache.take(start, end, place), plain.take(start, end, 16, 1 << 20));
            if draw(3) == 0 && !plain.extents.is_empty() {
                let index = draw(plain.extents.len().min(4) as u64) as usize;
                let (from, to) = plain.extents.remove(index);
                plain.dirty -= to - from;
                let Extent { stretch, end } = cache.remove(index);
                assert_eq!((stretch.offset, end), (from, to));
                cache.written(&Extent { stretch, end });
            }
        }
    }
}
