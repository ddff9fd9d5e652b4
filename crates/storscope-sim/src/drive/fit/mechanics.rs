//! The parameters of a mechanical drive that a trace can tell, as a point the simplex can move.
//!
//! Twelve at most: eleven numbers and the drive's habit. A drive with a write cache shows no settle and, behind its slow
//! link, no switch of heads; one without has no time to accept and no streams of writes. What a trace of single requests
//! hardly shows is given: see [`Frame`].

use serde::Deserialize;
use storscope_types::design::drive::{
    MechanicalDesign, ReadAheadDesign, ReadOnAfter, ReadOnTo, SeekDesign, WriteBackOrder, WriteCacheDesign,
};
use storscope_types::{Bytes, Nanos};

use super::trace::TraceOp;

/// Numbers a fit moves.
pub const NUMBERS: usize = 11;
/// Where the size of a segment stands among them.
pub const SEGMENT_AXIS: usize = 10;
/// First steps: tenths for times known roughly, hundredths for the turn.
pub const STEPS: [f64; NUMBERS] = [0.01, 0.15, 0.15, 0.1, 0.2, 0.1, 0.1, 0.2, 0.1, 0.1, 0.4];

/// What a trace of single requests hardly shows and a data sheet tells.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Usable bytes; more if the trace asks for more.
    pub size_bytes: u64,
    /// Recording surfaces.
    pub heads: u32,
    /// Zones of equal width.
    pub zones: u32,
    /// Inner over outer rate: 1 for one zone, 0.5 to 0.7 over the whole of a drive with many.
    pub inner_ratio: f64,
}

impl Frame {
    /// Of a drive of which nothing is known but its size: eight heads, sixteen zones, an inner rate of four fifths. Assumed:
    /// traces of a part of a drive hardly show them. Over whole drives rates differ more; `--like` gives that of one.
    #[must_use]
    pub fn of_size(size_bytes: u64) -> Self {
        Self { size_bytes, heads: 8, zones: 16, inner_ratio: 0.8 }
    }

    /// With room for all requests of a trace.
    pub fn around(self, trace: &[TraceOp]) -> Self {
        let most = trace.iter().map(|op| op.offset + u64::from(op.length)).max().unwrap_or(0);
        Self { size_bytes: self.size_bytes.max(most), ..self }
    }
}

/// Switch of heads over turn where writes do not show it: 0.7 to 1.6 ms in drives read.
pub const HEAD_SWITCH_RATIO: f64 = 0.1;

/// Digits that a fitted number keeps: enough that a turn is right to a hundredth after an hour.
const DIGITS: i32 = 7;

/// The drive with numbers that can be written down and read again.
pub fn rounded(design: MechanicalDesign) -> MechanicalDesign {
    let seek = match design.seek {
        SeekDesign::Curve { a_ns, b_ns, c_ns } => {
            SeekDesign::Curve { a_ns: round(a_ns), b_ns: round(b_ns), c_ns: round(c_ns) }
        }
        times @ SeekDesign::DataSheet { .. } => times,
    };
    MechanicalDesign {
        turns_per_min: round(design.turns_per_min),
        seek,
        outer_rate_bytes_per_s: round(design.outer_rate_bytes_per_s),
        inner_rate_bytes_per_s: round(design.inner_rate_bytes_per_s),
        interface_rate_bytes_per_s: round(design.interface_rate_bytes_per_s),
        ..design
    }
}

/// To [`DIGITS`] significant digits.
pub fn round(value: f64) -> f64 {
    let unit = 10_f64.powi(DIGITS - 1 - value.abs().max(1e-30).log10().floor() as i32);
    (value * unit).round() / unit
}

/// What the drive does besides seeking: chosen, not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Habit {
    /// Writes are done when they are in memory.
    pub caches_writes: bool,
    /// Reads on, and when.
    pub reads_on: Option<ReadOnAfter>,
    /// How far.
    pub up_to: ReadOnTo,
    /// Writes take the buffer.
    pub lost_on_write: bool,
}

/// A drive as physical quantities, from which the moved point is made and back.
#[derive(Debug, Clone, Copy)]
pub struct Guess {
    pub turn_us: f64,
    pub seek_base_us: f64,
    pub seek_root_us: f64,
    pub seek_linear_us: f64,
    pub overhead_us: f64,
    pub hit_us: f64,
    pub link_us_per_kib: f64,
    /// Settle of a drive without write cache, acceptance of one with.
    pub write_us: f64,
    pub track_kib: f64,
    /// Switch of heads over turn, of a drive without write cache; what a change of streams costs one with, in microseconds.
    pub head_switch_ratio: f64,
    pub switch_us: f64,
    pub segment_kib: f64,
}

impl Guess {
    /// A second place to start from, since the time per byte of far reads may be the link's or the media's: tracks may be
    /// longer than they seem behind a slow link, and the link faster than it seems before slow media.
    pub fn seen_or_hidden(&self, habit: Habit, hidden: bool) -> Self {
        match (hidden, habit.caches_writes) {
            (false, _) => *self,
            (true, true) => Self { track_kib: 2.5 * self.track_kib, ..*self },
            (true, false) => Self { link_us_per_kib: 0.2 * self.link_us_per_kib, head_switch_ratio: 0.18, ..*self },
        }
    }

    /// Logarithms, except of what may be negative.
    pub fn point(&self, habit: Habit) -> Vec<f64> {
        let linear = self.seek_linear_us / self.seek_root_us.max(1.0);
        let ln = |value: f64| value.max(1e-3).ln();
        vec![
            ln(self.turn_us),
            ln(self.seek_base_us),
            ln(self.seek_root_us),
            linear,
            ln(self.overhead_us),
            ln(self.hit_us),
            ln(self.link_us_per_kib),
            ln(self.write_us),
            ln(self.track_kib),
            ln(if habit.caches_writes { self.switch_us } else { self.head_switch_ratio }),
            ln(self.segment_kib),
        ]
    }

    /// The inverse, held to what is physical.
    pub fn from_point(point: &[f64], habit: Habit) -> Self {
        let exp = |axis: usize, least: f64, most: f64| point[axis].exp().clamp(least, most);
        let seek_root_us = exp(2, 1.0, 1e5);
        Self {
            turn_us: exp(0, 2_000.0, 60_000.0),
            seek_base_us: exp(1, 0.1, 1e5),
            seek_root_us,
            seek_linear_us: point[3].clamp(-0.5, 20.0) * seek_root_us,
            overhead_us: exp(4, 1.0, 1e5),
            hit_us: exp(5, 1.0, 1e5),
            link_us_per_kib: exp(6, 1e-3, 1e5),
            write_us: exp(7, 1e-3, 1e5),
            track_kib: exp(8, 1.0, 1e5),
            head_switch_ratio: if habit.caches_writes { HEAD_SWITCH_RATIO } else { exp(9, 0.02, 0.4) },
            switch_us: if habit.caches_writes { exp(9, 0.1, 1e4) } else { 0.0 },
            segment_kib: exp(10, 0.5, 4096.0),
        }
    }

    /// The drive of that kind.
    pub fn design(&self, habit: Habit, frame: &Frame) -> MechanicalDesign {
        let head_switch_us = self.head_switch_ratio * self.turn_us;
        let outer = self.track_kib * 1024.0 * 1e6 / (self.turn_us + head_switch_us);
        let time = |us: f64| Nanos((us * 1e3).round() as u64);
        MechanicalDesign {
            size: Bytes(frame.size_bytes),
            turns_per_min: 60e6 / self.turn_us,
            seek: SeekDesign::Curve {
                a_ns: self.seek_base_us * 1e3,
                b_ns: self.seek_root_us * 1e3,
                c_ns: self.seek_linear_us * 1e3,
            },
            outer_rate_bytes_per_s: outer,
            inner_rate_bytes_per_s: outer * frame.inner_ratio,
            zones: frame.zones,
            heads: frame.heads,
            head_switch: time(head_switch_us),
            overhead: time(self.overhead_us),
            hit: time(self.hit_us),
            switch: time(self.switch_us),
            write_settle: if habit.caches_writes { Nanos::ZERO } else { time(self.write_us) },
            interface_rate_bytes_per_s: 1024.0 * 1e6 / self.link_us_per_kib,
            read_ahead: habit.reads_on.map(|after| ReadAheadDesign {
                segments: 1,
                segment: Bytes((self.segment_kib * 1024.0) as u64),
                after,
                up_to: habit.up_to,
                lost_on_write: habit.lost_on_write,
            }),
            write_cache: habit.caches_writes.then(|| WriteCacheDesign {
                size: Bytes(1 << 20),
                extents: 64,
                accept: Some(time(self.write_us)),
                window: 8,
                order: WriteBackOrder::Nearest,
                batch: None,
                batch_from: WriteCacheDesign::BATCH_FROM,
            }),
            queueing: None,
        }
    }
}
