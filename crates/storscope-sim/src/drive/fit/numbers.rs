//! The numbers of a fitted drive by the names they have in designs, and how well each is known.

use serde::Serialize;
use storscope_types::design::drive::{MechanicalDesign, SeekDesign};

use super::mechanics::{Habit, round};
use super::sureness::Sureness;

/// A number that was chosen from measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedNumber {
    /// Its key in the JSON form of the drive, as in `seek.a_ns`; the unit is in the name.
    pub key: &'static str,
    /// Its value.
    pub value: f64,
    /// Standard error as a share of the value; nothing if the measurements do not show the number.
    pub error_ratio: Option<f64>,
    /// Whether the measurements tell it to about a quarter.
    pub is_known: bool,
    /// The number it goes with: the two are known better together than each.
    pub goes_with: Option<&'static str>,
}

/// The numbers of a fit to a trace, in the order of its point.
pub fn of_mechanics(design: &MechanicalDesign, habit: Habit, sureness: &Sureness) -> Vec<FittedNumber> {
    let SeekDesign::Curve { a_ns, b_ns, c_ns } = design.seek else { return Vec::new() };
    let cache = design.write_cache.and_then(|cache| cache.accept);
    let writes = match cache {
        Some(accept) => ("write_cache.accept_ns", accept.0 as f64),
        None => ("write_settle_ns", design.write_settle.0 as f64),
    };
    let ninth =
        if habit.caches_writes { ("switch_ns", design.switch.0) } else { ("head_switch_ns", design.head_switch.0) };
    let named = [
        ("turns_per_min", design.turns_per_min),
        ("seek.a_ns", a_ns),
        ("seek.b_ns", b_ns),
        ("seek.c_ns", c_ns),
        ("overhead_ns", design.overhead.0 as f64),
        ("hit_ns", design.hit.0 as f64),
        ("interface_rate_bytes_per_s", design.interface_rate_bytes_per_s),
        writes,
        ("outer_rate_bytes_per_s", design.outer_rate_bytes_per_s),
        (ninth.0, ninth.1 as f64),
        ("read_ahead.segment_bytes", design.read_ahead.map_or(0.0, |read_ahead| read_ahead.segment.0 as f64)),
    ];
    let number = |(axis, &(key, value)): (usize, &(&'static str, f64))| {
        let partner = sureness.partner(axis).map(|other| named[other].0);
        let error_ratio =
            sureness.error(axis).map(|error| if axis == LINEAR { error * b_ns / c_ns.abs() } else { error });
        FittedNumber { key, value: round(value), error_ratio, is_known: sureness.is_known(axis), goes_with: partner }
    };
    let is_there = |number: &FittedNumber| habit.reads_on.is_some() || number.key != "read_ahead.segment_bytes";
    named.iter().enumerate().map(number).filter(is_there).collect()
}

/// The coordinate that is no logarithm: the linear part of the seek curve over its root part.
const LINEAR: usize = 3;
