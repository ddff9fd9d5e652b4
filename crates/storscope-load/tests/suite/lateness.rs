//! When lateness makes figures meaningless: at once where requests arrive, in a closed loop only as far as it distorts.

use crate::support::{closed, mix, open, reads_4k};
use storscope_device::Direction;
use storscope_load::{
    Cell, Doubt, Ending, Interval, LatencyBound, Tally, Times, Usage, invalid_streams, latency_bound, lateness_doubts,
    lateness_of_streams, not_told_of_all,
};
use storscope_types::{Load, Nanos, Process, Stream, Workload};

const MS: u64 = 1_000_000;

/// Groups of I/Os: how many, their lateness and their service. It lasts as long as the first stream takes for its own one
/// after another.
fn interval(streams: &[&[(u64, u64, u64)]]) -> Interval {
    let took = streams[0].iter().map(|&(ios, late, service)| ios * (late + service)).sum();
    let cell = |(stream, groups): (usize, &&[(u64, u64, u64)])| {
        let mut cell = Cell::new(stream as u32, 0);
        for &(ios, late, service) in *groups {
            let times = Times { intended: Nanos(0), submitted: Nanos(late), completed: Nanos(late + service) };
            cell.tally(Direction::Read).record_many(times, ios, ios * 4096);
        }
        cell
    };
    Interval {
        index: 0,
        start: Nanos::ZERO,
        duration: Nanos(took),
        drain: false,
        cells: streams.iter().enumerate().map(cell).collect(),
        submitted: 0,
        in_flight_at_end: 0,
        outstanding_mean: 1.0,
        offered_per_s: None,
        failures: Vec::new(),
        usage: Usage::default(),
    }
}

fn doubts(load: Load, groups: &[(u64, u64, u64)]) -> Vec<Doubt> {
    let mut interval = interval(&[groups]);
    if let Load::Closed { outstanding } = load {
        interval.duration.0 /= u64::from(outstanding);
    }
    lateness_doubts(&interval, &mix(vec![reads_4k()], load))
}

fn arrivals() -> Load {
    open(1000.0, Process::Poisson, 64)
}

#[test]
fn what_is_in_time_is_in_no_doubt() {
    for load in [closed(1), arrivals()] {
        assert_eq!(doubts(load, &[(1000, 20_000, MS)]), []);
    }
}

/// One I/O in fifty waits for the CPU: an arrival has waited that long, but a place in a queue was empty for 2 % only.
#[test]
fn rare_delays_invalidate_an_open_loop_and_not_a_closed_one() {
    let groups = [(980, 10_000, MS), (20, MS, MS)];
    let [found] = doubts(arrivals(), &groups).try_into().unwrap();
    assert!(found.invalidates(), "{found:?}");
    let [found] = doubts(closed(1), &groups).try_into().unwrap();
    assert!(!found.invalidates(), "the rate is right within 3 %");
    assert!(matches!(found, Doubt::TailLate { .. }), "and that the tail is not the storage's is said: {found:?}");
}

/// The rate of a closed loop is N / (S + L): here 8 % below that of the storage.
#[test]
fn a_closed_loop_whose_places_stand_empty_is_invalid() {
    let [found] = doubts(closed(4), &[(1000, 80_000, 920_000)]).try_into().unwrap();
    assert!(found.invalidates());
    assert!(found.explain().contains("empty for 8 % of the time"), "{}", found.explain());
}

/// N = X (S + L + Z): with a think time of 5 ms, I/Os that leave 100 us late cost 2 % of the rate, though they were late for
/// 38 % of the response.
#[test]
fn a_closed_loop_that_thinks_is_judged_by_what_its_places_miss() {
    let mut thinking = interval(&[&[(1000, 100_000, 160_000)]]);
    thinking.duration = Nanos(1000 * (5_260_000) / 2);
    let workload = mix(vec![reads_4k()], closed(2));
    let found = lateness_doubts(&thinking, &workload);
    assert!(!found.iter().any(Doubt::invalidates), "{found:?}");
    let [Doubt::MeanLate { service_ns_p50, .. }] = found[..] else {
        panic!("nobody says whose latency it is: {found:?}")
    };
    assert!(service_ns_p50.abs_diff(160_000) < 160_000 / 100, "{found:?}");
    assert!(found[0].explain().contains("I/Os left 100000 ns late on average"), "{found:?}");
    thinking.duration = Nanos(1000 * 260_000 / 2);
    let found = lateness_doubts(&thinking, &workload);
    assert!(found[0].explain().contains("empty for 38 % of the time"), "{found:?}");
}

/// The same with a tail that is the storage's own, which hides it from the mean and from the p99, not from the median.
#[test]
fn lateness_after_pauses_is_told_where_the_tail_is_the_storage_s_own() {
    let mut thinking = interval(&[&[(950, 80_000, 120_000), (50, 80_000, 60 * MS)]]);
    thinking.duration = Nanos(1000 * 20 * MS);
    let found = lateness_doubts(&thinking, &mix(vec![reads_4k()], closed(1)));
    assert!(matches!(found[..], [Doubt::MeanLate { .. }]), "{found:?}");
    assert!(!found[0].invalidates());
}

#[test]
fn each_kind_of_loop_is_judged_by_its_own_ios() {
    let stream = |load| Stream::new(storscope_types::Access::Mix { lines: vec![reads_4k()] }, load);
    let mut workload = Workload::of("both", stream(closed(1)));
    workload.streams.push(stream(arrivals()));
    let in_time: &[(u64, u64, u64)] = &[(100_000, 0, MS)];
    let late: &[(u64, u64, u64)] = &[(100, MS, MS)];
    assert_eq!(lateness_doubts(&interval(&[in_time, in_time]), &workload), []);
    let found = lateness_doubts(&interval(&[in_time, late]), &workload);
    assert!(matches!(found[..], [Doubt::GeneratorLate { .. }]), "few arrivals are not outvoted: {found:?}");
    let found = lateness_doubts(&interval(&[late, in_time]), &workload);
    assert!(matches!(found[..], [Doubt::PlacesEmpty { .. }]), "{found:?}");
}

type Groups = &'static [(u64, u64, u64)];

/// Streams with these loads, and of each what its I/Os were; the streams that are invalid and the doubts of them alone.
fn judged(streams: &[(Load, Groups)]) -> (Vec<u32>, Vec<u32>) {
    let stream = |load: &Load| Stream::new(storscope_types::Access::Mix { lines: vec![reads_4k()] }, load.clone());
    let mut workload = Workload::of("several", stream(&streams[0].0));
    workload.streams = streams.iter().map(|(load, _)| stream(load)).collect();
    let interval = interval(&streams.iter().map(|(_, groups)| *groups).collect::<Vec<_>>());
    let (found, late) = (lateness_doubts(&interval, &workload), lateness_of_streams(&interval, &workload));
    let invalid = invalid_streams(&found, &late, &workload);
    (invalid, not_told_of_all(late, &found).iter().map(|one| one.stream).collect())
}

const IN_TIME: Groups = &[(10_000, 0, MS)];
const LATE: Groups = &[(5_000, MS, MS)];

#[test]
fn a_stream_is_invalid_by_its_own_lateness_and_not_by_that_of_others() {
    let twice = |first: &Load, second: &Load| judged(&[(first.clone(), IN_TIME), (second.clone(), LATE)]).0;
    assert_eq!(twice(&closed(1), &arrivals()), [1], "a closed loop beside late arrivals");
    assert_eq!(twice(&arrivals(), &closed(1)), [1], "arrivals beside a closed loop with empty places");
    assert_eq!(twice(&arrivals(), &arrivals()), [1], "arrivals beside arrivals");
    assert_eq!(twice(&closed(1), &closed(1)), [1], "a closed loop beside another");
    assert_eq!(judged(&[(closed(1), IN_TIME), (arrivals(), IN_TIME)]).0, [0_u32; 0]);
}

/// One I/O in two hundred of all arrivals is late: p99 of all is right, and that of the few is not.
#[test]
fn a_stream_that_others_outvote_has_a_doubt_of_its_own() {
    let few: Groups = &[(50, MS, MS)];
    assert_eq!(judged(&[(arrivals(), IN_TIME), (arrivals(), few)]), (vec![1], vec![1]));
    assert_eq!(judged(&[(arrivals(), IN_TIME), (arrivals(), LATE)]).1, [0_u32; 0], "it is told of all");
}

/// Arrivals that were never sent are counted of all workers together.
#[test]
fn what_is_counted_in_sum_is_of_all_open_loops() {
    let stream = |load| Stream::new(storscope_types::Access::Mix { lines: vec![reads_4k()] }, load);
    let mut workload = Workload::of("three", stream(arrivals()));
    workload.streams.extend([stream(closed(1)), stream(arrivals())]);
    let overloaded = Doubt::Overloaded { unsent: 9, oldest_unsent_ns: 9 };
    assert_eq!(invalid_streams(&[overloaded], &[], &workload), [0, 2]);
    let late = Doubt::GeneratorLate { lateness_ns_p99: 9, response_ns_p99: 10, queue_was_full: false };
    assert_eq!(invalid_streams(&[late], &[], &workload), [0, 2], "late together, and none of them alone");
    assert_eq!(invalid_streams(&[Doubt::Empty], &[], &workload), [0, 1, 2]);
    assert_eq!(invalid_streams(&[Doubt::Failures { failed: 1 }], &[], &workload), [0_u32; 0]);
}

/// Which side of the truth latencies are on is sure only if all that makes them invalid puts them there.
#[test]
fn an_invalid_latency_is_a_bound_where_its_doubts_agree() {
    let late = |queue_was_full| Doubt::GeneratorLate { lateness_ns_p99: 9, response_ns_p99: 10, queue_was_full };
    let overloaded = Doubt::Overloaded { unsent: 9, oldest_unsent_ns: 9 };
    let harmless = Doubt::Failures { failed: 1 };
    let empty = Doubt::PlacesEmpty { lateness_ns_mean: 1.0, response_ns_mean: 2.0, empty_share: 0.5 };
    assert_eq!(latency_bound(&[]), None);
    assert_eq!(latency_bound(std::slice::from_ref(&harmless)), None);
    assert_eq!(latency_bound(&[harmless, late(false)]), Some(LatencyBound::Upper));
    assert_eq!(latency_bound(&[late(true)]), Some(LatencyBound::Limited));
    assert_eq!(latency_bound(&[late(true), overloaded.clone()]), Some(LatencyBound::Lower));
    assert_eq!(latency_bound(&[late(false), overloaded]), None);
    assert_eq!(latency_bound(&[late(false), empty]), None);
}

/// The last of three rates is more than the storage does: its arrivals wait for a place in the queue, whose mean over the
/// run is a third of it.
#[test]
fn a_queue_that_was_full_for_a_part_of_the_run_is_what_its_arrivals_waited_for() {
    let workload = mix(vec![reads_4k()], arrivals());
    let whole = interval(&[&[(1000, MS, MS)]]);
    let found = |fullest| match storscope_load::doubts(&whole, &whole, &Ending::default(), &workload, fullest)[..] {
        [Doubt::GeneratorLate { queue_was_full, .. }, ..] => queue_was_full,
        ref other => panic!("{other:?}"),
    };
    assert!(found(63.0), "of 64 places");
    assert!(!found(21.0));
}

#[test]
fn nothing_measured_is_said() {
    assert_eq!(doubts(closed(1), &[]), [Doubt::Empty]);
}

/// Nine tenths of the time a flush holds the place: nobody pauses, and what is late is little beside the whole.
#[test]
fn a_flush_holds_the_place_of_its_write() {
    let mut interval = interval(&[&[(1000, 20_000, 100_000)]]);
    assert!(matches!(lateness_doubts(&interval, &mix(vec![reads_4k()], closed(1)))[..], [Doubt::PlacesEmpty { .. }]));
    let mut flushes = Tally::default();
    flushes.record_many(Times { intended: Nanos(0), submitted: Nanos(20_000), completed: Nanos(MS) }, 1000, 0);
    interval.cells[0].flushes = Some(flushes);
    interval.duration = Nanos(1_120_000_000);
    let doubts = lateness_doubts(&interval, &mix(vec![reads_4k()], closed(1)));
    assert!(matches!(doubts[..], [Doubt::TailLate { .. }]), "{doubts:?}");
}
