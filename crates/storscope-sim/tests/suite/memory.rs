//! The array's memory: hits, mirroring, destaging, the cliff, reading ahead.

use crate::support::*;
use serde_json::{Value, json};

const PAGE: u64 = 16 * KIB;

fn cached(cache: Value) -> Value {
    let mut design = design(constant(100.0), json!({"count": 4, "layout": "raid0", "segment_bytes": 64 * KIB}), GIB);
    design["cache"] = cache;
    design
}

fn write_back(pages: u64) -> Value {
    cached(json!({"page_bytes": PAGE, "write": {"size_bytes": pages * PAGE, "low_watermark": 0.0,
        "high_watermark": 0.5}}))
}

/// How many of `count` writes to different pages are done at once.
fn at_once(design: &Value, count: u64) -> usize {
    let ios: Vec<Io> = (0..count).map(|page| Io::write(page * 8 * PAGE, 4 * KIB)).collect();
    let mut array = array(design, 1);
    batch(&mut array, &ios).iter().filter(|completion| completion.at.0 == 0).count()
}

#[test]
fn writes_are_done_in_memory_until_it_is_full_and_mirroring_halves_it() {
    assert_eq!(at_once(&write_back(64), 200), 64);
    let mut mirrored = write_back(64);
    mirrored["cache"]["write"]["mirrored"] = json!(true);
    assert_eq!(at_once(&mirrored, 200), 32);
}

#[test]
fn beyond_the_memory_writes_go_at_the_speed_of_the_drives() {
    let mut array = array(&write_back(64), 1);
    closed(&mut array, 32, 20_000, 0.0, |random, _| Io::write(random.below(GIB / PAGE) * PAGE, PAGE));
    let report = array.report().expect("laws hold");
    let per_s = report.targets[0].completed[1] as f64 / (report.duration_ns as f64 / 1e9);
    // Four drives at 100 per second, of which sixteen random destages keep nearly all busy.
    assert!((350.0..400.0).contains(&per_s), "{per_s} per second");
    let cache = report.cache.expect("memory");
    assert!(cache.totals.full_waits > 15_000 && cache.totals.most_dirty_pages == 64, "{cache:?}");
}

#[test]
fn without_a_battery_writes_go_through_until_it_is_back() {
    let mut design = write_back(1_024);
    design["controllers"] = json!([{"name": "a"}]);
    design["changes"] = json!([{"time_ns": 0, "cache_lost": "a"}, {"time_ns": 100 * MS, "cache_restored": "a"}]);
    let mut array = array(&design, 1);
    assert_eq!(batch(&mut array, &[Io::write(0, 4 * KIB)])[0].at.0, 10 * MS);
    settle(&mut array);
    let until = storscope_types::Nanos(200 * MS);
    storscope_device::Device::wait(&mut array, until, &mut Vec::new()).expect("works");
    assert_eq!(batch(&mut array, &[Io::write(0, 4 * KIB)])[0].at.0, 200 * MS);
}

#[test]
fn sequential_writes_are_destaged_in_runs_of_full_stripes() {
    let group = json!({"count": 5, "layout": "raid5", "segment_bytes": 64 * KIB});
    let mut design = design(constant(100.0), group, GIB);
    design["cache"] = json!({"page_bytes": PAGE, "write": {"size_bytes": 64 * MIB, "low_watermark": 0.5}});
    let mut array = array(&design, 1);
    let ios: Vec<Io> = (0..8_192).map(|at| Io::write(at * 8 * KIB, 8 * KIB)).collect();
    batch(&mut array, &ios);
    settle(&mut array);
    let report = array.report().expect("laws hold");
    let [reads, writes] = drive_operations(&report);
    // 1 MiB on each of four data drives at a time; when half the memory is left, some destages are still under way.
    let windows = 32 * MIB / (4 * MIB);
    assert!(reads <= 8, "{reads} reads: all but the ends are full stripes");
    assert!((5 * windows..=5 * (windows + 4)).contains(&writes), "{writes} writes for {windows} runs of stripes");
}

#[test]
fn what_is_written_again_while_dirty_costs_the_drives_nothing() {
    let mut design = write_back(1_024);
    design["cache"]["write"]["low_watermark"] = json!(0.5);
    let mut array = array(&design, 1);
    closed(&mut array, 4, 10_000, 0.0, |random, _| Io::write(random.below(100) * PAGE, PAGE));
    let report = array.report().expect("laws hold");
    assert_eq!(drive_operations(&report), [0, 0]);
    let cache = report.cache.expect("memory");
    assert_eq!((cache.totals.absorbed_pages, cache.dirty_pages), (9_900, 100));
}

/// A page is written again while it is on its way to the drives, once or more: each write is absorbed, or destaged later.
#[test]
fn every_page_that_was_written_was_absorbed_or_destaged_or_is_dirty() {
    let mut design = write_back(256);
    design["cache"]["write"]["low_watermark"] = json!(0.1);
    let mut array = array(&design, 1);
    closed(&mut array, 32, 50_000, 0.0, |random, _| Io::write(random.below(300) * PAGE, PAGE));
    settle(&mut array);
    let cache = array.report().expect("laws hold").cache.expect("memory");
    let totals = &cache.totals;
    assert!(totals.destaged_pages > 1_000, "{totals:?}");
    assert_eq!(totals.written_pages, totals.absorbed_pages + totals.destaged_pages + cache.dirty_pages);
}

#[test]
fn a_log_writes_full_stripes_whatever_is_dirty() {
    let group = json!({"count": 5, "layout": "raid5", "segment_bytes": 64 * KIB});
    let mut design = design(constant(100.0), group, GIB);
    design["cache"] = json!({"page_bytes": PAGE,
        "write": {"size_bytes": 64 * MIB, "low_watermark": 0.25, "placement": "log"}});
    let mut array = array(&design, 1);
    closed(&mut array, 8, 60_000, 0.0, |random, _| Io::write(random.below(GIB / PAGE) * PAGE, PAGE));
    settle(&mut array);
    let [reads, writes] = drive_operations(&array.report().expect("laws hold"));
    assert_eq!((reads, writes % 5), (0, 0), "{reads} reads, {writes} writes");
}

#[test]
fn the_pages_used_last_stay_and_the_hit_ratio_is_that_of_the_share_they_are() {
    let design = cached(json!({"page_bytes": PAGE, "read": {"size_bytes": 1_024 * PAGE}}));
    let mut array = array(&design, 1);
    closed(&mut array, 8, 40_000, 0.0, |random, _| random_read(random, 4_096 * PAGE, PAGE));
    array.restart_statistics();
    closed(&mut array, 8, 40_000, 0.0, |random, _| random_read(random, 4_096 * PAGE, PAGE));
    let found = array.report().expect("laws hold").cache.and_then(|cache| cache.read_hit_ratio).expect("reads");
    assert!((found - 0.25).abs() < 0.01, "{found}");
}

#[test]
fn a_stated_hit_ratio_is_what_comes_out() {
    let mut array = array(&cached(json!({"read": {"hit_ratio": 0.4}})), 1);
    closed(&mut array, 8, 50_000, 0.0, |random, _| random_read(random, GIB, PAGE));
    let report = array.report().expect("laws hold");
    let found = report.cache.and_then(|cache| cache.read_hit_ratio).expect("reads");
    assert!((found - 0.4).abs() < 0.01, "{found}");
    let share = drive_operations(&report)[0] as f64 / report.targets[0].completed[0] as f64;
    assert!((share - 0.6).abs() < 0.01, "{share}");
}

#[test]
fn what_was_written_is_read_from_memory() {
    let mut array = array(&write_back(1_024), 1);
    let done =
        batch(&mut array, &[Io::write(64 * KIB, 8 * KIB), Io::read(64 * KIB, 8 * KIB), Io::read(64 * KIB, 16 * KIB)]);
    let times: Vec<u64> = done.iter().map(|completion| completion.at.0).collect();
    assert_eq!(times[..2], [0, 0]);
    assert!(times[2] > 0, "half of the last read is not in memory");
}

#[test]
fn a_sequential_stream_is_read_ahead_and_a_random_one_is_not() {
    let mut design = cached(json!({"page_bytes": PAGE, "prefetch": {"depth_bytes": MIB, "streams": 8}}));
    // Drives that read on by themselves leave the array little to gain.
    design["drives"]["d"] = sata();
    design["drives"]["d"]["read_ahead"] = json!(null);
    let mut ahead = array(&design, 1);
    let mut position = 0;
    closed(&mut ahead, 1, 4_000, 0.0, |_, _| {
        position += 1;
        Io::read((position - 1) * 64 * KIB, 64 * KIB)
    });
    let report = ahead.report().expect("laws hold");
    let cache = report.cache.expect("memory");
    assert!(cache.read_hit_ratio.expect("reads") > 0.99, "{cache:?}");
    design["cache"] = json!(null);
    let mut alone = array(&design, 1);
    let mut position = 0;
    closed(&mut alone, 1, 4_000, 0.0, |_, _| {
        position += 1;
        Io::read((position - 1) * 64 * KIB, 64 * KIB)
    });
    let without = alone.report().expect("laws hold").duration_ns;
    assert!(report.duration_ns * 2 < without, "{} against {without}", report.duration_ns);
    design["cache"] = json!({"page_bytes": PAGE, "prefetch": {"depth_bytes": MIB, "streams": 8}});
    let mut random = array(&design, 1);
    closed(&mut random, 4, 2_000, 0.0, |random, _| random_read(random, GIB, 64 * KIB));
    let cache = random.report().expect("laws hold").cache.expect("memory");
    assert!(cache.totals.read_ahead_bytes < 20 * MIB, "{cache:?}");
}

#[test]
fn never_do_more_reads_hit_than_there_are_whenever_statistics_begin() {
    let mut design = cached(json!({"page_bytes": PAGE, "prefetch": {"depth_bytes": MIB, "streams": 8}}));
    design["volumes"][0]["size_bytes"] = json!(GIB);
    let mut waited = 0;
    for begin_ms in (5..200).step_by(7) {
        let mut array = array(&design, 1);
        let mut done = Vec::new();
        let read = |token: u64| Io::read(token * 64 * KIB, 64 * KIB).request(token as u32);
        (0..8).for_each(|token| storscope_device::Device::submit(&mut array, read(token)));
        let mut next = 8;
        while array.now().0 < begin_ms * MS {
            storscope_device::Device::wait(&mut array, storscope_types::Nanos(begin_ms * MS), &mut done)
                .expect("works");
            for _ in done.drain(..) {
                storscope_device::Device::submit(&mut array, read(next));
                next += 1;
            }
        }
        // What waits now for its page is the last that is read.
        array.restart_statistics();
        settle(&mut array);
        let totals = array.report().expect("laws hold").cache.expect("a cache").totals;
        assert!(totals.read_hits <= totals.reads, "{begin_ms} ms: {totals:?}");
        waited += totals.read_ahead_waits;
    }
    assert!(waited > 0, "none waited for what was being read ahead");
}
