//! The devices by themselves, before anything is measured with them.

use storscope_device::{
    Clock, Completion, Device, Direction, FlushRequest, NullDevice, QueueingDevice, Request, Stall, StallingDevice,
    VirtualClock,
};
use storscope_types::{FlushKind, Nanos};

fn read(token: u32) -> Request {
    Request { token, target: 0, direction: Direction::Read, offset: 0, length: 4096, buffer: 0 }
}

fn wait(device: &mut impl Device, until: Nanos) -> (Nanos, Vec<Completion>) {
    let mut done = Vec::new();
    let now = device.wait(until, &mut done).unwrap();
    (now, done)
}

#[test]
fn the_null_device_completes_at_once_and_otherwise_sleeps() {
    let clock = VirtualClock::default();
    let mut device = NullDevice::new(clock.clone(), 4);
    assert_eq!(wait(&mut device, Nanos(500)), (Nanos(500), vec![]));
    device.submit(read(3));
    let done = Completion { token: 3, result: 4096, at: Nanos(500) };
    assert_eq!(wait(&mut device, Nanos(900)), (Nanos(500), vec![done]));
}

#[test]
fn a_stall_delays_what_is_in_service_and_what_comes() {
    let clock = VirtualClock::default();
    let stall = Stall { start: Nanos(1_000), duration: Nanos(5_000) };
    let mut device = StallingDevice::new(clock.clone(), Nanos(100), vec![stall], 8);
    device.submit(read(0));
    assert_eq!(wait(&mut device, Nanos::NEVER).0, Nanos(100));
    clock.sleep_until(Nanos(950));
    device.submit(read(1));
    clock.sleep_until(Nanos(2_000));
    device.submit(read(2));
    // 50 ns before the stall and 50 after it; the other wholly after it.
    assert_eq!(wait(&mut device, Nanos::NEVER).0, Nanos(6_050));
    assert_eq!(wait(&mut device, Nanos::NEVER).0, Nanos(6_100));
}

#[test]
fn waiting_ends_at_the_given_instant() {
    let clock = VirtualClock::default();
    let mut device = QueueingDevice::new(clock, 1, Nanos::SECOND, 4, 1);
    device.submit(read(0));
    assert_eq!(wait(&mut device, Nanos(10)), (Nanos(10), vec![]));
    let (now, done) = wait(&mut device, Nanos::NEVER);
    assert_eq!(done, [Completion { token: 0, result: 4096, at: now }]);
}

#[test]
fn one_server_serves_in_order_and_one_at_a_time() {
    let clock = VirtualClock::default();
    let mut device = QueueingDevice::new(clock, 1, Nanos(1_000), 64, 7);
    (0..64).for_each(|token| device.submit(read(token)));
    let mut done = Vec::new();
    while done.len() < 64 {
        device.wait(Nanos::NEVER, &mut done).unwrap();
    }
    assert!(done.iter().map(|completion| completion.token).eq(0..64));
    assert!(done.is_sorted_by_key(|completion| completion.at));
    let mean_ns = done[63].at.0 as f64 / 64.0;
    assert!((500.0..1_700.0).contains(&mean_ns), "64 exponential services with mean 1000 took {mean_ns} each");
}

#[test]
fn several_servers_work_side_by_side() {
    let clock = VirtualClock::default();
    let mut device = QueueingDevice::new(clock, 64, Nanos(1_000), 64, 7);
    (0..64).for_each(|token| device.submit(read(token)));
    let mut done = Vec::new();
    while done.len() < 64 {
        device.wait(Nanos::NEVER, &mut done).unwrap();
    }
    // The greatest of 64 exponential values has the mean H(64) = 4.74.
    assert!(done[63].at < Nanos(12_000), "took {:?}", done[63].at);
}

#[test]
fn a_flush_transfers_nothing_and_overtakes_what_takes_longer() {
    let flush = |token| FlushRequest { token, target: 0, kind: FlushKind::Data };
    let clock = VirtualClock::default();
    let mut device = StallingDevice::new(clock.clone(), Nanos(100), vec![], 4).with_flush_service(Nanos(30));
    device.submit(read(0));
    device.flush(flush(1));
    let done = |token, result, at| (Nanos(at), vec![Completion { token, result, at: Nanos(at) }]);
    assert_eq!(wait(&mut device, Nanos::NEVER), done(1, 0, 30));
    assert_eq!(wait(&mut device, Nanos::NEVER), done(0, 4096, 100));
    let mut device = NullDevice::new(clock, 4);
    device.flush(flush(2));
    assert_eq!(wait(&mut device, Nanos::NEVER), done(2, 0, 100));
}
