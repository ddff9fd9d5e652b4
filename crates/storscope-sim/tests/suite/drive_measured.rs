//! Drives of the catalogue against what was measured of them: random 4 KiB requests over the whole drive, completions per
//! second against outstanding requests, as published at github.com/louwrentius/fio-plot; single writes of DiskSim's traces.

use storscope_device::Direction;
use storscope_sim::drive::catalogue::find;
use storscope_sim::drive::fit::closed_loop::ClosedLoop;
use storscope_sim::drive::fit::{TraceOp, replay};
use storscope_types::design::drive::DriveDesign;

/// Largest error at any depth.
const TOLERANCE: f64 = 0.04;

const READS: [(&str, &[(u32, f64)]); 5] = [
    ("samsung-f1-1tb", &[(1, 72.0), (2, 73.0), (4, 75.0), (8, 87.0), (16, 111.0), (32, 131.0)]),
    ("sata-500gb", &[(1, 69.8), (2, 70.3), (4, 82.0), (8, 93.8), (16, 104.8), (32, 113.6), (64, 113.5)]),
    ("hgst-hts7210-100gb", &[(1, 59.0), (2, 60.0), (4, 65.0), (8, 72.0), (16, 77.0), (32, 82.0)]),
    ("wd-raptor-74gb", &[(1, 124.0), (2, 123.6), (4, 123.2), (8, 141.8), (16, 162.7), (32, 181.3), (64, 184.9)]),
    (
        "crucial-250gb",
        &[(1, 7395.5), (2, 13_897.7), (4, 25_175.1), (8, 42_382.6), (16, 52_477.0), (32, 52_885.4), (64, 52_898.1)],
    ),
];

fn design(name: &str) -> DriveDesign {
    find(name).expect("the catalogue has it").design()
}

#[test]
fn random_reads_are_within_four_percent_at_every_depth() {
    for (name, points) in READS {
        for &(qd, iops) in points {
            let predicted = ClosedLoop::reads(qd, 60_000).run(&design(name), 1).iops;
            assert!((predicted / iops - 1.0).abs() <= TOLERANCE, "{name} at {qd}: {predicted:.1}, measured {iops}");
        }
    }
}

#[test]
fn random_writes_into_the_cache_are_within_four_percent() {
    // Medians over depth; single depths scatter by 2 to 5 % around them. The flash drive's first depth was measured
    // before its steady state and is left out.
    for (name, iops) in [
        ("samsung-f1-1tb", 151.0),
        ("sata-500gb", 123.8),
        ("hgst-hts7210-100gb", 44.0),
        ("wd-raptor-74gb", 172.1),
        ("crucial-250gb", 14_440.0),
    ] {
        for qd in [2, 8, 32] {
            let predicted = ClosedLoop::writes(qd, 40_000).run(&design(name), 1).iops;
            assert!((predicted / iops - 1.0).abs() <= TOLERANCE, "{name} at {qd}: {predicted:.1}, measured {iops}");
        }
    }
}

#[test]
fn cached_writes_are_held_up_as_measured() {
    // Standard deviation in ms of the responses of random writes. What waits for a batch does not depend on depth much; at
    // depths that the drive takes without batches its deviation is that of a few positionings. Of the Raptor depths of 16
    // and more are left out: something sorts there what waits, and the model does not (docs/drives.md).
    for (name, points) in [
        ("sata-500gb", &[(1, 3.09), (2, 4.48), (4, 151.1), (8, 267.3), (16, 410.5), (32, 574.9), (64, 574.6)][..]),
        ("wd-raptor-74gb", &[(1, 9.67), (2, 11.92), (4, 14.76), (8, 25.28)][..]),
    ] {
        for &(qd, sd_ms) in points {
            let predicted = ClosedLoop::writes(qd, 60_000).run(&design(name), 1).latency_ns_sd / 1e6;
            let off = predicted / sd_ms;
            assert!((1.0 / 1.6..1.6).contains(&off), "{name} at {qd}: {predicted:.1} ms, measured {sd_ms} ms");
        }
    }
}

#[test]
fn single_writes_into_the_caches_of_old_drives_take_as_long_as_in_their_traces() {
    // Means of the 3,400 to 3,500 writes of 3.1 to 3.2 KiB of each trace, published with DiskSim 4.0 (valid/), made one at
    // a time, 44 ms apart; reads of the same traces take 5.8 to 9 ms. Those of the older two drives take 14 and 18 ms,
    // which no cache would.
    for (name, mean_us) in
        [("quantum-atlas-iii-9gb", 1_104.0), ("seagate-cheetah-9lp-9gb", 1_308.0), ("ibm-18es-9gb", 731.0)]
    {
        let write = |index: u64| TraceOp {
            direction: Direction::Write,
            offset: (index * 7_919 % 2_000) * 4_500_000 / 512 * 512,
            length: if index.is_multiple_of(2) { 3_072 } else { 3_584 },
            service_us: 0.0,
            think_us: 44_000.0,
        };
        let writes: Vec<TraceOp> = (0..500).map(write).collect();
        let times = replay(&writes, &design(name), 0);
        let predicted = times.iter().sum::<f64>() / times.len() as f64;
        assert!((predicted / mean_us - 1.0).abs() <= TOLERANCE, "{name}: {predicted:.0} us, measured {mean_us} us");
    }
    for name in ["dec-rz26-1gb", "hp-c2490a-2gb"] {
        assert!(matches!(design(name), DriveDesign::Mechanical(drive) if drive.write_cache.is_none()), "{name}");
    }
}

#[test]
fn responses_spread_as_widely_as_measured() {
    // Standard deviation in ms of the 500 GB drive's read responses; half to twice is what a window of one number can do.
    for (qd, sd_ms) in [(1, 4.034), (4, 31.855), (8, 67.65), (16, 131.0), (32, 238.98)] {
        let predicted = ClosedLoop::reads(qd, 60_000).run(&design("sata-500gb"), 1).latency_ns_sd / 1e6;
        assert!((0.5..2.0).contains(&(predicted / sd_ms)), "{qd}: {predicted:.1} ms, measured {sd_ms} ms");
    }
}
