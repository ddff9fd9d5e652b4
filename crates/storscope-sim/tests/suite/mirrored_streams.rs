//! Sequential reads of mirrors whose nearest copy is read, as Linux md does.
//!
//! What is expected is what a drive alone does: one reader has the rate of one drive.

use crate::support::{GIB, Io, KIB, MIB, array, closed, relative};
use serde_json::{Value, json};

const SIZE: u64 = 200 * GIB;

fn group_of(drive: &str, layout: &str, count: u32, segment: u64) -> Value {
    json!({"name": "test", "groups": [{"name": "g", "drive": drive, "layout": layout, "count": count,
            "segment_bytes": segment}],
        "volumes": [{"name": "v", "group": "g", "size_bytes": SIZE}],
        "hosts": [{"name": "h", "volumes": [{"volume": "v"}]}]})
}

/// Bytes per second of sequential readers that begin apart, each with `depth` outstanding, and the reads of each drive.
fn sequential(design: &Value, readers: u32, depth: u32, length: u64) -> (f64, Vec<u64>) {
    let mut array = array(design, 3);
    let mut next: Vec<u64> =
        (0..u64::from(readers)).map(|reader| reader * (SIZE / u64::from(readers)) / MIB * MIB).collect();
    let mut read = |array: &mut _, bytes: u64| {
        closed(array, readers * depth, bytes / length, 0.0, |_, token| {
            let at = &mut next[(token % readers) as usize];
            *at += length;
            Io::read(*at - length, length)
        });
    };
    read(&mut array, 64 * MIB);
    array.restart_statistics();
    let (start, bytes) = (array.now(), 512 * MIB);
    read(&mut array, bytes);
    let rate = bytes as f64 / (array.now() - start).as_secs_f64();
    let report = array.report().expect("laws hold");
    (rate, report.components.iter().filter_map(|one| one.operations.map(|both| both[0])).collect())
}

#[test]
fn one_reader_at_a_time_is_as_fast_as_on_one_copy_alone() {
    for drive in ["10k-sas", "7200-sata"] {
        for length in [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB] {
            for (layout, count, segment) in
                [("raid1", 2, 64 * KIB), ("raid10", 2, 64 * KIB), ("raid10", 4, 512 * KIB), ("raid10", 8, 64 * KIB)]
            {
                let mut of_first = group_of(drive, layout, count, segment);
                of_first["groups"][0]["read_choice"] = json!("primary");
                let alone = if count == 2 { group_of(drive, "raid0", 1, segment) } else { of_first };
                let (alone, _) = sequential(&alone, 1, 1, length);
                let (mirrored, reads) = sequential(&group_of(drive, layout, count, segment), 1, 1, length);
                assert!(
                    mirrored > 0.98 * alone,
                    "{drive}, {count} in {layout}, {length} bytes: {mirrored} of {alone}, {reads:?}"
                );
            }
        }
    }
}

/// Both queues are empty whenever a request comes.
#[test]
fn of_queues_as_short_a_reader_stays_where_it_was() {
    for (layout, count, segment) in [("raid1", 2, 64 * KIB), ("raid10", 2, 64 * KIB), ("raid10", 8, 64 * KIB)] {
        for length in [16 * KIB, 64 * KIB] {
            let [primary, shortest] = ["primary", "shortest_queue"].map(|choice| {
                let mut group = group_of("10k-sas", layout, count, segment);
                group["groups"][0]["read_choice"] = json!(choice);
                sequential(&group, 1, 1, length).0
            });
            assert!(shortest > 0.98 * primary, "{count} in {layout}, {length} bytes: {shortest} of {primary}");
        }
    }
}

#[test]
fn two_readers_in_turn_stay_each_on_a_drive_of_its_own() {
    for layout in ["raid1", "raid10"] {
        for length in [16 * KIB, 64 * KIB, 256 * KIB] {
            let (one, _) = sequential(&group_of("10k-sas", layout, 2, MIB), 1, 1, length);
            let (two, reads) = sequential(&group_of("10k-sas", layout, 2, MIB), 2, 1, length);
            // The second begins in the middle of the volume, where tracks hold less.
            assert!(two > 1.6 * one, "{layout}, {length} bytes: {two}, one alone {one}, {reads:?}");
        }
    }
}

#[test]
fn a_deep_reader_of_raid_1_stays_on_one_drive() {
    for depth in [2, 8, 32] {
        let (alone, _) = sequential(&group_of("10k-sas", "raid0", 1, 64 * KIB), 1, depth, 64 * KIB);
        let (mirrored, reads) = sequential(&group_of("10k-sas", "raid1", 2, 64 * KIB), 1, depth, 64 * KIB);
        assert!(reads.contains(&0), "{depth} outstanding: {reads:?}");
        assert!(relative(mirrored, alone) < 0.001, "{depth} outstanding: {mirrored}, one drive {alone}");
    }
}

/// Of RAID 10 an idle drive comes first. What either reads at a stretch is less than a track of 600 KB here, so that what it
/// leaves to the other still passes under its heads.
#[test]
fn a_reader_with_two_outstanding_is_no_faster_on_two_copies_than_on_one() {
    for length in [16 * KIB, 64 * KIB, 256 * KIB] {
        let (alone, _) = sequential(&group_of("10k-sas", "raid0", 1, 64 * KIB), 1, 2, length);
        let (mirrored, reads) = sequential(&group_of("10k-sas", "raid10", 2, 64 * KIB), 1, 2, length);
        assert!(!reads.contains(&0), "{length} bytes: {reads:?}");
        assert!((0.9..1.01).contains(&(mirrored / alone)), "{length} bytes: {mirrored}, one drive {alone}, {reads:?}");
    }
}
