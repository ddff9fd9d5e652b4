//! The classes of flash drives against what their makers document: random 4 KiB requests and large sequential ones.
//!
//! Ranges are those of the data sheets that the catalogue names, as far as they are remembered.

use storscope_device::Direction;
use storscope_sim::drive::catalogue::find;
use storscope_sim::drive::fit::closed_loop::ClosedLoop;
use storscope_sim::drive::{Drive, DriveOp};
use storscope_types::Nanos;
use storscope_types::design::drive::DriveDesign;

/// Random reads and writes per second, sequential reads and writes in bytes per second.
struct Documented {
    name: &'static str,
    depth: u32,
    reads: [f64; 2],
    writes: [f64; 2],
    read_rate: [f64; 2],
    write_rate: [f64; 2],
}

const CLASSES: [Documented; 2] = [
    // Between Intel DC S3500 480 GB, DC S3700 400 GB and Samsung SM863 480 GB; client drives read up to 560 MB/s.
    Documented {
        name: "sata-ssd",
        depth: 32,
        reads: [75e3, 97e3],
        writes: [11e3, 36e3],
        read_rate: [500e6, 560e6],
        write_rate: [410e6, 485e6],
    },
    // Intel DC P4510 2 TB, within 5 %.
    Documented {
        name: "nvme-ssd",
        depth: 256,
        reads: [605e3, 669e3],
        writes: [77.4e3, 85.6e3],
        read_rate: [3.04e9, 3.36e9],
        write_rate: [1.9e9, 2.1e9],
    },
];

fn within(value: f64, range: [f64; 2], what: &str) {
    assert!((range[0]..=range[1]).contains(&value), "{what}: {value:.0}, documented {range:?}");
}

/// Bytes per second of one stream with `depth` requests outstanding, after 2 GiB of it.
fn sequential(design: &DriveDesign, direction: Direction, depth: u32, length: u32) -> f64 {
    let mut drive = Drive::new(design, 1, 0);
    let mut next = 0_u64;
    let mut submit = |drive: &mut Drive, now, tag| {
        drive.submit(now, DriveOp { tag, direction, offset: next, length });
        next += u64::from(length);
    };
    (0..depth).for_each(|tag| submit(&mut drive, Nanos::ZERO, tag));
    let [warm_up, counted] = [2_u64 << 30, 4 << 30].map(|bytes| bytes / u64::from(length));
    let (mut now, mut since) = (Nanos::ZERO, Nanos::ZERO);
    for done in 0..warm_up + counted {
        if done == warm_up {
            since = now;
        }
        now = drive.next_event();
        let tag = drive.advance(now).expect("flash has no events of its own");
        submit(&mut drive, now, tag);
    }
    (counted * u64::from(length)) as f64 / (now - since).as_secs_f64()
}

#[test]
fn classes_of_flash_do_what_data_sheets_say() {
    for class in &CLASSES {
        let design = find(class.name).expect("the catalogue has it").design();
        let what = |figure: &str| format!("{} {figure}", class.name);
        let reads = ClosedLoop::reads(class.depth, 200_000).run(&design, 1).iops;
        within(reads, class.reads, &what("reads"));
        within(ClosedLoop::writes(class.depth, 200_000).run(&design, 1).iops, class.writes, &what("writes"));
        for length in [128 << 10, 1 << 20] {
            let rate = |direction| sequential(&design, direction, 32, length);
            within(rate(Direction::Read), class.read_rate, &what("sequential reads"));
            within(rate(Direction::Write), class.write_rate, &what("sequential writes"));
        }
    }
}

#[test]
fn large_random_writes_pay_for_what_moves_and_sequential_ones_do_not() {
    let design = find("nvme-ssd").expect("the catalogue has it").design();
    let block = 128 << 10;
    let random = ClosedLoop { block, ..ClosedLoop::writes(32, 100_000) }.run(&design, 1).iops * f64::from(block);
    assert!(random < 0.25 * sequential(&design, Direction::Write, 32, block), "{random}");
}
