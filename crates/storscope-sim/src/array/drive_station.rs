//! A drive as a station of the array: the drive, and what is known about its queue.

use storscope_device::Direction;
use storscope_types::Nanos;

use crate::drive::{Drive, DriveOp, ReadWaits};

/// A drive and its statistics.
#[derive(Debug)]
pub struct DriveStation {
    /// The drive.
    pub drive: Drive,
    present: u32,
    most: u32,
    changed: Nanos,
    last_done: Nanos,
    last_offset: u64,
    last_end: u64,
    area: u64,
    idle: u64,
    /// What `area` and `most` were when the present slice of time began.
    slice_area: u64,
    slice_most: u32,
    /// Counts since statistics began.
    pub totals: DriveTotals,
    busy_at_start: Nanos,
    /// How many it serves side by side.
    parallel: f64,
    used_at_start: Nanos,
    read_waits_at_start: ReadWaits,
}

/// What a drive has done since statistics began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DriveTotals {
    /// Operations that came, by direction.
    pub submitted: [u64; 2],
    /// Flushes that came.
    pub flushes: u64,
    /// Operations that were done, flushes among them.
    pub completed: u64,
    /// Bytes of those that came, by direction.
    pub bytes: [u64; 2],
    /// Sum of their times at the drive since statistics began.
    pub response: u64,
    /// Sum of the instants from which those present are counted.
    pub present_since: u64,
    /// Sum of the times between being chosen and done.
    pub service: u64,
    /// Operations present when statistics began.
    pub present_at_start: u64,
}

/// The times of an operation that is done.
#[derive(Debug, Clone, Copy)]
pub struct OpTimes {
    /// From submission.
    pub response: Nanos,
    /// From when the drive turned to it.
    pub service: Nanos,
}

impl DriveStation {
    /// An idle drive that serves so many operations side by side.
    #[must_use]
    pub fn new(drive: Drive, parallel: f64) -> Self {
        Self {
            drive,
            present: 0,
            most: 0,
            changed: Nanos::ZERO,
            last_done: Nanos::ZERO,
            last_offset: 0,
            last_end: 0,
            area: 0,
            idle: 0,
            slice_area: 0,
            slice_most: 0,
            totals: DriveTotals::default(),
            busy_at_start: Nanos::ZERO,
            parallel,
            used_at_start: Nanos::ZERO,
            read_waits_at_start: ReadWaits::default(),
        }
    }

    /// Takes an operation. Returns when the drive's next event is, if that may have changed.
    #[inline]
    pub fn submit(&mut self, now: Nanos, op: DriveOp) -> Nanos {
        self.count(now);
        self.present += 1;
        self.slice_most = self.slice_most.max(self.present);
        let direction = usize::from(op.direction == Direction::Write);
        self.totals.submitted[direction] += 1;
        self.totals.bytes[direction] += u64::from(op.length);
        self.totals.present_since += now.0;
        self.last_offset = op.offset;
        self.last_end = op.offset + u64::from(op.length);
        self.drive.submit(now, op);
        self.drive.next_event()
    }

    /// Takes a flush. Returns when the drive's next event is.
    pub fn flush(&mut self, now: Nanos, tag: u32) -> Nanos {
        self.count(now);
        self.present += 1;
        self.slice_most = self.slice_most.max(self.present);
        self.totals.flushes += 1;
        self.totals.present_since += now.0;
        self.drive.flush(now, tag);
        self.drive.next_event()
    }

    /// Counts an operation that was submitted at `submitted` and is done now; `began` is when statistics began.
    ///
    /// A drive turns to an operation when it has finished the one before, or at once. One that serves several side by side
    /// knows how long each would have taken alone. `totals.service` is the time since the last completion, the share of
    /// the drive that the operation used.
    #[inline]
    pub fn done(&mut self, now: Nanos, submitted: Nanos, began: Nanos) -> OpTimes {
        self.count(now);
        self.present -= 1;
        let start = self.last_done.max(submitted);
        self.last_done = now;
        let (response, share) = (now - submitted, now - start);
        let alone = self.drive.served().filter(|_| self.parallel > 1.0);
        let service = alone.map_or(share, |alone| alone.min(response));
        self.totals.completed += 1;
        let since = submitted.0.max(began.0);
        self.totals.response += now.0 - since;
        self.totals.present_since -= since;
        self.totals.service += share.0;
        OpTimes { response, service }
    }

    #[inline]
    fn count(&mut self, now: Nanos) {
        let elapsed = now.0 - self.changed.0;
        self.area += u64::from(self.present) * elapsed;
        if self.present == 0 {
            self.idle += elapsed;
        }
        self.changed = now;
    }

    /// For how long it worked: by its own account where it serves several side by side.
    #[must_use]
    pub fn used(&self, now: Nanos) -> Nanos {
        self.drive.used(now).map_or_else(|| self.busy(now), |used| used.since(self.used_at_start))
    }

    /// How many it serves side by side.
    #[must_use]
    pub fn parallel(&self) -> f64 {
        self.parallel
    }

    /// As [`super::marks::Mark`] has it.
    #[must_use]
    pub fn counted(&self, now: Nanos) -> [u64; 11] {
        let ([reads, writes], [read, written]) = (self.totals.submitted, self.totals.bytes);
        let (busy, used, area) = (self.busy(now).0, self.used(now).0, self.area(now));
        let (done, response, [all, for_writes]) =
            (self.totals.completed, self.totals.response, self.read_waits().unwrap_or_default());
        [busy, used, area, done, response, reads, writes, read, written, all, for_writes]
    }

    /// For how long reads have to wait in the drive, in nanoseconds: in all, and of that for what is done for writes. Only
    /// flash knows.
    #[must_use]
    pub fn read_waits(&self) -> Option<[u64; 2]> {
        let (waits, at_start) = (self.drive.read_waits()?, self.read_waits_at_start);
        Some([(waits.all - at_start.all).0, (waits.for_writes - at_start.for_writes).0])
    }

    /// Operations present.
    #[inline]
    #[must_use]
    pub fn present(&self) -> u32 {
        self.present
    }

    /// Where the last operation that came goes.
    #[must_use]
    pub fn last_offset(&self) -> u64 {
        self.last_offset
    }

    /// Where the last operation that came ends.
    #[must_use]
    pub fn last_end(&self) -> u64 {
        self.last_end
    }

    /// Ends a slice of time: the integral of the number present within it, and the most that were.
    pub fn end_slice(&mut self, now: Nanos) -> (u64, u32) {
        self.count(now);
        let slice = (self.area - self.slice_area, self.slice_most);
        self.most = self.most.max(self.slice_most);
        (self.slice_area, self.slice_most) = (self.area, self.present);
        slice
    }

    /// Begins to count anew; operations stay.
    pub fn restart(&mut self, now: Nanos) {
        self.count(now);
        (self.area, self.slice_area, self.idle) = (0, 0, 0);
        self.last_done = now;
        (self.most, self.slice_most) = (self.present, self.present);
        let present = u64::from(self.present);
        self.totals =
            DriveTotals { present_at_start: present, present_since: present * now.0, ..DriveTotals::default() };
        self.busy_at_start = self.drive.busy(now);
        self.used_at_start = self.drive.used(now).unwrap_or_default();
        self.read_waits_at_start = self.drive.read_waits().unwrap_or_default();
    }

    /// The integral of the number present, until now.
    #[must_use]
    pub fn area(&self, now: Nanos) -> u64 {
        self.area + u64::from(self.present) * now.since(self.changed).0
    }

    /// How long no operation was present, until now.
    #[must_use]
    pub fn idle(&self, now: Nanos) -> u64 {
        self.idle + if self.present == 0 { now.since(self.changed).0 } else { 0 }
    }

    /// Most present at a time.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.most.max(self.slice_most)
    }

    /// The sum of the times of operations at the drive, of those still present until now. By Little's law it is the
    /// area, which is counted in another way.
    #[must_use]
    pub fn residence(&self, now: Nanos) -> u64 {
        self.totals.response + u64::from(self.present) * now.0 - self.totals.present_since
    }

    /// How long the drive was busy since statistics began.
    #[must_use]
    pub fn busy(&self, now: Nanos) -> Nanos {
        self.drive.busy(now).since(self.busy_at_start)
    }
}
