//! A drive under a constant number of outstanding requests: what a benchmark tool does to it.

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::drive::DriveDesign;

use crate::drive::variate::Random;
use crate::drive::{Drive, DriveOp};

/// Most writes that fill a buffer: of a large one, what comes little faster than it is emptied is not waited for.
const MOST_FILLING: u32 = 50_000;

/// Random requests of one size over the first part of a drive.
#[derive(Debug, Clone, Copy)]
pub struct ClosedLoop {
    /// Outstanding requests.
    pub qd: u32,
    /// All of them read or write.
    pub direction: Direction,
    /// Bytes of each; offsets are multiples of it.
    pub block: u32,
    /// Share of the drive that is used, from its first byte on.
    pub span_ratio: f64,
    /// Requests that count. A fifth as many, and those that fill a write cache or a buffer, go before them.
    pub requests: u32,
}

/// What a loop measured.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Completions per second.
    pub iops: f64,
    /// Mean response time.
    pub latency_ns_mean: f64,
    /// Standard deviation of the response times.
    pub latency_ns_sd: f64,
    /// Share of the time the drive was busy.
    pub busy_ratio: f64,
}

impl ClosedLoop {
    /// Random reads of 4 KiB over the whole drive.
    #[must_use]
    pub fn reads(qd: u32, requests: u32) -> Self {
        Self { qd, direction: Direction::Read, block: 4096, span_ratio: 1.0, requests }
    }

    /// Random writes of 4 KiB over the whole drive.
    #[must_use]
    pub fn writes(qd: u32, requests: u32) -> Self {
        Self { direction: Direction::Write, ..Self::reads(qd, requests) }
    }

    /// Runs the loop on a new drive.
    #[must_use]
    pub fn run(&self, design: &DriveDesign, seed: u64) -> Measured {
        let mut bench = Bench::new(self, design, seed);
        for tag in 0..self.qd {
            bench.submit(tag);
        }
        bench.complete(self.requests / 5 + 5_000 + self.filling(design));
        bench.forget();
        bench.complete(self.requests);
        bench.measured()
    }

    /// Writes until the buffer of flash is full, where they come a seventh faster than it is emptied.
    fn filling(&self, design: &DriveDesign) -> u32 {
        match (design, self.direction) {
            (DriveDesign::Flash(flash), Direction::Write) => {
                let writes_per_page = (flash.page.0 / u64::from(self.block)).clamp(1, 64) as u32;
                flash.buffer_pages.saturating_mul(8 * writes_per_page).min(MOST_FILLING)
            }
            _ => 0,
        }
    }
}

struct Bench<'a> {
    plan: &'a ClosedLoop,
    drive: Drive,
    random: Random,
    blocks: f64,
    submitted_at: Vec<Nanos>,
    now: Nanos,
    since: Nanos,
    busy_before: Nanos,
    count: f64,
    sum_ns: f64,
    sum_of_squares: f64,
}

impl<'a> Bench<'a> {
    fn new(plan: &'a ClosedLoop, design: &DriveDesign, seed: u64) -> Self {
        let drive = Drive::new(design, seed, 0);
        Self {
            blocks: (drive.size_bytes() as f64 * plan.span_ratio / f64::from(plan.block)).max(1.0),
            drive,
            plan,
            random: Random::new(seed, u32::MAX - 1),
            submitted_at: vec![Nanos::ZERO; plan.qd as usize],
            now: Nanos::ZERO,
            since: Nanos::ZERO,
            busy_before: Nanos::ZERO,
            count: 0.0,
            sum_ns: 0.0,
            sum_of_squares: 0.0,
        }
    }

    fn submit(&mut self, tag: u32) {
        // The last block may be cut short by the end of the drive and is not used.
        let offset = (self.random.unit() * (self.blocks - 1.0).max(0.0)) as u64 * u64::from(self.plan.block);
        self.submitted_at[tag as usize] = self.now;
        let op = DriveOp { tag, direction: self.plan.direction, offset, length: self.plan.block };
        self.drive.submit(self.now, op);
    }

    fn complete(&mut self, requests: u32) {
        let mut left = requests;
        while left > 0 {
            self.now = self.drive.next_event();
            let Some(tag) = self.drive.advance(self.now) else { continue };
            let latency_ns = self.now.since(self.submitted_at[tag as usize]).0 as f64;
            self.count += 1.0;
            self.sum_ns += latency_ns;
            self.sum_of_squares += latency_ns * latency_ns;
            self.submit(tag);
            left -= 1;
        }
    }

    fn forget(&mut self) {
        self.since = self.now;
        self.busy_before = self.drive.busy(self.now);
        (self.count, self.sum_ns, self.sum_of_squares) = (0.0, 0.0, 0.0);
    }

    fn measured(&self) -> Measured {
        let elapsed_s = self.now.since(self.since).as_secs_f64();
        let mean_ns = self.sum_ns / self.count;
        Measured {
            iops: self.count / elapsed_s,
            latency_ns_mean: mean_ns,
            latency_ns_sd: (self.sum_of_squares / self.count - mean_ns * mean_ns).max(0.0).sqrt(),
            busy_ratio: self.drive.busy(self.now).since(self.busy_before).as_secs_f64() / elapsed_s,
        }
    }
}
