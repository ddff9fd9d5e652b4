//! The generator against devices whose behaviour is known exactly.

use std::sync::atomic::AtomicBool;

use crate::support::{GIB, closed, ios, mix, open, reads_4k, run, seconds, task};
use storscope_device::{
    Clock, Completion, Device, DeviceError, FlushRequest, NullDevice, QueueingDevice, Request, Stall, StallingDevice,
    SystemClock, VirtualClock,
};
use storscope_load::{Generator, LoadError};
use storscope_types::{Load, Nanos, Process, RateStep, ThinkTime};

const MICROSECOND: u64 = 1_000;

/// A stall of 2 s at 1,000/s on a device that takes one I/O at a time.
#[test]
fn a_stall_is_seen_by_every_request_that_should_have_started_in_it() {
    let clock = VirtualClock::default();
    let stall = Stall { start: Nanos(3_000_000_000), duration: Nanos(2_000_000_000) };
    let device = StallingDevice::new(clock.clone(), Nanos(100 * MICROSECOND), vec![stall], 1);
    let workload = mix(vec![reads_4k()], open(1_000.0, Process::Fixed, 1));
    let outcome = run(device, clock, &task(&workload, &[GIB], seconds(10.0)));

    let all = outcome.total.all();
    assert_eq!(all.ios, 10_000);
    // 2,000 should have started in the stall; the backlog then melts at 10,000/s with 1,000/s coming in.
    let late = all.response.count_above(5_000_000);
    assert!((2_150..=2_230).contains(&late), "{late} late requests");
    // Evenly spread from 0 to 2 s: each tenth has about 200, and as many more as arrived while the backlog melted.
    for tenth in 0..10_u64 {
        let (low, high) = (tenth * 200_000_000, (tenth + 1) * 200_000_000);
        let found = all.response.count_above(low.max(5_000_000)) - all.response.count_above(high);
        assert!((205..=235).contains(&found), "{found} between {low} and {high} ns");
    }
    let longest = all.response.max().unwrap();
    assert!((1_999_000_000..=2_000_200_000).contains(&longest), "the longest response is the stall: {longest}");
    // The device kept one request waiting; the others waited for the generator's only place.
    assert_eq!(all.service.count_above(5_000_000), 1);
    assert!(all.lateness.count_above(5_000_000) >= late - 1);
}

#[test]
fn with_room_for_all_a_stall_shows_in_service_too_and_nothing_is_late() {
    let clock = VirtualClock::default();
    let stall = Stall { start: Nanos(3_000_000_000), duration: Nanos(2_000_000_000) };
    let device = StallingDevice::new(clock.clone(), Nanos(100 * MICROSECOND), vec![stall], 4096);
    let workload = mix(vec![reads_4k()], open(1_000.0, Process::Fixed, 4096));
    let all = run(device, clock, &task(&workload, &[GIB], seconds(10.0))).total.all();
    let late = all.response.count_above(1_000_000);
    assert!((1_998..=2_001).contains(&late), "{late} late requests");
    assert_eq!(all.service.count_above(1_000_000), late);
    assert_eq!(all.lateness.max(), Some(0));
}

#[test]
fn a_stall_in_a_closed_loop_holds_up_only_what_is_outstanding() {
    let clock = VirtualClock::default();
    let stall = Stall { start: Nanos(3_000_000_000), duration: Nanos(2_000_000_000) };
    let device = StallingDevice::new(clock.clone(), Nanos(100 * MICROSECOND), vec![stall], 8);
    let workload = mix(vec![reads_4k()], closed(8));
    let outcome = run(device, clock, &task(&workload, &[GIB], seconds(10.0)));
    assert_eq!(outcome.total.all().response.count_above(1_000_000), 8);
    assert_eq!(outcome.intervals[4].ios(), 0, "an interval within the stall is empty, not missing");
    assert_eq!(outcome.intervals.len(), 10);
}

/// Mean response of M/M/c by Erlang C (Gross and Harris, "Fundamentals of Queueing Theory", 2.3).
fn erlang_c_response(rate_per_s: f64, servers: u32, service_s: f64) -> f64 {
    let load = rate_per_s * service_s;
    let mut term = 1.0;
    let mut sum = 0.0;
    for n in 0..servers {
        sum += term;
        term *= load / f64::from(n + 1);
    }
    let busy = load / f64::from(servers);
    let waits = term / (1.0 - busy) / (sum + term / (1.0 - busy));
    service_s + waits * service_s / (f64::from(servers) * (1.0 - busy))
}

#[test]
fn the_mean_response_of_mmc_is_erlangs() {
    for (servers, busy, seed) in [(1, 0.3, 1), (1, 0.7, 2), (4, 0.8, 3), (16, 0.9, 4)] {
        let service_s = 1e-3;
        let rate = busy * f64::from(servers) / service_s;
        let clock = VirtualClock::default();
        let device = QueueingDevice::new(clock.clone(), servers as usize, Nanos(1_000_000), 4096, seed);
        let workload = mix(vec![reads_4k()], open(rate, Process::Poisson, 4096));
        let spans = [GIB];
        let mut task = task(&workload, &spans, seconds(1e6 / rate));
        task.interval = Nanos::from_secs_f64(1e5 / rate);
        let outcome = run(device, clock, &task);
        let mean_s = outcome.total.all().response.mean().unwrap() / 1e9;
        let expected = erlang_c_response(rate, servers, service_s);
        let error = mean_s / expected - 1.0;
        assert!(error.abs() < 0.02, "M/M/{servers} at {busy}: {mean_s} s instead of {expected} s ({error:+.4})");
    }
}

#[test]
fn mm1_percentiles_are_exponential() {
    let clock = VirtualClock::default();
    let device = QueueingDevice::new(clock.clone(), 1, Nanos(1_000_000), 4096, 5);
    let workload = mix(vec![reads_4k()], open(500.0, Process::Poisson, 4096));
    let all = run(device, clock, &task(&workload, &[GIB], seconds(4_000.0))).total.all();
    for share in [0.5, 0.9, 0.99] {
        let expected_ns = -f64::ln(1.0 - share) * 1e9 / (1_000.0 - 500.0);
        let found_ns = all.response.quantile(share).unwrap() as f64;
        assert!((found_ns / expected_ns - 1.0).abs() < 0.03, "p{share}: {found_ns} instead of {expected_ns}");
    }
}

#[test]
fn a_closed_loop_on_mm1_has_the_servers_throughput_and_littles_response() {
    let clock = VirtualClock::default();
    let device = QueueingDevice::new(clock.clone(), 1, Nanos(1_000_000), 16, 6);
    let workload = mix(vec![reads_4k()], closed(16));
    let total = run(device, clock, &task(&workload, &[GIB], seconds(1_000.0))).total;
    let per_s = total.ios() as f64 / 1_000.0;
    assert!((per_s / 1_000.0 - 1.0).abs() < 0.01, "{per_s}/s");
    let response_s = total.all().response.mean().unwrap() / 1e9;
    assert!((response_s * per_s / 16.0 - 1.0).abs() < 0.001);
    assert!((total.outstanding_mean - 16.0).abs() < 1e-6);
}

#[test]
fn think_time_follows_the_interactive_response_law() {
    let clock = VirtualClock::default();
    let device = QueueingDevice::new(clock.clone(), 1, Nanos(1_000_000), 10, 7);
    let mut workload = mix(vec![reads_4k()], closed(10));
    let think_time = ThinkTime { mean: Nanos(20_000_000), process: Process::Poisson };
    workload.streams[0].think_time = Some(think_time);
    let total = run(device, clock, &task(&workload, &[GIB], seconds(2_000.0))).total;
    let per_s = total.ios() as f64 / 2_000.0;
    let response_s = total.all().response.mean().unwrap() / 1e9;
    // R = N / X - Z
    let error = response_s / (10.0 / per_s - 0.020) - 1.0;
    assert!(error.abs() < 0.05, "{response_s} s at {per_s}/s ({error:+.4})");
    // Mean value analysis of 10 users, 1 ms, 20 ms gives 442.6/s.
    assert!((per_s / mva_throughput(10, 0.001, 0.020) - 1.0).abs() < 0.01, "{per_s}/s");
}

/// Exact mean value analysis of one queueing station with think time (Reiser and Lavenberg 1980).
fn mva_throughput(users: u32, service_s: f64, think_s: f64) -> f64 {
    let mut queue = 0.0;
    let mut per_s = 0.0;
    for user in 1..=users {
        let response_s = service_s * (1.0 + queue);
        per_s = f64::from(user) / (response_s + think_s);
        queue = per_s * response_s;
    }
    per_s
}

#[test]
fn steps_change_the_rate_and_end_the_run() {
    let clock = VirtualClock::default();
    let device = NullDevice::new(clock.clone(), 64);
    let step = |rate_per_s, s: u64| RateStep { rate_per_s, duration: Nanos(s * 1_000_000_000) };
    let steps = vec![step(1_000.0, 2), step(5_000.0, 1), step(10.0, 2)];
    let workload = mix(vec![reads_4k()], Load::Steps { steps, process: Process::Fixed, max_outstanding: 64 });
    let outcome = run(device, clock, &task(&workload, &[GIB], seconds(5.0)));
    let per_interval: Vec<u64> = outcome.intervals.iter().map(|interval| interval.ios()).collect();
    assert_eq!(per_interval, [1_000, 1_000, 5_000, 10, 10]);
    assert_eq!(outcome.ending.unsent, 0);
}

#[test]
fn what_is_never_sent_is_counted() {
    let clock = VirtualClock::default();
    let device = QueueingDevice::new(clock.clone(), 1, Nanos(1_000_000), 4, 8);
    let workload = mix(vec![reads_4k()], open(2_000.0, Process::Fixed, 4));
    let outcome = run(device, clock, &task(&workload, &[GIB], seconds(10.0)));
    let sent = outcome.ending.submitted;
    assert_eq!(sent + outcome.ending.unsent, 20_000);
    assert!((9_500..10_500).contains(&sent), "{sent} of 20,000 were served by a device for 1,000/s");
    let oldest_s = outcome.ending.oldest_unsent.unwrap().as_secs_f64();
    assert!((4.7..5.3).contains(&oldest_s), "the first of them waited {oldest_s} s");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let once = |seed: u64| {
        let clock = VirtualClock::default();
        let device = QueueingDevice::new(clock.clone(), 2, Nanos(1_000_000), 64, 9);
        let workload = mix(vec![reads_4k()], open(1_500.0, Process::Poisson, 64));
        let spans = [GIB];
        let mut task = task(&workload, &spans, seconds(20.0));
        task.seed = seed;
        serde_json::to_string(&run(device, clock, &task).total.all()).unwrap()
    };
    assert_eq!(once(1), once(1));
    assert_ne!(once(1), once(2));
}

#[test]
fn on_the_system_clock_rates_hold_from_hundred_to_half_a_million() {
    for rate in [100.0, 1_000.0, 9_000.0, 60_000.0, 500_000.0] {
        for process in [Process::Fixed, Process::Poisson] {
            let clock = SystemClock::start();
            let device = NullDevice::new(clock, 1024);
            let workload = mix(vec![reads_4k()], open(rate, process, 1024));
            let spans = [GIB];
            let mut task = task(&workload, &spans, seconds(0.4));
            task.start = clock.now() + Nanos::from_millis(1);
            let outcome = run(device, clock, &task);
            let offered = outcome.ending.submitted + outcome.ending.unsent;
            let sampling = if process == Process::Poisson { 4.0 / f64::sqrt(rate * 0.4) } else { 0.0 };
            let error = offered as f64 / (rate * 0.4) - 1.0;
            assert!(error.abs() <= 0.005 + sampling, "{process:?} {rate}/s offered {offered} ({error:+.4})");
            let sent = outcome.ending.submitted as f64 / offered as f64;
            // A busy machine may hold the generator up for a while, but not for half of the run.
            assert!(sent > 0.5, "only {sent} of what was due left within the run, at {rate}/s");
        }
    }
}

#[test]
fn a_limit_of_ios_ends_with_all_of_them_counted() {
    let clock = VirtualClock::default();
    let device = QueueingDevice::new(clock.clone(), 4, Nanos(1_000_000), 32, 10);
    let workload = mix(vec![reads_4k()], closed(32));
    let outcome = run(device, clock, &task(&workload, &[GIB], ios(1_000)));
    assert_eq!((outcome.total.ios(), outcome.ending.drained), (1_000, 0));
}

/// Fails every request but the first ones, and counts what it has not reported yet.
struct Failing {
    device: QueueingDevice,
    well: usize,
    in_flight: usize,
}

impl Failing {
    /// With one server of 1 ms.
    fn after(well: usize, clock: &VirtualClock) -> Self {
        Self { device: QueueingDevice::new(clock.clone(), 1, Nanos(1_000_000), 16, 6), well, in_flight: 0 }
    }
}

impl Device for Failing {
    fn depth(&self) -> usize {
        self.device.depth()
    }

    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        self.device.submit(request);
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.in_flight += 1;
        self.device.flush(flush);
    }

    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        let before = done.len();
        let now = self.device.wait(until, done);
        let found = done.len() - before;
        done[before..].iter_mut().skip(self.well).for_each(|completion| completion.result = -5);
        self.well = self.well.saturating_sub(found);
        self.in_flight -= found;
        now
    }
}

#[test]
fn after_an_error_the_device_has_nothing_left_to_report() {
    let clock = VirtualClock::default();
    let device = Failing::after(0, &clock);
    let workload = mix(vec![reads_4k()], closed(8));
    let mut generator = Generator::new(device, clock, &task(&workload, &[GIB], seconds(1.0)));
    let outcome = generator.run(&AtomicBool::new(false), &mut |_| {});
    assert!(matches!(outcome, Err(LoadError::Failed { failed: 1, .. })), "{outcome:?}");
    assert_eq!(generator.into_device().in_flight, 0);
}

#[test]
fn after_an_error_of_the_drain_the_device_has_nothing_left_to_report() {
    let clock = VirtualClock::default();
    let device = Failing::after(0, &clock);
    let workload = mix(vec![reads_4k()], closed(8));
    // Over before the first I/O is done.
    let mut generator = Generator::new(device, clock, &task(&workload, &[GIB], seconds(0.000_001)));
    let outcome = generator.run(&AtomicBool::new(false), &mut |_| {});
    assert!(matches!(outcome, Err(LoadError::Failed { failed: 1, .. })), "{outcome:?}");
    assert_eq!(generator.into_device().in_flight, 0);
}

#[test]
fn an_interval_that_an_error_ends_lasts_to_the_error() {
    let clock = VirtualClock::default();
    let workload = mix(vec![reads_4k()], closed(8));
    let mut intervals = Vec::new();
    let mut generator =
        Generator::new(Failing::after(20, &clock), clock.clone(), &task(&workload, &[GIB], seconds(1.0)));
    let outcome = generator.run(&AtomicBool::new(false), &mut |interval| intervals.push((clock.now(), interval)));
    assert!(matches!(outcome, Err(LoadError::Failed { failed: 1, .. })), "{outcome:?}");
    let [(at, interval)] = &intervals[..] else { panic!("{} intervals", intervals.len()) };
    assert_eq!(interval.duration, *at);
    assert!((interval.outstanding_mean - 8.0).abs() < 1e-9, "{} in flight", interval.outstanding_mean);
}
