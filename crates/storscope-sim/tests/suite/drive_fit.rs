//! Fitting a drive to a trace: a known drive is found again, and what cannot be fitted says why.

use storscope_device::Direction;
use storscope_sim::drive::catalogue::find;
use storscope_sim::drive::fit::{
    FitError, Frame, HeldBack, TraceOp, fit_and_predict, from_trace, from_trace_while, judge, replay,
};
use storscope_types::design::drive::{DriveDesign, MechanicalDesign, QueueingDesign};

const SIZE: u64 = 9_100_000_000;

/// What a drive of 1997 does under a mix of far and sequential requests, from a simple congruential generator.
fn trace_of(design: &DriveDesign, requests: usize, write_every: u64, seed: u64) -> Vec<TraceOp> {
    let mut state = seed;
    let mut draw = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut offset = 0;
    let mut ops = Vec::new();
    for _ in 0..requests {
        if draw(3) > 0 {
            offset = draw(SIZE / 4096 - 1_000) * 4096;
        }
        let write = write_every > 0 && draw(write_every) == 0;
        let direction = if write { Direction::Write } else { Direction::Read };
        let think_us = 10_000.0 + draw(30_000) as f64;
        ops.push(TraceOp { direction, offset, length: 4096, service_us: 0.0, think_us });
        offset += 4096;
    }
    let times = replay(&ops, design, 0);
    ops.iter().zip(times).map(|(op, service_us)| TraceOp { service_us, ..*op }).collect()
}

fn old_drive() -> DriveDesign {
    let DriveDesign::Mechanical(design) = find("ibm-18es-9gb").expect("the catalogue has it").design() else {
        panic!("a mechanical drive")
    };
    let none: Option<QueueingDesign> = None;
    // Its write cache is off here, so that writes show where they go.
    DriveDesign::Mechanical(MechanicalDesign { queueing: none, write_cache: None, ..design })
}

#[test]
fn a_known_drive_is_found_again_and_predicts_what_it_has_not_seen() {
    let seen = trace_of(&old_drive(), 700, 3, 1);
    let unseen = trace_of(&old_drive(), 2_000, 3, 2);
    let fit = from_trace(&seen, SIZE).expect("the trace can be fitted");
    let judgement = judge(&unseen, &fit.design);
    assert!(judgement.mean_error_ratio().abs() < 0.03, "{judgement:?}");
    assert!(judgement.demerit.ratio < 0.05, "{judgement:?}");
    assert!(fit.parameters <= 12);
    let turns = fit.numbers.iter().find(|number| number.key == "turns_per_min").expect("every drive turns");
    let error = turns.error_ratio.expect("the trace shows it");
    assert!(turns.is_known && (turns.value / 7200.0 - 1.0).abs() < 0.01_f64.max(3.0 * error), "{turns:?}");
}

#[test]
fn what_is_held_back_takes_no_part_in_the_fit() {
    let trace = trace_of(&old_drive(), 1_200, 3, 4);
    let mut spoiled = trace.clone();
    spoiled[600..].iter_mut().for_each(|op| op.service_us *= 2.0);
    let [sound, changed] =
        [&trace, &spoiled].map(|trace| fit_and_predict(trace, &Frame::of_size(SIZE), 0.5, &|| true).expect("a fit"));
    assert_eq!(sound.fit.design, changed.fit.design);
    let rest = |held: &HeldBack| held.on_rest.expect("half is held back").mean_error_ratio();
    assert!(rest(&sound).abs() < 0.03 && rest(&changed) < -0.4, "{} {}", rest(&sound), rest(&changed));
    assert!(changed.table_on_rest.expect("half is held back").ratio > 0.4);
}

#[test]
fn a_fit_that_nobody_waits_for_ends() {
    let asked = std::cell::Cell::new(0);
    let impatient = || {
        asked.set(asked.get() + 1);
        asked.get() < 50
    };
    let trace = trace_of(&old_drive(), 600, 3, 1);
    assert_eq!(from_trace_while(&trace, &Frame::of_size(SIZE), &impatient).unwrap_err(), FitError::Stopped);
    assert_eq!(asked.get(), 50);
}

#[test]
fn a_trace_that_is_too_short_or_never_seeks_is_refused() {
    let trace = trace_of(&old_drive(), 600, 3, 1);
    assert_eq!(from_trace(&trace[..100], SIZE).unwrap_err(), FitError::TooShort { found: 100 });
    let still: Vec<TraceOp> = trace.iter().map(|op| TraceOp { offset: 4096, ..*op }).collect();
    let message = from_trace(&still, SIZE).unwrap_err().to_string();
    assert!(message.contains("reads far from the request before, found"), "{message}");
}

#[test]
fn a_trace_of_reads_alone_can_be_fitted() {
    let fit = from_trace(&trace_of(&old_drive(), 500, 0, 3), SIZE).expect("the trace can be fitted");
    assert!(fit.on_itself.mean_error_ratio().abs() < 0.03, "{:?}", fit.on_itself);
}
