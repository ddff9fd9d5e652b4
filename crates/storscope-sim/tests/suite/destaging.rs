//! Destaging: what adjoins on the drives goes in one operation, and in the order of addresses.

use crate::support::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use storscope_sim::Array;

const PAGE: u64 = 16 * KIB;
const SEGMENT: u64 = 64 * KIB;

fn cached(drive: Value, group: Value, dirty_bytes: u64) -> Value {
    let mut design = design(drive, group, 32 * GIB);
    design["cache"] = json!({"page_bytes": PAGE, "write": {"size_bytes": dirty_bytes}});
    design
}

fn raid(layout: &str, count: u32) -> Value {
    json!({"count": count, "layout": layout, "segment_bytes": SEGMENT})
}

/// Writes until the drives set the pace, and what they are given from then on: bytes per second and bytes per operation.
fn pace(design: &Value, warm: u64, count: u64, length: u64, next: impl FnMut() -> u64) -> (f64, f64) {
    let mut array = array(design, 1);
    let mut next = next;
    closed(&mut array, 16, warm, 0.0, |_, _| Io::write(next(), length));
    array.restart_statistics();
    closed(&mut array, 16, count, 0.0, |_, _| Io::write(next(), length));
    let report = array.report().expect("laws hold");
    let bytes: u64 = report.components.iter().filter_map(|drive| drive.bytes).map(|bytes| bytes[1]).sum();
    let per_s = report.targets[0].bytes[1] as f64 / (report.duration_ns as f64 / 1e9);
    (per_s, bytes as f64 / drive_operations(&report)[1] as f64)
}

fn sequential(design: &Value) -> (f64, f64) {
    let mut at = 0;
    pace(design, 4_000, 16_000, SEGMENT, || {
        at += SEGMENT;
        at - SEGMENT
    })
}

#[test]
fn a_sequential_write_goes_at_the_rate_of_all_data_drives() {
    // 2 ms and the time of the bytes at 100 MB/s, one operation at a time.
    let mut drive = constant(500.0);
    drive["rate_bytes_per_s"] = json!(100e6);
    let rate = |run: u64| run as f64 / (2e-3 + (run - 4 * KIB) as f64 / 100e6);
    for (layout, count, data) in [("raid0", 8, 8.0), ("raid10", 8, 4.0), ("raid5", 8, 7.0), ("raid6", 8, 6.0)] {
        let (bytes_per_s, run) = sequential(&cached(drive.clone(), raid(layout, count), 256 * MIB));
        assert!(relative(run, MIB as f64) < 0.05, "{layout}: {run} bytes an operation");
        assert!(relative(bytes_per_s, data * rate(MIB)) < 0.06, "{layout}: {bytes_per_s} bytes per second");
    }
    let mut short = cached(drive, raid("raid10", 8), 256 * MIB);
    short["cache"]["write"]["run_bytes"] = json!(SEGMENT);
    let (bytes_per_s, run) = sequential(&short);
    assert!(relative(run, SEGMENT as f64) < 0.01, "{run} bytes an operation");
    assert!(relative(bytes_per_s, 4.0 * rate(SEGMENT)) < 0.06, "{bytes_per_s} bytes per second");
}

#[test]
fn full_rows_of_parity_sets_read_nothing() {
    for (layout, count, width) in [("raid5", 8, None), ("raid50", 12, Some(6)), ("raid6", 10, None)] {
        let mut group = raid(layout, count);
        group["width"] = json!(width);
        let mut array = array(&cached(constant(500.0), group, 64 * MIB), 1);
        let mut at = 0;
        closed(&mut array, 16, 16_000, 0.0, |_, _| {
            at += SEGMENT;
            Io::write(at - SEGMENT, SEGMENT)
        });
        let [reads, writes] = drive_operations(&array.report().expect("laws hold"));
        assert!(reads * 20 < writes, "{layout}: {reads} reads beside {writes} writes");
    }
}

#[test]
fn a_small_memory_takes_small_bites() {
    let mut small = cached(constant(500.0), raid("raid0", 8), 4 * MIB);
    let (_, run) = sequential(&small);
    assert!(run <= SEGMENT as f64, "an eighth of the memory is one segment on each drive: {run}");
    small["cache"]["write"]["size_bytes"] = json!(32 * MIB);
    let (_, run) = sequential(&small);
    assert!(run > 4.0 * SEGMENT as f64, "{run}");
}

/// Random writes per second of one drive that sorts its queue, through so much memory.
fn random_per_s(dirty_bytes: u64, order: &str) -> f64 {
    let mut drive = sata();
    drive["queueing"] = json!({"gamma": 0.6, "depth": 32});
    let mut design = design(drive, json!({"count": 1, "layout": "raid0", "segment_bytes": SEGMENT}), 400 * GIB);
    design["cache"] = json!({"page_bytes": PAGE, "write": {"size_bytes": dirty_bytes, "order": order}});
    let mut random = storscope_sim::kernel::Random::new(3, 3);
    let pages = 2 * dirty_bytes / PAGE;
    pace(&design, pages, pages.max(4_000), PAGE, || random.below(400 * GIB / PAGE) * PAGE).0 / PAGE as f64
}

#[test]
fn the_more_is_dirty_the_shorter_are_the_ways_between() {
    let (little, much) = (random_per_s(2 * MIB, "address"), random_per_s(256 * MIB, "address"));
    assert!(much > 1.25 * little, "{little} writes per second, {much} with much dirty data");
    let (old, much_old) = (random_per_s(2 * MIB, "age"), random_per_s(256 * MIB, "age"));
    assert!(relative(much_old, old) < 0.05, "{old} and {much_old}: by age the amount does not matter");
    assert!(little > 0.95 * old, "{little} against {old}");
}

fn lose_the_battery(array: &mut Array) -> storscope_sim::array::ArrayReport {
    settle(array);
    let end = array.now() + storscope_types::Nanos(1_000 * storscope_types::Nanos::SECOND.0);
    storscope_device::Device::wait(array, end, &mut Vec::new()).expect("works");
    settle(array);
    array.report().expect("laws hold")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn everything_dirty_gets_to_the_drives_once(
        layout in prop_oneof![Just(("raid0", 1)), Just(("raid10", 2)), Just(("raid1", 2))],
        order in prop_oneof![Just("address"), Just("age")],
        run in prop_oneof![Just(SEGMENT), Just(MIB)],
        seed: u64,
    ) {
        let mut design = cached(constant(1_000.0), raid(layout.0, 4), 8 * MIB);
        design["cache"]["write"]["order"] = json!(order);
        design["cache"]["write"]["run_bytes"] = json!(run);
        design["controllers"] = json!([{"name": "a"}]);
        design["changes"] = json!([{"time_ns": 500_000_000_000_u64, "cache_lost": "a"}]);
        let mut array = array(&design, seed);
        // Runs of one to eight pages; none is written twice.
        let mut random = storscope_sim::kernel::Random::new(seed, 1);
        let mut page = 0;
        let mut written = 0;
        closed(&mut array, 8, 2_000, 0.0, |_, _| {
            let pages = 1 + random.below(8);
            page += pages + random.below(3);
            written += pages * PAGE;
            Io::write((page - pages) * PAGE, pages * PAGE)
        });
        let report = lose_the_battery(&mut array);
        let bytes: u64 = report.components.iter().filter_map(|drive| drive.bytes).map(|bytes| bytes[1]).sum();
        prop_assert_eq!(bytes, layout.1 * written);
        prop_assert_eq!(report.cache.expect("memory").dirty_pages, 0);
    }
}

#[test]
fn a_slow_group_does_not_take_the_destages_of_a_fast_one() {
    let mut design = cached(constant(50.0), raid("raid0", 4), 64 * MIB);
    design["drives"]["fast"] = constant(5_000.0);
    let mut fast = raid("raid0", 4);
    (fast["name"], fast["drive"]) = (json!("fast"), json!("fast"));
    design["groups"].as_array_mut().expect("groups").push(fast);
    let volume = json!({"name": "f", "group": "fast", "size_bytes": 32 * GIB});
    design["volumes"].as_array_mut().expect("volumes").push(volume);
    design["hosts"][0]["volumes"] = json!([{"volume": "v"}, {"volume": "f"}]);
    design["cache"]["write"]["high_watermark"] = json!(0.2);
    let mut array = array(&design, 1);
    // A burst for the slow group that stays well below full memory; then the fast one is written to.
    let burst: Vec<Io> = (0..2_000).map(|at| Io::write(at * 8 * PAGE, 4 * KIB)).collect();
    batch(&mut array, &burst);
    array.restart_statistics();
    let start = array.now();
    closed(&mut array, 8, 10_000, 0.0, |random, _| Io {
        target: 1,
        ..Io::write(random.below(GIB / PAGE) * PAGE, 4 * KIB)
    });
    let per_s = 10_000.0 / (array.now() - start).as_secs_f64();
    assert!(per_s > 10_000.0, "{per_s} of the 20,000 per second that the fast drives can do");
}

/// Where a single destage is under way at a time every group has as little of it as any other, whatever its number.
#[test]
fn what_is_dirty_longest_goes_first_whichever_group_it_is_of() {
    const GROUPS: u64 = 5;
    for order in ["age", "address"] {
        let mut design = cached(constant(1_000.0), raid("raid0", 2), 64 * MIB);
        design["cache"]["write"]["order"] = json!(order);
        for number in 1..GROUPS {
            let mut group = raid("raid0", 2);
            (group["name"], group["drive"]) = (json!(format!("g{number}")), json!("d"));
            design["groups"].as_array_mut().expect("groups").push(group);
            let volume = json!({"name": format!("v{number}"), "group": format!("g{number}"), "size_bytes": 32 * GIB});
            design["volumes"].as_array_mut().expect("volumes").push(volume);
            design["hosts"][0]["volumes"]
                .as_array_mut()
                .expect("volumes")
                .push(json!({"volume": format!("v{number}")}));
        }
        let mut array = array(&design, 1);
        let somewhere = |random: &mut storscope_sim::kernel::Random| random.below(GIB / PAGE) * 16 * PAGE;
        // Up to the low watermark, a tenth of the memory, and three times as much again: that of a group leaves as it comes.
        open(&mut array, 100.0, 4 * 410, |random| Io {
            target: random.below(GROUPS) as u32,
            ..Io::write(somewhere(random), 4 * KIB)
        });
        let report = array.report().expect("laws hold");
        let mut of_groups = [0; GROUPS as usize];
        let operations = report.components.iter().filter_map(|drive| drive.operations);
        operations.enumerate().for_each(|(drive, operations)| of_groups[drive / 2] += operations[1]);
        let most = of_groups.iter().max().expect("groups");
        assert!(of_groups.iter().all(|writes| writes * 5 > most * 3), "by {order}: {of_groups:?}");
        assert!(relative(of_groups.iter().sum::<u64>() as f64, 3.0 * 410.0) < 0.05, "by {order}: {of_groups:?}");
    }
}

/// Four destages a drive, as arms get, leave most dies of flash idle.
#[test]
fn flash_is_destaged_to_with_as_many_writes_as_it_has_dies() {
    let flash = json!({"kind": "flash", "size_bytes": 64 * GIB, "dies": 24, "page_bytes": 4 * KIB, "overhead_ns": 20_000,
        "read_ns": 80_000, "program_ns": 600_000, "interface_rate_bytes_per_s": 1e9, "write_accept_ns": 20_000});
    let rate = |destages: Value| {
        let mut design = cached(flash.clone(), raid("raid5", 4), 8 * MIB);
        design["cache"]["write"]["destages"] = destages;
        let mut random = storscope_sim::kernel::Random::new(3, 3);
        pace(&design, 8_000, 32_000, 4 * KIB, || random.below(32 * GIB / PAGE) * PAGE).0
    };
    let (few, all, chosen) = (rate(json!(16)), rate(json!(96)), rate(json!(null)));
    assert!(few < 0.8 * all, "{few} and {all} bytes per second");
    assert!(relative(chosen, all) < 0.02, "{chosen} and {all} bytes per second");
}
