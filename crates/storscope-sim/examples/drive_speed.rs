//! Nanoseconds of this machine's time per simulated I/O of one drive.
//!
//! `cargo run --release -p storscope-sim --example drive_speed`

use std::time::Instant;

use storscope_sim::drive::fit::closed_loop::ClosedLoop;
use storscope_types::design::drive::{Among, DriveDesign, MechanicalDesign, QueueingDesign, SeekDesign};
use storscope_types::{Bytes, Nanos};

const REQUESTS: u32 = 3_000_000;

fn main() {
    let fifo = mechanical();
    let sorted = |gamma| MechanicalDesign {
        queueing: Some(QueueingDesign { gamma, least_depth: 1, depth: 32, among: Among::Any }),
        ..fifo.clone()
    };
    for (name, design) in
        [("first come, first served", fifo.clone()), ("gamma 0.65", sorted(0.65)), ("gamma 1", sorted(1.0))]
    {
        for qd in [1, 4, 32, 128] {
            time(name, &DriveDesign::Mechanical(design.clone()), qd);
        }
    }
}

fn time(name: &str, design: &DriveDesign, qd: u32) {
    let started = Instant::now();
    let measured = ClosedLoop::reads(qd, REQUESTS).run(design, 1);
    let per_io_ns = started.elapsed().as_nanos() as f64 / (f64::from(REQUESTS) * 1.2);
    println!("{name:28} QD {qd:4}: {per_io_ns:6.1} ns per I/O ({:.1} IOPS simulated)", measured.iops);
}

fn mechanical() -> MechanicalDesign {
    MechanicalDesign {
        size: Bytes(1_000_204_886_016),
        turns_per_min: 7200.0,
        seek: SeekDesign::DataSheet {
            track_to_track: Nanos::from_micros(800),
            average: Nanos::from_micros(8_900),
            full_stroke: Nanos::from_micros(18_000),
        },
        outer_rate_bytes_per_s: 118e6,
        inner_rate_bytes_per_s: 58e6,
        zones: 16,
        heads: 6,
        head_switch: Nanos::from_micros(800),
        overhead: Nanos::from_micros(300),
        hit: Nanos::from_micros(100),
        switch: Nanos::ZERO,
        write_settle: Nanos::from_micros(500),
        interface_rate_bytes_per_s: 250e6,
        read_ahead: None,
        write_cache: None,
        queueing: None,
    }
}
