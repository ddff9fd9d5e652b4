//! Traces on an array.

use crate::support::*;
use serde_json::json;
use storscope_device::Direction;
use storscope_sim::{Array, Pace, Replayed, Settings, TraceRecord, TraceStream, complete_design, replay};
use storscope_types::Nanos;

fn record(at_ms: u64, offset: u64) -> TraceRecord {
    TraceRecord {
        at: Nanos(at_ms * MS),
        think: Nanos(3 * MS),
        target: 0,
        direction: Direction::Read,
        offset,
        length: 4_096,
    }
}

fn open(records: impl IntoIterator<Item = TraceRecord>) -> [TraceStream; 1] {
    [TraceStream { pace: Pace::Open, records: records.into_iter().collect() }]
}

#[test]
fn requests_come_at_their_times_whatever_the_array_does() {
    let mut array = array(&design(constant(100.0), json!({"count": 1, "layout": "raid0"}), GIB), 1);
    // The times of a trace begin where they want; the third comes before the second is done.
    let records =
        [record(1_000, 0), record(1_020, MIB), record(1_025, 2 * MIB), record(1_024, 3 * MIB), record(1_500, 2 * GIB)];
    let mut answers: Vec<Replayed> = Vec::new();
    let totals = replay(&mut array, &open(records), &mut |answer: Replayed| answers.push(answer)).expect("works");
    answers.sort_by_key(|answer| answer.index);
    let latencies: Vec<u64> = answers.iter().map(|answer| answer.latency().0 / MS).collect();
    assert_eq!(latencies, [10, 10, 15, 25, 0]);
    assert_eq!(answers[4].result, -22);
    assert_eq!((totals.submitted, totals.failed, totals.late, totals.out_of_order), (5, 1, 0, 1));
    assert_eq!(array.report().expect("laws hold").targets[0].completed, [4, 0]);
}

#[test]
fn what_finds_no_place_in_flight_is_late_and_its_waiting_counts() {
    let design = design(constant(100.0), json!({"count": 1, "layout": "raid0"}), GIB);
    let design = complete_design(serde_json::from_value(design).expect("a design")).expect("a sound design");
    let settings = Settings { depth: 1, ..Settings::default() };
    let mut array = Array::new(&design, Default::default(), &settings).expect("a design");
    let mut latencies = Vec::new();
    let trace = open((0..4).map(|at| record(at, at * MIB)));
    let totals = replay(&mut array, &trace, &mut |answer: Replayed| latencies.push(answer.latency().0 / MS));
    assert_eq!(latencies, [10, 19, 28, 37]);
    assert_eq!(totals.expect("works").late, 3);
}

#[test]
fn a_closed_loop_waits_for_the_answer_and_thinks() {
    let mut array = array(&design(constant(100.0), json!({"count": 1, "layout": "raid0"}), GIB), 1);
    // 10 ms each, 3 ms of thought; the times in the trace are not looked at.
    let records: Vec<TraceRecord> = (0..3).map(|index| record(77 * index, index * MIB)).collect();
    let trace = [TraceStream { pace: Pace::Closed { outstanding: 1 }, records }];
    let mut sent = Vec::new();
    let totals = replay(&mut array, &trace, &mut |answer: Replayed| {
        sent.push((answer.index, answer.submitted.0 / MS, answer.completed.0 / MS));
    });
    assert_eq!(sent, [(0, 0, 10), (1, 13, 23), (2, 26, 36)]);
    assert_eq!(totals.expect("works").late, 0);
}

#[test]
fn a_closed_loop_keeps_its_number_in_flight() {
    let mut array = array(&design(constant(100.0), json!({"count": 1, "layout": "raid0"}), GIB), 1);
    let records: Vec<TraceRecord> =
        (0..4).map(|index| TraceRecord { think: Nanos::ZERO, ..record(0, index * MIB) }).collect();
    let trace = [TraceStream { pace: Pace::Closed { outstanding: 2 }, records }];
    let mut latencies = Vec::new();
    replay(&mut array, &trace, &mut |answer: Replayed| latencies.push(answer.latency().0 / MS)).expect("works");
    assert_eq!(latencies, [10, 20, 20, 20]);
}
