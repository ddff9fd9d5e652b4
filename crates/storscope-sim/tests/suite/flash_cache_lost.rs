//! A host that loses its flash cache: reads go to the array until it is back, and then it is empty.

use crate::support::*;
use serde_json::{Value, json};
use storscope_device::Device;
use storscope_sim::read_design;
use storscope_types::Nanos;

const BLOCK: u64 = 8 * KIB;
const FLASH: u64 = 100_000;
const DRIVE: u64 = 10 * MS;

/// Two hosts with flash before one volume; its drive takes 10 ms, the flash 0.1 ms.
fn two_hosts(changes: Value) -> Value {
    let mut design = design(constant(100.0), json!({"count": 1, "layout": "raid0"}), GIB);
    let flash = json!({"size_bytes": MIB, "block_bytes": BLOCK, "read_ns": FLASH, "write_ns": 50_000});
    let host = |name: &str| json!({"name": name, "volumes": [{"volume": "v", "flash_cache": flash}]});
    design["hosts"] = json!([host("h"), host("other")]);
    design["changes"] = changes;
    design
}

/// How long a read of the first block by a host takes at an instant.
fn read_at(array: &mut storscope_sim::Array, target: u32, at: u64) -> u64 {
    let mut done = Vec::new();
    while array.now() < Nanos(at) {
        array.wait(Nanos(at), &mut done).expect("works");
    }
    assert!(done.is_empty());
    let io = Io { target, ..Io::read(0, BLOCK) };
    batch(array, &[io])[0].at.0 - at
}

#[test]
fn reads_go_to_the_array_until_the_flash_is_back_and_empty() {
    let changes =
        json!([{"time_ns": 100 * MS, "flash_cache_lost": "h"}, {"time_ns": 200 * MS, "flash_cache_restored": "h"}]);
    let mut array = array(&two_hosts(changes), 1);
    let found: Vec<u64> = [0, 50, 110, 150, 210, 250].map(|at| read_at(&mut array, 0, at * MS)).to_vec();
    assert_eq!(found, [DRIVE, FLASH, DRIVE, DRIVE, DRIVE, FLASH]);
    let flash = array.report().expect("laws hold").targets[0].flash.expect("flash");
    assert_eq!((flash.reads, flash.hits, flash.used_blocks, flash.is_lost), (6, 2, 1, false));
}

#[test]
fn the_flash_of_another_host_stays() {
    let mut array = array(&two_hosts(json!([{"time_ns": 100 * MS, "flash_cache_lost": "h"}])), 1);
    assert_eq!([0, 50, 110].map(|at| read_at(&mut array, 1, at * MS)), [DRIVE, FLASH, FLASH]);
}

/// As by a host that starts anew: what was read before comes from the array once more.
#[test]
fn flash_that_is_lost_and_back_at_one_instant_is_empty() {
    let changes =
        json!([{"time_ns": 100 * MS, "flash_cache_lost": "h"}, {"time_ns": 100 * MS, "flash_cache_restored": "h"}]);
    let mut array = array(&two_hosts(changes), 1);
    assert_eq!([0, 50, 110, 150].map(|at| read_at(&mut array, 0, at * MS)), [DRIVE, FLASH, DRIVE, FLASH]);
}

#[test]
fn what_is_so_already_is_told() {
    let changes = json!([{"time_ns": MS, "flash_cache_restored": "h"}, {"time_ns": 2 * MS, "flash_cache_lost": "h"},
        {"time_ns": 3 * MS, "flash_cache_lost": "h"}]);
    let mut array = array(&two_hosts(changes), 1);
    read_at(&mut array, 0, 10 * MS);
    let report = array.report().expect("laws hold");
    let told = serde_json::to_value(&report.happenings).expect("happenings");
    let (kinds, reasons): (Vec<&Value>, Vec<&Value>) =
        told.as_array().expect("a list").iter().map(|one| (&one["kind"], &one["no_effect"])).unzip();
    assert_eq!(kinds, [&json!("flash_cache_restored"), &json!("flash_cache_lost"), &json!("flash_cache_lost")]);
    assert_eq!(reasons, [&json!("already_so"), &Value::Null, &json!("already_so")]);
}

#[test]
fn only_a_host_that_has_flash_can_lose_it() {
    let text = |volumes: &str, lost: &str| {
        format!(
            "name = \"n\"\ngroup = [{{ name = \"g\", drive = \"10k-sas\", count = 1, layout = \"raid0\" }}]\n\
             volume = [{{ name = \"v\", group = \"g\", size = \"1 GiB\" }}]\n\
             host = [{{ name = \"h\", volumes = [{volumes}] }}, {{ name = \"b\", volumes = [{{ volume = \"v\" }}] }}]\n\
             [[at]]\ntime = \"1 s\"\n{lost} = \"b\"\n"
        )
    };
    let flash = "{ volume = \"v\", flash_cache = { size = \"1 MiB\" } }";
    for (volumes, key, said) in [
        (flash, "flash_cache_lost", "at[0].flash_cache_lost: expected the name of a host with a flash_cache: h"),
        ("{ volume = \"v\" }", "flash_cache_restored", "of a host with a flash_cache, of which there are none"),
        (flash, "flash_lost", "did you mean flash_cache_lost?"),
    ] {
        let error = read_design(&text(volumes, key)).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
}
