//! Limits of rates against closed forms: the rate that is allowed, the wait before it, what a burst lasts.

use crate::support::*;
use serde_json::{Value, json};
use storscope_device::Device;
use storscope_sim::array::{ArrayReport, ComponentKind, ComponentReport};
use storscope_types::Nanos;

const SIZE: u64 = 32 * GIB;

/// A volume on a drive that takes hardly any time.
fn quick() -> Value {
    design(constant(1e9), json!({"count": 1, "layout": "raid0"}), SIZE)
}

/// The same, the volume with a limit under this key.
fn with(key: &str, limit: Value) -> Value {
    let mut design = quick();
    design["volumes"][0][key] = limit;
    design
}

fn limit_of(report: &ArrayReport) -> &ComponentReport {
    report.components.iter().find(|component| component.kind == ComponentKind::RateLimit).expect("a limit")
}

/// I/Os per second of a closed loop of reads of so many bytes, and its report.
fn closed_reads(design: &Value, outstanding: u32, count: u64, bytes: u64) -> (f64, ArrayReport) {
    let mut array = array(design, 3);
    closed(&mut array, outstanding, count, 0.0, |random, _| random_read(random, SIZE, bytes));
    let report = array.report().expect("laws hold");
    (report.targets[0].completed[0] as f64 / (report.duration_ns as f64 / 1e9), report)
}

#[test]
fn a_closed_loop_gets_what_is_allowed_and_waits_by_littles_law() {
    let (per_s, report) = closed_reads(&with("limit", json!({"iops": 3000.0})), 32, 60_000, 4 * KIB);
    assert!(relative(per_s, 3000.0) < 1e-3, "{per_s} per second");
    assert!(relative(mean_latency_ns(&report), 32.0 / 3000.0 * 1e9) < 1e-3, "{} ns", mean_latency_ns(&report));
    let limit = limit_of(&report);
    assert_eq!((limit.name.as_str(), limit.servers), ("volume v", 1));
    assert!(limit.busy_ratio > 0.999, "{limit:?}");
    let part = report.targets[0].reads.parts[0];
    assert_eq!(serde_json::to_value(part.part).expect("text"), json!("rate_limit"));
    assert!(relative(part.mean_ns, mean_latency_ns(&report)) < 1e-3, "{part:?}");
}

#[test]
fn the_lower_of_iops_and_bandwidth_counts() {
    let limit = json!({"iops": 3000.0, "bandwidth_bytes_per_s": 125e6});
    for (bytes, expected) in [(4 * KIB, 3000.0), (16 * KIB, 3000.0), (256 * KIB, 125e6 / (256 * KIB) as f64)] {
        let (per_s, _) = closed_reads(&with("limit", limit.clone()), 32, 20_000, bytes);
        assert!(relative(per_s, expected) < 2e-3, "{bytes}: {per_s} per second, expected {expected}");
    }
}

#[test]
fn a_large_io_counts_as_several() {
    let limit = json!({"iops": 3000.0, "io_unit_bytes": 256 * KIB});
    for (bytes, units) in [(4 * KIB, 1.0), (256 * KIB, 1.0), (257 * KIB, 2.0), (MIB, 4.0)] {
        let (per_s, _) = closed_reads(&with("limit", limit.clone()), 8, 5_000, bytes);
        assert!(relative(per_s, 3000.0 / units) < 4e-3, "{bytes}: {per_s} per second");
    }
}

#[test]
fn what_is_sequential_counts_by_its_bytes_where_it_is_put_together() {
    let limit = json!({"iops": 500.0, "io_unit_bytes": MIB, "merge_sequential": true});
    let design = with("limit", limit);
    let in_sequence = |streams: u64, bytes: u64| {
        let mut array = array(&design, 3);
        let mut at = vec![0; streams as usize];
        let mut turn = 0;
        closed(&mut array, 8, 20_000, 0.0, |_, _| {
            turn = (turn + 1) % streams as usize;
            at[turn] += bytes;
            Io::read(turn as u64 * SIZE / streams + at[turn] - bytes, bytes)
        });
        let report = array.report().expect("laws hold");
        report.targets[0].completed[0] as f64 * bytes as f64 / (report.duration_ns as f64 / 1e9)
    };
    // As many bytes as whole I/Os would move, of one stream and of several side by side.
    for (streams, bytes) in [(1, 16 * KIB), (1, 64 * KIB), (1, MIB), (6, 64 * KIB)] {
        let found = in_sequence(streams, bytes);
        assert!(relative(found, (500 * MIB) as f64) < 0.01, "{streams} of {bytes}: {found} per second");
    }
    // Random ones cost a whole one each.
    let (per_s, _) = closed_reads(&design, 8, 5_000, 16 * KIB);
    assert!(relative(per_s, 500.0) < 4e-3, "{per_s} per second");
}

#[test]
fn random_arrivals_wait_as_before_a_server_of_constant_times_but_are_not_served() {
    for load in [0.4, 0.8] {
        let mut array = array(&with("limit", json!({"iops": 1000.0})), 5);
        open(&mut array, 1000.0 * load, 1_000_000, |random| random_read(random, SIZE, 4 * KIB));
        let report = array.report().expect("laws hold");
        // M/D/1: the wait before a server that takes 1 ms (Pollaczek and Khinchine).
        let expected = load * 1e6 / (2.0 * (1.0 - load));
        let found = mean_latency_ns(&report);
        assert!(relative(found, expected) < 0.015, "load {load}: {found} ns, expected {expected}");
        assert!(relative(limit_of(&report).busy_ratio, load) < 0.01, "{:?}", limit_of(&report));
    }
}

#[test]
fn an_io_that_comes_alone_does_not_wait() {
    let mut array = array(&with("limit", json!({"iops": 0.5, "bandwidth_bytes_per_s": 1e3})), 1);
    let done = batch(&mut array, &[Io::read(0, 64 * KIB)]);
    assert!(done[0].at < Nanos(10), "{done:?}");
}

/// How many of a closed loop are done by an instant.
fn done_by(design: &Value, bytes: u64, until: Nanos) -> (f64, Value) {
    let mut array = array(design, 1);
    let mut tokens: Vec<u32> = (0..64).collect();
    let (mut done, mut count) = (Vec::new(), 0_u64);
    while array.now() < until {
        tokens.drain(..).for_each(|token| array.submit(Io::read(0, bytes).request(token)));
        array.wait(until, &mut done).expect("works");
        count += done.len() as u64;
        tokens.extend(done.drain(..).map(|completion| completion.token));
    }
    (count as f64, serde_json::to_value(array.report().expect("laws hold").happenings).expect("JSON"))
}

#[test]
fn a_burst_lasts_as_long_as_its_credits() {
    // gp2 of AWS with 100 GiB: 300 per second, 5.4 million credits, 3,000 per second for 2,000 s (EBS user guide). Here a
    // hundredth of that.
    let burst = json!({"iops": 300.0, "burst_iops": 3000.0, "burst_for_ns": 20 * Nanos::SECOND.0});
    for (seconds, expected) in [(10, 30_000.0), (20, 60_000.0), (40, 66_000.0)] {
        let (count, _) = done_by(&with("limit", burst.clone()), 4 * KIB, Nanos(seconds * Nanos::SECOND.0));
        assert!(relative(count, expected) < 2e-3, "{seconds} s: {count}, expected {expected}");
    }
    let (_, happenings) = done_by(&with("limit", burst.clone()), 4 * KIB, Nanos(40 * Nanos::SECOND.0));
    assert_eq!(happenings.as_array().map(Vec::len), Some(1), "{happenings}");
    let told = ["kind", "limit", "counted"].map(|key| happenings[0][key].as_str().expect("text"));
    assert_eq!(told, ["credits_spent", "volume v", "ios"]);
    let at = happenings[0]["time_ns"].as_u64().expect("a time") as f64;
    assert!(relative(at, 20e9) < 5e-3, "{at}");
    // A quarter of the credits last a quarter of the time.
    let mut quarter = burst;
    quarter["burst_left"] = json!(0.25);
    let (count, _) = done_by(&with("limit", quarter), 4 * KIB, Nanos(20 * Nanos::SECOND.0));
    assert!(relative(count, 5.0 * 3000.0 + 15.0 * 300.0) < 2e-3, "{count}");
}

#[test]
fn credits_of_ios_and_of_bytes_are_spent_each_at_its_time() {
    // 64 KiB at a time: 1,000 I/Os a second of 300 allowed spend 7,000 credits in 10 s. Until then 62.5 MiB of 10 allowed
    // spend 525 of 900 MiB; the rest goes at 300 I/Os a second, 8.75 MiB more than allowed, in 42.86 s.
    let limit = json!({"iops": 300.0, "burst_iops": 1000.0, "burst_for_ns": 10 * Nanos::SECOND.0,
        "bandwidth_bytes_per_s": 10 * MIB, "burst_bandwidth_bytes_per_s": 100 * MIB});
    let (_, happenings) = done_by(&with("limit", limit), 64 * KIB, Nanos(60 * Nanos::SECOND.0));
    let told: Vec<(&str, f64)> = happenings
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["counted"].as_str().expect("text"), one["time_ns"].as_u64().expect("a time") as f64 / 1e9))
        .collect();
    assert_eq!(told.iter().map(|one| one.0).collect::<Vec<_>>(), ["ios", "bytes"], "{told:?}");
    for ((counted, at), expected) in told.iter().zip([10.0, 10.0 + 375.0 / 8.75]) {
        assert!(relative(*at, expected) < 0.01, "{counted} at {at} s, expected {expected}");
    }
}

#[test]
fn credits_that_are_left_are_told() {
    let burst = json!({"iops": 300.0, "burst_iops": 3000.0, "burst_for_ns": 20 * Nanos::SECOND.0, "burst_left": 0.5});
    let left = |seconds: u64| {
        let mut array = array(&with("limit", burst.clone()), 1);
        closed(&mut array, 64, 3_000 * seconds, 0.0, |_, _| Io::read(0, 4 * KIB));
        let report = array.report().expect("laws hold");
        let [credits] = limit_of(&report).credits[..] else { panic!("one of I/Os") };
        assert_eq!((credits.at_first, credits.earned_in_ns), (0.5, Nanos(180 * Nanos::SECOND.0)));
        credits.left
    };
    // Half of the bucket lasts 10 s.
    assert!((left(4) - 0.3).abs() < 0.01 && left(10) < 0.01, "{} {}", left(4), left(10));
    let mut design = with("limit", burst);
    design["volumes"][0]["limit"]["burst_left"] = json!(0.0);
    let (count, happenings) = done_by(&design, 4 * KIB, Nanos(10 * Nanos::SECOND.0));
    assert!(
        relative(count, 3_000.0) < 0.01 && happenings.as_array().is_some_and(Vec::is_empty),
        "{count} {happenings}"
    );
}

#[test]
fn credits_come_back_at_the_allowed_rate() {
    let burst = json!({"iops": 100.0, "burst_iops": 1000.0, "burst_for_ns": Nanos::SECOND.0});
    let mut array = array(&with("limit", burst), 1);
    let ios: Vec<Io> = (0..1_000).map(|_| Io::read(0, 4 * KIB)).collect();
    let took = |array: &mut storscope_sim::Array| {
        let from = array.now();
        batch(array, &ios).iter().map(|completion| completion.at.since(from).0).max().expect("some") as f64
    };
    assert!(relative(took(&mut array), 1e9) < 5e-3);
    // The bucket holds 900: 4.5 s bring half of it back, which half a second takes away again.
    array.wait(array.now() + Nanos(4_500_000_000), &mut Vec::new()).expect("works");
    let expected = 0.5e9 + 500.0 * 1e7;
    let found = took(&mut array);
    assert!(relative(found, expected) < 5e-3, "{found}");
    assert_eq!(array.report().expect("laws hold").happenings.len(), 1);
}

#[test]
fn a_limit_of_one_direction_leaves_the_other_alone() {
    for (key, limited) in [("read_limit", 0), ("write_limit", 1)] {
        let mut array = array(&with(key, json!({"iops": 1000.0})), 1);
        let ios: Vec<Io> =
            (0..200).map(|at| if at % 2 == 0 { Io::read(0, 4 * KIB) } else { Io::write(0, 4 * KIB) }).collect();
        let done = batch(&mut array, &ios);
        let last = |direction: u32| {
            let of = done.iter().filter(|completion| completion.token % 2 == direction);
            of.map(|completion| completion.at).max().expect("some")
        };
        assert!(last(1 - limited) < Nanos(1_000), "{key}");
        assert_eq!(last(limited).0 / MS, 99, "{key}");
    }
}

#[test]
fn the_limit_of_a_host_is_shared_by_its_volumes_and_comes_before_theirs() {
    let mut design = quick();
    design["volumes"] = json!([{"name": "v", "group": "g", "size_bytes": GIB, "limit": {"iops": 100.0}},
        {"name": "w", "group": "g", "size_bytes": GIB}]);
    design["hosts"] = json!([
        {"name": "h", "limit": {"iops": 1000.0}, "volumes": [{"volume": "v"}, {"volume": "w"}]},
        {"name": "i", "volumes": [{"volume": "v"}, {"volume": "w"}]}]);
    let on = |target: u32| Io { target, ..Io::read(0, 4 * KIB) };
    let at = |ios: &[Io]| {
        let mut done = batch(&mut array(&design, 1), ios);
        done.sort_by_key(|completion| completion.token);
        done.iter().map(|completion| completion.at.0 / MS).collect::<Vec<_>>()
    };
    assert_eq!(at(&[on(1), on(1), on(1)]), [0, 1, 2]);
    assert_eq!(at(&[on(3), on(3), on(3)]), [0, 0, 0]);
    assert_eq!(at(&[on(0), on(1), on(0), on(1)]), [0, 1, 10, 3]);
    // Hosts share what a volume is allowed; who has a limit of the host before it comes a moment later.
    assert_eq!(at(&[on(0), on(2), on(0)]), [10, 0, 20]);
}
