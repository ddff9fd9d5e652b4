//! The buffer of a mechanical drive for writes: extents that are dirty until the arm has time.
//!
//! Adjacent writes join one extent, writes into an extent are absorbed. What is not there: flushes and forced writes, a
//! time after which data is written at the latest, and loss on power failure.

use storscope_types::design::drive::WriteCacheDesign;

use super::arm::Stretch;

/// The dirty extents, oldest first.
#[derive(Debug)]
pub struct WriteCache {
    extents: Vec<Extent>,
    window: usize,
    most_extents: usize,
    most_bytes: u64,
    dirty_bytes: u64,
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
        Self {
            extents: Vec::with_capacity(design.extents as usize + 1),
            window: design.window as usize,
            most_extents: design.extents as usize,
            most_bytes: design.size.0,
            dirty_bytes: 0,
        }
    }

    /// Takes a write if there is room. `place` finds where a new extent starts.
    #[inline]
    pub fn take(&mut self, start: u64, end: u64, place: impl FnOnce(u64) -> Stretch) -> bool {
        if self.extents.iter().any(|extent| extent.stretch.offset <= start && end <= extent.end) {
            return true;
        }
        let bytes = end - start;
        // A write larger than the cache passes through it when it is empty.
        let room = self.dirty_bytes + bytes <= self.most_bytes || self.dirty_bytes == 0;
        if !room {
            return false;
        }
        if let Some(extent) = self.extents.iter_mut().find(|extent| extent.end == start) {
            extent.end = end;
        } else if self.extents.len() < self.most_extents {
            self.extents.push(Extent { stretch: place(start), end });
        } else {
            return false;
        }
        self.dirty_bytes += bytes;
        true
    }

    /// Whether the bytes are all in one dirty extent.
    #[inline]
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.extents.iter().any(|extent| extent.stretch.offset <= start && end <= extent.end)
    }

    /// The extents among which the arm chooses.
    #[inline]
    pub fn candidates(&self) -> &[Extent] {
        &self.extents[..self.window.min(self.extents.len())]
    }

    /// Hands an extent to the arm. Its bytes are free only when [`WriteCache::written`] says so.
    pub fn remove(&mut self, index: usize) -> Extent {
        self.extents.remove(index)
    }

    /// An extent is on the media.
    pub fn written(&mut self, extent: &Extent) {
        self.dirty_bytes -= extent.end - extent.stretch.offset;
    }
}
