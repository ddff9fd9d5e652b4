//! What holds for any design: conservation, Little's law, where the time went, and the same bytes for the same seed.

use crate::support::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Designs with everything that can be put together.
fn designs() -> impl Strategy<Value = Value> {
    let group = prop_oneof![
        Just(json!({"count": 4, "layout": "raid0", "segment_bytes": 64 * KIB})),
        Just(json!({"count": 6, "layout": "raid10", "segment_bytes": 64 * KIB, "spares": 1, "read_choice": "nearest"})),
        Just(json!({"count": 4, "layout": "raid1", "segment_bytes": 64 * KIB, "read_choice": "shortest_queue"})),
        Just(json!({"count": 5, "layout": "raid5", "segment_bytes": 64 * KIB, "spares": 1, "journal": {"share": 0.5}})),
        Just(json!({"count": 8, "layout": "raid6", "segment_bytes": 32 * KIB, "parity_update": "reconstruct_write"})),
        Just(json!({"count": 8, "layout": "raid50", "width": 4, "segment_bytes": 64 * KIB})),
        Just(
            json!({"count": 11, "layout": "pool", "redundancy": "raid5", "spare_share": 0.1, "segment_bytes": 64 * KIB})
        ),
    ];
    let drive = prop_oneof![Just(sata()), Just(exponential(150.0))];
    let cache = prop_oneof![
        Just(Value::Null),
        Just(json!({"write": {"size_bytes": 4 * MIB, "mirrored": true}, "read": {"size_bytes": 4 * MIB}})),
        Just(json!({"write": {"size_bytes": MIB}, "prefetch": {"depth_bytes": 512 * KIB, "streams": 4}})),
        Just(json!({"write": {"size_bytes": 4 * MIB, "placement": "log"}, "read": {"hit_ratio": 0.3}})),
    ];
    let links = prop_oneof![
        Just(json!({})),
        Just(json!({"front_end": {"preset": "iscsi1"}, "mirror": {"preset": "fc4"}, "back_end": {"preset": "fc2"}})),
    ];
    (group, drive, cache, links, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(group, drive, cache, links, limited, fails, is_taken_over)| {
            let mut design = design(drive, group, 20 * MIB);
            design["volumes"] = json!([{"name": "v", "group": "g", "size_bytes": 20 * MIB, "owner": "a"},
            {"name": "w", "group": "g", "size_bytes": 20 * MIB, "owner": "b"}]);
            design["controllers"] = json!([
            {"name": "a", "cost_per_op_ns": 50_000, "cost_per_kib_ns": 500, "parity_cost_per_kib_ns": 2_000,
             "queue_limit": if limited { 12 } else { 4_096 }},
            {"name": "b", "servers": 2, "cost_per_op_ns": 80_000, "cv": 1.0}]);
            design["cache"] = cache;
            design["links"] = links;
            let limit = if limited { json!(8) } else { Value::Null };
            design["hosts"] = json!([
            {"name": "h", "queue_limit": limit, "volumes": [{"volume": "v", "via": "b", "queue_limit": limit},
                {"volume": "w", "flash_cache": {"size_bytes": 4 * MIB, "bandwidth_bytes_per_s": 100e6}}]},
            {"name": "i", "adapter_queue_limit": limit, "volumes": [{"volume": "w"}]}]);
            design["transition"] = json!({"window_ns": 500 * MS});
            let mut changes = Vec::new();
            if fails {
                changes.push(json!({"time_ns": 300 * MS, "drive_fails": {"group": "g", "index": 1}}));
                changes.push(json!({"time_ns": 900 * MS, "cache_lost": "a"}));
                changes.push(json!({"time_ns": 400 * MS, "flash_cache_lost": "h"}));
                changes.push(json!({"time_ns": 600 * MS, "flash_cache_restored": "h"}));
            }
            if is_taken_over {
                let failure = json!({"controller": "b", "takeover_ns": 150 * MS});
                changes.push(json!({"time_ns": 200 * MS, "controller_fails": failure}));
                changes.push(json!({"time_ns": 700 * MS, "controller_returns": "b"}));
                changes.push(json!({"time_ns": 800 * MS, "controller_fails": {"controller": "a"}}));
            }
            design["changes"] = json!(changes);
            design
        },
    )
}

fn any_io(random: &mut storscope_sim::kernel::Random, token: u32) -> Io {
    let length = [4 * KIB, 8 * KIB, 64 * KIB, 300 * KIB][random.below(4) as usize];
    let write = random.below(3) == 0;
    let offset = random.below((20 * MIB - length) / 512) * 512;
    Io { target: token % 3, write, offset, length: length as u32 }
}

/// Runs a design and comes to rest.
fn run(design: &Value, seed: u64) -> storscope_sim::Array {
    let mut array = array(design, seed);
    closed(&mut array, 24, 1_500, 1e6, any_io);
    array.check_laws().expect("laws hold in the middle");
    settle(&mut array);
    array
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn books_balance_and_the_parts_of_the_latency_are_all_of_it(design in designs(), seed: u64) {
        let mut array = run(&design, seed);
        prop_assert_eq!(array.jobs_in_flight(), 0);
        let report = array.report().expect("laws hold");
        let total: u64 = report.targets.iter().flat_map(|target| target.completed).sum();
        prop_assert_eq!(total, 1_500);
        for target in &report.targets {
            for latencies in [&target.reads, &target.writes] {
                let Some(mean) = latencies.histogram.mean() else { continue };
                let parts: f64 = latencies.parts.iter().map(|part| part.mean_ns).sum();
                prop_assert!((parts - mean).abs() <= 100.0, "parts {parts} of {mean}: {:?}", latencies.parts);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes(design in designs(), seed: u64) {
        let text = |seed| serde_json::to_string(&run(&design, seed).report().expect("laws hold")).expect("text");
        prop_assert_eq!(text(seed), text(seed));
    }
}

#[test]
fn statistics_can_begin_anew_in_the_middle() {
    let group = json!({"count": 6, "layout": "raid10", "segment_bytes": 64 * KIB});
    let mut design = design(exponential(200.0), group, GIB);
    design["controllers"] = json!([{"name": "a", "cost_per_op_ns": 1_000_000}]);
    let mut array = array(&design, 4);
    for (token, at) in (0..50_u32).zip(0..) {
        storscope_device::Device::submit(&mut array, Io::read(at * MIB, 4 * KIB).request(token));
    }
    storscope_device::Device::wait(&mut array, storscope_types::Nanos(1), &mut Vec::new()).expect("works");
    array.restart_statistics();
    let mut done = Vec::new();
    while done.len() < 50 {
        storscope_device::Device::wait(&mut array, storscope_types::Nanos::NEVER, &mut done).expect("works");
    }
    let report = array.report().expect("laws hold");
    assert_eq!((report.targets[0].submitted[0], report.targets[0].completed[0]), (0, 50));
    assert_eq!(report.start_ns, 1);
}

#[test]
fn another_seed_gives_other_draws() {
    let design = design(exponential(100.0), json!({"count": 2, "layout": "raid0"}), GIB);
    let duration = |seed| {
        let mut array = array(&design, seed);
        closed(&mut array, 4, 1_000, 0.0, |random, _| random_read(random, GIB, 4 * KIB));
        array.report().expect("laws hold").duration_ns
    };
    assert_ne!(duration(1), duration(2));
}
