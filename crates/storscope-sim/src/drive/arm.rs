//! The arm and the platters: how long it takes to reach a place, and to read or write there.

use storscope_types::Nanos;
use storscope_types::design::drive::MechanicalDesign;

use super::geometry::{Geometry, Place, fraction};
use super::seek::SeekCurve;

/// Turns by which the head may be early and still catch the first sector; hides that instants are whole nanoseconds.
const TOLERANCE_TURNS: f64 = 1e-6;

/// The arm, the angle of the platters, and where things lie.
#[derive(Debug)]
pub struct Arm {
    geometry: Geometry,
    seek: SeekCurve,
    turn_ns: f64,
    turns_per_ns: f64,
    /// Angle under the head at instant zero.
    phase_turns: f64,
    head_switch_ns: f64,
    head: Place,
    head_byte: u64,
}

/// A stretch of the media.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stretch {
    /// First byte.
    pub offset: u64,
    /// Where that lies.
    pub start: Place,
}

impl Arm {
    /// The arm of a design, at the outer edge.
    pub fn new(design: &MechanicalDesign, phase_turns: f64) -> Self {
        let geometry = Geometry::new(design);
        let turn_ns = 60e9 / design.turns_per_min;
        Self {
            seek: SeekCurve::new(&design.seek, geometry.cylinders()),
            geometry,
            turn_ns,
            turns_per_ns: 1.0 / turn_ns,
            phase_turns,
            head_switch_ns: design.head_switch.0 as f64,
            head: Place::default(),
            head_byte: 0,
        }
    }

    /// The stretch that starts at `offset`.
    #[inline]
    pub fn stretch(&self, offset: u64) -> Stretch {
        Stretch { offset, start: self.geometry.place(offset) }
    }

    /// Nanoseconds until the head is at the start of `to`, when it may leave at `now` after `before_ns`, and needs
    /// `settle_ns` more than for reading.
    #[inline]
    pub fn reach_ns(&self, now: Nanos, before_ns: f64, settle_ns: f64, to: &Stretch) -> f64 {
        let place = &to.start;
        let apart = (place.cylinder - self.head.cylinder).abs();
        let switch_ns = if place.track == self.head.track { 0.0 } else { self.head_switch_ns };
        let moved_ns = before_ns + settle_ns + self.seek.time_ns(apart).max(switch_ns);
        let under_head = self.phase_turns + (now.0 as i64 as f64 + moved_ns) * self.turns_per_ns;
        moved_ns + fraction(place.angle + 1.0 + TOLERANCE_TURNS - fraction(under_head)) * self.turn_ns
    }

    /// Nanoseconds to transfer `length` bytes once the head is at the start of `from`. The head is behind them then.
    #[inline]
    pub fn transfer(&mut self, from: &Stretch, length: u64) -> f64 {
        let end_byte = from.offset + length;
        let end = self.geometry.place(end_byte);
        let time_ns = self.geometry.transfer_ns(&from.start, &end, length);
        self.head = end;
        self.head_byte = end_byte;
        time_ns
    }

    /// The byte behind the last that was read or written.
    #[inline]
    pub fn head_byte(&self) -> u64 {
        self.head_byte
    }

    /// Moves the head without time passing: it has been reading on.
    #[inline]
    pub fn follow(&mut self, byte: u64) {
        self.head = self.geometry.place(byte);
        self.head_byte = byte;
    }

    /// Bytes per nanosecond of a long transfer where the head is.
    #[inline]
    pub fn rate(&self) -> f64 {
        self.geometry.rate(&self.head)
    }
}
