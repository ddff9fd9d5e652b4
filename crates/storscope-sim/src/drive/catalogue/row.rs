//! A drive with platters as data sheets write it, and the design that it is.

use storscope_types::design::drive::{
    Among, MechanicalDesign, QueueingDesign, ReadAheadDesign, ReadOnAfter, ReadOnTo, SeekDesign, WriteBackOrder,
    WriteCacheDesign,
};
use storscope_types::{Bytes, Nanos};

use super::Source;

/// One drive as data sheets write it: milliseconds, gigabytes, megabytes per second.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub title: &'static str,
    pub class: &'static str,
    pub sources: &'static [Source],
    pub size_gb: f64,
    pub turns_per_min: f64,
    /// Track to track, mean, full stroke.
    pub seek_ms: [f64; 3],
    /// Outside and inside.
    pub rates_mb_per_s: [f64; 2],
    pub heads: u32,
    pub head_switch_ms: f64,
    pub overhead_ms: f64,
    pub settle_ms: f64,
    pub link_mb_per_s: f64,
    /// Segments and their KiB.
    pub read_ahead: (u32, u64),
    /// MiB of write cache, 0 for off, and its window.
    pub write_cache: (u64, u32),
    /// Extents that the cache writes back in one go, and the writes that must wait for it.
    pub write_batch: (u32, u32),
    /// Time to take a write, without its transfer; 0 for that of a read from the buffer.
    pub accept_ms: f64,
    /// Gamma, least depth and depth.
    pub sorting: (f64, u32, u32),
}

impl Row {
    /// The drive.
    pub fn design(&self) -> MechanicalDesign {
        let time = |ms: f64| Nanos((ms * 1e6).round() as u64);
        let [track_to_track, average, full_stroke] = self.seek_ms.map(time);
        let (segments, segment_kib) = self.read_ahead;
        let (cache_mib, window) = self.write_cache;
        let (batch, batch_from) = self.write_batch;
        let (gamma, least_depth, depth) = self.sorting;
        MechanicalDesign {
            size: Bytes((self.size_gb * 1e9).round() as u64),
            turns_per_min: self.turns_per_min,
            seek: SeekDesign::DataSheet { track_to_track, average, full_stroke },
            outer_rate_bytes_per_s: self.rates_mb_per_s[0] * 1e6,
            inner_rate_bytes_per_s: self.rates_mb_per_s[1] * 1e6,
            zones: 16,
            heads: self.heads,
            head_switch: time(self.head_switch_ms),
            overhead: time(self.overhead_ms),
            hit: Nanos::from_micros(100),
            switch: Nanos::ZERO,
            write_settle: time(self.settle_ms),
            interface_rate_bytes_per_s: self.link_mb_per_s * 1e6,
            read_ahead: Some(ReadAheadDesign {
                segments,
                segment: Bytes::from_kib(segment_kib),
                after: ReadOnAfter::AnyRead,
                up_to: ReadOnTo::SegmentEnd,
                lost_on_write: false,
            }),
            write_cache: (cache_mib > 0).then(|| WriteCacheDesign {
                size: Bytes::from_mib(cache_mib),
                extents: 256,
                accept: (self.accept_ms > 0.0).then(|| time(self.accept_ms)),
                window,
                order: WriteBackOrder::Nearest,
                batch: Some(batch),
                batch_from,
            }),
            queueing: Some(QueueingDesign { gamma, least_depth, depth, among: Among::Any }),
        }
    }
}
