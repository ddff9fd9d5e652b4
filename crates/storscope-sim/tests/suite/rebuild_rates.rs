//! How fast drives are rebuilt: pools by all of their drives, others to a spare.

use crate::support::*;
use serde_json::{Value, json};
use storscope_device::Device;
use storscope_sim::Array;
use storscope_types::Nanos;

const SECONDS: u64 = 20;
/// Of the class 10k-sas at its outer edge, where rebuilds begin.
const BYTES_PER_S: f64 = 100e6;

/// An idle group of drives of the class 10k-sas, the first of which has failed 20 s before.
fn rebuilding(group: Value, task: Value) -> Array {
    let mut design = design(json!({}), group, 100 * GIB);
    design.as_object_mut().expect("a table").remove("drives");
    design["groups"][0]["drive"] = json!("10k-sas");
    let mut task = task;
    (task["name"], task["kind"], task["group"]) = (json!("rebuild"), json!("rebuild"), json!("g"));
    design["background"] = json!([task]);
    design["changes"] = json!([{"time_ns": 0, "drive_fails": {"group": "g", "index": 0}}]);
    let mut array = array(&design, 1);
    let end = Nanos(SECONDS * Nanos::SECOND.0);
    while array.wait(end, &mut Vec::new()).expect("works") < end {}
    array
}

fn rebuilt_per_s(array: &mut Array) -> f64 {
    array.report().expect("laws hold").background[0].bytes as f64 / SECONDS as f64
}

fn pool(count: u32, extent: Option<u64>) -> Value {
    json!({"count": count, "layout": "pool", "redundancy": "raid5", "segment_bytes": 64 * KIB, "spare_share": 0.1,
        "extent_bytes": extent})
}

fn spare(task: Value) -> f64 {
    let group = json!({"count": 12, "layout": "raid5", "segment_bytes": 64 * KIB, "spares": 1});
    rebuilt_per_s(&mut rebuilding(group, task))
}

/// Four segments are read for one that is written, by all drives that are left. An operation of 1 MiB takes a seek of 4.2 ms or
/// less, half a turn, what the controller of the drive adds, and its bytes.
#[test]
fn a_pool_of_extents_is_rebuilt_as_fast_as_its_drives_move_what_it_takes() {
    for count in [12, 24, 48] {
        let rate = rebuilt_per_s(&mut rebuilding(pool(count, Some(MIB)), json!({})));
        let drives = f64::from(count - 1);
        let bound = drives * BYTES_PER_S / 5.0;
        let with_seeks = drives * MIB as f64 / (5.0 * (MIB as f64 / BYTES_PER_S + 0.0042 + 0.003 + 0.0002));
        assert!(rate < bound, "{rate} of {count} drives, {bound} without seeks");
        assert!((0.72..1.05).contains(&(rate / with_seeks)), "{rate} of {count} drives, {with_seeks} with seeks");
    }
}

/// All of an extent lies on the same few drives: chunk after chunk of one, 5 of 24 would be at work, and make 0.29 of it with
/// the largest.
#[test]
fn a_pool_of_large_extents_is_rebuilt_by_several_extents_drives_at_a_time() {
    for extent in [16 * MIB, 256 * MIB] {
        let rate = rebuilt_per_s(&mut rebuilding(pool(24, Some(extent)), json!({})));
        let with_seeks = 23.0 * MIB as f64 / (5.0 * (MIB as f64 / BYTES_PER_S + 0.0042 + 0.003 + 0.0002));
        assert!((0.55..1.0).contains(&(rate / with_seeks)), "{rate}, {with_seeks} with seeks");
    }
}

#[test]
fn a_pool_is_rebuilt_no_slower_than_a_single_spare_and_the_faster_the_more_drives_it_has() {
    let (usual, fast) = (spare(json!({})), spare(json!({"outstanding": 4})));
    let of = |count, extent| rebuilt_per_s(&mut rebuilding(pool(count, extent), json!({})));
    let (twelve, more) = (of(12, None), of(48, None));
    assert!(twelve > 1.3 * usual, "{twelve} against {usual}");
    assert!(of(12, Some(2 * MIB)) > fast, "against {fast}");
    assert!(more > 3.0 * twelve && more > 1.5 * fast, "{more} against {twelve}, four times as many");
}

/// A step is some reads of each drive, and one write of 1 MiB, or two where a segment between belongs to no stripe.
#[test]
fn what_a_pool_rebuilds_is_written_in_a_row() {
    let mut array = rebuilding(pool(12, None), json!({}));
    let report = array.report().expect("laws hold");
    let writes = drive_operations(&report)[1] as f64;
    let in_a_row = report.background[0].bytes as f64 / writes;
    assert!((0.75..=1.0).contains(&(in_a_row / MIB as f64)), "{in_a_row} bytes");
}

#[test]
fn a_pool_that_is_told_to_goes_stripe_by_stripe() {
    let mut array = rebuilding(pool(12, None), json!({"chunk_bytes": 64 * KIB, "outstanding": 1}));
    let report = array.report().expect("laws hold");
    let [reads, writes] = drive_operations(&report);
    assert!(reads.abs_diff(4 * writes) <= 4 && report.background[0].bytes.abs_diff(writes * 64 * KIB) <= 64 * KIB);
}

#[test]
fn a_throttled_rebuild_of_a_pool_keeps_its_rate() {
    let rate = rebuilt_per_s(&mut rebuilding(pool(12, None), json!({"rate_bytes_per_s": 10e6})));
    assert!(relative(rate, 10e6) < 0.02, "{rate}");
}
