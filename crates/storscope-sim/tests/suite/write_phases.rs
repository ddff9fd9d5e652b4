//! What a write costs the drives, by layout.

use crate::support::*;
use serde_json::{Value, json};

/// Drive reads and writes, and the time in units of a drive's constant time, of one I/O.
fn cost(group: Value, io: Io) -> ([u64; 2], f64) {
    let mut array = array(&design(constant(100.0), group, GIB), 1);
    let done = batch(&mut array, &[io]);
    assert_eq!(done[0].result, io.length as i32);
    let report = array.report().expect("laws hold");
    (drive_operations(&report), done[0].at.0 as f64 / 10e6)
}

const SEGMENT: u64 = 64 * KIB;

fn raid(layout: &str, count: u32) -> Value {
    json!({"count": count, "layout": layout, "segment_bytes": SEGMENT})
}

#[test]
fn a_small_write_is_one_two_four_or_six_operations() {
    let small = Io::write(12 * KIB, 4 * KIB);
    assert_eq!(cost(raid("raid0", 6), small), ([0, 1], 1.0));
    assert_eq!(cost(raid("raid10", 6), small), ([0, 2], 1.0));
    assert_eq!(cost(raid("raid1", 2), small), ([0, 2], 1.0));
    assert_eq!(cost(raid("raid5", 6), small), ([2, 2], 2.0));
    assert_eq!(cost(raid("raid6", 8), small), ([3, 3], 2.0));
    let mut raid50 = raid("raid50", 12);
    raid50["width"] = json!(6);
    assert_eq!(cost(raid50, small), ([2, 2], 2.0));
    let pool = json!({"count": 16, "layout": "pool", "redundancy": "raid5", "segment_bytes": SEGMENT});
    assert_eq!(cost(pool, small), ([2, 2], 2.0));
}

#[test]
fn more_copies_and_more_parities_cost_more_operations() {
    let small = Io::write(12 * KIB, 4 * KIB);
    let with = |mut group: Value, key: &str, number: u32| {
        group[key] = json!(number);
        group
    };
    assert_eq!(cost(with(raid("raid10", 6), "copies", 3), small), ([0, 3], 1.0));
    assert_eq!(cost(with(raid("raid1", 3), "copies", 3), small), ([0, 3], 1.0));
    let pool = json!({"count": 16, "layout": "pool", "redundancy": "raid1", "segment_bytes": SEGMENT});
    assert_eq!(cost(with(pool, "copies", 3), small), ([0, 3], 1.0));
    assert_eq!(cost(with(raid("raid6", 11), "parity", 3), small), ([4, 4], 2.0));
    // Eight and three, an erasure code: a full stripe of eight segments is eleven writes.
    let code = json!({"count": 24, "layout": "pool", "redundancy": "raid6", "width": 11, "segment_bytes": SEGMENT});
    let code = with(code, "parity", 3);
    assert_eq!(cost(code.clone(), Io::write(0, 8 * SEGMENT)), ([0, 11], 1.0));
    assert_eq!(cost(code, small), ([4, 4], 2.0));
}

#[test]
fn a_full_stripe_reads_nothing() {
    for (layout, count, data, parity) in [("raid5", 6_u64, 5, 1), ("raid6", 8, 6, 2)] {
        let (operations, time) = cost(raid(layout, count as u32), Io::write(0, data * SEGMENT));
        assert_eq!((operations, time), ([0, data + parity], 1.0), "{layout}");
    }
}

#[test]
fn large_parts_of_a_stripe_are_reconstructed_small_ones_modified() {
    // Seven data segments: m written ones cost m + 1 reads to modify, 7 - m to reconstruct.
    for (written, reads) in [(1, 2), (2, 3), (3, 4), (4, 3), (5, 2), (6, 1)] {
        let (operations, _) = cost(raid("raid5", 8), Io::write(0, written * SEGMENT));
        assert_eq!(operations, [reads, written + 1], "{written} segments");
    }
    let mut always = raid("raid5", 8);
    always["parity_update"] = json!("read_modify_write");
    assert_eq!(cost(always, Io::write(0, 6 * SEGMENT)).0, [7, 7]);
}

#[test]
fn a_write_over_the_edge_of_two_stripes_updates_both() {
    let (operations, _) = cost(raid("raid5", 6), Io::write(5 * SEGMENT - 4 * KIB, 8 * KIB));
    assert_eq!(operations, [4, 4]);
}

#[test]
fn a_write_over_the_edge_of_two_segments_updates_two_parts_of_the_parity() {
    let (operations, _) = cost(raid("raid5", 6), Io::write(SEGMENT - 4 * KIB, 8 * KIB));
    assert_eq!(operations, [4, 4]);
}

#[test]
fn a_journal_is_written_before_the_data() {
    let mut mirrored = raid("raid10", 4);
    mirrored["journal"] = json!({});
    assert_eq!(cost(mirrored, Io::write(0, 4 * KIB)), ([0, 4], 2.0));
    let mut parity = raid("raid5", 5);
    parity["journal"] = json!({"share": 1.0});
    assert_eq!(cost(parity, Io::write(0, 4 * KIB)), ([2, 4], 3.0));
}

#[test]
fn reads_take_one_operation_per_segment() {
    for layout in ["raid0", "raid10", "raid5", "raid6"] {
        assert_eq!(cost(raid(layout, 8), Io::read(4 * KIB, 8 * KIB)), ([1, 0], 1.0), "{layout}");
        assert_eq!(cost(raid(layout, 8), Io::read(SEGMENT / 2, 2 * SEGMENT)).0, [3, 0], "{layout}");
    }
}

#[test]
fn parity_costs_the_controller_time_between_the_phases() {
    let mut design = design(constant(100.0), raid("raid5", 6), GIB);
    design["controllers"] = json!([{"name": "a", "parity_cost_per_kib_ns": 1_000_000.0}]);
    let mut array = array(&design, 1);
    let done = batch(&mut array, &[Io::write(0, 4 * KIB)]);
    // New data, old data and old parity: 12 KiB at 1 ms each, between two phases of 10 ms.
    assert_eq!(done[0].at.0, 32 * MS);
}
