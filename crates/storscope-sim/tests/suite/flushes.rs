//! Flushes: what they wait for, in drives and in arrays.

use crate::support::*;
use serde_json::{Value, json};
use storscope_device::{Device, Direction, FlushRequest};
use storscope_sim::Array;
use storscope_sim::drive::{Drive, DriveOp, catalogue};
use storscope_types::design::drive::DriveDesign;
use storscope_types::{FlushKind, Nanos};

const TURN_MS: f64 = 60_000.0 / 7_200.0;

fn cached(mut drive: Value) -> Value {
    drive["write_cache"] = json!({"size_bytes": 16 * MIB, "extents": 64, "window": 8});
    drive
}

fn one(drive: Value) -> Value {
    design(drive, json!({"count": 1, "layout": "raid0"}), 50 * GIB)
}

fn wait_for_one(array: &mut Array) -> u64 {
    let (from, mut done) = (array.now(), Vec::new());
    while done.is_empty() {
        array.wait(Nanos::NEVER, &mut done).expect("works");
    }
    assert_eq!(done.len(), 1);
    assert!(done[0].result >= 0, "{done:?}");
    (done[0].at - from).0
}

fn flush(array: &mut Array) -> u64 {
    array.flush(FlushRequest { token: 0, target: 0, kind: FlushKind::Data });
    wait_for_one(array)
}

fn write(array: &mut Array, offset: u64, length: u64) -> u64 {
    array.submit(Io::write(offset, length).request(0));
    wait_for_one(array)
}

/// Mean time of writes and of the flushes behind each, in milliseconds; `next` says where the writes go.
fn commits(design: &Value, count: u64, mut next: impl FnMut(u64) -> u64) -> (f64, f64) {
    let mut array = array(design, 3);
    let (mut writes, mut flushes) = (0, 0);
    for index in 0..count {
        writes += write(&mut array, next(index), 4 * KIB);
        flushes += flush(&mut array);
    }
    let report = array.report().expect("laws hold");
    let told = report.targets[0].flushes.as_ref().expect("flushes");
    assert_eq!((told.submitted, told.completed, told.failed), (count, count, 0));
    let parts: f64 = told.latency.parts.iter().map(|part| part.mean_ns).sum();
    let mean = told.latency.histogram.sum() as f64 / count as f64;
    assert!(relative(parts, mean) < 0.01, "{parts} ns in parts, {mean} ns");
    let ms = |sum: u64| sum as f64 / count as f64 / 1e6;
    (ms(writes), ms(flushes))
}

#[test]
fn commits_in_sequence_on_a_disk_take_a_turn_each() {
    // What was written last has just gone past the head when the next write comes: 120 commits a second at 7,200 turns a
    // minute, which is how a disk that answers flushes honestly is told from one that does not.
    let (write_ms, flush_ms) = commits(&one(cached(sata())), 2_000, |index| index * 4 * KIB);
    assert!(relative(write_ms + flush_ms, TURN_MS) < 0.02, "{write_ms} + {flush_ms} ms");
    assert!(write_ms < 1.0, "{write_ms} ms");
}

#[test]
fn commits_at_random_places_take_a_seek_and_half_a_turn() {
    let mut dice = crate::drives::Dice(5);
    let mut place = move |_| (dice.unit() * 50.0 * GIB as f64) as u64 / (4 * KIB) * (4 * KIB);
    let (write_ms, flush_ms) = commits(&one(cached(sata())), 5_000, &mut place);
    // The same writes without a cache: what they take is what flushes take with one.
    let mut dice = crate::drives::Dice(5);
    let mut array = array(&one(sata()), 3);
    let mut sum = 0;
    for _ in 0..5_000 {
        sum += write(&mut array, (dice.unit() * 50.0 * GIB as f64) as u64 / (4 * KIB) * (4 * KIB), 4 * KIB);
    }
    let through_ms = sum as f64 / 5_000.0 / 1e6;
    assert!(relative(write_ms + flush_ms, through_ms) < 0.06, "{write_ms} + {flush_ms} ms, through {through_ms} ms");
}

#[test]
fn a_flush_is_for_all_that_was_written_and_makes_later_writes_wait() {
    let mut array = array(&one(cached(sata())), 1);
    for index in 0..40 {
        write(&mut array, index * GIB, 4 * KIB);
    }
    let token = |token| Io::write(45 * GIB, 4 * KIB).request(token);
    array.flush(FlushRequest { token: 1, target: 0, kind: FlushKind::Full });
    array.submit(token(2));
    let (from, mut done) = (array.now(), Vec::new());
    while done.len() < 2 {
        array.wait(Nanos::NEVER, &mut done).expect("works");
    }
    assert_eq!(done.iter().map(|completion| completion.token).collect::<Vec<_>>(), [1, 2]);
    let flush_ms = (done[0].at - from).0 as f64 / 1e6;
    assert!((100.0..600.0).contains(&flush_ms), "{flush_ms} ms for 40 places");
    assert!(flush(&mut array) > 0);
    assert!(flush(&mut array) < MS, "a clean cache has nothing to write");
}

#[test]
fn without_a_cache_in_the_drive_there_is_nothing_to_flush() {
    for drive in [sata(), constant(100.0)] {
        let mut array = array(&one(drive), 1);
        write(&mut array, 0, 4 * KIB);
        assert_eq!(flush(&mut array), 0);
    }
}

#[test]
fn a_mirror_waits_for_the_slower_of_its_drives() {
    let somewhere = || {
        let mut dice = crate::drives::Dice(9);
        move |_| (dice.unit() * 50.0 * GIB as f64) as u64 / (4 * KIB) * (4 * KIB)
    };
    let single = commits(&one(cached(sata())), 5_000, somewhere()).1;
    let pair = design(cached(sata()), json!({"count": 2, "layout": "raid1"}), 50 * GIB);
    let both = commits(&pair, 5_000, somewhere()).1;
    // The platters stand at angles a golden section apart, and the seeks are the same: of two waits for a place that differ
    // by the part s of a turn the longer is s (1 - s) of a turn longer than each is on average.
    let apart = 0.618_034;
    let longer_ms = TURN_MS * apart * (1.0 - apart);
    assert!(relative(both - single, longer_ms) < 0.05, "{both} ms, one drive {single} ms, expected {longer_ms} longer");
}

#[test]
fn what_is_in_an_arrays_cache_is_safe_until_its_battery_is_gone() {
    let mut design = one(cached(sata()));
    design["controllers"] = json!([{"name": "a", "cost_per_op_ns": 50_000.0}]);
    design["cache"] = json!({"write": {"size_bytes": GIB}});
    let (_, flush_ms) = commits(&design, 100, |index| index % 45 * GIB);
    assert!(relative(flush_ms, 0.05) < 1e-6, "{flush_ms} ms");
    let mut without = design.clone();
    without["volumes"][0]["write_back"] = json!(false);
    assert!(commits(&without, 100, |index| index % 45 * GIB).1 > 3.0);
    let mut lost = design;
    lost["changes"] = json!([{"time_ns": 0, "cache_lost": "a"}]);
    assert!(commits(&lost, 100, |index| index % 45 * GIB).1 > 3.0);
}

/// Mean time of the flush behind each small write to a drive, in nanoseconds.
fn flush_of_flash(design: &DriveDesign) -> f64 {
    let mut drive = Drive::new(design, 1, 0);
    let (mut now, mut sum) = (Nanos::ZERO, 0);
    for index in 0..5_000_u64 {
        drive.submit(now, DriveOp { tag: 1, direction: Direction::Write, offset: index * 4 * KIB, length: 4096 });
        now = drive.next_event();
        assert_eq!(drive.advance(now), Some(1));
        drive.flush(now, 2);
        let done = drive.next_event();
        assert_eq!(drive.advance(done), Some(2));
        sum += (done - now).0;
        now = done;
    }
    sum as f64 / 5_000.0
}

#[test]
fn flash_without_capacitors_programs_a_page_for_each_flush() {
    let named = |name: &str| catalogue::find(name).expect("in the catalogue").design();
    let DriveDesign::Flash(design) = named("crucial-250gb") else { panic!("flash") };
    let mean_ns = flush_of_flash(&DriveDesign::Flash(design.clone()));
    let least_ns = (design.program + design.write_accept).0 as f64;
    // Dies that clean up make some of them longer; one after the other they find an idle die.
    assert!((least_ns..1.5 * least_ns).contains(&mean_ns), "{mean_ns} ns, a page {least_ns} ns");
    let mut protected = design;
    protected.power_loss_protection = true;
    assert!(flush_of_flash(&DriveDesign::Flash(protected)) < 50_000.0);
    assert!(!Drive::new(&named("nvme-ssd"), 1, 0).is_volatile());
}

#[test]
fn a_flush_takes_a_place_of_the_luns_queue_and_passes_limits_of_rates() {
    let mut design = one(cached(sata()));
    design["hosts"][0]["volumes"][0]["queue_limit"] = json!(1);
    design["volumes"][0]["limit"] = json!({"iops": 1.0});
    let mut array = array(&design, 1);
    write(&mut array, 0, 4 * KIB);
    array.flush(FlushRequest { token: 1, target: 0, kind: FlushKind::Data });
    array.flush(FlushRequest { token: 2, target: 0, kind: FlushKind::Data });
    let mut done = Vec::new();
    while done.len() < 2 {
        array.wait(Nanos::NEVER, &mut done).expect("works");
    }
    assert!(done[0].at < done[1].at && done[1].at.0 < 100 * MS, "{done:?}");
    let report = array.report().expect("laws hold");
    assert_eq!((report.limits[0].waited, report.targets[0].submitted), (1, [0, 1]));
}

#[test]
fn a_spare_is_flushed_only_while_it_stands_in_for_another() {
    let operations = |design: &Value| {
        let mut array = array(design, 1);
        for index in 0..50 {
            write(&mut array, index * GIB, 4 * KIB);
            flush(&mut array);
        }
        let report = array.report().expect("laws hold");
        report.components.iter().map(|drive| drive.throughput_per_s > 0.0).collect::<Vec<_>>()
    };
    let mut design = design(cached(sata()), json!({"count": 2, "spares": 1, "layout": "raid1"}), 100 * GIB);
    assert_eq!(operations(&design), [true, true, false]);
    design["background"] = json!([{"name": "rebuild", "kind": "rebuild", "group": "g"}]);
    design["changes"] = json!([{"time_ns": 0, "drive_fails": {"group": "g", "index": 0}}]);
    assert_eq!(operations(&design), [false, true, true]);
}

#[test]
fn a_target_that_is_not_there_is_refused() {
    let mut array = array(&one(sata()), 1);
    array.flush(FlushRequest { token: 0, target: 7, kind: FlushKind::Data });
    let mut done = Vec::new();
    array.wait(Nanos::NEVER, &mut done).expect("works");
    assert_eq!(done[0].result, -22);
}
