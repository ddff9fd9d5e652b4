//! Designs and small drivers for the tests.
#![allow(dead_code)]

use serde_json::{Value, json};
use storscope_device::{Completion, Device, Direction, Request, VirtualClock};
use storscope_sim::array::ArrayReport;
use storscope_sim::kernel::Random;
use storscope_sim::{Array, Settings, complete_design};
use storscope_types::Nanos;

pub const MS: u64 = 1_000_000;
pub const KIB: u64 = 1_024;
pub const MIB: u64 = 1_024 * KIB;
pub const GIB: u64 = 1_024 * MIB;

/// A drive that takes exponential times, 1 / `iops` on average, whatever is asked.
pub fn exponential(iops: f64) -> Value {
    json!({"kind": "curve", "size_bytes": 64 * GIB, "reads": [{"qd": 1, "iops": iops}], "cv": 1.0, "block_bytes": 4096})
}

/// A drive that always takes the same time.
pub fn constant(iops: f64) -> Value {
    json!({"kind": "curve", "size_bytes": 64 * GIB, "reads": [{"qd": 1, "iops": iops}], "cv": 0.0, "block_bytes": 4096})
}

/// A 7,200 rpm drive, first come first served.
pub fn sata() -> Value {
    json!({"kind": "mechanical", "size_bytes": 500_000_000_000_u64, "turns_per_min": 7200,
        "seek": {"form": "data_sheet", "track_to_track_ns": 800_000, "average_ns": 8_900_000,
                 "full_stroke_ns": 18_000_000},
        "outer_rate_bytes_per_s": 80e6, "inner_rate_bytes_per_s": 40e6, "overhead_ns": 200_000,
        "write_settle_ns": 500_000, "read_ahead": {"segments": 8, "segment_bytes": 1_048_576}})
}

/// One group of one kind of drive with one volume, attached to one host.
pub fn design(drive: Value, group: Value, volume_bytes: u64) -> Value {
    let mut group = group;
    group["name"] = json!("g");
    group["drive"] = json!("d");
    json!({"name": "test", "drives": {"d": drive}, "groups": [group],
        "volumes": [{"name": "v", "group": "g", "size_bytes": volume_bytes}],
        "hosts": [{"name": "h", "volumes": [{"volume": "v"}]}]})
}

pub fn array(design: &Value, seed: u64) -> Array {
    let design = serde_json::from_value(design.clone()).expect("a design");
    let design = complete_design(design).expect("a sound design");
    Array::new(&design, VirtualClock::default(), &Settings { seed, ..Settings::default() }).expect("a design")
}

/// An I/O without its token.
#[derive(Debug, Clone, Copy)]
pub struct Io {
    pub target: u32,
    pub write: bool,
    pub offset: u64,
    pub length: u32,
}

impl Io {
    pub fn read(offset: u64, length: u64) -> Self {
        Self { target: 0, write: false, offset, length: length as u32 }
    }

    pub fn write(offset: u64, length: u64) -> Self {
        Self { write: true, ..Self::read(offset, length) }
    }

    pub fn request(self, token: u32) -> Request {
        let direction = if self.write { Direction::Write } else { Direction::Read };
        Request { token, target: self.target, direction, offset: self.offset, length: self.length, buffer: 0 }
    }
}

/// Submits everything at once and waits for all. Returns when each was done.
pub fn batch(array: &mut Array, ios: &[Io]) -> Vec<Completion> {
    for (token, io) in ios.iter().enumerate() {
        array.submit(io.request(token as u32));
    }
    let mut done = Vec::new();
    while done.len() < ios.len() {
        array.wait(Nanos::NEVER, &mut done).expect("works");
    }
    done
}

/// Lets everything that the array does by itself come to an end, or an hour pass.
pub fn settle(array: &mut Array) {
    let until = array.now() + Nanos(3_600 * Nanos::SECOND.0);
    let mut done = Vec::new();
    while array.jobs_in_flight() > 0 && array.now() < until {
        let step = array.now() + Nanos::from_millis(100);
        array.wait(step, &mut done).expect("works");
    }
}

/// A closed loop: `outstanding` I/Os at a time, each after an exponential think time with this mean, `count` in all.
pub fn closed(
    array: &mut Array,
    outstanding: u32,
    count: u64,
    think: f64,
    mut next: impl FnMut(&mut Random, u32) -> Io,
) {
    let mut random = Random::new(7, 1);
    let mut sleeping: std::collections::BinaryHeap<std::cmp::Reverse<(u64, u32)>> = Default::default();
    let start = array.now().0;
    let pause = |random: &mut Random, now: u64| now + (random.exponential() * think) as u64;
    (0..outstanding).for_each(|token| sleeping.push(std::cmp::Reverse((pause(&mut random, start), token))));
    let (mut submitted, mut completed, mut done) = (0, 0, Vec::new());
    while completed < count {
        while let Some(&std::cmp::Reverse((at, token))) = sleeping.peek() {
            if at > array.now().0 || submitted == count {
                break;
            }
            sleeping.pop();
            let io = next(&mut random, token);
            array.submit(io.request(token));
            submitted += 1;
        }
        let until = sleeping.peek().filter(|_| submitted < count).map_or(Nanos::NEVER, |first| Nanos(first.0.0));
        let now = array.wait(until, &mut done).expect("works");
        completed += done.len() as u64;
        for completion in done.drain(..) {
            sleeping.push(std::cmp::Reverse((pause(&mut random, now.0), completion.token)));
        }
    }
}

/// An open loop: Poisson arrivals at a rate, `count` of them.
pub fn open(array: &mut Array, rate_per_s: f64, count: u64, mut next: impl FnMut(&mut Random) -> Io) {
    let mut random = Random::new(11, 2);
    let gap = 1e9 / rate_per_s;
    let (mut at, mut submitted, mut completed, mut done) = (array.now().0 as f64, 0_u64, 0_u64, Vec::new());
    let mut free: Vec<u32> = (0..65_536).rev().collect();
    at += random.exponential() * gap;
    while completed < count {
        let until = if submitted < count { Nanos(at as u64) } else { Nanos::NEVER };
        let now = array.wait(until, &mut done).expect("works");
        completed += done.len() as u64;
        free.extend(done.drain(..).map(|completion| completion.token));
        while submitted < count && Nanos(at as u64) <= now {
            let io = next(&mut random);
            array.submit(io.request(free.pop().expect("stable")));
            submitted += 1;
            at += random.exponential() * gap;
        }
    }
}

pub fn random_read(random: &mut Random, size: u64, block: u64) -> Io {
    Io::read(random.below(size / block) * block, block)
}

pub fn mean_latency_ns(report: &ArrayReport) -> f64 {
    let target = &report.targets[0];
    let sum = target.reads.histogram.sum() + target.writes.histogram.sum();
    sum as f64 / (target.completed[0] + target.completed[1]) as f64
}

/// Operations of all drives, reads and writes.
pub fn drive_operations(report: &ArrayReport) -> [u64; 2] {
    report
        .components
        .iter()
        .filter_map(|component| component.operations)
        .fold([0, 0], |sum, operations| [sum[0] + operations[0], sum[1] + operations[1]])
}

pub fn relative(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}
