//! Limits of rates that change during a run, against what they allow before and after.

use crate::support::*;
use serde_json::{Value, json};
use storscope_device::Device;
use storscope_sim::Array;
use storscope_types::Nanos;

const SIZE: u64 = 32 * GIB;
const SECOND: u64 = Nanos::SECOND.0;

/// A volume of these limits on a drive that takes hardly any time, and what changes.
fn changing(limits: &Value, changes: &[(u64, Value)]) -> Value {
    let mut design = design(constant(1e9), json!({"count": 1, "layout": "raid0"}), SIZE);
    for (key, limit) in limits.as_object().expect("limits") {
        design["volumes"][0][key] = limit.clone();
    }
    let change = |(at, change): &(u64, Value)| json!({"time_ns": at, "limits_change": change});
    design["changes"] = changes.iter().map(change).collect();
    design
}

/// When each of so many reads is done that come at once, in seconds.
fn done_at(array: &mut Array, count: usize) -> Vec<f64> {
    let ios: Vec<Io> = (0..count).map(|_| Io::read(0, 4 * KIB)).collect();
    let mut found: Vec<f64> = batch(array, &ios).iter().map(|done| done.at.0 as f64 / 1e9).collect();
    found.sort_by(f64::total_cmp);
    found
}

#[test]
fn those_who_wait_pass_at_the_new_rate_from_the_change_on() {
    let change = json!({"volume": "v", "limit": {"iops": 100.0}});
    let mut array = array(&changing(&json!({"limit": {"iops": 10.0}}), &[(2 * SECOND + SECOND / 20, change)]), 1);
    let found = done_at(&mut array, 100);
    for (index, at) in found.iter().enumerate() {
        // The 21st passes at 2 s, the next at once when it may, then one every 10 ms.
        let expected = if index < 21 { index as f64 * 0.1 } else { 2.05 + (index - 21) as f64 * 0.01 };
        assert!((at - expected).abs() < 1e-6, "{index}: {at} s, expected {expected}");
    }
    let report = array.report().expect("laws hold");
    let part = report.targets[0].reads.parts[0];
    assert!(relative(part.mean_ns, mean_latency_ns(&report)) < 1e-6, "{part:?}");
    let limit = report.components.iter().find_map(|one| one.allows).expect("a limit");
    assert_eq!(limit.iops, Some(100.0), "what holds at the end");
}

#[test]
fn a_lower_limit_holds_those_back_who_wait() {
    let change = json!({"volume": "v", "limit": {"iops": 1.0}});
    let mut array = array(&changing(&json!({"limit": {"iops": 10.0}}), &[(SECOND + SECOND / 20, change)]), 1);
    let found = done_at(&mut array, 14);
    assert!((found[13] - 3.05).abs() < 1e-6 && (found[10] - 1.0).abs() < 1e-6, "{found:?}");
    array.report().expect("laws hold");
}

#[test]
fn a_limit_that_is_lifted_holds_nobody_and_one_can_come_where_none_was() {
    let lifted = (SECOND, json!({"volume": "v"}));
    let mut all_pass = array(&changing(&json!({"limit": {"iops": 10.0}}), &[lifted]), 1);
    let found = done_at(&mut all_pass, 1_000);
    assert!((found[999] - 1.0).abs() < 1e-4, "{}", found[999]);
    let report = all_pass.report().expect("laws hold");
    assert!(report.components.iter().all(|one| one.allows.is_none()));

    let come = (SECOND, json!({"host": "h", "read_limit": {"iops": 50.0}}));
    let mut limited = array(&changing(&json!({}), &[come]), 1);
    assert!(done_at(&mut limited, 1_000)[999] < 0.01, "no limit yet");
    settle(&mut limited);
    limited.wait(Nanos(2 * SECOND), &mut Vec::new()).expect("works");
    let found = done_at(&mut limited, 101);
    assert!(relative(found[100] - found[0], 2.0) < 1e-3, "{} to {}", found[0], found[100]);
    let writes: Vec<Io> = (0..101).map(|_| Io::write(0, 4 * KIB)).collect();
    let from = limited.now().0;
    assert!(batch(&mut limited, &writes).iter().all(|done| done.at.0 - from < SECOND / 100), "reads alone are limited");
    limited.report().expect("laws hold");
}

#[test]
fn a_limit_that_comes_has_the_credits_that_it_says() {
    let burst = json!({"iops": 100.0, "burst_iops": 1000.0, "burst_for_ns": SECOND});
    let change = |left: f64| {
        let mut limit = burst.clone();
        limit["burst_left"] = json!(left);
        (SECOND, json!({"volume": "v", "limit": limit}))
    };
    for (left, expected) in [(1.0, 3.0), (0.5, 3.0 + 4.5), (0.0, 3.0 + 9.0)] {
        // 1,100 that wait when the limit comes: 1,000 in the first second with all credits, 100 in the next.
        let mut array = array(&changing(&json!({"limit": {"iops": 0.001}}), &[change(left)]), 1);
        let found = done_at(&mut array, 1_101);
        assert!(relative(found[1_100], expected) < 0.02, "{left} left: {} s, expected {expected}", found[1_100]);
    }
}

#[test]
fn what_changes_is_told_and_what_does_not_as_well() {
    let to = json!({"iops": 20.0});
    let changes = [
        (SECOND, json!({"volume": "v", "limit": to, "write_limit": {"iops": 5.0}})),
        (2 * SECOND, json!({"volume": "v", "limit": to, "write_limit": {"iops": 5.0}})),
    ];
    let mut array = array(&changing(&json!({"limit": {"iops": 10.0}}), &changes), 1);
    array.wait(Nanos(3 * SECOND), &mut Vec::new()).expect("works");
    let told = serde_json::to_value(array.report().expect("laws hold").happenings).expect("JSON");
    let found: Vec<_> = told
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| json!([one["kind"], one["limit"], one["from"]["iops"], one["to"]["iops"], one["no_effect"]]))
        .collect();
    let kind = "limit_changed";
    assert_eq!(
        found,
        [
            json!([kind, "volume v", 10.0, 20.0, null]),
            json!([kind, "volume v writes", null, 5.0, null]),
            json!([kind, "volume v", 20.0, 20.0, "already_so"]),
        ]
    );
}
