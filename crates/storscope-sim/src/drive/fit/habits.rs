//! Which habits a drive may have, given a trace.

use storscope_types::design::drive::{ReadOnAfter, ReadOnTo};

use super::classes::{Step, steps};
use super::mechanics::Habit;
use super::trace::TraceOp;
use super::trace_fit::is_read;

/// A drive that neither reads on nor sorts.
pub fn plain(caches_writes: bool) -> Habit {
    Habit { caches_writes, reads_on: None, up_to: ReadOnTo::SegmentEnd, lost_on_write: false }
}

/// The habits worth trying. Whether writes are cached shows in the median of far ones.
pub fn of(trace: &[TraceOp]) -> Vec<Habit> {
    let steps = steps(trace);
    let far = |read: bool| {
        let chosen = trace.iter().zip(&steps).filter(|(op, step)| **step == Step::Far && is_read(op) == read);
        median(chosen.map(|(op, _)| op.service_us).collect())
    };
    let caches_writes = match (far(true), far(false)) {
        (Some(read_us), Some(write_us)) => write_us < 0.5 * read_us,
        _ => false,
    };
    let mut habits = vec![plain(caches_writes)];
    for reads_on in [ReadOnAfter::AnyRead, ReadOnAfter::NearbyRead] {
        for up_to in [ReadOnTo::SegmentEnd, ReadOnTo::TrackEnd, ReadOnTo::Track] {
            for lost_on_write in [false, true] {
                habits.push(Habit { caches_writes, reads_on: Some(reads_on), up_to, lost_on_write });
            }
        }
    }
    habits
}

pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
