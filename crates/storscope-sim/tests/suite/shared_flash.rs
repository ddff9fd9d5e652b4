//! Flash of hosts before a volume that several of them use: what one writes is not valid in the flash of the others.

use crate::support::*;
use serde_json::json;

const BLOCK: u64 = 8 * KIB;
const FLASH: u64 = 100_000;
const DRIVE: u64 = 10 * MS;

/// Two hosts with flash, and one without, before one volume; its drive takes 10 ms, the flash 0.1 ms.
fn three_hosts() -> storscope_sim::Array {
    let mut design = design(constant(100.0), json!({"count": 1, "layout": "raid0"}), GIB);
    let flash = json!({"size_bytes": MIB, "block_bytes": BLOCK, "read_ns": FLASH, "write_ns": 50_000});
    let host = |name: &str| json!({"name": name, "volumes": [{"volume": "v", "flash_cache": flash}]});
    design["hosts"] = json!([host("a"), host("b"), {"name": "c", "volumes": [{"volume": "v"}]}]);
    array(&design, 1)
}

/// How long I/Os take, one after the other.
fn times<const N: usize>(array: &mut storscope_sim::Array, ios: [Io; N]) -> [u64; N] {
    ios.map(|io| {
        let before = array.now();
        batch(array, &[io])[0].at.since(before).0
    })
}

fn read_by(target: u32, offset: u64, length: u64) -> Io {
    Io { target, ..Io::read(offset, length) }
}

fn write_by(target: u32, offset: u64, length: u64) -> Io {
    Io { target, ..Io::write(offset, length) }
}

#[test]
fn what_another_host_wrote_is_read_from_the_array() {
    let mut array = three_hosts();
    let (read, write) = (read_by(0, 0, BLOCK), |target| write_by(target, 0, BLOCK));
    let found = times(&mut array, [read, read, write(1), read, read, write(2), read, read]);
    assert_eq!(found, [DRIVE, FLASH, DRIVE, DRIVE, FLASH, DRIVE, DRIVE, FLASH]);
    let flash = array.report().expect("laws hold").targets[0].flash.expect("flash");
    assert_eq!((flash.reads, flash.hits, flash.used_blocks, flash.outdated_blocks), (6, 3, 1, 2));
}

#[test]
fn what_a_host_wrote_itself_it_reads_from_its_flash() {
    let mut array = three_hosts();
    assert_eq!(times(&mut array, [write_by(0, 0, BLOCK), read_by(0, 0, BLOCK)]), [DRIVE, FLASH]);
    assert_eq!(times(&mut array, [read_by(1, 0, BLOCK), write_by(0, 0, BLOCK), read_by(0, 0, BLOCK)])[2], FLASH);
}

#[test]
fn of_a_block_that_was_written_in_part_the_rest_is_valid() {
    let mut array = three_hosts();
    times(&mut array, [read_by(0, 0, BLOCK), write_by(2, 0, 512)]);
    assert_eq!(times(&mut array, [read_by(0, 4 * KIB, 4 * KIB), read_by(0, 0, 4 * KIB)]), [FLASH, DRIVE]);
    assert_eq!(array.report().expect("laws hold").targets[0].flash.expect("flash").outdated_blocks, 0);
}

#[test]
fn what_others_read_or_write_elsewhere_stays() {
    let mut array = three_hosts();
    times(&mut array, [read_by(0, 0, BLOCK), read_by(2, 0, BLOCK), write_by(2, BLOCK, BLOCK)]);
    assert_eq!(times(&mut array, [read_by(0, 0, BLOCK)]), [FLASH]);
}
