//! Drives given as measured curves against closed forms, and against the points themselves.

use crate::drives::{Dice, curve};
use storscope_device::Direction;
use storscope_sim::drive::fit::closed_loop::ClosedLoop;
use storscope_sim::drive::{Drive, DriveOp};
use storscope_types::Nanos;
use storscope_types::design::drive::{CurveDesign, DriveDesign};

/// Throughput per second of `clients` that think for `think_s` (exponential) between requests.
fn repair_run(design: &DriveDesign, clients: u32, think_s: f64, completions: u32) -> f64 {
    let mut drive = Drive::new(design, 2, 0);
    let mut dice = Dice(11);
    let mut thinking: Vec<Option<u64>> = (0..clients).map(|_| Some(dice.exponential(think_s * 1e9) as u64)).collect();
    let (mut now, mut done) = (0, 0);
    while done < completions {
        let first =
            (0..thinking.len()).filter(|&client| thinking[client].is_some()).min_by_key(|&client| thinking[client]);
        let ready_at = first.and_then(|client| thinking[client]).unwrap_or(u64::MAX);
        now = ready_at.min(drive.next_event().0);
        if ready_at <= drive.next_event().0 {
            let client = first.expect("someone is ready");
            thinking[client] = None;
            let op = DriveOp { tag: client as u32, direction: Direction::Read, offset: 0, length: 4096 };
            drive.submit(Nanos(now), op);
        } else if let Some(tag) = drive.advance(Nanos(now)) {
            thinking[tag as usize] = Some(now + dice.exponential(think_s * 1e9) as u64);
            done += 1;
        }
    }
    f64::from(done) / now as f64 * 1e9
}

/// Machine repair: throughput of `clients` that think for `think_s`, with `rate(n)` completions per second at n inside.
fn machine_repair(clients: u32, think_s: f64, rate: impl Fn(u32) -> f64) -> f64 {
    let mut weights = vec![1.0];
    for inside in 1..=clients {
        let ratio = f64::from(clients - inside + 1) / think_s / rate(inside);
        weights.push(weights[inside as usize - 1] * ratio);
    }
    let busy: f64 = (1..=clients).map(|inside| weights[inside as usize] * rate(inside)).sum();
    busy / weights.iter().sum::<f64>()
}

#[test]
fn a_curve_drive_repairs_machines_as_one_server_and_as_eight() {
    let one = |_: u32| 1000.0;
    let eight = |inside: u32| 1000.0 * f64::from(inside.min(8));
    let flat = curve(&[(1, 1000.0)], 1.0);
    let steep = curve(&(1..=8).map(|qd| (qd, 1000.0 * f64::from(qd))).collect::<Vec<_>>(), 1.0);
    for (design, rate) in [(flat, &one as &dyn Fn(u32) -> f64), (steep, &eight)] {
        for (clients, think_s) in [(4, 0.003), (16, 0.003)] {
            let expected = machine_repair(clients, think_s, rate);
            let measured = repair_run(&design, clients, think_s, 400_000);
            assert!((measured / expected - 1.0).abs() < 0.01, "{clients} clients: {measured}, expected {expected}");
        }
    }
}

#[test]
fn a_curve_drive_gives_back_its_points() {
    let points = [(1, 72.0), (8, 87.0), (32, 131.0)];
    for cv in [0.0, 0.5, 1.0, 2.0] {
        for (qd, iops) in points {
            let measured = ClosedLoop::reads(qd, 100_000).run(&curve(&points, cv), 1);
            assert!((measured.iops / iops - 1.0).abs() < 0.02, "cv {cv}, depth {qd}: {}", measured.iops);
        }
        let spread = ClosedLoop::reads(1, 100_000).run(&curve(&points, cv), 1);
        assert!((spread.latency_ns_sd / spread.latency_ns_mean - cv).abs() < 0.03, "cv {cv}");
    }
}

/// A request of 1 MiB takes what the curve says of one and the time of the rest at the rate of the transfer.
#[test]
fn a_curve_drive_transfers_large_requests_one_at_a_time() {
    let points: Vec<_> = (1..=8).map(|qd| (qd, 1000.0 * f64::from(qd))).collect();
    let DriveDesign::Curve(small) = curve(&points, 0.0) else { unreachable!("a curve") };
    let rate = 100e6;
    let design = DriveDesign::Curve(CurveDesign { rate_bytes_per_s: Some(rate), ..small });
    let rest_s = f64::from((1 << 20) - 4096) / rate;
    for qd in [1, 2, 4, 8, 16] {
        let expected = 1.0 / (1.0 / (1000.0 * f64::from(qd.min(8))) + rest_s);
        let found = ClosedLoop { block: 1 << 20, ..ClosedLoop::reads(qd, 10_000) }.run(&design, 1).iops;
        assert!((found / expected - 1.0).abs() < 0.005, "depth {qd}: {found} a second, expected {expected}");
    }
}

#[test]
fn below_its_first_point_a_curve_drive_responds_as_at_it() {
    let points = [(4, 400.0), (8, 500.0)];
    for (qd, iops) in [(1, 100.0), (2, 200.0), (3, 300.0), (4, 400.0), (8, 500.0)] {
        let measured = ClosedLoop::reads(qd, 100_000).run(&curve(&points, 0.0), 1);
        assert!((measured.iops / iops - 1.0).abs() < 0.01, "depth {qd}: {}", measured.iops);
    }
}
