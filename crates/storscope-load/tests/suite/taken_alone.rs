//! In virtual time a completion that asks for nothing but the next request is taken in one step, without waking anybody.
//! The results are those of a run in which each takes the whole way, as on devices that keep data.

use std::sync::atomic::AtomicBool;

use crate::support::{closed, mix, open};
use proptest::prelude::*;
use storscope_device::{Completion, Device, DeviceError, FlushRequest, QueueingDevice, Request, VirtualClock};
use storscope_load::{Engine, Lifetime, Plan, TargetSpec, VirtualRun, slots_of};
use storscope_types::{AccessSpec, Bytes, Flush, FlushKind, Load, Nanos, Process, Stream, ThinkTime, Workload};

/// A device that says it keeps data, so that nothing is taken alone.
struct Keeping<D>(D);

impl<D: Device> Device for Keeping<D> {
    const EXPECTS: bool = D::EXPECTS;

    fn depth(&self) -> usize {
        self.0.depth()
    }

    fn submit(&mut self, request: Request) {
        self.0.submit(request);
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.0.flush(flush);
    }

    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        self.0.wait(until, done)
    }
}

/// All that a run says, but for what it cost.
fn said<D: Device>(plan: &Plan, lifetimes: &[Lifetime], ios: u64, device: D, clock: VirtualClock) -> Vec<String> {
    let mut said = Vec::new();
    let mut say = |value: serde_json::Result<serde_json::Value>| {
        let mut value = value.expect("plain values");
        if let Some(fields) = value.as_object_mut() {
            fields.remove("usage");
        }
        said.push(value.to_string());
    };
    let run = VirtualRun::new(plan.clone(), lifetimes, device, clock).expect("a sound plan").ending_after(ios);
    let (finished, _) = run.run(0, &AtomicBool::new(false), &mut |interval| say(serde_json::to_value(&interval)));
    let result = finished.result;
    say(serde_json::to_value(&result.total));
    say(serde_json::to_value(&result.drain));
    say(serde_json::to_value(result.ending));
    say(Ok(format!("{:?} {:?}", result.doubts, finished.error.map(|error| error.to_string())).into()));
    said
}

fn lines() -> impl Strategy<Value = Vec<AccessSpec>> {
    let line =
        (1..9_u64, 0.0..=1.0, 0.0..=1.0, 1..5_u32, prop_oneof![4 => Just(0), 1 => 1..3_000_000_u64], any::<bool>())
            .prop_map(|(blocks, read_share, random_share, burst, delay, replies)| AccessSpec {
                read_share,
                random_share,
                burst,
                delay: Nanos(delay),
                reply: Bytes(if replies { 512 } else { 0 }),
                ..AccessSpec::random_read(Bytes(blocks * 4_096))
            });
    let plain = (0.0..=1.0).prop_map(|read_share| vec![AccessSpec { read_share, ..crate::support::reads_4k() }]);
    prop_oneof![2 => plain, 1 => prop::collection::vec(line, 1..3)]
}

fn loads() -> impl Strategy<Value = Load> {
    let process = prop_oneof![Just(Process::Fixed), Just(Process::Poisson)];
    prop_oneof![
        (1..20_u32).prop_map(closed),
        (100.0..3_000.0, process, 1..40_u32).prop_map(|(rate, process, most)| open(rate, process, most)),
    ]
}

fn streams() -> impl Strategy<Value = (Stream, Lifetime)> {
    let think = prop_oneof![3 => Just(None), 1 => (1..5_000_000_u64).prop_map(|mean| {
        Some(ThinkTime { mean: Nanos(mean), process: Process::Poisson })
    })];
    let lifetime = prop_oneof![
        2 => Just(Lifetime::WHOLE),
        1 => (0..900_u64, 1..900_u64).prop_map(|(start, length)| Lifetime {
            start: Nanos::from_millis(start),
            end: Nanos::from_millis(start + length),
        }),
    ];
    let flush = prop_oneof![3 => Just(None), 1 => (1..5_u32).prop_map(|every| {
        Some(Flush { every, kind: FlushKind::Data })
    })];
    let all = (lines(), loads(), 1..4_u32, think, flush, lifetime);
    all.prop_map(|(lines, load, workers, think_time, flush, lifetime)| {
        let is_closed = matches!(load, Load::Closed { .. });
        let mut stream = mix(lines, load).streams.remove(0);
        stream.workers = workers;
        stream.think_time = think_time.filter(|_| is_closed);
        stream.flush = flush.filter(|_| stream.access.writes());
        (stream, lifetime)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn what_is_taken_alone_changes_nothing(
        streams in prop::collection::vec(streams(), 1..3),
        targets in prop_oneof![3 => Just(1_usize), 1 => Just(2)],
        servers in 1..9_usize,
        ios_per_worker in prop_oneof![2 => Just(None), 1 => (1..500_u64).prop_map(Some)],
        ios in prop_oneof![2 => Just(u64::MAX), 1 => 1..2_000_u64],
    ) {
        let (streams, lifetimes): (Vec<Stream>, Vec<Lifetime>) = streams.into_iter().unzip();
        let mut workload = Workload::of("test", streams[0].clone());
        workload.streams = streams;
        if workload.check(targets).is_err() {
            return Ok(());
        }
        let plan = Plan {
            workload,
            targets: vec![TargetSpec::Null { size_bytes: Bytes(1 << 30) }; targets],
            engine: Engine::Auto,
            seed: 3,
            duration: Some(Nanos::SECOND),
            max_ios_per_worker: ios_per_worker,
            max_bytes_per_worker: None,
            interval: Nanos::from_millis(300),
            max_failures: 0,
            held: false,
        };
        let device = |clock: &VirtualClock| {
            QueueingDevice::new(clock.clone(), servers, Nanos(1_000_000), slots_of(&plan), 7)
        };
        let (one, other) = (VirtualClock::default(), VirtualClock::default());
        let quick = said(&plan, &lifetimes, ios, device(&one), one.clone());
        let whole = said(&plan, &lifetimes, ios, Keeping(device(&other)), other.clone());
        prop_assert_eq!(quick, whole);
    }
}
