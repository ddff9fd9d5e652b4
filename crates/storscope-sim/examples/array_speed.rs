//! How many drive I/Os per second the array simulates on one core.
//!
//! A closed loop of random 8 KiB I/Os, 67 % reads, without a load generator around it. Cases: RAID 10 and RAID 5 of 46
//! drives with 128 outstanding, RAID 10 of 240 drives with 1,024; "full" ones with a controller, write cache and read
//! cache.
//!
//! Times are those of the processor, so that other work on the machine matters less.
//!
//! `cargo run --release -p storscope-sim --example array_speed [-- CASE [MILLION_IOS]]`; a part of the name of a case, or
//! the whole with `=` behind it

use storscope_device::{Clock, Completion, Device, Direction, Request, VirtualClock};
use storscope_sim::kernel::Random;
use storscope_sim::{Array, Settings};
use storscope_types::Nanos;
use storscope_types::design::ArrayDesign;

const BLOCK: u64 = 8 << 10;

const DRIVE: &str = r#""sata": {"kind": "mechanical", "size_bytes": 1000204886016, "turns_per_min": 7200,
    "seek": {"form": "data_sheet", "track_to_track_ns": 800000, "average_ns": 8900000, "full_stroke_ns": 18000000},
    "outer_rate_bytes_per_s": 120e6, "inner_rate_bytes_per_s": 60e6, "overhead_ns": 200000, "write_settle_ns": 500000
    QUEUEING}"#;
const QUEUEING: &str = r#", "queueing": {"gamma": 0.5, "depth": 32}"#;

const FULL: &str = r#", "controllers": [{"name": "a", "cost_per_op_ns": 20000, "cost_per_kib_ns": 500, "parity_cost_per_kib_ns": 500}],
    "cache": {"write": {"size_bytes": 536870912}, "read": {"size_bytes": 536870912}}"#;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let chosen = arguments.next().unwrap_or_default();
    let million: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(4.0);
    for (name, design, outstanding) in cases() {
        if chosen.strip_suffix('=').map_or_else(|| name.contains(&chosen), |exact| name == exact) {
            measure(&name, &design, outstanding, (million * 1e6) as u64);
        }
    }
}

/// Time this process has been on a processor, as Linux counts it (Documentation/scheduler/sched-stats.rst).
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux with scheduler statistics");
    text.split(' ').next().and_then(|field| field.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

fn cases() -> Vec<(String, String, u32)> {
    let mut cases = Vec::new();
    for (queueing, label) in [("", "fifo"), (QUEUEING, "sorted")] {
        let drive = DRIVE.replace("QUEUEING", queueing);
        for (layout, count, outstanding, full) in [
            ("raid0", 46, 128, false),
            ("raid10", 46, 128, false),
            ("raid10", 46, 128, true),
            ("raid5", 46, 128, false),
            ("raid5", 46, 128, true),
            ("raid10", 240, 1_024, false),
            ("raid10", 240, 1_024, true),
        ] {
            let name = format!("{layout}-{count}-{label}{}", if full { "-full" } else { "" });
            cases.push((name, design(&drive, layout, count, full), outstanding));
        }
    }
    cases
}

fn design(drive: &str, layout: &str, count: u32, full: bool) -> String {
    format!(
        r#"{{"name": "speed", "drives": {{{drive}}},
        "groups": [{{"name": "g", "drive": "sata", "count": {count}, "layout": "{layout}", "segment_bytes": 65536}}],
        "volumes": [{{"name": "v", "group": "g", "size_bytes": {size}}}],
        "hosts": [{{"name": "h", "volumes": [{{"volume": "v"}}]}}]{full}}}"#,
        full = if full { FULL } else { "" },
        size = 10_u64 << 40,
    )
}

fn measure(name: &str, design: &str, outstanding: u32, ios: u64) {
    let design: ArrayDesign = serde_json::from_str(design).expect("a design");
    let clock = VirtualClock::default();
    let mut array = Array::new(&design, clock.clone(), &Settings::default()).expect("a sound design");
    let mut random = Random::new(1, 99);
    let blocks = array.targets()[0].size / BLOCK;
    let mut request = |token: u32| {
        let direction = if random.below(3) == 2 { Direction::Write } else { Direction::Read };
        Request { token, target: 0, direction, offset: random.below(blocks) * BLOCK, length: BLOCK as u32, buffer: 0 }
    };
    let start = cpu_seconds();
    (0..outstanding).for_each(|token| array.submit(request(token)));
    let (mut done, mut count): (Vec<Completion>, u64) = (Vec::with_capacity(256), 0);
    while count < ios {
        array.wait(Nanos::NEVER, &mut done).expect("a simulated device works");
        count += done.len() as u64;
        for completion in done.drain(..) {
            array.submit(request(completion.token));
        }
    }
    let (wall, simulated) = (cpu_seconds() - start, clock.now().as_secs_f64());
    let drive_ios = array.drive_ios() as f64;
    println!(
        "{name:20} {:6.2} M host I/O/s {:6.2} M drive I/O/s {:6.1} ns/drive I/O {:5.2} events/drive I/O; simulated {:.0} IOPS",
        count as f64 / wall / 1e6,
        drive_ios / wall / 1e6,
        wall * 1e9 / drive_ios,
        array.events() as f64 / drive_ios,
        count as f64 / simulated,
    );
}
