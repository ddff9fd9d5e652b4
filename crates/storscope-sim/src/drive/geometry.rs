//! Where an address lies: cylinder, track and angle.
//!
//! Zones are of equal width in cylinders, and the length of their tracks falls linearly from the outer to the inner edge,
//! which is what constant linear density gives. Tracks are skewed so that a sequential transfer loses just the switch.
//! Spared sectors and serpentine layouts are left out.

use storscope_types::design::drive::MechanicalDesign;

use super::maths::larger;
use super::seek::SeekCurve;

/// Least number of buckets of the table that finds a zone; at most twice as many.
const LEAST_BUCKETS: u64 = 128;

/// The drive's layout.
#[derive(Debug)]
pub struct Geometry {
    zones: Vec<Zone>,
    /// For each bucket of addresses, the zone of its first byte.
    buckets: Vec<u8>,
    bucket_bits: u32,
    per_head: f64,
    turn_ns: f64,
    /// What a switch to the next track costs, and what one to the next cylinder costs more.
    switch_ns: f64,
    step_ns: f64,
    switch_turns: f64,
    step_turns: f64,
    cylinders: f64,
}

#[derive(Debug, Clone, Copy)]
struct Zone {
    start_byte: f64,
    end_byte: f64,
    tracks_per_byte: f64,
    first_cylinder: f64,
}

/// Where a byte lies.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    /// Cylinder, a whole number.
    pub cylinder: f64,
    /// Track within its zone, a whole number.
    pub track: f64,
    /// How much of the track lies before it, in tracks.
    pub along: f64,
    /// Angle in turns, 0 to 1.
    pub angle: f64,
    /// Tracks per byte here.
    pub tracks_per_byte: f64,
}

impl Geometry {
    /// The layout of a design.
    pub fn new(design: &MechanicalDesign) -> Self {
        let turn_ns = 60e9 / design.turns_per_min;
        let (count, heads) = (f64::from(design.zones), f64::from(design.heads));
        let track_bytes = |zone: f64| track_bytes(design, turn_ns, zone);
        let bytes_per_cylinder =
            (0..design.zones).map(|zone| track_bytes(f64::from(zone))).sum::<f64>() / count * heads;
        let cylinders = design.size.0 as f64 / bytes_per_cylinder;
        let zones = lay_zones(design, cylinders / count, track_bytes);
        let switch_ns = design.head_switch.0 as f64;
        let step_ns = (SeekCurve::new(&design.seek, cylinders).time_ns(1.0) - switch_ns).max(0.0);
        let bucket_bits = (design.size.0 / LEAST_BUCKETS).max(1).ilog2();
        Self {
            buckets: fill_buckets(&zones, design.size.0, bucket_bits),
            zones,
            bucket_bits,
            per_head: 1.0 / heads,
            turn_ns,
            switch_ns,
            step_ns,
            switch_turns: fraction(switch_ns / turn_ns),
            step_turns: fraction(step_ns / turn_ns),
            cylinders,
        }
    }

    /// Cylinders of the drive.
    pub fn cylinders(&self) -> f64 {
        self.cylinders
    }

    /// Where `offset` lies.
    #[inline]
    pub fn place(&self, offset: u64) -> Place {
        let byte = offset as i64 as f64;
        let bucket = ((offset >> self.bucket_bits) as usize).min(self.buckets.len() - 1);
        let mut index = self.buckets[bucket] as usize;
        while byte >= self.zones[index].end_byte {
            index += 1;
        }
        let zone = &self.zones[index];
        let tracks = (byte - zone.start_byte) * zone.tracks_per_byte;
        let track = floor(tracks);
        let cylinder = floor(track * self.per_head);
        let along = tracks - track;
        let angle = along + track * self.switch_turns + cylinder * self.step_turns;
        Place {
            cylinder: zone.first_cylinder + cylinder,
            track,
            along,
            angle: fraction(angle),
            tracks_per_byte: zone.tracks_per_byte,
        }
    }

    /// Where `length` bytes from `start` at byte `offset` end, and the nanoseconds to read or write them.
    #[inline]
    pub fn transfer(&self, offset: u64, start: &Place, length: u64) -> (Place, f64) {
        let tracks = length as i64 as f64 * start.tracks_per_byte;
        if start.along + tracks < 1.0 {
            return (*start, tracks * self.turn_ns);
        }
        let end = self.place(offset + length);
        let switches = larger(end.track - start.track, 0.0);
        let steps = larger(end.cylinder - start.cylinder, 0.0);
        (end, tracks * self.turn_ns + switches * self.switch_ns + steps * self.step_ns)
    }

    /// Bytes per nanosecond of a long sequential transfer at `place`.
    #[inline]
    pub fn rate(&self, place: &Place) -> f64 {
        1.0 / (place.tracks_per_byte * (self.turn_ns + self.switch_ns + self.step_ns * self.per_head))
    }
}

/// Bytes of a track: what passes in a turn and a switch at the sustained rate.
fn track_bytes(design: &MechanicalDesign, turn_ns: f64, zone: f64) -> f64 {
    let share = if design.zones > 1 { zone / f64::from(design.zones - 1) } else { 0.5 };
    let outer = design.outer_rate_bytes_per_s;
    let rate = outer + (design.inner_rate_bytes_per_s - outer) * share;
    rate * 1e-9 * (turn_ns + design.head_switch.0 as f64)
}

fn lay_zones(design: &MechanicalDesign, width: f64, track_bytes: impl Fn(f64) -> f64) -> Vec<Zone> {
    let mut zones = Vec::with_capacity(design.zones as usize);
    let mut start_byte = 0.0;
    for zone in 0..design.zones {
        let bytes = track_bytes(f64::from(zone));
        let end_byte = start_byte + bytes * width * f64::from(design.heads);
        let first_cylinder = floor(f64::from(zone) * width);
        let last = zone + 1 == design.zones;
        let end_byte = if last { f64::INFINITY } else { end_byte };
        zones.push(Zone { start_byte, end_byte, tracks_per_byte: 1.0 / bytes, first_cylinder });
        start_byte = end_byte;
    }
    zones
}

fn fill_buckets(zones: &[Zone], size_bytes: u64, bucket_bits: u32) -> Vec<u8> {
    let zone_of = |bucket: u64| {
        let first = (bucket << bucket_bits) as f64;
        zones.iter().position(|zone| first < zone.end_byte).unwrap_or(zones.len() - 1) as u8
    };
    (0..=(size_bytes >> bucket_bits)).map(zone_of).collect()
}

/// The whole part of what is not negative and below 2^51. Adding 2^52 rounds to the nearest; the library's `floor` is a
/// call on plain x86-64.
#[inline]
fn floor(value: f64) -> f64 {
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    let nearest = (value + WHOLE) - WHOLE;
    nearest - if nearest > value { 1.0 } else { 0.0 }
}

/// The part behind the point, counted from the next lower whole number.
#[inline]
pub fn fraction(value: f64) -> f64 {
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let from_nearest = value - ((value + WHOLE) - WHOLE);
    from_nearest + if from_nearest < 0.0 { 1.0 } else { 0.0 }
}
