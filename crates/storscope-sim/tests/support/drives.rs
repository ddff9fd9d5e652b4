//! What tests of single drives share.
#![allow(dead_code, reason = "each test binary uses a part")]

use storscope_device::Direction;
use storscope_sim::drive::fit::closed_loop::ClosedLoop;
use storscope_sim::drive::{Drive, DriveOp};
use storscope_types::design::drive::{CurveDesign, CurvePoint, DriveDesign};
use storscope_types::{Bytes, Nanos};

/// A stream of random numbers for arrivals and addresses (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

/// A drive of 1 TB that does `points`, (outstanding, IOPS of 4 KiB), with a coefficient of variation `cv`.
pub fn curve(points: &[(u32, f64)], cv: f64) -> DriveDesign {
    DriveDesign::Curve(CurveDesign {
        size: Bytes(1_000_000_000_000),
        reads: points.iter().map(|&(qd, iops)| CurvePoint { qd, iops }).collect(),
        writes: None,
        cv,
        block: Bytes(4096),
        rate_bytes_per_s: None,
    })
}

/// Bytes per second of `streams` sequential streams, each with one request outstanding.
pub fn sequential(design: &DriveDesign, direction: Direction, start: u64, streams: u32, length: u32) -> f64 {
    let mut drive = Drive::new(design, 1, 0);
    let mut next: Vec<u64> = (0..u64::from(streams)).map(|stream| start + stream * (37 << 30)).collect();
    for tag in 0..streams {
        drive.submit(Nanos::ZERO, DriveOp { tag, direction, offset: next[tag as usize], length });
    }
    let (mut done, mut now) = (0_u32, Nanos::ZERO);
    while done < 16_000 {
        now = drive.next_event();
        if let Some(tag) = drive.advance(now) {
            done += 1;
            next[tag as usize] += u64::from(length);
            drive.submit(now, DriveOp { tag, direction, offset: next[tag as usize], length });
        }
    }
    f64::from(done) * f64::from(length) / now.as_secs_f64()
}

/// The same seed gives the same response times to the bit, another one others.
pub fn assert_told_apart_by_seed(design: &DriveDesign) {
    let run = |seed| ClosedLoop::reads(4, 5_000).run(design, seed).latency_ns_mean;
    assert_eq!(run(1).to_bits(), run(1).to_bits());
    assert_ne!(run(1).to_bits(), run(2).to_bits());
}
