//! The way between hosts and drives: links, controllers, ownership, queue limits, flash in the host.

use crate::support::*;
use serde_json::{Value, json};
use storscope_device::Device;
use storscope_types::Nanos;

fn plain() -> Value {
    design(constant(100.0), json!({"count": 4, "layout": "raid0", "segment_bytes": MIB}), GIB)
}

fn done_at(design: &Value, io: Io) -> u64 {
    batch(&mut array(design, 1), &[io])[0].at.0
}

#[test]
fn a_link_adds_its_latency_once_and_the_time_of_the_bytes() {
    let mut design = plain();
    design["links"] = json!({"front_end": {"bandwidth_bytes_per_s": 100e6, "latency_ns": 50_000}});
    // 1,000,000 bytes at 100 MB/s: 10 ms; the cost per MiB is rounded to a nanosecond.
    assert_eq!(done_at(&design, Io::read(0, 1_000_000)), 20 * MS + 50_000);
    assert_eq!(done_at(&design, Io::write(0, 1_000_000)), 20 * MS + 50_000);
}

/// How long a read takes that comes behind ten writes of as many bytes to another drive.
fn read_behind_writes(design: &Value) -> u64 {
    let write = Io::write(0, 1_000_000);
    let ios: Vec<Io> = std::iter::repeat_n(write, 10).chain([Io::read(MIB, 1_000_000)]).collect();
    let done = batch(&mut array(design, 1), &ios);
    done.iter().find(|one| one.token == 10).expect("the read").at.0
}

#[test]
fn a_read_does_not_wait_for_the_data_of_writes_which_go_the_other_way() {
    let mut design = plain();
    design["links"] = json!({"front_end": {"bandwidth_bytes_per_s": 100e6, "latency_ns": 50_000}});
    assert_eq!(read_behind_writes(&design), 20 * MS + 50_000);
    let mut design = two_controllers("b");
    let proxied = done_at(&design, Io::read(MIB, 1_000_000));
    for controller in 0..2 {
        design["controllers"][controller]["servers"] = json!(11);
    }
    design["links"]["mirror"] = json!({"bandwidth_bytes_per_s": 1e9, "latency_ns": 20_000, "duplex": true});
    assert_eq!(read_behind_writes(&design), proxied);
}

#[test]
fn a_link_bounds_the_bandwidth_and_several_ports_raise_it() {
    let rate = |ports: u32| {
        let mut design = plain();
        design["drives"]["d"] = constant(1e6);
        design["links"] = json!({"front_end": {"preset": "iscsi1", "ports": ports}});
        let mut array = array(&design, 1);
        closed(&mut array, 16, 4_000, 0.0, |random, _| random_read(random, GIB, 64 * KIB));
        let report = array.report().expect("laws hold");
        report.targets[0].bytes[0] as f64 / (report.duration_ns as f64 / 1e9)
    };
    // TCP in frames of 1,500 bytes: 1,448 of 1,538 bytes are payload.
    assert!(relative(rate(1), 125e6 * 1_448.0 / 1_538.0) < 0.01);
    assert!(relative(rate(2), 250e6 * 1_448.0 / 1_538.0) < 0.01);
}

fn two_controllers(via: &str) -> Value {
    let mut design = plain();
    design["controllers"] = json!([{"name": "a", "cost_per_op_ns": 1_000_000},
        {"name": "b", "cost_per_op_ns": 1_000_000, "proxy_cost_per_op_ns": 300_000}]);
    design["links"] = json!({"mirror": {"bandwidth_bytes_per_s": 1e9, "latency_ns": 20_000}});
    design["volumes"][0]["owner"] = json!("a");
    design["hosts"][0]["volumes"][0]["via"] = json!(via);
    design
}

#[test]
fn an_io_through_the_other_controller_is_worked_on_twice_and_crosses_the_link() {
    let direct = done_at(&two_controllers("a"), Io::read(0, 8_000));
    assert_eq!(direct, 11 * MS);
    // 0.3 ms at b, 20 µs to a; 8 µs of data and 20 µs back.
    assert_eq!(done_at(&two_controllers("b"), Io::read(0, 8_000)), direct + 300_000 + 20_000 + 8_000 + 20_000);
    assert_eq!(done_at(&two_controllers("b"), Io::write(0, 8_000)), direct + 300_000 + 8_000 + 20_000);
    let mut array = array(&two_controllers("b"), 1);
    batch(&mut array, &[Io::read(0, 4 * KIB)]);
    assert_eq!(array.report().expect("laws hold").targets[0].proxied_share, Some(1.0));
}

#[test]
fn a_volume_whose_reads_are_proxied_for_long_moves_and_one_that_was_moved_back_moves_again() {
    let mut design = two_controllers("b");
    design["transition"] = json!({"window_ns": 60 * Nanos::SECOND.0, "proxied_share": 0.6});
    design["changes"] = json!([{"time_ns": 100 * Nanos::SECOND.0, "volume_moves": {"volume": "v", "to": "a"}}]);
    let mut array = array(&design, 1);
    let mut owner_after = |seconds: u64| {
        while array.now() < Nanos(seconds * Nanos::SECOND.0) {
            closed(&mut array, 1, 10, 10e6, |random, _| random_read(random, GIB, 4 * KIB));
        }
        let volume = array.report().expect("laws hold").volumes.remove(0);
        (volume.owner, volume.moves)
    };
    assert_eq!(owner_after(50), (Some("a".to_owned()), 0));
    assert_eq!(owner_after(70), (Some("b".to_owned()), 1));
    assert_eq!(owner_after(105), (Some("a".to_owned()), 2));
    assert_eq!(owner_after(200), (Some("b".to_owned()), 3));
}

#[test]
fn queue_limits_make_ios_wait_in_the_host() {
    for (limit, name) in [("queue_limit", "host_queue"), ("adapter_queue_limit", "adapter_queue")] {
        let mut design = plain();
        design["hosts"][0][limit] = json!(2);
        let ios: Vec<Io> = (0..6).map(|at| Io::read(at * MIB, 4 * KIB)).collect();
        let mut array = array(&design, 1);
        let times: Vec<u64> = batch(&mut array, &ios).iter().map(|completion| completion.at.0 / MS).collect();
        assert_eq!(times, [10, 10, 20, 20, 30, 30], "{limit}");
        let report = array.report().expect("laws hold");
        let part = report.targets[0].reads.parts[0];
        assert_eq!(serde_json::to_value(part.part).expect("text"), json!(name));
        assert!(relative(part.mean_ns, 10e6) < 1e-9, "{part:?}");
        // Two at a time: full all the time, four waited, 10 ms and 20 ms.
        let found = &report.limits[0];
        assert_eq!((found.most, found.waited), (2, 4));
        assert!(relative(found.full_ratio, 1.0) < 1e-9 && relative(found.used_mean, 2.0) < 1e-9, "{found:?}");
        assert!(relative(found.waiting_mean, 2.0) < 1e-9, "{found:?}");
    }
}

#[test]
fn the_limit_of_the_ports_is_shared_by_hosts_and_that_of_a_lun_is_not() {
    let mut design = plain();
    design["controllers"] = json!([{"name": "a", "queue_limit": 3}]);
    design["hosts"] = json!([{"name": "h", "volumes": [{"volume": "v", "queue_limit": 1}]},
        {"name": "i", "volumes": [{"volume": "v"}]}]);
    let on = |target: u32, at: u64| Io { target, ..Io::read(at * MIB, 4 * KIB) };
    let ios = [on(0, 0), on(0, 1), on(1, 2), on(1, 3), on(1, 4)];
    let mut done = batch(&mut array(&design, 1), &ios);
    done.sort_by_key(|completion| completion.token);
    let times: Vec<u64> = done.iter().map(|completion| completion.at.0 / MS).collect();
    // The second of the LUN and the third of the other host wait, for different reasons.
    assert_eq!(times, [10, 20, 10, 10, 20]);
}

#[test]
fn long_queues_before_a_limit_do_not_nest() {
    let mut design = plain();
    design["hosts"][0]["queue_limit"] = json!(1);
    design["cache"] = json!({"read": {"hit_ratio": 1.0}});
    let ios: Vec<Io> = (0..60_000).map(|_| Io::read(0, 4 * KIB)).collect();
    let mut array = array(&design, 1);
    assert_eq!(batch(&mut array, &ios).len(), 60_000);
}

#[test]
fn flash_in_the_host_warms_up_and_spares_the_array() {
    let mut design = plain();
    design["hosts"][0]["volumes"][0]["flash_cache"] = json!({"size_bytes": 128 * MIB, "block_bytes": 8 * KIB});
    let mut array = array(&design, 1);
    let mut offsets = storscope_sim::kernel::Random::new(5, 5);
    let mut ratio = |count: u64| {
        let before = array.report().expect("laws hold").targets[0].flash.expect("flash");
        closed(&mut array, 8, count, 0.0, |_, _| random_read(&mut offsets, 64 * MIB, 8 * KIB));
        let after = array.report().expect("laws hold").targets[0].flash.expect("flash");
        (after.hits - before.hits) as f64 / (after.reads - before.reads) as f64
    };
    // 8,192 blocks: after n random reads a share 1 - exp(-n / 8192) is there.
    let (first, later) = (ratio(8_192), ratio(8_192));
    assert!((first - 0.368).abs() < 0.02, "{first}");
    assert!((later - (1.0 - 0.632 * 0.368)).abs() < 0.03, "{later}");
    ratio(60_000);
    let before = array.report().expect("laws hold").drive_ios;
    batch(&mut array, &[Io::read(0, 8 * KIB)]);
    assert_eq!(array.report().expect("laws hold").drive_ios, before);
}

/// Hits of the host's flash after these I/Os, one after the other.
fn flash_hits(block: u64, start: u64, ios: &[Io]) -> u64 {
    let mut design = plain();
    design["volumes"][0]["start_bytes"] = json!(start);
    design["hosts"][0]["volumes"][0]["flash_cache"] = json!({"size_bytes": 64 * MIB, "block_bytes": block});
    let mut array = array(&design, 1);
    ios.iter().for_each(|io| {
        batch(&mut array, &[*io]);
    });
    array.report().expect("laws hold").targets[0].flash.expect("flash").hits
}

#[test]
fn flash_keeps_reads_that_are_smaller_than_its_blocks() {
    let again = |length: u64| [Io::read(4 * KIB, length), Io::read(4 * KIB, length)];
    for block in [512, 4 * KIB, 8 * KIB, 64 * KIB, 128 * KIB] {
        assert_eq!(flash_hits(block, 0, &again(4 * KIB)), 1, "{block}");
        assert_eq!(flash_hits(block, 12_345, &again(4 * KIB)), 1, "{block}, on a volume that starts anywhere");
    }
    let neighbour = [Io::read(0, 4 * KIB), Io::read(4 * KIB, 4 * KIB), Io::read(0, 8 * KIB)];
    assert_eq!(flash_hits(8 * KIB, 0, &neighbour), 1, "the other half of the block had to be read, then it is whole");
}

#[test]
fn flash_has_what_was_written_through_it() {
    assert_eq!(flash_hits(8 * KIB, 0, &[Io::write(0, 4 * KIB), Io::read(0, 4 * KIB)]), 1);
    assert_eq!(flash_hits(8 * KIB, 0, &[Io::read(0, 8 * KIB), Io::write(512, 512), Io::read(0, 8 * KIB)]), 1);
    assert_eq!(flash_hits(8 * KIB, 0, &[Io::write(0, 4 * KIB), Io::read(0, 8 * KIB)]), 0);
}

#[test]
fn what_does_not_lie_on_the_target_is_refused() {
    let mut array = array(&plain(), 1);
    let ios = [Io::read(GIB - 4_096, 8_192), Io { target: 9, ..Io::read(0, 512) }, Io::read(0, 512)];
    let results: Vec<i32> = batch(&mut array, &ios).iter().map(|completion| completion.result).collect();
    assert_eq!(results, [-22, -22, 512]);
}

#[test]
fn waiting_for_nothing_lets_the_time_pass() {
    let mut array = array(&plain(), 1);
    assert_eq!(array.wait(Nanos(5), &mut Vec::new()).expect("works"), Nanos(5));
    assert_eq!(array.wait(Nanos(3), &mut Vec::new()).expect("works"), Nanos(5));
    assert_eq!(array.wait(Nanos::NEVER, &mut Vec::new()).expect("works"), Nanos(5));
}

/// Bytes per second that come from flash of this design, with so many reads of this size outstanding.
fn from_flash(cache: serde_json::Value, outstanding: u32, length: u64) -> f64 {
    let mut design = plain();
    design["hosts"][0]["volumes"][0]["flash_cache"] = cache;
    let mut array = array(&design, 1);
    let all: Vec<Io> = (0..16 * MIB / length).map(|at| Io::read(at * length, length)).collect();
    batch(&mut array, &all);
    let before = array.now();
    closed(&mut array, outstanding, 4_000, 0.0, |random, _| random_read(random, 16 * MIB, length));
    (4_000 * length) as f64 * 1e9 / (array.now() - before).0 as f64
}

#[test]
fn the_bandwidth_of_flash_in_the_host_is_that_of_all_its_transfers_together() {
    let cache =
        |bandwidth: f64| json!({"size_bytes": 128 * MIB, "block_bytes": 64 * KIB, "bandwidth_bytes_per_s": bandwidth});
    let many = from_flash(cache(200e6), 32, 64 * KIB);
    assert!(relative(many, 200e6) < 0.02, "{many}");
    // One at a time: 100 us to read and 327.68 us for the bytes.
    let one = from_flash(cache(200e6), 1, 64 * KIB);
    assert!(relative(one, 65_536e9 / 427_680.0) < 0.01, "{one}");
    // Small ones are bound by eight places of 100 us.
    let small = from_flash(cache(500e6), 32, 4 * KIB);
    assert!(relative(small, 80_000.0 * 4_096.0) < 0.02, "{small}");
}

#[test]
fn of_two_queues_as_short_the_copy_that_was_not_read_last_is_read() {
    let choice = |drive: serde_json::Value, choice: &str| {
        let group = json!({"count": 2, "layout": "raid1", "segment_bytes": 64 * KIB, "read_choice": choice});
        let mut array = array(&design(drive, group, GIB), 1);
        open(&mut array, 600.0, 20_000, |random| random_read(random, GIB, 4 * KIB));
        let report = array.report().expect("laws hold");
        let reads: Vec<u64> =
            report.components.iter().filter_map(|one| one.operations.map(|counts| counts[0])).collect();
        assert!(reads[0].abs_diff(reads[1]) < 20_000 / 50, "{reads:?}");
        mean_latency_ns(&report)
    };
    // Where all take the same time, taking turns is as good as it gets; else the shorter queue is better.
    let [constantly, in_turn] = ["shortest_queue", "round_robin"].map(|name| choice(constant(1_000.0), name));
    assert!(relative(constantly, in_turn) < 1e-9, "{constantly} against {in_turn} ns");
    let [by_chance, in_turn] = ["shortest_queue", "round_robin"].map(|name| choice(exponential(1_000.0), name));
    assert!(by_chance < 0.95 * in_turn, "{by_chance} against {in_turn} ns");
}

/// After a write both drives of a pair are at the same place: were the first of two alike read, it would do most of the reads.
#[test]
fn copies_that_are_alike_are_read_alike_also_with_writes_between() {
    for choice in ["nearest", "shortest_queue", "round_robin"] {
        for outstanding in [1, 4, 64] {
            let group = json!({"count": 4, "layout": "raid10", "read_choice": choice});
            let mut array = array(&design(sata(), group, 400 * GIB), 1);
            closed(&mut array, outstanding, 20_000, 0.0, |random, _| {
                let io = random_read(random, 400 * GIB, 8 * KIB);
                if random.below(10) < 3 { Io { write: true, ..io } } else { io }
            });
            let report = array.report().expect("laws hold");
            let reads: Vec<u64> =
                report.components.iter().filter_map(|one| one.operations).map(|both| both[0]).collect();
            for pair in reads.chunks(2) {
                let share = pair[0] as f64 / (pair[0] + pair[1]) as f64;
                assert!((share - 0.5).abs() < 0.03, "{choice}, {outstanding} outstanding: {reads:?}");
            }
        }
    }
}

/// Bytes per second of reads and writes, half of each, and the names of the links of a kind.
fn of_both_ways(design: &Value, kind: &str) -> (f64, Vec<String>) {
    let mut array = array(design, 1);
    let hosts = design["hosts"][0]["volumes"].as_array().expect("a list").len() as u64;
    closed(&mut array, 64, 8_000, 0.0, |random, _| {
        let target = random.below(hosts) as u32;
        Io { target, write: random.below(2) == 0, ..random_read(random, GIB, 64 * KIB) }
    });
    let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
    let of_kind = |one: &&Value| one["kind"] == kind;
    let names = report["components"].as_array().expect("a list").iter().filter(of_kind);
    let names = names.map(|one| one["name"].as_str().expect("text").to_owned()).collect();
    let bytes: u64 = (0..hosts as usize)
        .flat_map(|target| [0, 1].map(|way| report["targets"][target]["bytes"][way].as_u64().expect("a number")))
        .sum();
    (bytes as f64 / (report["duration_ns"].as_f64().expect("a number") / 1e9), names)
}

#[test]
fn a_back_end_link_carries_one_direction_at_a_time_unless_it_is_duplex() {
    let mut design = plain();
    design["drives"]["d"] = constant(1e6);
    design["controllers"] = json!([{"name": "a"}]);
    design["links"] = json!({"back_end": {"bandwidth_bytes_per_s": 100e6, "latency_ns": 30_000}});
    let (half, names) = of_both_ways(&design, "back_end_link");
    assert!(relative(half, 100e6) < 0.01, "{half}");
    assert_eq!(names, ["a"]);
    let alone = [Io::read(0, 64 * KIB), Io::write(0, 64 * KIB)].map(|io| done_at(&design, io));
    design["links"]["back_end"]["duplex"] = json!(true);
    let (both, names) = of_both_ways(&design, "back_end_link");
    assert!((185e6..200.1e6).contains(&both), "{both}");
    assert_eq!(names, ["a out", "a in"]);
    assert_eq!([Io::read(0, 64 * KIB), Io::write(0, 64 * KIB)].map(|io| done_at(&design, io)), alone);
}

#[test]
fn a_mirror_link_carries_one_direction_at_a_time_unless_it_is_duplex() {
    let mut design = plain();
    design["drives"]["d"] = constant(1e6);
    design["controllers"] = json!([{"name": "a"}, {"name": "b"}]);
    design["links"] = json!({"mirror": {"bandwidth_bytes_per_s": 100e6}});
    design["cache"] = json!({"write": {"size_bytes": GIB, "mirrored": true}});
    design["volumes"] = json!([{"name": "v", "group": "g", "size_bytes": GIB, "owner": "a"},
        {"name": "w", "group": "g", "size_bytes": GIB, "owner": "b"}]);
    design["hosts"] = json!([{"name": "h", "volumes": [{"volume": "v"}, {"volume": "w"}]}]);
    // Only writes cross: as many of one controller's volume as of the other's.
    let (half, names) = of_both_ways(&design, "mirror_link");
    assert!(relative(half, 200e6) < 0.03, "{half}");
    assert_eq!(names, ["mirror"]);
    design["links"]["mirror"]["duplex"] = json!(true);
    let (both, names) = of_both_ways(&design, "mirror_link");
    assert!((360e6..400.1e6).contains(&both), "{both}");
    assert_eq!(names, ["mirror a to b", "mirror b to a"]);
}

#[test]
fn proxied_ios_use_the_direction_in_which_their_data_go() {
    let mut design = two_controllers("b");
    let alone = [Io::read(0, 8_000), Io::write(0, 8_000)].map(|io| done_at(&design, io));
    design["links"]["mirror"]["duplex"] = json!(true);
    assert_eq!([Io::read(0, 8_000), Io::write(0, 8_000)].map(|io| done_at(&design, io)), alone);
    for (io, busy) in [(Io::read(0, 8_000), "mirror a to b"), (Io::write(0, 8_000), "mirror b to a")] {
        let mut array = array(&design, 1);
        batch(&mut array, &[io]);
        let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
        let links = report["components"].as_array().expect("a list").iter().filter(|one| one["kind"] == "mirror_link");
        let used: Vec<&str> = links
            .filter(|one| one["busy_ratio"].as_f64() > Some(0.0))
            .map(|one| one["name"].as_str().expect("text"))
            .collect();
        assert_eq!(used, [busy]);
    }
}
