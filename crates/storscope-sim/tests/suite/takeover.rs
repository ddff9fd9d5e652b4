//! A controller fails, another one takes over, and it returns: when each I/O is done, and what is lost.

use crate::support::*;
use serde_json::{Value, json};
use storscope_device::Device;
use storscope_sim::Array;
use storscope_types::Nanos;

const PAGE: u64 = 16 * KIB;
const COST: u64 = MS;

/// Two volumes of two controllers that take a millisecond for an I/O; drives take 10 ms.
fn pair(changes: Value) -> Value {
    let mut design = design(constant(100.0), json!({"count": 4, "layout": "raid0", "segment_bytes": MIB}), GIB);
    design["controllers"] = json!([{"name": "a", "cost_per_op_ns": COST}, {"name": "b", "cost_per_op_ns": COST}]);
    design["volumes"] = json!([{"name": "v", "group": "g", "size_bytes": GIB / 2, "owner": "a"},
        {"name": "w", "group": "g", "size_bytes": GIB / 2, "owner": "b"}]);
    design["hosts"] = json!([{"name": "h", "volumes": [{"volume": "v"}, {"volume": "w"}]}]);
    design["changes"] = changes;
    design
}

fn fails(at: u64, controller: &str, takeover: u64) -> Value {
    json!({"time_ns": at, "controller_fails": {"controller": controller, "takeover_ns": takeover}})
}

fn returns(at: u64, controller: &str) -> Value {
    json!({"time_ns": at, "controller_returns": controller})
}

fn run_to(array: &mut Array, at: u64) {
    let mut done = Vec::new();
    while array.now() < Nanos(at) {
        array.wait(Nanos(at), &mut done).expect("works");
    }
}

fn of_target(target: u32, io: Io) -> Io {
    Io { target, ..io }
}

/// How long an I/O takes that is sent at an instant.
fn took(array: &mut Array, at: u64, io: Io) -> u64 {
    run_to(array, at);
    batch(array, &[io])[0].at.0 - at
}

fn kinds(array: &mut Array) -> Vec<String> {
    let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
    let told = report["happenings"].as_array().expect("a list");
    told.iter().map(|one| one["kind"].as_str().expect("text").to_owned()).collect()
}

fn served(array: &mut Array) -> Vec<u64> {
    let report = array.report().expect("laws hold");
    let seconds = report.duration_ns as f64 / 1e9;
    let named = |name: &str| report.components.iter().find(|one| one.name == name).expect("one").throughput_per_s;
    ["a", "b"].map(|name| (named(name) * seconds).round() as u64).to_vec()
}

#[test]
fn what_is_sent_to_a_failed_controller_waits_for_the_takeover_and_nothing_else_does() {
    let mut array = array(&pair(json!([fails(100 * MS, "a", 500 * MS)])), 1);
    assert_eq!(took(&mut array, 0, Io::read(0, 4 * KIB)), 11 * MS);
    assert_eq!(took(&mut array, 150 * MS, of_target(1, Io::read(MIB, 4 * KIB))), 11 * MS, "the other one's");
    assert_eq!(took(&mut array, 200 * MS, Io::read(0, 4 * KIB)), 400 * MS + 11 * MS);
    assert_eq!(took(&mut array, 700 * MS, Io::read(0, 4 * KIB)), 11 * MS);
    let report = array.report().expect("laws hold");
    let parts = serde_json::to_value(&report.targets[0].reads.parts).expect("JSON");
    let takeover = parts.as_array().expect("a list").iter().find(|one| one["part"] == "takeover").expect("a part");
    assert!(relative(takeover["mean_ns"].as_f64().expect("a number"), 400e6 / 3.0) < 1e-9, "{takeover}");
    assert_eq!(report.volumes[0].owner.as_deref(), Some("b"));
    assert_eq!(kinds(&mut array), ["controller_failed", "controller_replaced"]);
}

#[test]
fn those_who_waited_are_served_in_turn_by_the_one_that_takes_over() {
    let mut array = array(&pair(json!([fails(0, "a", 100 * MS)])), 1);
    let ios: Vec<Io> = (0..4).map(|index| Io::read(index * MIB, 4 * KIB)).collect();
    let mut times: Vec<u64> = batch(&mut array, &ios).iter().map(|done| done.at.0 / MS).collect();
    times.sort_unstable();
    // One after the other at the controller, side by side on the drives.
    assert_eq!(times, [111, 112, 113, 114]);
    assert_eq!(served(&mut array), [0, 4]);
}

#[test]
fn a_controller_that_returns_gets_its_volumes_back_and_ends_the_wait_for_another() {
    let mut array = array(&pair(json!([fails(0, "a", 500 * MS), returns(200 * MS, "a")])), 1);
    assert_eq!(took(&mut array, 100 * MS, Io::read(0, 4 * KIB)), 100 * MS + 11 * MS);
    assert_eq!(took(&mut array, 600 * MS, Io::read(0, 4 * KIB)), 11 * MS);
    assert_eq!(served(&mut array), [2, 0]);
    assert_eq!(kinds(&mut array), ["controller_failed", "controller_returned"]);
    let volume = array.report().expect("laws hold").volumes.remove(0);
    assert_eq!((volume.owner.as_deref(), volume.moves), (Some("a"), 2));
}

#[test]
fn ios_that_a_host_sends_through_it_take_the_owner_and_its_ports() {
    let mut design = pair(json!([fails(0, "b", 100 * MS)]));
    design["hosts"][0]["volumes"][0]["via"] = json!("b");
    design["controllers"][0]["queue_limit"] = json!(1);
    let mut array = array(&design, 1);
    assert_eq!(took(&mut array, 0, Io::read(0, 4 * KIB)), 100 * MS + 11 * MS, "the way is gone, not the owner");
    run_to(&mut array, 200 * MS);
    let times = batch(&mut array, &[Io::read(0, 4 * KIB), Io::read(MIB, 4 * KIB)]);
    assert_eq!(times.iter().map(|done| done.at.0 / MS).collect::<Vec<_>>(), [211, 222], "one place at its ports");
    assert_eq!(array.report().expect("laws hold").targets[0].proxied_share, Some(0.0));
}

/// Each lets one I/O in at a time.
#[test]
fn who_waits_for_a_takeover_takes_no_place_at_the_ports_of_the_one_that_works() {
    let mut design = pair(json!([fails(5 * MS, "a", 200 * MS)]));
    for controller in [0, 1] {
        design["controllers"][controller]["queue_limit"] = json!(1);
    }
    let mut array = array(&design, 1);
    (0..3).for_each(|index| array.submit(Io::read(index * MIB, 4 * KIB).request(index as u32)));
    run_to(&mut array, 50 * MS);
    array.submit(Io::read(3 * MIB, 4 * KIB).request(3));
    array.submit(of_target(1, Io::read(4 * MIB, 4 * KIB)).request(4));
    let mut done = Vec::new();
    while done.len() < 4 {
        array.wait(Nanos::NEVER, &mut done).expect("works");
    }
    let times: Vec<_> = done.iter().map(|done| (done.token, done.at.0 / MS)).collect();
    assert_eq!(times, [(4, 61), (1, 216), (2, 227), (3, 238)], "the other one's at once, then in turn at its ports");
    assert_eq!(served(&mut array), [1, 4]);
    let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
    let parts = report["targets"][0]["reads"]["parts"].as_array().expect("a list");
    let mean = |name: &str| parts.iter().find(|one| one["part"] == name).expect("a part")["mean_ns"].as_f64();
    // Two wait 5 ms at the ports of the one that fails; then one waits 11 ms at those of the other one, and one 22 ms.
    assert!(relative(mean("port_queue").expect("a number"), 43e6 / 4.0) < 1e-9, "{parts:?}");
    assert!(relative(mean("takeover").expect("a number"), 555e6 / 4.0) < 1e-9, "{parts:?}");
}

#[test]
fn what_waited_for_a_takeover_passes_a_limit_of_rates_as_if_it_came_then() {
    let limited = |queue_limit: Option<u64>| {
        let mut design = pair(json!([fails(0, "a", 100 * MS)]));
        design["volumes"][0]["limit"] = json!({"iops": 50.0});
        design["hosts"][0]["queue_limit"] = json!(queue_limit);
        design
    };
    for queue_limit in [None, Some(8)] {
        let mut array = array(&limited(queue_limit), 1);
        let ios: Vec<Io> = (0..4).map(|index| Io::read(index * MIB, 4 * KIB)).collect();
        let times: Vec<u64> = batch(&mut array, &ios).iter().map(|done| done.at.0 / MS).collect();
        assert_eq!(times, [111, 131, 151, 171], "{queue_limit:?}");
    }
}

#[test]
fn a_volume_that_was_moved_meanwhile_stays_where_it_was_moved() {
    let moved = json!({"time_ns": 100 * MS, "volume_moves": {"volume": "v", "to": "a"}});
    let mut array = array(&pair(json!([fails(0, "a", 0), moved.clone(), returns(200 * MS, "a")])), 1);
    run_to(&mut array, 300 * MS);
    let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
    assert_eq!(report["happenings"][1]["no_effect"], "controller_failed");
    assert_eq!(report["volumes"][0]["owner"], "a", "back with its controller");

    let on_purpose = json!({"time_ns": 100 * MS, "volume_moves": {"volume": "v", "to": "c"}});
    let mut three = pair(json!([fails(0, "a", 0), on_purpose, returns(200 * MS, "a")]));
    three["controllers"].as_array_mut().expect("a list").push(json!({"name": "c"}));
    let mut array = crate::support::array(&three, 1);
    run_to(&mut array, 300 * MS);
    assert_eq!(array.report().expect("laws hold").volumes[0].owner.as_deref(), Some("c"));
}

#[test]
fn the_next_one_that_works_takes_over_and_all_return_to_where_they_were() {
    let mut three =
        pair(json!([fails(10 * MS, "a", 0), fails(20 * MS, "b", 0), returns(30 * MS, "a"), returns(40 * MS, "b")]));
    three["controllers"].as_array_mut().expect("a list").push(json!({"name": "c"}));
    let mut array = array(&three, 1);
    let mut owners_at = |at: u64| {
        run_to(&mut array, at);
        let volumes = array.report().expect("laws hold").volumes;
        volumes.iter().map(|volume| volume.owner.clone().expect("an owner")).collect::<Vec<_>>().concat()
    };
    let found: Vec<String> = [15, 25, 35, 45].iter().map(|at| owners_at(at * MS)).collect();
    assert_eq!(found, ["bb", "cc", "ac", "ab"]);
}

#[test]
fn a_volume_whose_controllers_fail_one_after_the_other_waits_for_the_longer_takeover() {
    for takeovers in [[300, 100], [100, 300]] {
        let [first, second] = takeovers.map(|takeover| takeover * MS);
        let mut three = pair(json!([fails(0, "a", first), fails(0, "b", second)]));
        three["controllers"].as_array_mut().expect("a list").push(json!({"name": "c", "cost_per_op_ns": COST}));
        let mut array = array(&three, 1);
        assert_eq!(took(&mut array, 10 * MS, Io::read(0, 4 * KIB)), 301 * MS, "{takeovers:?}");
        assert_eq!(kinds(&mut array)[2..], ["controller_replaced", "controller_replaced"]);
    }
}

#[test]
fn nothing_waits_for_a_controller_to_which_nothing_is_sent() {
    let mut three = pair(json!([fails(0, "c", 100 * MS)]));
    three["controllers"].as_array_mut().expect("a list").push(json!({"name": "c"}));
    let told = |design: &Value| {
        let mut array = array(design, 1);
        run_to(&mut array, 200 * MS);
        serde_json::to_value(array.report().expect("laws hold")).expect("JSON")["happenings"].clone()
    };
    let happened = told(&three);
    assert_eq!((happened.as_array().expect("a list").len(), &happened[0]["takeover_ns"]), (1, &json!(0)));
    three["hosts"][0]["volumes"][0]["via"] = json!("c");
    let happened = told(&three);
    assert_eq!((happened.as_array().expect("a list").len(), &happened[0]["takeover_ns"]), (2, &json!(100 * MS)));
}

/// Volumes take a fiftieth of the group; the rest of it is rebuilt, too.
#[test]
fn space_of_no_volume_is_rebuilt_by_a_controller_that_works() {
    let rebuild = json!({"name": "r", "kind": "rebuild", "group": "g"});
    let drive = json!({"time_ns": MS, "drive_fails": {"group": "g", "index": 0}});
    let mut design = pair(json!([fails(0, "a", 0), drive]));
    design["groups"][0]["layout"] = json!("raid1");
    design["groups"][0]["count"] = json!(2);
    design["groups"][0]["spares"] = json!(1);
    design["links"] = json!({"back_end": {"bandwidth_bytes_per_s": 400e6}});
    design["background"] = json!([rebuild]);
    for volume in [0, 1] {
        design["volumes"][volume]["size_bytes"] = json!(8 * MIB);
    }
    let mut array = array(&design, 1);
    run_to(&mut array, 5_000 * MS);
    let report = array.report().expect("laws hold");
    let crossed = |name: &str| {
        let of_controller = report.components.iter().filter(|one| one.name == name);
        of_controller.map(|one| one.throughput_per_s).sum::<f64>()
    };
    assert!(crossed("b") > 10.0, "the link to the drives");
    assert!(crossed("a") < 1e-9, "what has failed carries nothing");
}

fn cached(mirrored: bool, changes: Value) -> Value {
    let mut design = pair(changes);
    design["cache"] = json!({"page_bytes": PAGE, "write": {"size_bytes": 64 * MIB, "mirrored": mirrored, "low_watermark": 0.5},
        "read": {"size_bytes": 64 * MIB}});
    design["links"] = json!({"mirror": {"bandwidth_bytes_per_s": 4_096e3}});
    design
}

#[test]
fn one_that_is_alone_writes_through_until_the_other_one_returns() {
    let mut array = array(&cached(true, json!([fails(100 * MS, "a", 0), returns(200 * MS, "a")])), 1);
    // A copy of 4 KiB takes a millisecond.
    assert_eq!(took(&mut array, 0, of_target(1, Io::write(0, 4 * KIB))), 2 * MS);
    assert_eq!(took(&mut array, 130 * MS, of_target(1, Io::write(MIB, 4 * KIB))), 11 * MS);
    assert_eq!(took(&mut array, 300 * MS, of_target(1, Io::write(2 * MIB, 4 * KIB))), 2 * MS);
    assert_eq!(kinds(&mut array), ["controller_failed", "cache_lost", "controller_returned", "cache_restored"]);
}

#[test]
fn one_that_may_write_back_alone_copies_nothing() {
    let allowed = json!({"time_ns": 100 * MS, "cache_restored": "b"});
    let mut array = array(&cached(true, json!([fails(100 * MS, "a", 0), allowed, returns(200 * MS, "a")])), 1);
    assert_eq!(took(&mut array, 130 * MS, of_target(1, Io::write(MIB, 4 * KIB))), MS);
    assert_eq!(took(&mut array, 300 * MS, of_target(1, Io::write(2 * MIB, 4 * KIB))), 2 * MS);
    assert_eq!(kinds(&mut array), ["controller_failed", "cache_lost", "cache_restored", "controller_returned"]);
}

#[test]
fn what_was_mirrored_survives_and_what_was_not_is_lost() {
    for (mirrored, lost) in [(true, false), (false, true)] {
        let mut array = array(&cached(mirrored, json!([fails(100 * MS, "a", 0)])), 1);
        for at in 0..3 {
            took(&mut array, 10 * MS * at, Io::write(at * MIB, 4 * KIB));
            took(&mut array, 10 * MS * at + 5 * MS, of_target(1, Io::write(at * MIB, 4 * KIB)));
        }
        run_to(&mut array, 200 * MS);
        let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
        let told = report["happenings"].as_array().expect("a list");
        let found: Vec<&Value> = told.iter().filter(|one| one["kind"] == "data_lost").collect();
        assert_eq!(!found.is_empty(), lost, "{told:?}");
        if lost {
            assert_eq!(found.len(), 1, "the other volume's controller works");
            assert_eq!(found[0]["volume"], "v");
            assert_eq!(found[0]["cache"], json!({"controller": "a", "bytes": 3 * 4 * KIB}));
        }
    }
}

#[test]
fn clean_pages_of_the_failed_one_are_read_anew_and_those_of_the_other_one_are_not() {
    let mut array = array(&cached(true, json!([fails(100 * MS, "a", 0)])), 1);
    for target in [0, 1] {
        took(&mut array, 20 * MS * u64::from(target), of_target(target, Io::read(0, 4 * KIB)));
    }
    assert_eq!(took(&mut array, 50 * MS, Io::read(0, 4 * KIB)), MS);
    assert_eq!(took(&mut array, 200 * MS, Io::read(0, 4 * KIB)), 11 * MS);
    assert_eq!(took(&mut array, 230 * MS, of_target(1, Io::read(0, 4 * KIB))), MS);
    assert_eq!(took(&mut array, 250 * MS, Io::read(0, 4 * KIB)), MS, "and stay with the other one");
}

#[test]
fn memory_is_what_the_controllers_that_work_have() {
    let limits = |mirrored: bool, changes: Value| {
        let mut array = array(&cached(mirrored, changes), 1);
        run_to(&mut array, 100 * MS);
        let cache = array.report().expect("laws hold").cache.expect("memory");
        (cache.dirty_limit_pages * PAGE / MIB, cache.clean_limit_pages * PAGE / MIB)
    };
    assert_eq!(limits(true, json!([])), (32, 64));
    assert_eq!(limits(true, json!([fails(0, "a", 0)])), (32, 32), "nothing is kept twice by one that is alone");
    assert_eq!(limits(false, json!([fails(0, "a", 0)])), (32, 32));
    assert_eq!(limits(true, json!([fails(0, "a", 0), returns(MS, "a")])), (32, 64));
}

#[test]
fn what_failed_does_not_fail_again_and_what_works_does_not_return() {
    let again = json!([returns(0, "a"), fails(MS, "a", 0), fails(2 * MS, "a", 500 * MS)]);
    let mut array = array(&pair(again), 1);
    run_to(&mut array, 10 * MS);
    let report = serde_json::to_value(array.report().expect("laws hold")).expect("JSON");
    let told = report["happenings"].as_array().expect("a list");
    let reasons: Vec<&Value> = told.iter().map(|one| &one["no_effect"]).collect();
    assert_eq!(reasons, [&json!("already_so"), &Value::Null, &json!("already_so")]);
    assert_eq!(took(&mut array, 20 * MS, Io::read(0, 4 * KIB)), 11 * MS, "it had been taken over at once");
}

#[test]
fn a_failure_of_what_has_failed_does_not_end_the_takeover_twice() {
    let mut array = array(&pair(json!([fails(0, "a", 100 * MS), fails(50 * MS, "a", 50 * MS)])), 1);
    run_to(&mut array, 200 * MS);
    assert_eq!(kinds(&mut array), ["controller_failed", "controller_failed", "controller_replaced"]);
}
