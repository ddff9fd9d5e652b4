//! Traces on a simulated array, in virtual time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use storscope_device::{Direction, VirtualClock};
use storscope_load as load;
use storscope_sim as sim;
use storscope_types::Nanos;
use storscope_types::design::ArrayDesign;

use crate::load::finished_form;
use crate::simulate::{Ended, SimulationRun, check_length, parsed};

/// at, think, offset as u64, then length, target, stream and whether it writes as u32; little-endian.
const RECORD_BYTES: usize = 40;

/// What a replay depends on beside the design and the trace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    seed: u64,
    started_unix_ns: u64,
    /// Nothing is sent from then on; null: to the last record.
    duration_ns: Option<u64>,
    interval_ns: u64,
    slice_ns: u64,
    slices: usize,
    /// Most requests in flight.
    depth: usize,
    /// For each stream how many a closed loop keeps in flight; null: an open loop.
    outstanding: Vec<Option<u32>>,
}

/// Starts a replay; see the stub.
#[pyfunction]
pub fn replay_run(design: &str, records: &[u8], options: &str) -> PyResult<SimulationRun> {
    let design: ArrayDesign = parsed(design, "design")?;
    let options: Options = parsed(options, "plan")?;
    let streams = streams_of(records, &options)?;
    if options.interval_ns == 0 || options.depth == 0 {
        return Err(PyValueError::new_err("interval_ns and depth: expected one or more"));
    }
    Ok(SimulationRun::spawn(options.started_unix_ns, move |stop, intervals| {
        run(&design, &streams, &options, stop, intervals)
    }))
}

fn streams_of(bytes: &[u8], options: &Options) -> PyResult<Vec<sim::TraceStream>> {
    let (chunks, []) = bytes.as_chunks::<RECORD_BYTES>() else {
        return Err(PyValueError::new_err("records: expected 40 bytes each"));
    };
    let pace = |outstanding: &Option<u32>| match outstanding {
        None => sim::Pace::Open,
        Some(count) => sim::Pace::Closed { outstanding: (*count).max(1) },
    };
    let empty = |outstanding| sim::TraceStream { pace: pace(outstanding), records: Vec::new() };
    let mut streams: Vec<sim::TraceStream> = options.outstanding.iter().map(empty).collect();
    for chunk in chunks {
        let (wide, narrow) = chunk.split_at(24);
        let long = |at: usize| wide[at * 8..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let short = |at: usize| narrow[at * 4..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let direction = if short(3) == 0 { Direction::Read } else { Direction::Write };
        let record = sim::TraceRecord {
            at: Nanos(long(0)),
            think: Nanos(long(1)),
            offset: long(2),
            length: short(0),
            target: short(1),
            direction,
        };
        let stream = streams.get_mut(short(2) as usize);
        stream.ok_or_else(|| PyValueError::new_err("records: a stream without a pace"))?.records.push(record);
    }
    Ok(streams)
}

/// When the last request of all is due, or after so much thinking is sent at the earliest.
fn last_due(streams: &[sim::TraceStream]) -> Nanos {
    let due = |stream: &sim::TraceStream| match stream.pace {
        sim::Pace::Open => stream.records.iter().map(|record| record.at.0).max().unwrap_or(0),
        sim::Pace::Closed { outstanding } => {
            let thinking = stream.records.iter().fold(0_u64, |sum, record| sum.saturating_add(record.think.0));
            thinking / u64::from(outstanding)
        }
    };
    Nanos(streams.iter().map(due).max().unwrap_or(0))
}

struct Follower<'run> {
    following: load::Following,
    end: Nanos,
    stop: &'run AtomicBool,
    intervals: &'run SyncSender<Vec<u8>>,
}

fn send(intervals: &SyncSender<Vec<u8>>, interval: &load::Interval) {
    if let Ok(text) = serde_json::to_vec(interval) {
        // Nobody listens any more only if the run was given up.
        let _ = intervals.send(text);
    }
}

impl sim::Follower for Follower<'_> {
    fn submitted(&mut self, at: Nanos) {
        self.following.submitted(at, &mut |interval| send(self.intervals, &interval));
    }

    fn done(&mut self, replayed: sim::Replayed) {
        let sim::Replayed { stream, record, intended, submitted, completed, result, .. } = replayed;
        let times = load::Times { intended, submitted, completed };
        let io = load::Followed { stream, target: record.target, direction: record.direction, times, result };
        self.following.done(io, &mut |interval| send(self.intervals, &interval));
    }

    fn goes_on(&mut self, now: Nanos) -> bool {
        now < self.end && !self.stop.load(Ordering::Relaxed)
    }
}

fn run(
    design: &ArrayDesign,
    streams: &[sim::TraceStream],
    options: &Options,
    stop: &AtomicBool,
    intervals: &SyncSender<Vec<u8>>,
) -> Ended {
    let settings = sim::Settings {
        seed: options.seed,
        depth: options.depth,
        slice: Nanos(options.slice_ns),
        slices: options.slices,
        mark: Nanos(options.interval_ns),
    };
    let clock = VirtualClock::default();
    let mut array = sim::Array::new(design, clock, &settings).map_err(|error| ("design", error.to_string()))?;
    let end = options.duration_ns.map_or(Nanos::NEVER, Nanos);
    check_length(last_due(streams).min(end), &array)?;
    let following = load::Following::new(Nanos(options.interval_ns), end);
    let mut follower = Follower { following, end, stop, intervals };
    let totals = sim::replay(&mut array, streams, &mut follower).map_err(|error| ("device", error.to_string()))?;
    let count = streams.len() as u32;
    let finished = follower.following.finish(options.started_unix_ns, count, array.now(), &mut |interval| {
        send(intervals, &interval);
    });
    let mut form: Value = finished_form(&finished);
    form["array"] = json!(array.report().map_err(|error| ("simulator", error.to_string()))?);
    form["trace"] = json!({"late": totals.late, "out_of_order": totals.out_of_order, "submitted": totals.submitted});
    Ok(form.to_string().into_bytes())
}
