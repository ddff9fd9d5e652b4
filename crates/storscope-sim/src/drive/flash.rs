//! A drive of flash memory: a controller, a link and dies that work in parallel.
//!
//! A command passes the controller, then the dies of its pages, then (a read) the link. Each of them serves in the order
//! of arrival, so when a request will be done is known when it comes. Writes are done when they are in the buffer; pages
//! are programmed on one die after another. In the steady state each page written makes others move (write
//! amplification), and dies do that in bursts: this is what reads and full buffers then wait for. What is not there:
//! the translation layer, read priority and program suspension, caches of single-level cells, trim, wear, heat.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::drive::FlashDesign;

use super::DriveOp;
use super::variate::{LogNormal, Random};

/// See [`FlashDesign`].
#[derive(Debug)]
pub struct Flash {
    page_bytes: u32,
    overhead_ns: u64,
    read_ns: f64,
    program_ns: f64,
    accept_ns: u64,
    command_ns: u64,
    link_ns_per_byte: f64,
    latency: LogNormal,
    buffer_pages: usize,
    cleaning: Cleaning,

    random: Random,
    dies: Vec<Die>,
    next_die: usize,
    controller_free_at: Nanos,
    link_free_at: Nanos,
    /// When each page in the buffer will be programmed, in the order they came.
    buffer: VecDeque<Nanos>,
    done: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    taken: u64,
    busy: Nanos,
    busy_since: Nanos,
}

#[derive(Debug, Clone, Copy, Default)]
struct Die {
    free_at: Nanos,
    /// Pages that garbage collection still has to move, and pages programmed since the last erase.
    owed_pages: f64,
    programmed: f64,
}

/// What a page written costs later.
#[derive(Debug, Clone, Copy)]
struct Cleaning {
    moves_per_page: f64,
    burst_pages: f64,
    move_ns: f64,
    erase_ns: f64,
    pages_per_block: f64,
}

impl Flash {
    pub fn new(design: &FlashDesign, seed: u64, index: u32) -> Self {
        let mut random = Random::new(seed, index);
        let cleaning = Cleaning::new(design);
        Self {
            page_bytes: u32::try_from(design.page.0).unwrap_or(u32::MAX),
            overhead_ns: design.overhead.0,
            read_ns: design.read.0 as f64,
            program_ns: design.program.0 as f64,
            accept_ns: design.write_accept.0,
            command_ns: design.commands_per_s.map_or(0, |rate| (1e9 / rate) as u64),
            link_ns_per_byte: 1e9 / design.interface_rate_bytes_per_s,
            latency: LogNormal::new(design.latency_cv),
            buffer_pages: design.buffer_pages as usize,
            dies: (0..design.dies).map(|_| cleaning.worn_die(&mut random)).collect(),
            cleaning,
            random,
            next_die: 0,
            controller_free_at: Nanos::ZERO,
            link_free_at: Nanos::ZERO,
            buffer: VecDeque::with_capacity(design.buffer_pages as usize + 1),
            done: BinaryHeap::with_capacity(1024),
            taken: 0,
            busy: Nanos::ZERO,
            busy_since: Nanos::NEVER,
        }
    }

    pub fn submit(&mut self, now: Nanos, op: DriveOp) {
        self.controller_free_at = self.controller_free_at.max(now) + Nanos(self.command_ns);
        let at = match op.direction {
            Direction::Read => self.read(self.controller_free_at + Nanos(self.overhead_ns), op.length),
            Direction::Write => self.write(self.controller_free_at, op.length),
        };
        self.done.push(Reverse((at, self.taken, op.tag)));
        self.taken += 1;
        if self.busy_since == Nanos::NEVER {
            self.busy_since = now;
        }
    }

    #[inline]
    pub fn next_event(&self) -> Nanos {
        self.done.peek().map_or(Nanos::NEVER, |Reverse(first)| first.0)
    }

    pub fn advance(&mut self, now: Nanos) -> Option<u32> {
        let Reverse((_, _, tag)) = self.done.pop()?;
        if self.done.is_empty() {
            self.busy += now.since(self.busy_since);
            self.busy_since = Nanos::NEVER;
        }
        Some(tag)
    }

    pub fn queue_len(&self) -> usize {
        self.done.len().saturating_sub(self.dies.len())
    }

    pub fn in_service(&self) -> usize {
        self.done.len().min(self.dies.len())
    }

    pub fn busy(&self, now: Nanos) -> Nanos {
        self.busy + now.since(self.busy_since)
    }

    /// When a read that reaches the dies at `at` is done.
    fn read(&mut self, at: Nanos, length: u32) -> Nanos {
        let first = self.random.below(self.dies.len() as u32) as usize;
        let mut sensed = at;
        for page in 0..self.pages(length) {
            let time = Nanos((self.read_ns * self.latency.draw(&mut self.random)) as u64);
            let index = (first + page) % self.dies.len();
            let die = &mut self.dies[index];
            die.free_at = die.free_at.max(at) + time;
            sensed = sensed.max(die.free_at);
        }
        self.transfer(at, sensed, length)
    }

    /// When a write that comes at `at` is in the buffer.
    fn write(&mut self, at: Nanos, length: u32) -> Nanos {
        let mut taken = self.transfer(at, at, length);
        for _ in 0..self.pages(length) {
            if self.buffer.len() >= self.buffer_pages {
                taken = taken.max(self.buffer.pop_front().unwrap_or_default());
            }
            let programmed = self.program(taken);
            if self.buffer_pages == 0 {
                taken = taken.max(programmed);
            } else {
                self.buffer.push_back(programmed);
            }
        }
        taken + Nanos(self.accept_ns)
    }

    fn program(&mut self, at: Nanos) -> Nanos {
        let time_ns = self.program_ns * self.latency.draw(&mut self.random);
        let index = self.next_die;
        self.next_die = (index + 1) % self.dies.len();
        let die = &mut self.dies[index];
        let programmed = die.free_at.max(at) + Nanos(time_ns as u64);
        die.free_at = programmed + Nanos(self.cleaning.due_ns(die) as u64);
        programmed
    }

    /// When `length` bytes that are ready at `ready` are through the link. The link's time is given out in the order of
    /// arrival, so that slow pages of one request do not hold up another's.
    fn transfer(&mut self, came: Nanos, ready: Nanos, length: u32) -> Nanos {
        let time = Nanos((f64::from(length) * self.link_ns_per_byte) as u64);
        let free_at = self.link_free_at.max(came);
        self.link_free_at = free_at + time;
        free_at.max(ready) + time
    }

    fn pages(&self, length: u32) -> usize {
        length.div_ceil(self.page_bytes) as usize
    }
}

impl Cleaning {
    fn new(design: &FlashDesign) -> Self {
        Self {
            moves_per_page: design.write_amplification - 1.0,
            burst_pages: f64::from(design.cleaning_burst_pages),
            move_ns: (design.read.0 + design.program.0) as f64,
            erase_ns: design.erase.0 as f64,
            pages_per_block: f64::from(design.pages_per_block),
        }
    }

    /// A die somewhere in its cycle, so that the dies do not clean at the same time.
    fn worn_die(&self, random: &mut Random) -> Die {
        let owed_pages = self.burst_pages * random.unit();
        Die { free_at: Nanos::ZERO, owed_pages, programmed: self.pages_per_block * random.unit() }
    }

    /// What a die does after it has programmed one more page.
    fn due_ns(&self, die: &mut Die) -> f64 {
        let mut time_ns = 0.0;
        die.owed_pages += self.moves_per_page;
        if die.owed_pages >= self.burst_pages && self.moves_per_page > 0.0 {
            time_ns += die.owed_pages * self.move_ns;
            die.owed_pages = 0.0;
        }
        die.programmed += 1.0 + self.moves_per_page;
        if die.programmed >= self.pages_per_block {
            time_ns += self.erase_ns;
            die.programmed -= self.pages_per_block;
        }
        time_ns
    }
}
