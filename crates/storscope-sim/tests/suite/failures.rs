//! Failed drives: what reads and writes do then, rebuilding, and losing data.

use crate::support::*;
use serde_json::{Value, json};
use storscope_device::Device;
use storscope_sim::Array;
use storscope_types::Nanos;

const SEGMENT: u64 = 64 * KIB;

/// A group with these drives of the set failed from the beginning.
fn failed(group: Value, drives: &[u32]) -> Value {
    let mut design = design(constant(100.0), group, GIB);
    let change = |index: &u32| json!({"time_ns": 0, "drive_fails": {"group": "g", "index": index}});
    design["changes"] = drives.iter().map(change).collect();
    design
}

fn raid5() -> Value {
    json!({"count": 5, "layout": "raid5", "segment_bytes": SEGMENT})
}

fn operations(design: &Value, io: Io) -> ([u64; 2], i32) {
    let mut array = array(design, 1);
    let done = batch(&mut array, &[io]);
    let report = array.report().expect("laws hold");
    let first = &report.components[0];
    assert_eq!(first.operations.expect("a drive"), [0, 0], "the failed drive is left alone");
    (drive_operations(&report), done[0].result)
}

#[test]
fn a_degraded_read_reads_the_rest_of_the_stripe() {
    // Stripe 0 has its parity on drive 4 and data on 0 to 3.
    assert_eq!(operations(&failed(raid5(), &[0]), Io::read(0, 4 * KIB)), ([4, 0], 4_096));
    assert_eq!(operations(&failed(raid5(), &[0]), Io::read(SEGMENT, 4 * KIB)), ([1, 0], 4_096));
}

#[test]
fn a_degraded_write_keeps_the_stripe_consistent() {
    // The written segment is lost: the other three are read, and the parity alone is written.
    assert_eq!(operations(&failed(raid5(), &[0]), Io::write(0, SEGMENT)).0, [3, 1]);
    // Another one is lost: modified as usual, although reconstructing were as cheap.
    assert_eq!(operations(&failed(raid5(), &[0]), Io::write(SEGMENT, SEGMENT)).0, [2, 2]);
}

/// What the written segments had is computed from as many others as a stripe has data, also where more parity is left.
#[test]
fn a_degraded_write_reads_no_more_than_computes_what_is_lost() {
    // Eight of data and three of parity: the third stripe has its data on drives 0 to 7.
    let triple = json!({"count": 11, "layout": "raid6", "parity": 3, "segment_bytes": SEGMENT});
    let start = 2 * 8 * SEGMENT;
    assert_eq!(operations(&failed(triple.clone(), &[0, 1]), Io::write(start, 4 * KIB)).0, [8, 3]);
    assert_eq!(operations(&failed(triple, &[0, 1, 2]), Io::write(start, 4 * KIB)).0, [8, 3]);
    // Six of data and two of parity: the second stripe has its data on drives 0 to 5. Half of the lost segment is written.
    let double = json!({"count": 8, "layout": "raid6", "segment_bytes": SEGMENT});
    let start = 6 * SEGMENT + SEGMENT / 2;
    assert_eq!(operations(&failed(double, &[0]), Io::write(start, SEGMENT / 2 + SEGMENT)).0, [6, 3]);
}

#[test]
fn a_write_whose_parity_is_lost_reads_nothing() {
    let mut array = array(&failed(raid5(), &[4]), 1);
    batch(&mut array, &[Io::write(0, SEGMENT)]);
    assert_eq!(drive_operations(&array.report().expect("laws hold")), [0, 1]);
}

#[test]
fn mirrors_lose_nothing_by_one_drive_and_half_the_reads_lose_their_choice() {
    let group = json!({"count": 4, "layout": "raid10", "segment_bytes": SEGMENT});
    assert_eq!(operations(&failed(group.clone(), &[0]), Io::read(0, 4 * KIB)), ([1, 0], 4_096));
    assert_eq!(operations(&failed(group.clone(), &[0]), Io::write(0, 4 * KIB)), ([0, 1], 4_096));
    assert_eq!(operations(&failed(group, &[0, 1]), Io::read(0, 4 * KIB)), ([0, 0], -5));
}

#[test]
fn raid_6_survives_two_and_raid_5_does_not() {
    let raid6 = json!({"count": 6, "layout": "raid6", "segment_bytes": SEGMENT});
    assert_eq!(operations(&failed(raid6.clone(), &[0, 1]), Io::read(0, 4 * KIB)), ([4, 0], 4_096));
    assert_eq!(operations(&failed(raid5(), &[0, 1]), Io::read(0, 4 * KIB)).1, -5);
    assert_eq!(operations(&failed(raid6, &[0, 1, 2]), Io::write(0, 4 * KIB)).1, -5);
}

#[test]
fn as_many_drives_may_fail_as_there_are_more_copies_or_parities() {
    let mirror = json!({"count": 6, "layout": "raid10", "copies": 3, "segment_bytes": SEGMENT});
    assert_eq!(operations(&failed(mirror.clone(), &[0, 1]), Io::read(0, 4 * KIB)), ([1, 0], 4_096));
    assert_eq!(operations(&failed(mirror.clone(), &[0, 2]), Io::write(0, 4 * KIB)), ([0, 1], 4_096));
    assert_eq!(operations(&failed(mirror, &[0, 1, 2]), Io::read(0, 4 * KIB)).1, -5);
    let triple = json!({"count": 8, "layout": "raid6", "parity": 3, "segment_bytes": SEGMENT});
    assert_eq!(operations(&failed(triple.clone(), &[0, 1, 2]), Io::read(0, 4 * KIB)), ([5, 0], 4_096));
    assert_eq!(operations(&failed(triple, &[0, 1, 2, 3]), Io::write(0, 4 * KIB)).1, -5);
}

/// All three copies are read as often, by each rule but the one that reads the first; and by each rule the load is three
/// times that of one drive when every drive is kept busy.
#[test]
fn reads_of_three_copies_are_spread_over_three_drives() {
    for (choice, first) in
        [("round_robin", 1.0 / 3.0), ("shortest_queue", 1.0 / 3.0), ("nearest", 1.0 / 3.0), ("primary", 1.0)]
    {
        let group =
            json!({"count": 3, "layout": "raid1", "copies": 3, "read_choice": choice, "segment_bytes": SEGMENT});
        let mut array = array(&design(constant(100.0), group, GIB), 1);
        closed(&mut array, 12, 9_000, 0.0, |random, _| random_read(random, GIB, 4 * KIB));
        let report = array.report().expect("laws hold");
        let reads: Vec<u64> = report.components.iter().filter_map(|one| one.operations).map(|both| both[0]).collect();
        let share = reads[0] as f64 / reads.iter().sum::<u64>() as f64;
        assert!((share - first).abs() < 0.02, "{choice}: {reads:?}");
    }
}

/// The second parity is left out, and lies on each drive in turn; but never on the one behind the failed one where that
/// has data.
#[test]
fn what_a_failed_drive_of_raid_6_had_is_read_from_all_others_alike() {
    let raid6 = json!({"count": 8, "layout": "raid6", "segment_bytes": SEGMENT});
    let mut array = array(&failed(raid6, &[3]), 1);
    closed(&mut array, 16, 40_000, 0.0, |random, _| random_read(random, GIB, 4 * KIB));
    let report = array.report().expect("laws hold");
    let reads: Vec<u64> = report.components.iter().filter_map(|one| one.operations).map(|both| both[0]).collect();
    let alive = || reads.iter().enumerate().filter(|(drive, _)| *drive != 3).map(|(_, &reads)| reads as f64);
    let mean = alive().sum::<f64>() / 7.0;
    assert!(alive().all(|reads| relative(reads, mean) < 0.09), "{reads:?}");
}

fn rebuilding(group: Value, task: Value) -> Value {
    let mut design = failed(group, &[1]);
    design["drives"]["d"]["size_bytes"] = json!(64 * MIB);
    design["volumes"][0]["size_bytes"] = json!(32 * MIB);
    let mut task = task;
    task["name"] = json!("rebuild");
    task["kind"] = json!("rebuild");
    task["group"] = json!("g");
    design["background"] = json!([task]);
    design
}

#[test]
fn a_rebuild_reads_the_survivors_and_fills_the_spare() {
    let mut group = raid5();
    group["spares"] = json!(1);
    let mut array = array(&rebuilding(group, json!({"outstanding": 4, "chunk_bytes": SEGMENT})), 1);
    settle(&mut array);
    let report = array.report().expect("laws hold");
    let rows = 64 * MIB / SEGMENT;
    assert_eq!(drive_operations(&report), [4 * rows, rows]);
    let spare = report.components.iter().find(|component| component.name == "g/5").expect("the spare");
    assert_eq!(spare.operations, Some([0, rows]));
    assert_eq!(report.background[0].bytes, 64 * MIB);
    assert!(report.background[0].finished_ns.is_some());
    // From then on the spare serves what the failed drive did: segment 1 lies on drive 1.
    batch(&mut array, &[Io::read(SEGMENT, 4 * KIB)]);
    assert_eq!(drive_operations(&array.report().expect("laws hold"))[0], 4 * rows + 1);
}

#[test]
fn a_rebuild_takes_a_mebibyte_of_each_drive_at_a_time_unless_told_otherwise() {
    let mut group = raid5();
    group["spares"] = json!(1);
    let mut array = array(&rebuilding(group, json!({})), 1);
    settle(&mut array);
    assert_eq!(drive_operations(&array.report().expect("laws hold")), [4 * 64, 64]);
}

#[test]
fn a_throttled_rebuild_keeps_its_rate() {
    let mut group = json!({"count": 4, "layout": "raid10", "segment_bytes": SEGMENT});
    group["spares"] = json!(1);
    let mut array = array(&rebuilding(group, json!({"rate_bytes_per_s": 2e6, "chunk_bytes": 4 * SEGMENT})), 1);
    let end = Nanos(600 * Nanos::SECOND.0);
    while array.wait(end, &mut Vec::new()).expect("works") < end {}
    let task = &array.report().expect("laws hold").background[0];
    let seconds = task.finished_ns.expect("finished") as f64 / 1e9;
    assert!(relative(seconds, 64.0 * 1.048_576 / 2.0) < 0.01, "{seconds} s");
}

#[test]
fn a_pool_rebuilds_into_the_free_space_of_all_and_faster() {
    let pool = json!({"count": 20, "layout": "pool", "redundancy": "raid5", "segment_bytes": SEGMENT,
        "spare_share": 0.1});
    let mut spread = array(&rebuilding(pool, json!({"outstanding": 16})), 1);
    settle(&mut spread);
    let spread = spread.report().expect("laws hold");
    let written = spread.components.iter().filter(|component| component.operations.is_some_and(|counts| counts[1] > 0));
    assert_eq!(written.count(), 19, "all but the failed drive take a part");
    let mut group = raid5();
    group["spares"] = json!(1);
    let mut single = array(&rebuilding(group, json!({"outstanding": 16, "chunk_bytes": SEGMENT})), 1);
    settle(&mut single);
    let finished = |report: storscope_sim::array::ArrayReport| report.background[0].finished_ns.expect("finished");
    let single = finished(single.report().expect("laws hold"));
    let spread = finished(spread);
    assert!(spread * 2 < single, "{spread} against {single}");
}

#[test]
fn a_scrub_reads_everything_once() {
    let mut design = design(constant(1_000.0), raid5(), MIB);
    design["drives"]["d"]["size_bytes"] = json!(16 * MIB);
    design["background"] =
        json!([{"name": "s", "kind": "scrub", "group": "g", "start_ns": 5, "chunk_bytes": 2 * SEGMENT}]);
    let mut array = array(&design, 1);
    array.wait(Nanos(10), &mut Vec::new()).expect("works");
    settle(&mut array);
    let report = array.report().expect("laws hold");
    let bytes: u64 = report.components.iter().filter_map(|component| component.bytes).map(|bytes| bytes[0]).sum();
    assert_eq!((bytes, report.background[0].bytes), (5 * 16 * MIB, 5 * 16 * MIB));
}

#[test]
fn a_restripe_slows_reads_down() {
    let run = |tasks: Value| {
        let mut design = design(constant(100.0), json!({"count": 8, "layout": "raid0", "segment_bytes": SEGMENT}), GIB);
        design["background"] = tasks;
        let mut array = array(&design, 1);
        closed(&mut array, 8, 5_000, 0.0, |random, _| random_read(random, GIB, 4 * KIB));
        mean_latency_ns(&array.report().expect("laws hold"))
    };
    let quiet = run(json!([]));
    let task = json!({"name": "r", "kind": "restripe", "group": "g", "start_ns": 0, "outstanding": 4, "share": 0.2});
    let busy = run(json!([task]));
    assert!(busy > 1.2 * quiet, "{busy} against {quiet}");
}

/// Every drive holds data, parity or a copy everywhere: all of that moves, not each datum once.
#[test]
fn a_restripe_moves_copies_and_parity_too() {
    for (count, layout) in [(4, "raid10"), (5, "raid5"), (6, "raid6"), (4, "raid0")] {
        let group = json!({"count": count, "layout": layout, "segment_bytes": SEGMENT});
        let mut design = design(constant(100.0), group, 4 * MIB);
        design["drives"]["d"]["size_bytes"] = json!(16 * MIB);
        design["background"] = json!([{"name": "r", "kind": "restripe", "group": "g", "start_ns": 5}]);
        let mut array = array(&design, 1);
        array.wait(Nanos(10), &mut Vec::new()).expect("works");
        settle(&mut array);
        let report = array.report().expect("laws hold");
        let bytes: Vec<[u64; 2]> = report.components.iter().filter_map(|component| component.bytes).collect();
        assert!(bytes.iter().all(|bytes| bytes[0] == 16 * MIB), "{layout}: each drive is read whole: {bytes:?}");
        let all = count * 16 * MIB;
        assert_eq!(bytes.iter().map(|bytes| bytes[1]).sum::<u64>(), all, "{layout}: and all of it is written");
        assert_eq!(report.background[0].bytes, all, "{layout}");
    }
}

#[test]
fn what_a_pool_rebuilds_goes_to_all_drives_alike() {
    let pool = json!({"count": 8, "layout": "pool", "redundancy": "raid5", "segment_bytes": 4 * KIB,
        "spare_share": 0.2});
    let mut array = array(&rebuilding(pool, json!({"outstanding": 16})), 1);
    settle(&mut array);
    let report = array.report().expect("laws hold");
    let written = report.components.iter().filter_map(|component| component.operations.map(|counts| counts[1]));
    let written: Vec<u64> = written.filter(|&count| count > 0).collect();
    let mean = written.iter().sum::<u64>() as f64 / 7.0;
    assert_eq!(written.len(), 7);
    assert!(written.iter().all(|&count| relative(count as f64, mean) < 0.15), "{written:?}");
}

/// What happened that is no failure of a drive, in words: kind and drive or volume.
fn told(array: &mut Array) -> Vec<String> {
    let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
    let happenings = report["happenings"].as_array().expect("a list");
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let words = |one: &Value| {
        let reason = one["no_effect"].as_str().map_or(String::new(), |reason| format!(" ({reason})"));
        format!("{} {}{}{reason}", text(one, "kind"), text(one, "drive"), text(one, "volume"))
    };
    happenings.iter().filter(|one| one["kind"] != "drive_failed").map(words).collect()
}

/// Drive 1 has failed and is rebuilt in 32 s, and this happens meanwhile.
fn meanwhile(mut group: Value, changes: &[Value]) -> Array {
    group["spares"] = json!(2);
    let mut design = rebuilding(group, json!({"rate_bytes_per_s": 2.097_152e6, "chunk_bytes": 4 * SEGMENT}));
    design["changes"].as_array_mut().expect("a list").extend(changes.iter().cloned());
    let mut array = array(&design, 1);
    let end = Nanos(200 * Nanos::SECOND.0);
    while array.wait(end, &mut Vec::new()).expect("works") < end {}
    array
}

fn fails_at(seconds: u64, drive: u32) -> Value {
    json!({"time_ns": seconds * Nanos::SECOND.0, "drive_fails": {"group": "g", "index": drive}})
}

#[test]
fn a_rebuild_that_has_lost_its_source_ends_and_the_data_is_lost() {
    let mirror = |layout: &str, count: u64| json!({"count": count, "layout": layout, "segment_bytes": SEGMENT});
    for (group, second) in [(mirror("raid1", 2), 0), (mirror("raid10", 4), 0), (raid5(), 3)] {
        let mut array = meanwhile(group.clone(), &[fails_at(2, second)]);
        assert_eq!(told(&mut array), ["task_started g/1", "task_failed g/1", "data_lost v"], "{group}");
        let task = &array.report().expect("laws hold").background[0];
        assert!(task.bytes < 20 * MIB && task.finished_ns.is_none(), "{} of {group}", task.bytes);
        // Told once, whoever asks for it afterwards; the volume is offline, with what would be left of it.
        let results = batch(&mut array, &[Io::read(32 * MIB - SEGMENT, 4 * KIB), Io::read(0, 4 * KIB)]);
        assert!(results.iter().all(|one| one.result == -5), "{group}");
        assert_eq!(told(&mut array).len(), 3, "{group}");
    }
}

#[test]
fn a_second_failure_elsewhere_is_rebuilt_after_the_first() {
    let raid10 = json!({"count": 4, "layout": "raid10", "segment_bytes": SEGMENT});
    let raid6 = json!({"count": 6, "layout": "raid6", "segment_bytes": SEGMENT});
    for group in [raid10, raid6] {
        let mut array = meanwhile(group, &[fails_at(8, 3)]);
        let both = ["task_started g/1", "task_finished g/1", "task_started g/3", "task_finished g/3"];
        assert_eq!(told(&mut array), both);
    }
}

#[test]
fn a_rebuild_that_was_stopped_begins_again() {
    let change = |seconds: u64, key: &str| json!({"time_ns": seconds * Nanos::SECOND.0, key: "rebuild"});
    let mut array = meanwhile(raid5(), &[change(8, "background_stops"), change(60, "background_starts")]);
    let words = ["task_started g/1", "task_stopped g/1", "task_started g/1", "task_finished g/1"];
    assert_eq!(told(&mut array), words);
    // It reads the survivors again, not what it has written before.
    let finished_ns = array.report().expect("laws hold").background[0].finished_ns.expect("finished");
    assert!(relative(finished_ns as f64 / 1e9, 60.0 + 32.0) < 0.02);
}

/// The memory of the array has them, but nothing can be done with them: it takes the volume offline, as its set is.
#[test]
fn writes_in_memory_are_of_no_use_when_their_volume_is_lost() {
    let mut design = failed(raid5(), &[0]);
    design["changes"].as_array_mut().expect("a list").push(fails_at(1, 2));
    design["cache"] = json!({"write": {"size_bytes": MIB}});
    let mut array = array(&design, 1);
    assert_eq!(batch(&mut array, &[Io::write(0, 4 * KIB)])[0].result, 4_096, "one drive has failed");
    until(&mut array, 2);
    assert_eq!(told(&mut array), ["data_lost v"]);
    assert_eq!(batch(&mut array, &[Io::write(0, 4 * KIB)])[0].result, -5);
    assert_eq!(batch(&mut array, &[Io::read(0, 4 * KIB)])[0].result, -5);
}

#[test]
fn what_was_read_ahead_of_lost_data_answers_nobody() {
    let mut design = design(constant(100.0), json!({"count": 4, "layout": "raid0", "segment_bytes": SEGMENT}), GIB);
    design["changes"] = json!([fails_at(60, 2)]);
    design["cache"] = json!({"read": {"size_bytes": 16 * MIB}, "prefetch": {"depth_bytes": MIB, "streams": 8}});
    let mut array = array(&design, 1);
    let read = |array: &mut Array, block: u64| batch(array, &[Io::read(block * 16 * KIB, 16 * KIB)])[0].result;
    assert!((0..8).all(|block| read(&mut array, block) == 16_384), "and the third segment was read ahead");
    until(&mut array, 61);
    assert_eq!(told(&mut array), ["data_lost v"]);
    assert!((8..64).all(|block| read(&mut array, block) == -5));
}

fn until(array: &mut Array, seconds: u64) {
    let end = Nanos(seconds * Nanos::SECOND.0);
    while array.wait(end, &mut Vec::new()).expect("works") < end {}
}

/// A group of drives of 64 MiB with these volumes, of so many segments each, and drives that fail second after second.
fn failing(group: &Value, segments: &[u64], drives: &[u32]) -> Value {
    let mut design = design(constant(1_000.0), group.clone(), GIB);
    design["drives"]["d"]["size_bytes"] = json!(64 * MIB);
    let volume = |(index, count): (usize, &u64)| json!({"name": format!("v{index}"), "group": "g", "size_bytes": count * SEGMENT});
    design["volumes"] = segments.iter().enumerate().map(volume).collect();
    design["hosts"] = json!([{"name": "h", "volumes": [{"volume": "v0"}]}]);
    design["changes"] = drives.iter().enumerate().map(|(at, drive)| fails_at(at as u64 + 1, *drive)).collect();
    design
}

/// What is told until all of these drives have failed, of an array that is asked for nothing.
fn told_of(group: &Value, segments: &[u64], drives: &[u32]) -> Vec<String> {
    let mut array = array(&failing(group, segments, drives), 1);
    until(&mut array, drives.len() as u64 + 1);
    told(&mut array)
}

#[test]
fn a_set_with_too_many_failed_drives_has_failed_before_anybody_asks_for_it() {
    let of = |layout: &str, count: u32| json!({"count": count, "layout": layout, "segment_bytes": SEGMENT});
    let wide = |layout: &str| json!({"count": 8, "layout": layout, "width": 4, "segment_bytes": SEGMENT});
    let survive: [(Value, &[u32]); 7] = [
        (of("raid1", 4), &[0, 2]),
        (of("raid10", 6), &[0, 3, 4]),
        (of("raid5", 5), &[4]),
        (of("raid6", 6), &[0, 5]),
        (wide("raid50"), &[0, 7]),
        (wide("raid60"), &[0, 1, 6, 7]),
        (json!({"count": 9, "layout": "pool", "redundancy": "raid6", "segment_bytes": SEGMENT}), &[0, 1]),
    ];
    for (group, drives) in survive {
        assert!(told_of(&group, &[256], drives).is_empty(), "{group}");
        // Another drive of a set that has no failure left.
        let more = [drives, &[if drives.contains(&1) { 5 } else { 1 }]].concat();
        assert_eq!(told_of(&group, &[256], &more), ["data_lost v0"], "{group} {more:?}");
    }
    assert_eq!(told_of(&of("raid0", 4), &[256], &[3]), ["data_lost v0"]);
}

#[test]
fn volumes_without_space_on_a_set_that_failed_live_on() {
    let raid10 = json!({"count": 6, "layout": "raid10", "segment_bytes": SEGMENT});
    // Segments go to the pairs in turn: the first volume lies on the first two, the others on one each.
    assert_eq!(told_of(&raid10, &[2, 1, 1, 1], &[2, 3]), ["data_lost v0", "data_lost v3"]);
    // Pairs one after the other, of 1,024 segments each.
    let raid1 = json!({"count": 4, "layout": "raid1", "segment_bytes": SEGMENT});
    assert_eq!(told_of(&raid1, &[1_000, 30, 500], &[2, 3]), ["data_lost v1", "data_lost v2"]);
    let raid0 = json!({"count": 4, "layout": "raid0", "segment_bytes": SEGMENT});
    assert_eq!(told_of(&raid0, &[1, 1, 2, 4], &[1]), ["data_lost v1", "data_lost v3"]);
    // Of a pool with mirrors of two drives of eight, a stripe in 28 or so lies on these.
    let pool = json!({"count": 8, "layout": "pool", "redundancy": "raid1", "segment_bytes": SEGMENT});
    let lost = told_of(&pool, &[1; 512], &[0, 5]).len();
    assert!((9..30).contains(&lost), "{lost} of 512, {} expected", 512 / 28);
}

/// Eleven twelfths of the group are rebuilt; the volume is in the first quarter. A controller takes the set offline.
#[test]
fn what_was_rebuilt_of_a_set_that_fails_is_lost_as_well() {
    let mut array = meanwhile(raid5(), &[fails_at(29, 3)]);
    assert_eq!(told(&mut array), ["task_started g/1", "task_failed g/1", "data_lost v"]);
    let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
    let happenings = report["happenings"].as_array().expect("a list");
    let lost = happenings.iter().find(|one| one["kind"] == "data_lost").expect("lost");
    assert_eq!(lost["time_ns"], json!(29 * Nanos::SECOND.0));
    assert_eq!(lost["drives"], json!(["g/1", "g/3"]));
}

#[test]
fn a_drive_that_was_rebuilt_before_the_next_fails_counts_no_more() {
    let mut array = meanwhile(raid5(), &[fails_at(40, 3)]);
    let words = ["task_started g/1", "task_finished g/1", "task_started g/3", "task_finished g/3"];
    assert_eq!(told(&mut array), words);
    assert_eq!(batch(&mut array, &[Io::read(0, 4 * KIB)])[0].result, 4_096);
}

/// Drive 1 of this pool has failed, and its rebuild is stopped when it is about half done.
fn half_rebuilt(redundancy: &str, changes: &[Value]) -> (Array, f64) {
    let pool =
        json!({"count": 9, "layout": "pool", "redundancy": redundancy, "segment_bytes": SEGMENT, "spare_share": 0.2});
    let mut design = rebuilding(pool, json!({"rate_bytes_per_s": 1.048_576e6, "outstanding": 4}));
    design["volumes"] = json!([{"name": "v", "group": "g", "size_bytes": 8 * MIB},
        {"name": "middle", "group": "g", "size_bytes": 200 * MIB}, {"name": "last", "group": "g", "size_bytes": 8 * MIB}]);
    design["hosts"] = json!([{"name": "h", "volumes": [{"volume": "v"}, {"volume": "middle"}, {"volume": "last"}]}]);
    let stops = json!({"time_ns": 25 * Nanos::SECOND.0, "background_stops": "rebuild"});
    design["changes"].as_array_mut().expect("a list").extend(changes.iter().cloned().chain([stops]));
    let mut array = array(&design, 1);
    until(&mut array, 40);
    let bytes = array.report().expect("laws hold").background[0].bytes;
    (array, bytes as f64 / MIB as f64)
}

#[test]
fn what_is_rebuilt_of_a_pool_is_read_where_it_is_now() {
    let (mut array, rebuilt_mib) = half_rebuilt("raid5", &[]);
    assert!((24.0..26.0).contains(&rebuilt_mib), "{rebuilt_mib}");
    let reads = |array: &mut Array, target: u32| {
        let before = drive_operations(&array.report().expect("laws hold"))[0];
        for segment in 0..128 {
            batch(array, &[Io { target, ..Io::read(segment * SEGMENT, 4 * KIB) }]);
        }
        drive_operations(&array.report().expect("laws hold"))[0] - before
    };
    assert_eq!(reads(&mut array, 0), 128, "all of it is rebuilt");
    // One in nine lay on the failed drive, and is computed of four others.
    let degraded = reads(&mut array, 2);
    assert!((150..200).contains(&degraded), "{degraded}");
}

/// The first volume has lost nothing twice, since it was rebuilt before; the rebuild goes on with what can be read.
#[test]
fn of_a_pool_the_volumes_that_lost_too_much_are_lost_and_no_others() {
    let (mut array, _) = half_rebuilt("raid5", &[fails_at(15, 6)]);
    assert_eq!(told(&mut array), ["task_started g/1", "data_lost middle", "data_lost last", "task_stopped g/1"]);
    assert_eq!(batch(&mut array, &[Io::read(0, 4 * KIB)])[0].result, 4_096);
    assert_eq!(batch(&mut array, &[Io { target: 2, ..Io::read(0, 4 * KIB) }])[0].result, -5);
    let (mut array, _) = half_rebuilt("raid6", &[fails_at(15, 6)]);
    assert_eq!(told(&mut array), ["task_started g/1", "task_stopped g/1"]);
}

#[test]
fn a_rebuild_of_a_pool_passes_over_what_is_lost() {
    let pool =
        json!({"count": 9, "layout": "pool", "redundancy": "raid5", "segment_bytes": SEGMENT, "spare_share": 0.3});
    let mut design = rebuilding(pool, json!({"rate_bytes_per_s": 2.097_152e6}));
    design["volumes"][0]["size_bytes"] = json!(200 * MIB);
    design["changes"].as_array_mut().expect("a list").push(fails_at(10, 6));
    let mut array = array(&design, 1);
    until(&mut array, 200);
    let words = ["task_started g/1", "data_lost v", "task_finished g/1", "task_started g/6", "task_finished g/6"];
    assert_eq!(told(&mut array), words);
    let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
    let happenings = report["happenings"].as_array().expect("a list");
    let first = happenings.iter().find(|one| one["kind"] == "task_finished").expect("finished");
    // 20 MiB before, and of the 24 MiB behind what has no part on the second drive: half of it, with 5 of 9 drives.
    let bytes = first["bytes"].as_u64().expect("bytes");
    assert!((28 * MIB..37 * MIB).contains(&bytes), "{bytes}");
}

#[test]
fn a_set_that_failed_does_not_keep_another_from_being_rebuilt() {
    let raid50 = json!({"count": 8, "layout": "raid50", "width": 4, "segment_bytes": SEGMENT});
    let mut array = meanwhile(raid50, &[fails_at(2, 6), fails_at(4, 0)]);
    let words = ["task_started g/1", "task_failed g/1", "data_lost v", "task_started g/6"];
    assert_eq!(told(&mut array)[..4], words);
}

/// Where in a log a volume's data lie is not known.
#[test]
fn all_volumes_of_a_group_with_a_log_are_lost_with_a_set() {
    let raid10 = json!({"count": 6, "layout": "raid10", "segment_bytes": SEGMENT});
    let mut design = failing(&raid10, &[1, 1, 1], &[2, 3]);
    design["cache"] = json!({"write": {"size_bytes": MIB, "placement": "log"}});
    let mut array = array(&design, 1);
    until(&mut array, 4);
    assert_eq!(told(&mut array), ["data_lost v0", "data_lost v1", "data_lost v2"]);
}

#[test]
fn a_pool_rebuilds_no_more_than_its_free_space_holds() {
    let pool = |share: f64| json!({"count": 12, "layout": "pool", "redundancy": "raid6", "segment_bytes": SEGMENT, "spare_share": share});
    let spared = |share: f64| {
        let mut design = rebuilding(pool(share), json!({"outstanding": 16}));
        design["changes"].as_array_mut().expect("a list").extend([fails_at(100, 2), fails_at(200, 3)]);
        let mut array = array(&design, 1);
        let end = Nanos(400 * Nanos::SECOND.0);
        while array.wait(end, &mut Vec::new()).expect("works") < end {}
        let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
        let happenings = report["happenings"].as_array().expect("a list").clone();
        happenings.iter().filter_map(|one| one["has_spare"].as_bool()).collect::<Vec<bool>>()
    };
    // Of 12 drives a twelfth of each is a drive; what a failed one kept is a little less.
    assert_eq!(spared(0.01), [false, false, false]);
    assert_eq!(spared(0.09), [true, false, false]);
    assert_eq!(spared(0.2), [true, true, false]);
}

#[test]
fn the_loss_of_a_volume_that_no_host_uses_is_told() {
    let mut design = rebuilding(
        json!({"count": 4, "layout": "raid10", "segment_bytes": SEGMENT, "spares": 2}),
        json!({"rate_bytes_per_s": 2.097_152e6}),
    );
    let other = json!({"name": "unused", "group": "g", "size_bytes": 32 * MIB});
    design["volumes"].as_array_mut().expect("a list").push(other);
    design["changes"].as_array_mut().expect("a list").push(fails_at(2, 0));
    let mut array = array(&design, 1);
    let end = Nanos(60 * Nanos::SECOND.0);
    while array.wait(end, &mut Vec::new()).expect("works") < end {}
    assert_eq!(told(&mut array), ["task_started g/1", "task_failed g/1", "data_lost v", "data_lost unused"]);
}

/// What marks count only grows: a task that runs a second time begins its own count anew.
#[test]
fn marks_count_what_all_rebuilds_of_a_task_did() {
    let mut design = design(
        constant(100.0),
        json!({"count": 4, "spares": 2, "layout": "raid10", "segment_bytes": SEGMENT}),
        4 * MIB,
    );
    design["drives"]["d"]["size_bytes"] = json!(16 * MIB);
    design["background"] = json!([{"name": "r", "kind": "rebuild", "group": "g"}]);
    let fails = |index: u32| json!({"time_ns": 5, "drive_fails": {"group": "g", "index": index}});
    design["changes"] = json!([fails(0), fails(2)]);
    let mut array = array(&design, 1);
    array.wait(Nanos(10), &mut Vec::new()).expect("works");
    settle(&mut array);
    let report = array.report().expect("laws hold");
    assert_eq!(report.background[0].bytes, 16 * MIB, "of the last time");
    assert_eq!(report.marks.last().expect("made with the report").tasks[0][0], 32 * MIB, "of both");
}
