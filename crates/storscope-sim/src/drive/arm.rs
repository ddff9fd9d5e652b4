//! The arm and the platters: how long it takes to reach a place, and to read or write there.

use std::sync::Arc;

use storscope_types::Nanos;
use storscope_types::design::drive::MechanicalDesign;

pub use super::geometry::Place;
use super::geometry::{Geometry, fraction};
use super::maths::larger;
use super::seek::SeekCurve;

/// Turns by which the head may be early and still catch the first sector; hides that instants are whole nanoseconds.
const TOLERANCE_TURNS: f64 = 1e-6;
/// The same for single precision.
const TOLERANCE_SINGLE: f32 = 2e-5;
/// Adding and subtracting this rounds to a whole number: 2 to the power of the bits of a mantissa.
const WHOLE: f32 = 8_388_608.0;

/// What the arms of all drives of a design have in common. It is shared, so that it stays in the processor's caches.
#[derive(Debug)]
pub struct Mechanics {
    geometry: Geometry,
    seek: SeekCurve,
    turn_ns: f64,
    turns_per_ns: f64,
    head_switch_ns: f64,
    head_switch_turns: f32,
    /// The seek curve in turns.
    seek_turns: [f32; 3],
}

impl Mechanics {
    /// The share of a turn that so many nanoseconds are; may be above 1.
    pub fn turns(&self, ns: f64) -> f32 {
        (ns * self.turns_per_ns) as f32
    }

    /// Of a design.
    pub fn new(design: &MechanicalDesign) -> Self {
        let geometry = Geometry::new(design);
        let turn_ns = 60e9 / design.turns_per_min;
        let seek = SeekCurve::new(&design.seek, geometry.cylinders());
        Self {
            seek,
            seek_turns: seek.scaled(1.0 / turn_ns),
            geometry,
            turn_ns,
            turns_per_ns: 1.0 / turn_ns,
            head_switch_ns: design.head_switch.0 as f64,
            head_switch_turns: (design.head_switch.0 as f64 / turn_ns) as f32,
        }
    }
}

/// The arm and the angle of the platters.
#[derive(Debug)]
pub struct Arm {
    mechanics: Arc<Mechanics>,
    /// Angle under the head at instant zero.
    phase_turns: f64,
    head: Place,
    head_byte: u64,
}

/// Where the arm stands at an instant, in turns and single precision: enough to choose among requests.
#[derive(Debug, Clone, Copy)]
pub struct Aim {
    cylinder: f32,
    track: f32,
    under_head: f32,
    head_switch_turns: f32,
    seek_turns: [f32; 3],
}

impl Aim {
    /// Turns until the head is at `angle` of `track`, which is one of `cylinder`, with `before` turns of other work first.
    #[inline]
    pub fn turns_to(&self, cylinder: f32, track: f32, angle: f32, before: f32) -> f32 {
        let beyond = (cylinder - self.cylinder).abs() - 1.0;
        let [base, root, linear] = self.seek_turns;
        let within = beyond.max(0.0);
        let seek = base + root * within.sqrt() + linear * within;
        let switch = if track == self.track { 0.0 } else { self.head_switch_turns };
        let moved = before + switch.max(if beyond < 0.0 { 0.0 } else { seek });
        // Both angles are below 1 and a seek is at least 0, so this is above 0 after adding enough whole turns.
        let behind = moved + self.under_head - angle + 1.0;
        let nearest_turn = (behind + WHOLE) - WHOLE;
        let early = nearest_turn - behind;
        let late_turn = if early < -TOLERANCE_SINGLE { 1.0 } else { 0.0 };
        moved + (early + late_turn).max(0.0)
    }
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
    /// An arm at the outer edge.
    pub fn new(mechanics: Arc<Mechanics>, phase_turns: f64) -> Self {
        Self { mechanics, phase_turns, head: Place::default(), head_byte: 0 }
    }

    /// Where `offset` lies.
    #[inline]
    pub fn place(&self, offset: u64) -> Place {
        self.mechanics.geometry.place(offset)
    }

    /// The stretch that starts at `offset`.
    #[inline]
    pub fn stretch(&self, offset: u64) -> Stretch {
        Stretch { offset, start: self.place(offset) }
    }

    /// Nanoseconds until the head is at the start of `to`, when at `now` other work of `before_ns` comes first.
    #[inline]
    pub fn reach_ns(&self, now: Nanos, before_ns: f64, to: &Stretch) -> f64 {
        let place = &to.start;
        let apart = (place.cylinder - self.head.cylinder).abs();
        let switch_ns = if place.track == self.head.track { 0.0 } else { self.mechanics.head_switch_ns };
        let moved_ns = before_ns + larger(self.mechanics.seek.time_ns(apart), switch_ns);
        let under_head = self.phase_turns + (now.0 as i64 as f64 + moved_ns) * self.mechanics.turns_per_ns;
        moved_ns + fraction(place.angle + TOLERANCE_TURNS - under_head) * self.mechanics.turn_ns
    }

    /// Nanoseconds to transfer `length` bytes once the head is at the start of `from`. The head is behind them then.
    #[inline]
    pub fn transfer(&mut self, from: &Stretch, length: u64) -> f64 {
        let (end, time_ns) = self.mechanics.geometry.transfer(from.offset, &from.start, length);
        self.head = end;
        self.head_byte = from.offset + length;
        time_ns
    }

    /// Where the arm stands at `now`.
    #[inline]
    pub fn aim(&self, now: Nanos) -> Aim {
        let under_head = fraction(self.phase_turns + now.0 as i64 as f64 * self.mechanics.turns_per_ns) as f32;
        Aim {
            cylinder: self.head.cylinder as f32,
            track: self.head.track as f32,
            under_head,
            head_switch_turns: self.mechanics.head_switch_turns,
            seek_turns: self.mechanics.seek_turns,
        }
    }

    /// The byte behind the last that was read or written.
    #[inline]
    pub fn head_byte(&self) -> u64 {
        self.head_byte
    }

    /// The first byte of the track the head is on, and of the next.
    #[inline]
    pub fn track(&self) -> (u64, u64) {
        let along = self.mechanics.geometry.place(self.head_byte).along;
        let behind = (along / self.head.tracks_per_byte) as u64;
        let ahead = ((1.0 - along) / self.head.tracks_per_byte) as u64;
        (self.head_byte.saturating_sub(behind), self.head_byte + ahead)
    }

    /// Moves the head without time passing: it has been reading on.
    #[inline]
    pub fn follow(&mut self, byte: u64) {
        let tracks = (byte as i64 - self.head_byte as i64) as f64 * self.head.tracks_per_byte;
        if !(0.0..1.0).contains(&(self.head.along + tracks)) {
            self.head = self.mechanics.geometry.place(byte);
        }
        self.head_byte = byte;
    }

    /// Bytes per nanosecond of a long transfer where the head is.
    #[inline]
    pub fn rate(&self) -> f64 {
        self.mechanics.geometry.rate(&self.head)
    }
}
