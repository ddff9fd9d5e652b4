//! The loop: the next event, and whose it is.

use storscope_device::Clock;
use storscope_types::Nanos;

use super::Array;
use super::slices::Cell;
use crate::kernel::NONE;

impl Array {
    /// Handles what is due before the clock's instant, in case others moved the clock.
    #[inline]
    pub(super) fn catch_up(&mut self) {
        let now = self.clock.now();
        if now > self.now {
            while self.next_at() < now && self.step(now) {}
            self.pass_to(now);
        }
    }

    /// Lets time pass in which nothing happens.
    #[inline]
    pub(super) fn pass_to(&mut self, now: Nanos) {
        if now >= self.slices.end() {
            self.end_slices(now);
        }
        self.now = self.now.max(now);
    }

    /// Handles the next event unless it is later than `until`. Returns whether there was one.
    #[inline]
    pub(super) fn step(&mut self, until: Nanos) -> bool {
        let (drive_at, drive) = self.tree.first();
        let (late_at, late) = self.late_tree.first();
        let at = drive_at.min(late_at);
        if at > until || at == Nanos::NEVER {
            return false;
        }
        if at >= self.slices.end() {
            self.end_slices(at);
        }
        self.now = at;
        self.events += 1;
        if drive_at <= late_at {
            self.drive_event(drive);
        } else if late < self.timers {
            self.station_event(late);
        } else {
            self.timer_event(late - self.timers);
        }
        true
    }

    /// When the next event is due.
    #[inline]
    fn next_at(&self) -> Nanos {
        self.tree.first().0.min(self.late_tree.first().0)
    }

    #[inline]
    fn drive_event(&mut self, index: usize) {
        let now = self.now;
        let station = &mut self.drives[index];
        let tag = station.drive.advance(now);
        self.tree.set(index, station.drive.next_event());
        if let Some(job) = tag {
            self.operation_done(job, index);
        }
    }

    #[inline]
    fn station_event(&mut self, index: usize) {
        let station = &mut self.stations[index];
        let job = station.leave(self.now);
        self.late_tree.set(index, station.next_event());
        match job {
            Some(job) if job != NONE => self.proceed(job),
            _ => {}
        }
    }

    /// One of the drive operations of a job is done.
    #[inline]
    fn operation_done(&mut self, place: u32, index: usize) {
        let job = &mut self.jobs[place];
        let times = self.drives[index].done(self.now, job.mark, self.began);
        job.response += times.response;
        job.service += times.service;
        job.pending -= 1;
        if job.pending == 0 {
            self.drives_done(place);
        }
    }

    /// Ends all slices of time that end by `until`.
    #[cold]
    pub(super) fn end_slices(&mut self, until: Nanos) {
        while self.slices.end() <= until {
            let end = self.slices.end();
            let cells = self.drives.iter_mut().map(|station| {
                let (area, most) = station.end_slice(end);
                Cell { area, most }
            });
            self.slices.push(cells);
        }
    }
}
