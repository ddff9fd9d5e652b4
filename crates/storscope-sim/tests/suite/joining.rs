//! What adjoins on a drive is one operation, and mirrors are read from both copies in turn, pair by pair.

use crate::support::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use storscope_sim::array::ArrayReport;

const SEGMENT: u64 = 64 * KIB;

fn raid(layout: &str, count: u32) -> Value {
    json!({"count": count, "layout": layout, "segment_bytes": SEGMENT})
}

fn report(group: Value, ios: &[Io]) -> ArrayReport {
    let mut array = array(&design(constant(100.0), group, 4 * GIB), 1);
    assert!(batch(&mut array, ios).iter().all(|done| done.result > 0));
    array.report().expect("laws hold")
}

/// Drive reads and writes of one I/O.
fn operations(group: Value, io: Io) -> [u64; 2] {
    drive_operations(&report(group, &[io]))
}

/// Reads and writes of each drive.
fn by_drive(report: &ArrayReport) -> Vec<[u64; 2]> {
    report.components.iter().filter_map(|component| component.operations).collect()
}

fn bytes(report: &ArrayReport) -> u64 {
    report.components.iter().filter_map(|component| component.bytes).map(|bytes| bytes[0] + bytes[1]).sum()
}

#[test]
fn the_segment_of_a_single_drive_does_not_matter() {
    for segment in [4 * KIB, 64 * KIB, MIB] {
        let single = json!({"count": 1, "layout": "raid0", "segment_bytes": segment});
        assert_eq!(operations(single.clone(), Io::read(MIB - 4 * KIB, 64 * KIB)), [1, 0], "{segment}");
        assert_eq!(operations(single, Io::write(MIB - 4 * KIB, 64 * KIB)), [0, 1], "{segment}");
    }
}

#[test]
fn a_mirror_is_read_from_one_copy_and_written_once_to_each() {
    assert_eq!(operations(raid("raid1", 2), Io::read(0, 4 * MIB)), [1, 0]);
    assert_eq!(operations(raid("raid1", 2), Io::write(0, 4 * MIB)), [0, 2]);
    assert_eq!(operations(raid("raid10", 8), Io::read(SEGMENT, 16 * SEGMENT)), [4, 0]);
    assert_eq!(operations(raid("raid10", 8), Io::write(SEGMENT, 16 * SEGMENT)), [0, 8]);
}

#[test]
fn full_stripes_in_a_row_are_one_write_on_each_drive() {
    // Five data segments a stripe: three full ones, and half a segment before and after them.
    let (start, length) = (5 * SEGMENT, 15 * SEGMENT);
    assert_eq!(operations(raid("raid5", 6), Io::write(start, length)), [0, 6]);
    let beyond = Io::write(start - SEGMENT / 2, length + SEGMENT);
    assert_eq!(operations(raid("raid5", 6), beyond), [4, 6 + 4]);
    let mut sets = raid("raid50", 12);
    sets["width"] = json!(6);
    assert_eq!(operations(sets, Io::write(0, 4 * 5 * SEGMENT)), [0, 12]);
    // Stripes of a pool are beside each other by chance only.
    let pool = json!({"count": 40, "layout": "pool", "redundancy": "raid5", "segment_bytes": SEGMENT});
    assert_eq!(operations(pool, Io::write(0, 8 * 4 * SEGMENT)), [0, 8 * 5]);
}

#[test]
fn what_a_lost_segment_is_computed_from_is_read_once() {
    let mut design = design(constant(100.0), raid("raid5", 5), GIB);
    design["changes"] = json!([{"time_ns": 0, "drive_fails": {"group": "g", "index": 0}}]);
    let mut array = array(&design, 1);
    batch(&mut array, &[Io::read(0, 4 * SEGMENT)]);
    let report = array.report().expect("laws hold");
    assert_eq!((drive_operations(&report), bytes(&report)), ([4, 0], 4 * SEGMENT));
}

#[test]
fn a_sequential_read_in_turn_uses_both_copies_of_every_pair() {
    for drives in [2_u32, 6, 8, 46] {
        let count = 64 * u64::from(drives);
        let ios: Vec<Io> = (0..count).map(|at| Io::read(at * SEGMENT, SEGMENT)).collect();
        let mut group = raid("raid10", drives);
        group["read_choice"] = json!("round_robin");
        let report = report(group, &ios);
        assert!(by_drive(&report).iter().all(|&reads| reads == [64, 0]), "{drives}: {:?}", by_drive(&report));
    }
}

#[test]
fn a_large_request_takes_the_time_of_its_bytes_whatever_the_segment() {
    let mut drive = constant(100.0);
    drive["rate_bytes_per_s"] = json!(100e6);
    let time = |segment: u64| {
        let group = json!({"count": 2, "layout": "raid1", "segment_bytes": segment});
        batch(&mut array(&design(drive.clone(), group, GIB), 1), &[Io::read(0, 4 * MIB)])[0].at
    };
    assert_eq!(time(64 * KIB), time(4 * MIB));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_striped_request_is_one_operation_on_each_drive_it_touches(
        drives in 1_u32..12, segment in 1_u64..32, offset in 0_u64..4_096, length in 1_u64..2_048, write: bool,
    ) {
        let (segment, offset, length) = (segment * 4 * KIB, offset * 512, length * 512);
        let group = json!({"count": drives, "layout": "raid0", "segment_bytes": segment});
        let report = report(group, &[Io { write, ..Io::read(offset, length) }]);
        let touched = (offset + length - 1) / segment - offset / segment + 1;
        let operations = drive_operations(&report);
        prop_assert_eq!(operations[0] + operations[1], touched.min(u64::from(drives)));
        prop_assert_eq!(bytes(&report), length);
    }

    #[test]
    fn a_read_moves_its_bytes_and_no_more(
        layout in prop_oneof![Just("raid5"), Just("raid6"), Just("raid10"), Just("raid1")],
        offset in 0_u64..4_096, length in 1_u64..4_096,
    ) {
        let report = report(raid(layout, 8), &[Io::read(offset * 512, length * 512)]);
        prop_assert_eq!(bytes(&report), length * 512);
    }
}
