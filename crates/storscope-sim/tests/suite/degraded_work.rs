//! Scrubs and restripes of groups with a failed drive: what is not read counts as nothing and takes no time of the rate.

use crate::support::*;
use serde_json::json;
use storscope_device::Device;
use storscope_types::Nanos;

const SEGMENT: u64 = 64 * KIB;
const DRIVE: u64 = 128 * MIB;

/// Bytes that the work counts, that drives read, and nanoseconds from its start to its end, of five drives of which one
/// has failed.
fn done(kind: &str, rate_bytes_per_s: u64) -> (u64, u64, u64) {
    let group = json!({"count": 5, "layout": "raid5", "segment_bytes": SEGMENT});
    let mut design = design(constant(10_000.0), group, MIB);
    design["drives"]["d"]["size_bytes"] = json!(DRIVE);
    design["changes"] = json!([{"time_ns": 0, "drive_fails": {"group": "g", "index": 1}}]);
    design["background"] =
        json!([{"name": "w", "kind": kind, "group": "g", "start_ns": 5, "rate_bytes_per_s": rate_bytes_per_s}]);
    let mut array = array(&design, 1);
    let end = Nanos(600 * Nanos::SECOND.0);
    while array.wait(end, &mut Vec::new()).expect("works") < end {}
    let report = array.report().expect("laws hold");
    let read = report.components.iter().filter_map(|component| component.bytes).map(|bytes| bytes[0]).sum();
    let work = &report.background[0];
    let (started, finished) = (work.started_ns.expect("it ran"), work.finished_ns.expect("it ended"));
    (work.bytes, read, finished - started)
}

#[test]
fn what_failed_is_neither_counted_nor_waited_for() {
    for kind in ["scrub", "restripe"] {
        let (counted, read, elapsed_ns) = done(kind, 10_000_000);
        assert_eq!((counted, read), (4 * DRIVE, 4 * DRIVE), "{kind}");
        let expected = counted as f64 / 1e7;
        assert!(relative(elapsed_ns as f64 / 1e9, expected) < 0.02, "{kind}: {elapsed_ns} ns, {expected} s");
    }
}
