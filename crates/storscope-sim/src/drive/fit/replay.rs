//! A trace on a drive: each request follows the completion of the one before by the time the host thought.

use storscope_types::Nanos;
use storscope_types::design::drive::DriveDesign;

use super::trace::TraceOp;
use crate::drive::{Drive, DriveOp};

/// The response time in microseconds of each request of a trace on a new drive.
#[must_use]
pub fn replay(trace: &[TraceOp], design: &DriveDesign, index: u32) -> Vec<f64> {
    let mut drive = Drive::new(design, 0, index);
    let mut now = Nanos::ZERO;
    let mut service = |op: &TraceOp| {
        let done_at = serve(&mut drive, now, op);
        let service_us = done_at.since(now).0 as f64 / 1e3;
        now = catch_up(&mut drive, done_at + Nanos((op.think_us * 1e3) as u64));
        service_us
    };
    trace.iter().map(&mut service).collect()
}

fn serve(drive: &mut Drive, now: Nanos, op: &TraceOp) -> Nanos {
    drive.submit(now, DriveOp { tag: 0, direction: op.direction, offset: op.offset, length: op.length });
    loop {
        let at = drive.next_event();
        if drive.advance(at).is_some() {
            return at;
        }
    }
}

/// Lets the drive do what it does on its own until `now`.
fn catch_up(drive: &mut Drive, now: Nanos) -> Nanos {
    while drive.next_event() <= now {
        drive.advance(drive.next_event());
    }
    now
}
