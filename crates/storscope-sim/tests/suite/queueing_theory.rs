//! Closed forms of queueing theory, through the whole path of the array: within 1 %.
//!
//! Formulas: Kleinrock, "Queueing Systems", volume 1 (M/M/1, M/M/c with Erlang C, M/G/1 by Pollaczek and Khinchine, and
//! the finite population of the machine repair model).

use crate::support::*;
use serde_json::{Value, json};

const SIZE: u64 = 32 * GIB;
const IOS: u64 = 2_000_000;

fn one_drive(drive: Value) -> Value {
    design(drive, json!({"count": 1, "layout": "raid0"}), SIZE)
}

/// A controller in front of drives that take hardly any time.
fn controller(servers: u32, cost_ns: f64, cv: f64) -> Value {
    let mut design = one_drive(constant(1e9));
    design["controllers"] = json!([{"name": "a", "servers": servers, "cost_per_op_ns": cost_ns, "cv": cv}]);
    design
}

fn response_ms(design: &Value, rate_per_s: f64) -> f64 {
    let mut array = array(design, 5);
    open(&mut array, rate_per_s, IOS, |random| random_read(random, SIZE, 4 * KIB));
    mean_latency_ns(&array.report().expect("laws hold")) / 1e6
}

#[test]
fn a_drive_with_exponential_times_is_m_m_1() {
    for load in [0.3, 0.7] {
        let found = response_ms(&one_drive(exponential(100.0)), 100.0 * load);
        let expected = 10.0 / (1.0 - load);
        assert!(relative(found, expected) < 0.01, "load {load}: {found} ms, expected {expected}");
    }
}

#[test]
fn a_drive_with_constant_times_is_m_g_1() {
    for load in [0.5, 0.7] {
        let found = response_ms(&one_drive(constant(100.0)), 100.0 * load);
        let expected = 10.0 + load * 10.0 / (2.0 * (1.0 - load));
        assert!(relative(found, expected) < 0.01, "load {load}: {found} ms, expected {expected}");
    }
}

#[test]
fn a_controller_with_several_processors_is_m_m_c() {
    for (servers, load) in [(1_u32, 0.7), (2, 0.8), (4, 0.75)] {
        let rate = 100.0 * f64::from(servers) * load;
        let found = response_ms(&controller(servers, 10e6, 1.0), rate);
        let expected = 10.0 + erlang_c(servers, load) * 10.0 / (f64::from(servers) * (1.0 - load));
        assert!(relative(found, expected) < 0.01, "{servers} at {load}: {found} ms, expected {expected}");
    }
}

/// The probability of having to wait.
fn erlang_c(servers: u32, load: f64) -> f64 {
    let offered = f64::from(servers) * load;
    let (mut term, mut sum) = (1.0, 0.0);
    for count in 0..servers {
        sum += term;
        term *= offered / f64::from(count + 1);
    }
    let waiting = term / (1.0 - load);
    waiting / (sum + waiting)
}

#[test]
fn a_closed_loop_with_think_time_is_the_machine_repair_model() {
    let (service, think, machines) = (10.0_f64, 40.0, 6_u32);
    let mut array = array(&one_drive(exponential(100.0)), 3);
    closed(&mut array, machines, IOS / 2, think * 1e6, |random, _| random_read(random, SIZE, 4 * KIB));
    let report = array.report().expect("laws hold");
    // P(0) = 1 / sum of n! / (n - k)! * (S / Z)^k; throughput (1 - P(0)) / S; response by Little: n / X - Z.
    let terms = (0..=machines).scan(1.0, |term, count| {
        let present = *term;
        *term *= f64::from(machines - count) * service / think;
        Some(present)
    });
    let idle = 1.0 / terms.sum::<f64>();
    let throughput = (1.0 - idle) / service;
    let expected = f64::from(machines) / throughput - think;
    let found = mean_latency_ns(&report) / 1e6;
    assert!(relative(found, expected) < 0.01, "{found} ms, expected {expected}");
    let busy = report.components[0].busy_ratio;
    assert!(relative(busy, 1.0 - idle) < 0.01, "busy {busy}, expected {}", 1.0 - idle);
}

#[test]
fn the_bottleneck_bounds_the_throughput_of_a_closed_loop() {
    let mut design = controller(1, 2e6, 0.0);
    design["drives"]["d"] = constant(200.0);
    design["groups"][0]["count"] = json!(4);
    let mut array = array(&design, 3);
    closed(&mut array, 64, 100_000, 0.0, |random, _| random_read(random, SIZE, 4 * KIB));
    let report = array.report().expect("laws hold");
    let per_s = report.targets[0].completed[0] as f64 / (report.duration_ns as f64 / 1e9);
    assert!(relative(per_s, 500.0) < 0.01, "{per_s} per second");
    let bottleneck = &report.components[report.bottleneck.expect("something is busy")];
    assert_eq!(bottleneck.name, "a");
}
