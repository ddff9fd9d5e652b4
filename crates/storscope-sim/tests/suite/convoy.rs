//! The convoy: sequential streams on a wide group of mirrors collapse onto one pair (a field report of 46 SATA drives in
//! one RAID 10, whose ten clones ran at a fraction of one clone's speed while most drives were idle).

use crate::support::*;
use serde_json::json;
use storscope_sim::array::ArrayReport;

const REQUEST: u64 = 64 * KIB;

/// `streams` sequential readers with four requests outstanding each, in regions of their own.
fn streams(segment: u64, count: u32) -> ArrayReport {
    let group = json!({"count": 46, "layout": "raid10", "segment_bytes": segment, "read_choice": "primary"});
    let region = 16 * GIB;
    let mut array = array(&design(sata(), group, 40 * region), 1);
    let mut next: Vec<u64> = (0..count).map(|stream| u64::from(stream) * (region + 7 * segment)).collect();
    closed(&mut array, 4 * count, 4_000 * u64::from(count), 0.0, |_, token| {
        let position = &mut next[(token / 4) as usize];
        *position += REQUEST;
        Io::read(*position - REQUEST, REQUEST)
    });
    array.report().expect("laws hold")
}

fn megabytes_per_s(report: &ArrayReport) -> f64 {
    report.targets[0].bytes[0] as f64 / 1e6 / (report.duration_ns as f64 / 1e9)
}

/// The share of all queued operations that is at the drive with the most, on average over the slices.
fn share_of_the_longest_queue(report: &ArrayReport) -> f64 {
    let slices = report.queue.mean[0].len();
    let share = |slice: usize| {
        let queues = report.queue.mean.iter().map(|drive| f64::from(drive[slice]));
        let (all, most) = queues.fold((0.0, 0.0_f64), |(all, most), queue| (all + queue, most.max(queue)));
        most / all
    };
    (0..slices).map(share).sum::<f64>() / slices as f64
}

fn busy_ratio_of_the_pairs(report: &ArrayReport) -> f64 {
    report.components.iter().map(|drive| drive.busy_ratio).sum::<f64>() / 23.0
}

#[test]
fn streams_gather_on_one_pair_while_the_others_are_idle() {
    let (four, ten) = (streams(512 * KIB, 4), streams(512 * KIB, 10));
    let (few, many) = (megabytes_per_s(&four), megabytes_per_s(&ten));
    assert!(many < 1.2 * few, "ten streams at {many} MB/s, four at {few}");
    let (busy, share) = (busy_ratio_of_the_pairs(&ten), share_of_the_longest_queue(&ten));
    assert!(busy < 0.4, "the pairs are busy {busy} of the time");
    assert!(share > 0.3, "{share} of what is queued is at one of 23 pairs");
}

#[test]
fn more_streams_and_longer_segments_make_it_worse_and_small_segments_spread_it() {
    let (ten, many) = (streams(MIB, 10), streams(MIB, 32));
    assert!(megabytes_per_s(&many) < megabytes_per_s(&ten));
    assert!(share_of_the_longest_queue(&many) > 0.5 && busy_ratio_of_the_pairs(&many) < 0.4);
    let small = streams(64 * KIB, 10);
    let (share, busy) = (share_of_the_longest_queue(&small), busy_ratio_of_the_pairs(&small));
    assert!(share < 0.3 && busy > 2.0 * busy_ratio_of_the_pairs(&many), "{share} at one pair, {busy} busy");
}
